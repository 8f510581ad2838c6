"""Runs that the claims of Sec. 4 share: who plays on what, their rewards, and how sure a difference is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np

from ...models.allocation.generate import SIZES, generate
from ...models.allocation.instance import AllocationInstance
from ...models.base import frozen_copy
from ...online.allocation import BinPacking, Drf, Fairness, Ogasched, Spreading
from ...online.play import Run
from ...oracles.allocation.optimum import ORACLES
from ...oracles.base import Optimum
from ..engine.kept import decided, optimum_of, run_of
from ..experiments import Contender, policy_seed
from ..optima import relied_on

WHO_SEES = "OGASched decides before it sees the slot's arrivals, the heuristics after"
"""Stands in every table: the two kinds of policy do not play the same game."""

STEPS = (
    "(constant): D/(G sqrt T); (Table 1): eta0 = 25, decay 0.9999; both start from every port's fair share. "
    "FAIRNESS divides a server among the ports that have jobs, (literal) among all its ports"
)


@dataclass(frozen=True)
class Setup:
    """Arguments of the generator, without the seed; two that mean the same instances are equal."""

    size: str = "default"
    slots: int | None = None
    ports: int | None = None
    servers: int | None = None
    density: float | None = None
    arrival_probability: float = 0.7
    contention: float | None = None
    utility: str = "mix"
    overhead: tuple[float, float] | None = None
    filled: bool = True
    units: tuple[float, float] = (8.0, 64.0)
    integer: bool = False
    machines: str = "pai-2020"
    requests: str = "gpu-2023"

    def __post_init__(self) -> None:
        for name in ("ports", "servers", "density", "contention"):
            if getattr(self, name) == getattr(SIZES[self.size], name):
                object.__setattr__(self, name, None)


CONSTANT = Contender("OGASched (constant)", partial(Ogasched, "constant", "fair"))
PER_SLOT = Contender("OGASched (26)", partial(Ogasched, "per-slot", "fair"))
TABLE_1 = Contender("OGASched (Table 1)", partial(Ogasched, "decay", "fair"))
PUBLIC_CODE = Contender("OGASched (public code)", partial(Ogasched, "decay", "fair", 0.999, 0.99))
DRF = Contender("DRF", Drf)
FAIRNESS = Contender("FAIRNESS", Fairness)
FAIRNESS_LITERAL = Contender("FAIRNESS (literal)", partial(Fairness, "all"))
BINPACKING = Contender("BINPACKING", BinPacking)
SPREADING = Contender("SPREADING", Spreading)

KINDS: dict[str, Any] = {BINPACKING.label: BinPacking, SPREADING.label: Spreading}
LIMITED = {
    part: {k: Contender(f"{k} (quota {part:g})", partial(kind, part)) for k, kind in KINDS.items()}
    for part in (0.25, 1.0)
}
"""BINPACKING and SPREADING by other parts than 0.75 that one job may take, and by their labels."""

OGASCHED = (CONSTANT, TABLE_1)
BASELINES = (DRF, FAIRNESS, BINPACKING, SPREADING)
HEURISTICS = (DRF, FAIRNESS, FAIRNESS_LITERAL, BINPACKING, SPREADING)
EVERYONE = (*OGASCHED, *HEURISTICS)
ALL_FORMS = (*EVERYONE, *(who for swap in LIMITED.values() for who in swap.values()))


@lru_cache(maxsize=64)
def instance(setup: Setup, seed: int) -> AllocationInstance:
    """Return the instance of a setup and an instance seed."""
    return generate(seed=seed, **asdict(setup))


def _slots(_instance: AllocationInstance, run: Run[Any]) -> dict[str, Any]:
    return {"rewards": run.rewards}


@cache
def rewards(who: Contender, setup: Setup, seed: int) -> np.ndarray:
    """Return the reward of every slot, shape (T,); made or looked up once per process."""
    sampled = instance(setup, seed)
    return frozen_copy(run_of(who.make(), sampled, policy_seed(seed), _slots, decisions=False)["rewards"])


@cache
def optimum(setup: Setup, seed: int) -> float:
    """Return the reward per slot of the best stationary allocation in hindsight."""
    name, sampled = "stationary", instance(setup, seed)
    return float(optimum_of(name, ORACLES[name], sampled, {})["value"]) / sampled.setting.slots


def hindsight(sampled: AllocationInstance, **options: Any) -> Optimum[np.ndarray]:
    """Return the best stationary allocation in hindsight, on which a verdict rests."""
    return relied_on("stationary", ORACLES["stationary"], sampled, **options)


def averages(who: Contender, setup: Setup, sampled: Sequence[int]) -> np.ndarray:
    """Return the average reward per slot on each instance seed."""
    return np.array([rewards(who, setup, seed).mean() for seed in sampled])


def optima(setup: Setup, sampled: Sequence[int]) -> np.ndarray:
    """Return the stationary optimum per slot on each instance seed."""
    return np.array([optimum(setup, seed) for seed in sampled])


@cache
def parts(who: Contender, setup: Setup, seed: int) -> tuple[float, float]:
    """Return computation gain and overhead penalty per slot."""
    drawn = instance(setup, seed)
    s, decisions = drawn.setting, decided(who.make(), drawn)
    both = [(x @ s.gains(y), x @ s.penalties(y)) for x, y in zip(drawn.arrivals, decisions, strict=True)]
    gain, penalty = np.mean(both, axis=0).tolist()
    return gain, penalty
