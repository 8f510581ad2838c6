"""PyTorch is an extra: without it all else works, and where it is there it loads only when it is used."""

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


def test_all_else_works_without_torch(tmp_path: Path) -> None:
    script = (
        WITHOUT_TORCH
        + """
import clairvoyant as cv
print(*sorted(cv.list_policies("placement")))
assert cv.list_oracles("placement")
instance = cv.generate("placement", size="tiny", seed=1)
optimum = cv.solve(instance)
run = cv.play("fifo-consolidate", instance)
assert optimum.bound <= run.total * (1 + 1e-9), (optimum.bound, run.total)
assert "torch" not in sys.modules
try:
    import torch
except ModuleNotFoundError:
    print("no torch")
"""
    )
    done = python(script, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [" ".join(sorted(policies("placement"))), "no torch"]


def test_a_learned_policy_without_torch_says_how_to_install_it(tmp_path: Path) -> None:
    script = (
        WITHOUT_TORCH
        + """
import clairvoyant as cv
from clairvoyant.cli.commands import main
instance = cv.generate("placement", size="tiny", seed=1)
try:
    cv.play("das", instance)
except cv.ClairvoyantError as error:
    print(error)
assert "torch" not in sys.modules
instance.save("p.json")
sys.exit(main(["play", "p.json", "--policy", "das"]))
"""
    )
    done = python(script, tmp_path)
    assert INSTALL in done.stdout
    assert INSTALL in done.stderr
    assert done.returncode == 2, done.stderr


def test_listing_and_making_policies_loads_no_torch(tmp_path: Path) -> None:
    script = """
import sys
import clairvoyant as cv
from clairvoyant.api import policy_table
listed = {row.name for row in policy_table("placement")}
cv.make_policy("untrained:design=dl2", "placement")
print("das" in listed, "das" in cv.list_policies("placement"), "torch" in sys.modules)
"""
    done = python(script, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "True True False\n"
