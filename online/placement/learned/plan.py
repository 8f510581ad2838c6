"""What to train, on which jobs and for how long: a plan, read from a TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

import numpy as np

from ....models.base import InputError, refuse_unknown
from ....models.draw import choose, real, whole
from ....models.placement.generate import generate
from ....models.placement.instance import PlacementInstance
from .design import Design

VERSION = 1
VARIATES = ("ahead", "accrued", "none")
TRAINING, VALIDATION, TEST = 10_000_000, 1_000_000, 2_000_000
"""Where the seeds of generated instances begin: those of the three parts never meet."""

MOST_INSTANCES = 10_000


@dataclass(frozen=True)
class Training:
    r"""How networks learn.

    Attributes
    ----------
    iterations, episodes
        How often they are improved, each time by so many episodes, each on instances of its own.
    jobs
        Of each episode.
    imitation
        In how many of the iterations they learn to decide as FIFO-Consolidate, before they learn by reward.
    variate
        What the reward is told less of. "ahead": at every decision, what all would cost in the end if
        FIFO-Consolidate took over. "accrued": what FIFO-Consolidate has cost on the same jobs up to the same
        time. "none": nothing. All add up to the same, but for a constant of the instance.
    epochs, minibatch
        Passes over the decisions of an iteration, and how many of them make a step.
    learning_rate
        Of Adam.
    discount, smoothing
        :math:`\gamma`, and the :math:`\lambda` of the advantage estimates.
    clip, entropy
        :math:`\epsilon` and :math:`\lambda` of (17).
    """

    iterations: int = 100
    episodes: int = 16
    jobs: int = 200
    imitation: int = 0
    variate: str = "ahead"
    epochs: int = 4
    minibatch: int = 512
    learning_rate: float = 0.01
    discount: float = 0.5
    smoothing: float = 0.95
    clip: float = 0.2
    entropy: float = 0.0

    def __post_init__(self) -> None:
        for name, low, high in (
            ("iterations", 1, 10**7),
            ("episodes", 1, 4096),
            ("jobs", 1, 10**5),
            ("imitation", 0, 10**7),
            ("epochs", 1, 1000),
            ("minibatch", 1, 10**7),
        ):
            whole(f"training.{name}", getattr(self, name), low, high)
        choose(self.variate, VARIATES, "training.variate")
        for part, least, most in (
            ("learning_rate", 1e-9, 10.0),
            ("discount", 0.0, 1.0),
            ("smoothing", 0.0, 1.0),
            ("clip", 1e-6, 0.999),
            ("entropy", 0.0, 10.0),
        ):
            real(f"training.{part}", getattr(self, part), least, most)


@dataclass(frozen=True)
class Trial:
    """Instances to judge networks by: how many, with how many jobs, and, in training, how often."""

    instances: int = 10
    jobs: int = 400
    every: int = 10

    def __post_init__(self) -> None:
        whole("instances", self.instances, 1, MOST_INSTANCES)
        whole("jobs", self.jobs, 1, 10**5)
        whole("every", self.every, 1, 10**7)


@dataclass(frozen=True)
class Plan:
    """What to train, on which jobs and for how long.

    Attributes
    ----------
    seed
        Decides every draw.
    design
        What the networks are made of.
    jobs
        Options of the generator of instances: among them ``cluster``, ``rho``, ``gpu_weight`` and
        ``estimate_error``. ``clusters``, a list, stands for several clusters in turn.
    training, validation, test
        How networks learn, which instances say which of them is kept, and which ones say how good it is.
    """

    seed: int = 0
    design: Design = field(default_factory=Design)
    jobs: Mapping[str, Any] = field(default_factory=dict)
    training: Training = field(default_factory=Training)
    validation: Trial = field(default_factory=Trial)
    test: Trial = field(default_factory=Trial)

    def __post_init__(self) -> None:
        whole("seed", self.seed, 0)
        fixed = {"seed": "[training] draws them", "jobs": "[training], [validation] and [test] have it"}
        for name, why in fixed.items():
            if name in self.jobs:
                raise InputError(f"jobs.{name}: not here; {why}")
        if self.design.features == "estimates" and "estimate_error" not in self.jobs:
            raise InputError('jobs.estimate_error: missing, but design.features is "estimates"')

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        """Read a plan as TOML gives it.

        Raises
        ------
        InputError
            For a key that is unknown, a value out of range, or jobs that cannot be generated.
        """
        parts = {"seed", "design", "jobs", "training", "validation", "test"}
        refuse_unknown(data, parts | {"version"})
        if data.get("version") != VERSION:
            raise InputError(f"version: {data.get('version')!r}; plans have version = {VERSION}")
        made = cls(
            seed=data.get("seed", 0),
            design=Design.of(_table(data, "design")),
            jobs=dict(_table(data, "jobs")),
            training=_read(Training, data, "training"),
            validation=_read(Trial, data, "validation"),
            test=_read(Trial, data, "test"),
        )
        made.instance(VALIDATION, 0, 2)
        return made

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a plan from a file; every error names it."""
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"{path}: {error.strerror or error}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: no TOML: {error}") from error
        try:
            return cls.of(data)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error

    def to_dict(self) -> dict[str, Any]:
        """Return what :meth:`of` reads."""
        return {"version": VERSION, **asdict(self)}

    @property
    def clusters(self) -> tuple[str | None, ...]:
        """The clusters to train for in turn."""
        several = self.jobs.get("clusters")
        return (self.jobs.get("cluster"),) if several is None else tuple(several)

    def instance(self, part: int, number: int, jobs: int, turn: int = 0) -> PlacementInstance:
        """Return an instance of a part (TRAINING, VALIDATION or TEST), on the cluster of that turn."""
        options = {name: value for name, value in self.jobs.items() if name not in ("clusters", "cluster")}
        cluster = self.clusters[turn % len(self.clusters)]
        return generate(seed=part + number, jobs=jobs, cluster=cluster, **options)

    def judged(self, part: int, trial: Trial) -> list[PlacementInstance]:
        """Return the instances of a trial: so many for each cluster."""
        turns = range(len(self.clusters))
        return [self.instance(part, i, trial.jobs, turn) for turn in turns for i in range(trial.instances)]

    def lesson(self, iteration: int, rng: np.random.Generator) -> list[PlacementInstance]:
        """Return the instances of an iteration, drawn anew."""
        drawn = rng.integers(2**40, size=self.training.episodes).tolist()
        return [self.instance(TRAINING, seed, self.training.jobs, iteration) for seed in drawn]


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
