"""Compile every kernel: use all that there is on tiny instances, problem by problem, side by side.

Numba keeps what it compiled beside the sources, or in a folder of the user where it may not write there. What
is used is read from the tables of the package, so that a new oracle or policy is warmed by being listed;
kernels that nothing listed needs are used by what the record of the problem names as ``besides``.
``tests/front/test_warmup.py`` finds what was forgotten.
"""

from __future__ import annotations

import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from multiprocessing import RawArray
from pathlib import Path
from typing import Any

from . import api
from .analysis.workers import TICK, side_by_side
from .models.base import InputError
from .oracles.generic import declared
from .problems import Problem, one_line, owner, players, problems

log = logging.getLogger(__package__)


@dataclass(frozen=True)
class Warmth:
    """What a warm-up did.

    Attributes
    ----------
    compiled, loaded
        How many times a kernel was compiled, and how many times one was loaded that had been before.
    seconds
        How long that took, all in all.
    """

    compiled: int
    loaded: int
    seconds: float


def rooms() -> list[str]:
    """Return the rooms of the problems, the newest first: theirs are the most kernels."""
    return list(dict.fromkeys(problem.room for problem in reversed(problems().values())))


def warm_up(workers: int | None = None, progress: Callable[[float, str], None] | None = None) -> Warmth:
    """Compile all kernels that are not compiled yet; ``workers`` processes do, by default one per core.

    What another distribution brings and cannot be used is told in a warning.
    """
    begin = time.perf_counter()
    names = rooms()
    counts = RawArray("l", len(names))
    total = Warmth(0, 0, 0.0)
    with side_by_side(min(workers or os.cpu_count() or 1, len(names)), _begin, counts) as pool:
        pending = {pool.submit(_warm, name, place): name for place, name in enumerate(names)}
        while pending:
            for future in wait(pending, TICK, FIRST_COMPLETED).done:
                compiled, loaded, failed = future.result()
                total = Warmth(total.compiled + compiled, total.loaded + loaded, 0.0)
                for message in failed:
                    log.warning("%s", message)
                del pending[future]
            if progress is not None:
                left = f"; at work: {', '.join(pending.values())}" if pending else ""
                progress(1.0 - len(pending) / len(names), f"{sum(counts)} kernels compiled{left}")
    return Warmth(total.compiled, total.loaded, time.perf_counter() - begin)


class _Worker:
    """What a worker process knows."""

    counts: Any


_worker = _Worker()


def _begin(counts: Any) -> None:
    _worker.counts = counts
    logging.getLogger("clairvoyant").setLevel(logging.ERROR)  # what compiles is told as progress


def _warm(room: str, place: int) -> tuple[int, int, list[str]]:
    """Use everything of a room; return how many times a kernel was compiled and loaded, and what failed."""
    from numba.core import event

    from .models.compiled import KERNELS

    class Count(event.Listener):
        def on_start(self, event: Any) -> None:
            pass

        def on_end(self, event: Any) -> None:
            _worker.counts[place] += event.data["dispatcher"] in KERNELS

    with event.install_listener("numba:compile", Count()):
        failed = exercise(room)
    return (
        sum(sum(kernel.stats.cache_misses.values()) for kernel in KERNELS),
        sum(sum(kernel.stats.cache_hits.values()) for kernel in KERNELS),
        failed,
    )


KIND = {"oracles": "oracle", "policies": "policy"}


def exercise(room: str) -> list[str]:
    """Use every oracle with every method, every policy and what is ``besides``, on tiny instances.

    Return one line for all that fails and is not ours, naming whose it is.
    """
    failed: dict[str, str] = {}
    for problem, record in problems().items():
        if record.room == room and record.has("generate"):
            _try(failed, problem, partial(_use_all, failed, problem, record))
    for problem, record in problems().items():
        if record.room == room and record.has("besides"):
            _try(failed, problem, record.part("besides"))
    return list(failed.values())


def _use_all(failed: dict[str, str], problem: str, record: Problem) -> None:
    """Use the oracles and the policies of a problem."""
    instance = api.generate(problem, "tiny", **record.small)
    for what, name, use in _uses(problem, instance):
        _try(failed, problem, use, what, name)


def _uses(problem: str, instance: Any) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Yield what there is to use, and how."""
    for name, entry in api.list_oracles(problem).items():
        if entry.function is declared:  # it has no kernels, and not every program is for every method
            continue
        for method in entry.methods or (None,):
            options = {} if method is None else {"method": method}
            yield "oracles", name, partial(api.solve, instance, name, **options)
    for name in players(problem):
        yield "policies", name, partial(_play, name, instance)


def _play(name: str, instance: Any) -> None:
    try:
        policy = api.make_policy(name, instance.problem)
    except InputError:  # an extra of the package is not installed
        return
    api.play(policy, instance, enforce=policy.traits.feasible)


def _try(
    failed: dict[str, str], problem: str, use: Callable[[], Any], what: str = "problems", name: str = ""
) -> None:
    """Use something; what fails and is not ours is noted in one line."""
    try:
        use()
    except (Exception, SystemExit) as error:
        whose = owner(problem, what, name)
        if whose is None:
            raise
        thing = f"{KIND[what]} {name!r} of {problem!r}" if name else f"problem {problem!r}"
        failed.setdefault(thing, f"{thing}, from {whose}, is not warmed up: {one_line(error)}")


def allocation() -> None:
    """Use the other steps of OGASched."""
    api.play("ogasched:step=per-slot", api.generate("allocation", "tiny"))


def selection() -> None:
    """Use what solves P4 for all s: the dense tables of Algorithm 2, and our staircase."""
    from .models.selection.generate import generate
    from .online.selection.printed import algorithm_2, algorithm_2_repaired
    from .oracles.selection.p4 import p4_optima

    setting = generate("tiny").setting
    p4_optima(setting, [1] * setting.channels, [1] * setting.channels)
    for sizes in ([1, 1], [2**24, 1]):  # these values fit into single precision, or do not
        for solve in (algorithm_2, algorithm_2_repaired):
            solve([1, 2], sizes, [[1], [1]], [2], 2)


def placement() -> None:
    """Use the environments and the training of networks, where their extras are installed."""
    if find_spec("pettingzoo") and find_spec("gymnasium"):
        from .models.placement.generate import generate
        from .online.placement.environment import ParallelEnvironment

        environment = ParallelEnvironment(generate("tiny", gpu_weight=1.0))
        environment.reset(seed=0)
        while environment.agents:
            environment.step({name: environment.action_space(name).sample() for name in environment.agents})
    if find_spec("torch"):
        from .online.placement.learned.plan import Plan

        trial = {"instances": 1, "jobs": 2}
        learning = {"iterations": 1, "episodes": 1, "jobs": 2}
        plan = {"version": 1, "jobs": {"size": "tiny"}, "training": learning}
        with tempfile.TemporaryDirectory() as folder:
            api.train(Plan.of(plan | {"validation": trial, "test": trial}), Path(folder))
