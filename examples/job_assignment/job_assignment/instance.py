"""Setting, instance, episode, program and generator."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from clairvoyant.models import base, draw
from clairvoyant.models.program import PyomoProgram
from clairvoyant.models.stopwatch import library


@dataclass(frozen=True)
class Setting:
    """Places of each machine, slots, and the worth of jobs: ``density`` a slot or more, at most ``worth``."""

    machines: tuple[int, ...]
    slots: int
    density: float
    worth: float


@dataclass(frozen=True)
class Job:
    """What a policy decides on: a job that has arrived, and the machines that it fits."""

    arrival: int
    duration: int
    value: float
    fits: tuple[int, ...]

    @property
    def span(self) -> slice:
        """The slots in which it would run."""
        return slice(self.arrival, self.arrival + self.duration)


SETTING, JOB = (tuple(field.name for field in fields(kind)) for kind in (Setting, Job))


class JobAssignment(base.Instance):
    """The machines, and the jobs as they arrive; a decision is the machine of a job, or -1 to reject it."""

    problem = "job-assignment"
    revealed = ("jobs",)

    def __init__(self, *, machines: Any, slots: Any, density: Any, worth: Any, jobs: Any, origin: Any = None):
        places = base.numbers(machines, "machines", (None,), low=1, integer=True)
        limits = draw.real("density", density, 1e-9, 1e9), draw.real("worth", worth, 1e-9, 1e9)
        self.setting = Setting(tuple(places.tolist()), draw.whole("slots", slots, 0), *limits)
        self.jobs = tuple(self._job(f"jobs[{i}].", job) for i, job in enumerate(jobs))
        for i, job in enumerate(self.jobs[1:]):
            if job.arrival < self.jobs[i].arrival:
                raise base.InputError(f"jobs[{i + 1}].arrival: {job.arrival} is before that of the last job")
        self.origin = base.Origin.from_dict(origin or {"source": "made by hand"})

    def _job(self, where: str, data: Mapping[str, Any]) -> Job:
        base.refuse_unknown(data, set(JOB), where)
        begin, length, worth, fits = (base.need(data, name, where) for name in JOB)
        draw.whole(f"{where}arrival", begin, 0)
        draw.whole(f"{where}duration", length, 1, self.setting.slots - begin)
        draw.real(f"{where}value", worth, self.setting.density * length * (1.0 - 1e-12), self.setting.worth)
        top = len(self.setting.machines) - 1
        known = base.numbers(fits, f"{where}fits", (None,), high=top, integer=True)
        return Job(begin, length, float(worth), tuple(known.tolist()))

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, with lists in the place of tuples."""
        setting = asdict(self.setting) | {"machines": list(self.setting.machines)}
        jobs = [asdict(job) | {"fits": list(job.fits)} for job in self.jobs]
        form = {"problem": self.problem, "version": 1, **setting, "jobs": jobs}
        return form | {"origin": self.origin.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "JobAssignment":
        """Read the JSON form."""
        base.refuse_unknown(data, {"problem", "version", "jobs", "origin", *SETTING})
        found = {name: base.need(data, name) for name in (*SETTING, "jobs")}
        return cls(**found, origin=data.get("origin"))

    def episode(self, sees: frozenset[str]) -> "Arrivals":
        """Return a pass through the jobs, each of which is seen when it is decided on."""
        return Arrivals(self)

    def violations(self, decision: Any) -> list[base.Violation]:
        """List what the machines of the jobs, in their order, break."""
        episode = Arrivals(self)
        return [one for h in decision for one in (episode.broken(h), episode.apply(h, enforce=False))[0]]

    def program(self) -> PyomoProgram:
        """Declare the best assignment; a machine is fullest in a slot in which a job arrives."""
        pyo = library("pyomo.environ")
        m, jobs = pyo.ConcreteModel(), self.jobs
        m.x = pyo.Var([(i, h) for i, job in enumerate(jobs) for h in job.fits], domain=pyo.Binary)
        m.value = pyo.Objective(expr=sum(jobs[i].value * x for (i, _), x in m.x.items()), sense=pyo.maximize)
        m.once, m.places = pyo.ConstraintList(), pyo.ConstraintList()
        for i in sorted({i for i, _ in m.x}):
            m.once.add(sum(m.x[i, h] for h in jobs[i].fits) <= 1)
        for t in sorted({job.arrival for job in jobs}):
            running = [i for i, job in enumerate(jobs) if job.arrival <= t < job.span.stop]
            for h, places in enumerate(self.setting.machines):
                here = [m.x[i, h] for i in running if h in jobs[i].fits]
                if len(here) > places:
                    m.places.add(sum(here) <= places)
        return PyomoProgram(
            m,
            {"x": (len(jobs), len(self.setting.machines))},
            title=f"The best assignment of {len(jobs)} jobs",
            equations=("max v.x", "sum_h x[i,h] <= 1 for i", "sum_{i runs in t} x[i,h] <= c_h for h, t"),
            decisions=lambda found: [int(x.argmax()) if x.any() else -1 for x in found["x"]],
        )


class Arrivals:
    """One pass through the jobs, and what runs when on which machine."""

    def __init__(self, instance: JobAssignment) -> None:
        self._jobs, self._places, self._next = instance.jobs, instance.setting.machines, 0
        self._load = np.zeros((len(self._places), instance.setting.slots), dtype=int)

    def __iter__(self) -> Iterator[Job]:
        """Yield every job, as a copy: what is handed out shares nothing with what scores."""
        yield from map(replace, self._jobs)

    def broken(self, decision: Any) -> list[base.Violation]:
        """List what the machine of the next job, or -1 to reject it, breaks."""
        job = self._jobs[self._next]
        if type(decision) is not int or decision not in (-1, *job.fits):
            return [base.Violation("fits", (self._next,), 1.0)]
        full = decision >= 0 and self._load[decision, job.span].max() >= self._places[decision]
        return [base.Violation("places", (decision, job.arrival), 1.0)] if full else []

    def apply(self, decision: Any, *, enforce: bool = True) -> base.Outcome:
        """Check and pay the decision on the job that has arrived."""
        broken, job = self.broken(decision), self._jobs[self._next]
        if enforce and broken:
            raise base.DecisionError(f"job {self._next}: {broken[0]}", broken)
        self._next += 1
        if decision in job.fits:
            self._load[decision, job.span] += 1
        return base.Outcome(job.value if decision in job.fits else 0.0, not broken, None)


SIZES = {"tiny": (8, 2, 2, 8), "default": (120, 4, 8, 60), "large": (1500, 8, 12, 400)}
stream = draw.streams("jobs", "machines")


def generate(size: str = "default", seed: int = 0, *, places: int | None = None) -> JobAssignment:
    """Return jobs of up to a quarter of the slots, worth 1 to 30 a slot, for about half of the machines."""
    count, machines, usual, slots = SIZES[draw.choose(size, SIZES, "size")]
    places = usual if places is None else draw.whole("places", places, 1)
    rng, longest = stream(draw.whole("seed", seed, 0), "jobs"), slots // 4
    arrivals = np.sort(rng.integers(0, slots - longest + 1, count)).tolist()
    lengths = rng.integers(1, longest + 1, count)
    values = lengths * np.exp(rng.uniform(0.0, np.log(30.0), count))
    fits = map(np.flatnonzero, stream(seed, "machines").random((count, machines)) < 0.5)
    rows = zip(arrivals, lengths.tolist(), values.tolist(), fits, strict=True)
    setting = dict(zip(SETTING, ([places] * machines, slots, 1.0, 30.0 * longest), strict=True))
    jobs, origin = [dict(zip(JOB, row, strict=True)) for row in rows], f"random, size {size}, seed {seed}"
    return JobAssignment(**setting, jobs=jobs, origin={"source": origin})
