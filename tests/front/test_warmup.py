"""What is warm compiles nothing later, and no ``seconds`` of an oracle or policy hold what loads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clairvoyant import _warmup, api
from clairvoyant import problems as module
from clairvoyant.analysis.engine.cells import Answer, Cell, EngineError, State
from clairvoyant.analysis.engine.processes import Processes, Worker
from clairvoyant.cli import commands
from clairvoyant.models.admission.instance import AdmissionInstance
from clairvoyant.online.base import Traits
from clairvoyant.oracles.base import OracleEntry
from clairvoyant.problems import OURS, Problem, find

RARE = {"next_labels"}
"""Kernels that only hard knapsacks use: these compile when they are needed."""

SESSION = """
import json
import sys
from importlib import import_module
from types import ModuleType, SimpleNamespace
from numba.core import event
from clairvoyant import api, _warmup
from clairvoyant.problems import Problem
from clairvoyant.models import compiled, stopwatch

room, problems, modules = json.loads(sys.argv[1])
clock = SimpleNamespace(seconds=0.0)
real, stopwatch.time = stopwatch.time, SimpleNamespace(perf_counter=lambda: clock.seconds)
stopwatch._stood = 0.0

class Hours(event.Listener):
    def on_start(self, event): clock.seconds += 3600
    def on_end(self, event): pass

HEAVY = {"cvxpy", "highspy", "networkx", "numba", "ortools", "pyomo", "scipy", "torch"}

def importing(what, args):
    if what == "import" and args[0] in HEAVY:  # each once: what is there is not loaded again
        clock.seconds += 3600

def timed(function):
    def call(*args, **options):
        result = function(*args, **options)
        if result.seconds:
            print("counted", result)
        return result
    return call

class Compiled(event.Listener):
    def on_start(self, event):
        if event.data["dispatcher"] in compiled.KERNELS:
            print("compiled", event.data["dispatcher"], event.data["args"])
    def on_end(self, event): pass

# Nothing takes time but loading and compiling.
sys.addaudithook(importing)
solve, play, besides = api.solve, api.play, []
part = Problem.part

def later(self, name):
    found = part(self, name)
    return (lambda: besides.append(found)) if name == "besides" else found

Problem.part = later
api.solve, api.play = timed(solve), timed(play)
with event.install_listener("numba:compiler_lock", Hours()):
    _warmup.exercise(room)
print("hours", clock.seconds > 0)
api.solve, api.play, stopwatch.time = solve, play, real
for function in besides:
    function()

def used(kernel, found):
    if kernel not in found:
        found.add(kernel)
        names, known = kernel.py_func.__code__.co_names, kernel.py_func.__globals__
        rooms = [known[name] for name in names if isinstance(known.get(name), ModuleType)]
        for name in names:
            for one in (known.get(name), *(getattr(room, name, None) for room in rooms)):
                if any(one is each for each in compiled.KERNELS):  # arrays are compared number by number
                    used(one, found)

for name in modules:
    import_module(name)
found = set()
for kernel in compiled.KERNELS:
    assert kernel.stats.cache_path, f"{kernel} is not cached"
    if kernel.signatures:
        used(kernel, found)
for kernel in compiled.KERNELS:
    if kernel not in found:
        print("unused", kernel.py_func.__name__)

# The usual work of all sizes after that.
event.register("numba:compile", Compiled())
some = {"allocation": {"slots": 10}, "selection": {"slots": 10}, "admission": {}, "placement": {"jobs": 20}}
for problem in problems:
    for size, options in (("tiny", {}), ("default", some.get(problem))):
        if options is None:  # gangs of that size take long, and have no kernels of their own
            continue
        instance = api.generate(problem, size, 3, **options)
        for name in api.list_oracles(problem):
            api.solve(instance, name, time_limit=0.2)
        for name, kind in api.list_policies(problem).items():
            if "estimates" not in kind.traits.sees:
                api.play(name, instance, 1, enforce=kind.traits.feasible)
"""


def with_kernels() -> list[str]:
    """Return the names of all modules that declare kernels."""
    root = Path(__file__).resolve().parents[2]
    paths = [
        path for layer in ("models", "oracles", "online", "analysis") for path in (root / layer).rglob("*.py")
    ]
    found = [path.relative_to(root) for path in paths if "import njit" in path.read_text(encoding="utf-8")]
    return [".".join(["clairvoyant", *path.with_suffix("").parts]) for path in found]


def owners(name: str) -> list[str]:
    """Return the rooms that a module may belong to."""
    return [room for room in _warmup.rooms() if room in name.split(".")]


@pytest.mark.slow
@pytest.mark.parametrize("room", _warmup.rooms())
def test_what_is_warm_compiles_nothing_and_no_seconds_hold_loading(room: str, tmp_path: Path) -> None:
    names = [problem.name for problem in OURS if problem.room == room]
    modules = [name for name in with_kernels() if room in owners(name)]
    run = subprocess.run(
        [sys.executable, "-c", SESSION, json.dumps([room, names, modules])],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    told = [line for line in run.stdout.splitlines() if line.removeprefix("unused ") not in RARE]
    assert told == ["hours True"]


def test_every_module_with_kernels_is_of_one_room() -> None:
    assert len(with_kernels()) > 10
    for name in with_kernels():
        assert len(owners(name)) == 1, name


def test_the_command_warms_up_and_says_what_it_did(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _warmup.exercise("allocation")  # here, so that a process of its own has nothing left to compile
    monkeypatch.setattr(_warmup, "rooms", lambda: ["allocation"])
    assert commands.main(["warmup", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told.keys() == {"compiled", "loaded", "seconds"}
    assert told["compiled"] == 0 < told["loaded"]
    monkeypatch.setattr(_warmup, "warm_up", lambda *_: _warmup.Warmth(**told))
    assert commands.main(["warmup"]) == 0
    assert capsys.readouterr().out.startswith("compiled 0 kernels, loaded ")


class Broken:
    """A policy of another distribution that cannot play."""

    name, traits = "broken", Traits("admission")

    def start(self, setting: object, rng: object) -> None:
        raise SystemExit("no licence")

    def decide(self, observation: object) -> None: ...


def no_solver(_instance: object, *, method: str = "first") -> None:
    raise ValueError(f"no solver\nfor {method}")


def no_instance(size: str, seed: int) -> Any:
    raise ZeroDivisionError(f"{size} {seed}")


def test_what_others_bring_and_fails_is_one_warning_each(monkeypatch: pytest.MonkeyPatch) -> None:
    class Theirs(AdmissionInstance):
        problem = "admission-theirs"  # type: ignore[assignment]

    entry = OracleEntry(no_solver, "admission", "", ("first", "second"), "")  # type: ignore[arg-type]
    record = Problem(name="admission-theirs", instance=Theirs, generate=no_instance)
    idle = Problem(  # without policies, which is no fault
        name="admission-idle", instance=Theirs, generate=find("admission").part("generate"), oracles={}
    )
    brought = module._Brought({one.name: one for one in (record, idle)}, {record.name: "stranger"})
    added = {
        "policies": module._Brought({"admission": {"broken": Broken}}, {("admission", "broken"): "stranger"}),
        "oracles": module._Brought({"admission": {"none": entry}}, {("admission", "none"): "stranger"}),
    }
    monkeypatch.setattr(module, "_others", lambda: brought)
    monkeypatch.setattr(module, "_added", lambda what: added[what])
    ended = "broken: start() ends the process: SystemExit('no licence')"
    assert _warmup.exercise("admission") == [
        "oracle 'none' of 'admission', from stranger, is not warmed up: ValueError: no solver for first",
        f"policy 'broken' of 'admission', from stranger, is not warmed up: {ended}",
        "problem 'admission-theirs', from stranger, is not warmed up: ZeroDivisionError: tiny 0",
    ]


def test_what_is_ours_and_fails_ends_the_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "play", no_instance)
    with pytest.raises(TypeError, match="enforce"):
        _warmup.exercise("admission")


def test_the_warm_up_tells_what_failed_as_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    result = {"compiled": 1, "loaded": 2, "failed": ["problem 'theirs' is not warmed up"]}

    def run(_self: Processes, cells: Iterable[Cell]) -> Iterator[list[tuple[Cell, Answer]]]:
        yield [(cell, Answer(State.DONE, result)) for cell in cells]

    monkeypatch.setattr(Processes, "run", run)
    monkeypatch.setattr(_warmup, "rooms", lambda: ["theirs"])
    warmth = _warmup.warm_up(1)
    assert (warmth.compiled, warmth.loaded) == (1, 2)
    assert caplog.messages == ["problem 'theirs' is not warmed up"]


def test_an_interrupted_warm_up_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_warmup, "warm_up", interrupted)
    assert commands.main(["warmup", "--json"]) == 130
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {"interrupted": True}
    assert printed.err == "interrupted (at the beginning): what was compiled is kept\n"


def test_an_interrupt_ends_the_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_fraction: float, _note: str) -> None:
        raise KeyboardInterrupt

    started: list[Worker] = []
    begin = Worker.__init__

    def noted(self: Worker) -> None:
        begin(self)
        started.append(self)

    monkeypatch.setattr(Worker, "__init__", noted)
    with pytest.raises(KeyboardInterrupt):
        _warmup.warm_up(2, interrupt)
    assert len(started) == 2
    for worker in started:
        with pytest.raises(ProcessLookupError):
            os.kill(worker.pid, 0)


def test_a_room_of_ours_that_fails_in_its_process_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_warmup, "rooms", lambda: ["admission", "nowhere"])
    monkeypatch.setattr(_warmup, "__name__", "no.such.module")
    with pytest.raises(EngineError, match=r"^the kernels of \w+ are not compiled: ModuleNotFoundError"):
        _warmup.warm_up(1)
