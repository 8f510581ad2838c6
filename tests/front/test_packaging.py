"""The wheel, the source archive, the editable install and the lock, each tested as a user meets it."""

import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import distributions, requires
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import clairvoyant.models

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ["models", "oracles", "online", "analysis"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES: list[str] = PROJECT["tool"]["setuptools"]["packages"]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
DOCS_LOCK = (ROOT / "requirements-docs.lock").read_text(encoding="utf-8")
CUDA = re.compile(r"(cuda|nvidia|triton|pytorch-triton)\b")
PRIVATELY = """
import os, runpy, sys
os.umask(0o077)
del sys.argv[0]
runpy.run_path(sys.argv[0], None, "__main__")
"""
LARGEST_WHEEL = 10_000_000
"""In bytes; the trained weights are the larger part."""


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """Run a command, fail with all it printed if it fails, and return its standard output."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("COV_", "PYTHONPATH"))}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=env | environment,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def folder(package: str) -> Path:
    """Folder in the repository that holds a package."""
    parts = package.split(".")[1:]
    inside = parts and parts[0] in LAYERS
    return ROOT.joinpath(*parts) if inside else ROOT.joinpath("src", "clairvoyant", *parts)


def name_of(path: Path) -> str:
    """Name of a file seen from the root of the repository."""
    return path.relative_to(ROOT).as_posix()


def copy_of_the_tree(to: Path, *, links: bool) -> Path:
    """Copy what a checkout holds, so that a build leaves nothing behind in the repository."""
    to.mkdir()
    for name in ["src", "tests", "benchmarks", "docs", "examples", "notebooks", *LAYERS]:
        ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(ROOT / name, to / name, symlinks=True, ignore=ignore)
    for path in ROOT.iterdir():
        if path.is_file() and not path.name.startswith("."):
            shutil.copy(path, to)
    if not links:
        for layer in LAYERS:
            (to / "src" / "clairvoyant" / layer).unlink()
    return to


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the source archive, and the wheel from that archive."""
    base = tmp_path_factory.mktemp("dist")
    tree = copy_of_the_tree(base / "tree", links=True)
    run(sys.executable, ROOT / ".ci" / "build.py", base / "out", tree, cwd=base)
    return base / "out"


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (path,) = dist.glob("*.whl")
    return path


def files_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}


def expected_files() -> set[str]:
    """Modules of every package, and the data that pyproject.toml allows."""
    files = {"clairvoyant/py.typed", "clairvoyant/_doors.pyi"}
    for package in PACKAGES:
        files |= {f"{package.replace('.', '/')}/{path.name}" for path in folder(package).glob("*.py")}
    kinds = [
        ("models", "json"),
        *(("online", kind) for kind in ("npz", "toml", "json")),
        ("analysis", "html"),
    ]
    for layer, kind in kinds:
        files |= {f"clairvoyant/{name_of(path)}" for path in (ROOT / layer).rglob(f"*.{kind}")}
    return files


def test_the_list_of_packages_is_what_the_folders_hold() -> None:
    found = {"clairvoyant"}
    for base in [ROOT / "src" / "clairvoyant", *(ROOT / layer for layer in LAYERS)]:
        start = ROOT if base.name in LAYERS else base
        # rglob does not follow the links, so each package is found once.
        found |= {
            ".".join(["clairvoyant", *path.parent.relative_to(start).parts]) for path in base.rglob("*.py")
        }
    assert len(PACKAGES) == len(set(PACKAGES))
    assert found ^ set(PACKAGES) == set()  # in one but not in the other
    assert [package for package in PACKAGES if not (folder(package) / "__init__.py").is_file()] == []


def test_the_links_and_the_package_dir_map_name_the_four_layers() -> None:
    links = {
        path.name: path.readlink() for path in (ROOT / "src" / "clairvoyant").iterdir() if path.is_symlink()
    }
    assert links == {layer: Path("..", "..", layer) for layer in LAYERS}
    named = {f"clairvoyant.{layer}": layer for layer in LAYERS}
    assert PROJECT["tool"]["setuptools"]["package-dir"] == {"": "src"} | named


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    inside = {name for name in files_in(wheel) if ".dist-info/" not in name}
    assert inside == expected_files()
    with zipfile.ZipFile(wheel) as archive:
        (entry_points,) = (name for name in archive.namelist() if name.endswith("entry_points.txt"))
        assert "clairvoyant = clairvoyant.__main__:main" in archive.read(entry_points).decode()


@pytest.mark.slow
def test_the_wheel_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size < LARGEST_WHEEL


@pytest.mark.slow
def test_the_source_archive_holds_the_layers_the_tests_and_the_licence(dist: Path) -> None:
    (path,) = dist.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {member.name.partition("/")[2] for member in archive if member.isfile()}
    sources = {name_of(path) for package in PACKAGES for path in folder(package).glob("*.py")}
    tests = {name_of(path) for kind in ("tests", "examples") for path in (ROOT / kind).rglob("*.py")}
    shown = {
        *(
            "docs/regret.svg",
            "docs/instance-files.md",
            "docs/policies.md",
            "docs/own-policy.md",
            "docs/clusters.md",
            "docs/own-table.md",
            "docs/sweeps.md",
            "docs/sweeps/placement-load.svg",
            "docs/sweeps/placement-load.toml",
            "docs/trained-networks.md",
            "docs/training.md",
            "docs/your-own-problem.md",
        ),
        "CONTRIBUTING.md",
    } | {
        f"notebooks/{name}.ipynb"
        for name in ("allocation", "selection", "admission", "placement", "learning", "own-problem")
    }
    wanted = sources | tests | shown | {"LICENSE", "Makefile", "requirements.lock", "pyproject.toml"}
    assert wanted - names == set()


@pytest.mark.slow
def test_another_folder_time_and_user_give_the_same_bytes_also_without_links(
    dist: Path, tmp_path: Path
) -> None:
    tree = copy_of_the_tree(tmp_path / "tree", links=False)
    for path in tree.rglob("*"):
        os.utime(path, (10**9, 10**9), follow_symlinks=False)
    (tree / "src" / "clairvoyant.egg-info").mkdir()
    (tree / "src" / "clairvoyant.egg-info" / "SOURCES.txt").write_text("Makefile\n.ci/old.py\n")
    run(sys.executable, "-c", PRIVATELY, ROOT / ".ci" / "build.py", tmp_path / "out", tree, cwd=tmp_path)
    first = {path.name: path.read_bytes() for path in dist.iterdir()}
    assert len(first) == 2
    assert first == {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}


@pytest.mark.slow
def test_what_makes_bytes_equal_keeps_names_contents_and_what_can_be_run(dist: Path, builder: Any) -> None:
    for path in dist.iterdir():
        normal = builder.wheel if path.suffix == ".whl" else builder.source_archive
        assert normal(path.read_bytes()) == path.read_bytes()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text, mode in (("b", b"two", 0o700), ("a", b"one", 0o600)):
            member = tarfile.TarInfo(name)
            member.size, member.mode, member.uname = len(text), mode, "somebody"
            archive.addfile(member, io.BytesIO(text))
    with tarfile.open(fileobj=io.BytesIO(builder.source_archive(packed.getvalue()))) as archive:
        held = [(one.name, one.mode, one.uname, archive.extractfile(one)) for one in archive]
        assert [(*one, content.read()) for *one, content in held if content is not None] == [
            ("a", 0o644, "", b"one"),
            ("b", 0o755, "", b"two"),
        ]


def test_the_running_environment_is_the_editable_install() -> None:
    assert clairvoyant.models.__file__ is not None
    assert Path(clairvoyant.models.__file__).resolve() == ROOT / "models" / "__init__.py"


@pytest.mark.slow
def test_the_installed_wheel_imports_outside_the_repository(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile"]
    run(*pip, "--target", target, wheel, cwd=tmp_path)
    script = (
        "import importlib, sys\nfor name in sys.argv[1:]: print(importlib.import_module(name).__file__)\n"
    )
    printed = run(sys.executable, "-c", script, *PACKAGES, cwd=tmp_path, PYTHONPATH=str(target)).splitlines()
    assert printed == [str(target.joinpath(*package.split("."), "__init__.py")) for package in PACKAGES]


def locked_lines(lock: str = LOCK) -> list[str]:
    return [line for line in lock.splitlines() if not line.startswith("#")]


def refused_by_the_lock(wanted: list[str], lock: str = LOCK) -> list[str]:
    """Requirements that the lock does not pin, or pins at a version that they do not allow."""
    pinned = {str(canonicalize_name(pin.name)): pin.specifier for pin in map(Requirement, locked_lines(lock))}
    refused = []
    for requirement in map(Requirement, wanted):
        pins = [pin.version for pin in pinned.get(canonicalize_name(requirement.name), [])]
        if len(pins) != 1 or not requirement.specifier.contains(pins[0]):
            refused.append(f"{requirement} is locked at {pins}")
    return refused


def test_the_lock_pins_every_dependency_and_holds_no_address() -> None:
    assert "://" not in LOCK + DOCS_LOCK
    lines = [*locked_lines(), *locked_lines(DOCS_LOCK)]
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[a-zA-Z0-9.+!]+( ; .+)?", line)] == []
    project = PROJECT["project"]
    extras = project["optional-dependencies"]
    for name in ("dev", "environments", "rl", "cluster", "notebooks", "parquet"):
        assert refused_by_the_lock(extras[name]) == []
    assert refused_by_the_lock(extras["docs"], LOCK + DOCS_LOCK) == []
    wanted = [*project["dependencies"], *PROJECT["build-system"]["requires"], "highspy==1.14.0"]
    assert refused_by_the_lock(wanted) == []


def test_pytorch_is_pinned_with_all_it_needs_except_for_cuda() -> None:
    """A build for CUDA needs gigabytes more, which `make training` fetches where pip finds such a build."""
    assert PROJECT["project"]["optional-dependencies"]["rl"] == ["torch==2.13.0"]
    assert "torch==2.13.0" in locked_lines()
    assert [line for line in locked_lines() if CUDA.match(line)] == []
    needed = [text for text in requires("torch") or [] if "extra ==" not in text and not CUDA.match(text)]
    assert needed
    assert refused_by_the_lock(needed) == []


def test_setup_leaves_out_what_needs_pytorch_and_nothing_else() -> None:
    found = re.search(r"^PYTORCH := (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert found
    pattern = re.compile(found[1].replace("\\", ""))  # one of basic regular expressions, for grep
    left = {line.partition("==")[0] for line in locked_lines() if pattern.match(line)}
    needs = {
        one.metadata["Name"]: [Requirement(text) for text in one.requires or []] for one in distributions()
    }
    needy = {"torch"}
    for _ in range(3):
        needy |= {
            canonicalize_name(name)
            for name, wanted in needs.items()
            if any(canonicalize_name(one.name) in needy and "extra" not in str(one.marker) for one in wanted)
        }
    needy &= {line.partition("==")[0] for line in locked_lines()}
    assert left == needy


# Maximise x over 0 <= x <= 3, with each library's own solver: CVXPY with Clarabel and with HiGHS, PyTorch by
# a projected gradient step.
SOLVE = {
    "highspy": """
import highspy
highs = highspy.Highs()
highs.setOptionValue("output_flag", False)
x = highs.addVariable(lb=0, ub=3)
highs.maximize(x)
assert abs(highs.getObjectiveValue() - 3) < 1e-6
""",
    "ortools": """
from ortools.linear_solver import pywraplp
from ortools.sat.python import cp_model
model = cp_model.CpModel()
y = model.new_int_var(0, 3, "y")
model.maximize(y)
solver = cp_model.CpSolver()
assert solver.solve(model) == cp_model.OPTIMAL and solver.value(y) == 3
""",
    "cvxpy": """
import cvxpy as cp
z = cp.Variable()
for name in ("CLARABEL", "HIGHS"):
    assert abs(cp.Problem(cp.Maximize(z), [z >= 0, z <= 3]).solve(solver=name) - 3) < 1e-6
""",
    "torch": """
import torch
w = torch.zeros(1, requires_grad=True)
(slope,) = torch.autograd.grad(w.sum(), w)
assert (w + 4 * slope).clamp(0, 3).item() == 3
""",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "order",
    [("highspy", "ortools", "cvxpy", "torch"), ("torch", "cvxpy", "ortools", "highspy")],
    ids="-".join,
)
def test_the_solvers_live_in_one_process(order: tuple[str, ...], tmp_path: Path) -> None:
    script = "".join(SOLVE[name] for name in order) + "\nprint('solved')"
    assert run(sys.executable, "-c", script, cwd=tmp_path).endswith("solved\n")


def test_importing_the_package_loads_no_heavy_library(tmp_path: Path) -> None:
    """What takes time loads when first used: this is how `import clairvoyant` stays under half a second."""
    heavy = ["cvxpy", "highspy", "hypothesis", "matplotlib", "networkx", "numba", "ortools", "pyomo", "scipy"]
    heavy += ["gpytorch", "torch"]
    script = "import sys, clairvoyant; print(*sorted(set(sys.argv[1:]) & set(sys.modules)))"
    assert run(sys.executable, "-c", script, *heavy, cwd=tmp_path).split() == []
