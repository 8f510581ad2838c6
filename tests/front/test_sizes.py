"""No function is so long that one cannot read it at a sitting."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("models", "oracles", "online", "analysis", "src/clairvoyant", "benchmarks", "examples", ".ci")
MOST = 80


def long_functions(source: str) -> list[tuple[str, int]]:
    """Return the functions of more than :data:`MOST` lines, with their numbers of lines."""
    functions = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef))
    sizes = [(node.name, (node.end_lineno or 0) - node.lineno + 1) for node in functions]
    return [(name, lines) for name, lines in sizes if lines > MOST]


@pytest.mark.parametrize("layer", LAYERS)
def test_no_function_is_too_long(layer: str) -> None:
    modules = sorted((ROOT / layer).rglob("*.py"))
    assert modules
    found = {path.relative_to(ROOT).as_posix(): long_functions(path.read_text("utf-8")) for path in modules}
    assert {path: functions for path, functions in found.items() if functions} == {}


@pytest.mark.parametrize(("lines", "found"), [(MOST, []), (MOST + 1, [("f", MOST + 1)])])
def test_the_scan_counts_lines(lines: int, found: list[tuple[str, int]]) -> None:
    body = "        pass\n" * (lines - 1)
    assert long_functions(f"class A:\n    def f(self):\n{body}") == found
