"""Claims about the projection: Algorithm 1, the optimality conditions (12) and the dual variable (13)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ...models.allocation import utility
from ...models.allocation.generate import generate
from ...models.allocation.instance import AllocationInstance
from ...online.allocation.ogasched import Ogasched
from ...online.allocation.printed import OgaschedPrinted, printed_projection
from ...online.play import play
from ..claim import Claim, Context, Finding, Table, Verdict, amended_if, holds_if

EXAMPLES = (
    ("no test for rho >= 0", (0.5,), (1.0,), 1.0),
    ("only the first index is ever capped", (3.0, 3.0, 1.0), (1.0, 1.0, 1.0), 2.5),
    ("sorted by z instead of z - a", (3.0, 2.0), (3.0, 0.5), 3.0),
    ("S is never emptied, B2 keeps negative values", (-1.0, 0.0), (0.5, 0.5), 0.5),
)
"""Printed counterexamples: what is wrong, z, a, c of one (server, kind) row."""


def row(
    demand: Sequence[float], capacity: float, arrivals: Sequence[Sequence[int]] = ()
) -> AllocationInstance:
    """Return an instance of one server and one kind with linear utilities: one row of the projection."""
    ports = len(demand)
    return AllocationInstance(
        edges=[(p, 0) for p in range(ports)],
        demand=[[a] for a in demand],
        capacity=[[capacity]],
        overhead=[0.0],
        utility_kind=[["linear"]],
        alpha=[[1.0]],
        arrivals=np.array(arrivals, dtype=np.int64).reshape(-1, ports),
    )


def rows(demand: np.ndarray, capacity: np.ndarray) -> AllocationInstance:
    """Return an instance whose servers are independent rows: ``demand[row, position]``, ``capacity[row]``."""
    count, width = demand.shape
    ports = np.arange(count * width)
    return AllocationInstance(
        edges=np.stack([ports, ports // width], axis=1),
        demand=demand.reshape(-1, 1),
        capacity=capacity[:, None],
        overhead=[0.0],
        utility_kind=np.full((count, 1), "linear"),
        alpha=np.ones((count, 1)),
        arrivals=np.zeros((0, count * width)),
    )


def _same(found: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Tell row by row (rows of ``width`` entries) whether the result is the exact projection."""
    close = np.abs(found - exact) <= 1e-9 * np.maximum(1.0, np.abs(exact))
    return close.all(axis=1)


def _text(values: np.ndarray) -> str:
    return "(" + ", ".join(f"{v:g}" for v in values) + ")"


def _examples() -> Table:
    lines = []
    for wrong, z, a, c in EXAMPLES:
        setting = row(a, c).setting
        point = np.array(z)[:, None]
        results = {}
        for repaired in (False, True):
            y, endless = printed_projection(setting, point, repaired=repaired)
            results[repaired] = "never ends" if endless else _text(y[:, 0])
        exact = _text(setting.project(point)[:, 0])
        lines.append((wrong, _text(point[:, 0]), _text(np.array(a)), c, results[False], results[True], exact))
    return Table(
        "Algorithm 1 on single rows",
        ("what is wrong", "z", "a", "c", "as printed", "repaired to end", "exact"),
        tuple(lines),
    )


def _random_rows(
    rng: np.random.Generator, count: int, width: int
) -> tuple[AllocationInstance, np.ndarray, np.ndarray]:
    """Return independent random rows of one width, points z, and whether the printed form can be right."""
    demand = rng.uniform(0.1, 3.0, (count, width))
    same = rng.random(count) < 0.5
    demand[same] = demand[same, :1]
    capacity = rng.uniform(0.1, 1.0, count) * demand.sum(axis=1)
    point = rng.normal(1.0, 1.5, (count, width))
    instance = rows(demand, capacity)
    exact = instance.setting.project(point.reshape(-1, 1)).reshape(count, width)
    full = np.clip(point, 0, demand).sum(axis=1) > capacity
    at_cap = (exact >= demand - 1e-12).sum(axis=1)
    return instance, point, full & same & (at_cap <= 1)


def _check_projection(context: Context) -> Finding:
    rng = np.random.default_rng(context.seed)
    count = context.pick(200, 2000, 20000)
    right = {False: 0, True: 0}
    endless = benign = benign_right = total = 0
    for width in (1, 2, 3, 4, 6):
        instance, point, good = _random_rows(rng, count, width)
        flat = point.reshape(-1, 1)
        exact = instance.setting.project(flat).reshape(point.shape)
        for repaired in (False, True):
            y, stuck = printed_projection(instance.setting, flat, repaired=repaired)
            same = _same(y.reshape(point.shape), exact)
            right[repaired] += int(same.sum())
            if repaired:
                benign += int(good.sum())
                benign_right += int((same & good).sum())
            else:
                endless += stuck
        total += count
    numbers: dict[str, Any] = {
        "random rows": total,
        "exact as printed (%)": 100 * right[False] / total,
        "never ends as printed (%)": 100 * endless / total,
        "exact when repaired to end (%)": 100 * right[True] / total,
        "rows with full capacity, equal demands, at most one entry at its cap": benign,
        "of these exact when repaired (%)": 100 * benign_right / max(benign, 1),
    }
    _, _, a, c = EXAMPLES[1]
    return Finding(
        holds_if(right[False] == total),
        f"Not a projection: on {total} random rows the printed form is exact on "
        f"{numbers['exact as printed (%)']:.0f} %, repaired to end on "
        f"{numbers['exact when repaired to end (%)']:.0f} %. Where capacity binds, all demands are equal and "
        f"at most one entry ends at its cap, the latter is right on {benign_right} of {benign} rows.",
        numbers,
        tables=(_examples(),),
        counterexample=row(a, c, [[1] * len(a)]),
    )


def _check_in_run(context: Context) -> Finding:
    instance = generate("default", context.seed, slots=context.pick(100, 1000, 2000))
    s = instance.setting
    exact = play(Ogasched(step="decay"), instance)
    context.progress(0.3)
    printed = play(OgaschedPrinted(), instance, enforce=False, keep_decisions=True)
    broken = 0
    sampled = (printed.decisions or ())[:: max(1, s.slots // 50)]
    used_rows = int((np.diff(s.server_start) > 0).sum()) * s.kinds
    for y in sampled:
        bad = {(v.index[-2], v.index[-1]) for v in s.violations(y)}
        broken += len(bad)
    share = 100 * broken / (used_rows * len(sampled))
    inflated = 100 * (printed.total / exact.total - 1)
    return Finding(
        holds_if(printed.infeasible == 0),
        f"Inside a run on the default instance the repaired form leaves {share:.0f} % of the (server, "
        f"kind) rows infeasible, and its reward is {inflated:+.1f} % against the exact projection's: "
        "reward for devices that do not exist.",
        {
            "slots": s.slots,
            "infeasible slots (%)": 100 * printed.infeasible / s.slots,
            "infeasible rows (%)": share,
            "reward against the exact projection (%)": inflated,
        },
    )


def _check_zip(context: Context) -> Finding:
    instance = generate("default", context.seed, slots=1)
    s = instance.setting
    z = np.full(s.shape, 1e3)
    visited = np.zeros((s.servers, s.kinds), dtype=bool)
    for r, k in zip(range(s.servers), range(s.kinds), strict=False):
        visited[r, k] = True
    projected = np.where(visited[s.server], s.project(z), z)
    broken = len(s.violations(projected))
    return Finding(
        holds_if(broken == 0),
        f"zip pairs {int(visited.sum())} of {s.servers * s.kinds} (server, kind) rows; the others keep "
        f"their unprojected values, {broken} constraints broken. The product of the two sets is meant.",
        {"rows visited": int(visited.sum()), "rows": s.servers * s.kinds, "constraints broken": broken},
    )


def _check_conditions(context: Context) -> Finding:
    rng = np.random.default_rng(context.seed)
    instance, point, _ = _random_rows(rng, context.pick(200, 2000, 20000), 4)
    s = instance.setting
    y = s.project(point.reshape(-1, 1)).reshape(point.shape)
    demand = s.edge_demand.reshape(point.shape)
    inner = (y > 1e-12) & (y < demand - 1e-12)
    half = np.where(inner, point - y, -np.inf).max(axis=1, keepdims=True)
    upper_side = np.where(y >= demand - 1e-12, point - y, np.inf).min(axis=1, keepdims=True)
    half = np.where(np.isfinite(half), half, np.minimum(upper_side, np.abs(point - y).max()))
    printed = np.abs(2 * (y - point) + 2 * half) <= 1e-9
    slack = 2 * (y - point) + 2 * half  # must be lambda - mu
    amended = np.where(y <= 1e-12, slack >= -1e-9, np.where(y >= demand - 1e-12, slack <= 1e-9, printed))
    tight = np.isfinite(upper_side[:, 0]) | inner.any(axis=1)
    full = tight & (np.abs(y.sum(axis=1) - s.capacity[:, 0]) <= 1e-9)
    return Finding(
        amended_if(bool(printed[full].all()), bool(amended[full].all())),
        "The first case of (12) leaves out the multipliers of the bounds. Of the entries of exact "
        f"projections {100 * printed[full].mean():.0f} % satisfy it as printed, "
        f"{100 * amended[full].mean():.0f} % satisfy 2(y - z) + rho + mu - lambda = 0.",
        {
            "entries checked": int(printed[full].size),
            "as printed (%)": 100 * float(printed[full].mean()),
            "amended (%)": 100 * float(amended[full].mean()),
        },
    )


def _check_dual(_context: Context) -> Finding:
    z, a, c = Fraction(2), Fraction(1), Fraction(3, 2)
    first = z - 2 * (z - c) / 2  # B3 = {1}, B1 empty
    capped = first > a  # then B1 = {1} and B3 is empty
    try:
        Fraction(2, 0) * (Fraction(0) - c + a)
        divides = True
    except ZeroDivisionError:
        divides = False
    exact = row([1.0], 1.5).setting.project(np.array([[2.0]]))[0, 0]
    return Finding(
        holds_if(not capped or divides),
        "With z = 2, a = 1, c = 1.5 the first pass gives 1.5 > a, so B3 becomes empty and (13) divides "
        f"by zero; the exact projection is {exact:g} with rho = 0.",
        {"first pass": float(first), "size of B3 in the second pass": 0, "exact": float(exact)},
        counterexample=row([1.0], 1.5, [[1]]),
    )


def count_steps(z: np.ndarray, c: float) -> int:
    """Count the entries that the repaired loop of Algorithm 1 visits on a row without demand limits."""
    ordered = np.sort(z)[::-1]
    last, visited = len(z), 0
    while True:
        visited += last
        level = (ordered[:last].sum() - c) / last
        negative = np.flatnonzero(ordered[:last] < level)
        if len(negative) == 0:
            return visited
        last = int(negative[0])


def _check_complexity(_context: Context) -> Finding:
    sizes = np.array([8, 16, 32, 64])
    work = np.array([count_steps(-(float(n) ** np.arange(n)), 1.0) for n in sizes])
    slope = float(np.polyfit(np.log(sizes), np.log(work), 1)[0])
    ports, kinds, edges = 100, 6, 10240
    first, second = float(np.log2(kinds)), float(ports * np.log2(kinds * edges))
    return Finding(
        holds_if(first == second and slope <= 1.0),
        "The two stated complexities differ, O(log K) and O(|L| log(K sum |R_l|)): at the large size "
        f"{first:.1f} and {second:.0f} steps. The printed loop itself visits a number of entries that "
        f"grows with |L_r| to the power {slope:.2f} on rows z_i = -n^i.",
        {
            "log2 K": first,
            "|L| log2(K sum |R_l|)": second,
            **{f"entries visited, |L_r| = {m}": int(w) for m, w in zip(sizes, work, strict=True)},
            "growth exponent": slope,
        },
    )


def _check_supergradient(context: Context) -> Finding:
    rng = np.random.default_rng(context.seed)
    instance = generate("tiny", context.seed)
    s = instance.setting
    arrivals = np.ones(s.ports, dtype=np.int64)
    worst, kinks = -np.inf, 0
    trials = context.pick(100, 1000, 10000)
    for n in range(trials):
        y = s.project(rng.normal(0, 3, s.shape)) * (n > 0)
        z = s.project(rng.normal(0, 3, s.shape))
        g = s.supergradient(y, arrivals)
        gap = s.evaluate(z, arrivals)[0] - s.evaluate(y, arrivals)[0] - float((g * (z - y)).sum())
        worst = max(worst, gap)
        weighted = s.port_sums(y) * s.overhead
        top = np.sort(weighted, axis=1)
        kinks += int((top[:, -1] == top[:, -2]).any())
    steepest = utility.slope_at_zero(s.kind, s.alpha).max()
    return Finding(
        amended_if(kinks == 0, worst <= 1e-9),
        "The reward is not differentiable where two kinds share the maximum of (10), y = 0 among these "
        "points; with ties to the smallest kind, (9) is a supergradient there too: q(z) - q(y) - g.(z - "
        f"y) was never positive over {trials} pairs.",
        {
            "pairs": trials,
            "points with ties": kinks,
            "largest excess": worst,
            "largest slope": float(steepest),
        },
    )


CLAIMS = [
    Claim(
        "allocation/algorithm-1-projection",
        "Algorithm 1, lines 7 to 31",
        "The loop computes the Euclidean projection of every row.",
        "Four printed counterexamples, and random rows of 1 to 6 ports against the exact projection.",
        Verdict.FAILS,
        _check_projection,
    ),
    Claim(
        "allocation/algorithm-1-in-a-run",
        "Algorithm 1, Sec. 4",
        "OGASched with the printed projection returns feasible decisions.",
        "A run on the default instance with the printed projection, repaired only so far that it ends.",
        Verdict.FAILS,
        _check_in_run,
    ),
    Claim(
        "allocation/algorithm-1-zip",
        "Algorithm 1, line 6",
        "The projection runs over the pairs zip(R, K).",
        "Count the rows that zip visits on the default instance, and the constraints left broken.",
        Verdict.FAILS,
        _check_zip,
    ),
    Claim(
        "allocation/equation-12",
        "(12)",
        "At a projection every entry has 2(y - z) + rho = 0, or is at a bound.",
        "Multipliers of exact projections of random rows, with the printed and the full stationarity "
        "condition.",
        Verdict.HOLDS_AMENDED,
        _check_conditions,
    ),
    Claim(
        "allocation/equation-13",
        "(13)",
        "The dual variable of a row is given by a quotient with the size of B3 below.",
        "The row z = 2, a = 1, c = 1.5 in rational arithmetic.",
        Verdict.FAILS,
        _check_dual,
    ),
    Claim(
        "allocation/complexity",
        "Sec. 1 and Sec. 3.2",
        "A slot costs O(log K), and it costs O(|L| log(K sum |R_l|)).",
        "Both expressions at the large size, and the entries the printed loop visits on a family of rows.",
        Verdict.FAILS,
        _check_complexity,
    ),
    Claim(
        "allocation/equation-9",
        "(9), (10)",
        "The reward is continuously differentiable with this derivative.",
        "The supergradient inequality on random pairs of feasible points, y = 0 included.",
        Verdict.HOLDS_AMENDED,
        _check_supergradient,
    ),
]
