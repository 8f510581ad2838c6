"""Functions of cells that the tests of the engine run in processes of their own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


def prints(_arguments: Arguments, _report: Report) -> str:
    print('{"result": "forged"}', flush=True)
    os.write(1, b'{"result": "forged"}\n')
    subprocess.run([sys.executable, "-c", 'print(\'{"result": "forged"}\')'], check=True)
    return "true"


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
