"""Training plans, read from TOML files: the networks, the jobs and the length of a training."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from ....models.base import InputError, read_text, refuse_unknown
from ....models.draw import choose, choose_some, real, truth, whole, whole_interval
from ....models.placement.generate import CLUSTERS, generate
from ....models.placement.instance import PlacementInstance
from ....models.placement.trace import from_trace
from .design import Design

VERSION = 1
VARIATES = ("ahead", "accrued", "none")
GRADIENT, EVOLUTION = METHODS = ("gradient", "evolution")
TRAINING, VALIDATION, TEST, OPTIMA = 10_000_000, 1_000_000, 2_000_000, 3_000_000
"""Where the seeds of generated instances begin: those of the parts never meet."""

IDLE = {
    GRADIENT: ("pairs", "spread"),
    EVOLUTION: (
        *("imitation", "variate", "reward_limit", "epochs", "minibatch"),
        *("discount", "smoothing", "clip", "entropy"),
    ),
}
"""The settings that have no effect with each method, so that none but their defaults are accepted."""

MOST_INSTANCES = 10_000

PARTS = {TRAINING: "training", VALIDATION: "validation", TEST: "test"}
"""Where each part stands in a plan."""

FILLED = 0
"""The seed of what a trace lacks: the same everywhere, so that a job is the same job in every part."""

ELSEWHERE = {
    "seed": "[training] draws them",
    "jobs": "[training], [validation] and [test] have it",
    "first": "[training], [validation] and [test] have numbers",
}
"""Options of the generator that a plan gives in another place."""


class Progress(NamedTuple):
    """Progress after an iteration.

    Attributes
    ----------
    iteration, iterations
        How many are done, and of how many.
    steps
        Decisions so far.
    speed
        Decisions of this iteration per second, updates included.
    objective
        By how many per cent the cost of the episodes was above that of FIFO-Consolidate.
    validation, best
        The same of the means of the actions on the validation instances, and the least of these so far;
        None as long as there is none.
    """

    iteration: int
    iterations: int
    steps: int
    speed: float
    objective: float
    validation: float | None
    best: float | None


@dataclass(frozen=True)
class Training:
    r"""The settings of the learning.

    Attributes
    ----------
    method
        "gradient": by rewards, decision by decision. "evolution": by what whole episodes cost, see
        :mod:`.evolution`; of a linear design, and only that one.
    iterations, episodes
        How often they are improved, each time by so many episodes, each on instances of its own.
    jobs
        Of each episode.
    imitation
        In how many of the iterations they learn to decide as FIFO-Consolidate, or as :class:`Optima`, before
        they learn by reward.
    variate
        What is subtracted from the reward. "ahead": at every decision, what all would cost in the end if
        FIFO-Consolidate took over, or with the prior "estimates" the shortest estimate first, and with the
        prior "patient" DRF-Patient. "accrued": what FIFO-Consolidate has cost on the same jobs up to the
        same time. "none": nothing. All add up to the same, but for a constant of the instance.
    reward_limit
        Limit of a step's reward, either way, in mean costs of a job under FIFO-Consolidate; a few
        decisions about jobs that run for days would drown all others. The literal reward has its own unit.
    epochs, minibatch
        Passes over the decisions of an iteration, and how many of them make a step.
    learning_rate, anneal
        Of Adam, and whether it falls to 0 in equal steps.
    discount, smoothing
        :math:`\gamma`, and the :math:`\lambda` of the advantage estimates.
    clip, entropy
        :math:`\epsilon` and :math:`\lambda` of (17).
    pairs, spread
        Of the evolution: how many pairs of weights play each episode, and the standard deviation of weights
        around their centre.
    numbers
        Of the jobs of a trace to learn from: the first, and the one after the last; None without a trace.
    """

    method: str = GRADIENT
    iterations: int = 100
    episodes: int = 16
    jobs: int = 200
    imitation: int = 0
    variate: str = "ahead"
    reward_limit: float = 1.0
    epochs: int = 4
    minibatch: int = 512
    learning_rate: float = 0.01
    anneal: bool = True
    discount: float = 0.5
    smoothing: float = 0.95
    clip: float = 0.2
    entropy: float = 0.0
    pairs: int = 4
    spread: float = 0.3
    numbers: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        for name, low, high in (
            ("iterations", 1, 10**7),
            ("episodes", 1, 4096),
            ("jobs", 1, 10**5),
            ("imitation", 0, 10**7),
            ("epochs", 1, 1000),
            ("minibatch", 1, 10**7),
            ("pairs", 1, 4096),
        ):
            whole(f"training.{name}", getattr(self, name), low, high)
        choose(self.method, METHODS, "training.method")
        choose(self.variate, VARIATES, "training.variate")
        truth("training.anneal", self.anneal)
        for part, least, most in (
            ("reward_limit", 1e-6, 1e9),
            ("learning_rate", 1e-9, 10.0),
            ("discount", 0.0, 1.0),
            ("smoothing", 0.0, 1.0),
            ("clip", 1e-6, 0.999),
            ("entropy", 0.0, 10.0),
            ("spread", 1e-6, 100.0),
        ):
            real(f"training.{part}", getattr(self, part), least, most)
        if self.imitation > self.iterations:
            raise InputError(f"training.imitation: {self.imitation} of only {self.iterations} iterations")
        _read_numbers(self, self.jobs)


@dataclass(frozen=True)
class Trial:
    """Instances to judge networks by.

    Attributes
    ----------
    instances, jobs
        How many, for each cluster, and with how many jobs each.
    every
        After how many iterations the networks are validated; no matter in the test.
    patience
        Training ends early once the mean of so many last validations is not below that of as many before
        them; with None it never does. No matter in the test.
    numbers
        As in :class:`Training`. The instances stand side by side from the first number on.
    """

    instances: int = 10
    jobs: int = 400
    every: int = 10
    patience: int | None = None
    numbers: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        whole("instances", self.instances, 1, MOST_INSTANCES)
        whole("jobs", self.jobs, 1, 10**5)
        whole("every", self.every, 1, 10**7)
        if self.patience is not None:
            whole("patience", self.patience, 1, 10**7)
        _read_numbers(self, self.instances * self.jobs)


@dataclass(frozen=True)
class Optima:
    """Small instances whose optima are imitated in the place of FIFO-Consolidate, the same each time.

    Attributes
    ----------
    instances, jobs
        How many, and with how many jobs each.
    machines, rho
        How many machines there are, and the generator's ``rho``, in the place of those of the plan's
        ``jobs``. It stands for the load of the generator's own cluster: on fewer machines it is higher.
    gap
        What is proved: that nothing costs less by more than this part of the cost. Instances of which the
        oracle cannot prove it are left out.
    """

    instances: int = 64
    jobs: int = 6
    machines: int = 2
    rho: float = 4.0
    gap: float = 0.01

    def __post_init__(self) -> None:
        whole("instances", self.instances, 1, 1000)
        whole("jobs", self.jobs, 1, 100)
        whole("machines", self.machines, 1, 100)
        real("rho", self.rho, 1e-6, 1e6)
        real("gap", self.gap, 0.0, 1.0)


@dataclass(frozen=True)
class Plan:
    """A training plan: the networks, the jobs and the length.

    Attributes
    ----------
    seed
        Seed of all draws.
    design
        The design of the networks.
    jobs
        Options of the generator of instances: among them ``cluster``, ``rho``, ``gpu_weight`` and
        ``estimate_error``. ``clusters``, a list, stands for several clusters in turn. With ``trace``, a
        folder, jobs come from traces, and the options are those of
        :func:`clairvoyant.models.placement.trace.from_trace`.
    training, validation, test
        How networks learn, which instances say which of them is kept, and which ones say how good it is.
    optima
        What is imitated; None if that is FIFO-Consolidate.
    folder
        From where ``trace`` is looked for; no part of the plan.

    Raises
    ------
    InputError
        For an option that the generator does not have, parts of a trace that overlap or are missing, and what
        does not fit the design.
    """

    seed: int = 0
    design: Design = field(default_factory=Design)
    jobs: Mapping[str, Any] = field(default_factory=dict)
    training: Training = field(default_factory=Training)
    validation: Trial = field(default_factory=Trial)
    test: Trial = field(default_factory=Trial)
    optima: Optima | None = None
    folder: Path = field(default=Path(), compare=False, repr=False)

    def __post_init__(self) -> None:
        whole("seed", self.seed, 0)
        for name, why in ELSEWHERE.items():
            if name in self.jobs:
                raise InputError(f"jobs.{name}: not here; {why}")
        maker = from_trace if self.recorded else generate
        known = {part.name for part in inspect.signature(maker).parameters.values()}
        refuse_unknown(self.jobs, (known - {"folder", *ELSEWHERE}) | {"trace", "clusters"}, "jobs.")
        if "clusters" in self.jobs:
            self._check_clusters()
        if self.design.features == "estimates" and "estimate_error" not in self.jobs:
            raise InputError('jobs.estimate_error: missing, but design.features is "estimates"')
        if (self.training.method == EVOLUTION) != self.design.linear:
            raise InputError('training.method: "evolution" is for a linear design, and a linear one needs it')
        for part in IDLE[self.training.method]:
            if getattr(self.training, part) != getattr(Training, part):
                raise InputError(
                    f'training.{part}: has no effect with training.method "{self.training.method}"'
                )
        if self.training.imitation and not self.design.learns_order and self.design.readings.literal("mean"):
            raise InputError(
                "training.imitation: nothing learns by it: no agent orders, and the mean of affinities is 0"
            )
        if self.optima is not None:
            self._check_optima()
        self._check_numbers()

    def _check_optima(self) -> None:
        if self.training.method != EVOLUTION and not self.training.imitation:
            raise InputError("optima: nothing imitates them; training.imitation says for how many iterations")
        if self.recorded:
            raise InputError("optima: not with jobs.trace")
        if self.training.method == EVOLUTION:
            raise InputError('optima: not with training.method "evolution"')
        if self.design.in_steps:
            raise InputError(f"optima: not with {', '.join(self.design.in_steps)}")

    def _check_clusters(self) -> None:
        for other in ("cluster", "machines"):
            if other in self.jobs:
                raise InputError(f"jobs.{other}: not beside jobs.clusters")
        if not choose_some("jobs.clusters", self.jobs["clusters"], CLUSTERS):
            raise InputError("jobs.clusters: names no cluster")

    def _check_numbers(self) -> None:
        """Refuse ranges of a trace that overlap, are missing, or stand there without a trace."""
        earlier: list[str] = []
        for name in PARTS.values():
            mine = getattr(self, name).numbers
            if (mine is not None) != self.recorded:
                why = "missing, but there is jobs.trace" if mine is None else "not without jobs.trace"
                raise InputError(f"{name}.numbers: {why}")
            for other in earlier if mine is not None else ():
                theirs = getattr(self, other).numbers
                if mine[0] < theirs[1] and theirs[0] < mine[1]:
                    raise InputError(f"{name}.numbers: {[*mine]} overlaps {[*theirs]} of {other}.numbers")
            earlier.append(name)

    @classmethod
    def of(cls, data: Mapping[str, Any], folder: Path = Path()) -> Self:
        """Read a plan as TOML gives it; ``folder`` is where it lies. What does not fit is an InputError."""
        refuse_unknown(data, {"version", "seed", "design", "jobs", "optima", *PARTS.values()})
        if type(data.get("version")) is not int or data["version"] != VERSION:
            raise InputError(f"version: {data.get('version')!r}; plans have version = {VERSION}")
        made = cls(
            seed=data.get("seed", 0),
            design=Design.of(_table(data, "design")),
            jobs=dict(_table(data, "jobs")),
            training=_read(Training, data, "training"),
            validation=_read(Trial, data, "validation"),
            test=_read(Trial, data, "test"),
            optima=_read(Optima, data, "optima") if "optima" in data else None,
            folder=folder,
        )
        made._try()
        return made

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a plan from a file; every error names it."""
        try:
            data = tomllib.loads(read_text(path))
        except InputError:
            raise
        except (ValueError, RecursionError) as error:  # not TOML, or a number of too many digits
            raise InputError(f"{path}: no TOML: {error}") from error
        try:
            return cls.of(data, path.parent)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error

    def to_dict(self) -> dict[str, Any]:
        """Return the form that :meth:`of` reads."""
        data = {"version": VERSION, **asdict(self)}
        del data["folder"]
        if self.optima is None:
            del data["optima"]
        for name in PARTS.values():
            numbers, patience = data[name].pop("numbers"), data[name].pop("patience", None)
            if numbers is not None:
                data[name]["numbers"] = [*numbers]
            if patience is not None:
                data[name]["patience"] = patience
        return data

    @property
    def recorded(self) -> bool:
        """Whether the jobs come from traces."""
        return "trace" in self.jobs

    @property
    def clusters(self) -> tuple[str | None, ...]:
        """The clusters to train for in turn."""
        several = self.jobs.get("clusters")
        return (self.jobs.get("cluster"),) if several is None else tuple(several)

    def _options(self, turn: int) -> dict[str, Any]:
        """Return the options of the generator for the cluster of that turn."""
        own = ("trace", "clusters", "cluster")
        options = {name: value for name, value in self.jobs.items() if name not in own}
        return options | {"cluster": self.clusters[turn % len(self.clusters)]}

    def _trace(self) -> Path:
        return self.folder / self.jobs["trace"]

    def _try(self) -> None:
        """Make instances, or all jobs of a trace, so that what is wrong is said before any work."""
        for turn in range(len(self.clusters)):
            try:
                self._refuse_free(self._tried(turn))
            except InputError as error:
                raise InputError(self._named(str(error))) from error
        if self.optima is not None:
            self.small()
        for name in PARTS.values() if self.recorded else ():
            first, end = getattr(self, name).numbers
            options = self._options(0) | {"rho": None}
            try:
                found = from_trace(self._trace(), seed=FILLED, jobs=end - first, first=first, **options)
                self._refuse_free(found)
            except InputError as error:
                raise InputError(f"{name}.numbers: {str(error).removeprefix('jobs: ')}") from error

    def _refuse_free(self, made: PlacementInstance) -> None:
        """Refuse jobs that pay nothing where the reward divides by that."""
        from ....models.placement.reward import refuse_free_jobs

        if self.design.readings.literal("reward"):
            refuse_free_jobs(made)

    def _named(self, refused: str) -> str:
        """Return a generator's error with the name that the field has here."""
        text = refused.removeprefix("slowdown.")
        if re.split(r"\W", text, maxsplit=1)[0] in self.jobs:
            return f"jobs.{text}"
        return f"jobs.trace: {text}" if self.recorded else f"jobs: {text}"

    def _tried(self, turn: int) -> PlacementInstance:
        """Return an instance that is made quickly, by the options of a turn."""
        if not self.recorded:
            return self.instance(
                VALIDATION, 0, max(getattr(self, name).jobs for name in PARTS.values()), turn
            )
        if not isinstance(self.jobs["trace"], str):
            raise InputError(f"trace: {self.jobs['trace']!r} is not the name of a folder")
        return from_trace(self._trace(), seed=FILLED, jobs=0, **self._options(turn))

    def instance(self, part: int, number: int, jobs: int, turn: int = 0) -> PlacementInstance:
        """Return an instance of a part (TRAINING, VALIDATION or TEST), on the cluster of that turn."""
        options = self._options(turn)
        if not self.recorded:
            return generate(seed=part + number, jobs=jobs, **options)
        first, end = getattr(self, PARTS[part]).numbers
        # Training begins at any job, the other parts take one stretch after the other.
        first += number % (end - first - jobs + 1) if part == TRAINING else number * jobs
        return from_trace(self._trace(), seed=FILLED, jobs=jobs, first=first, **options)

    def small(self) -> list[PlacementInstance]:
        """Return the instances whose optima are imitated; an InputError if there are none."""
        given = self.optima
        if given is None:
            raise InputError("optima: missing")
        options = self._options(0) | {"cluster": None, "machines": given.machines, "rho": given.rho}
        try:
            return [generate(seed=OPTIMA + i, jobs=given.jobs, **options) for i in range(given.instances)]
        except InputError as error:
            raise InputError(f"optima: {error}") from error

    def judged(self, part: int, trial: Trial) -> list[PlacementInstance]:
        """Return the instances of a trial: so many for each cluster."""
        turns = range(len(self.clusters))
        try:
            return [
                self.instance(part, i, trial.jobs, turn) for turn in turns for i in range(trial.instances)
            ]
        except InputError as error:
            raise InputError(f"{PARTS[part]}: {self._named(str(error))}") from error

    @cached_property
    def judges(self) -> str:
        """What names all instances that judge: traces of one name are others in another folder."""
        made = (*self.judged(VALIDATION, self.validation), *self.judged(TEST, self.test))
        return sha256("".join(one.digest() for one in made).encode()).hexdigest()

    def refuse_other(self, found: Mapping[str, Any], path: Path) -> None:
        """Raise an InputError that names the first that differs, if a file is of another plan."""
        theirs, mine = found.get("plan"), self.to_dict()
        if theirs != mine:
            raise InputError(
                f"{path}: is of a training by another plan{_first_difference(theirs, mine)}; name another "
                f"folder, or remove this one"
            )

    def refuse_others(self, found: Mapping[str, Any], path: Path) -> None:
        """Raise an InputError if a training in a file is of another plan, or other jobs judged it."""
        self.refuse_other(found, path)
        if found.get("judges") != self.judges:
            raise InputError(
                f"{path}: is of this plan on other jobs; name another folder, or remove this one"
            )

    def lesson(self, iteration: int, rng: np.random.Generator) -> list[PlacementInstance]:
        """Return the instances of an iteration, drawn anew."""
        sampled = rng.integers(2**40, size=self.training.episodes).tolist()
        return [self.instance(TRAINING, seed, self.training.jobs, iteration) for seed in sampled]


def _first_difference(theirs: Any, mine: Any, name: str = "") -> str:
    """Return where two plans differ first, as the end of a sentence; nothing if one of them is no plan."""
    if isinstance(theirs, dict) and isinstance(mine, dict):
        for key in [*mine, *theirs]:
            if theirs.get(key) != mine.get(key):
                return _first_difference(theirs.get(key), mine.get(key), f"{name}.{key}".lstrip("."))
    return f" ({name} is {theirs!r} there, {mine!r} here)" if name else ""


def _read_numbers(part: Training | Trial, needed: int) -> None:
    """Check the range of a trace, and store it as a pair."""
    if part.numbers is None:
        return
    prefix = "training." if isinstance(part, Training) else ""
    first, end = whole_interval(f"{prefix}numbers", part.numbers)
    if end - first < needed:
        raise InputError(f"{prefix}numbers: {[first, end]} are {end - first} jobs; {needed} are needed")
    object.__setattr__(part, "numbers", (first, end))


def _table(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = data.get(name, {})
    if not isinstance(found, Mapping):
        raise InputError(f"{name}: {found!r} is not a table")
    return found


def _read(kind: type[Any], data: Mapping[str, Any], name: str) -> Any:
    given = _table(data, name)
    refuse_unknown(given, {part.name for part in fields(kind)}, f"{name}.")
    try:
        return kind(**given)
    except InputError as error:
        raise InputError(str(error) if str(error).startswith(name) else f"{name}.{error}") from error
