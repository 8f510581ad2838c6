"""The learned schedulers as policies: networks that decide by the means of their actions.

They need no PyTorch, and load nothing heavy before a policy starts.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ....models.base import InputError
from ....models.draw import choose, real, whole
from ....models.placement.setting import Observation, Setting
from ...base import Traits
from .design import DESIGNS

if TYPE_CHECKING:
    from .acting import Scores
    from .weights import Networks

SHIPPED = Path(__file__).parent / "pretrained"
"""Where the trained networks lie that come with the package, as ``NAME-MEMBER.npz``."""


def members(name: str) -> list[int]:
    """Return the numbers of the networks of a trained policy that come with the package."""
    stems = (path.stem.removeprefix(f"{name}-") for path in SHIPPED.glob(f"{name}-*.npz"))
    return sorted(int(number) for number in stems if number.isdecimal())


class Learned(ABC):
    """A policy that lets networks decide; ties: the older job, the machine with the lower index."""

    name: str
    traits: Traits

    @abstractmethod
    def networks(self) -> Networks:
        """Return the networks that decide."""

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Store the machines and forget all jobs; an InputError if the networks cannot be read."""
        from .acting import Player

        self._player = Player(self.networks(), setting, rng)

    def decide(self, observation: Observation) -> np.ndarray:
        """Return the rows (job, machine, count) that start now."""
        return self._player.decide(observation).rows

    def scores(self, observation: Observation) -> Scores:
        """Return the agents' view of every waiting job now, as Figure 6 shows; this decides nothing."""
        return self._player.scores(observation)


@lru_cache(maxsize=16)
def _restored(path: Path, changed: tuple[int, ...]) -> Networks:  # noqa: ARG001 - the cache goes by both
    """Return the networks of a file; ``changed`` is another if it was written anew."""
    from .checkpoint import restored

    return restored(path)


def _read(path: Path) -> Networks:
    """Return the networks of a file, read anew if it has changed since."""
    try:
        now = path.stat()
    except OSError as error:
        raise InputError(f"checkpoint: {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"checkpoint: {str(path)!r} is not the path of a file") from error
    return _restored(path.absolute(), (now.st_mtime_ns, now.st_size, now.st_ino))


@dataclass
class Trained(Learned):
    """A learned policy whose networks lie in a file.

    Parameters
    ----------
    member
        Which of the networks that come with the package: the seed of their training.
    checkpoint
        A file of networks in the place of those, as ``clairvoyant train`` writes it. They decide by the
        design that the file says.

    Raises
    ------
    InputError
        When it is made: if there is no such member, if the file cannot be read, or if its networks see
        estimates of the durations, which the policy does not declare to see.
    """

    member: int = 0
    checkpoint: str | None = None
    name: str = field(default="trained", init=False)

    def __post_init__(self) -> None:
        whole("member", self.member, 0, 10**9)
        if self.checkpoint is None:
            self._refuse_missing()
            return
        if not isinstance(self.checkpoint, (str, os.PathLike)):
            raise InputError(f"checkpoint: {self.checkpoint!r} is not the path of a file")
        if self.member:
            raise InputError(f"member: {self.member} is given, and a checkpoint as well; give one of them")
        if self.networks().design.draws_jobs:
            self.traits = replace(self.traits, randomised=True)

    def _refuse_missing(self) -> None:
        if self._path().is_file():
            return
        known = ", ".join(map(str, members(type(self).name))) or "none"
        raise InputError(
            f"member: {self.member} of {type(self).name} does not come with the package; there are: {known}"
        )

    def _path(self) -> Path:
        if self.checkpoint is not None:
            return Path(self.checkpoint)
        return SHIPPED / f"{type(self).name}-{self.member}.npz"

    def networks(self) -> Networks:
        """Return the networks of the file."""
        path = self._path()
        found = _read(path)
        if found.design.sees_estimates and "estimates" not in self.traits.sees:
            raise InputError(
                f"checkpoint: {path}: its networks see estimates of the durations, which {type(self).name} "
                f"does not declare to see; da-mc-estimates does"
            )
        return found


@dataclass
class Das(Trained):
    """DAS: attention orders jobs, a Gaussian process on graphs ranks machines; ties: older, lower index.

    The design of Sec. 4 with the features of the paper, read so that it can work
    (:class:`.design.Readings`), and trained here. In play the process is inert: it learns by how much
    affinities were off their means, and of means that are played that is nothing. What it adds can only come
    from the training, where affinities are drawn. With ``outcomes`` it is amended: an affinity then was off
    by how much the job was slowed down where it was put, which a scheduler knows of what it has placed.

    Parameters
    ----------
    member, checkpoint
        See :class:`Trained`.
    outcomes
        The weight of outcomes: by how much an affinity was too high for each unit of the natural logarithm of
        the slowdown; 0: that of the training, and the networks of this policy learned without, as in the
        paper. Only of networks with the process, soundly read.

    Raises
    ------
    InputError
        As of :class:`Trained`, and for a weight below 0, or for networks without the process.
    """

    outcomes: float = 0.0
    name: str = field(default="das", init=False)
    traits = Traits(
        problem="placement",
        source="Xing et al., KDD 2023, Sec. 4; what its text leaves open is ours",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.outcomes = real("outcomes", self.outcomes, 0.0)
        design = self.networks().design if self.outcomes > 0.0 else DESIGNS["das"]
        if not design.hears_outcomes:
            raise InputError("outcomes: only of networks that have the process, in its sound reading")

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Store the machines and forget all jobs and outcomes."""
        from .acting import Player

        self._player = Player(self.networks(), setting, rng, self.outcomes)


@dataclass
class Da(Trained):
    """DA: DAS without messages and without the process (ablation); ties: older job, lower index.

    Attention orders the jobs; affinities to machines are independent.
    """

    name: str = field(default="da", init=False)
    traits = Traits(
        problem="placement",
        source="Xing et al., KDD 2023, Sec. 5.3: an ablation",
    )


@dataclass
class DaMc(Trained):
    """DA+MC: DAS without the process (ablation); ties: older job, lower index.

    Attention orders the jobs, into which the state of the cluster is fused; affinities are independent.
    """

    name: str = field(default="da-mc", init=False)
    traits = Traits(
        problem="placement",
        source="Xing et al., KDD 2023, Sec. 5.3: an ablation",
    )


@dataclass
class DaRwgp(Trained):
    """DA+RWGP: DAS without messages from machines to jobs (ablation); ties: older job, lower index."""

    name: str = field(default="da-rwgp", init=False)
    traits = Traits(
        problem="placement",
        source="Xing et al., KDD 2023, Sec. 5.3: an ablation",
    )


@dataclass
class Dl2(Trained):
    """DL2: a network orders jobs, machines go by index (rival of the paper); ties: the older job.

    It first imitates FIFO-Consolidate, then learns by reward.
    """

    name: str = field(default="dl2", init=False)
    traits = Traits(
        problem="placement",
        source="Peng et al., IEEE TPDS 2021, as the baseline of Xing et al., KDD 2023, Sec. 5.1.5",
    )


@dataclass
class Rifling(Trained):
    """RIFLING: the oldest job, machines ranked for its group (rival of the paper); ties: the lower index.

    Groups of jobs are formed by k-means before the networks learn.
    """

    name: str = field(default="rifling", init=False)
    traits = Traits(
        problem="placement",
        source="Chen, Software: Practice and Experience 2022, as the baseline of Xing et al., KDD "
        "2023, Sec. 5.1.5",
    )


@dataclass
class ClonePpo(Trained):
    """Clone-then-PPO: DA+MC that first imitates FIFO-Consolidate; ties: older job, lower index.

    After that it learns by reward; members 0 and 1 were best, by validation, before it did.
    """

    name: str = field(default="clone-ppo", init=False)
    traits = Traits(
        problem="placement",
        source="ours: da-mc of Xing et al., KDD 2023, begun by imitation as DL2 is (Peng et al., IEEE "
        "TPDS 2021)",
    )


@dataclass
class DaMcCapacity(Trained):
    """DA+MC-Capacity: DA+MC that also sees where a job has room; ties: older job, lower index.

    It starts out from FIFO-Consolidate. It also sees how much jobs contend: its features are those called
    "capacity" in :mod:`.features`. What is learned is added to the order of submission and to the ranks of
    the machines under FIFO-Consolidate.
    """

    name: str = field(default="da-mc-capacity", init=False)
    traits = Traits(
        problem="placement",
        source="ours: da-mc of Xing et al., KDD 2023, with more features, from fifo-consolidate on",
    )


@dataclass
class DaMcPatient(Trained):
    """DA+MC-Patient: DA+MC-Capacity with an agent that lets jobs wait; ties: older job, lower index.

    It starts out from the fewest GPUs first, on the machines of FIFO-Consolidate, and from the waiting of
    :class:`...packing.DrfPatient`. What lets a job wait also sees for how long the jobs that have ended ran,
    and for how long those have run that run now: features "hold" in :mod:`.features`.
    """

    name: str = field(default="da-mc-patient", init=False)
    traits = Traits(
        problem="placement",
        source="ours: da-mc-capacity with the waiting of drf-patient",
    )


@dataclass
class DaMcEstimates(Trained):
    """DA+MC-Estimates: DA+MC-Capacity that also sees estimates of users; ties: older job, lower index.

    It starts out from the shortest estimate first, on the machines of FIFO-Consolidate. The jobs of the
    instance need estimates.
    """

    name: str = field(default="da-mc-estimates", init=False)
    traits = Traits(
        problem="placement",
        sees=frozenset({"estimates"}),
        source="ours: da-mc-capacity with estimates",
    )


@dataclass
class Evolved(Trained):
    """Evolved: DRF-Patient with three linear scores found by evolution; ties: older job, lower index.

    Which job is tried first, which of the machines with equal room takes it, and whether it waits though it
    fits: each is what :class:`...packing.DrfPatient` goes by, plus a weighted sum of products of features
    and the state (:mod:`.linear_kernels`). The weights were found by what whole episodes cost
    (:mod:`.evolution`).
    """

    name: str = field(default="evolved", init=False)
    traits = Traits(
        problem="placement",
        source="ours: drf-patient with scores found by evolution strategies (Salimans et al., "
        "arXiv:1703.03864)",
    )


@dataclass
class EvolvedEstimates(Trained):
    """Evolved-Estimates: as Evolved, but from the shortest estimate first; ties: older job, lower index.

    It starts out from :class:`...packing.SjfEstimatePatient`, and its scores see the estimates, too. The jobs
    of the instance need estimates.
    """

    name: str = field(default="evolved-estimates", init=False)
    traits = Traits(
        problem="placement",
        sees=frozenset({"estimates"}),
        source="ours: sjf-estimate-patient with scores found by evolution strategies (Salimans et al., "
        "arXiv:1703.03864)",
    )


@dataclass
class Untrained(Learned):
    """Untrained: a design's networks before any training (control); ties: older job, lower index.

    Those of "rifling" have no groups of jobs yet, and all machines are alike to them.

    Parameters
    ----------
    design
        The name of a design: one of :data:`.design.DESIGNS`.
    seed
        Of the training that would begin with these networks.

    Raises
    ------
    InputError
        If there is no such design.
    """

    design: str = "das"
    seed: int = 0
    name: str = field(default="untrained", init=False)
    traits = Traits(
        problem="placement",
        source="ours, as a control of the designs of Xing et al., KDD 2023",
    )

    def __post_init__(self) -> None:
        choose(self.design, (name for name, one in DESIGNS.items() if not one.sees_estimates), "design")
        whole("seed", self.seed, 0)

    def networks(self) -> Networks:
        """Return new networks."""
        from .weights import initial

        return initial(DESIGNS[self.design], self.seed)


_PAPER = (Das, Da, DaMc, DaRwgp, Dl2, Rifling)
_OURS = (ClonePpo, DaMcCapacity, DaMcPatient, DaMcEstimates, Evolved, EvolvedEstimates)
TRAINED: dict[str, type[Trained]] = {policy.name: policy for policy in (*_PAPER, *_OURS)}
"""The policies with networks of their own, by name."""
