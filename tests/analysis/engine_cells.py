"""Functions of cells that the tests of the engine run in processes of their own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from clairvoyant.analysis.engine.cells import ChangedError
from clairvoyant.models import stopwatch

Arguments = dict[str, Any]
Report = Callable[[float], None]


def square(arguments: Arguments, _report: Report) -> int:
    return int(arguments["n"]) ** 2


def logs(arguments: Arguments, report: Report) -> int:
    """Tell in a file that it is begun, and take a moment."""
    with Path(arguments["log"]).open("a") as stream:
        stream.write(f"{arguments['n']}\n")
    time.sleep(0.005)
    return square(arguments, report)


def fails(_arguments: Arguments, _report: Report) -> None:
    raise ValueError("as it should")


def exits(_arguments: Arguments, _report: Report) -> None:
    sys.exit("no more")


def kills_itself(arguments: Arguments, _report: Report) -> int:
    """Leave a mark for each time it is begun; survive from the so-manieth on."""
    folder = Path(arguments["folder"])
    begun = len(list(folder.iterdir()))
    (folder / str(begun)).touch()
    if begun < arguments["times"]:
        os.kill(os.getpid(), signal.SIGKILL)
    return begun


def dies_of(arguments: Arguments, _report: Report) -> None:
    os.kill(os.getpid(), arguments["signal"])


def rests_on_what_changed(_arguments: Arguments, _report: Report) -> None:
    raise ChangedError("mine: its source changed meanwhile")


def prints(_arguments: Arguments, _report: Report) -> str:
    print('{"result": "forged"}', flush=True)
    os.write(1, b'{"result": "forged"}\n')
    subprocess.run([sys.executable, "-c", 'print(\'{"result": "forged"}\')'], check=True)
    return "true"


def reports_half(_arguments: Arguments, report: Report) -> None:
    report("half")  # type: ignore[arg-type]


def reads(_arguments: Arguments, _report: Report) -> str:
    """Return what a program reads that is started without an input of its own."""
    copies = [sys.executable, "-c", "import sys; print(end=sys.stdin.read())"]
    return subprocess.run(copies, capture_output=True, check=True, text=True).stdout


def imports(_arguments: Arguments, _report: Report) -> Any:
    return import_module("module_of_others").NUMBER


def changes(arguments: Arguments, report: Report) -> Any:
    """Import a module that has just been changed, then answer or not."""
    Path(arguments["file"]).write_text("NUMBER = 3\n")
    number = imports(arguments, report)
    if arguments["how"] == "ends":
        os.kill(os.getpid(), signal.SIGKILL)
    while arguments["how"] == "takes too long":
        time.sleep(0.01)
    return number


def spins(arguments: Arguments, _report: Report) -> None:
    """Tell in a file which process it is in, and compute for longer than anybody waits."""
    from clairvoyant.models.compiled import njit

    @njit()
    def spin(rounds: int) -> int:
        x = 1
        for i in range(rounds):
            x = (x * x + i) % 1_000_003
        return x

    spin(2)
    Path(arguments["log"]).write_text(f"{os.getpid()}\n")
    spin(2**62)


def stops_the_clock_in_a_copy(_arguments: Arguments, _report: Report) -> None:
    child = os.fork()
    if child == 0:
        stopwatch.pause()
        os._exit(0)
    os.waitpid(child, 0)
    while True:
        time.sleep(0.01)


def returns_no_json(_arguments: Arguments, _report: Report) -> object:
    return object()


def returns_much(_arguments: Arguments, _report: Report) -> str:
    return "x" * 3_000_000


def takes_memory(arguments: Arguments, _report: Report) -> None:
    held = b"x" * arguments["bytes"]
    while held:
        time.sleep(0.01)


def never_ends(_arguments: Arguments, report: Report) -> None:
    while True:
        time.sleep(0.01)
        report(0.25)


def sleeps(arguments: Arguments, _report: Report) -> None:
    """Tell in a file which process it is in, and say no more."""
    Path(arguments["log"]).write_text(f"{os.getpid()}\n")
    while True:
        time.sleep(600)


def leaves_a_process(arguments: Arguments, _report: Report) -> int:
    """Leave a process that holds all that this one has open, and die if that is asked for."""
    child = os.fork()
    if child == 0:
        time.sleep(600)
        os._exit(0)
    Path(arguments["folder"], str(child)).touch()
    if arguments["dies"]:
        os.kill(os.getpid(), signal.SIGKILL)
    return child


def doubles_itself(_arguments: Arguments, _report: Report) -> int:
    """Return twice: from a copy of the process, too."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
    return 1
