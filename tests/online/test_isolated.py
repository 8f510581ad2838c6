"""A policy in a process of its own: the same runs, and whatever it does there is one clear error here."""

import os
import pickle
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clairvoyant as cv
from clairvoyant import api
from clairvoyant.models.base import ClairvoyantError, DecisionError, InputError
from clairvoyant.models.copying import copied
from clairvoyant.online import isolated
from clairvoyant.online.isolated import Isolated, PolicyError
from clairvoyant.testing.graph import canonical

MODULE = '''
import os, signal, subprocess, sys, time
import numpy as np
import clairvoyant as cv


class Idle:
    name = "idle"
    traits = cv.Traits(problem="allocation")

    def start(self, setting, rng):
        self.setting, self.slot = setting, -1

    def decide(self, observation):
        self.slot += 1
        if self.slot == 2:
            self.act()
        return np.zeros(self.setting.shape)

    def act(self):
        pass


class Failing(Idle):
    def act(self):
        raise KeyError("no such port")


class Importing(Idle):
    def act(self):
        __import__("importlib").import_module("no_such_module_for_tests")


class Complaining(Idle):
    def start(self, setting, rng):
        raise cv.InputError("step: 7 is too large")


class Leaving(Idle):
    def act(self):
        sys.exit(3)


class Vanishing(Idle):
    def act(self):
        os._exit(0)


class Killed(Idle):
    def act(self):
        os.kill(os.getpid(), signal.SIGKILL)


class Closing(Idle):
    def act(self):
        for descriptor in range(64):
            try:
                os.close(descriptor)
            except OSError:
                pass
        time.sleep(600)


class Loud(Idle):
    def act(self):
        print("to standard output")
        print(sys.stdin.read(1) == "")


class Greedy(Idle):
    def decide(self, observation):
        return 2.0 * self.setting.edge_demand


class Strange(Idle):
    def decide(self, observation):
        return object()


class Exploding:
    def __init__(self, code):
        self.code = code

    def __reduce__(self):
        return exec, (self.code,)


class Forging(Idle):
    """Writes answers of its own making."""

    def __init__(self, answer):
        self.answer = answer

    def act(self):
        import struct
        for descriptor in range(3, 16):
            try:
                os.write(descriptor, self.answer)
            except OSError:
                pass
        time.sleep(600)


class Tampering(Idle):
    """Does in its process what it likes."""

    def act(self):
        from clairvoyant.models.allocation.instance import Setting
        object.__setattr__(self.setting, "capacity", np.full_like(self.setting.capacity, 1000.0))
        Setting.evaluate = lambda *_: (1e9, True)


class Listening(Idle):
    def learn(self, feedback):
        if feedback.slot == 1:
            raise ValueError(f"reward {feedback.reward}")


class Staying(Idle):
    """Begins a process, says which, and waits until it is ended."""

    def __init__(self, note):
        self.note = note

    def act(self):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        with open(self.note + ".part", "w") as stream:
            stream.write(f"{os.getpid()} {child.pid}")
        os.replace(self.note + ".part", self.note)
        time.sleep(600)


class Abandoning(Staying):
    """Begins a process and ends without it."""

    def act(self):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        with open(self.note, "w") as stream:
            stream.write(str(child.pid))
        os._exit(3)


class Unreadable(Idle):
    def __init__(self):
        self.seed = 1

    def __setstate__(self, state):
        raise RuntimeError("not here")
'''


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a module of policies that a process of its own can import, too."""
    name = f"policies_of_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield __import__(name)
    del sys.modules[name]


def tiny() -> cv.Instance:
    return cv.generate("allocation", "tiny", 1)


@pytest.mark.parametrize(
    ("problem", "spec"),
    [
        ("allocation-gang", "perturbed-leader"),
        ("selection", "thompson"),
        ("selection-gang", "esdp-gang"),
        ("admission", "oasis"),
        ("placement", "mosa:iterations=3"),
    ],
)
def test_the_run_is_the_same(problem: str, spec: str) -> None:
    one = api.generate(problem, "tiny", 1)
    here, there = (cv.play(spec, one, seed=5, keep_decisions=True, isolated=i) for i in (False, True))
    assert np.array_equal(here.rewards, there.rewards)
    assert canonical(here.decisions) == canonical(there.decisions)
    assert (here.policy, here.digest, here.infeasible) == (there.policy, there.digest, there.infeasible)


def test_a_printed_algorithm_in_a_process_of_its_own() -> None:
    one, spec = cv.generate("allocation", "default", 1, slots=20), "ogasched-printed:step=decay,eta0=5"
    here, there = (cv.play(spec, one, enforce=False, keep_decisions=True, isolated=i) for i in (False, True))
    assert np.array_equal(here.rewards, there.rewards)
    assert canonical(here.decisions) == canonical(there.decisions)
    assert here.infeasible == there.infeasible > 0


def test_errors_of_the_policy_are_told_with_their_traceback(mine: Any) -> None:
    with pytest.raises(PolicyError) as told:
        cv.play(mine.Failing(), tiny(), isolated=True)
    place = rf"\({re.escape(mine.__file__)}, line \d+, in act\)"
    assert re.fullmatch(rf"policy 'idle' raised KeyError in decide: 'no such port' {place}", str(told.value))
    assert 'raise KeyError("no such port")' in told.value.__notes__[0]
    assert isinstance(told.value, ClairvoyantError)
    with pytest.raises(PolicyError, match=r"raised ValueError in learn: reward"):
        cv.play(mine.Listening(), tiny(), isolated=True)
    with pytest.raises(InputError) as complaint:
        cv.play(mine.Complaining(), tiny(), isolated=True)
    assert str(complaint.value) == "step: 7 is too large"


def test_the_place_of_an_error_is_a_file(mine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the policy lies in the working directory, beside which what has no file would be."""
    monkeypatch.chdir(Path(mine.__file__).parent)
    with pytest.raises(PolicyError, match=rf"\({re.escape(mine.__file__)}, line \d+, in act\)"):
        cv.play(mine.Importing(), tiny(), isolated=True)


def test_decisions_are_checked_as_ever(mine: Any) -> None:
    with pytest.raises(DecisionError, match="slot 0: infeasible decision: demand"):
        cv.play(mine.Greedy(), tiny(), isolated=True)
    with pytest.raises(InputError, match="decision: object is none of an array"):
        cv.play(mine.Strange(), tiny(), isolated=True)


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("Leaving", "ended with status 3"),
        ("Vanishing", "ended with status 0"),
        ("Killed", "was ended by SIGKILL"),
    ],
)
def test_a_process_that_ends_is_one_clear_error(mine: Any, kind: str, how: str) -> None:
    with pytest.raises(PolicyError, match=rf"^policy 'idle': its process {how} in decide$"):
        cv.play(getattr(mine, kind)(), tiny(), isolated=True)


def test_a_process_that_closes_its_files(mine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolated, "PATIENCE", 0.0)
    with pytest.raises(PolicyError, match="its process closed its way to answer in decide"):
        cv.play(mine.Closing(), tiny(), isolated=True)


def message(data: bytes) -> bytes:
    return len(data).to_bytes(8, "little") + data


def doubled(times: int) -> list[Any]:
    """Return a list of lists that is short to tell and long to unfold."""
    part: list[Any] = []
    for _ in range(times):
        part = [part, part]
    return part


def test_forged_answers_do_nothing_here(mine: Any, tmp_path: Path) -> None:
    done = tmp_path / "done"
    code = f"open({str(done)!r}, 'w').close()"
    exploding = pickle.dumps((False, mine.Exploding(code)))
    for answer in (message(exploding), (2**62).to_bytes(8, "little")):
        with pytest.raises(PolicyError, match="its process answered decide with no data"):
            cv.play(mine.Forging(answer), tiny(), isolated=True)
    forged = (
        exploding,
        b"nonsense",
        pickle.dumps((True, "not four things")),
        pickle.dumps("no pair"),
        b"\x80\x04\x89Nr\xff\xff\xff\x3f\x86.",  # a place in a table of 8 GiB
        b"\x80\x05\x89\x96" + (2**45).to_bytes(8, "little"),  # 32 TiB
        pickle.dumps((False, doubled(40))),
        b"\x80\x05\x89(\x8c\x02u1J\x40\x42\x0f\x00\x85J\x40\x42\x0f\x00tQ\x86.",  # a million zeros
    )
    for data in forged:
        with pytest.raises(pickle.UnpicklingError):
            isolated._read_plain(data)
    assert not done.exists()


def test_what_it_changes_in_its_process_changes_nothing_here(mine: Any) -> None:
    one = tiny()
    run = cv.play(mine.Tampering(), one, isolated=True)
    assert np.array_equal(run.rewards, cv.play(mine.Idle(), one).rewards)


def test_what_it_prints_goes_to_standard_error(mine: Any, capfd: pytest.CaptureFixture[str]) -> None:
    cv.play(mine.Loud(), tiny(), isolated=True)
    assert capfd.readouterr() == ("", "to standard output\nTrue\n")


def test_policies_that_cannot_travel(mine: Any, tmp_path: Path) -> None:
    class Local(mine.Idle):  # type: ignore[misc]
        pass

    with pytest.raises(InputError, match="policy: 'idle' cannot be pickled, as a process of its own needs"):
        cv.play(Local(), tiny(), isolated=True)
    with pytest.raises(
        InputError, match="policy: 'idle' cannot be loaded in a process of its own: RuntimeError: not here"
    ):
        cv.play(mine.Unreadable(), tiny(), isolated=True)
    program = tmp_path / "program.py"
    program.write_text(MODULE + "\ncv.play(Idle(), cv.generate('allocation', 'tiny', 1), isolated=True)\n")
    ran = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert "InputError: policy: Idle is defined in the program or notebook that is run" in ran.stderr
    assert "put it into a module, such as my_policies.py, and import it from there" in ran.stderr


def ended(number: int) -> bool:
    """Tell whether there is no such process any more, or only what is left of it."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def await_file(path: Path) -> list[int]:
    while not path.exists():
        time.sleep(0.01)
    return [int(number) for number in path.read_text().split()]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_ctrl_c_ends_the_process_and_what_it_began(mine: Any, tmp_path: Path) -> None:
    note = tmp_path / "note"
    program = (
        f"import sys; sys.path[:] = {sys.path!r}\n"
        f"import clairvoyant as cv, {mine.__name__} as mine\n"
        f"cv.play(mine.Staying({str(note)!r}), cv.generate('allocation', 'tiny', 1), isolated=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE) as running:
        numbers = await_file(note)
        running.send_signal(signal.SIGINT)
        assert b"KeyboardInterrupt" in running.communicate()[1]
    while not all(ended(number) for number in numbers):
        time.sleep(0.01)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_what_a_process_that_ends_has_begun_ends_with_it(mine: Any, tmp_path: Path) -> None:
    note = tmp_path / "note"
    with pytest.raises(PolicyError, match="ended with status 3 in decide"):
        cv.play(mine.Abandoning(str(note)), tiny(), isolated=True)
    (child,) = await_file(note)
    while not ended(child):
        time.sleep(0.01)


def test_a_path_among_the_folders_of_modules(mine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python takes no notice of it, and so does the process."""
    monkeypatch.setattr(sys, "path", [Path("somewhere"), *sys.path])
    assert cv.play(mine.Idle(), tiny(), isolated=True).total == 0.0


def test_an_error_here_ends_the_process(mine: Any) -> None:
    policy = Isolated(mine.Idle())
    with pytest.raises(RuntimeError, match="mine"), policy:
        raise RuntimeError("mine")
    assert policy._process.returncode == -signal.SIGKILL


def test_copies_share_no_memory_and_cannot_be_made_writeable() -> None:
    one = np.zeros((2, 3))
    one.setflags(write=False)
    other, free = copied((one, np.ones(2)))
    assert np.array_equal(other, one)
    assert not np.shares_memory(other, one)
    with pytest.raises(ValueError, match="WRITEABLE"):
        other.setflags(write=True)
    free[0] = 5.0  # what could be written to still can


def test_the_command_line_plays_in_processes_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from clairvoyant.cli.commands import main

    file = tmp_path / "one.json"
    tiny().save(file)
    told = []
    for more in ([], ["--isolated"]):
        assert main(["play", str(file), "--policy", "fairness", "--no-optimum", "--json", *more]) == 0
        told.append(capsys.readouterr().out)
    assert '"total"' in told[0]
    without = [[line for line in text.splitlines() if "seconds" not in line] for text in told]
    assert without[0] == without[1]
