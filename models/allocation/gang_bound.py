"""The proof that no gang allocation is better: prices at the leaves of a branch-and-bound tree.

Let some tasks be scheduled, others not, the rest be free. For every w >= 0 with sum_k w[l,k] = N_l, every
price >= 0 and theta[q,k] of any sign (``task_price``, for the rows of task q), no allocation is better than::

    sum_{r,k} price c
    + sum_{l,r,k} max over 0 <= Y <= min(c, sum_q a) of N_l f(Y) - (w[l,k] beta_k + price + least_k) Y
    + sum_l max over v of sum_q v_q G_q,   G_q = sum_k (a max(theta, 0) + b min(theta, 0))

where least_k is the least theta[q,k] of a task of l with a[q,k] > 0, and v schedules none of l's tasks or at
least m_l. All maxima have closed forms. If the sum is negative for N = w = 0, there is no such allocation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..base import InputError, numbers
from . import utility
from .gang import AllocationGangSetting
from .instance import LARGEST

ROUNDING = 2.0**-40
"""Part of the sums that values, bounds and rows are made of that counts as rounding, of long ones more."""

CLIPS = 10
"""How often demands are cut to what gains can pay for; a square root of 1e50 is then near where it ends."""

FREE, OFF, ON = -1, 0, 1
"""The state of a task in a tree, or of a job: that none of its tasks is scheduled, or at least m_l."""


class Prices(NamedTuple):
    """Multipliers of a leaf: w (L, K), price (R, K) >= 0, task_price (G, K); N = w = 0 if ``empty``."""

    w: np.ndarray
    price: np.ndarray
    task_price: np.ndarray
    empty: bool = False


@dataclass(frozen=True, eq=False)
class AllocationGangCertificate:
    """The certificate of a bound: :func:`gang_bound` computes it again from these numbers alone."""

    weights: np.ndarray  # N, jobs per port, shape (L,)
    # The task, or G + the job, that a node decides upon, -1 at a leaf, shape (nodes,). Node 0 is the root.
    branch: np.ndarray
    child: np.ndarray  # where the task is not scheduled, and where it is, shape (nodes, 2)
    prices: tuple[Prices | None, ...]  # those of each leaf, ``None`` elsewhere


class Reduced(NamedTuple):
    """A gang set after presolve: without what no best allocation uses, and with floors lowered by rounding.

    A demand is at most what the servers of its port have, and what its job can gain over beta_k: a port that
    loses is better left alone.
    """

    setting: AllocationGangSetting
    weights: np.ndarray
    # demand, floor: a and b, shape (G, K).
    demand: np.ndarray
    floor: np.ndarray
    able: np.ndarray  # tasks that can be scheduled, whose job has weight and enough such tasks, shape (G,)

    def limits(self, open_: np.ndarray) -> np.ndarray:
        """Return the most that each edge can carry of the tasks ``open_``, shape (E, K)."""
        wanted = self.port_sum(np.where(open_[:, None], self.demand, 0.0))
        base = self.setting.base
        return np.minimum(wanted[base.port], base.capacity[base.server])

    def port_sum(self, rows: np.ndarray) -> np.ndarray:
        """Return the sum over each port's tasks, shape (L, K)."""
        return _added(rows, self.setting.task_port, self.setting.ports)

    def gross(self) -> float:
        """Return sum N f at the most each edge can carry: no allocation is worth more."""
        base = self.setting.base
        gain = utility.value(base.edge_kind, base.edge_alpha, self.limits(self.able)).sum(axis=1)
        return float(self.weights[base.port] @ gain)


def _added(rows: np.ndarray, port: np.ndarray, ports: int) -> np.ndarray:
    """Return the sums of numbers >= 0 over each port's rows, shape (ports, columns), or more by rounding.

    Each number that is added takes at most 2 ** -53 of a sum; what they take together is given back, twice.
    """
    total = np.zeros((ports, rows.shape[1]))
    np.add.at(total, port, rows)
    return total * (1.0 + np.maximum(_many(port, ports) - 1.0, 0.0)[:, None] * 2.0**-52)


def _many(port: np.ndarray, ports: int) -> np.ndarray:
    """Return how many rows each port has, shape (ports,)."""
    return np.bincount(port, minlength=ports).astype(np.float64)


def presolve(setting: AllocationGangSetting, weights: Any) -> Reduced:
    """Return the gang set reduced to where the best allocation is; weights are from 0 to 1e50."""
    n = numbers(weights, "weights", (setting.ports,), high=LARGEST)
    base = setting.base
    near = _added(base.capacity[base.server], base.port, setting.ports)
    terms = _many(base.port, setting.ports) + setting.kinds + len(setting.task_port)
    more = 1.0 + np.maximum(ROUNDING, 2.0**-52 * terms)  # sums of very many gains are rounded by more
    floor = setting.task_floor * (1.0 - ROUNDING)
    demand = np.minimum(setting.task_demand, near[setting.task_port])
    able = (n > 0.0)[setting.task_port]
    for last in (False,) * (CLIPS - 1) + (True,):
        able = able & (floor <= demand).all(axis=1)
        enough = np.bincount(setting.task_port, weights=able, minlength=setting.ports) >= setting.minimum
        able &= enough[setting.task_port]
        found = Reduced(setting, n, demand, floor, able)
        gain = utility.value(base.edge_kind, base.edge_alpha, found.limits(able)).sum(axis=1)
        most = np.bincount(base.port, weights=gain, minlength=setting.ports) * more
        cap = np.divide(
            most[:, None], base.overhead, out=np.full(near.shape, np.inf), where=base.overhead > 0.0
        )
        less = np.minimum(demand, cap[setting.task_port])
        if last or (less >= 0.5 * demand).all():
            break
        demand = less
    return found


class Proven(NamedTuple):
    """The bound that prices prove of a leaf."""

    # No allocation of the leaf is worth more; minus infinity if there is none, infinity if none is proved.
    bound: float
    terms: float  # the sum of all that is added and taken off in it, without signs
    rounding: float  # the part of the bound that allows for rounding


def bound_of(reduced: Reduced, fixed: np.ndarray, prices: Prices) -> Proven:
    """Return an upper bound of all allocations with the ``fixed`` choices, shape (G + L,): tasks, then jobs.

    Rounding is added; where a product is beyond all numbers, nothing is proved. ``empty`` prices prove that
    there is no such allocation, or nothing at all.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        exact, terms = _summed(reduced, fixed, prices)
        rounding = (64 + len(fixed)) * 2.0**-52 * terms
    if math.isnan(exact) or not math.isfinite(terms):
        return Proven(math.inf, 0.0, 0.0)
    bound = exact + rounding
    return Proven(bound if not prices.empty else -math.inf if bound < 0.0 else math.inf, terms, rounding)


def _summed(reduced: Reduced, fixed: np.ndarray, prices: Prices) -> tuple[float, float]:
    """Return the sum that bounds a leaf, and the sum of all its parts without signs."""
    setting, base = reduced.setting, reduced.setting.base
    tasks, jobs = np.split(fixed, [len(setting.task_port)])
    open_ = reduced.able & (tasks != OFF) & (jobs != OFF)[setting.task_port]
    n = np.zeros(setting.ports) if prices.empty else reduced.weights
    least = np.full((setting.ports, setting.kinds), np.inf)
    takes = np.where(open_[:, None] & (reduced.demand > 0.0), prices.task_price, np.inf)
    np.minimum.at(least, setting.task_port, takes)
    least[np.isinf(least)] = 0.0
    sums = prices.w.sum(axis=1)
    share = np.divide(n, sums, out=np.zeros_like(n), where=sums > 0.0)
    charge = prices.w * share[:, None] * base.overhead
    parts = (charge[base.port], prices.price[base.server], least[base.port])
    # Lowered by more than rounding: where a linear gain equals its cost, it decides.
    cost = sum(parts) - 2.0**-48 * sum(np.abs(part) for part in parts)
    limit = reduced.limits(open_)
    weight = n[base.port][:, None]
    y = utility.best_response(base.edge_kind, base.edge_alpha, weight, cost, limit)
    gained = weight * utility.value(base.edge_kind, base.edge_alpha, y)
    chosen, size = _choices(reduced, tasks == ON, jobs == ON, open_, prices.task_price)
    paid = prices.price * base.capacity
    exact = float(np.sum(paid) + np.sum(gained - cost * y) + chosen)
    return exact, float(np.sum(paid) + np.sum(gained) + np.sum(np.abs(cost) * y) + size)


def _choices(
    reduced: Reduced, must: np.ndarray, runs: np.ndarray, open_: np.ndarray, task_price: np.ndarray
) -> tuple[float, float]:
    """Return sum_l max over v of sum_q v_q G_q, and the sum of all parts of it without signs."""
    setting = reduced.setting
    parts = np.where(task_price >= 0.0, reduced.demand * task_price, reduced.floor * task_price)
    gain = np.where(open_, parts.sum(axis=1), -np.inf)
    order = np.lexsort((-gain, ~must, setting.task_port))  # jobs stay where they are
    rank = np.arange(len(order)) - np.searchsorted(setting.task_port, setting.task_port)
    gain = gain[order]
    take = must[order] | (gain > 0.0) | (rank < setting.minimum[setting.task_port])
    best = np.bincount(setting.task_port, weights=np.where(take, gain, 0.0), minlength=setting.ports)
    idle = ~runs & (np.bincount(setting.task_port, weights=must, minlength=setting.ports) == 0)
    best = np.where(idle, np.maximum(best, 0.0), best)
    return float(best.sum()), float(np.abs(parts[open_]).sum())


def gang_bound(setting: AllocationGangSetting, certificate: AllocationGangCertificate) -> float:
    """Return a certified upper bound on max over the gang set of sum_l N_l q_l(y), without any solver.

    A tree that is none, or a number in it that does not fit, is an InputError.
    """
    reduced = presolve(setting, certificate.weights)
    choices, nodes = len(setting.task_port) + setting.ports, len(certificate.prices)
    branch = numbers(certificate.branch, "branch", (nodes,), low=-1, high=choices - 1, integer=True)
    child = numbers(certificate.child, "child", (nodes, 2), high=max(0, nodes - 1), integer=True)
    bound = 0.0
    waiting = [(0, np.full(choices, FREE))]
    for _ in range(nodes):
        if not waiting:
            break
        at, fixed = waiting.pop()
        if branch[at] < 0:
            prices = _checked(setting, certificate.prices[at], at)
            bound = max(bound, bound_of(reduced, fixed, prices).bound)
            continue
        for choice in (OFF, ON):
            below = fixed.copy()
            below[branch[at]] = choice
            waiting.append((int(child[at, choice]), below))
    if waiting or nodes == 0:
        raise InputError(f"child: not a tree of {nodes} nodes")
    return bound


def _checked(setting: AllocationGangSetting, prices: Prices | None, at: int) -> Prices:
    if prices is None:
        raise InputError(f"prices[{at}]: missing at a leaf")
    shapes = ((setting.ports, setting.kinds), setting.base.capacity.shape)
    w = numbers(prices.w, f"prices[{at}].w", shapes[0])
    price = numbers(prices.price, f"prices[{at}].price", shapes[1])
    task_price = numbers(
        prices.task_price, f"prices[{at}].task_price", setting.task_demand.shape, low=-np.inf
    )
    return Prices(w, price, task_price, prices.empty)
