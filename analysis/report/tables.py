"""Tables of what is not a finding: policies, oracles, and the fields of a small instance."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ...models.base import Declared, Instance
from ...models.fields import List, Record
from ..claim import Table, table
from .text import cell

if TYPE_CHECKING:
    from ...online.named import PolicyRow
    from ...oracles.base import OracleEntry

MOST_ROWS, MOST_COLUMNS = 24, 7
"""Of a table of an instance, in which entries in line that are equal are one; many fields are its rows."""

HEAD = {"problem", "version", "origin"}  # fields of a file that are not part of the instance


def policy_table(policies: Iterable[PolicyRow]) -> Table:
    """Return what each policy observes before it decides, its guarantee, its settings and its source."""
    rows = (
        (
            row.name,
            row.problem,
            ", ".join(row.sees) or "nothing",
            "yes" if row.randomised else "no",
            "always" if row.feasible else "not always",
            f"{row.guarantee} ({row.proven})" if row.proven else row.guarantee,
            ", ".join(map(_setting, row.settings.items())) or "none",
            row.summary,
            row.source,
        )
        for row in policies
    )
    heads = "policy | problem | observes before deciding, besides what all do | randomised | feasible"
    heads += " | guarantee (where proven) | settings and defaults | description | source"
    return table("Policies", heads, rows)


def oracle_table(oracles: Mapping[str, OracleEntry]) -> Table:
    """Return the problem, the guarantee and the settings of each oracle."""
    rows = (
        (
            name,
            entry.problem,
            entry.description,
            entry.guarantee,
            ", ".join(entry.methods) or "one",
            ", ".join(_options(entry.function)) or "none",
        )
        for name, entry in oracles.items()
    )
    heads = "oracle | problem | computes | guarantee of the bound | methods, the default first | "
    return table("Oracles", f"{heads}settings and defaults", rows)


def _setting(named: tuple[str, Any]) -> str:
    name, value = named
    return f"{name}={value if isinstance(value, (str, int, float, bool)) or value is None else '...'}"


def _options(function: Callable[..., Any]) -> list[str]:
    return [
        _setting((name, parameter.default))
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and name not in ("progress", "method")
    ]


def instance_tables(instance: Instance) -> tuple[list[Table], dict[str, str]]:
    """Return what the file of an instance holds, and what its fields mean where its class declares that.

    The tables are the single values, and one per axis with a column per field. Rows have the index of the
    file; those in line that are equal are one, of "first to last".
    """
    known = dict(_declared(instance))
    single, lists = dict[str, str](), dict[tuple[str, int], dict[str, Any]]()
    data = {name: value for name, value in instance.to_dict().items() if name not in HEAD}
    for name, value in _flat(data):
        if isinstance(value, list) and value:
            axis = known.get(name, ("", ""))[1] or name
            lists.setdefault((axis, len(value)), {}).update(_columns(name, value))
        else:
            single[name] = _text(value)
    values = [Table("Values", ("field", "value"), tuple(single.items()))] if single else []
    shown = [*single, *(name for columns in lists.values() for name in columns)]
    meanings = {name: meaning for name in shown if (meaning := known.get(name, ("",))[0])}
    return values + [_listed(columns, count) for (_, count), columns in lists.items()], meanings


def _declared(instance: Instance) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the declared fields, those of list entries too: names, with meaning and first axis."""
    for one in instance.declared.fields if isinstance(instance, Declared) else ():
        inner = one.kind.record if isinstance(one.kind, List) else one.kind
        if isinstance(inner, Record):
            yield from ((f"{one.name}.{part.name}", (part.meaning, "")) for part in inner.fields)
        else:
            axes = getattr(one.kind, "axes", ()) or (getattr(one.kind, "axis", ""),)
            yield one.name, (one.meaning, str(axes[0]))


def _flat(data: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the fields of an object and of the objects in it, with dots in their names."""
    for name, value in data.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{within}{name}.")
        else:
            yield within + name, value


def _columns(name: str, entries: list[Any]) -> dict[str, list[Any]]:
    """Return a list of objects as a column per field, any other as one column."""
    if not all(isinstance(entry, Mapping) for entry in entries):
        return {name: entries}
    rows = [dict(_flat(entry, f"{name}.")) for entry in entries]
    return {key: [row.get(key) for row in rows] for key in dict.fromkeys(k for row in rows for k in row)}


def _listed(columns: Mapping[str, list[Any]], count: int) -> Table:
    """Return lists of one length as a table, as long and as wide as people read."""
    lines, rows = enumerate(zip(*(map(_text, one) for one in columns.values()), strict=True)), []
    for texts, same in groupby(lines, key=lambda line: line[1]):
        first, *others = (place for place, _ in same)
        rows.append((f"{first} to {others[-1]}" if others else f"{first}", *texts))
    names = list(columns)
    title = names[0] if len(names) == 1 else ", ".join(dict.fromkeys(n.partition(".")[0] for n in names))
    most = MOST_ROWS if len(names) <= MOST_COLUMNS else MOST_COLUMNS
    if len(rows) > most:
        title += f". Of {count} entries those up to {rows[most - 1][0].split()[-1]}"
    lying = [("index", *names), *rows[:most]]
    heads, *body = lying if most == MOST_ROWS else zip(*lying, strict=True)
    return Table(title, tuple(heads), tuple(body))


def _text(value: Any) -> str:
    """Return a number, a text or nested lists of them as they stand in a cell."""
    if isinstance(value, list):
        nested = any(isinstance(entry, list) for entry in value)
        return ("; " if nested else ", ").join(map(_text, value)) or "none"
    return str(cell(value)) if value is None or isinstance(value, (int, float)) else str(value)
