"""Ctrl-C at any moment: status 130 or a finished command, never a traceback, and one JSON object."""

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import clairvoyant as cv
from clairvoyant import __main__
from clairvoyant.cli import commands, output
from clairvoyant.cli.interrupt import OVER, Interruptible, ctrl_c
from clairvoyant.models.base import PART, InputError, write_whole

# Python does not survive a Ctrl-C while it starts: what is sent earlier waits until the handler stands.
BEGIN = """
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
print("begun", file=sys.stderr, flush=True)
from clairvoyant import __main__
usual = __main__.ctrl_c.take_over
def take_over():
    stands = usual()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    return stands
__main__.ctrl_c.take_over = take_over
sys.exit(__main__.main())
"""
DELAYS = [0.0, 0.01, 0.03, 0.06, 0.12, 0.2, 0.3, 0.45, 0.8]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("instances") / "x.json"
    cv.generate("admission", size="tiny", seed=1, jobs=3).save(path)
    return path


def interrupted_after(delay: float, *arguments: object) -> tuple[int, str, str]:
    """Return status, output and error output of a command that gets a Ctrl-C after so many seconds."""
    command = [sys.executable, "-c", BEGIN, *map(str, arguments)]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    # A group of its own: workers get the signal as well, as they do from a terminal.
    with subprocess.Popen(command, start_new_session=True, **pipes) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "begun\n"
        try:
            process.wait(delay)  # whatever it prints is short
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=120)
    return process.returncode, out, err


@pytest.mark.parametrize("delay", DELAYS)
def test_ctrl_c_at_any_moment_of_a_solve_ends_in_order(delay: float, file: Path) -> None:
    status, out, err = interrupted_after(delay, "solve", file, "--json")
    assert status in {0, 130}, err
    assert "Traceback" not in err
    data = json.loads(out)
    assert data.get("interrupted") is True or data["why_stopped"].startswith(("proved by ", "gap reached"))
    assert (status == 0) == ("value" in data)


@pytest.mark.parametrize("delay", [0.05, 0.5, 1.0, 1.5])
def test_ctrl_c_at_any_moment_of_an_audit_ends_in_order(delay: float, tmp_path: Path) -> None:
    claims = ("--claim", "allocation/equation-9", "--claim", "allocation/equation-12")
    status, out, err = interrupted_after(
        delay, "audit", "--quick", *claims, "--workers", 2, "--out", tmp_path, "--json"
    )
    assert status in {0, 130}, err
    assert "Traceback" not in err
    assert json.loads(out).get("interrupted", False) is (status == 130)
    assert not list(tmp_path.rglob(f"*{PART}"))


def test_next_to_nothing_is_loaded_before_the_handler_stands() -> None:
    script = (
        "import sys, signal; before = set(sys.modules); import clairvoyant.__main__; "
        "print(*sorted(set(sys.modules) - before))"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert {"clairvoyant", "clairvoyant.__main__", "clairvoyant.cli.interrupt"} <= set(loaded.split())
    assert len(loaded.split()) <= 5, loaded


def test_a_ctrl_c_in_an_exec_ends_with_the_status_as_well(tmp_path: Path) -> None:
    """CPython ends a module by the signal, whatever that does, if it ever struck in an ``exec``."""
    script = tmp_path / "struck.py"
    script.write_text(
        "import sys\n"
        "from clairvoyant import __main__, api\n"
        "from clairvoyant.cli import commands\n"
        "def load(_path):\n"
        "    exec('import signal; signal.raise_signal(signal.SIGINT)')\n"
        "api.load = load\n"
        "sys.argv = ['clairvoyant', 'solve', 'x.json', '--json']\n"
        "sys.exit(__main__.main())\n"
    )
    command = [sys.executable, "-m", script.stem]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (130, "interrupted")
    assert json.loads(done.stdout) == {"interrupted": True}


def test_a_library_that_takes_a_ctrl_c_for_an_error_of_its_own_is_no_bug(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def load(_path: Path) -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt as error:
            raise ImportError("the library is broken") from error

    monkeypatch.setattr("clairvoyant.api.load", load)
    assert commands.main(["solve", "x.json", "--json"]) == 130
    printed = capfd.readouterr()
    assert (json.loads(printed.out), printed.err.strip()) == ({"interrupted": True}, "interrupted")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_ctrl_c_in_a_destructor_prints_no_traceback(capfd: pytest.CaptureFixture[str]) -> None:
    class Struck:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    class Wrong:
        def __del__(self) -> None:
            raise ValueError("a bug")

    with Interruptible():
        Struck()
        assert ctrl_c.came
    assert capfd.readouterr().err == ""
    usual, sys.unraisablehook = sys.unraisablehook, sys.__unraisablehook__
    try:
        with Interruptible():
            Wrong()
    finally:
        sys.unraisablehook = usual
    assert "a bug" in capfd.readouterr().err


def test_a_ctrl_c_does_not_cut_a_json_object_short(capfd: pytest.CaptureFixture[str]) -> None:
    with Interruptible():
        output.print_json({"value": 1})
        assert ctrl_c.phase == OVER
        signal.raise_signal(signal.SIGINT)
    assert capfd.readouterr().out == '{"value": 1}\n'


def test_whoever_ignores_ctrl_c_keeps_doing_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell starts what is to run in the background so."""
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert not ctrl_c.take_over()
        monkeypatch.setattr(sys, "argv", ["clairvoyant", "--version"])
        assert __main__.main() == 0
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, usual)


def test_the_command_runs_in_a_thread(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["clairvoyant", "--version"])
    with ThreadPoolExecutor() as pool:
        assert pool.submit(__main__.main).result() == 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("closed", [1, 2])
def test_a_ctrl_c_at_the_beginning_ends_in_order_if_nobody_reads(closed: int) -> None:
    program = (
        "import os, signal, sys\n"
        "from clairvoyant.cli.interrupt import ctrl_c\n"
        f"reader, writer = os.pipe(); os.close(reader); os.dup2(writer, {closed})\n"
        "sys.argv.append('--json')\n"
        "ctrl_c.take_over(); signal.raise_signal(signal.SIGINT)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (130, False)


# Writers that are killed


KILLED = """
import os, pathlib, signal, sys
from clairvoyant.models.base import write_whole
pathlib.Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
write_whole(pathlib.Path(sys.argv[1]), b"half")
"""


def killed_while_writing(path: Path) -> Path:
    """Kill a process that writes a file, and return what it has left."""
    done = subprocess.run([sys.executable, "-c", KILLED, path], check=False)
    assert done.returncode == -signal.SIGKILL
    (left,) = path.parent.glob(f".*{PART}")
    return left


def test_what_a_killed_audit_has_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    folders = ("", "figures", "findings/allocation", "counterexamples/allocation")
    left = []
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        left.append(killed_while_writing(tmp_path / folder / "x.json"))
    other = tmp_path / ".theirs.part"
    other.write_text("not ours")
    assert (
        commands.main(["audit", "--quick", "--claim", "allocation/equation-9", "--out", str(tmp_path)]) == 0
    )
    assert not any(path.exists() for path in left)
    assert other.exists()


@pytest.mark.parametrize("struck", [KeyboardInterrupt, OSError("no room"), RuntimeError])
def test_a_writer_that_is_stopped_leaves_nothing(
    struck: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def replace(*_paths: Path) -> None:
        raise struck

    monkeypatch.setattr(Path, "replace", replace)
    wanted = InputError if isinstance(struck, OSError) else struck
    with pytest.raises(wanted):
        write_whole(tmp_path / "x", b"whole")
    assert list(tmp_path.iterdir()) == []
