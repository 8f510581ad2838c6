"""The report: one self-contained page with every verdict and its evidence. Same findings, same bytes."""

from __future__ import annotations

import inspect
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup, escape

from ..models.base import make_folder, write_whole
from .claim import Claim, Context, Figure, Finding, Table, Verdict, table
from .findings import command, counterexample_file, figure_file
from .plots import prefix_ids, superscript

if TYPE_CHECKING:
    from ..online.named import PolicyRow
    from ..oracles.base import OracleEntry

PAGE = "index.html"
WIDTHS = {20: "short", 36: "", 160: "text"}
"""The class of a column by the longest text in it, in characters."""

BADGES = {
    Verdict.HOLDS: ("✓", "holds", "The statement holds as printed."),
    Verdict.HOLDS_AMENDED: ("≈", "amended", "It holds with the amendment that its section states."),
    Verdict.REFUTED: (
        "✗",
        "refuted",
        "A counterexample or a proof is against it, within the paper's own assumptions.",
    ),
    Verdict.NOT_REPRODUCED: (
        "≠",
        "contrary",
        "Runs are against it, over everything that the paper's text leaves open.",
    ),
    Verdict.UNDETERMINED: (
        "~",
        "unknown",
        "Its sign depends on what the text leaves open, or the samples do not decide.",
    ),
    Verdict.VACUOUS: ("∅", "vacuous", "It is true, but implies nothing at the sizes it is used for."),
    Verdict.NOT_CHECKABLE: ("?", "unknown", "It needs something missing: data, hardware or an extra."),
}
"""For each verdict: a sign that needs no colour, a class of the style sheet, and what the verdict means."""

MODES = {
    "quick": "a smoke test at small sizes",
    "default": "sizes that take minutes",
    "full": "the paper's sizes",
}


def write_report(
    out: Path,
    findings: Sequence[tuple[Claim, Finding]],
    *,
    mode: str,
    seed: int,
    facts: Sequence[Table],
    policies: Sequence[PolicyRow],
    oracles: Mapping[str, OracleEntry],
    failed: Mapping[str, str] | None = None,
) -> Path:
    """Write ``index.html`` into the folder of an audit and return its path.

    The page links to the figures and counterexamples that the audit of this mode and seed wrote there. It
    begins with facts about the instances, lists policies and oracles, and says why claims have no finding.
    """
    make_folder(out)
    context = Context(mode, seed)
    numbers = count(1)
    page = _template().render(
        version=version("clairvoyant"),
        mode=mode,
        mode_text=MODES[mode],
        seed=seed,
        badges=BADGES,
        counts={
            "of the papers": Counter(finding.verdict for claim, finding in findings if not claim.ours),
            "of our own": Counter(finding.verdict for claim, finding in findings if claim.ours),
        },
        surprises=[claim for claim, finding in findings if not claim.as_expected(finding)],
        failed=failed or {},
        findings=findings,
        several_problems=len({claim.problem for claim, _ in findings}) > 1,
        facts=facts,
        policies=policy_table(policies),
        oracles=oracle_table(oracles),
        command=lambda claim: command(claim, context),
        figure_file=lambda figure: figure_file(figure).as_posix(),
        counterexample_file=lambda claim: counterexample_file(claim).as_posix(),
        size=lambda claim: file_size((out / counterexample_file(claim)).stat().st_size),
        number=lambda: next(numbers),
    )
    path = out / PAGE
    write_whole(path, page.encode())
    return path


def policy_table(policies: Sequence[PolicyRow]) -> Table:
    """Return the observations before a decision, the guarantee and the settings of each policy."""
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
        )
        for row in policies
    )
    heads = "policy | problem | observes before deciding | randomised | feasible"
    heads += " | guarantee (where proven) | settings and defaults | description"
    return table("Policies", heads, rows)


def oracle_table(oracles: Mapping[str, OracleEntry]) -> Table:
    """Return the problem, the guarantee and the settings of each oracle."""
    rows = (
        (
            name,
            entry.problem,
            "the whole instance",
            entry.description,
            entry.guarantee,
            ", ".join(entry.methods) or "one",
            ", ".join(_options(entry.function)) or "none",
        )
        for name, entry in oracles.items()
    )
    heads = "oracle | problem | observes | computes | guarantee of the bound | methods, the default first | "
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


def _template() -> Any:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(cell=cell, prose=prose, anchor=anchor, inline=inline, style=style)
    return environment.from_string(files(__package__).joinpath("report.html").read_text("utf-8"))


def anchor(claim: Claim) -> str:
    """Return the id of a claim's section."""
    return claim.id.replace("/", "--")


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
    if cells and all(isinstance(c, (int, float)) and not isinstance(c, bool) for c in cells):
        return Markup(' class="number"')
    longest = max((len(str(c)) for c in cells), default=0)
    for length, name in WIDTHS.items():
        if longest <= length:
            return Markup(f' class="{name}"' if name else "")  # noqa: S704 - our own names
    return Markup(' class="long"')


def cell(value: Any) -> Markup:
    """Return a number or a text as it stands in a table.

    >>> str(cell(0.000012345678)), str(cell(1234567)), str(cell(True)), str(cell(None))
    ('1.23457×10⁻⁵', '1234567', 'yes', '–')
    """
    if isinstance(value, bool):
        return prose("yes" if value else "no")
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return prose("–")
    if isinstance(value, float):
        return prose(_short(value))
    return prose(str(value).replace("-", "−") if isinstance(value, int) else str(value))


def _short(value: float) -> str:
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    mantissa, _, exponent = f"{value:.6g}".replace("-", "−").partition("e")
    return f"{mantissa}×10{superscript(int(exponent.replace('−', '-')))}" if exponent else mantissa


def file_size(size: int) -> str:
    """Return a number of bytes as people read it.

    >>> file_size(999), file_size(12345)
    ('999 bytes', '12.3 kB')
    """
    if size < 1000:
        return f"{size} bytes"
    return f"{size / 1000:.1f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"
