"""Time and memory of the selection problem beside named rivals, the paper's dense table among them."""

from __future__ import annotations

import itertools
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import clairvoyant
from clairvoyant._warmup import exercise
from clairvoyant.models.program import CAREFUL, TIGHT
from clairvoyant.models.selection.gang_program import gang_program
from clairvoyant.models.selection.instance import SelectionInstance
from clairvoyant.models.selection.program import slot_program
from clairvoyant.models.selection.setting import Feedback, Observation, Setting
from clairvoyant.online.selection import Esdp
from clairvoyant.online.selection.printed import algorithm_2_repaired, select
from clairvoyant.oracles.selection.certificate import Proof
from clairvoyant.oracles.selection.optimum import index_optimum
from clairvoyant.oracles.selection.p4 import p4_optima
from clairvoyant.oracles.selection.p4 import select as select_corner
from clairvoyant.verify import Selection, Slot

from .measure import Row, certificate, median_of, peak_memory, solved, timed

SLOTS = 8000
SIZES = {12: "default", 24: "large"}
"""Capacity: the generated size that has it."""


@dataclass(frozen=True)
class Seen:
    """The input of ESDP in one slot: arrivals, Upsilon, Sigma2 and xi, and the index of its decision."""

    arrivals: np.ndarray
    upsilon: np.ndarray
    sigma2: np.ndarray
    xi: float
    index: float


class Watched(Esdp):
    """ESDP with a clock around every slot, which keeps what it decided from in some of them."""

    def __init__(self, keep: range, gap: float = 0.0) -> None:
        super().__init__(gap=gap)
        self._keep = keep

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Start, with the clock at zero."""
        self.seconds: list[float] = []
        self.seen: list[Seen] = []
        super().start(setting, rng)

    def decide(self, observation: Observation) -> np.ndarray:
        """Decide by the clock."""
        start = time.perf_counter()
        x = super().decide(observation)
        self.seconds.append(time.perf_counter() - start)
        untried = self._statistics.untried[self._setting.open(observation.arrivals)]
        if observation.slot in self._keep and not untried.any():
            upsilon, sigma2 = self.index(observation.slot)
            reached = float(upsilon @ x + np.sqrt(sigma2 @ x))
            xi = float(self._xi[observation.slot])
            self.seen.append(Seen(observation.arrivals, upsilon, sigma2, xi, reached))
        return x

    def learn(self, feedback: Feedback) -> None:
        """Learn by the clock."""
        start = time.perf_counter()
        super().learn(feedback)
        self.seconds[-1] += time.perf_counter() - start


def dense(setting: Setting, seen: Seen) -> float:
    """Return the best score of (21) by the dense table over s, c' and i, its recursion corrected."""
    use = np.flatnonzero(setting.open(seen.arrivals))
    upsilon, sigma2 = seen.upsilon[use], seen.sigma2[use]
    s_max = int(seen.xi) * setting.most_channels
    x, values = algorithm_2_repaired(upsilon, sigma2, setting.demand[use], setting.capacity, s_max)
    s, chosen = select(x, values, sigma2, "dropped")
    return float(s + np.sqrt(sigma2 @ chosen))


def staircase(setting: Setting, seen: Seen) -> float:
    """Return the same by Pareto staircases."""
    s_max = int(seen.xi) * setting.most_channels
    return select_corner(p4_optima(setting, seen.upsilon, seen.sigma2, seen.arrivals, s_max)).score


def compile_all() -> Row:
    """Compile every kernel on a tiny instance, and let the rivals import what they need."""
    tiny = clairvoyant.generate("selection", size="tiny", seed=0, slots=100)

    def load() -> None:
        exercise("selection")
        _both(tiny)

    return Row("selection: compile (or load from cache) all kernels", timed(load))


def _both(tiny: SelectionInstance) -> None:
    """Let dense table and staircase agree on a small instance, which also compiles them."""
    watched = Watched(range(50, 100))
    clairvoyant.play(watched, tiny)
    for seen in watched.seen[:1]:
        assert np.isclose(dense(tiny.setting, seen), staircase(tiny.setting, seen))


def every_pattern(capacity: int, target: float) -> Iterator[Row]:
    """Measure the optima of all 256 arrival patterns, beside two solvers on every 16th pattern."""
    ports = 8
    patterns = np.array(list(itertools.product((0, 1), repeat=ports)))
    sampled = clairvoyant.generate("selection", size=SIZES[capacity], seed=0, slots=1)
    fresh = iter([sampled.with_arrivals(patterns) for _ in range(6)])  # each makes its tables anew
    ours = median_of(5, lambda: clairvoyant.solve(next(fresh)))
    slots = clairvoyant.solve(next(fresh)).certificate.per_slot
    step = 16
    few = sampled.with_arrivals(patterns[::step][1:])
    for method in ("highs", "cp-sat"):
        rival = timed(lambda method=method: clairvoyant.solve(few, method=method))
        assert np.isclose(clairvoyant.solve(few, method=method).value, slots[::step][1:, 0].sum())
        theirs = rival * len(patterns) / len(few.arrivals)
        words = f"{method} ({len(few.arrivals)} patterns scaled)"
        yield Row(f"optima of all 256 arrival patterns, c={capacity}", ours, target, words, theirs)


def along_a_run(capacity: int, targets: tuple[float, float, float], kept: int) -> Iterator[Row]:
    """Measure a whole run of ESDP, its slots, and all P4(s), beside the dense table on some of its slots.

    The targets are for the median and the mean slot (ms) and the whole run (s).
    """
    instance = clairvoyant.generate("selection", size=SIZES[capacity], seed=0, slots=SLOTS)
    setting = instance.setting
    watched = Watched(range(SLOTS // kept - 1, SLOTS, SLOTS // kept))
    busy = time.process_time()
    whole = timed(lambda: clairvoyant.play(watched, instance))
    busy = time.process_time() - busy
    seen = watched.seen
    table, stairs, exact, outer = ([0.0] * len(seen) for _ in range(4))
    for i, slot in enumerate(seen):
        scores = []
        table[i] = timed(lambda: scores.append(dense(setting, slot)))  # noqa: B023
        stairs[i] = timed(lambda: scores.append(staircase(setting, slot)))  # noqa: B023
        assert np.allclose(scores, slot.index), "dense table, staircase and ESDP must select alike"
        exact[i], outer[i] = index_search(setting, slot)
    spent = 1e3 * np.array(watched.seconds)
    rival = f"dense table ({len(seen)} slots)"
    slow, middle = 1e3 * statistics.fmean(table), 1e3 * statistics.median(table)
    label = f"ESDP, c={capacity}, T={SLOTS}"
    yield Row(f"{label}: median slot", float(np.median(spent)), targets[0], rival, middle, "ms")
    yield Row(f"{label}: mean slot", float(spent.mean()), targets[1], rival, slow, "ms")
    yield Row(
        f"{label}: whole run",
        whole,
        targets[2],
        f"{rival} scaled",
        1e-3 * slow * SLOTS,
        note=f"(ours: {busy:.1f} s of processor time)",
    )
    ours = 1e3 * statistics.fmean(stairs)
    yield Row(f"all P4(s) of a slot by staircases, c={capacity}", ours, None, rival, slow, "ms")
    ours, theirs = 1e3 * statistics.fmean(exact), 1e3 * statistics.fmean(outer)
    yield Row(
        f"exact index with its certificate, c={capacity}",
        ours,
        None,
        "HiGHS, outer approximation",
        theirs,
        "ms",
    )


def index_search(setting: Setting, seen: Seen) -> tuple[float, float]:
    """Return the seconds that our search and the outer approximation take for the index of a slot."""
    v, q = seen.upsilon / seen.xi, seen.sigma2 / seen.xi**2
    found: list[Any] = []
    taken = [
        timed(lambda: found.append(index_optimum(setting, v, q, seen.arrivals, method=method)))  # noqa: B023
        for method in ("search", "highs")
    ]
    assert np.isclose(found[0].value, found[1].value)
    return taken[0], taken[1]


def many_channels(ports: int, target: float, slots: int = 150, kept: int = 3) -> Row:
    """Measure the mean slot of ESDP within 1 % of the largest index, beside HiGHS on the last slots."""
    size = {"ports": ports, "servers": 100, "density": 0.1, "capacity": 24, "slots": slots}
    instance = clairvoyant.generate("selection", seed=0, **size)
    setting, watched = instance.setting, Watched(range(slots - kept, slots), gap=0.01)
    clairvoyant.play(watched, instance)
    theirs = []
    for seen in watched.seen:
        v, q, found = seen.upsilon / seen.xi, seen.sigma2 / seen.xi**2, list[Any]()
        index = (setting, v, q, seen.arrivals)
        theirs.append(timed(lambda: found.append(index_optimum(*index, method="highs", gap=0.01))))  # noqa: B023
        assert found[0].value / 1.0101 <= seen.index / seen.xi <= found[0].bound
    spent = 1e3 * np.array(watched.seconds)
    return Row(
        f"ESDP, gap 1 %, {setting.channels} channels: mean slot",
        float(spent.mean()),
        target,
        f"HiGHS, outer approximation ({len(theirs)} slots)",
        1e3 * statistics.fmean(theirs),
        "ms",
        note=f"(longest slot: {spent.max():.0f} ms, largest gap: {watched.largest_gap:.2g})",
    )


def variances() -> Iterator[Row]:
    """Measure whole runs of the bandits that estimate variances, beside the one without that is alike."""
    instance = clairvoyant.generate("selection", size="default", seed=0, slots=SLOTS)
    for name, rival in (("escb-v", "escb:g=log"), ("cucb-v", "cucb"), ("gaussian-thompson", "thompson")):
        ours, theirs = (timed(lambda n=one: clairvoyant.play(n, instance)) for one in (name, rival))
        yield Row(f"{name}, default, T={SLOTS}: play", ours, None, rival, theirs)


def gangs() -> Iterator[Row]:
    """Measure the gang oracle by HiGHS beside CP-SAT, and the policies of gangs beside each other."""
    exercise("selection-gang")
    slots = SLOTS // 8
    small = clairvoyant.generate("selection-gang", seed=0, ports=4, servers=3, tasks=(2, 2), slots=slots)
    spent = {name: timed(lambda n=name: clairvoyant.play(n, small)) for name in ("esdp-gang", "escb-v-gang")}
    label = f"escb-v-gang, {small.setting.channels} channels, T={slots}: play"
    yield Row(label, spent["escb-v-gang"], None, "esdp-gang", spent["esdp-gang"])
    instance = clairvoyant.generate("selection-gang", size="default", seed=0, slots=20)
    found, spent = solved([instance], ("highs", "cp-sat"))
    (highs,), (cp_sat,) = found.values()
    assert np.isclose(highs.value, cp_sat.value)
    label = f"gang optimum of {len(highs.certificate.patterns)} arrival patterns by HiGHS"
    yield Row(label, spent["highs"], None, "CP-SAT", spent["cp-sat"])


def certificates(slots: int = SLOTS) -> Iterator[Row]:
    """Measure the certificates of all slots' optima: most patterns of a run, and some with gangs."""
    for problem, oracle, count in (
        ("selection", "clairvoyant", slots),
        ("selection-gang", "gang", slots // 20),
    ):
        instance = clairvoyant.generate(problem, size="default", seed=1, slots=count)
        patterns = len(np.unique(instance.arrivals, axis=0))
        yield from certificate(f"default, {patterns} patterns", instance, oracle)


def trees(problem: str, size: str = "default", seeds: int = 8, patterns: int = 4) -> Row:
    """Measure our proofs of the most frequent patterns beside HiGHS alone on their declared 0/1 programs.

    That is the median, over patterns of several instances, of a ratio of processor times. Ours starts from
    the optimum; HiGHS starts from the program as it was read, without Pyomo, with the options with which it
    is trusted here.
    """
    ratios: list[float] = []
    gaps: list[float] = []
    for seed in range(1, seeds + 1):
        sampled = clairvoyant.generate(problem, size=size, seed=seed, slots=400)
        known, times = np.unique(sampled.arrivals, axis=0, return_counts=True)
        instance = sampled.with_arrivals(known[np.argsort(-times, kind="stable")[:patterns]])
        proof = Proof(Selection(instance.to_dict()))
        found = proof.of_patterns(instance, clairvoyant.solve(instance, gap=1e-9))
        for arrivals in np.unique(instance.arrivals, axis=0):
            start = time.process_time()
            pattern, _, on, tree = next(found)
            ours = time.process_time() - start
            theirs, reached = _highs_alone(instance, arrivals)
            slot = Slot(proof.of, pattern, proof.scale)
            value = slot.value(on)
            bound = slot.table() if tree == "table" else slot.tree(tree, proof.whole, "tree")
            assert np.isclose(value / proof.scale, reached)
            ratios.append(ours / theirs)
            gaps.append((bound - value) / max(bound, 1))
    return Row(
        f"certificate, {problem}, {size}: a proof, beside HiGHS's time",
        statistics.median(ratios),
        3.0,
        unit="x",
        note=f"(most: {max(ratios):.1f}; gap 0 in {gaps.count(0.0)} of {len(gaps)}, most: {max(gaps):.1g})",
    )


def _highs_alone(instance: Any, arrivals: np.ndarray) -> tuple[float, float]:
    """Return the processor time that HiGHS takes for the program of a slot, and its optimum."""
    import highspy

    gang = instance.problem == "selection-gang"
    program = (gang_program if gang else slot_program)(instance.setting, instance.mean, arrivals)
    solver = highspy.Highs()
    options = {**CAREFUL, **TIGHT, "mip_heuristic_run_feasibility_jump": False}
    for name, value in (options | {"output_flag": False, "threads": 1, "mip_rel_gap": 1e-9}).items():
        solver.setOptionValue(name, value)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "slot.mps")
        program.export(file)
        solver.readModel(str(file))
    start = time.process_time()
    solver.run()
    return time.process_time() - start, abs(solver.getInfo().objective_function_value)


def memory() -> Row:
    """Measure the peak memory of the longest run, optimum included."""
    before, ours = peak_memory(
        "tiny = c.generate('selection', size='tiny')\nc.play('esdp', tiny); c.solve(tiny)",
        f"i = c.generate('selection', size='large', slots={SLOTS}); c.play('esdp', i); c.solve(i)",
    )
    return Row(
        f"peak memory, ESDP and optimum, c=24, T={SLOTS}", ours, 1.0, unit="GB", note=f"{before:.2f} before"
    )


def measure(full: bool) -> Iterator[Row]:
    """Yield every measurement; ``full`` compares with the dense table on more slots."""
    yield compile_all()
    yield from every_pattern(12, 0.02)
    yield from every_pattern(24, 0.08)
    yield from along_a_run(12, (0.3, 0.8, 7.0), 40 if full else 10)
    yield from along_a_run(24, (1.5, 2.5, 25.0), 40 if full else 5)
    yield many_channels(32, 20.0)
    yield many_channels(96, 200.0)
    yield from variances()
    yield from gangs()
    yield from certificates()
    for problem in ("selection", "selection-gang"):
        yield trees(problem)
    yield memory()
