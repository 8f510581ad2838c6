"""The report: a small site with every verdict and its evidence. Same findings, same bytes.

The first page says what stands of each paper and lists all verdicts; a page per problem has the evidence.
"""

from __future__ import annotations

import html
import inspect
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from itertools import count
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

import jinja2

from ...models.base import make_folder, write_whole
from ..claim import Claim, Context, Figure, Finding, Paper, Table, Verdict, in_words
from ..findings import command, counterexample_file, figure_file
from ..optima import in_all, share
from .tables import instance_tables, oracle_table, policy_table
from .text import cell, inline, prose, style

if TYPE_CHECKING:
    from ...online.named import PolicyRow
    from ...oracles.base import OracleEntry

Results = Sequence[tuple[Claim, Finding]]

PAGE, LEADERBOARD = "index.html", "leaderboard.html"

TITLE = re.compile("<title>(.+): claims, checked</title>")
"""How a page of a problem is known, and its name in there."""

BADGES = {
    Verdict.HOLDS: ("✓", "holds", "The statement holds as printed."),
    Verdict.HOLDS_AMENDED: ("≈", "amended", "It holds with the amendment that its section states."),
    Verdict.REFUTED: ("✗", "refuted", "A counterexample or proof is against it under the paper's terms."),
    Verdict.NOT_REPRODUCED: ("≠", "contrary", "Runs are against it, whatever the text leaves open."),
    Verdict.UNDETERMINED: ("~", "unknown", "The text leaves it open, or the samples do not decide."),
    Verdict.VACUOUS: ("∅", "vacuous", "It is true, but implies nothing at the sizes it is used for."),
    Verdict.NOT_CHECKABLE: ("?", "unknown", "It needs something missing: data, hardware or an extra."),
}
"""For each verdict: a sign that needs no colour, a class of the style sheet, and what the verdict means."""

GROUPS = {
    "What stands": (Verdict.HOLDS, Verdict.HOLDS_AMENDED),
    "What does not": (Verdict.REFUTED, Verdict.NOT_REPRODUCED),
    "What is open, or says nothing": (Verdict.UNDETERMINED, Verdict.VACUOUS, Verdict.NOT_CHECKABLE),
}
"""How the first page sorts the main statements of a paper."""

KINDS = {
    "Theorems and their proofs": "Theorem|Lemma|Proposition|Definition",
    "Algorithms": "Algorithm",
    "Equations": r"\(\d+\)",
    "Tables": "Table",
    "Figures": "Fig",
    "Text": "$",
}
"""The sections of a page, with what stands first in the place of a statement there."""

OWN = "Our own statements"

MOST = 6  # most statements that stand for a paper which does not say which are its main ones


def section(name: str, paper: Paper | None, results: Results) -> dict[str, Any]:
    """Return what the first page shows of a problem, and how its own page is divided."""
    found = {claim.id.partition("/")[2]: (claim, finding) for claim, finding in results}
    main = [found[one] for one in paper.main if one in found] if paper else []
    shown = found.get(paper.picture) if paper else None
    claim, finding = found.get(paper.number[0], (None, None)) if paper else (None, None)
    value = finding.numbers.get(paper.number[1]) if paper and finding else None
    return {
        "problem": name,
        "name": paper.name if paper else name,
        "paper": paper,
        "page": f"{name}.html",
        "results": results,
        "kinds": _sorted(results, {kind: [kind] for kind in (*KINDS, OWN)}, kind_of),
        "groups": _sorted(main or results[:MOST], GROUPS, lambda _, finding: finding.verdict),
        "counts": {ours: Counter(f.verdict for c, f in results if c.ours == ours) for ours in (False, True)},
        "picture": shown[1].figures[0] if shown and shown[1].figures else None,
        "number": float(f"{value:.3g}") if isinstance(value, float) else value,
        "numbered": claim,
    }


def _sorted(results: Results, groups: Mapping[str, Any], key: Callable[..., Any]) -> dict[str, Results]:
    """Return results by the group that their key is in, without groups that are empty."""
    found = {name: [one for one in results if key(*one) in keys] for name, keys in groups.items()}
    return {name: some for name, some in found.items() if some}


def kind_of(claim: Claim, _finding: Finding) -> str:
    """Return the section of a claim: our own, or what its place in the paper names first."""
    if claim.ours:
        return OWN
    found = re.search("|".join(f"({pattern})" for pattern in KINDS.values()), claim.where)
    return list(KINDS)[found.lastindex - 1 if found and found.lastindex else -1]


def write_report(
    out: Path,
    findings: Results,
    *,
    mode: str,
    seed: int,
    facts: Mapping[str, Sequence[Table]],
    policies: Sequence[PolicyRow],
    oracles: Mapping[str, OracleEntry],
    papers: Mapping[str, Paper],
    failed: Mapping[str, str] | None = None,
    chosen: str = "",
) -> Path:
    """Write ``index.html`` and a page per problem into the folder of an audit; return the first one's path.

    The pages link to the figures and counterexamples that the audit of this mode and seed wrote there. Facts
    about the instances and papers are by problem; ``failed`` says why claims have no finding, ``chosen`` by
    which options of the command what is in it was chosen. Pages of an earlier audit of other problems stay,
    and the first page links to them apart.
    """
    make_folder(out)
    results: dict[str, list[tuple[Claim, Finding]]] = {}
    for claim, finding in findings:
        results.setdefault(claim.problem, []).append((claim, finding))
    sections = [section(name, papers.get(name), some) for name, some in results.items()]
    environment = _environment()
    environment.globals.update(
        mode=mode,
        seed=seed,
        command=partial(command, context=Context(mode, seed), chosen=chosen),
        size=lambda claim: (out / counterexample_file(claim)).stat().st_size,
        players=policies,
    )
    for one in sections:
        here = partial(_on_page, one["problem"], results)
        page = environment.get_template("problem.html").render(
            section=one,
            facts=facts.get(one["problem"], ()),
            policies=policy_table(row for row in policies if here(row.problem)),
            oracles=oracle_table({key: entry for key, entry in oracles.items() if here(entry.problem)}),
            fresh=partial(next, count(1)),
        )
        write_whole(out / one["page"], page.encode())
    page = environment.get_template("index.html").render(
        sections=sections,
        surprises=[claim for claim, finding in findings if not claim.as_expected(finding)],
        failed=failed or {},
        findings=findings,
        leaderboard=LEADERBOARD if (out / LEADERBOARD).is_file() else None,
        earlier=_earlier(out, [one["page"] for one in sections]),
    )
    write_whole(out / PAGE, page.encode())
    return out / PAGE


class Shown(NamedTuple):
    """What the page of the leaderboards shows of one problem."""

    problem: str
    about: Sequence[str]  # what is ranked, what it is compared with, and what all policies see
    figure: Figure
    tables: Sequence[Table]  # one per group of policies
    families: Table
    folded: Sequence[Table]  # the policies and the instances
    left_out: Mapping[str, str]  # who has no rank, and why
    traces: Mapping[str, str]  # families of traces, and why they are not played, if so


def write_leaderboard(out: Path, boards: Sequence[Shown], chosen: str = "") -> Path:
    """Write the page of the leaderboards, and its pictures, into the folder of a report; return its path.

    ``chosen`` are the options of the command.
    """
    make_folder(out / "figures")
    for board in boards:
        write_whole(out / figure_file(board.figure), f"{board.figure.svg}\n".encode())
    environment = _environment()
    environment.globals["command"] = lambda _claim: f"clairvoyant leaderboard{chosen}"
    template = environment.get_template("leaderboard.html")
    audited = (out / PAGE).is_file()
    told = [(f"{name} ({board.problem})", why) for board in boards for name, why in board.traces.items()]
    traces = [name for name, why in told if not why], [f"{name}: {why}" for name, why in told if why]
    page = template.render(boards=boards, traces=traces, audited=audited, fresh=partial(next, count(1)))
    write_whole(out / LEADERBOARD, page.encode())
    return out / LEADERBOARD


def _earlier(folder: Path, written: Collection[str]) -> dict[str, str]:
    """Return the pages in a folder that an earlier report has left there, each with its name."""
    found = {}
    for path in sorted(folder.glob("*.html")):
        if path.name in written or not path.is_file():
            continue
        with path.open("rb") as stream:
            title = TITLE.search(stream.read(1000).decode(errors="replace"))
        if title:
            found[path.name] = html.unescape(title[1])
    return found


def _on_page(page: str, pages: Collection[str], problem: str) -> bool:
    """Tell whether a problem belongs to a page: its own, or that of the problem which it is a variant of."""
    return problem == page or (problem not in pages and problem.partition("-")[0] == page)


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(cell=cell, prose=prose, anchor=anchor, inline=inline, style=style)
    environment.globals.update(
        version=version("clairvoyant"),
        badges=BADGES,
        own=OWN,
        in_words=in_words,
        in_all=in_all,
        share=share,
        figure_file=figure_file,
        counterexample_file=counterexample_file,
        source=source_line,
        instance_tables=instance_tables,
    )
    return environment


def anchor(claim: Claim) -> str:
    """Return the id of a claim's section."""
    return claim.id.replace("/", "--")


def source_line(check: Callable[..., Any]) -> str:
    """Return file and line of a check, from the package's folder on; an empty text if it has no source."""
    while isinstance(check, partial):
        check = check.func
    function = inspect.unwrap(check)
    code = getattr(function, "__code__", None)
    if code is None:
        return ""
    package = str(function.__globals__.get("__package__") or "").replace(".", "/")
    return f"{PurePosixPath(package, Path(code.co_filename).name)}:{code.co_firstlineno}"
