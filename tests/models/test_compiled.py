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
