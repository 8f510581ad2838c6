"""Write src/clairvoyant/_doors.pyi: the front door with an overload per problem, for type checkers.

The signatures are those of the generators, the readers of traces and the oracles that the records of the
problems name. ``tests/front/test_doors.py`` says when this has to run again: ``python .ci/doors.py``.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from clairvoyant import api
from clairvoyant.problems import OURS, Problem, oracles

TARGET = Path(__file__).resolve().parents[1] / "src" / "clairvoyant" / "_doors.pyi"
HEAD = '''"""The front door with an overload per problem: written by .ci/doors.py, not by hand."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol, overload

import numpy as np

from .models.base import Episode, Instance, Violation
from .online.base import Policy
from .online.play import Run
from .oracles.base import Optimum, ProgressCallback
'''
OTHER = '''
class OtherInstance(Protocol):
    """An instance of no problem of ours: those give its name as a literal, which is no such attribute."""

    problem: ClassVar[str]

    def episode(self, sees: frozenset[str]) -> Episode: ...
    def violations(self, decision: Any) -> list[Violation]: ...
    def digest(self) -> str: ...
'''
SOLVE = """@overload
def solve(
    instance: OtherInstance, oracle: str | None = None, *, method: str = ..., gap: float = ...,
    time_limit: float | None = None, progress: ProgressCallback | None = None,
) -> Optimum: ...
"""
"""What holds for any other instance: names and options are checked where the problem is known."""


def literal(names: Iterable[str]) -> str:
    """Return the type of these names and no others."""
    return f"Literal[{', '.join(map(repr, names))}]"


def written(parameter: inspect.Parameter, known: Mapping[str, Sequence[str]]) -> str:
    """Return a parameter as it stands in a signature; of some, all values that they can have are known."""
    kind, values = parameter.annotation, known.get(parameter.name)
    annotation = kind if isinstance(kind, str) else inspect.formatannotation(kind)
    annotation = annotation if values is None else literal(values)
    text = f"{parameter.name}: {annotation.replace('collections.abc.', '')}"
    return text if parameter.default is parameter.empty else f"{text} = {parameter.default!r}"


def overload(
    name: str, parameters: list[inspect.Parameter], first: str, returns: str, **known: Sequence[str]
) -> str:
    """Return one overload of a function; ``first`` stands in the place of the first parameters."""
    ordered = [written(p, known) for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    by_name = [written(p, known) for p in parameters if p.kind is p.KEYWORD_ONLY]
    texts = [first, *ordered, *(["*", *by_name] if by_name else [])]
    return f"@overload\ndef {name}({', '.join(texts)}) -> {returns}: ...\n"


def of_problem(name: str, function: Callable[..., Any], problem: Problem, skip: str | None = None) -> str:
    """Return the overload of a function that takes the name of a problem first."""
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name != skip]
    first = f'problem: Literal["{problem.name}"]'
    if skip is not None:
        first += ", folder: str | os.PathLike[str]"
    return overload(name, parameters, first, problem.part("instance").__name__)


def solving(problem: Problem) -> Iterator[str]:
    """Yield the overloads of ``solve`` for the instances of a problem, the default oracle first."""
    for place, (name, entry) in enumerate(oracles(problem.name).items()):
        signature = inspect.signature(entry.function)
        named = literal((name, f"{problem.name}/{name}"))
        oracle = f"oracle: {named} | None = None" if place == 0 else f"oracle: {named}"
        first = f"instance: {problem.part('instance').__name__}, {oracle}"
        parameters, returns = list(signature.parameters.values())[1:], renamed(entry.function, problem)
        yield overload("solve", parameters, first, returns, method=entry.methods)


def schedules() -> Iterator[str]:
    """Yield the imports of the classes of decisions, under names that differ."""
    for problem in OURS:
        for entry in oracles(problem.name).values():
            name = decision(entry.function)
            if "." not in name:
                kind = getattr(sys.modules[entry.function.__module__], name)
                yield imported(kind, f" as {problem.room.capitalize()}{name}")


def decision(function: Callable[..., Any]) -> str:
    """Return what an oracle annotates its decision with."""
    return inspect.signature(function).return_annotation.removeprefix("Optimum[").removesuffix("]")


def renamed(function: Callable[..., Any], problem: Problem) -> str:
    """Return the annotation of what an oracle returns, with the names that the imports give."""
    name = decision(function)
    return f"Optimum[{name if '.' in name else problem.room.capitalize() + name}]"


def imported(kind: type[Any], renaming: str = "") -> str:
    """Return the line that imports a class."""
    return f"from .{kind.__module__.removeprefix('clairvoyant.')} import {kind.__name__}{renaming}\n"


def loading(problem: Problem) -> str:
    """Return the overload of ``load`` for the instances of a problem."""
    kind = problem.part("instance").__name__
    first = f'path: str | os.PathLike[str], problem: Literal["{problem.name}"]'
    return overload("load", [], first, kind)


def other(name: str) -> str:
    """Return the signature of a function that has no overloads."""
    signature = inspect.signature(getattr(api, name))
    return f"def {name}{signature}: ...\n".replace("'", "")


def stub() -> str:
    """Return the text of the file, before it is formatted."""
    names = ", ".join(f'"{problem.name}"' for problem in OURS)
    imports = {imported(problem.part("instance")) for problem in OURS} | set(schedules())
    parts = [HEAD + "".join(sorted(imports)), f"\nProblemName = Literal[{names}]\n", OTHER]
    parts += [of_problem("generate", problem.part("generate"), problem) for problem in OURS]
    parts += [of_problem("from_trace", problem.part("from_trace"), problem, "folder") for problem in OURS]
    parts += [*map(loading, OURS)]
    parts += [overload("load", [], "path: str | os.PathLike[str], problem: None = None", "Instance")]
    parts += [text for problem in OURS for text in solving(problem)]
    parts += [SOLVE, other("play"), other("make_policy")]
    return "\n".join(parts)


def formatted(text: str) -> str:
    """Return the text in the style of the project."""
    ruff = str(Path(sys.executable).with_name("ruff"))
    for task in (["check", "--fix", "--quiet", "--select", "I,F401"], ["format"]):
        command = [ruff, *task, "--stdin-filename", str(TARGET), "-"]
        text = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    return text


if __name__ == "__main__":
    TARGET.write_text(formatted(stub()), encoding="utf-8")
