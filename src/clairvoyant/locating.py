"""Classes of policies of one's own, by ``module:Class`` or ``file.py:Class``, and what goes wrong in them."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterable, Mapping
from importlib import import_module, invalidate_caches
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from .analysis.engine.cells import imported_by, sources_of_module
from .analysis.engine.cells import place_of as imported_from
from .models.base import InputError, did_you_mean, path_of, regular
from .online.play import ASKED

_loaded: dict[str, dict[str, str]] = {}
"""The names of packages and files, without their ends, that were loaded from here, and their source."""


class Own(NamedTuple):
    """What a text asks for: a class in a module or a file, and its settings (None if there are none)."""

    where: str
    kind: str
    settings: str | None


def own(text: str) -> Own | None:
    """Read ``module:Class`` or ``file.py:Class``, with ``:setting=value,...`` after it; None for a name."""
    found = re.fullmatch(r"(.+?\.py|[A-Za-z_][\w.]*):([A-Za-z_]\w*)(?::(.*))?", text, re.DOTALL)
    return None if found is None else Own(*found.groups())


def class_of(wanted: Own, names: Iterable[str] = ()) -> type:
    """Return the class, after its module is imported; the working directory is looked in as well.

    ``names`` are those of policies, one of which may be meant where there is no such module.

    Raises
    ------
    InputError
        If there is no such module, file or class, or if the module raises an error, saying where.
    """
    where, name, _ = wanted
    invalidate_caches()
    module = _name_of_file(where) if where.endswith(".py") else where
    _look_in(Path.cwd())
    top = module.partition(".")[0]
    _forget_if_changed(module, _loaded.setdefault(top, {}))
    try:
        found = import_module(module)
    except (Exception, SystemExit) as error:
        if (
            isinstance(error, ModuleNotFoundError)
            and error.name
            and f"{module}.".startswith(f"{error.name}.")
        ):
            meant = did_you_mean(where, names)
            raise InputError(f"policy: {where!r} is neither a policy nor a module{meant}") from error
        raise InputError(f"policy: {where} cannot be imported: {fault(error) or error}") from error
    _loaded[top] = sources_of_module(module)
    kind = getattr(found, name, None)
    if not isinstance(kind, type):
        classes = [key for key, one in vars(found).items() if isinstance(one, type)]
        raise InputError(f"policy: {where} has no class {name!r}{did_you_mean(name, classes)}")
    return kind


def _forget_if_changed(module: str, sources: Mapping[str, str]) -> None:
    """Have a module imported anew, with what it imports of one's own, if its source is another by now."""
    if module in sys.modules and sources and sources_of_module(module) != sources:
        for name in [name for name in sys.modules if name.partition(".")[0] in sources]:
            del sys.modules[name]


def _name_of_file(where: str) -> str:
    """Return the name by which a file can be imported from now on, in processes of its own, too."""
    path = regular(path_of("policy", where)).resolve()
    _look_in(path.parent)
    name = path.stem
    spec = find_spec(name) if name.isidentifier() else None
    if spec is None or spec.origin != str(path):
        other = "no name of a module" if spec is None else f"also that of {spec.origin or 'another module'}"
        raise InputError(f"policy: {where}: the name of the file is {other}; give it another one")
    _refuse_hidden(where, path)
    return name


def _refuse_hidden(where: str, path: Path) -> None:
    """Refuse a file that would import another module in the place of one that lies beside it."""
    seen, waiting = {path}, [path]
    while waiting:
        place = waiting.pop()
        files = place.rglob("*.py") if place.is_dir() else [place]
        for name in {one for file in files for one in imported_by(file.read_bytes())}:
            beside = [one for one in (path.parent / name, path.parent / f"{name}.py") if one.exists()]
            if not beside or not seen.isdisjoint(beside):
                continue
            found = imported_from(name)
            if found is None or found not in beside:
                told = f"imports {name!r}, which is {found or 'a module of Python'}"
                mine = f"and not {beside[0].name} beside it; give that another name"
                raise InputError(f"policy: {where}: {told}, {mine}")
            seen.add(found)
            waiting.append(found)


def _look_in(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.append(str(folder))  # the last one, so that it hides nothing


def fault(error: BaseException) -> str | None:
    """Return the last line of an error after its place in the code of such a class; None if it has none.

    Where no line of such a class is known, but the policy that was asked, that is the place.
    """
    place = place_of(error) or vars(error).get(ASKED)
    return None if place is None else f"{place}: {traceback.format_exception_only(error)[-1].strip()}"


def place_of(error: BaseException) -> str | None:
    """Return the last place in the code of such a class, or of others' packages, that an error went through.

    None if there is none.
    """
    if isinstance(error, SyntaxError) and error.filename and _loaded:
        return f"{error.filename}, line {error.lineno}"
    from .problems import packages

    theirs = {*_loaded, *packages()}
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        if str(frame.f_globals.get("__name__")).partition(".")[0] in theirs:
            return f"{frame.f_code.co_filename}, line {line}, in {frame.f_code.co_name}"
    return None


def with_place(error: BaseException) -> str:
    """Return what an error says and, if another one in the code of such a class is behind it, the place."""
    text = str(error)
    while error.__cause__ is not None:
        error = error.__cause__
    place = None if isinstance(error, AssertionError) else place_of(error)
    return f"{text} ({place})" if place else text
