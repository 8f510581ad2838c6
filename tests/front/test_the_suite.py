"""The suite itself: the same examples on every run, in any order, and fresh ones where they are asked for."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis.configuration import storage_directory

CONFTEST = Path(__file__).parents[1] / "conftest.py"
DRAWS = """
import signal
from hypothesis import given, settings, strategies as st

DRAWN = []

@given(st.lists(st.integers()), st.floats(), st.text())
@settings(max_examples=50)
def test_draws(numbers, x, text):
    DRAWN.append((numbers, x, text))

def test_ctrl_c_ends_it():
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

def test_says_what_was_drawn():
    print("drawn", ascii(DRAWN))
"""
LOADS = """
def test_loads_a_module_with_numbers():
    import numbers_of_mine
"""
NUMBERS = "FIRST = [" + ", ".join(str(10**9 + 7 * n) for n in range(300)) + "]\n"


def sampled(folder: Path, *tests: str, profile: str | None = None) -> str:
    """Return what Hypothesis drew, in a fresh process that a shell began in the background."""
    folder.mkdir()
    (folder / "conftest.py").write_text(CONFTEST.read_text())
    (folder / "test_draws.py").write_text(DRAWS)
    (folder / "test_loads.py").write_text(LOADS)
    (folder / "numbers_of_mine.py").write_text(NUMBERS)
    (folder / "pytest.ini").write_text("[pytest]\n")
    environment = {name: value for name, value in os.environ.items() if name != "HYPOTHESIS_PROFILE"}
    # Where its table of all letters is, which takes a second to make.
    environment["HYPOTHESIS_STORAGE_DIRECTORY"] = str(storage_directory().path.absolute())
    if profile is not None:
        environment["HYPOTHESIS_PROFILE"] = profile
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = (line for line in done.stdout.splitlines() if "drawn " in line)
    return line.partition("drawn ")[2]


@pytest.mark.slow
def test_examples_hang_neither_on_the_run_nor_on_the_tests_before(tmp_path: Path) -> None:
    alone = sampled(tmp_path / "alone", "test_draws.py")
    assert sampled(tmp_path / "after_another", "test_loads.py", "test_draws.py") == alone
    # In a folder of this name Hypothesis takes no numbers from the source.
    assert sampled(tmp_path / "tests", "test_loads.py", "test_draws.py") == alone


@pytest.mark.slow
def test_the_profile_fuzz_draws_fresh_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")  # where Hypothesis draws no fresh ones by itself
    first, second = (sampled(tmp_path / name, "test_draws.py", profile="fuzz") for name in ("one", "two"))
    assert first != second


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize(
    ("target", "variables", "all_run"),
    [("test", (), False), ("test", ("CI=true",), True), ("test-all", (), True), ("coverage", (), True)],
)
def test_make_leaves_out_what_is_slow_but_not_where_ci_is_set(
    target: str, variables: tuple[str, ...], all_run: bool
) -> None:
    command = ["make", "--dry-run", "--old-file", "setup", target, "CI=", *variables]
    shown = subprocess.run(
        command, cwd=CONFTEST.parents[1], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert " -m pytest " in shown
    assert ("not slow" not in shown) == all_run
