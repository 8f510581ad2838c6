"""Claims about the projection: Algorithm 1, the optimality conditions (12) and the dual variable (13)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ....models.allocation.generate import generate
from ....models.allocation.instance import AllocationInstance
from ....online.allocation.ogasched import Ogasched
from ....online.allocation.printed import OgaschedPrinted, printed_projection
from ...claim import Context, Finding, Register, Table, Verdict, amended_if, finding, holds_if, table
from ...engine.kept import decided, play
from ...experiments import SEEDS_APART

claim = Register("allocation")

EXAMPLES = (
    ("no test for rho >= 0", (0.5,), (1.0,), 1.0),
    ("only the first index is ever capped", (5.0, 5.0, 3.5), (2.0, 2.0, 2.0), 5.0),
    ("sorted by z instead of z - a", (6.0, 4.0), (6.0, 1.0), 6.0),
    ("S is never emptied, B2 keeps negative values", (-2.0, 0.0), (1.0, 1.0), 1.0),
)
"""What is wrong, z, a, c of one (server, kind) row; requirements and capacities are whole, as in Sec. 2.1."""


def linear(
    edges: Any, demand: Any, capacity: Any, arrivals: Any, overhead: Sequence[float] = (0.0,)
) -> AllocationInstance:
    """Return an instance in which all utilities are f(y) = y."""
    kinds, ones = np.full(np.shape(capacity), "linear"), np.ones(np.shape(capacity))
    more: Any = {"overhead": overhead, "utility_kind": kinds, "alpha": ones}
    return AllocationInstance(edges=edges, demand=demand, capacity=capacity, arrivals=arrivals, **more)


def rows(demand: Any, capacity: Any, arrivals: Any = ()) -> AllocationInstance:
    """Return an instance whose servers are independent rows: ``demand[row, position]``, ``capacity[row]``."""
    limits = np.asarray(demand)
    edges = [(n, n // limits.shape[1]) for n in range(limits.size)]
    slots = np.array(arrivals, dtype=np.int64).reshape(-1, limits.size)
    return linear(edges, limits.reshape(-1, 1), np.reshape(capacity, (-1, 1)), slots)


def row(demand: Sequence[float], capacity: float, arrivals: Any = ()) -> AllocationInstance:
    """Return an instance of one server and one kind with linear utilities: one row of the projection."""
    return rows([demand], [capacity], arrivals)


def _examples() -> Table:
    def text(values: Iterable[float]) -> str:
        return "(" + ", ".join(f"{v:g}" for v in values) + ")"

    lines = []
    for wrong, z, a, c in EXAMPLES:
        setting, point = row(a, c).setting, np.array(z)[:, None]
        tried = [printed_projection(setting, point, repaired=repaired) for repaired in (False, True)]
        results = ["never ends" if endless else text(y[:, 0]) for y, endless in tried]
        lines.append((wrong, text(z), text(a), c, *results, text(setting.project(point)[:, 0])))
    heads = "what is wrong | z | a | c | as printed | repaired to end | exact"
    return table("Algorithm 1 on single rows", heads, lines)


def random_rows(rng: np.random.Generator, count: int, width: int) -> tuple[np.ndarray, ...]:
    """Return random points, their projections, demands and capacities."""
    demand = rng.uniform(0.1, 3.0, (count, width))
    same = rng.random(count) < 0.5
    demand[same] = demand[same, :1]
    capacity = rng.uniform(0.1, 1.0, count) * demand.sum(axis=1)
    point = rng.normal(1.0, 1.5, (count, width))
    exact = rows(demand, capacity).setting.project(point.reshape(-1, 1)).reshape(count, width)
    return point, exact, demand, capacity


@claim("algorithm-1-projection", "Algorithm 1, lines 7 to 31", Verdict.REFUTED)
def _algorithm_1(context: Context) -> Finding:
    """The loop computes the Euclidean projection of every row.

    Four rows with whole requirements, and random rows of 1 to 6 ports against the exact projection.
    """
    rng, count, widths = context.rng(), context.pick(200, 2000, 20000), (1, 2, 3, 4, 6)
    right, endless = {False: 0, True: 0}, 0
    for width in widths:
        point, exact, demand, capacity = random_rows(rng, count, width)
        setting, close = rows(demand, capacity).setting, 1e-9 * np.maximum(1.0, np.abs(exact))
        for repaired in (False, True):
            y, stuck = printed_projection(setting, point.reshape(-1, 1), repaired=repaired)
            right[repaired] += int((np.abs(y.reshape(point.shape) - exact) <= close).all(axis=1).sum())
            endless += 0 if repaired else stuck
    total, (_, _, a, c) = count * len(widths), EXAMPLES[1]
    wrong = right[False] < total
    return finding(
        holds_if(not wrong),
        "The loop is no projection: on most random rows it never ends, or gives a port more than it asks "
        "for.",
        {
            "random rows": total,
            "exact as printed (%)": 100 * right[False] / total,
            "never ends as printed (%)": 100 * endless / total,
            "exact when repaired to end (%)": 100 * right[True] / total,
        },
        _examples(),
        counterexample=row(a, c, [[1] * len(a)]) if wrong else None,
    )


@claim("algorithm-1-in-a-run", "Algorithm 1, Sec. 4", Verdict.REFUTED)
def _algorithm_1_in_a_run(context: Context) -> Finding:
    """OGASched with the printed projection returns feasible decisions.

    Runs with the printed projection, repaired only so far that it ends, on default and tiny instances.
    """
    instance = generate("default", context.seed, slots=context.pick(50, 100, 2000))
    slots, exact = instance.setting.slots, play(Ogasched(step="decay"), instance)
    printed = play(OgaschedPrinted(), instance, enforce=False)
    tiny = (generate("tiny", SEEDS_APART * context.seed + n, integer=True) for n in range(100))
    small = next((i for i in tiny if play(OgaschedPrinted(), i, enforce=False).infeasible), None)
    return finding(
        holds_if(small is None and printed.infeasible == 0),
        "Even repaired to end, it gives jobs more devices than they ask for, and earns reward with them.",
        {
            "slots": slots,
            "infeasible slots (%)": 100 * printed.infeasible / slots,
            "reward against the exact projection (%)": 100 * (printed.total / exact.total - 1),
        },
        counterexample=small,
    )


@claim("algorithm-1-zip", "Algorithm 1, line 6", Verdict.HOLDS_AMENDED)
def _algorithm_1_zip(context: Context) -> Finding:
    """The projection runs over the pairs zip(R, K).

    The constraints that a projection of these rows only, and of all rows, leaves broken.
    """
    s = generate("default", context.seed, slots=1).setting
    z = np.full(s.shape, 1e3)
    visited = np.eye(s.servers, s.kinds, dtype=bool)  # the pairs (0, 0), (1, 1), ... of zip
    broken = len(s.violations(np.where(visited[s.server], s.project(z), z)))
    product = len(s.violations(s.project(z)))
    return finding(
        amended_if(broken == 0, product == 0, Verdict.REFUTED),
        f"zip visits {int(visited.sum())} of {visited.size} rows; the product of the two sets is meant.",
        {"rows visited": int(visited.sum()), "rows": visited.size}
        | {"constraints broken": broken, "constraints broken with the product": product},
        assumes="Amended: the product of R and K, as the text around (13) has it.",
    )


@claim("equation-12", "(12)", Verdict.HOLDS_AMENDED)
def _equation_12(context: Context) -> Finding:
    """The KKT conditions of a projection are those of (12), of which stationarity is 2(y - z) + rho = 0.

    Multipliers of exact projections of random rows, with the printed and the full condition.
    """
    point, y, demand, capacity = random_rows(context.rng(), context.pick(200, 2000, 20000), 4)
    full = np.abs(y.sum(axis=1) - capacity) <= 1e-9
    z, y, demand = point[full], y[full], demand[full]
    half = np.where(y > 1e-12, z - y, np.inf).min(axis=1, keepdims=True)  # rho / 2
    left = 2 * (y - z) + 2 * half  # must be lambda - mu
    printed = np.abs(left) <= 1e-9
    amended = np.where(y <= 1e-12, left >= -1e-9, np.where(y >= demand - 1e-12, left <= 1e-9, printed))
    return finding(
        amended_if(bool(printed.all()), bool(amended.all()), Verdict.UNDETERMINED),
        "The first case of (12) leaves out the multipliers of the bounds; with them it holds everywhere.",
        {"entries checked": printed.size}
        | {"as printed (%)": 100 * float(printed.mean()), "amended (%)": 100 * float(amended.mean())},
        assumes="Amended: 2(y - z) + rho + mu - lambda = 0, the other cases being complementary slackness. "
        "Read as alternatives, of which each entry meets one, (12) is right.",
    )


class Traced(NamedTuple):
    """The repaired loop of Algorithm 1 on one row."""

    rounds: int
    visited: int  # entries, in all rounds
    emptied: bool  # whether B3 is ever empty where (13) is evaluated
    y: np.ndarray


def traced(z: np.ndarray, a: np.ndarray, c: float) -> Traced:
    """Run lines 7 to 31 of Algorithm 1 on one row, with S emptied in every pass, and count."""
    order = np.argsort(-z, kind="stable")
    z, a = z[order], a[order]
    rounds = visited = 0
    emptied = False
    for capped in (0, 1):
        last = len(z)
        while True:
            rounds, visited = rounds + 1, visited + last
            emptied |= last <= capped
            level = 0.0 if last <= capped else (z[capped:last].sum() + a[:capped].sum() - c) / (last - capped)
            y = np.concatenate([a[:capped], z[capped:last] - level, np.zeros(len(z) - last)])[: len(z)]
            negative = np.flatnonzero(y < 0.0)
            if len(negative) == 0:
                break
            last = int(negative[0])
            y[last:] = 0.0
        if not y[0] > a[0]:
            break
    result = np.empty(len(z))
    result[order] = y
    return Traced(rounds, visited, emptied, result)


@claim("equation-13", "(13)", Verdict.HOLDS_AMENDED)
def _equation_13(context: Context) -> Finding:
    """The dual variable of a row is given by a quotient with the size of B3 below.

    (13) on exact projections of random rows, beside the multiplier that they have; and the rows on which the
    loop evaluates it with an empty B3.
    """
    point, y, a, c = random_rows(context.rng(), context.pick(200, 1000, 10000), 4)
    inner = (y > 1e-9) & (y < a - 1e-9)
    binds = inner.any(axis=1) & (np.minimum(point, a).clip(0.0).sum(axis=1) > c + 1e-9)
    capped = np.where(y >= a - 1e-9, a, 0.0).sum(axis=1)
    level = (np.where(inner, point, 0.0).sum(axis=1) - c + capped) / inner.sum(axis=1).clip(1)
    off = abs(point - y - level[:, None])[inner & binds[:, None]].max()
    empty = sum(traced(z, limits, float(room)).emptied for z, limits, room in zip(point, a, c, strict=True))
    small = traced(np.array([0.0]), np.array([1.0]), 2.0)
    return finding(
        amended_if(empty == 0 and not small.emptied, bool(off <= 1e-9), Verdict.REFUTED),
        "(13) gives the multiplier where capacity binds and B3 has entries; Algorithm 1 also divides by 0, "
        "where B3 is empty.",
        {
            "rows": len(y),
            "rows where capacity binds and B3 has entries": int(binds.sum()),
            "largest difference from the multiplier there": float(off),
            "rows with an empty B3 in the loop": int(empty),
        },
        counterexample=row([1.0], 2.0, [[1]]),
        assumes="Amended: where B3 is not empty and capacity binds; else rho = 0 or is not needed.",
        remark="A small row is z = 0, a = 1, c = 2: the first pass gives 2, above a, and empties B3. Only "
        "a server with one port, which asks for less than there is, can do that.",
    )


def one_arrives(n: int) -> tuple[AllocationInstance, np.ndarray]:
    """Return n ports at one device, port 0 alone with a job, and y(1): nearly every port's fair share."""
    less = np.append(0.0, float(n) ** np.arange(1 - n, 0)) / 2.0
    return row([1.0] * n, 1.0, [[1, *[0] * (n - 1)]] * 2), (1.0 / n - less)[:, None]


@claim("complexity", "Sec. 1 and Sec. 3.2", Verdict.REFUTED)
def _complexity(_context: Context) -> Finding:
    """A slot costs O(log K), or O(|L| log(K sum |R_l|)): the projection is fast.

    The entries that the loop visits in the first slot of runs at one server and kind, against both; whether
    the loop's row is the next decision of the run.
    """
    lines, same, endless = [], True, 0
    for n in (4, 6, 8, 10, 12):
        made, y = one_arrives(n)
        z = y + made.setting.supergradient(y, made.arrivals[0])
        loop = traced(z[:, 0], made.setting.edge_demand[:, 0], 1.0)
        run = decided(Ogasched("decay", y, eta0=1.0, decay=1.0), made)
        same &= np.allclose(run[0], y) and np.allclose(run[1][:, 0], loop.y)
        endless += printed_projection(made.setting, z, repaired=False)[1]
        lines.append((n, loop.visited, 0.0, n * float(np.log2(n))))
    title = "Entries that the loop visits, and what the expressions grow like (R = K = 1)"
    return finding(
        Verdict.REFUTED
        if same and all(w == n * (n + 1) // 2 for n, w, *_ in lines)
        else Verdict.UNDETERMINED,
        "In a slot of a run the loop can visit |L|(|L| + 1)/2 entries, more than either printed complexity "
        "allows.",
        {"rows": len(lines), "of these on which the loop as printed never ends": endless},
        table(title, "|L| | visited | log2 K | |L| log2(K sum |R_l|)", lines),
        counterexample=one_arrives(8)[0],
        proof="One device, n ports, a = 1, f(y) = y, beta = 0. Let y(1) be 1/n at port 0 and 1/n - e_i with "
        "e_i = n^(i - n)/2 at port i: it is feasible. Port 0 alone has a job, and eta = 1: z_0 = 1/n + 1, "
        "z_i = 1/n - e_i.\n\nA pass over the first m entries puts entry j below the level if the sum over "
        "them of z_i - z_j is above 1. For the last one it is: 1 + e_j and more. For the one before it is at "
        "most 1 + (m - 2) e_j - (n - 1) e_j <= 1. Each pass therefore removes one entry and visits the "
        "others again: n(n + 1)/2 visits.\n\nWith K = 1 and one server O(log K) is constant, and the "
        "other is O(n log n). Rows in parallel do not help: this is one row.",
        assumes="y(1) is any feasible decision, as Definition 2 has it. The loop counted here empties "
        "S in every pass, which is a repair: as printed S keeps its entries, and the loop never ends on "
        "these rows. Line 21 visits the entries of a row one after another; Sec. 3.2 claims parallelism over "
        "(r, k) only.\n\nIn runs of Sec. 4 the loop stays far below this: see repeat-loop.",
    )


@claim(
    "repeat-loop",
    "Sec. 3.2",
    Verdict.HOLDS,
    choices=("density of the graph: 2.5 ports a server, or all of them",),
)
def _repeat_loop(context: Context) -> Finding:
    """In experiments the repeat loop is executed significantly less often than |L| times.

    Passes of the loop on the rows of runs, in parts of |L|; significantly less being less than half of it.
    """
    lines, means = [], []
    heads = "density (ports per server) | rows | mean | largest | never end as printed (%)"
    for density in (2.5, 10.0):
        drawn = generate("default", context.seed, density=density, servers=context.pick(8, 32, 128), slots=20)
        s, rounds, endless = drawn.setting, [], 0
        for y, x in zip(decided(Ogasched("decay"), drawn), drawn.arrivals, strict=True):
            z = y + 25.0 * s.supergradient(y, x)
            endless += printed_projection(s, z, repaired=False)[1]
            for r, k in itertools.product(np.unique(s.server), range(s.kinds)):
                own = s.server == r
                rounds.append(traced(z[own, k], s.edge_demand[own, k], s.capacity[r, k]).rounds)
        share = np.array(rounds) / s.ports
        means.append(float(share.mean()))
        ends = (round(means[-1], 3), round(float(share.max()), 3), round(100.0 * endless / len(rounds), 1))
        lines.append((density, len(rounds), *ends))
    return finding(
        holds_if(max(means) < 0.5, Verdict.NOT_REPRODUCED if min(means) >= 0.5 else Verdict.UNDETERMINED),
        "The repeat loop runs a fraction of |L| times on average, also on the complete graph.",
        {"found to hold down to a threshold of": max(means), "not reproduced up to": min(means)},
        table("Passes of the repeat loop in parts of |L| = 10", heads, lines),
        assumes="Half of |L| is a threshold of ours; between the two numbers it depends on the density. The "
        "loop counted empties S in every pass: as printed it never ends on many of these rows.",
        remark="At density 2.5 rows have so few ports that it must be so.",
    )


@claim("equation-9", "(9), (10)", Verdict.HOLDS_AMENDED)
def _equation_9(context: Context) -> Finding:
    """The reward is continuously differentiable with this derivative.

    The supergradient inequality on random feasible pairs; one-sided differences at y = 0.
    """
    rng, trials = context.rng(), context.pick(100, 1000, 10000)
    s = generate("tiny", context.seed).setting
    arrivals = np.ones(s.ports, dtype=np.int64)
    worst, kinks = -np.inf, 0
    for n in range(trials):
        y, z = s.project(rng.normal(0, 3, s.shape)) * (n > 0), s.project(rng.normal(0, 3, s.shape))
        allowed = s.evaluate(y, arrivals)[0] + float((s.supergradient(y, arrivals) * (z - y)).sum())
        worst = max(worst, s.evaluate(z, arrivals)[0] - allowed)
        top = np.sort(s.port_sums(y) * s.overhead, axis=1)
        kinks += int((top[:, -1] == top[:, -2]).any())
    zero, steps = np.zeros(s.shape), 1e-6 * np.eye(s.shape[0] * s.shape[1]).reshape(-1, *s.shape)
    rise = np.array([s.evaluate(step, arrivals)[0] / 1e-6 for step in steps])
    off = float(abs(rise - s.supergradient(zero, arrivals).ravel()).max())
    return finding(
        amended_if(kinks == 0 and off <= 1e-4, worst <= 1e-9, Verdict.UNDETERMINED),
        "The reward has kinks where two kinds with overhead tie in (10), as at y = 0; there (9) is a "
        "supergradient.",
        {"pairs": trials, "points with ties": kinks}
        | {"largest excess": worst, "slope at 0 less (9), largest": off},
        assumes="Amended: supergradient in place of derivative, ties to the smallest kind.",
    )
