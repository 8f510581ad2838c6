"""How texts, numbers, tables and figures stand in a page."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

from markupsafe import Markup, escape

from ..claim import Figure, Table
from ..plots import prefix_ids, superscript

WIDTHS = {20: "short", 36: "", 160: "text"}  # the class of a column by the longest text in it, in characters


def inline(figure: Figure, number: int) -> Markup:
    """Return the figure's SVG for the page: ids of its own, and its caption as the text alternative."""
    svg = prefix_ids(figure.svg[figure.svg.index("<svg") :], f"figure{number}")
    svg = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", svg)  # needed in files, not in a page
    return Markup(svg.replace("<svg", f'<svg role="img" aria-labelledby="caption{number}"', 1))  # noqa: S704


def prose(text: str) -> Markup:
    """Escape a text, and set what stands between double backquotes as code."""
    return Markup(re.sub(r"(?::\w+:)?``?~?([^`]+)``?", r"<code>\1</code>", str(escape(text))))  # noqa: S704


def style(table: Table, column: int) -> Markup:
    """Return the class of a column: numbers to the right, short texts in one line, room for long ones."""
    cells = [row[column] for row in table.rows if row[column] is not None]
    if cells and all(isinstance(c, (int, float, Decimal)) and not isinstance(c, bool) for c in cells):
        return Markup(' class="number"')
    longest = max((len(str(c)) for c in cells), default=0)
    for length, name in WIDTHS.items():
        if longest <= length:
            return Markup(f' class="{name}"' if name else "")  # noqa: S704 - our own names
    return Markup(' class="long"')


def cell(value: Any) -> Markup:
    """Return a number or a text as it stands in a table; a decimal keeps its digits.

    >>> str(cell(0.000012345678)), str(cell(True)), str(cell(None)), str(cell(Decimal("0.30")))
    ('1.23457×10⁻⁵', 'yes', '–', '0.30')
    """
    if isinstance(value, bool):
        return prose("yes" if value else "no")
    if value is None or (isinstance(value, float | Decimal) and math.isnan(value)):
        return prose("–")
    if isinstance(value, float):
        return prose(_short(value))
    return prose(str(value).replace("-", "−") if isinstance(value, int | Decimal) else str(value))


def _short(value: float) -> str:
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    mantissa, _, exponent = f"{value:.6g}".replace("-", "−").partition("e")
    return f"{mantissa}×10{superscript(int(exponent.replace('−', '-')))}" if exponent else mantissa
