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
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from . import api
from .analysis.engine.cells import Cell, EngineError, State
from .analysis.engine.processes import Processes
from .models.base import InputError
from .oracles.generic import declared
from .problems import Problem, one_line, owner, players, problems

log = logging.getLogger(__package__)


@dataclass(frozen=True)
class Warmth:
    """What a warm-up did."""

    # compiled, loaded: how many times a kernel was compiled, and how many times one was loaded that had been
    # before.
    compiled: int
    loaded: int
    seconds: float  # how long that took, all in all


def rooms() -> list[str]:
    """Return the rooms of the problems, the newest first: theirs are the most kernels."""
    return list(dict.fromkeys(problem.room for problem in reversed(problems().values())))


def warm_up(workers: int | None = None, progress: Callable[[float, str], None] | None = None) -> Warmth:
    """Compile all kernels that are not compiled yet; ``workers`` processes do, by default one per core.

    What another distribution brings and cannot be used is told in a warning.
    """
    begin = time.perf_counter()
    cells = {room: Cell(room, room, f"{__name__}:warm", {"room": room}) for room in rooms()}
    compiled = loaded = 0
    with Processes(min(workers or os.cpu_count() or 1, len(cells))) as processes:
        left = dict(cells)
        for ended in processes.run(cells.values()):
            for cell, answer in ended:
                del left[cell.key]
                if answer.state is not State.DONE:
                    why = answer.error.strip().splitlines()[-1]
                    raise EngineError(f"the kernels of {cell.name} are not compiled: {why}")
                compiled, loaded = compiled + answer.result["compiled"], loaded + answer.result["loaded"]
                for message in answer.result["failed"]:
                    log.warning("%s", message)
            if progress is not None:
                at_work = f"; at work: {', '.join(left)}" if left else ""
                progress(1.0 - len(left) / len(cells), f"{compiled} kernels compiled{at_work}")
    return Warmth(compiled, loaded, time.perf_counter() - begin)


def warm(arguments: Mapping[str, Any], _report: Callable[[float], None]) -> dict[str, Any]:
    """Use everything of a room; return how many times a kernel was compiled and loaded, and what failed."""
    from .models.compiled import KERNELS

    log.setLevel(logging.ERROR)  # what compiles is reported as progress
    before = _counts(KERNELS)
    failed = exercise(arguments["room"])
    compiled, loaded = (now - then for now, then in zip(_counts(KERNELS), before, strict=True))
    return {"compiled": compiled, "loaded": loaded, "failed": failed}


def _counts(kernels: Iterable[Any]) -> tuple[int, int]:
    """Return how many times kernels were compiled, and how many times they were loaded, in this process."""
    stats = [kernel.stats for kernel in kernels]
    return sum(sum(s.cache_misses.values()) for s in stats), sum(sum(s.cache_hits.values()) for s in stats)


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
    """Use what solves P4 for all s, the dense tables of Algorithm 2 too, and what many channels need."""
    from .models.selection.generate import generate
    from .online.selection.printed import algorithm_2, algorithm_2_repaired
    from .oracles.selection.p4 import p4_optima

    setting = generate("tiny").setting
    p4_optima(setting, [1] * setting.channels, [1] * setting.channels)
    for sizes in ([1, 1], [2**24, 1]):  # these values fit into single precision, or do not
        for solve in (algorithm_2, algorithm_2_repaired):
            solve([1, 2], sizes, [[1], [1]], [2], 2)
    setting = generate("large", density=0.4, slots=0).setting
    setting.knapsack.best([1.0] * setting.channels, [1.0] * setting.channels)


def placement() -> None:
    """Use the whole search, the scores of networks, and what extras bring, where they are installed.

    These are environments and training.
    """
    from .models.placement.generate import generate
    from .online.placement.learned.policies import Das
    from .oracles.base import Budget
    from .oracles.placement.bound import Lanes, Packed, rows_of
    from .oracles.placement.search import list_schedule, search

    search(generate("tiny"), Budget(0.0, None), rounds=1)  # a bound may end solve earlier
    policy, one = Das(), generate("tiny")
    one.simulator().follow(())  # a run that is checked at its end
    times = np.array([0, 1])
    for market in (Packed(one), Lanes.begin(one, rows_of(one), times, list_schedule(one))):
        market.respond(times, np.zeros((1, market.columns)), market.losses)
    policy.start(one.setting, np.random.default_rng(0))
    policy.scores(next(iter(one.episode(frozenset()))))
    api.play("das:outcomes=1", one)
    if find_spec("pettingzoo") and find_spec("gymnasium"):
        from .online.placement.environment import ParallelEnvironment

        environment = ParallelEnvironment(generate("tiny", gpu_weight=1.0))
        environment.reset(seed=0)
        while environment.agents:
            environment.step({name: environment.action_space(name).sample() for name in environment.agents})
    if find_spec("torch"):
        from .online.placement.learned.plan import Plan

        trial = {"instances": 1, "jobs": 2}
        learning = {"iterations": 1, "episodes": 1, "jobs": 2}
        plan = {"version": 1, "jobs": {"size": "tiny"}, "validation": trial, "test": trial}
        linear: dict[str, str | bool] = {"ordering": "linear", "placement": "linear", "features": "capacity"}
        linear |= {"prior": "patient", "holds": True}
        for design, method in (  # with and without the process, and without networks
            ({"name": "das"}, "gradient"),
            ({"name": "da-mc"}, "gradient"),
            (linear, "evolution"),
        ):
            with tempfile.TemporaryDirectory() as folder:
                part = {"design": design, "training": learning | {"method": method}}
                api.train(Plan.of(plan | part), Path(folder))
