"""Time and memory of the allocation problem beside named rivals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import clairvoyant
from clairvoyant._warmup import exercise
from clairvoyant.models.allocation.instance import AllocationInstance
from clairvoyant.models.allocation.setting import Feedback
from clairvoyant.online.allocation import Ogasched
from clairvoyant.oracles.allocation.optimum import dynamic, stationary

from .measure import Row, certificate, median_of, peak_memory, timed

GANG_SLOTS = 100


def learn_only(policy: Ogasched, instance: AllocationInstance) -> None:
    """Run OGASched's own steps without the loop around them."""
    policy.start(instance.setting, np.random.default_rng(0))
    for slot, arrivals in enumerate(instance.arrivals):
        policy.learn(Feedback(slot, arrivals, 0.0))


def numpy_slots(instance: AllocationInstance, slots: int) -> None:
    """Run the rival: the same ascent in plain NumPy, projecting all rows by 60 bisections at once."""
    s = instance.setting
    y = np.zeros(s.shape)
    for arrivals in instance.arrivals[:slots]:
        z = y + 0.1 * s.supergradient(y, arrivals)
        low, high = np.zeros_like(s.capacity), np.full_like(s.capacity, z.max(initial=0.0))
        fits = s.server_sums(np.clip(z, 0, s.edge_demand)) <= s.capacity
        for _ in range(60):
            middle = (low + high) / 2
            over = s.server_sums(np.clip(z - middle[s.server], 0, s.edge_demand)) > s.capacity
            low, high = np.where(over, middle, low), np.where(over, high, middle)
        y = np.clip(z - np.where(fits, 0.0, high)[s.server], 0, s.edge_demand)


def compile_all() -> Row:
    """Compile every kernel on a tiny instance."""
    seconds = timed(lambda: exercise("allocation"))
    for utility in ("mix", "linear"):  # the rivals' own first imports, not counted against them either
        stationary(clairvoyant.generate("allocation", size="tiny", utility=utility), method="cvxpy")
    return Row("allocation: compile (or load from cache) all kernels", seconds)


def online(
    size: str, slots: int, targets: dict[str, tuple[float | None, float | None]], **options: Any
) -> Iterator[Row]:
    """Measure whole runs of OGASched through ``play`` and its steps alone, beside plain NumPy."""
    instance = clairvoyant.generate("allocation", size=size, seed=0, slots=slots, **options)
    few = max(5, slots // 400)
    rival = timed(lambda: numpy_slots(instance, few)) * slots / few
    label = f"{size}{', complete graph' if options else ''}, T={slots}"
    for step, (whole, kernel) in targets.items():
        policy = Ogasched(step=step)
        run = median_of(3 if size == "default" else 1, lambda p=policy: clairvoyant.play(p, instance))
        yield Row(f"OGASched, {step} step, {label}: play", run, whole, f"NumPy ({few} slots scaled)", rival)
        alone = timed(lambda p=policy: learn_only(p, instance))
        yield Row(f"OGASched, {step} step, {label}: steps alone", alone, kernel, "NumPy (scaled)", rival)


def leaders() -> Iterator[Row]:
    """Measure what the policies of ours take, beside OGASched on the same instance, and the one for gangs."""
    instance = clairvoyant.generate("allocation", size="default", seed=0)
    slots = instance.setting.slots
    rival = median_of(3, lambda: clairvoyant.play("ogasched", instance))
    for name in ("ogasched:step=adagrad", "follow-leader", "hedge", "slot-optimum"):
        seconds = median_of(3, lambda n=name: clairvoyant.play(n, instance))
        yield Row(f"{name}, default, T={slots}: play", seconds, None, "OGASched", rival)
    exercise("allocation-gang")
    gangs = clairvoyant.generate("allocation-gang", seed=0, ports=4, servers=16, slots=GANG_SLOTS)
    seconds = timed(lambda: clairvoyant.play("perturbed-leader", gangs))
    yield Row(f"perturbed-leader, 4 ports, 16 servers, T={GANG_SLOTS}: play", seconds)


def offline(size: str, utility: str, target: float, **options: Any) -> Row:
    """Measure the stationary optimum at a relative gap of 1e-8, beside the same program through CVXPY."""
    instance = clairvoyant.generate("allocation", size=size, seed=0, utility=utility, **options)
    seconds = median_of(3 if size == "default" else 1, lambda: stationary(instance, gap=1e-8))
    optimum = stationary(instance, gap=1e-8)
    solver = "HiGHS through CVXPY" if utility == "linear" else "Clarabel through CVXPY"
    other = timed(lambda: stationary(instance, method="cvxpy"))
    label = f"stationary optimum, {size}{', complete graph' if options else ''}, {utility}"
    return Row(label, seconds, target, solver, other, f"gap {optimum.gap:.1e}")


def memory(size: str, utility: str) -> Row:
    """Measure the peak memory of one stationary optimum, ours and that of CVXPY."""

    def peak(method: str) -> tuple[float, float]:
        prepare = (
            f"c.solve(c.generate('allocation', size='tiny', seed=0), method={method!r})\n"
            f"i = c.generate('allocation', size={size!r}, seed=0, slots=100, utility={utility!r})"
        )
        return peak_memory(prepare, f"c.solve(i, method={method!r})")

    before, ours = peak("interior point")
    _, theirs = peak("cvxpy")
    note = f"of ours, {ours - before:.2f} GB for this solve"
    return Row(f"peak memory, stationary, {size}, {utility}", ours, None, "CVXPY", theirs, "GB", note)


def all_slots() -> Row:
    """Measure all per-slot optima of the default instance, beside solving 20 of them through CVXPY."""
    instance = clairvoyant.generate("allocation", size="default", seed=0, slots=8000)
    patterns = np.unique(instance.arrivals, axis=0)
    sample = instance.with_arrivals(patterns[:: max(1, len(patterns) // 20)][:20])
    one = [sample.with_arrivals(x[None, :]) for x in sample.arrivals]
    rival = timed(lambda: [stationary(i, method="cvxpy") for i in one]) / len(one) * len(patterns)
    seconds = timed(lambda: dynamic(instance))
    return Row(
        f"all per-slot optima, default, T=8000 ({len(patterns)} patterns)",
        seconds,
        9.0,
        "Clarabel through CVXPY (20 patterns scaled)",
        rival,
    )


def certificates() -> Iterator[Row]:
    """Measure the certificates of a stationary optimum, of some per-slot optima, and of gangs."""
    instance = clairvoyant.generate("allocation", size="default", seed=1)
    yield from certificate(f"default, {instance.setting.edge_demand.size:,} entries", instance, "stationary")
    few = clairvoyant.generate("allocation", size="default", seed=1, slots=20)
    yield from certificate("default, 20 slots", few, "dynamic")
    gangs = clairvoyant.generate("allocation-gang", size="default", seed=1)
    yield from certificate(f"default, {len(gangs.setting.task_port)} tasks", gangs, "gang")


def measure(full: bool) -> Iterator[Row]:
    """Yield every measurement; ``full`` adds complete graphs, which take Clarabel a minute and gigabytes."""
    yield compile_all()
    yield from online("default", 8000, {"constant": (1.0, 0.25), "decay": (1.0, 0.45)})
    yield from online("large", 10000, {"constant": (12.0, 8.5)})
    yield from leaders()
    for utility in ("mix", "log", "linear"):
        yield offline("default", utility, 0.02)
    for utility, target in (("mix", 5.0), ("linear", 5.0), ("log", 1.5)):
        yield offline("large", utility, target)
    yield all_slots()
    yield from certificates()
    yield memory("large", "mix")
    if full:
        yield offline("large", "mix", 5.0, density=100)
        yield from online("large", 1000, {"constant": (None, None)}, density=100)
