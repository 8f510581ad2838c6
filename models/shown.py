"""How results are shown: as a few lines of text, and as a small table in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence


class Shown:
    """What is told in a few lines; subclasses provide :meth:`told`."""

    def told(self) -> tuple[str, Mapping[str, str]]:
        """Return the headline, and what stands below it by name, the digest last."""
        raise NotImplementedError

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

    It sets no colours, so that it looks right on a light page and on a dark one.
    """
    from html import escape

    left = 'style="text-align: left"'
    heads = "".join(f'<th scope="col" {left}>{escape(name)}</th>' for name in columns)
    lines = [f"<thead><tr>{heads}</tr></thead>"] if columns else []
    for first, *others in rows:
        cells = "".join(f"<td {left}>{escape(text)}</td>" for text in others)
        lines.append(f'<tr><th scope="row" {left}>{escape(first)}</th>{cells}</tr>')
    return f"<table><caption {left}>{escape(caption)}</caption>{''.join(lines)}</table>"


def number(value: float) -> str:
    """Return a number for people: thousands apart, and six significant digits or one after the point."""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.1f}" if 1e5 <= abs(value) < 1e15 else f"{value:,.6g}"


def amount(value: float, unit: str) -> str:
    """Return a number for people with its unit, if it has one."""
    return f"{number(value)} {unit}".rstrip()
