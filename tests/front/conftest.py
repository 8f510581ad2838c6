"""What tests of the command line, pages and benchmarks share: one way to run each in this process."""

import json
import re
import shlex
from collections.abc import Callable
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from clairvoyant.cli import commands


class Printed:
    """Exit status and what a command printed."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err

    @property
    def json(self) -> dict[str, Any]:
        """The one JSON object that is all of standard output; refuses NaN and Infinity, which are no JSON."""

        def refuse(constant: str) -> None:
            raise AssertionError(f"{constant} is no JSON")

        data = json.loads(self.out, parse_constant=refuse)
        assert isinstance(data, dict)
        assert self.out.count("\n") == 1
        return data


class Page:
    """A page and the code on it."""

    def __init__(self, path: Path) -> None:
        self.text = path.read_text(encoding="utf-8")

    def named(self, language: str) -> list[tuple[str, str]]:
        """Return the blocks in a language, in order: what stands behind its name, and the text."""
        return re.findall(rf"^```{language}(?: (.*))?\n((?s:.*?))^```", self.text, flags=re.MULTILINE)

    def blocks(self, language: str) -> list[str]:
        """Return the texts of the blocks in a language, in order."""
        return [text for _, text in self.named(language)]

    def commands(self) -> list[list[str]]:
        """Return the words of every line of its shell."""
        return [shlex.split(line) for block in self.blocks("sh") for line in block.splitlines()]


@pytest.fixture(scope="session")
def page() -> Callable[[str], Page]:
    """Return what reads a page by its path in the source."""
    return lambda name: Page(Path(__file__).parents[2] / name)


def script(name: str) -> Any:
    """Return the module of a script in ``.ci``."""
    path = Path(__file__).parents[2] / ".ci" / f"{name}.py"
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def doors() -> Any:
    """Return what writes the typed doors."""
    return script("doors")


@pytest.fixture(scope="module")
def writer() -> Any:
    """Return what writes the schemas."""
    return script("schema")


@pytest.fixture
def columns() -> int:
    """Return the width of tables; a module may want another."""
    return 160


@pytest.fixture
def run(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
) -> Callable[..., Printed]:
    monkeypatch.setenv("COLUMNS", str(columns))

    def call(*arguments: object) -> Printed:
        capfd.readouterr()
        status = commands.main([str(argument) for argument in arguments])
        return Printed(status, *capfd.readouterr())

    return call


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return what loads the benchmarks of a problem, with constants changed so that they are small."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2])

    def load(name: str, **constants: Any) -> Any:
        module = import_module(f"benchmarks.{name}")
        for constant, value in constants.items():
            monkeypatch.setattr(module, constant, value)
        return module

    return load


@pytest.fixture(scope="module")
def builder() -> Any:
    """Return what builds the archives."""
    return script("build")


@pytest.fixture(scope="module")
def mutants() -> Any:
    """Return what plants faults."""
    return script("mutants")


@pytest.fixture(scope="module")
def notebooks() -> Any:
    """Return what executes and compares notebooks."""
    return script("notebooks")


@pytest.fixture(scope="module")
def keeper() -> Any:
    """Return what keeps the findings of an audit for the documentation."""
    return script("findings")
