"""What is compiled is of the sources that are there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")

KERNEL = "from clairvoyant.models.compiled import njit\n{}\n\n@njit(cache=True)\ndef {}(x):\n    return {}\n"
RUN = """
from outer import outer
print(outer(1), sum(outer.stats.cache_misses.values()), sum(outer.stats.cache_hits.values()))
"""


def answer(folder: Path) -> list[int]:
    """Return what the outermost kernel returns, how often it was compiled, and how often it was loaded."""
    settings = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    run = subprocess.run(
        [sys.executable, "-c", RUN], cwd=folder, env=settings, capture_output=True, text=True, check=True
    )
    return [int(word) for word in run.stdout.split()]


def test_a_kernel_is_compiled_anew_when_the_file_of_one_that_it_calls_changes(tmp_path: Path) -> None:
    inner = tmp_path / "inner.py"
    inner.write_text(KERNEL.format("", "inner", "x + 1"))
    (tmp_path / "middle.py").write_text(KERNEL.format("import inner", "middle", "10 * inner.inner(x)"))
    (tmp_path / "outer.py").write_text(KERNEL.format("from middle import middle", "outer", "middle(x)"))
    assert answer(tmp_path) == [20, 1, 0]
    assert answer(tmp_path) == [20, 0, 1]
    inner.write_text(KERNEL.format("", "inner", "x + 2"))
    os.utime(inner, (1e9, 1e9))  # whatever the clock of the disk is good for
    assert answer(tmp_path) == [30, 1, 0]
    assert answer(tmp_path) == [30, 0, 1]


def test_a_kernel_is_compiled_anew_when_a_constant_from_elsewhere_changes(tmp_path: Path) -> None:
    named, constants = tmp_path / "named.py", tmp_path / "constants.py"
    constants.write_text("STEP = 1\nOTHER = (1, 2)\n")
    named.write_text("from constants import OTHER\n")
    (tmp_path / "inner.py").write_text(
        KERNEL.format("import named\nfrom constants import STEP", "inner", "later(x) + named.OTHER[1]")
        + "\n@njit(cache=True)\ndef later(x):\n    return x + STEP\n"
    )
    (tmp_path / "outer.py").write_text(KERNEL.format("import inner", "outer", "10 * inner.inner(x)"))
    assert answer(tmp_path) == [40, 1, 0]
    assert answer(tmp_path) == [40, 0, 1]
    for text, expected in (("STEP = 5\nOTHER = (1, 2)\n", 80), ("STEP = 5\nOTHER = (1, 7)\n", 130)):
        constants.write_text(text)
        assert answer(tmp_path) == [expected, 1, 0]
        assert answer(tmp_path) == [expected, 0, 1]
