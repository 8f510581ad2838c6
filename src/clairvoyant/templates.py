"""A new policy to start from, and the test file that checks it."""

from __future__ import annotations

import keyword
import re
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import NamedTuple

from .models.base import InputError, make_folder, write_whole
from .problems import find, players

TEST = '''"""The checks of a policy, a test of each."""

from collections.abc import Callable

from clairvoyant.testing import parametrize_with_checks

from $module import $kind


@parametrize_with_checks($kind)
def test_$module(check: Callable[[], None]) -> None:
    """Keep the contract of a policy."""
    check()
'''


class NewPolicy(NamedTuple):
    """The name of a class, and the files of a policy and of its tests."""

    kind: str
    policy: Path
    test: Path


def new_policy(problem: str, name: str, folder: Path) -> NewPolicy:
    """Write a policy of a problem that plays as it stands, and its test file, into a folder.

    Raises
    ------
    InputError
        If the problem has no template, if the name is none for a class, a module and a policy, or if one of
        the files is there already; then nothing is written.
    """
    record = find(problem)
    if not record.has("template"):
        raise InputError(f"problem: {problem!r} has no template: its record has to name one as `template`")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*([-_][A-Za-z0-9]+)*", name):
        raise InputError(f"name: {name!r} is not made of words of letters and digits, such as my-policy")
    words = [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", name)]
    module, kind = "_".join(words), "".join(map(str.capitalize, words))
    names = {"module": module, "kind": kind, "name": "-".join(words)}
    template = record.part("template")
    new = NewPolicy(kind, folder / f"{module}.py", folder / f"test_{module}.py")
    for path in new[1:]:
        if path.exists():
            raise InputError(f"{path}: is there already")
    if names["name"] in players(record.name):
        raise InputError(f"name: {problem!r} has a policy {names['name']!r} already")
    if keyword.iskeyword(module) or find_spec(module) or re.search(rf"\b{kind}\b", template + TEST):
        raise InputError(f"name: {name!r} is that of something in Python, in a package or in the template")
    make_folder(folder)
    for path, text in zip(new[1:], (template, TEST), strict=True):
        write_whole(path, Template(text).substitute(names).encode())
    return new
