"""The four heuristics OGASched is compared with; all see the arrivals of the slot before they decide."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import ModuleType
from typing import ClassVar

import numpy as np

from ...models.allocation.setting import Observation, Setting
from ...models.base import InputError
from ...models.draw import choose
from ..base import Traits, shown_arrivals

_SECTION = "the baseline of Zhao et al., arXiv:2305.06572 (2023), Sec. 4"


def _baseline(source: str) -> Traits:
    return Traits(problem="allocation", sees=frozenset({"arrivals"}), source=f"{source}, {_SECTION}")


def _kernels() -> ModuleType:
    from . import kernels as compiled

    return compiled


@dataclass
class Drf:
    """DRF: ports with jobs are served in ascending order of their dominant share; ties: the smaller port.

    The share is s_l = max_k a_l^k / sum_{r in R_l} c_r^k; ties go to the smaller port. A port takes
    min(a, what is left) of every kind on each of its servers. A kind of which its servers have nothing
    does not count in the share.
    """

    name: str = field(default="drf", init=False)
    traits: ClassVar[Traits] = _baseline("dominant resource fairness (Ghodsi et al., NSDI 2011)")

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Rank the ports."""
        within_reach = setting.port_sums(setting.capacity[setting.server])
        share = np.divide(
            setting.demand, within_reach, out=np.zeros_like(setting.demand), where=within_reach > 0
        )
        self._order = np.argsort(share.max(axis=1), kind="stable")
        self._setting = setting

    def decide(self, observation: Observation) -> np.ndarray:
        """Serve the ports that have jobs, smallest dominant share first."""
        s = self._setting
        return _kernels().take_in_order(
            self._order,
            shown_arrivals(observation),
            s.port_start,
            s.port_edges,
            s.server,
            s.demand,
            s.capacity,
        )


@dataclass
class Fairness:
    """Every port with jobs gets its share a / sum a of the capacity, at most a; no order, so no ties.

    Parameters
    ----------
    share
        "arrived": the sum runs over the ports of the server that have jobs in this slot. "all": over all
        ports of the server, as the paper prints it, which leaves the shares of absent ports unused.
    """

    share: str = "arrived"
    name: str = field(default="fairness", init=False)
    traits: ClassVar[Traits] = _baseline("proportional shares")

    def __post_init__(self) -> None:
        choose(self.share, ("arrived", "all"), "share")

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Remember the setting."""
        self._setting = setting

    def decide(self, observation: Observation) -> np.ndarray:
        """Divide every server among its ports."""
        s = self._setting
        return _kernels().share_out(
            shown_arrivals(observation),
            s.port,
            s.server_start,
            s.edge_demand,
            s.capacity,
            self.share == "arrived",
        )


@dataclass
class _Scored:
    """Serve ports in index order, each on its servers in the order of their utilisation.

    Utilisation is the mean over kinds (with capacity) of the part already given away in this slot; ties go to
    the smaller server. A port takes min(a, what is left) of every kind on each server it visits, until it
    holds its quota of that kind.
    """

    quota: float = 0.75
    _sign: ClassVar[float]

    def __post_init__(self) -> None:
        if not 0 < self.quota <= 1:
            raise InputError(f"quota: {self.quota!r} is not in (0, 1]")

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Remember the setting and work out how much each port takes at most."""
        self._setting = setting
        self._quota = self.quota * np.diff(setting.port_start)[:, None] * setting.demand

    def decide(self, observation: Observation) -> np.ndarray:
        """Serve the ports that have jobs, in index order."""
        s = self._setting
        return _kernels().take_by_score(
            self._sign,
            self._quota,
            shown_arrivals(observation),
            s.port_start,
            s.port_edges,
            s.server,
            s.demand,
            s.capacity,
        )


@dataclass
class BinPacking(_Scored):
    """Serve ports in index order, each on its fullest servers first; ties: the smaller server.

    Utilisation is the mean over kinds (with capacity)
    of the part already given away in this slot; ties go to the smaller server. A port takes min(a, what is
    left) of every kind on each server it visits, until it holds its quota of that kind.

    Parameters
    ----------
    quota
        How much one port takes in total, as a part of |R_l| a, the most it could hold; in (0, 1]. With 1
        the order of its servers has no effect, and BINPACKING and SPREADING coincide.
    """

    name: str = field(default="binpacking", init=False)
    traits: ClassVar[Traits] = _baseline("MostAllocated of Kubernetes")
    _sign: ClassVar[float] = -1.0


@dataclass
class Spreading(_Scored):
    """Serve ports in index order, each on its emptiest servers first; ties: the smaller server.

    Otherwise as :class:`BinPacking`.

    Parameters
    ----------
    quota
        How much one port takes in total, as a part of |R_l| a; in (0, 1].
    """

    name: str = field(default="spreading", init=False)
    traits: ClassVar[Traits] = _baseline("LeastAllocated of Kubernetes")
    _sign: ClassVar[float] = 1.0
