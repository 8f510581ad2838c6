"""Claims about (16) to (32) and Algorithm 2: the recursion, what it returns, when it fails, its costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ....models.base import Origin
from ....models.selection.instance import SelectionInstance
from ....models.selection.setting import Observation
from ....online.selection import Esdp, EsdpPrinted, statistics
from ....online.selection.esdp import scaled, scaling
from ....online.selection.printed import algorithm_2, algorithm_2_repaired, select
from ...claim import Context, Finding, Register, Table, Verdict, finding, holds_if, table
from ...engine.kept import decided, play
from ...experiments import seeds, spread, track
from ..experiments import Setup, instance
from ..regret import TIE

claim = Register("selection")
HOLDS, REFUTED = Verdict.HOLDS, Verdict.REFUTED


def found_if(
    kept: bool, headline: str, numbers: dict[str, Any], *shown: Table, verdict: Verdict = HOLDS, **more: Any
) -> Finding:
    """Return this verdict, or "refuted" by what numbers and tables show."""
    proof = "" if kept else "The numbers and tables."
    return finding(verdict if kept else REFUTED, headline, numbers, *shown, proof=proof, **more)


def one_device(edges: Any, mean: Any, arrivals: Any, note: str, **more: Any) -> SelectionInstance:
    """Return channels that take one device each, of one; a number of ``arrivals`` has jobs at all ports."""
    if isinstance(arrivals, int):
        arrivals = np.ones((arrivals, 1 + max(port for port, _ in edges)))
    more = {"demand": np.ones((len(edges), 1)), "capacity": [1], "origin": Origin(note), **more}
    return SelectionInstance(edges=edges, mean=mean, arrivals=arrivals, **more)


def feasible_sets(demand: np.ndarray, capacity: np.ndarray) -> np.ndarray:
    """Return all sets of channels that keep the capacities, shape (N, E)."""
    sets = np.array(list(product((0, 1), repeat=len(demand))), dtype=np.int64)
    return np.asarray(sets[(sets @ demand <= capacity).all(axis=1)])


def indices(sets: np.ndarray, values: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Return values.x + sqrt(spread.x) of each set x."""
    return np.asarray(sets @ values + np.sqrt(sets @ spread))


class Case(NamedTuple):
    """The input of Algorithm 2: whole statistics, demands and capacities, and the largest s."""

    upsilon: np.ndarray
    sigma2: np.ndarray
    demand: np.ndarray
    capacity: np.ndarray
    s_max: int

    def instance(self, note: str) -> SelectionInstance:
        """Return an instance of one slot with these demands and capacities; its origin tells the rest."""
        upsilon, sigma2 = tuple(self.upsilon.tolist()), tuple(self.sigma2.tolist())
        told = f"Upsilon = {upsilon}, Sigma^2 = {sigma2}, S = 0..{self.s_max}: {note}"
        edges = [(0, e) for e in range(len(upsilon))]
        return one_device(edges, [0.5] * len(edges), 1, told, demand=self.demand, capacity=self.capacity)

    @property
    def sets(self) -> np.ndarray:
        """All feasible sets, shape (N, E)."""
        return feasible_sets(self.demand, self.capacity)

    def exact_values(self) -> np.ndarray:
        """Return V(s) for s = 0..s_max by enumeration, minus infinity where no set reaches s."""
        sets, s = self.sets, np.arange(self.s_max + 1)[:, None]
        return np.asarray(np.where(sets @ self.upsilon >= s, sets @ self.sigma2, -np.inf).max(axis=1))

    def indices(self) -> np.ndarray:
        """Return Upsilon.x + sqrt(Sigma^2.x) of all feasible sets."""
        return indices(self.sets, self.upsilon, self.sigma2)


def case(upsilon: Any, sigma2: Any, demand: Any, capacity: Any, s_max: int = 0) -> Case:
    """Return a case from lists."""
    return Case(np.asarray(upsilon), np.asarray(sigma2), np.asarray(demand), np.asarray(capacity), s_max)


NOT_HANDED_ON = case([1, 1], [6, 11], [[1], [1]], [1])
"""Algorithm 2 returns a wrong x: what ESDP knows of two channels in slot 4, worth 1/2, one used twice."""


class Known(NamedTuple):
    """What Upsilon and Sigma^2 of a case are rounded from: v-hat, sigma-hat^2, xi, delta and m."""

    mean: np.ndarray
    spread: np.ndarray
    xi: float
    delta: float
    m: float


def occurring(rng: np.random.Generator, alpha: float | None = None) -> tuple[Case, Known]:
    """Return what may occur on a small instance after some slots; m is exact, or alpha times the channels."""
    channels, kinds = int(rng.integers(3, 6)), int(rng.integers(1, 3))
    demand, capacity = rng.integers(1, 3, (channels, kinds)), rng.integers(2, 5, kinds)
    sets = feasible_sets(demand, capacity)
    t = int(rng.integers(50, 300))
    count = np.ones(channels, int) + rng.multinomial(t, rng.dirichlet(np.full(len(sets), 0.3))) @ sets
    m = float(sets.sum(axis=1).max()) if alpha is None else alpha * channels
    t += channels + 1
    delta = float(statistics.delta("loglog", t))
    xi = float(scaling(np.array(delta), m))
    mean, spread = rng.random(channels), 0.5 * float(statistics.g("full", t, m)) / count
    upsilon, sigma2 = (part.astype(np.int64) for part in scaled(mean, spread, xi))
    return Case(upsilon, sigma2, demand, capacity, math.floor(xi * m)), Known(mean, spread, xi, delta, m)


def random_cases(rng: np.random.Generator, count: int) -> Iterator[Case]:
    """Yield small cases in which capacity may bind; S ends at the largest Upsilon.x or a little above."""
    for _ in range(count):
        channels, kinds = int(rng.integers(2, 7)), int(rng.integers(1, 3))
        demand, capacity = rng.integers(1, 3, (channels, kinds)), rng.integers(1, 5, kinds)
        upsilon, sigma2 = rng.integers(0, 5, channels), rng.integers(1, 7, channels)
        most = int((feasible_sets(demand, capacity) @ upsilon).max())
        yield Case(upsilon, sigma2, demand, capacity, most + int(rng.integers(0, 4)))


def right(given: Case, solve: Callable[..., tuple[np.ndarray, np.ndarray]]) -> tuple[bool, bool]:
    """Return whether all V(s) are right, and all x(s) that are attainable: feasible and worth the optimum."""
    x, values = solve(*given)
    exact = given.exact_values()
    feasible = (x.astype(np.int64) @ given.demand <= given.capacity).all(axis=1)
    enough = x @ given.upsilon >= np.arange(len(x))
    solved = feasible & enough & (x @ given.sigma2 == exact)
    return bool((values == exact).all()), bool(solved[exact > -np.inf].all())


@claim("algorithm-2", "Algorithm 2, lines 9-17", REFUTED)
def _algorithm_2_sets(context: Context) -> Finding:
    """The dynamic program returns an optimal set for every s.

    Values and sets for every attainable s against enumeration on random small cases.
    """
    count = context.pick(100, 300, 10000)
    rows = [right(one, algorithm_2) for one in track(context, random_cases(context.rng(), count))]
    values_right, sets_right = (100.0 * np.mean(rows, axis=0)).tolist()
    chosen = tuple(map(int, algorithm_2(*NOT_HANDED_ON)[0][0]))
    return finding(
        holds_if(right(NOT_HANDED_ON, algorithm_2)[1] and sets_right == 100.0),
        "Algorithm 2 finds the right values but often returns sets that they do not belong to.",
        {
            "random cases": count,
            "all values V(s) right (%)": values_right,
            "all sets x(s) right (%)": sets_right,
        },
        counterexample=NOT_HANDED_ON.instance(f"for s = 0 Algorithm 2 returns x = {chosen}"),
        assumes="Upsilon and Sigma^2 of the example are those of (16) and (17) in slot 4 with the default "
        "sequences, after one channel was used twice and the other once.",
        remark="Lines 10 to 17 lack (23), in which a channel is not taken, so x stays 0 there.",
    )


@claim("recursion", "Sec. 3.2, (23)-(27)", HOLDS)
def _recursion(context: Context) -> Finding:
    """P5 has the substructure of (23), (24) and (27), so a recursion over s, c and i solves every P4.

    The recursion with x handed on as in (23), against enumeration, for every s and first channel i.
    """
    wrong = cells_seen = 0
    for given in track(context, random_cases(context.rng(), context.pick(30, 100, 2000))):
        for i in range(len(given.upsilon)):
            rest = Case(given.upsilon[i:], given.sigma2[i:], given.demand[i:], *given[3:])
            wrong += not all(right(rest, algorithm_2_repaired))
            cells_seen += given.s_max + 1
    return found_if(
        wrong == 0,
        "The recursion of the text solves P4 and P5 exactly, if every set is handed on as (23) says.",
        {"problems P5(s, c, i)": cells_seen, "cases in which one is wrong": wrong},
        remark="(27) holds where the optimum takes channel i + 1, which is its Case II. Line 9 of Algorithm "
        "2 tries every channel: there max(c' - A, 0) hides that one does not fit, and line 13 has to notice "
        "it.",
    )


@dataclass
class ByPrograms(Esdp):
    """ESDP by Algorithm 2, with the sets handed on, and (21) in a form of :func:`select`; ties: smaller s."""

    form: str = "printed"

    def decide(self, observation: Observation) -> np.ndarray:
        """Return the decision; untried channels, which have to fit together, come first."""
        if self._statistics.untried.any():
            return self._statistics.untried
        s, (upsilon, sigma2) = self._setting, self.index(observation.slot)
        s_max = int(self._xi[observation.slot] * s.most_channels)
        sets, values = algorithm_2_repaired(upsilon, sigma2, s.demand, s.capacity, s_max)
        return select(sets, values, sigma2, self.form)[1]


@claim("unattainable-s", "(21), Algorithm 2, line 1", REFUTED)
def _unattainable_s(_context: Context) -> Finding:
    """The best s is the one with the largest s + sqrt(Sigma^2.x(s)), over all s in S(t).

    P4(s) solved exactly, x(s) = 0 where no set reaches s as in line 1: one channel worth 1/4 played.
    """
    note, slots = "with x(s) = 0 for s that no set reaches, the only channel is hardly ever chosen", 1000
    small, longer = (one_device([(0, 0)], [0.25], length, note) for length in (60, slots))
    used = {form: int(decided(ByPrograms(form=form), longer).sum()) for form in ("printed", "dropped")}
    idle = f"in {slots - used['printed']} of {slots} slots"
    return finding(
        holds_if(not used["printed"] < used["dropped"] == slots),
        f"An s that no set reaches can win, and then nothing is switched on: {idle} of one channel.",
        {f"slots of {slots} in which the only channel is used, {k}": v for k, v in used.items()},
        counterexample=small,
        assumes="(21) is read as printed, by the x(s) that Algorithm 2 returns, which line 1 sets to 0. By "
        "V(s), which line 3 sets to -infinity there, no such s could win.",
        remark="Dropping every s that no set reaches mends it. The channel comes back, but ever more rarely: "
        "its index grows with g(t) while it is not used.",
    )


def six_channels(slots: int) -> SelectionInstance:
    """Return six channels of which five fit, one of them worthless, and always a job; alpha |E| is 3."""
    note = "alpha |E| = 3 is below m = 5: every set of five counts the same in S(t)"
    return one_device([(0, e) for e in range(6)], [1.0] * 5 + [0.0], slots, note, capacity=[5])


@dataclass
class _Tilted(EsdpPrinted):
    """ESDP as printed; ties: sets of late channels, or of early ones if the tilt is negative."""

    tilt: float = 1e-6

    def index(self, slot: int) -> tuple[np.ndarray, np.ndarray]:
        values, spread = super().index(slot)
        return values, spread * (1.0 + self.tilt * np.arange(len(spread)))


@claim("truncated-s", "(18), (19) with alpha |E| of Sec. 4", REFUTED, choices=("alpha (0.25 to 1)", "ties"))
def _truncated_s(context: Context) -> Finding:
    """Alpha |E| can stand for the most channels that fit at once.

    ESDP as printed with several alpha, at the default with several ties, and ESDP with the exact m, on six
    channels of which five fit; and alpha |E| of Sec. 4 against the exact m, with few and with many devices.
    """
    slots = context.pick(200, 400, 2000)
    small = six_channels(slots)
    players = {f"alpha = {a:g}": EsdpPrinted(alpha=a) for a in (0.25, 0.75, 1.0)} | {"exact m": Esdp()}
    ties = {"": EsdpPrinted(), ", ties to late channels": _Tilted(), ", to early ones": _Tilted(tilt=-1e-6)}
    players |= {f"alpha = 0.5{tie}": who for tie, who in ties.items()}
    regret = {name: 5.0 * slots - play(who, small).total for name, who in players.items()}
    sampled, lines = seeds(context, 10, 30, 200), []
    for c in (2, 12, 24):
        made = [instance(Setup(slots=0, capacity=c), seed).setting for seed in sampled]
        exact = np.array([s.most_channels for s in made], dtype=float)
        half = np.array([EsdpPrinted().alpha * s.channels for s in made])
        shares = (100 * float((half < exact).mean()), 100 * float((half > exact).mean()))
        lines.append((c, spread(exact), spread(half), *shares))
    title = "alpha |E| with alpha = 0.5 against the exact m = max ||x||_1 on synthetic instances"
    more = [regret[f"alpha = 0.5{tie}"] > regret["exact m"] for tie in ties]
    return finding(
        holds_if(not any(more), REFUTED if all(more) else Verdict.UNDETERMINED),
        "Where alpha |E| is below the most channels that fit, S(t) ends too early, and ESDP loses much more.",
        {f"regret on six channels, {k}": lost for k, lost in regret.items()} | {"instances": len(sampled)},
        table(title, "capacity | m | alpha |E| | too small on (%) | too large on (%)", lines),
        counterexample=six_channels(200),
        assumes="alpha = 0.5, the default of Sec. 4; alpha |E| then stands for m in (18), (19) and g(t). At "
        "the capacities of Table 3, 1 to 2, alpha |E|, about 16, is never too small: no more than two "
        "channels fit. Which of equal sets is taken the paper leaves open.",
    )


def literal_table(given: Case) -> dict[tuple[int, tuple[int, ...], int], tuple[float, np.ndarray]]:
    """Fill the table of Algorithm 2 as printed, in floating point: V and x by (s, c', i)."""
    count = len(given.sigma2)
    nothing, cells = np.zeros(count), {}
    states = product(*(range(int(c) + 1) for c in given.capacity))
    for state, s in product(states, range(given.s_max + 1)):
        cells[s, state, count] = 0.0 if s == 0 else -math.inf, nothing
        for i in range(count - 1, -1, -1):
            kept, handed_on = cells[s, state, i + 1]
            cells[s, state, i] = kept, nothing
            if not any(state):
                continue
            rest = tuple(max(c - int(a), 0) for c, a in zip(state, given.demand[i], strict=True))
            before, x = cells[max(s - int(given.upsilon[i]), 0), rest, i + 1]
            value = max(before + float(given.sigma2[i]), kept)  # keeps the first where one is no number
            if value != kept:
                x = x + np.eye(count)[i]
                cells[s, state, i] = (value, x) if (x @ given.demand <= state).all() else (kept, handed_on)
    return cells


def earned_slots(here: SelectionInstance, last: bool) -> int:
    """Play (21) over all ports with true infinities; return in how many slots something is earned."""
    s = here.setting
    sets = feasible_sets(s.demand, s.capacity) > 0
    tried, earned = np.zeros(s.channels), 0
    for arrivals in here.arrivals:
        width = np.where(tried > 0, 1.0 / np.maximum(tried, 1.0), math.inf)
        index = np.array([here.mean[x].sum() + math.sqrt(width[x].sum()) for x in sets])
        x = sets[np.flatnonzero(index == index.max())[-1 if last else 0]] & s.open(arrivals)  # of equals
        tried, earned = tried + x, earned + bool(x.any())
    return earned


@claim("infinite-sigma", "(10), (17), Algorithm 1, Algorithm 2, line 9", REFUTED, choices=("ties",))
def _infinite_sigma(context: Context) -> Finding:
    """Sigma = +infinity for channels never tried makes the algorithm explore.

    A port that never has a job beside one that always has; Algorithm 2 in floating point, slot 1.
    """
    slots = context.pick(20, 50, 500)
    note = "with sigma = +infinity the port without jobs is planned for, but for the first slot at most"
    small = one_device([(0, 0), (1, 0)], [0.5, 0.5], np.tile([0, 1], (slots, 1)), note)
    earned = {tie: earned_slots(small, tie == "last") for tie in ("first", "last")}
    s_max = int(scaling(statistics.delta("loglog", 1.0), 1.0))
    filled = literal_table(case([0, 0], [math.inf, math.inf], [[1], [1]], [1], s_max))
    missing = [s for s in range(s_max + 1) if math.isnan(filled[s, (1,), 0][0])]
    return finding(
        holds_if(max(earned.values()) > 1),
        "A port that never has a job keeps an infinite index, and ESDP plans for it in every slot but at "
        "most the first.",
        {
            "slots": slots,
            **{f"slots that earn something, {tie} of equals": n for tie, n in earned.items()},
            "values V(s) of the first slot": s_max + 1,
            "of these not a number in floating point": len(missing),
        },
        counterexample=small,
        assumes="A port may have rho = 0, or no job for as long as one likes: Sec. 1 assumes nothing about "
        "how jobs arrive.",
    )


@claim("algorithm-2-complexity", "Sec. 3.2, after Algorithm 2", Verdict.HOLDS_AMENDED)
def _complexity(context: Context) -> Finding:
    """Algorithm 2 is of O(|E| |S| prod c_k) complexity, that is, polynomial.

    Count the cells that it fills when run, and their growth with the bits of the input.
    """
    off, beyond = list[int](), dict[str, float]()
    most = context.pick({1: 5, 2: 3, 6: 1}, {1: 6, 2: 4, 3: 2, 6: 1}, {1: 8, 2: 6, 3: 4, 6: 2})  # bits
    for kinds in track(context, most):
        for bits in range(1, most[kinds] + 1):
            c = 2**bits - 1
            filled = len(literal_table(case([1] * 4, [1] * 4, [[1] * kinds] * 4, [c] * kinds, 4)))
            off.append(filled - 5 * 5 * 2 ** (kinds * bits))
            beyond.setdefault(f"cells / (|E| |S| prod c_k) with c_k = 1, K = {kinds}", filled / (4 * 5))
    return found_if(
        not any(off),
        "It fills (|E|+1) |S| prod (c_k+1) cells: as the text says for fixed K, but exponential in K and in "
        "the bits of the capacities.",
        {"cases": len(off), "cells more or fewer than that, at most": max(map(abs, off)), **beyond},
        verdict=Verdict.HOLDS_AMENDED,
        remark="Line 13 takes up to K |E| steps for a cell. With K in the input no pseudo-polynomial "
        "algorithm is to be had unless P = NP: with a kind for every edge of a graph, feasible sets contain "
        "its independent sets.",
    )


@claim("rounding", "Proof of Theorem 1, (30)", HOLDS, choices=("alpha |E| or the exact m in xi",))
def _rounding(context: Context) -> Finding:
    """Upsilon / xi is at least v-hat and exceeds it by at most 1 / xi, channel by channel.

    Statistics as they occur; both sides for every channel, and how much of the room is used.
    """
    rng, over = context.rng(), list[float]()
    for n in track(context, range(context.pick(100, 300, 3000))):
        given, known = occurring(rng, None if n % 2 else 0.5)
        over.extend(given.upsilon - known.xi * known.mean)
    least, most = float(min(over)), float(max(over))
    return found_if(
        least >= -TIE and most <= 1.0 + TIE,
        "Rounding up keeps both ends of (30).",
        {"channels": len(over), "least of xi v-hat exceeded": least, "most": most},
    )


@claim("chain-32", "Proof of Theorem 1, (31), (32)", HOLDS)
def _chain_32(context: Context) -> Finding:
    """The largest index over Omega(t) is at most the rounded one over xi, and that the best of P4(s).

    Both inequalities by enumeration on statistics as they occur, with random arrivals and the exact m.
    """
    rng, slack = context.rng(), []
    for _ in track(context, range(context.pick(60, 200, 2000))):
        given, known = occurring(rng)
        sets, values = given.sets, given.exact_values()
        omega = sets[(sets[:, rng.random(sets.shape[1]) < 0.3] == 0).all(axis=1)]
        rounded = indices(omega, given.upsilon, given.sigma2).max()
        reached = np.flatnonzero(np.isfinite(values))
        p4 = (reached + np.sqrt(values[reached])).max()
        slack.append((rounded / known.xi - indices(omega, known.mean, known.spread).max(), p4 - rounded))
    least = np.min(slack, axis=0).tolist()
    return found_if(
        min(least) >= -TIE,
        "The chain (31), (32) holds where S(t) reaches as far as the exact m says.",
        {"cases": len(slack), "least slack of (31)": least[0], "least slack of (32)": least[1]},
    )


@claim("p3-np-hard", "Sec. 3.2", Verdict.HOLDS_AMENDED)
def _p3_np_hard(context: Context) -> Finding:
    """Without delta(t), P3 is NP-hard; adding the sequence makes it solvable.

    Subset sums written as P3, solved exactly, against enumeration.
    """
    rng, count = context.rng(), context.pick(40, 100, 1000)
    right = yes = 0
    for _ in track(context, range(count)):
        sizes = rng.integers(5, 60, int(rng.integers(3, 8)))
        target = int(rng.integers(sizes.min(), sizes.sum()))
        given, unit = case(sizes, sizes, sizes[:, None], [target]), 1.0 / sizes.max()
        hit = bool((given.sets @ sizes == target).any())
        spread = np.full(len(sizes), 0.25 * unit**2 / len(sizes))
        found = given.instance("a subset sum").setting.knapsack.best(sizes * unit, spread)
        right += bool(found.value >= target * unit) == hit
        yes += hit
    return found_if(
        right == count,
        "P3 contains subset sum, so it is NP-hard; delta(t) is a constant and changes nothing about that.",
        {"subset sums": count, "with a solution": yes, "answered by P3": right},
        verdict=Verdict.HOLDS_AMENDED,
        assumes="Values v-hat = w / max w, demands w, capacity the target, and n so large that "
        "sqrt(sigma-hat^2.x) is below half of 1 / max w: then the index reaches target / max w only if a "
        "subset sums to the target.",
        remark="Amended: what makes it solvable in pseudo-polynomial time, for a fixed number of kinds, is "
        "the rounding to xi(t), not delta itself, and 'cannot be solved in polynomial time' supposes that P "
        "is not NP.",
    )
