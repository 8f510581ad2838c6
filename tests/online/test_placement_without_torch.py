"""PyTorch is an extra for training: without it all else works, and nothing else loads it."""

import subprocess
import sys
from pathlib import Path

from clairvoyant.problems import policies

WITHOUT_TORCH = """
import sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NoTorch())
"""
INSTALL = 'pip install "clairvoyant[rl]"'


def python(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script in a new process."""
    command = [sys.executable, "-W", "error", "-c", script]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600)


def test_all_but_training_works_without_torch(tmp_path: Path) -> None:
    script = (
        WITHOUT_TORCH
        + """
import clairvoyant as cv
from clairvoyant.cli.commands import main
assert cv.list_oracles("placement")
instance = cv.generate("placement", size="tiny", seed=1, estimate_error=0.5)
optimum = cv.solve(instance)
for name in cv.list_policies("placement"):
    run = cv.play(name, instance)
    assert optimum.bound <= run.total * (1 + 1e-9), (name, optimum.bound, run.total)
    print(name)
assert "torch" not in sys.modules
open("plan.toml", "w").write("version = 1")
sys.exit(main(["train", "plan.toml", "--out", "trained"]))
"""
    )
    done = python(script, tmp_path)
    assert done.stdout.splitlines() == [*policies("placement")]
    assert INSTALL in done.stderr
    assert done.returncode == 2, done.stderr
    assert not (tmp_path / "trained").exists()


def test_no_policy_loads_torch(tmp_path: Path) -> None:
    script = """
import sys
import clairvoyant as cv
from clairvoyant.api import policy_table
listed = {row.name for row in policy_table("placement")}
instance = cv.generate("placement", size="tiny", seed=1)
for name in ("untrained:design=dl2", "das"):
    cv.play(name, instance)
print("das" in listed, "das" in cv.list_policies("placement"), "torch" in sys.modules)
"""
    done = python(script, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "True True False\n"
