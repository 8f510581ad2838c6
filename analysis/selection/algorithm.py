"""Claims about Algorithm 2 and the selection (21): what they return, where they fail, what they cost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from ...models.base import Origin
from ...models.selection.generate import generate
from ...models.selection.instance import SelectionInstance
from ...online.selection import statistics
from ...online.selection.esdp import scaled, scaling
from ...online.selection.printed import algorithm_2, algorithm_2_repaired, select
from ..claim import Claim, Context, Finding, Table, Verdict, amended_if, holds_if
from ..experiments import seeds, track


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


NOT_HANDED_ON = case([1, 1], [2, 3], [[1], [1]], [1], 0)
"""The smallest case known in which Algorithm 2 returns a wrong x."""

UNREACHED = case([2], [4], [[1]], [1], 8)
"""One channel; s above 2 is unattainable."""


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


def _check_algorithm_2(context: Context) -> Finding:
    rng = np.random.default_rng(context.seed)
    count = context.pick(100, 1000, 10000)
    names = ("as printed", "with x handed on")
    values_right, sets_right, repaired_right = 0, 0, 0
    attainable = right = 0
    for given in track(context, random_cases(rng, count)):
        exact = exact_values(given)
        x, values = _run(given)
        values_right += bool((values == exact).all())
        solved = solves(given, x)
        sets_right += bool(solved.all())
        attainable, right = attainable + solved.size, right + int(solved.sum())
        mended, mended_values = _run(given, repaired=True)
        repaired_right += bool((mended_values == exact).all() and solves(given, mended).all())
    x, values = _run(NOT_HANDED_ON)
    better, _ = _run(NOT_HANDED_ON, repaired=True)
    example = solves(NOT_HANDED_ON, x).all()
    return Finding(
        holds_if(bool(example) and sets_right == count),
        f"Lines 10 to 17 lack the case in which a channel is not taken, so x stays 0 there. On {count} "
        f"random cases all values V(s) are right in {100 * values_right / count:.0f} %, all sets x(s) in "
        f"{100 * sets_right / count:.0f} %; with x(i) <- x(i + 1) in that case all are right in "
        f"{100 * repaired_right / count:.0f} %. Smallest case: two channels that exclude each other, worth "
        f"2 and 3, give x = {text(x[0])}.",
        {
            "random cases": count,
            "cases with all V(s) right (%)": 100 * values_right / count,
            "cases with all x(s) right (%)": 100 * sets_right / count,
            "attainable s with x(s) right (%)": 100 * right / attainable,
            "cases with all right when repaired (%)": 100 * repaired_right / count,
        },
        tables=(
            Table(
                "Upsilon = (1, 1), Sigma^2 = (2, 3), A = (1, 1), c = 1, s = 0",
                ("Algorithm 2", "V(0)", "x(0)", "worth of x(0)"),
                tuple(
                    (name, float(values[0]), text(found[0]), float(found[0] @ NOT_HANDED_ON.sigma2))
                    for name, found in zip(names, (x, better), strict=True)
                ),
            ),
        ),
        counterexample=NOT_HANDED_ON.instance(f"for s = 0 Algorithm 2 returns x = {text(x[0])}"),
    )


def _check_unattainable(context: Context) -> Finding:
    rng = np.random.default_rng(context.seed)
    count = context.pick(100, 1000, 10000)
    wrong = 0
    for given in track(context, random_cases(rng, count)):
        x, values = _run(given, repaired=True)
        _, chosen = select(x, values, given.sigma2)
        found = float(chosen @ given.upsilon + np.sqrt(chosen @ given.sigma2))
        wrong += found < largest_index(given) - 1e-9
    lines = []
    x, values = _run(UNREACHED, repaired=True)
    for form, name in (("printed", "x(s) = 0 where no x reaches s"), ("dropped", "such s dropped")):
        s, chosen = select(x, values, UNREACHED.sigma2, form)
        lines.append((name, s, text(chosen), float(chosen @ UNREACHED.upsilon + 2.0 * chosen.sum())))
    best = largest_index(UNREACHED)
    return Finding(
        holds_if(lines[0][3] == best and wrong == 0),
        "Where no x reaches s, x(s) stays 0 and (21) scores s itself. One channel with Upsilon = 2 and "
        f"Sigma^2 = 4 under S = 0..8 leads to s = {lines[0][1]} and x = {lines[0][2]}, index "
        f"{lines[0][3]:g} instead of {best:g}. With P4(s) solved exactly otherwise, the selection is wrong "
        f"in {100 * wrong / count:.0f} % of {count} random cases in which S ends at most 3 above what is "
        "attainable. Unattainable s have to be dropped.",
        {"random cases": count, "wrong selection (%)": 100 * wrong / count},
        tables=(
            Table(
                "Upsilon = 2, Sigma^2 = 4, A = 1, c = 1, S = 0..8",
                ("(21)", "s", "x", "its index"),
                tuple(lines),
            ),
        ),
        counterexample=UNREACHED.instance(f"(21) selects s = {lines[0][1]} with x = {lines[0][2]}"),
    )


def truncated(rng: np.random.Generator, alpha: float) -> Case:
    """Return statistics that rounding gives after some slots, with S cut off at xi alpha E as in Sec. 4."""
    channels = int(rng.integers(3, 6))
    demand = rng.integers(1, 3, (channels, 1))
    capacity = np.array([int(rng.integers(2, 5))])
    t = int(rng.integers(channels, 300))
    m = alpha * channels
    xi = scaling(statistics.delta("loglog", t), m)
    mean, count = rng.random(channels), rng.integers(1, t + 1, channels)
    upsilon, sigma2 = scaled(mean, 0.5 * statistics.g("full", t, m) / count, float(xi))
    last = math.floor(xi * m)
    return Case(upsilon.astype(np.int64), sigma2.astype(np.int64), demand, capacity, last)


def _selected_index(given: Case) -> float:
    """Return the index of what (21) selects among the s that are attainable, by enumeration."""
    sets = feasible_sets(given)
    reach, variance = sets @ given.upsilon, sets @ given.sigma2
    score = np.minimum(reach, given.s_max) + np.sqrt(variance)
    best = int(np.argmax(score))
    return float(reach[best] + np.sqrt(variance[best]))


def _check_truncated(context: Context) -> Finding:
    rng = np.random.default_rng(context.seed)
    count = context.pick(600, 3000, 30000)
    alphas = (0.25, 0.5, 0.75, 1.0)
    lines, example = [], None
    for alpha in track(context, alphas):
        cut = wrong = 0
        for _ in range(count):
            given = truncated(rng, alpha)
            short = int((feasible_sets(given) @ given.upsilon).max()) > given.s_max
            bad = short and _selected_index(given) < largest_index(given) - 1e-9
            cut, wrong = cut + short, wrong + bad
            if bad and alpha == 0.5 and (example is None or given.s_max < example.s_max):
                example = given
        lines.append((alpha, 100 * cut / count, 100 * wrong / count))
    hard = [generate("default", seed, slots=0, capacity=24).setting for seed in seeds(context, 5, 20, 50)]
    below = 100 * float(np.mean([0.5 * s.channels < s.most_channels for s in hard]))
    half = lines[1]
    return Finding(
        holds_if(half[2] == 0.0),
        "alpha |E| stands for m in (18) and (19). Where it is smaller, S ends below max Upsilon.x, larger "
        "sums count no more, and the wrong set wins: with the paper's alpha = 0.5 S is too short in "
        f"{half[1]:.0f} % of {count} random small cases and the selection wrong in {half[2]:.1f} %. At the "
        f"paper's size alpha |E| is below m in {below:.0f} % of the instances with c = 24.",
        {
            "random cases per alpha": count,
            "S too short at alpha = 0.5 (%)": half[1],
            "wrong selection at alpha = 0.5 (%)": half[2],
            "default instances, c = 24, with alpha |E| < m (%)": below,
        },
        tables=(
            Table(
                "Random small cases, 3 to 5 channels",
                ("alpha", "S ends below max Upsilon.x (%)", "wrong selection (%)"),
                tuple(lines),
            ),
        ),
        counterexample=None
        if example is None
        else example.instance(
            f"the set with the largest index has {largest_index(example):.6g}, that selected by (21) "
            f"{_selected_index(example):.6g}"
        ),
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


def _check_infinite_sigma(context: Context) -> Finding:
    slots = context.pick(20, 100, 500)
    lines = []
    for handed_on, nan in track(context, product((False, True), ("lowest", "highest"))):
        seen, missing, levels = _explored(nan, handed_on, slots)
        form = "x handed on" if handed_on else "as printed"
        lines.append((form, f"not a number counts as {nan}", missing, levels, seen))
    printed = [line for line in lines if line[0] == "as printed"]
    most = max(line[4] for line in printed)
    best = max(line[4] for line in lines)
    return Finding(
        holds_if(min(line[4] for line in printed) == EXCLUSIVE),
        "With sigma = +infinity for untried channels, V(s) = -infinity + infinity is not a number for "
        f"{printed[0][2]} of {printed[0][3]} s in the first slot, and Sigma^2.x holds infinity times 0. "
        f"Played on {EXCLUSIVE} channels that exclude each other for {slots} slots, the printed form chose "
        f"at most {most} of them, whether what is not a number counts as the lowest or as the highest "
        f"score, and at most {best} with x handed on. Untried channels need a rule of their own.",
        {
            "channels": EXCLUSIVE,
            "slots": slots,
            "channels ever chosen as printed": most,
            "channels ever chosen with x handed on": best,
            "V(s) that are not numbers in slot 1": printed[0][2],
        },
        tables=(
            Table(
                f"{EXCLUSIVE} channels, demand 1 each, capacity 1",
                ("Algorithm 2", "score", "V(s) not a number, slot 1", "of", "channels ever chosen"),
                tuple(lines),
            ),
        ),
        counterexample=SelectionInstance(
            edges=[(0, e) for e in range(EXCLUSIVE)],
            demand=np.ones((EXCLUSIVE, 1)),
            capacity=[1],
            mean=[0.5] * EXCLUSIVE,
            arrivals=np.ones((EXCLUSIVE, 1)),
            origin=Origin("with sigma = +infinity as printed, not every channel is ever tried"),
        ),
    )


def cells(given: Case) -> int:
    """Count the table cells that Algorithm 2 fills, by running it."""
    return len(literal_table(given, given.sigma2.astype(np.float64), handed_on=False)[0])


def input_bits(given: Case) -> int:
    """Return how many bits the input takes in binary."""
    parts = (given.upsilon, given.sigma2, given.demand, given.capacity)
    return sum(max(1, int(n).bit_length()) for part in parts for n in part.reshape(-1).tolist())


def _check_complexity(context: Context) -> Finding:
    lines = []
    most = context.pick({1: 5, 2: 3, 3: 2}, {1: 7, 2: 5, 3: 3}, {1: 8, 2: 6, 3: 4})  # bits
    for kinds in track(context, most):
        for power in range(1, most[kinds] + 1):
            c = 2**power - 1
            given = case([1] * 4, [1] * 4, [[1] * kinds] * 4, [c] * kinds, 4)
            found = cells(given)
            formula = (given.s_max + 1) * (c + 1) ** kinds * 5
            lines.append((kinds, c, input_bits(given), found, formula, found / (4 * 5 * c**kinds)))
    as_counted = all(line[3] == line[4] for line in lines)
    bounded = max(line[5] / 2 ** line[0] for line in lines)
    doubling = [round(b[3] / a[3]) == 2 ** a[0] for a, b in pairwise(lines) if a[0] == b[0]]
    paper = [generate("default", seed, slots=0, capacity=12).setting for seed in seeds(context, 3, 10, 30)]
    size = float(
        np.mean([s.channels * np.prod(s.capacity + 1.0) * _levels(s.most_channels, 2000) for s in paper])
    )
    equal, many = (
        sum(line[3] == line[4] for line in lines),
        "multiplies" if all(doubling) else "need not multiply",
    )
    return Finding(
        amended_if(not all(doubling), as_counted and bounded <= 1.25),
        f"Run, it fills (|E| + 1) |S| prod (c_k + 1) cells in {equal} of {len(lines)} cases, at most "
        f"{bounded:.2f} times 2^K |E| |S| prod c_k. That is pseudo-polynomial: every further bit of the "
        f"capacities {many} the cells by 2^K, so they are exponential in the length of the input, and in K. "
        "A cell of the "
        "print also copies an x of |E| entries and tests K rows. At the paper's size with c = 12 a slot "
        f"takes {size:.1e} cells.",
        {
            "cases counted": len(lines),
            "cells as counted equal the formula": as_counted,
            "one more bit multiplies the cells by 2^K": all(doubling),
            "cells a slot at the default size, t = 2000": size,
        },
        tables=(
            Table(
                "Four channels, S = 0..4, capacities of one more bit each time",
                (
                    *("kinds K", "capacity of each kind", "bits of the input", "cells filled"),
                    *("(|E| + 1) |S| prod (c + 1)", "cells / (|E| |S| prod c)"),
                ),
                tuple(lines),
            ),
        ),
    )


def _levels(m: int, t: int) -> int:
    """Return the number of s in S(t) of (19)."""
    return int(scaling(statistics.delta("loglog", t), m)) * m + 1


def _check_identity(context: Context) -> Finding:
    from ...oracles.selection.p4 import p4_optima
    from ...oracles.selection.p4 import select as select_corner

    rng = np.random.default_rng(context.seed)
    count = context.pick(60, 400, 4000)
    worst = 0.0
    for given in track(context, random_cases(rng, count)):
        setting = given.instance("random").setting
        by_s = select_corner(p4_optima(setting, given.upsilon, given.sigma2, s_max=given.s_max)).score
        by_x = setting.knapsack.best(given.upsilon, given.sigma2).value
        exact = largest_index(given)
        worst = max(worst, abs(by_s - exact), abs(by_x - exact))
    at_scale = 0.0
    sizes = seeds(context, 2, 5, 20)
    for seed in sizes:
        setting = generate("default", seed, slots=0).setting
        upsilon, sigma2 = (rng.integers(low, 60, setting.channels) for low in (0, 1))
        by_s = select_corner(p4_optima(setting, upsilon, sigma2)).score
        at_scale = max(at_scale, abs(by_s - setting.knapsack.best(upsilon, sigma2).value))
    return Finding(
        holds_if(worst <= 1e-9 and at_scale <= 1e-9),
        f"On {count} random small cases, max over s of s + sqrt(P4(s)), the search over x and enumeration "
        f"differ by at most {worst:.1e}; on {len(sizes)} instances of the default size the first two differ "
        f"by at most {at_scale:.1e}. Every x is feasible for s = Upsilon.x, and no optimum of P4(s) has s "
        "above Upsilon.x. So ESDP's selection needs no table over s.",
        {"random cases": count, "largest difference": worst, "largest difference, default size": at_scale},
    )


CLAIMS = [
    Claim(
        "selection/algorithm-2",
        "Algorithm 2, lines 9-17",
        "The dynamic program returns an optimal set for every s.",
        "Values and sets for every attainable s against enumeration on random small cases.",
        Verdict.FAILS,
        _check_algorithm_2,
    ),
    Claim(
        "selection/unattainable-s",
        "(21), Algorithm 2, line 1",
        "The best s is the one with the largest s + sqrt(Sigma^2.x(s)), over all s in S(t).",
        "P4(s) solved exactly, x(s) = 0 where no set reaches s; the index of the selected set against the "
        "largest one, by enumeration.",
        Verdict.FAILS,
        _check_unattainable,
    ),
    Claim(
        "selection/truncated-s",
        "(18), (19) with alpha |E| of Sec. 4",
        "alpha |E| can stand for the most channels that fit at once, also as the end of S(t).",
        "Random small cases with statistics as they occur: the index of what the cut-off S selects against "
        "the largest one; and m against alpha |E| at the paper's size.",
        Verdict.FAILS,
        _check_truncated,
    ),
    Claim(
        "selection/infinite-sigma",
        "(10), (17), Algorithm 2, line 9",
        "Sigma = +infinity for channels never tried makes the algorithm explore.",
        "Algorithm 2 and (21) in floating point with infinite Sigma^2, played on two channels; scores "
        "that are not numbers count as lowest, or as highest.",
        Verdict.FAILS,
        _check_infinite_sigma,
    ),
    Claim(
        "selection/algorithm-2-complexity",
        "Sec. 3.2, after Algorithm 2",
        "Algorithm 2 is of O(|E| |S| prod c_k) complexity, that is, polynomial.",
        "Count the cells that it fills when run, and their growth with the bits of the input.",
        Verdict.HOLDS_AMENDED,
        _check_complexity,
    ),
    Claim(
        "selection/index-identity",
        "(20), (21); our own",
        "If S covers max Upsilon.x, (21) finds the maximum of Upsilon.x + sqrt(Sigma^2.x).",
        "P4(s) for all s by staircases, the search over x, and enumeration.",
        Verdict.HOLDS,
        _check_identity,
    ),
]
