"""What resource prices range between: U and L of (23)-(26), in logarithms and in shares of all capacity.

The paper adds amounts of different resources, whose units differ. Here every amount is a share of what all
machines of its side have of the resource, so that sums have a meaning: w~_i^r = w_i^r / sum_h c_h^r. The
competitive ratio of Theorem 4 is in ratios U / L, where units cancel if there is one resource.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import InputError, need, refuse_unknown
from ..draw import real
from .jobs import Job

if TYPE_CHECKING:
    from .instance import Setting

FLOOR = 0.01
"""With the floor, f_i(T - a_i) in (25) and (26) counts as at least this share of the priority."""

_SIDES = ("workers", "servers")


@dataclass(frozen=True, eq=False)
class PriceRange:
    """Logarithms of U and L, and how large a job is beside a machine.

    Attributes
    ----------
    upper_workers, upper_servers
        ln U_1^r and ln U_2^r, shape (R,); minus infinity where no job demands the resource.
    lower_workers, lower_servers
        ln L_1 and ln L_2; infinity where no job demands anything.
    floor_workers, floor_servers
        ln L_1 and ln L_2 with every f_i(T - a_i) at least :data:`FLOOR` times the job's priority.
    share
        The largest share of a resource of a machine that one job can take in a slot, 0 to 1.
    """

    upper_workers: np.ndarray
    upper_servers: np.ndarray
    lower_workers: float
    lower_servers: float
    floor_workers: float
    floor_servers: float
    share: float

    def lower(self, floor: bool) -> tuple[float, float]:
        """Return ln L_1 and ln L_2, with or without the floor."""
        if floor:
            return self.floor_workers, self.floor_servers
        return self.lower_workers, self.lower_servers

    def alpha(self, floor: bool = False) -> float:
        """Return alpha = max(1, ln U_1^r / L_1, ln U_2^r / L_2) of Theorem 4."""
        pairs = zip((self.upper_workers, self.upper_servers), self.lower(floor), strict=True)
        spans = [upper - low for uppers, low in pairs for upper in uppers if np.isfinite(upper)]
        return float(max(1.0, *spans)) if spans else 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; null stands for what no job asks for."""
        return {
            **{f"upper_{side}": [_number(u) for u in getattr(self, f"upper_{side}")] for side in _SIDES},
            **{f"lower_{side}": _number(getattr(self, f"lower_{side}")) for side in _SIDES},
            **{f"floor_{side}": _number(getattr(self, f"floor_{side}")) for side in _SIDES},
            "share": self.share,
        }

    @classmethod
    def from_dict(cls, data: Any, resources: int) -> PriceRange:
        """Read the JSON form.

        Raises
        ------
        InputError
            Naming the field, the index and the value at fault.
        """
        if not isinstance(data, Mapping):
            raise InputError(f"announced: {data!r} is not an object")
        names = [f"{what}_{side}" for what in ("upper", "lower", "floor") for side in _SIDES]
        refuse_unknown(data, {*names, "share"}, "announced.")
        values: dict[str, Any] = {}
        for name in names:
            value = need(data, name, "announced.")
            if name.startswith("upper"):
                if not isinstance(value, list | tuple) or len(value) != resources:
                    raise InputError(f"announced.{name}: {value!r} is not a list of {resources} numbers")
                read = [_logarithm(f"announced.{name}[{r}]", v, -np.inf) for r, v in enumerate(value)]
                values[name] = np.array(read)
                values[name].setflags(write=False)
            else:
                values[name] = _logarithm(f"announced.{name}", value, np.inf)
        share = _logarithm("announced.share", need(data, "share", "announced."), math.nan)
        if not 0.0 <= share <= 1.0:
            raise InputError(f"announced.share: {data['share']!r} is not between 0 and 1")
        return cls(**values, share=share)


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _logarithm(field: str, value: Any, missing: float) -> float:
    return missing if value is None else real(field, value, -math.inf)


def price_range(setting: Setting, jobs: Iterable[Job]) -> PriceRange:
    """Return U and L of (23)-(26) for some jobs; those that can never finish do not count.

    U uses f_i(ceil(E_i m_i) - 1), the utility of the shortest run. Amounts are shares of all capacity; eta is
    the largest that the paper allows: 1 / eta = min_i W_i sum_r w~_i^r / (T R), R counting the resources that
    the machines have.
    """
    found = [job for job in jobs if setting.why_never(job) is None]
    workers = _side(setting, found, [setting.worker_share(job) for job in found], setting.worker_units)
    servers = _side(setting, found, [setting.server_share(job) for job in found], setting.server_units)
    share = max((setting.largest_share(job) for job in found), default=0.0)
    return PriceRange(workers[0], servers[0], workers[1], servers[1], workers[2], servers[2], share)


def _side(
    setting: Setting, jobs: list[Job], shares: list[np.ndarray], capacity: np.ndarray
) -> tuple[np.ndarray, float, float]:
    """Return ln U^r, ln L, and ln L with the floor, of the machines of one kind."""
    upper = np.full(len(setting.resources), -np.inf)
    volume, low, floored = math.inf, math.inf, math.inf
    for job, share in zip(jobs, shares, strict=True):
        asked = share > 0.0
        if not asked.any():
            continue
        best = job.log_utility(job.shortest - 1)
        upper[asked] = np.maximum(upper[asked], best - np.log(share[asked]))
        total = math.log(job.work) + math.log(share.sum())
        last = job.log_utility(setting.horizon - job.arrival)
        volume = min(volume, total)
        low = min(low, last - total)
        floored = min(floored, max(last, math.log(FLOOR * job.priority)) - total)
    upper.setflags(write=False)
    kinds = int((capacity.sum(axis=0) > 0).sum())
    if volume == math.inf or kinds == 0:
        return upper, math.inf, math.inf
    scale = volume - math.log(4.0 * setting.horizon * kinds)  # ln 1 / (4 eta)
    return upper, low + scale, floored + scale
