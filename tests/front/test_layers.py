"""Imports run one way: models <- oracles and online <- analysis <- front door; online never sees oracles."""

import ast
import sys
from collections.abc import Callable, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

from clairvoyant import api

ROOT = Path(__file__).resolve().parents[2]
MAY_IMPORT = {
    "models": {"models"},
    "oracles": {"oracles", "models", "verify"},  # the checker, which imports nothing
    "online": {"online", "models"},  # never oracles: a policy cannot ask the clairvoyant
    "analysis": {"analysis", "models", "oracles", "online"},
}
STOPWATCH = "models/stopwatch.py"
BY_NAME = {STOPWATCH, "analysis/engine/worker.py"}
"""Where names are handed over: by calls that are checked like imports; by whoever makes a cell."""
MODULES = sorted(path for layer in MAY_IMPORT for path in (ROOT / layer).rglob("*.py"))


@cache
def parsed(source: str) -> ast.Module:
    """Return the syntax tree of a module, which several rules look at."""
    return ast.parse(source)


def resolve(name: str, level: int, package: str) -> str:
    """Absolute name of what `from <level dots><name>` means inside `package`."""
    if level == 0:
        return name
    parents = package.split(".")
    base = parents[: max(0, len(parents) - level + 1)]
    return ".".join([*base, name] if name else base)


def imported(node: ast.AST, package: str) -> list[tuple[str, bool]]:
    """Absolute names that a node of the syntax tree imports, each with whether it was written relatively."""
    if isinstance(node, ast.Import):
        return [(alias.name, False) for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        source = resolve(node.module or "", node.level, package)
        # `from .. import models` names the layer in the list, `from ..models import x` before it.
        return [(f"{source}.{alias.name}", node.level > 0) for alias in node.names]
    if isinstance(node, ast.Call) and node.args:
        function = node.func
        called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if called in {"import_module", "__import__", "library"}:
            match node.args[0]:
                case ast.Constant(value=str(name)):
                    level = len(name) - len(name.lstrip("."))
                    return [(resolve(name.lstrip("."), level, package), level > 0)]
                case _:
                    return [("<computed>", False)]
    return []


def broken_rules(source: str, path: str) -> list[str]:
    """Every import in `source` (a module at `path`, relative to the root) that breaks a layer rule."""
    parts = ["clairvoyant", *Path(path).parts[:-1]]
    layer, package = parts[1], ".".join(parts)
    broken = []
    for node in ast.walk(parsed(source)):
        for name, relative in imported(node, package):
            place = f"{path}:{getattr(node, 'lineno', 0)}"
            first, _, rest = name.partition(".")
            target = rest.partition(".")[0]
            if name == "<computed>" and path in BY_NAME:
                continue
            if name == "<computed>":
                broken.append(f"{place}: imports a module by a computed name, which nobody can check")
            elif first in MAY_IMPORT or not first:
                broken.append(f"{place}: imports {name!r}, which exists only inside the repository")
            elif first == "clairvoyant" and not relative:
                broken.append(f"{place}: imports {name}; between the layers imports are relative")
            elif first == "clairvoyant" and target not in MAY_IMPORT[layer]:
                broken.append(f"{place}: {layer} must not import {name}")
    return broken


def broken(rules: Callable[[str, str], list[str]]) -> list[str]:
    """Every place in the layers that breaks a rule."""
    texts = [(path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix()) for path in MODULES]
    return [place for source, path in texts for place in rules(source, path)]


def test_every_module_keeps_the_layer_rules() -> None:
    assert broken(broken_rules) == []


def test_every_layer_was_scanned() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in MODULES} == set(MAY_IMPORT)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("models/base.py", "from ..oracles import solve"),
        ("models/base.py", "from ..online.play import play"),
        ("models/allocation/instance.py", "from ...analysis import regret"),
        ("oracles/annealing.py", "from ..online import play"),
        ("oracles/annealing.py", "from ..analysis import regret"),
        ("online/allocation/oga.py", "from ...oracles.allocation import stationary"),
        ("online/allocation/oga.py", "from ... import oracles"),
        ("online/allocation/oga.py", "def late():\n    from ...oracles import allocation"),
        ("online/allocation/oga.py", "if TYPE_CHECKING:\n    from ...oracles import allocation"),
        ("online/allocation/oga.py", "import_module('...oracles.allocation', __package__)"),
        ("online/allocation/oga.py", "importlib.import_module('clairvoyant.oracles')"),
        ("online/allocation/oga.py", "__import__(name)"),
        ("online/play.py", "from .. import audit"),  # the front door
        ("analysis/regret.py", "from ..testing import check_policy"),
        ("analysis/regret.py", "import clairvoyant.models"),
        ("analysis/regret.py", "from clairvoyant import models"),
        ("analysis/regret.py", "from models import base"),
        ("analysis/regret.py", "from .... import models"),
    ],
)
def test_the_scan_finds_a_broken_rule(path: str, source: str) -> None:
    assert len(broken_rules(source, path)) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("models/base.py", "import numpy as np\nfrom . import allocation\nfrom .program import Program"),
        ("models/allocation/__init__.py", "from ..base import Instance\nfrom .instance import Allocation"),
        (
            "oracles/allocation/optimum.py",
            "from ...models.allocation import project\nfrom ..base import Optimum",
        ),
        ("online/play.py", "from .. import models\nfrom ..models.base import Instance"),
        ("analysis/regret.py", "from .. import models, online, oracles\nimport importlib"),
        ("analysis/regret.py", "import_module('scipy.stats')"),
    ],
)
def test_the_scan_lets_good_imports_pass(path: str, source: str) -> None:
    assert broken_rules(source, path) == []


# No circles, however late an import is.

SOURCES = {
    path.relative_to(ROOT if path in MODULES else ROOT / "src" / "clairvoyant").as_posix(): path
    for path in (*MODULES, *(ROOT / "src" / "clairvoyant").rglob("*.py"))
}


def circle(sources: Mapping[str, str]) -> list[str]:
    """One circle of modules that import each other, late or for type checkers alike; empty if none."""
    parts = {path: ("clairvoyant", *Path(path).with_suffix("").parts) for path in sources}
    names = {path: ".".join(p[:-1] if p[-1] == "__init__" else p) for path, p in parts.items()}
    known = set(names.values())
    graph = {
        names[path]: {
            target if target in known else target.rpartition(".")[0]
            for node in ast.walk(parsed(source))
            for target, _ in imported(node, ".".join(parts[path][:-1]))
        }
        for path, source in sources.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_modules_import_each_other() -> None:
    assert circle({name: path.read_text(encoding="utf-8") for name, path in SOURCES.items()}) == []


@pytest.mark.parametrize(
    ("importer", "source"),
    [
        ("models/base.py", "from .allocation.instance import AllocationInstance"),
        ("models/base.py", "def late():\n    from .allocation import instance"),
        ("models/base.py", "if TYPE_CHECKING:\n    from .allocation.instance import AllocationInstance"),
        ("models/base.py", "import_module('.allocation.instance', __package__)"),
        ("models/allocation/setting.py", "from . import Setting"),
        ("models/allocation/setting.py", "from .setting import Setting"),
        ("problems.py", "import clairvoyant.models.allocation"),
    ],
)
def test_the_scan_finds_a_planted_circle(importer: str, source: str) -> None:
    others = {
        "models/allocation/instance.py": "from ..base import Instance\nfrom .setting import Setting",
        "models/allocation/__init__.py": "from .instance import AllocationInstance\nfrom ... import problems",
        "models/base.py": "",
        "models/allocation/setting.py": "",
        "problems.py": "",
    }
    assert circle(others) == []
    assert circle(others | {importer: source})


@pytest.mark.parametrize("problem", ["allocation", "selection", "admission", "placement"])
def test_a_room_exports_what_a_policy_author_imports(problem: str) -> None:
    room, instance = import_module(f"clairvoyant.models.{problem}"), api.generate(problem, "tiny")
    assert type(instance.setting) is room.Setting
    assert type(next(iter(instance.episode(frozenset())))) is room.Observation
    assert room.Feedback.__module__ == room.Setting.__module__ == f"clairvoyant.models.{problem}.setting"


# One clock, and what loads while it stands.

LAZY = {"models", "oracles", "online"}
LIGHT = {*sys.stdlib_module_names, "numpy"}


def clock_rules(source: str, path: str) -> list[str]:
    """Every place in `source` where time could be counted that goes into loading or compiling."""
    tree = parsed(source)
    heavy = [
        f"{path}:{node.lineno}: a function imports {name} while the clock may go; use stopwatch.library"
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef) and path.partition("/")[0] in LAZY
        for node in ast.walk(function)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name, relative in imported(node, "")
        if not relative and name.partition(".")[0] not in LIGHT
    ]
    compilers = [
        f"{path}:{node.lineno}: imports numba; kernels are declared with models/compiled.py"
        for node in ast.walk(tree)
        if path != "models/compiled.py" and isinstance(node, (ast.Import, ast.ImportFrom))
        for name, _ in imported(node, "")
        if name.partition(".")[0] == "numba"
    ]
    clocks = [
        f"{path}:{node.lineno}: time.{node.attr} counts loading and compiling; use stopwatch.now"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in {"perf_counter", "monotonic", "time"}
        if isinstance(node.value, ast.Name) and node.value.id == "time" and path != STOPWATCH
    ]
    return heavy + compilers + clocks


def test_no_module_counts_loading_and_compiling() -> None:
    assert broken(clock_rules) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("oracles/allocation/optimum.py", "def late():\n    import highspy"),
        ("models/program.py", "def late():\n    from pyomo import environ"),
        ("online/play.py", "begin = time.perf_counter()"),
        ("analysis/regret.py", "begin = time.monotonic()"),
        ("online/allocation/kernels.py", "from numba import njit"),
    ],
)
def test_the_scan_finds_what_would_be_counted(path: str, source: str) -> None:
    assert len(clock_rules(source, path)) == 1
