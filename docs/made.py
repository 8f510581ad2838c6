"""What pages show that is made: errata of the audit's findings, tables of the registries, references.

A page calls a function of :data:`MAKERS` by a line ``<!-- made: NAME ARGUMENT -->``.
"""

import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any

from drawings import growth, picture

import clairvoyant as cv
from clairvoyant.api import policy_table
from clairvoyant.online.placement.learned.policies import SHIPPED
from clairvoyant.problems import also_seen, find

HERE = Path(__file__).parent
MARK = re.compile(r"^<!-- made: (\S+) (\S+) -->$", re.MULTILINE)
NOTEBOOK = re.compile(r"\[([^\]]+)\]\((?:\.\./)+notebooks/([\w-]+)\.ipynb\)")

DOUBTFUL = ("refuted", "not reproduced", "holds amended", "vacuous", "undetermined", "not checkable here")
"""The verdicts other than "holds", in the order in which a reader wants to know them."""

THEMES: dict[str, tuple[str, ...]] = {
    "instances": (
        *("generate", "load", "from_table", "from_trace", "Instance", "AllocationInstance"),
        *("AllocationGangInstance", "SelectionInstance", "SelectionGangInstance", "AdmissionInstance"),
        "PlacementInstance",
    ),
    "optima": ("solve", "list_oracles", "Optimum", "WhyStopped"),
    "policies": ("play", "Run", "make_policy", "list_policies", "Policy", "Traits", "train"),
    "comparisons": (
        "compare",
        "Comparison",
        "leaderboard",
        "Leaderboard",
        "regret",
        "ratio",
        "Interval",
        "sweep",
        "results",
    ),
    "plots": (
        *("plot_regret", "plot_schedule", "plot_utilization", "plot_holdings", "plot_ratio", "explore"),
    ),
    "claims": ("Claim", "Finding", "Verdict"),
    "errors": (
        "ClairvoyantError",
        "InputError",
        "DecisionError",
        "OracleError",
        "PolicyError",
        "TamperError",
    ),
}
"""Which public names stand together: each of them in one place."""

NOT_SHOWN = {"__version__", "analysis", "models", "online", "oracles", "testing"}


def fill(text: str) -> str:
    """Return the text of a page with all that is made for it, and links to notebooks that lead to pages."""
    text = MARK.sub(lambda found: MAKERS[found[1]](found[2]), text)
    return NOTEBOOK.sub(r"{doc}`\1 </tutorials/\2>`", text)


def plain(text: Any) -> str:
    """Return what Markdown shows as this very text."""
    shown = f"{text:,.6g}" if isinstance(text, float) else str(text)
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", " ".join(shown.split()))


def rows(heads: Iterable[str], lines: Iterable[Iterable[Any]]) -> str:
    """Return a table; its cells are Markdown."""
    heads = [*heads]
    body = [heads, ["---"] * len(heads), *lines]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in body) + "\n"


def folded(summary: str, body: str) -> str:
    """Return what a reader unfolds."""
    return f"<details><summary>{summary}</summary>\n\n{body}\n</details>\n"


def errata(problem: str) -> str:
    """Return what the audit finds of a paper: the statements in doubt one by one, then the others."""
    kept, full = found_of(problem), full_of(problem)
    papers = [one for one in kept["findings"] if not one["ours"]]
    found = {
        verdict: [one for one in papers if one["verdict"] == verdict] for verdict in (*DOUBTFUL, "holds")
    }
    text = [f"{len(papers)} statements were checked (mode {kept['mode']}, seed {kept['seed']}): "]
    text[0] += ", ".join(f"{verdict} {len(some)}" for verdict, some in found.items() if some) + ".\n"
    for verdict in DOUBTFUL:
        if found[verdict]:
            text += [f"## {verdict.capitalize()}\n", *(erratum(one, full) for one in found[verdict])]
    text += ["## Holds\n", listed(found["holds"], full)]
    if ours := [one for one in kept["findings"] if one["ours"]]:
        text += ["## Our own statements\n", listed(ours, full)]
    if full:
        text += at_full_size(kept["findings"], full.values())
    return "\n".join(text)


def found_of(problem: str, mode: str = "") -> dict[str, Any]:
    """Return what is kept of an audit of a problem, with default sizes or of another mode."""
    path = HERE / "findings" / mode / f"{problem}.json"
    found: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {"findings": []}
    return found


def full_of(problem: str) -> dict[str, Mapping[str, Any]]:
    """Return what an audit at the sizes of the paper found, by claim."""
    return {one["claim"]: one for one in found_of(problem, "full")["findings"]}


def otherwise(one: Mapping[str, Any], full: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the verdict at the sizes of the paper where it is another one, else nothing."""
    found: str = full.get(one["claim"], one)["found"]
    return "" if found == one["found"] else found


def differing(problem: str) -> str:
    """Return which claims have another verdict at the sizes of the paper, and of which none is kept."""
    found, full = found_of(problem)["findings"], full_of(problem)
    told = {one["claim"].partition("/")[2]: otherwise(one, full) for one in found}
    other = ", ".join(f"`{name}` ({text})" for name, text in told.items() if text) or "none"
    lacking = ", ".join(f"`{one['claim'].partition('/')[2]}`" for one in found if one["claim"] not in full)
    return (
        f"Other verdicts at the sizes of the paper: {other}. Not checked at those sizes: {lacking or 'none'}."
    )


def trainings(_problem: str) -> str:
    """Return what is on record of the trainings of the package: a row for each design, its seeds together."""
    kept = json.loads((SHIPPED / "curves.json").read_text(encoding="utf-8"))
    by = groupby(sorted(kept), lambda one: one.rpartition("-")[0])
    lines = []
    for name, files in by:
        of = [kept[one] for one in files]
        minutes = ", ".join(f"{one['seconds'] / 60.0:.1f}" for one in of)
        best = ", ".join(f"{min(cost for _, cost in one['curve']):+.1f}" for one in of)
        jobs = sorted(one["jobs"] for one in of)
        ends = " to ".join(f"{many:,}" for many in dict.fromkeys((jobs[0], jobs[-1])))
        lines.append((f"`{name}`", len(of), ends, minutes, best))
    return rows(("networks", "seeds", "jobs each", "minutes", "best validation (%)"), lines)


def faults(problem: str) -> str:
    """Return which faults ``make mutants`` plants in the code of a problem, and what notices each of them."""
    planted = json.loads((HERE.parent / ".ci" / "mutants.json").read_text(encoding="utf-8"))
    told = [(one, *one["name"].split(": ", 1)) for one in planted]
    lines = [
        (
            plain(name),
            f"`{one['file']}`",
            f"`{one['tests']}`",
            one["claims"].replace(f"{problem}/", "").replace(" ", ", "),
        )
        for one, of, name in told
        if of == problem
    ]
    heads = ("fault", "planted in", "tests that die of it", "claims, each of which notices it")
    return folded(f"{len(lines)} faults that are planted, and what notices them", rows(heads, lines))


def at_full_size(findings: Iterable[Mapping[str, Any]], full: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return what an audit at the sizes of the papers found, where that is not the same in every word."""
    known = {one["claim"]: one for one in findings}
    checked = [(known[one["claim"]], one) for one in full]
    other = [(a, b) for a, b in checked if any(a[key] != b[key] for key in ("found", "headline", "numbers"))]
    told = f"{len(checked)} of {len(known)} statements were checked once with `--full`, at the sizes of the "
    cells = [(a["where"], a["claim"], a["found"], b["found"], b["headline"]) for a, b in other]
    numbers = [folded(plain(b["claim"]), "\n".join(evidence(b | {"tables": []}))) for _, b in other]
    return [
        "## At the sizes of the paper\n",
        f"{told}paper. Of {len(other)} this gives other numbers; the others are the same in every word.\n",
        rows(
            ("where", "claim", "found above", "found with --full", "headline"),
            [map(plain, line) for line in cells],
        ),
        *numbers,
    ]


def listed(findings: Iterable[Mapping[str, Any]], full: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a table of findings."""
    lines = [
        [
            *(plain(one[key]) for key in ("where", "says", "headline")),
            plain(one["verdict"]) + (f" (with `--full`: {other})" if (other := otherwise(one, full)) else ""),
        ]
        for one in findings
    ]
    return rows(("where", "statement", "found", "verdict"), lines)


def erratum(one: Mapping[str, Any], full: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a statement, what was found of it, and all that shows it."""
    text = [f"### {plain(one['where'])}\n", f"> {plain(one['says'])}\n", f"**{plain(one['headline'])}**\n"]
    if other := otherwise(one, full):
        text.append(f"At the sizes of the paper, with `--full`, the verdict is another one: {other}.\n")
    for part, label in (("assumes", "Assumed. "), ("remark", "")):
        text += [label + "\n\n".join(map(plain, one[part].split("\n\n"))) + "\n"] if one[part] else []
    if one["choices"]:
        text.append(f"Left open by the text, and varied: {plain(', '.join(one['choices']))}.\n")
    if one["proof"]:
        text.append(folded("Proof", "\n\n".join(map(plain, one["proof"].split("\n\n")))))
    if one["counterexample"]:
        text.append(folded("Counterexample", counterexample(one["counterexample"])))
    if shown := [*evidence(one)]:
        text.append(folded("Numbers", "\n".join(shown)))
    return "\n".join([*text, f"`{one['command']}` checks it again: {plain(one['how'])}\n"])


def evidence(one: Mapping[str, Any]) -> Iterator[str]:
    """Yield the numbers and the tables of a finding."""
    if one["numbers"]:
        yield rows(("number", "value"), [map(plain, pair) for pair in one["numbers"].items()])
    for table in one["tables"]:
        yield f"{plain(table['title'])}\n"
        yield rows(map(plain, table["columns"]), [map(plain, line) for line in table["rows"]])


def counterexample(kept: Mapping[str, Any]) -> str:
    """Return an instance as the text of its file, or the facts of one that is too large for a page."""
    if "instance" not in kept:
        return f"{plain(kept['facts'])}. The command below writes it to `reports/claims/{kept['file']}`.\n"
    fields = (f"{json.dumps(name)}: {json.dumps(value)}" for name, value in kept["instance"].items())
    text = "{" + ",\n ".join(fields) + "}"
    told = "The instance, as a file that `clairvoyant solve` and `clairvoyant play` read:"
    return f"{told}\n\n```json\n{text}\n```\n"


def policies(problem: str) -> str:
    """Return what every policy of a problem sees before it decides, what is proven of it, and its source."""
    lines = []
    for row in policy_table(problem):
        proof = f"{row.guarantee} ({row.proven})" if row.proven else row.guarantee
        drawn = "yes" if cv.list_policies(problem)[row.name].traits.randomised else "no"
        lines.append(
            [
                f"`{row.name}`",
                plain(row.summary),
                plain(also_seen(problem, row.sees)),
                drawn,
                plain(proof),
                plain(row.source),
            ]
        )
    heads = ("policy", "what it does", "sees besides", "draws at random", "guarantee", "source")
    return f"All see before they decide: {plain(find(problem).sight[''])}.\n\n{rows(heads, lines)}"


def oracles(problem: str) -> str:
    """Return what every oracle of a problem computes and what its bound rests on."""
    lines = [
        [
            f"`{name}`",
            plain(one.description),
            ", ".join(f"`{m}`" for m in one.methods) or "–",
            plain(one.guarantee),
        ]
        for name, one in cv.list_oracles(problem).items()
    ]
    return rows(("oracle", "what it computes", "methods", "what the bound rests on"), lines)


def reference(theme: str) -> str:
    """Return the reference of the public names of a theme."""
    return described("clairvoyant", THEMES[theme])


def module(name: str) -> str:
    """Return the reference of all names that a module exports and that have no other place."""
    return described(name, [one for one in import_module(name).__all__ if one not in cv.__all__])


def described(home: str, names: Iterable[str]) -> str:
    """Return the reference of names in a module, for autodoc."""
    lines = []
    for name in names:
        one = getattr(import_module(home), name)
        kind = "class" if inspect.isclass(one) else "function" if callable(one) else "data"
        kind = "exception" if kind == "class" and issubclass(one, BaseException) else kind
        lines.append(f".. auto{kind}:: {home}.{name}")
        lines += ["   :members:"] if kind == "class" else []
        if fields := getattr(one, "_fields", ()):  # of a named tuple, which its docstring describes
            lines.append(f"   :exclude-members: {', '.join(fields)}")
        lines += (
            ["", ""] if getattr(one, "__module__", home).startswith(home) else ["   :no-index:", ""]
        )  # others export it, too
    return "\n".join(["```{eval-rst}", *lines, "```"])


def options(problem: str) -> str:
    """Return what the generator of a problem takes, as its docstring has it."""
    function = find(problem).part("generate")
    return f"```{{eval-rst}}\n.. autofunction:: {function.__module__}.{function.__name__}\n```"


def scaling(problem: str) -> str:
    """Return time and memory over size, of every policy and oracle of a problem, as kept of benchmarks."""
    kept = json.loads((HERE / "scaling" / f"{problem}.json").read_text(encoding="utf-8"))
    common = ", ".join(f"{name} {value}" for name, value in kept["common"].items())
    sizes = {one["step"]: f"{one['size']:,}" for one in kept["cells"] if one["size"]}
    heads = [f"{sizes[step]} {kept['counts']}" for step in sorted(sizes)]
    steps = "; ".join(", ".join(f"{value:,} {name}" for name, value in one.items()) for one in kept["steps"])
    text = [f"{plain(common)}; {steps}.\n"]
    for kind, title in (("oracle", "oracle: seconds, gap"), ("policy", "policy: time per decision")):
        names = dict.fromkeys(one["name"] for one in kept["cells"] if one["kind"] == kind)
        lines = []
        for name in names:
            cells = {one["step"]: one for one in kept["cells"] if (one["kind"], one["name"]) == (kind, name)}
            lines.append([f"`{name}`", *(took(cells.get(step)) for step in sorted(sizes))])
        text += [rows((title, *heads), lines)]
    return "\n".join([*text[:1], growth(kept), *text[1:]])


def took(cell: Mapping[str, Any] | None) -> str:
    """Return what a policy takes per decision, or an oracle in all and how far it comes, with the memory."""
    if cell is None:
        return "–"
    if "over" in cell:
        return f"over {cell['over']:g} s"
    if cell["kind"] == "policy":
        each = 1e3 * cell["seconds"] / max(1, cell["decisions"])
        return (
            f"{each:.2g} ms, {cell['memory']:.2f} GB"
            if each < 99.5
            else f"{each:,.0f} ms, {cell['memory']:.2f} GB"
        )
    gap = cell["gap"]
    told = "no bound" if gap is None else "proved" if gap <= 1e-6 else f"{100 * gap:.2g} %"
    return f"{cell['seconds']:.2g} s, {told}, {cell['memory']:.2f} GB"


MAKERS: dict[str, Callable[[str], str]] = {
    one.__name__: one
    for one in (
        *(errata, differing, faults, trainings, policies, oracles, reference, module, options, picture),
        scaling,
    )
}
