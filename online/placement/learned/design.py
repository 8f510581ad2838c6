"""The design of a learned scheduler, and the reading of the paper that each of its parts follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self

from ....models.base import InputError, refuse_unknown
from ....models.draw import choose, real, truth, whole

SOUND, LITERAL = "sound", "literal"


@dataclass(frozen=True)
class Readings:
    r"""Where the paper cannot be followed, or not with sense: "sound" is our way, "literal" what is printed.

    Attributes
    ----------
    representation
        :math:`\hat S^c` of Sec. 4.2.1. Sound: :math:`\hat s_i \odot s_k`. Literal, in the shape that is
        printed: :math:`S^c \, diag(\hat s_i) \, S^{c \top}`, a row of M numbers per machine.
    matern
        (11). Sound: of the distance. Literal: of the squared distance; what is not positive semi-definite is
        projected, as nothing could be drawn from it.
    walk
        Weights of walks of length l in (12). Sound: :math:`\beta^l / l!`. Literal: :math:`\lambda^l`, with
        :math:`\lambda < 1` and 16 terms.
    process
        Sound: over (job, machine). Literal: over whole graphs, one number per pair of them.
    history
        (9), (10). Sound: the last :math:`\tau` jobs that were placed. Literal: the same row of the last
        :math:`\tau` decisions, whichever job that was.
    mean
        Mean of the process. Sound: learned. Literal: zero.
    density
        Sound: that of the normal distribution. Literal: as printed below (17).
    ratio
        (17). Sound: clipped for each decision and agent. Literal: the mean of all, clipped.
    critic
        (15). Sound: V of the state. Literal: Q of state and actions.
    updates
        Algorithm 1. Sound: some passes over whole episodes. Literal: one pass over the episodes when they are
        over, decision by decision, the old policy copied after every second one.
    reward
        (3). Sound: the cost that is to be minimised, less that of a reference on the same jobs. Literal:
        as printed.
    window
        Appendix D. Sound: all jobs of the window. Literal: 24 of them, drawn at random.
    """

    representation: str = SOUND
    matern: str = SOUND
    walk: str = SOUND
    process: str = SOUND
    history: str = SOUND
    mean: str = SOUND
    density: str = SOUND
    ratio: str = SOUND
    critic: str = SOUND
    updates: str = SOUND
    reward: str = SOUND
    window: str = SOUND

    def __post_init__(self) -> None:
        for part in fields(self):
            choose(getattr(self, part.name), (SOUND, LITERAL), f"design.readings.{part.name}")

    def literal(self, name: str) -> bool:
        """Return whether a part follows the paper to the letter."""
        return bool(getattr(self, name) == LITERAL)


IN_STEPS = ("representation", "matern", "walk", "process", "history", "reward", "window")
"""The readings that no compiled episode follows to the letter."""

ORDERINGS = ("attention", "perceptron", "linear", "fifo")
PLACEMENTS = ("process", "gaussian", "linear", "grouped", "first-fit", "consolidate")
FEATURES = ("paper", "capacity", "estimates")
PRIORS = ("none", "consolidate", "estimates", "patient")
LINEAR_PRIORS = (("capacity", "patient"), ("estimates", "estimates"))


@dataclass(frozen=True)
class Design:
    """The design of a learned scheduler.

    Attributes
    ----------
    ordering
        "attention": Sec. 4.1. "perceptron": a network of two layers per job, as DL2 here. "fifo": the oldest
        job first, nothing is learned. "linear": no network, but a weighted sum of features times numbers of
        the state, :mod:`.linear_kernels`; then the placement is, too.
    placement
        "process": the random walk Gaussian process of Sec. 4.2. "gaussian": independent normal affinities
        with a learned mean and variance. "grouped": the same, of the group of the job, as RIFLING here.
        "first-fit" and "consolidate": nothing is learned.
    message
        Whether the state of the cluster is fused into the jobs, (4) and (5).
    features
        The features, see :mod:`.features`: "paper", "capacity", or "estimates", each with what comes before.
    prior
        The prior mean: "none"; "consolidate": the order of submission, and the machines as
        FIFO-Consolidate ranks them; "estimates": the same machines, the shortest estimate first; or
        "patient": the same machines, the fewest GPUs first, and jobs wait as under DRF-Patient.
    holds
        Whether a third agent lets jobs wait that fit; with the placement "gaussian", none of
        :data:`IN_STEPS` to the letter, or "linear", which needs it.
    hidden
        e.
    heads
        h of (6).
    history
        tau of (9) and (10).
    outcomes
        What the process learns from: 0, affinities that were drawn; above 0, outcomes of placements, which
        count for so much, see :mod:`.outcomes`. That takes the process, soundly read.
    readings
        See :class:`Readings`.

    Raises
    ------
    InputError
        For an unknown word, or a number out of range; e must be a multiple of h.
    """

    ordering: str = "attention"
    placement: str = "process"
    message: bool = True
    features: str = "paper"
    prior: str = "none"
    holds: bool = False
    hidden: int = 32
    heads: int = 4
    history: int = 8
    outcomes: float = 0.0
    readings: Readings = field(default_factory=Readings)

    def __post_init__(self) -> None:
        choose(self.ordering, ORDERINGS, "design.ordering")
        choose(self.placement, PLACEMENTS, "design.placement")
        choose(self.features, FEATURES, "design.features")
        choose(self.prior, PRIORS, "design.prior")
        truth("design.message", self.message)
        truth("design.holds", self.holds)
        whole("design.hidden", self.hidden, 1, 4096)
        whole("design.heads", self.heads, 1, self.hidden)
        whole("design.history", self.history, 1, 1000)
        real("design.outcomes", self.outcomes, 0.0)
        if self.hidden % self.heads:
            raise InputError(f"design.heads: {self.heads} does not divide hidden, which is {self.hidden}")
        if self.placement == "grouped" and self.learns_order:
            raise InputError('design.placement: "grouped" needs ordering = "fifo"')
        if self.prior == "estimates" and self.features != "estimates":
            raise InputError('design.prior: "estimates" needs features = "estimates"')
        if self.prior == "patient" and not self.holds:
            raise InputError('design.prior: "patient" needs holds = true')
        if (self.ordering == "linear") != self.linear:
            raise InputError('design.ordering: "linear" needs placement = "linear", and the other way round')
        if self.linear and (self.features, self.prior) not in LINEAR_PRIORS:
            raise InputError(
                f"design.prior: {self.prior!r} with features = {self.features!r}; a linear design needs "
                f'"patient" with "capacity", or "estimates" with "estimates"'
            )
        if self.linear and not self.holds:
            raise InputError('design.placement: "linear" needs holds = true')
        if self.holds and self.placement not in ("gaussian", "linear"):
            raise InputError('design.holds: needs placement = "gaussian" or "linear"')
        if self.holds and self.in_steps:
            raise InputError(f"design.holds: not with {', '.join(self.in_steps)}")
        if self.outcomes > 0.0 and not self.hears_outcomes:
            raise InputError('design.outcomes: needs placement = "process", in its sound reading')
        if not self.learns_order and not self.learns_places:
            raise InputError("design: neither ordering nor placement is learned")

    @property
    def learns_order(self) -> bool:
        """Whether there is an ordering agent."""
        return self.ordering != "fifo"

    @property
    def learns_places(self) -> bool:
        """Whether there is a placement agent."""
        return self.placement not in ("first-fit", "consolidate")

    @property
    def linear(self) -> bool:
        """Whether nothing is encoded: all agents are linear."""
        return self.placement == "linear"

    @property
    def sees_estimates(self) -> bool:
        """Whether the networks see estimates of the durations."""
        return self.features == "estimates"

    @property
    def in_steps(self) -> tuple[str, ...]:
        """Because of what episodes of training are played decision by decision."""
        literal = [f"literal {name}" for name in IN_STEPS if self.readings.literal(name)]
        return (*literal, *(["outcomes"] if self.outcomes > 0.0 else []))

    @property
    def hears_outcomes(self) -> bool:
        """Whether there is a process that can learn from outcomes."""
        return self.placement == "process" and not any(map(self.readings.literal, IN_STEPS))

    @property
    def draws_jobs(self) -> bool:
        """Whether the jobs that take part are drawn at random."""
        return self.readings.literal("window")

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        """Read a design: the ``name`` of one of :data:`DESIGNS`, and what differs from it."""
        known = {part.name for part in fields(cls)}
        refuse_unknown(data, known | {"name"}, "design.")
        name = data.get("name", "das")
        choose(name, DESIGNS, "design.name")
        changes = {key: value for key, value in data.items() if key != "name"}
        if "readings" in changes:
            given = changes["readings"]
            if not isinstance(given, Mapping):
                raise InputError(f"design.readings: {given!r} is not a table")
            refuse_unknown(given, {part.name for part in fields(Readings)}, "design.readings.")
            changes["readings"] = Readings(**given)
        return replace(DESIGNS[name], **changes)  # type: ignore[return-value]

    def to_dict(self) -> dict[str, Any]:
        """Return all fields; :meth:`of` reads them."""
        return asdict(self)


DESIGNS = {
    "das": Design(),
    "da": Design(placement="gaussian", message=False),
    "da-mc": Design(placement="gaussian"),
    "da-rwgp": Design(message=False),
    "dl2": Design(ordering="perceptron", placement="first-fit", hidden=64),
    "rifling": Design(ordering="fifo", placement="grouped", hidden=64),
}
"""The designs of Sec. 5 by name."""
