"""OGASched (Algorithm 1): online gradient ascent with an exact projection."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...models.allocation import geometry
from ...models.allocation.instance import LARGEST
from ...models.allocation.setting import Feedback, Observation, Setting
from ...models.base import InputError
from ...models.draw import choose, real
from ..base import Traits

if TYPE_CHECKING:
    from types import ModuleType

STEPS = ("constant", "per-slot", "adagrad", "decay")
MOST_LOG = math.log(LARGEST)
STARTS = ("zero", "fair")


def _kernels() -> ModuleType:
    from ...models.allocation import kernels

    return kernels


def fair_share(setting: Setting) -> np.ndarray:
    """Return min(a, c a / sum_{l in L_r} a): every port of a server gets its share, shape (E, K)."""
    total = setting.server_demand[setting.server]
    capacity = setting.capacity[setting.server]
    share = np.divide(setting.edge_demand, total, out=np.zeros_like(total), where=total > 0)
    return np.minimum(setting.edge_demand, capacity * share)


@dataclass
class Ogasched:
    """Online gradient ascent: y(t + 1) is y(t) + eta_t g(t) projected onto Y (11); ties: the smaller kind.

    The decision y(t) is committed before x(t) is seen. Where the overheads of several kinds are the largest
    of a port, g(t) charges the first of these kinds, as it does at y = 0; nothing else can tie, since the
    projection is unique.

    Parameters
    ----------
    step
        "constant" is D / (G sqrt T) with D of (25) and G of (22), for which Theorem 1 holds; ports count in G
        with the most jobs seen at once so far (at least one; copies of a port only once they are seen), so
        G may grow and the guarantee stays. "per-slot" is (26), with the norm of the slot's own gradient.
        "adagrad" is D' / sqrt(2 S), with S the sum of |g|^2 so far and D' a bound of the diameter that is at
        most D (and is D for copies of ports). It needs no T, and with all rewards multiplied its decisions
        stay the same. Its regret is at most sqrt(2) D' sqrt(S): with steps that never grow it is at most
        D'^2 / (2 eta_T) + sum_t eta_t |g(t)|^2 / 2, and sum_t |g(t)|^2 / sqrt(S_t) is at most 2 sqrt(S_T).
        "decay" is ``eta0 * decay ** t``.
    start_at
        y(1): "zero", "fair" (every port's share of its servers) or a feasible array y[edge, kind].
        For copies of ports it must be "zero", so that no copy is known before it is seen.
    eta0, decay
        Used by the step "decay" only; the defaults are those of Table 1.
    """

    step: str = "constant"
    start_at: Any = "zero"
    eta0: float = 25.0
    decay: float = 0.9999
    name: str = field(default="ogasched", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="allocation",
        guarantee="stationary regret <= D G sqrt(T) with the constant step",
        proven="Theorem 1 of OGASched",
        source="Zhao et al., arXiv:2305.06572 (2023), Algorithm 1; step=adagrad: after Streeter and "
        "McMahan, Less Regret via Online Conditioning (2010), with one step for all entries as AdaGrad-Norm "
        "has it (Ward, Wu and Bottou, ICML 2019), and so scale-free (Orabona and Pal, Theoretical Computer "
        "Science 2018)",
    )

    def __post_init__(self) -> None:
        choose(self.step, STEPS, "step")
        if isinstance(self.start_at, str):
            choose(self.start_at, STARTS, "start_at")
        for key in ("eta0", "decay"):
            real(key, getattr(self, key), 1.0 / LARGEST, LARGEST)

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Set y(1) and the constants of the step sizes."""
        if self.step == "decay" and math.log(self.eta0) + setting.slots * math.log(self.decay) > MOST_LOG:
            raise InputError(f"decay: {self.decay!r} gives steps beyond {LARGEST:g} in {setting.slots} slots")
        self._setting = setting
        self._blocks = setting.blocks
        self._y = self._blocks.pack(self._first(setting))
        self._tau = np.zeros_like(self._blocks.cap)
        places = setting.ports * setting.kinds + 1
        self._sums, self._gain, self._charge = np.zeros(places), np.zeros(places), np.zeros(places)
        np.add.at(self._sums, self._blocks.slot, self._y)
        self._decision = np.empty(setting.shape)
        self._diameter = geometry.diameter(setting)
        self._norms = geometry.gradient_norms(setting)
        self._tight = geometry.tight_diameter(setting) if setting.copy_of is None else self._diameter
        self._squares = 0.0
        self._most = np.zeros(setting.ports) if setting.copy_of is not None else np.ones(setting.ports)
        self._norm = self._norm_seen()
        self._slot = 0

    def _norm_seen(self) -> float:
        """Return the G of (22), each port counting with the most jobs seen at once."""
        return float(np.sqrt(self._most**2 @ self._norms))

    def _first(self, setting: Setting) -> np.ndarray:
        if isinstance(self.start_at, str):
            if self.start_at == "zero":
                return np.zeros(setting.shape)
            first = fair_share(setting)
        else:
            first = setting.check_shape(self.start_at)
        if setting.copy_of is not None:
            raise InputError('start_at: must be "zero" for copies of ports')
        broken = setting.violations(first)
        if broken:
            raise InputError(f"start_at: infeasible: {broken[0]}")
        return first

    def decide(self, observation: Observation) -> np.ndarray:
        """Return y(t)."""
        np.take(self._y, self._blocks.position, out=self._decision.reshape(-1), mode="clip")
        return self._decision

    def learn(self, feedback: Feedback) -> None:
        """Ascend from y(t) along the slot's supergradient and project."""
        compiled, blocks = _kernels(), self._blocks
        rows = (blocks.start, blocks.slot)
        compiled.tables(self._sums, feedback.arrivals, self._setting.overhead, self._gain, self._charge)
        shape = (*rows, blocks.alpha, blocks.family)
        eta = self._eta(feedback.arrivals, shape)
        compiled.ascend(self._y, eta, self._gain, self._charge, *shape)
        self._project()
        self._slot += 1

    def _project(self) -> None:
        blocks = self._blocks
        _kernels().project_blocks(
            self._y, self._sums, self._tau, blocks.start, blocks.slot, blocks.limit, blocks.cap
        )

    def _eta(self, arrivals: np.ndarray, shape: tuple[np.ndarray, ...]) -> float:
        """Return the step size of this slot; 0 where the gradient is zero and so every step is the same."""
        if self.step == "decay":
            return float(self.eta0 * self.decay**self._slot)
        if self.step == "constant":
            if (arrivals > self._most).any():
                self._most = np.maximum(self._most, arrivals)
                self._norm = self._norm_seen()
            norm = self._norm
        else:
            square = float(_kernels().squared_norm(self._y, self._gain, self._charge, *shape))
            if self.step == "adagrad":
                self._squares += square
                return self._tight / math.sqrt(2.0 * self._squares) if self._squares > 0.0 else 0.0
            norm = math.sqrt(square)
        return self._diameter / (norm * np.sqrt(self._setting.slots)) if norm > 0 else 0.0
