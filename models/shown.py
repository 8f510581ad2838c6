"""How results are shown: as a few lines of text, and as a small table in a notebook."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

from .checks import things


class Shown(ABC):
    """What is told in a few lines; subclasses provide :meth:`told`."""

    @abstractmethod
    def told(self) -> tuple[str, Mapping[str, str]]:
        """Return the headline, and what stands below it by name, the digest last."""

    def summary(self) -> str:
        """Return a few lines of text: the result first, the digest of the instance last."""
        head, pairs = self.told()
        return "\n".join([head, *(f"  {name}: {text}" for name, text in pairs.items())])

    def _repr_html_(self) -> str:
        """Return the same as a table for a notebook."""
        head, pairs = self.told()
        return html_table(head, pairs.items())


def html_table(caption: str, rows: Iterable[Sequence[str]], columns: Sequence[str] = ()) -> str:
    """Return a table in HTML, all text escaped; the first cell of a row is its head.

    With columns the other cells hold numbers. It sets no colours, so that it looks right on a light page and
    on a dark one.
    """
    from html import escape

    def cells(kind: str, texts: Sequence[str]) -> str:
        sides = ["left", *["right" if columns else "left"] * len(texts)]
        kinds = [f'th scope="{kind}"', *['th scope="col"' if kind == "col" else "td"] * len(texts)]
        return "".join(
            f'<{one} style="text-align: {side}">{escape(text)}</{one[:2]}>'
            for one, side, text in zip(kinds, sides, texts, strict=False)
        )

    head = f"<thead><tr>{cells('col', columns)}</tr></thead>" if columns else ""
    body = "".join(f"<tr>{cells('row', row)}</tr>" for row in rows)
    title = f'<caption style="text-align: left">{escape(caption)}</caption>'
    return f'<table style="color: inherit">{title}{head}<tbody>{body}</tbody></table>'


def number(value: float) -> str:
    """Return a number for people: thousands apart, and six significant digits or one after the point."""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.1f}" if 1e5 <= abs(value) < 1e15 else f"{value:,.6g}"


def sizes(facts: Mapping[str, float]) -> str:
    """Return facts on one line: things counted as "6 jobs", anything else as "largest gang 4"."""
    return ", ".join(
        f"{number(value)} {things(value, name)}" if re.search(r"s\b", name) else f"{name} {number(value)}"
        for name, value in facts.items()
    )


def amount(value: float, unit: str) -> str:
    """Return a number for people with its unit, if it has one."""
    return f"{number(value)} {unit}".rstrip()
