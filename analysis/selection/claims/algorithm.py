"""Claims about (16) to (32) and Algorithm 2: the recursion, what it returns, when it fails, its costs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from ....models.base import Origin
from ....models.selection.instance import SelectionInstance
from ....online.play import play
from ....online.selection import EsdpPrinted, statistics
from ....online.selection.esdp import scaled, scaling
from ....online.selection.printed import algorithm_2, algorithm_2_repaired, select
from ...claim import Context, Finding, Register, Table, Verdict, amended_if, holds_if
from ...experiments import track
from ..regret import TIE

claim = Register("selection")
HOLDS, REFUTED = Verdict.HOLDS, Verdict.REFUTED


@dataclass(frozen=True, eq=False)
class Case:
    """The input of Algorithm 2: whole statistics, demands and capacities, and the largest s."""

    upsilon: np.ndarray
    sigma2: np.ndarray
    demand: np.ndarray
    capacity: np.ndarray
    s_max: int

    def instance(self, note: str) -> SelectionInstance:
        """Return an instance of one slot with these demands and capacities; its origin tells the rest."""
        count = len(self.upsilon)
        sizes = f"Upsilon = {text(self.upsilon)}, Sigma^2 = {text(self.sigma2)}, S = 0..{self.s_max}"
        return SelectionInstance(
            edges=[(0, e) for e in range(count)],
            demand=self.demand,
            capacity=self.capacity,
            mean=np.full(count, 0.5),
            arrivals=[[1]],
            origin=Origin(f"{sizes}: {note}"),
        )


def case(
    upsilon: list[int], sigma2: list[int], demand: list[list[int]], capacity: list[int], s_max: int
) -> Case:
    """Return a case from lists."""
    return Case(np.array(upsilon), np.array(sigma2), np.array(demand), np.array(capacity), s_max)


def text(values: np.ndarray) -> str:
    """Return numbers as a text such as (1, 0)."""
    return "(" + ", ".join(f"{v:g}" for v in values.astype(float)) + ")"


NOT_HANDED_ON = case([1, 1], [5, 10], [[1], [1]], [1], 0)
"""Algorithm 2 returns a wrong x: what ESDP knows of two channels in slot 4, worth 1/2, one used twice."""

UNREACHED = case([2], [4], [[1]], [1], 8)
"""One channel; s above 2 is unattainable."""


def occurring(rng: np.random.Generator, alpha: float | None = None) -> tuple[Case, Known]:
    """Return Upsilon, Sigma^2 and S as they occur after some slots of feasible decisions on a small instance.

    ``alpha`` times the number of channels stands for m, or the exact m if it is ``None``.
    """
    channels, kinds = int(rng.integers(3, 6)), int(rng.integers(1, 3))
    demand, capacity = rng.integers(1, 3, (channels, kinds)), rng.integers(2, 5, kinds)
    blank = Case(np.zeros(channels), np.zeros(channels), demand, capacity, 0)
    sets = feasible_sets(blank)
    t = int(rng.integers(50, 300))
    count = (
        np.ones(channels, dtype=np.int64) + rng.multinomial(t, rng.dirichlet(np.full(len(sets), 0.3))) @ sets
    )
    m = float(sets.sum(axis=1).max()) if alpha is None else alpha * channels
    t += channels + 1
    delta = float(statistics.delta("loglog", t))
    xi = float(scaling(np.array(delta), m))
    mean, spread = rng.random(channels), 0.5 * float(statistics.g("full", t, m)) / count
    upsilon, sigma2 = (part.astype(np.int64) for part in scaled(mean, spread, xi))
    return Case(upsilon, sigma2, demand, capacity, math.floor(xi * m)), Known(mean, spread, xi, delta, m)


@dataclass(frozen=True, eq=False)
class Known:
    """What Upsilon and Sigma^2 of a case are rounded from: v-hat, sigma-hat^2, xi, delta and m."""

    mean: np.ndarray
    spread: np.ndarray
    xi: float
    delta: float
    m: float

    def index(self, sets: np.ndarray) -> np.ndarray:
        """Return v-hat.x + sqrt(sigma-hat^2.x) of some sets."""
        result: np.ndarray = sets @ self.mean + np.sqrt(sets @ self.spread)
        return result


def random_cases(rng: np.random.Generator, count: int) -> Iterator[Case]:
    """Yield small cases in which capacity may bind; S ends at the largest Upsilon.x or a little above."""
    for _ in range(count):
        channels, kinds = int(rng.integers(2, 7)), int(rng.integers(1, 3))
        demand = rng.integers(1, 3, (channels, kinds))
        capacity = rng.integers(1, 5, kinds)
        upsilon = rng.integers(0, 5, channels)
        found = Case(upsilon, rng.integers(1, 7, channels), demand, capacity, 0)
        reach = int((feasible_sets(found) @ upsilon).max())
        yield Case(upsilon, found.sigma2, demand, capacity, reach + int(rng.integers(0, 4)))


def feasible_sets(given: Case) -> np.ndarray:
    """Return all sets that keep the capacities, shape (N, E)."""
    sets = np.array(list(product((0, 1), repeat=len(given.upsilon))), dtype=np.int64)
    kept: np.ndarray = sets[(sets @ given.demand <= given.capacity).all(axis=1)]
    return kept


def exact_values(given: Case) -> np.ndarray:
    """Return V(s) for s = 0..s_max by enumeration, minus infinity where no set reaches s."""
    sets = feasible_sets(given)
    reach, variance = sets @ given.upsilon, sets @ given.sigma2
    s = np.arange(given.s_max + 1)[:, None]
    result: np.ndarray = np.where(reach >= s, variance, -np.inf).max(axis=1)
    return result


def largest_index(given: Case) -> float:
    """Return max Upsilon.x + sqrt(Sigma^2.x) by enumeration."""
    sets = feasible_sets(given)
    return float((sets @ given.upsilon + np.sqrt(sets @ given.sigma2)).max())


def _run(given: Case, *, repaired: bool = False) -> tuple[np.ndarray, np.ndarray]:
    solve = algorithm_2_repaired if repaired else algorithm_2
    return solve(given.upsilon, given.sigma2, given.demand, given.capacity, given.s_max)


def solves(given: Case, x: np.ndarray) -> np.ndarray:
    """Return for every attainable s whether x(s) is feasible, reaches s and is worth the optimum."""
    exact = exact_values(given)
    reached = exact > -np.inf
    feasible = (x.astype(np.int64) @ given.demand <= given.capacity).all(axis=1)
    enough = x @ given.upsilon >= np.arange(len(x))
    right: np.ndarray = (feasible & enough & (x @ given.sigma2 == exact))[reached]
    return right


@claim(
    "algorithm-2",
    "Algorithm 2, lines 9-17",
    REFUTED,
    says="The dynamic program returns an optimal set for every s.",
    how="Values and sets for every attainable s against enumeration on random small cases.",
)
def _algorithm_2_sets(context: Context) -> Finding:
    rng = np.random.default_rng(context.seed)
    count = context.pick(100, 300, 10000)
    right = {"values V(s)": 0, "sets x(s)": 0, "both, with x handed on": 0}
    for given in track(context, random_cases(rng, count)):
        exact = exact_values(given)
        x, values = _run(given)
        better, mended = _run(given, repaired=True)
        right["values V(s)"] += bool((values == exact).all())
        right["sets x(s)"] += bool(solves(given, x).all())
        right["both, with x handed on"] += bool((mended == exact).all() and solves(given, better).all())
    x, values = _run(NOT_HANDED_ON)
    example = bool(solves(NOT_HANDED_ON, x).all())
    return Finding(
        holds_if(example and right["sets x(s)"] == count, REFUTED),
        "Algorithm 2 finds the right values but often returns sets that they do not belong to.",
        {"random cases": count, **{f"all {k} right (%)": 100 * v / count for k, v in right.items()}},
        tables=(
            Table(
                "Upsilon = (1, 1), Sigma^2 = (5, 10), A = (1, 1), c = 1, s = 0",
                ("V(0)", "x(0)", "worth of x(0)"),
                ((float(values[0]), text(x[0]), float(x[0] @ NOT_HANDED_ON.sigma2)),),
            ),
        ),
        counterexample=NOT_HANDED_ON.instance(f"for s = 0 Algorithm 2 returns x = {text(x[0])}"),
        assumes="Upsilon and Sigma^2 of the example are those of (16) and (17) in slot 4 with the default "
        "sequences, after one channel was used twice and the other once.",
        remark="Lines 10 to 17 lack the case in which a channel is not taken, so x stays 0 there. With (23) "
        "as a line of its own the sets are right: that is the claim selection/recursion.",
    )


@claim(
    "recursion",
    "Sec. 3.2, (23)-(27)",
    HOLDS,
    says="P5 has the substructure of (23), (24) and (27), so a recursion over s, c and i solves every P4.",
    how="The recursion with x handed on as in (23), against enumeration, for every s and every first "
    "channel i.",
)
def _recursion(context: Context) -> Finding:
    rng = np.random.default_rng(context.seed)
    count, wrong, cells_seen = context.pick(30, 100, 2000), 0, 0
    for given in track(context, random_cases(rng, count)):
        for i in range(len(given.upsilon)):
            rest = Case(given.upsilon[i:], given.sigma2[i:], given.demand[i:], given.capacity, given.s_max)
            x, values = _run(rest, repaired=True)
            exact = exact_values(rest)
            wrong += not ((values == exact).all() and solves(rest, x).all())
            cells_seen += len(exact)
    return Finding(
        holds_if(wrong == 0, REFUTED),
        "The recursion of the text solves P4 and P5 exactly, if every set is handed on as (23) says.",
        {"problems P5(s, c, i)": cells_seen, "cases in which one is wrong": wrong},
        proof="" if wrong == 0 else "Enumeration finds other optima.",
        remark="(27) holds where channel i + 1 is taken, and so fits; otherwise its max(c - A, 0) would hide "
        "that it does not.",
    )


def unreached(slots: int) -> SelectionInstance:
    """Return one channel worth 1/4 and always a job: soon s = xi, which nothing reaches, scores most."""
    return SelectionInstance(
        edges=[(0, 0)],
        demand=[[1]],
        capacity=[1],
        mean=[0.25],
        arrivals=np.ones((slots, 1)),
        origin=Origin("with x(s) = 0 for s that no set reaches, the only channel is no more chosen"),
    )


def literal_run(here: SelectionInstance, form: str) -> np.ndarray:
    """Play Algorithm 2 and (21), with the sets handed on, and return in which slots a channel was chosen."""
    s, known = here.setting, statistics.Statistics(here.setting.channels)
    t = np.arange(1.0, s.slots + 1)
    m = s.most_channels
    xi, width = scaling(statistics.delta("loglog", t), m), 0.5 * statistics.g("full", t, m)
    chosen = np.zeros(s.slots, dtype=bool)
    for slot in range(s.slots):
        x = np.ones(s.channels, dtype=bool)  # untried channels come first
        if not known.untried.any():
            up, sq = scaled(known.mean, known.spread(width[slot]), xi[slot])
            sets, values = algorithm_2_repaired(up, sq, s.demand, s.capacity, int(xi[slot] * m))
            x = select(sets, values, sq, form)[1]
        known.count += x
        known.total += np.where(x, here.path[slot], 0.0)
        chosen[slot] = x.any()
    return chosen


@claim(
    "unattainable-s",
    "(21), Algorithm 2, line 1",
    REFUTED,
    says="The best s is the one with the largest s + sqrt(Sigma^2.x(s)), over all s in S(t).",
    how="P4(s) solved exactly, x(s) = 0 where no set reaches s as in line 1: one channel played, and the "
    "index selected against the largest one on statistics as they occur.",
)
def _unattainable_s(context: Context) -> Finding:
    rng = np.random.default_rng(context.seed)
    count, wrong, mended = context.pick(60, 300, 3000), 0, 0
    for _ in track(context, range(count)):
        given, _known = occurring(rng)
        x, values = _run(given, repaired=True)
        for form in ("printed", "dropped"):
            _, chosen = select(x, values, given.sigma2, form)
            bad = float(chosen @ given.upsilon + np.sqrt(chosen @ given.sigma2)) < largest_index(given) - TIE
            wrong, mended = wrong + (bad and form == "printed"), mended + (bad and form == "dropped")
    small = unreached(60)
    used = {form: int(literal_run(small, form).sum()) for form in ("printed", "dropped")}
    return Finding(
        holds_if(wrong == 0 and used["printed"] == used["dropped"], REFUTED),
        "An s that no set reaches can win, and then nothing is switched on, for ever.",
        {
            "cases": count,
            "wrong selection, as printed (%)": 100 * wrong / count,
            "wrong selection, such s dropped (%)": 100 * mended / count,
            **{f"slots of 60 in which the only channel is used, {k}": v for k, v in used.items()},
        },
        counterexample=small,
        assumes="x(s) = 0 where P4(s) has no solution, as line 1 of Algorithm 2 sets it; default sequences.",
        remark="Dropping every s that no set reaches mends it.",
    )


def six_channels(slots: int) -> SelectionInstance:
    """Return six channels of which five fit, one of them worthless, and always a job; alpha |E| is 3."""
    return SelectionInstance(
        edges=[(0, e) for e in range(6)],
        demand=np.ones((6, 1)),
        capacity=[5],
        mean=[1.0, 1.0, 1.0, 1.0, 1.0, 0.0],
        arrivals=np.ones((slots, 1)),
        origin=Origin("alpha |E| = 3 is below m = 5: every set of five counts the same in S(t)"),
    )


def selected_index(given: Case) -> float:
    """Return the index of what (21) selects among the s that are attainable, by enumeration."""
    sets = feasible_sets(given)
    reach, variance = sets @ given.upsilon, sets @ given.sigma2
    best = int(np.argmax(np.minimum(reach, given.s_max) + np.sqrt(variance)))
    return float(reach[best] + np.sqrt(variance[best]))


@claim(
    "truncated-s",
    "(18), (19) with alpha |E| of Sec. 4",
    REFUTED,
    says="alpha |E| can stand for the most channels that fit at once, also as the end of S(t).",
    how="ESDP played on six channels of which five fit; the index of what the cut-off S selects against the "
    "largest one on statistics as they occur.",
    choices=("alpha (0.25 to 1)",),
)
def _truncated_s(context: Context) -> Finding:
    rng = np.random.default_rng(context.seed)
    count = context.pick(200, 500, 10000)
    lines = []
    for alpha in track(context, (0.25, 0.5, 0.75, 1.0)):
        cases = [occurring(rng, alpha)[0] for _ in range(count)]
        short = [int((feasible_sets(c) @ c.upsilon).max()) > c.s_max for c in cases]
        wrong = [selected_index(c) < largest_index(c) - TIE for c in cases]
        lines.append((alpha, 100 * float(np.mean(short)), 100 * float(np.mean(wrong))))
    small = six_channels(context.pick(200, 400, 2000))
    best = 5.0 * small.setting.slots
    regret = {alpha: best - play(EsdpPrinted(alpha=alpha), small).total for alpha in (0.5, 1.0)}
    return Finding(
        holds_if(lines[1][2] == 0.0 and regret[0.5] <= regret[1.0], REFUTED),
        "With alpha = 0.5 ESDP cannot tell good sets apart on six channels of which five fit.",
        {
            "random cases per alpha": count,
            **{f"regret on six channels, alpha = {a:g}": r for a, r in regret.items()},
        },
        tables=(
            Table(
                "Statistics as they occur after some slots, 3 to 5 channels",
                ("alpha", "S ends below max Upsilon.x (%)", "wrong selection (%)"),
                tuple(lines),
            ),
        ),
        counterexample=six_channels(200),
        assumes="Every port always has a job, so that nothing else than alpha is to blame; alpha = 0.5 as in "
        "Table 3.",
    )


_Cell = tuple[int, tuple[int, ...], int]


def literal_selection(
    given: Case, sigma2: np.ndarray, *, nan: str, handed_on: bool
) -> tuple[int, np.ndarray]:
    """Run Algorithm 2 and (21) with Sigma^2 that may be infinite, in plain floating point.

    Parameters
    ----------
    given
        The case; its own Sigma^2 plays no part.
    sigma2
        Sigma^2, infinite for untried channels, shape (E,).
    nan
        What a score that is not a number counts as: "lowest", or "highest" as in numpy's argmax.
    handed_on
        Whether x(i + 1) is handed on where a channel is not taken, which the print leaves out.

    Returns
    -------
    tuple
        How many values V(s) are not numbers, and the selected x.
    """
    V, X = literal_table(given, sigma2, handed_on=handed_on)
    full = tuple(int(c) for c in given.capacity)
    levels = range(given.s_max + 1)
    rows = np.array([X[s, full, 0] for s in levels])
    with np.errstate(invalid="ignore"):
        scores = np.arange(given.s_max + 1) + np.sqrt((rows * sigma2).sum(axis=1))
    missing = sum(math.isnan(V[s, full, 0]) for s in levels)
    worst = -math.inf if nan == "lowest" else math.inf
    return missing, rows[int(np.argmax(np.where(np.isnan(scores), worst, scores)))]


def literal_table(
    given: Case, sigma2: np.ndarray, *, handed_on: bool
) -> tuple[dict[_Cell, float], dict[_Cell, np.ndarray]]:
    """Fill the tables V and x of Algorithm 2 cell by cell, line by line as printed; keys are (s, c', i)."""
    count = len(sigma2)
    levels = range(given.s_max + 1)
    states = list(product(*(range(int(c) + 1) for c in given.capacity)))
    V: dict[_Cell, float] = {}
    X: dict[_Cell, np.ndarray] = {}
    for s, state in product(levels, states):
        V[s, state, count] = 0.0 if s == 0 else -math.inf
        X[s, state, count] = np.zeros(count)
        for i in range(count - 1, -1, -1):
            kept = V[s, state, i + 1]
            V[s, state, i], X[s, state, i] = kept, np.zeros(count)
            if handed_on:
                X[s, state, i] = X[s, state, i + 1]
            if not any(state):
                continue
            rest = tuple(max(c - int(a), 0) for c, a in zip(state, given.demand[i], strict=True))
            before = (max(s - int(given.upsilon[i]), 0), rest, i + 1)
            value = max(V[before] + float(sigma2[i]), kept)  # keeps the first where one is not a number
            if value != kept:
                x = X[before].copy()
                x[i] = 1.0
                if (x @ given.demand <= state).all():
                    V[s, state, i], X[s, state, i] = value, x
                else:
                    X[s, state, i] = X[s, state, i + 1]
    return V, X


EXCLUSIVE = 2
"""Channels of which one fits at a time: the fewest with which the printed form tries none."""


def _explored(nan: str, handed_on: bool, slots: int) -> tuple[int, int, int]:
    """Play channels that exclude each other with sigma = +infinity as printed.

    Returns
    -------
    tuple
        Channels ever chosen, V(s) in the first slot that are not numbers, and of how many.
    """
    count, m = EXCLUSIVE, 1
    tried, missing, levels = np.zeros(count), 0, 0
    for t in range(1, slots + 1):
        xi = float(scaling(statistics.delta("loglog", t), m))
        with np.errstate(divide="ignore"):
            spread = 0.5 * statistics.g("full", t, m) / tried
        mean = np.where(tried > 0, 0.5, 0.0)
        upsilon, sigma2 = scaled(mean, spread, xi)
        given = Case(
            upsilon.astype(np.int64), np.zeros(count), np.ones((count, 1)), np.array([1]), int(xi) * m
        )
        lost, x = literal_selection(given, sigma2, nan=nan, handed_on=handed_on)
        if t == 1:
            missing, levels = lost, given.s_max + 1
        tried += x
    return int((tried > 0).sum()), missing, levels


def never_a_job(slots: int) -> SelectionInstance:
    """Return two ports at one device, of which the first never has a job: its channel stays untried."""
    return SelectionInstance(
        edges=[(0, 0), (1, 0)],
        demand=[[1], [1]],
        capacity=[1],
        mean=[0.5, 0.5],
        arrivals=np.tile([0, 1], (slots, 1)),
        origin=Origin("with sigma = +infinity the port that never has a job is planned for in every slot"),
    )


def earned_slots(here: SelectionInstance, last: bool) -> int:
    """Play (21) over all ports with true infinities, and return the slots in which something is earned.

    Of sets with equal index the first counts, or the last.
    """
    s = here.setting
    sets = feasible_sets(Case(np.zeros(s.channels), np.zeros(s.channels), s.demand, s.capacity, 0)) > 0
    tried, earned = np.zeros(s.channels), 0
    for arrivals in here.arrivals:
        width = np.where(tried > 0, 1.0 / np.maximum(tried, 1.0), math.inf)
        index = np.array([here.mean[x].sum() + math.sqrt(width[x].sum()) for x in sets])
        x = sets[np.flatnonzero(index == index.max())[-1 if last else 0]] & s.open(arrivals)
        tried, earned = tried + x, earned + bool(x.any())
    return earned


@claim(
    "infinite-sigma",
    "(10), (17), Algorithm 1, Algorithm 2, line 9",
    REFUTED,
    says="Sigma = +infinity for channels never tried makes the algorithm explore.",
    how="A port that never has a job beside one that always has, with exact infinities and either tie; and "
    "Algorithm 2 in floating point on two channels.",
    choices=("ties", "what infinity less infinity counts as", "whether sets are handed on"),
)
def _infinite_sigma(context: Context) -> Finding:
    slots = context.pick(20, 50, 500)
    lines = []
    for handed_on, nan in track(context, product((False, True), ("lowest", "highest"))):
        seen, missing, levels = _explored(nan, handed_on, slots)
        form = "x handed on" if handed_on else "as printed"
        lines.append((form, f"not a number counts as {nan}", missing, levels, seen))
    small = never_a_job(slots)
    earned = {tie: earned_slots(small, tie == "last") for tie in ("first", "last")}
    return Finding(
        holds_if(max(earned.values()) >= slots - 1, REFUTED),
        "A port that never has a job keeps an infinite index, and ESDP plans for it in every slot.",
        {
            "slots": slots,
            **{f"slots that earn something, {tie} of equals": n for tie, n in earned.items()},
            "channels of two ever chosen as printed": max(line[4] for line in lines[:2]),
            "channels of two ever chosen with x handed on": max(line[4] for line in lines[2:]),
        },
        tables=(
            Table(
                f"{EXCLUSIVE} channels that exclude each other, always with jobs, in floating point",
                ("Algorithm 2", "score", "V(s) not a number, slot 1", "of", "channels ever chosen"),
                tuple(lines),
            ),
        ),
        counterexample=small,
        assumes="A port may have rho = 0, or no job for as long as one likes: 'no assumptions on the job "
        "arrival patterns' (Sec. 1).",
        remark="In floating point -infinity + infinity is not a number either, so what is printed explores "
        "nothing. Untried channels need a rule of their own.",
    )


def cells(given: Case) -> int:
    """Count the table cells that Algorithm 2 fills, by running it."""
    return len(literal_table(given, given.sigma2.astype(np.float64), handed_on=False)[0])


def input_bits(given: Case) -> int:
    """Return how many bits the input takes in binary."""
    parts = (given.upsilon, given.sigma2, given.demand, given.capacity)
    return sum(max(1, int(n).bit_length()) for part in parts for n in part.reshape(-1).tolist())


@claim(
    "algorithm-2-complexity",
    "Sec. 3.2, after Algorithm 2",
    Verdict.HOLDS_AMENDED,
    says="Algorithm 2 is of O(|E| |S| prod c_k) complexity, that is, polynomial.",
    how="Count the cells that it fills when run, and their growth with the bits of the input.",
)
def _complexity(context: Context) -> Finding:
    lines = []
    most = context.pick({1: 5, 2: 3, 3: 2}, {1: 6, 2: 4, 3: 2}, {1: 8, 2: 6, 3: 4})  # bits
    for kinds in track(context, most):
        for power in range(1, most[kinds] + 1):
            c = 2**power - 1
            given = case([1] * 4, [1] * 4, [[1] * kinds] * 4, [c] * kinds, 4)
            limit = 5 * 5 * 2**kinds * c**kinds  # (|E| + 1) |S| 2^K prod c_k
            lines.append((kinds, c, input_bits(given), cells(given), limit))
    bounded = all(line[3] <= line[4] for line in lines)
    doubling = all(round(b[3] / a[3]) == 2 ** a[0] for a, b in pairwise(lines) if a[0] == b[0])
    return Finding(
        amended_if(bounded and not doubling, bounded and doubling, REFUTED),
        "It fills as many cells as the text says, which is pseudo-polynomial: exponential in the bits of "
        "the capacities.",
        {"cases counted": len(lines), "one more bit multiplies the cells by 2^K": doubling},
        tables=(
            Table(
                "Four channels, S = 0..4, capacities of one more bit each time",
                ("kinds K", "capacity", "bits of the input", "cells filled", "(|E| + 1) |S| 2^K prod c_k"),
                tuple(lines),
            ),
        ),
        proof="" if bounded else "The counts of the table.",
        remark="Holds with 'pseudo-polynomial' for 'polynomial'. A cell of the print also copies an x of |E| "
        "entries and tests K rows.",
    )


@claim(
    "rounding",
    "Proof of Theorem 1, (30)",
    HOLDS,
    says="Upsilon / xi is at least v-hat and exceeds it by at most 1 / xi, channel by channel.",
    how="Statistics as they occur; both sides for every channel, and how much of the room is used.",
    choices=("alpha |E| or the exact m in xi",),
)
def _rounding(context: Context) -> Finding:
    rng = np.random.default_rng(context.seed)
    over = []
    for n in track(context, range(context.pick(100, 300, 3000))):
        given, known = occurring(rng, None if n % 2 else 0.5)
        over.append(given.upsilon - known.xi * known.mean)
    found = np.concatenate(over)
    kept = bool((found >= -TIE).all() and (found <= 1.0 + TIE).all())
    return Finding(
        holds_if(kept, REFUTED),
        "Rounding up keeps both ends of (30).",
        {
            "channels": len(found),
            "least of xi v-hat exceeded": float(found.min()),
            "most": float(found.max()),
        },
        proof="" if kept else "The numbers.",
    )


@claim(
    "chain-32",
    "Proof of Theorem 1, (31), (32)",
    HOLDS,
    says="The largest index over Omega(t) is at most that of the rounded statistics over xi, which is at "
    "most the maximum of the problems P4(s).",
    how="Both inequalities by enumeration on statistics as they occur, with random arrivals and the exact m.",
)
def _chain_32(context: Context) -> Finding:
    rng = np.random.default_rng(context.seed)
    first, second, strict = [], [], 0
    for _ in track(context, range(context.pick(60, 200, 2000))):
        given, known = occurring(rng)
        sets = feasible_sets(given)
        omega = sets[(sets[:, rng.random(sets.shape[1]) < 0.3] == 0).all(axis=1)]
        rounded = float((omega @ given.upsilon + np.sqrt(omega @ given.sigma2)).max())
        values = exact_values(given)
        reached = np.isfinite(values)
        p4 = float((np.arange(len(values))[reached] + np.sqrt(values[reached])).max())
        first.append(rounded / known.xi - float(known.index(omega).max()))
        second.append(p4 - rounded)
        strict += second[-1] > TIE
    kept = min(first) >= -TIE and min(second) >= -TIE
    return Finding(
        holds_if(kept, REFUTED),
        "The chain (31), (32) holds where S(t) reaches as far as the exact m says.",
        {
            "cases": len(first),
            "least slack of (31)": min(first),
            "least slack of (32)": min(second),
            "cases in which (32) is strict": strict,
        },
        proof="" if kept else "The numbers.",
        remark="With alpha |E| below m the equality in (32) fails: that is the claim selection/truncated-s.",
    )


@claim(
    "p3-np-hard",
    "Sec. 3.2",
    Verdict.HOLDS_AMENDED,
    says="Without delta(t), P3 is NP-hard; adding the sequence makes it solvable.",
    how="Subset sums written as P3, solved exactly, against enumeration; and P3 with and without delta.",
)
def _p3_np_hard(context: Context) -> Finding:
    rng = np.random.default_rng(context.seed)
    right = moved = yes = 0
    count = context.pick(40, 100, 1000)
    for _ in track(context, range(count)):
        sizes = rng.integers(5, 60, int(rng.integers(3, 8)))
        target = int(rng.integers(sizes.min(), sizes.sum()))
        given = Case(sizes, sizes, sizes[:, None], np.array([target]), 0)
        sets, unit = feasible_sets(given), 1.0 / sizes.max()
        hit = bool((sets @ sizes == target).any())
        knapsack = given.instance("a subset sum").setting.knapsack
        mean, spread = sizes * unit, np.full(len(sizes), 0.25 * unit**2 / len(sizes))
        found = knapsack.best(mean, spread)
        right += (found.value >= target * unit) == hit
        yes += hit
        index = sets @ mean + np.sqrt(sets @ spread)
        moved += int(np.argmax(index)) != int(np.argmax(index + 0.3))
    return Finding(
        amended_if(moved > 0, right == count and moved == 0, REFUTED),
        "P3 contains subset sum, so it is NP-hard; delta(t) is a constant and changes nothing about that.",
        {
            "subset sums": count,
            "with a solution": int(yes),
            "answered by P3": int(right),
            "maximisers that delta moves": moved,
        },
        proof="" if right == count else "A subset sum that P3 answers wrongly.",
        assumes="Values v-hat = w / max w, demands w, capacity the target, and n so large that "
        "sqrt(sigma-hat^2.x) is below half of 1 / max w: then the index reaches target / max w only if a "
        "subset sums to the target.",
        remark="Amended: what makes it solvable in pseudo-polynomial time is the rounding to xi(t), not "
        "delta itself, and 'cannot be solved in polynomial time' supposes that P is not NP.",
    )


CLAIMS = claim.claims
