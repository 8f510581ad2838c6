"""Claims about the figures of Sec. V: total utility, timeliness, performance ratio, and inaccurate U / L."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ....models.admission.generate import testbed
from ....models.admission.jobs import CRITICAL, SENSITIVE
from ....online.admission.oasis import Oasis
from ....online.play import play
from ...claim import Context, Figure, Finding, Register, Table, Verdict
from ...experiments import lead, policy_seed, seeds, track
from ...plots import new_figure, plot_bars, to_svg
from ...statistics import mean_interval, p_of_mean
from ...study import Lab, Statement, Study, Test, judge, settled, statements
from ..experiments import (
    DORM,
    NOTE,
    NOTE_TESTBED,
    OASIS,
    QUICK_BASELINES,
    TESTBED,
    Contender,
    Place,
    Setup,
    bound,
    gantt,
    instance,
    outcome,
    searched,
    totals,
    utilisation_figure,
)
from ..experiments import curves as drawn
from ..measures import mean_prices, total_utility, utilisation

claim = Register("admission")


# --- What the text leaves open ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Limited(Setup):
    """A setup with another limit of slots for "short" jobs."""

    longest: int = 15


class Case(NamedTuple):
    """A place and the versions that play there instead of contenders with their labels."""

    place: Place
    versions: tuple[Contender, ...] = ()
    unfinished: bool = False
    """Whether jobs that are not done count as done after the last slot, where delays are measured."""

    def version(self, who: Contender) -> Contender:
        """Return who plays for a contender."""
        return next((one for one in self.versions if one.label == who.label), who)


Reading = Callable[[Case], Case]


def with_versions(**settings: tuple[str, Mapping[str, object]]) -> Reading:
    """Return the reading in which contenders play with other settings: ``label=(policy, settings)``."""
    made = tuple(Contender(label, name, tuple(given.items())) for label, (name, given) in settings.items())
    return lambda case: case._replace(versions=(*made, *case.versions))


def with_setup(**fields: object) -> Reading:
    """Return the reading in which the setup has other fields."""

    def read(case: Case) -> Case:
        if isinstance(case.place, str):
            raise TypeError("the testbed has no setup")
        return case._replace(place=replace(case.place, **fields))  # type: ignore[arg-type]

    return read


AS_OURS: Reading = lambda case: case  # noqa: E731 - a reading like the others
L_PRINTED = with_versions(OASiS=("oasis", {"floor": False}))
L_ESTIMATED = with_versions(OASiS=("oasis", {"bounds": "estimated"}))
PRINTED = with_versions(OASiS=("oasis-printed", {"floor": False}))
FEW_WORKERS = with_versions(FIFO=("fifo", {"workers": 1}), RRH=("rrh", {"workers": 1}))
RRH_STRICT = with_versions(RRH=("rrh", {"threshold": 10.0}))
FEASIBLE = with_setup(fit="feasible")
ON_C4 = with_setup(swapped=True)

OPEN = (
    "which of the drawn jobs are used, as few can finish",
    "the number of jobs, which only the figures show",
    "machines: workers on C4, as printed, or on P2 and G3",
    "U and L: exact, with a floor on L, or estimated",
    "Algorithm 2 as printed or exact",
    "the fixed number of workers of FIFO and RRH, and RRH's threshold",
)


def earned(who: Contender, case: Case, sampled: Sequence[int]) -> np.ndarray:
    """Return the total utility of a contender on each instance."""
    return totals(case.version(who), [case.place], sampled)[:, 0]


LAB = Lab("admission", f"{NOTE}.", earned, None, "total utility")
LAB_TESTBED = Lab("admission", f"{NOTE_TESTBED}.", earned, None, "total utility")


def ahead(study: Study, others: Sequence[Contender]) -> list[Statement]:
    """Say that OASiS earns more than each of the others in every setting."""
    return [
        Statement(
            f"OASiS earns more than {other.label} everywhere",
            study.samples(lambda f, x=other.label: f[OASIS.label] - f[x]),  # type: ignore[misc]
            places=study.heads,
        )
        for other in others
    ]


def grows(study: Study, others: Sequence[Contender]) -> list[Statement]:
    """Say that the lead of OASiS is larger in the last setting than in the first."""
    return [
        Statement(
            f"and leads {other.label} by more at {study.heads[-1]} than at {study.heads[0]}",
            {name: leads[:, -1] - leads[:, 0] for name, leads in one.samples.items()},
        )
        for other, one in zip(others, ahead(study, others), strict=True)
    ]


# --- Fig. 3 and 8: total utility -------------------------------------------------------------------------


@claim(
    "figure-3",
    "Fig. 3, Sec. V.A",
    Verdict.UNDETERMINED,
    says="OASiS has the largest total utility of all, by more the more jobs there are.",
    how="Total utility of all policies but Dorm by the number of jobs, on paired instances, in every "
    "reading.",
    choices=OPEN,
)
def figure_3(context: Context) -> Finding:
    """Check who earns most, by the number of jobs."""
    sampled = seeds(context, 3, 8, 10)
    levels = context.pick((10, 60), (10, 30, 80), (20, 50, 100, 200, 300, 400))
    T, machines = context.pick((50, 12), (100, 25), (300, 50))
    settings = {f"{n} jobs": Case(Setup(n, T, machines, machines, "short")) for n in levels}
    readings = {
        "short jobs": AS_OURS,
        "L as printed": L_PRINTED,
        "one worker each": FEW_WORKERS,
        "feasible jobs": FEASIBLE,
        "workers on C4": ON_C4,
        "threshold of RRH": RRH_STRICT,
        "estimated": L_ESTIMATED,
        "all as printed": PRINTED,
    }
    few = dict(list(readings.items())[: context.pick(3, 5, 8)])
    study = Study.run(context, LAB, (OASIS, *QUICK_BASELINES), settings, sampled, few)
    said = [*ahead(study, QUICK_BASELINES), *grows(study, QUICK_BASELINES)]
    largest = settings[f"{levels[-1]} jobs"].place
    limits = [
        [bound(case.place, seed) for case in settings.values()] for seed in sampled[: context.pick(1, 2, 3)]
    ]
    return study.finding(
        "OASiS leads with few jobs; with many, RRH overtakes it unless RRH has few workers. The text names "
        "no "
        "numbers of jobs.",
        said,
        small=context.mode == "quick",
        title=f"Total utility, T = {T}, {machines} + {machines} machines",
        tables=(
            Table(
                f"Certified bound on the optimum, mean over {len(limits)} of the instances. {NOTE}",
                tuple(study.heads),
                (tuple(round(float(v), 1) for v in np.array(limits).mean(axis=0)),),
            ),
        ),
        figures=(
            study.figure("figure-3", "Total utility by number of jobs.", "jobs", levels),
            utilisation_figure(
                "figure-3-utilisation",
                f"Use of the machines, mean over the resources, {levels[-1]} short jobs.",
                largest,
                (OASIS, *QUICK_BASELINES),
                sampled,
            ),
            *_of_one_run(largest, sampled[0]),
        ),
        assumes="Jobs that are not done by T earn nothing, as in (1).",
        remark="Without Dorm, whose integer programs take too long with this many jobs; see "
        "admission/figure-8.",
    )


def _of_one_run(place: Place, seed: int) -> tuple[Figure, Figure]:
    """Return the Gantt chart and the prices over time of OASiS on one instance."""
    made, policy = instance(place, seed), Oasis()
    play(policy, made, policy_seed(seed))
    s, slots = made.setting, np.arange(1, made.setting.horizon + 1)
    panels = {}
    for side, prices, capacity in (
        ("workers", policy.worker_prices, s.worker_servers),
        ("parameter servers", policy.server_prices, s.parameter_servers),
    ):
        mean = mean_prices(prices, capacity)
        panels[f"price, {side}"] = {
            name: mean[None, :, r] for r, name in enumerate(s.resources) if mean[0, r] > 0.0
        }
    plan = outcome(OASIS, place, seed).schedule
    return (
        gantt(
            "figure-3-gantt",
            "Workers and parameter servers of jobs over time under OASiS, one instance.",
            made,
            {"workers": (plan, "workers"), "parameter servers": (plan, "servers")},
        ),
        drawn(
            "figure-3-prices",
            "Prices of OASiS at the end of the run on the same instance: what all of a resource would cost "
            "in a slot, mean over the machines that have it.",
            slots,
            panels,
            "slot",
            log="y",
        ),
    )


ON_TESTBED = {
    "as ours": AS_OURS,
    "one worker each": FEW_WORKERS,
    "L as printed": L_PRINTED,
    "all as printed": PRINTED,
    "threshold of RRH": RRH_STRICT,
    "estimated": L_ESTIMATED,
}
OPEN_ON_TESTBED = (
    "how long a mini-batch takes",
    *OPEN[3:],
)


def _on_testbed(context: Context) -> tuple[range, tuple[Contender, ...]]:
    """Return instance seeds and opponents at the size of the testbed; for a smoke test without Dorm."""
    return seeds(context, 8, 20, 100), context.pick(
        QUICK_BASELINES, (*QUICK_BASELINES, DORM), (*QUICK_BASELINES, DORM)
    )


@claim(
    "figure-8",
    "Fig. 8, Sec. V.B",
    Verdict.UNDETERMINED,
    says="On the testbed OASiS has the largest total utility of all.",
    how="A simulation with the testbed's machines and jobs like its own, in every reading.",
    choices=OPEN_ON_TESTBED,
)
def figure_8(context: Context) -> Finding:
    """Check who earns most on the testbed."""
    sampled, others = _on_testbed(context)
    study = Study.run(context, LAB_TESTBED, (OASIS, *others), {"12 jobs": Case(TESTBED)}, sampled, ON_TESTBED)
    return study.finding(
        "OASiS earns more than FIFO, DRF and Dorm; against RRH it depends on how many workers RRH gives a "
        "job.",
        ahead(study, others),
        small=context.mode == "quick",
        title="Total utility at the size of the testbed, in simulation",
        figures=(study.figure("figure-8", "Total utility at the size of the testbed, in simulation.", ""),),
        assumes="The testbed itself is not at hand; jobs alone in it run for 2 to 6 slots, as printed.",
    )


@lru_cache(maxsize=4096)
def _enlarged(who: Contender, times: int, seed: int) -> float:
    """Return what a contender earns on a testbed of several times the size."""
    return float(play(who.make(), testbed(seed, times), policy_seed(seed)).total)


@claim(
    "large-testbed",
    "Sec. V.B, last paragraph",
    Verdict.UNDETERMINED,
    says="The advantage of OASiS is more obvious on a larger testbed.",
    how="Machines and jobs of the simulated testbed several times; leads in per cent of what the others "
    "earn.",
    choices=OPEN_ON_TESTBED,
)
def large_testbed(context: Context) -> Finding:
    """Check whether leads grow with the testbed."""
    sampled, times = seeds(context, 5, 10, 40), context.pick((1, 3), (1, 4), (1, 4, 16))

    def average(who: Contender, case: tuple[int, Case], few: Sequence[int]) -> np.ndarray:
        return np.array([_enlarged(case[1].version(who), case[0], seed) for seed in few])

    readings = {name: (lambda case, read=read: (case[0], read(case[1]))) for name, read in ON_TESTBED.items()}
    lab = replace(LAB_TESTBED, averages=average)
    settings = {f"{n} x 12 jobs": (n, Case(TESTBED)) for n in times}
    study = Study.run(context, lab, (OASIS, *QUICK_BASELINES), settings, sampled, readings)
    said = [
        Statement(
            f"OASiS leads {other.label} by more at {study.heads[-1]}",
            study.samples(lambda f, x=other.label: _widening(f[OASIS.label], f[x])),  # type: ignore[misc]
            "%",
        )
        for other in QUICK_BASELINES
    ]
    return study.finding(
        "With a larger testbed the lead over FIFO seems to grow and that over RRH does not; the samples do "
        "not decide.",
        said,
        small=context.mode == "quick",
        title="Total utility in simulation",
        assumes="Machines and jobs grow alike, so that the load stays the same.",
    )


def _widening(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Return how much larger a lead is in the last setting, in per cent of what OASiS earns."""
    leads = 100.0 * (ours - theirs) / ours.mean(axis=0)
    result: np.ndarray = leads[:, -1] - leads[:, 0]
    return result


# --- Fig. 4 and 9: timeliness ----------------------------------------------------------------------------


def delays(who: Contender, case: Case, seed: int, kind: str) -> np.ndarray:
    """Return completion - arrival - target of the jobs of a class, in slots."""
    found = outcome(case.version(who), case.place, seed)
    if not case.unfinished:
        return found.timeliness[kind].late
    made = instance(case.place, seed)
    ends, last = made.completions(found.schedule), made.setting.horizon + 1
    jobs = [job for job in made.jobs if job.kind == kind]
    return np.array([(ends[job.index] or last) - job.arrival - job.target for job in jobs])


def _distance(late: np.ndarray) -> float:
    return float(abs(late.mean()))


def _deviation(late: np.ndarray) -> float:
    return float(late.std(ddof=1))


MEASURES = {"mean closer to zero": _distance, "smaller deviation": _deviation}


def more(
    ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray], of: Callable[[np.ndarray], float]
) -> np.ndarray:
    """Return by how much a measure of their delays is above ours, on instances with two jobs of both."""
    pairs = [(a, b) for a, b in zip(ours, theirs, strict=True) if min(len(a), len(b)) > 1]
    return np.array([of(b) - of(a) for a, b in pairs]) if len(pairs) > 1 else np.zeros(1)


class Delay(Statement):
    """That a measure of delays is larger than ours; a single sample stands for too few jobs."""

    def found(self, scenario: str) -> str:
        """Return mean and half width, where there are enough jobs."""
        return super().found(scenario) if len(self.samples[scenario]) > 1 else "too few jobs done"


def timely(
    context: Context,
    case: Case,
    sampled: Sequence[int],
    others: Sequence[Contender],
    readings: Mapping[str, Reading],
) -> tuple[list[Statement], list[Table]]:
    """Return the statements about delays, and their means, deviations and numbers, in every reading."""
    late = {
        (name, who.label, kind): [delays(who, read(case), seed, kind) for seed in sampled]
        for name, read in track(context, readings.items())
        for who in (OASIS, *others)
        for kind in (SENSITIVE, CRITICAL)
    }
    said: list[Statement] = [
        Delay(
            f"OASiS has a {what} than {other.label}, time-{kind} jobs",
            {
                name: more(late[name, OASIS.label, kind], late[name, other.label, kind], of)
                for name in readings
            },
            "slots",
            2,
        )
        for kind in (SENSITIVE, CRITICAL)
        for other in others
        for what, of in MEASURES.items()
    ]
    rows = []
    for (name, label, kind), found in late.items():
        known = np.concatenate(found)
        shown = (
            (round(float(known.mean()), 2), round(_deviation(known), 2)) if len(known) > 1 else ("none",) * 2
        )
        rows.append((name, label, kind, *shown, len(known)))
    title = f"Completion - arrival - target (slots), {len(sampled)} instances"
    return said, [Table(title, ("reading", "", "jobs", "mean", "standard deviation", "counted"), tuple(rows))]


def _timely_finding(
    context: Context,
    headline: str,
    name: str,
    case: Case,
    sampled: Sequence[int],
    others: Sequence[Contender],
    readings: Mapping[str, Reading],
    note: str,
    more_said: Sequence[Statement] = (),
) -> Finding:
    said, tables = timely(context, case, sampled, others, readings)
    said += more_said
    judged = judge(said, readings)
    return Finding(
        settled(judged),
        headline,
        {"instances": len(sampled), "statements": len(said)},
        tables=(
            statements(judged, readings, note),
            *(replace(table, title=f"{table.title}. {note}") for table in tables),
        ),
        figures=(_late_figure(name, case, sampled, (OASIS, *others), note),),
        small=context.mode == "quick",
        assumes="A job without a completion has no delay, or is counted as done after the last slot: the "
        "text does "
        "not say which.",
    )


def _unfinished(case: Case) -> Case:
    return case._replace(unfinished=True)


OPEN_DELAYS = ("what a job counts that is never done",)


@claim(
    "figure-4",
    "Fig. 4, Sec. V.A",
    Verdict.UNDETERMINED,
    says="Completion less target time is closest to zero with OASiS, for time-sensitive and for "
    "time-critical jobs, "
    "with the smallest variance; RRH uses the machines less.",
    how="Means and deviations of the delays on each instance, and the use of the machines, in every reading.",
    choices=(*OPEN_DELAYS, *OPEN),
)
def figure_4(context: Context) -> Finding:
    """Check how well targets are met."""
    sampled = seeds(context, 3, 6, 10)
    jobs, T, machines = context.pick((60, 50, 15), (80, 100, 20), (200, 100, 50))
    case = Case(Setup(jobs, T, machines, machines, "short", classes=(0.0, 0.5, 0.5)))
    readings: dict[str, Reading] = {
        "short jobs, done": AS_OURS,
        "short jobs, all": _unfinished,
        "L as printed, done": L_PRINTED,
        "feasible jobs, done": FEASIBLE,
        "one worker each, done": FEW_WORKERS,
        "workers on C4, done": ON_C4,
    }
    readings = dict(list(readings.items())[: context.pick(2, 6, 6)])
    used = Statement(
        "OASiS uses more of the machines for workers than RRH",
        {
            name: np.array(
                [
                    _used(OASIS, read(case), seed) - _used(QUICK_BASELINES[2], read(case), seed)
                    for seed in sampled
                ]
            )
            for name, read in readings.items()
        },
        "%",
    )
    return _timely_finding(
        context,
        "Few comparisons of delays are decided, and none in every reading; OASiS gets few time-critical "
        "jobs done.",
        "figure-4",
        case,
        sampled,
        QUICK_BASELINES,
        readings,
        f"{jobs} jobs, T = {T}, {machines} + {machines} machines. {NOTE}.",
        [used],
    )


def _used(who: Contender, case: Case, seed: int) -> float:
    """Return the use of the machines for workers, mean over slots and resources, in per cent."""
    found = utilisation(instance(case.place, seed), outcome(case.version(who), case.place, seed).schedule)
    return 100.0 * float(np.nanmean(found.workers))


@claim(
    "figure-9",
    "Fig. 9, Sec. V.B",
    Verdict.UNDETERMINED,
    says="On the testbed completion less target time is closest to zero with OASiS, with the smallest "
    "variance.",
    how="A simulation with the testbed's machines and jobs like its own; judged like Fig. 4; with Dorm in "
    "full mode.",
    choices=(*OPEN_DELAYS, *OPEN_ON_TESTBED),
)
def figure_9(context: Context) -> Finding:
    """Check how well targets are met on the testbed."""
    sampled = seeds(context, 8, 60, 200)
    others = context.pick(QUICK_BASELINES, QUICK_BASELINES, (*QUICK_BASELINES, DORM))
    readings: dict[str, Reading] = {
        "done": AS_OURS,
        "all": _unfinished,
        "L as printed, done": L_PRINTED,
        "one worker each, done": FEW_WORKERS,
        "one worker each, all": lambda case: _unfinished(FEW_WORKERS(case)),
    }
    return _timely_finding(
        context,
        "With twelve jobs the order of the policies by delay depends on how jobs that are never done count.",
        "figure-9",
        Case(TESTBED),
        sampled,
        others,
        readings,
        f"{NOTE_TESTBED}.",
    )


def _late_figure(
    name: str, case: Case, sampled: Sequence[int], players: Sequence[Contender], note: str
) -> Figure:
    figure, ax = new_figure(height=1.0 + 0.5 * len(players))
    series = {}
    for kind in (SENSITIVE, CRITICAL):
        late = [np.concatenate([delays(who, case, seed, kind) for seed in sampled]) for who in players]
        mean = np.array([v.mean() if len(v) else 0.0 for v in late])
        half = np.array([v.std(ddof=1) if len(v) > 1 else np.nan for v in late])
        series[kind] = (mean, mean - half, mean + half)
    plot_bars(ax, [who.label for who in players], series, band="standard deviation of the jobs")
    ax.set_xlabel("completion - arrival - target (slots)")
    text = f"Delays of the jobs that are done, {len(sampled)} instances; no bar: no job is done. {note}"
    return Figure(f"admission-{name}", text, to_svg(figure))


# --- Fig. 5: performance ratio ---------------------------------------------------------------------------

STATED = (1.1, 1.5)
"""The performance ratios that the paper observes."""


class Within(Statement):
    """That a ratio lies in the range stated; the samples are logarithms of two ends of it, shape (seeds, 2).

    Ratios have few very large values, so that their geometric mean is judged. It is in the range where both
    ends are, is not where both are on one side of it, and is open elsewhere.
    """

    low, high = float(np.log(STATED[0])), float(np.log(STATED[1]))

    def tests(self, scenario: str) -> list[Test]:
        """Return a test per end of the range."""
        least, most = self.samples[scenario].T
        return [
            self._side(least - self.low, most - self.low),
            self._side(self.high - most, self.high - least),
        ]

    def found(self, scenario: str) -> str:
        """Return the intervals of the geometric means of both ends."""
        ends = [np.exp(mean_interval(end)) for end in self.samples[scenario].T]
        return " to ".join(f"{mean:.2f} ({low:.2f} to {high:.2f})" for mean, low, high in ends)

    @staticmethod
    def _side(least: np.ndarray, most: np.ndarray) -> Test:
        """Return a test that something is positive whose samples lie between these."""
        if least.mean() > 0.0:
            return Test(p_of_mean(least), True, None)
        return Test(p_of_mean(most) if most.mean() < 0.0 else 1.0, False, None)


@lru_cache(maxsize=4096)
def _enclosed(place: Place, seed: int) -> tuple[float, float]:
    """Return what a schedule found by search earns, and a certified bound; no clock decides."""
    from ....oracles.admission.bound import volume
    from ....oracles.admission.search import search
    from ....oracles.base import Budget

    made = instance(place, seed)
    prices = volume(made, Budget(0.0, None), rounds=200)
    schedule = search(made, prices, Budget(0.0, None), policy_seed(seed), iterations=600)
    return total_utility(made, schedule), prices.bound


def ratios(case: Case, sampled: Sequence[int]) -> np.ndarray:
    """Return ends of ln(OPT / OASiS) on each instance where OASiS earns something, shape (seeds, 2)."""
    found = []
    for seed in sampled:
        value, most = _enclosed(case.place, seed)
        ours = outcome(case.version(OASIS), case.place, seed).total
        if ours > 1e-9 * most:
            found.append((max(value, ours) / ours, most / ours))
    return np.log(np.array(found))


class Trend(Statement):
    """That a ratio has no clear trend: it changes by less than the largest factor between two ratios stated.

    The samples are logarithms of the factor by which it changes.
    """

    def tests(self, scenario: str) -> list[Test]:
        """Return a test that the change is not as large as the range upwards, and one downwards."""
        change, width = self.samples[scenario], Within.high - Within.low
        sides = (width - change, width + change)
        return [Test(p_of_mean(side), bool(side.mean() > 0.0), None) for side in sides]

    def found(self, scenario: str) -> str:
        """Return the interval of the factor."""
        mean, low, high = np.exp(mean_interval(self.samples[scenario]))
        return f"times {mean:.2f} ({low:.2f} to {high:.2f})"


@claim(
    "figure-5",
    "Fig. 5, Sec. V.A",
    Verdict.UNDETERMINED,
    says="For 10 jobs the optimum is 1.1 to 1.5 times what OASiS earns, without a clear trend in the number "
    "of "
    "servers or in U / L.",
    how="The best schedule found and a certified bound over OASiS, in geometric means; a clear trend is a "
    "factor as large as 1.5 / 1.1, the largest between two of the ratios stated.",
    choices=(
        "the numbers of servers and ranges of priorities",
        "whether bars are means or runs",
        *OPEN[:1],
        *OPEN[2:5],
    ),
)
def figure_5(context: Context) -> Finding:
    """Check the performance ratio with 10 jobs."""
    sampled = seeds(context, 4, 8, 30)
    servers = context.pick((10,), (10, 40), (10, 20, 40, 80))
    highs = context.pick((100.0,), (10.0, 100.0), (10.0, 30.0, 100.0))
    readings: dict[str, Reading] = {
        "jobs that fit": AS_OURS,
        "jobs of 3 slots": with_setup(fit="short", longest=3),
        "workers on C4": ON_C4,
        "all as printed": PRINTED,
    }
    keys = [*((n, highs[-1]) for n in servers), *((servers[0], high) for high in highs[:-1])]
    places = {(n, high): Case(Limited(10, 10, n // 2, n // 2, priority=(1.0, high))) for n, high in keys}
    found = {
        (name, *key): ratios(read(case), sampled)
        for name, read in track(context, readings.items())
        for key, case in places.items()
    }
    said: list[Statement] = [
        Within(
            f"the ratio is 1.1 to 1.5 ({n} servers, priorities up to {high:g})",
            {name: found[name, n, high] for name in readings},
        )
        for n, high in places
    ]
    if len(servers) > 1:
        ends = {
            "more servers": ((servers[0], highs[-1]), (servers[-1], highs[-1])),
            "larger U / L": ((servers[0], highs[0]), (servers[0], highs[-1])),
        }
        said += [
            Trend(
                f"no clear trend with {what}", {name: _change(found, name, *pair) for name in readings}, "", 2
            )
            for what, pair in ends.items()
        ]
    judged = judge(said, readings)
    every = np.exp(np.concatenate(list(found.values())))
    inside = (every[:, 0] >= STATED[0]) & (every[:, 0] <= STATED[1])
    return Finding(
        settled(judged),
        "In the typical case the optimum is 1.3 to 3 times what OASiS earns, depending on the jobs and "
        "machines drawn.",
        {
            "instances": len(sampled),
            "ratios of the best schedule found, least": round(float(every[:, 0].min()), 2),
            "median": round(float(np.median(every[:, 0])), 2),
            "most": round(float(every[:, 0].max()), 2),
            "of these 1.1 to 1.5 (%)": round(100.0 * float(inside.mean()), 1),
            "ratios of the certified bound, median": round(float(np.median(every[:, 1])), 2),
        },
        tables=(
            statements(
                judged, readings, f"Ratio of the best schedule found to that of a certified bound. {NOTE}."
            ),
        ),
        figures=(
            _ratio_figure(
                {f"{key[0]}, {key[1]} servers, up to {key[2]:g}": np.exp(v[:, 0]) for key, v in found.items()}
            ),
            _beside_the_best(next(iter(places.values())).place, sampled[0]),
        ),
        small=context.mode == "quick",
        assumes="Instances on which OASiS earns nothing are left out, which helps the paper.",
    )


def _change(
    found: Mapping[tuple[str, int, float], np.ndarray],
    name: str,
    first: tuple[int, float],
    last: tuple[int, float],
) -> np.ndarray:
    """Return by how much the ratio of the best schedule found is larger at the last place, pair by pair."""
    before, after = found[(name, *first)][:, 0], found[(name, *last)][:, 0]
    n = min(len(before), len(after))
    return after[:n] - before[:n]


def _ratio_figure(found: Mapping[str, np.ndarray]) -> Figure:
    figure, ax = new_figure(height=1.2 + 0.25 * len(found))
    rows = np.array([(np.median(r), r.min(), r.max()) for r in found.values()]).T
    plot_bars(ax, list(found), {"median": (rows[0], rows[1], rows[2])}, band="least and most")
    ax.axvspan(*STATED, alpha=0.25, linewidth=0, zorder=0, label="stated in the paper")
    ax.legend()
    ax.set_xlabel("best schedule found / OASiS")
    text = f"Best schedule found over OASiS for 10 jobs and T = 10. {NOTE}."
    return Figure("admission-figure-5", text, to_svg(figure))


def _beside_the_best(place: Place, seed: int) -> Figure:
    best, plan = searched(place, seed).schedule, outcome(OASIS, place, seed).schedule
    return gantt(
        "figure-5-gantt",
        "Workers of the best schedule found and of OASiS on one instance.",
        instance(place, seed),
        {"workers (best found)": (best, "workers"), "workers (OASiS)": (plan, "workers")},
    )


@claim(
    "ratio-at-scale",
    "Fig. 5, Abstract",
    Verdict.UNDETERMINED,
    ours=True,
    says="The ratio of 1.1 to 1.5 seen with 10 jobs holds with many jobs as well.",
    how="With many jobs: what a schedule found by search earns, and a certified bound, over OASiS.",
    choices=("how many jobs there are for a machine", *OPEN[:1], *OPEN[3:4]),
)
def ratio_at_scale(context: Context) -> Finding:
    """Check the performance ratio with many jobs."""
    sampled = seeds(context, 3, 5, 8)
    setup = context.pick(
        Setup(20, 30, 6, 6, "short"), Setup(40, 50, 10, 10, "short"), Setup(200, 100, 50, 50, "short")
    )
    readings: dict[str, Reading] = {
        "short jobs": AS_OURS,
        "feasible jobs": FEASIBLE,
        "L as printed": L_PRINTED,
        "four times the machines": with_setup(
            worker_machines=4 * setup.worker_machines, server_machines=4 * setup.server_machines
        ),
    }
    found = {name: ratios(read(Case(setup)), sampled) for name, read in track(context, readings.items())}
    judged = judge([Within("the ratio is 1.1 to 1.5", found)], readings)
    return Finding(
        settled(judged),
        "With many jobs the optimum is typically several times what OASiS earns, less with more machines; "
        "the samples "
        "do not decide.",
        {
            "instances": len(sampled),
            **{f"least ratio, {name}": float(np.exp(v[:, 0].min())) for name, v in found.items()},
        },
        tables=(
            statements(
                judged,
                readings,
                f"{setup.jobs} jobs, T = {setup.horizon}, {setup.worker_machines} + "
                f"{setup.server_machines} machines. {NOTE}.",
            ),
        ),
        small=context.mode == "quick",
    )


# --- Fig. 6: inaccurate U / L ----------------------------------------------------------------------------


def estimated(percent: float, **settings: object) -> Contender:
    """Return OASiS with U / L at a percentage of its actual value."""
    return Contender(f"{percent:g} %", "oasis", (("scale", percent / 100.0), *settings.items()))


@claim(
    "figure-6",
    "Fig. 6, Sec. V.A",
    Verdict.UNDETERMINED,
    says="When resources are scarce an underestimated U / L leads to a higher total utility than an "
    "overestimated "
    "one.",
    how="OASiS with U / L scaled down and up by the same factor, with more jobs than fit, in every reading.",
    choices=("the percentages", "how scarce resources are", *OPEN[:1], *OPEN[2:4]),
)
def figure_6(context: Context) -> Finding:
    """Check what a wrong range of prices costs."""
    sampled = seeds(context, 4, 10, 20)
    factors = context.pick((100.0,), (2.0, 100.0), (2.0, 10.0, 100.0))
    jobs, T, machines = context.pick((60, 40, 12), (60, 60, 15), (400, 300, 50))
    place = Setup(jobs, T, machines, machines, "short")
    exact = tuple(estimated(p) for f in factors for p in (100.0 / f, 100.0 * f))
    printed = with_versions(**{who.label: ("oasis", {**dict(who.settings), "floor": False}) for who in exact})
    readings: dict[str, Reading] = {
        "short jobs": AS_OURS,
        "L as printed": printed,
        "feasible jobs": FEASIBLE,
        "workers on C4": ON_C4,
    }
    readings = dict(list(readings.items())[: context.pick(2, 4, 4)])
    study = Study.run(context, LAB, exact, {f"{jobs} jobs": Case(place)}, sampled, readings)
    said = [
        Statement(
            f"U / L at {100.0 / f:g} % earns more than at {100.0 * f:g} %",
            study.samples(lambda v, f=f: lead(v[f"{100.0 / f:g} %"], v[f"{100.0 * f:g} %"])[:, 0]),  # type: ignore[misc]
            "%",
        )
        for f in factors
    ]
    return study.finding(
        "Scaling U / L down instead of up changes what OASiS earns by a few per cent; runs do not decide "
        "the sign.",
        said,
        small=context.mode == "quick",
        title=f"Total utility of OASiS with U / L at a percentage of its value, T = {T}, {machines} + "
        f"{machines} machines",
        figures=(study.figure("figure-6", "Total utility of OASiS with inaccurate U / L.", ""),),
        remark="f(T - a) of time-critical jobs makes U / L as printed so large that factors of it hardly "
        "matter.",
    )


CLAIMS = claim.claims
