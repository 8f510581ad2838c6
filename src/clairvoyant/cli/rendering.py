"""Instances, optima, policies and claims described: as facts for JSON, and as text for people."""

from __future__ import annotations

import inspect
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from . import output as out

if TYPE_CHECKING:
    from ..analysis.claim import Claim, Finding
    from ..models.base import Instance
    from ..online.placement.learned.plan import Progress
    from ..online.play import Run
    from ..oracles.base import Optimum

Results = Sequence[tuple["Claim", "Finding"]]

FOREMOST = 10
"""Most verdicts that the end of an audit tells one by one."""

AGAINST = ("refuted", "not reproduced")
"""Verdicts that are against a statement, the stronger first."""


def instance_facts(file: Path, instance: Instance) -> dict[str, Any]:
    """Return the facts of an instance that every result has."""
    return {
        "file": str(file),
        "problem": instance.problem,
        "minimised": instance.minimised,
        "unit": instance.unit,
        "digest": instance.digest(),
        "facts": instance.facts(),
        "origin": instance.origin.to_dict(),
    }


def remarks(instance: Instance) -> None:
    """Print the remarks on an instance to standard error, before any result."""
    for remark in instance.remarks():
        out.log(f"note: {remark}")


def print_instance(described: Mapping[str, Any], full: bool = True) -> None:
    """Print the instance, its size, its origin, and what is real and what is filled in, or how much."""
    from ..models.base import things
    from ..models.shown import sizes

    out.heading(f"{described['problem']} {described['digest']} ({described['file']})")
    origin = described["origin"]
    pairs: dict[str, str | list[str]] = {"size": sizes(described["facts"]), "origin": origin["source"]}
    for key in ("real", "filled"):
        if origin[key]:
            many = len(origin[key])
            pairs[key] = origin[key] if full else f"{many} {things(many, 'parts')}, listed with -v"
    out.print_pairs(pairs)


def decision_facts(instance: Instance, optimum: Optimum) -> dict[str, Any]:
    """Return the facts of an optimum's decision besides its value."""
    return {} if optimum.decision is None else instance.decision_facts(optimum.decision)


def print_decision(facts: Mapping[str, Any]) -> None:
    """Print the facts of a decision; empty lists are left out."""
    texts = {
        name.replace("_", " "): ", ".join(map(str, value)) if isinstance(value, list) else out.number(value)
        for name, value in facts.items()
    }
    out.print_pairs({name: text for name, text in texts.items() if text})


def print_optimum(name: str, optimum: Mapping[str, Any], unit: str) -> None:
    """Print value, bound and how they came about."""
    proven, unit = "nothing is proven about what is better", unit and f" {unit}"
    if optimum["bound"] is not None:
        proven = f"nothing is better than {optimum['bound']:,.12g}{unit} (gap {optimum['gap']:.2g})"
    out.line(f"{name} optimum {optimum['value']:,.12g}{unit}; {proven}")
    why, method = optimum["why_stopped"], optimum["method"]
    out.line(f"{why} after {optimum['seconds']:.3g} s" + ("" if method in why else f"; {method}"))


def policy_scores(
    player: Any,
    runs: list[Run],
    optimum: Optimum | None,
    bounds: dict[str, float] | None,
    measured: Sequence[Mapping[str, float]] = (),
) -> dict[str, Any]:
    """Return the results of one policy; its total and its measurements are means over the seeds.

    It is compared with the optimum by ratio or by regret.
    """
    from ..intervals import interval_of
    from ..problems import find

    totals = [run.total for run in runs]
    total = fmean(totals)
    traits = player.traits
    scores: dict[str, Any] = {
        "total": total,
        "per_seed": totals,
        "standard_error": stdev(totals) / math.sqrt(len(totals)) if len(totals) > 1 else None,
        "seconds": sum(run.seconds for run in runs),
        "infeasible": sum(run.infeasible for run in runs),
        "sees": sorted(traits.sees),
        "randomised": traits.randomised,
        "guarantee": traits.guarantee,
        "proven": traits.proven,
    }
    if optimum is not None:
        low, high = interval_of(optimum.problem, total, optimum, possible=not scores["infeasible"])
        measure = "ratio" if find(optimum.problem).has("ratio") else "regret"
        scores |= {"optimum": optimum.value, measure: low, f"{measure}_at_most": high}
    if bounds is not None:
        scores["bounds"] = bounds
    if measured:
        scores["measures"] = {name: fmean(one[name] for one in measured) for name in measured[0]}
    return scores


def _total(scores: Mapping[str, Any]) -> str:
    """Return the total, with its standard error where seeds matter (rounding does not)."""
    total, error = scores["total"], scores["standard_error"]
    matters = scores["randomised"] and error is not None and error > 1e-12 * abs(total)
    return f"{out.number(total)} ± {error:.2g}" if matters else out.number(total)


def print_scores(described: Mapping[str, Any], by_ratio: bool) -> None:
    """Print one row per policy (what it sees besides what all see), the optimum, bounds and guarantees."""
    from ..intervals import as_one

    optimum = described["optimum"]
    share = ">total / optimum" if described["minimised"] else ">optimum / total"
    compared = [share] if by_ratio else [">regret", ">of optimum"]
    total = ">total cost" if described["minimised"] else ">total"
    total += f" ({described['unit']})" if described["unit"] else ""
    columns = ["policy", "also sees", total, *(compared if optimum else []), ">seconds"]
    rows = []
    for spec, scores in described["policies"].items():
        row = [spec, ", ".join(scores["sees"]) or "nothing", _total(scores)]
        if optimum is not None and by_ratio:
            row.append(out.interval(scores["ratio"], scores["ratio_at_most"]))
        elif optimum is not None:
            part = f"{scores['total'] / optimum['value']:.2%}" if optimum["value"] > 0 else ""
            ends = scores["regret"], scores["regret_at_most"], optimum["value"]
            known = as_one(*ends)
            row += [out.interval(*ends) if known is None else out.number(known), part]
        rows.append([*row, f"{scores['seconds']:.3g}"])
    if rows:
        out.print_table(columns, rows)
    _print_measures(described["policies"])
    notes = [*_bounds_told(described, by_ratio), *_remarked(described["policies"])]
    if optimum is not None or notes:
        out.line()
    if optimum is not None:
        print_optimum(optimum["oracle"], optimum, described["unit"])
    for note in notes:
        out.line(note)
    out.line()


def _bounds_told(described: Mapping[str, Any], by_ratio: bool) -> Iterator[str]:
    """Yield what theorems bound the regret or the ratio by."""
    optimum = described["optimum"]
    for name, bound in (described["bounds"] or {}).items():
        if by_ratio:
            yield f"bound on {name}: {out.number(bound)}"
            continue
        more = optimum is not None and optimum["bound"] is not None and bound > optimum["bound"]
        remark = " (more than the optimum itself)" if more else ""
        yield f"bound on the regret of {name}: {out.number(bound)}{remark}"


def _remarked(policies: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield which policies decided infeasibly, and what is guaranteed of which."""
    from ..models.base import things

    for spec, scores in policies.items():
        if scores["infeasible"]:
            broken = f"{scores['infeasible']:,} {things(scores['infeasible'], 'infeasible decisions')}"
            yield f"{spec}: {broken}, so its total means nothing"
        if scores["guarantee"] != "none":
            yield f"{spec}: {scores['guarantee']} ({scores['proven']})"


def _print_measures(policies: Mapping[str, Mapping[str, Any]]) -> None:
    """Print one row per policy of what was measured besides its total, if anything was."""
    measured = {spec: scores["measures"] for spec, scores in policies.items() if "measures" in scores}
    if any(measured.values()):
        names = next(iter(measured.values()))
        rows = [[spec, *(f"{value:,.4g}" for value in one.values())] for spec, one in measured.items()]
        out.line()
        out.print_table(["policy", *(f">{name}" for name in names)], rows)


MEASURED = {"jct": "JCT (min)", "fee": "fee ($)", "cost": "cost (s)"}
"""The columns of a training's test table, by the names in its result."""


def training_note(progress: Progress) -> str:
    """Return how far a training is, and how much more than FIFO-Consolidate the networks cost."""
    note = f"iteration {progress.iteration}/{progress.iterations}, {progress.steps:,} steps, "
    note += f"{progress.speed:,.0f}/s, against FIFO-Consolidate: cost {progress.objective:+.2f} %"
    if progress.validation is not None:
        note += f", validation {progress.validation:+.2f} %"
    return note if progress.best is None else f"{note}, best {progress.best:+.2f} %"


def training_facts(folder: Path, result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the results of a finished training: on each cluster the means, and the paired differences.

    The differences are those of the networks less FIFO-Consolidate, in the unit of the measure and in per
    cent of what FIFO-Consolidate has on the same instance (None if that is 0 on any).
    """
    clusters = {}
    for machines in sorted({row["machines"] for row in result["test"]}):
        rows = [row for row in result["test"] if row["machines"] == machines]
        ours = {name: [row[name] for row in rows] for name in MEASURED}
        theirs = {name: [row["reference"][name] for row in rows] for name in MEASURED}
        clusters[str(machines)] = {
            "instances": len(rows),
            "trained": {name: fmean(values) for name, values in ours.items()},
            "fifo-consolidate": {name: fmean(values) for name, values in theirs.items()},
            "difference": {name: _difference(ours[name], theirs[name]) for name in MEASURED},
            "per_cent": {name: _excess(ours[name], theirs[name]) for name in MEASURED},
        }
    return {
        "folder": str(folder),
        "policy": f"{_player(result['plan']['design'])}:checkpoint={folder / 'best.npz'}",
        "plan": result["plan"],
        "clusters": clusters,
    }


def _player(design: Mapping[str, Any]) -> str:
    """Return the policy that networks of a design play under: that of their agents, if there is one."""
    from ..online.placement.learned.design import DESIGNS

    if design["placement"] == "linear":
        return "evolved-estimates" if design["features"] == "estimates" else "evolved"
    if design["features"] == "estimates":
        return "da-mc-estimates"
    parts = ("ordering", "placement", "message")
    alike = (
        name for name, one in DESIGNS.items() if all(getattr(one, part) == design[part] for part in parts)
    )
    return next(alike, "das")


def _difference(ours: Sequence[float], theirs: Sequence[float]) -> dict[str, Any]:
    """Return the mean paired difference, its 95 % interval (None of one sample) and Wilcoxon's p."""
    from ..analysis.statistics import paired

    found = paired(ours, theirs)
    return found.difference._asdict() | {"p": found.p}


def _excess(ours: Sequence[float], theirs: Sequence[float]) -> dict[str, Any] | None:
    """Return the same of what is more than the others, in per cent of these; None if one of these is 0."""
    if not all(theirs):
        return None
    return _difference([100.0 * (a / b - 1.0) for a, b in zip(ours, theirs, strict=True)], [0.0] * len(ours))


def print_training(described: Mapping[str, Any]) -> None:
    """Print what a training has come to: on each cluster the means and the differences, with intervals."""
    from ..models.base import things

    plan = described["plan"]
    iterations, tested = plan["training"]["iterations"], plan["test"]["instances"]
    out.heading(
        f"{described['folder']}: {iterations} {things(iterations, 'iterations')}, "
        f"tested on {tested} {things(tested, 'instances')} per cluster"
    )
    columns = ["machines", "mean", ">trained", ">fifo-consolidate", ">difference", ">in %"]
    rows = [
        (
            machines,
            MEASURED[name],
            out.number(one["trained"][name]),
            out.number(one["fifo-consolidate"][name]),
            _with_interval(one["difference"][name]),
            _with_interval(one["per_cent"][name]),
        )
        for machines, one in described["clusters"].items()
        for name in MEASURED
    ]
    out.print_table(columns, rows)
    out.line()
    out.line("differences: of the same instance, trained less fifo-consolidate; mean and 95 % interval")
    out.line(f"play it: clairvoyant play FILE --policy {described['policy']}")


def _with_interval(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return ""
    mean, low, high = (_signed(found[name]) for name in ("mean", "low", "high"))
    return f"{mean} (one sample)" if math.isnan(found["low"]) else f"{mean} [{low}, {high}]"


def _signed(value: float) -> str:
    return f"{value:+,.0f}" if abs(value) >= 1000.0 else f"{value:+.3g}"


def claim_facts(results: Results) -> list[dict[str, Any]]:
    """Return the claims and their verdicts; tables and figures are in the report."""
    return [
        {
            "id": claim.id,
            "where": claim.where,
            "says": claim.says,
            "verdict": finding.verdict,
            "why": finding.why,
            "expected": claim.stands(finding.mode)[0],
            "because": claim.stands(finding.mode)[1],
            "as_expected": claim.as_expected(finding),
            "headline": finding.headline,
            "numbers": finding.numbers,
            "optima": finding.optima,
        }
        for claim, finding in results
    ]


def print_claims(results: Results, verbose: bool) -> None:
    """Print what is not as expected, the verdicts that matter most or all, and a line for each paper."""
    from ..analysis.claim import in_words
    from ..analysis.optima import in_all, share
    from ..models.base import things
    from ..problems import papers

    wrong = [(claim, finding) for claim, finding in results if not claim.as_expected(finding)]
    for claim, finding in wrong:
        found, expected = in_words(finding.verdict, finding.why), in_words(*claim.stands(finding.mode))
        texts = (finding.headline, finding.proof, finding.remark, *finding.faults)
        out.entry(f"{claim.id} ({claim.where}): {found}, expected: {expected}", texts)
    usual = [(claim, finding) for claim, finding in results if claim.as_expected(finding)]
    shown = usual if verbose else foremost(usual)
    if wrong and shown:
        out.line()
    for claim, finding in shown:
        verdict = in_words(finding.verdict, finding.why)
        out.entry(f"{claim.id} ({claim.where}): {verdict}", [finding.headline])
    if wrong or shown:
        out.line()
    known = papers()
    for name in dict.fromkeys(claim.problem for claim, _ in results):
        paper = f" ({known[name].name})" if name in known else ""
        out.line(f"{name}{paper}: {_statements([one for one in results if one[0].problem == name])}")
    if optima := in_all([finding.optima for _, finding in results]):
        out.line(f"optima that verdicts rest on: {share(optima)}")
    if results:
        told = f"{len(results)} {things(len(results), 'claims')}: "
        out.line(told + (f"{len(wrong)} NOT as expected" if wrong else "all as expected"))


def foremost(results: Results) -> Results:
    """Return the verdicts against statements of papers that matter most, :data:`FOREMOST` at most.

    In each paper what is refuted comes before what is not reproduced, a counterexample before a proof, and of
    these a theorem before an algorithm, an equation, a table, a figure and other text: the sections of the
    report. Then papers follow each other in turn.
    """
    against = [one for one in results if not one[0].ours and one[1].verdict.value in AGAINST]
    papers = dict.fromkeys(claim.problem for claim, _ in against)
    ranked = [sorted((one for one in against if one[0].problem == paper), key=_rank) for paper in papers]
    in_turn = [one for row in itertools.zip_longest(*ranked) for one in row if one is not None]
    return in_turn[:FOREMOST]


def _rank(one: tuple[Claim, Finding]) -> tuple[int, bool, int]:
    from ..analysis.report import KINDS, kind_of

    _, finding = one
    shown = finding.counterexample is not None
    return AGAINST.index(finding.verdict.value), not shown, [*KINDS].index(kind_of(*one))


def _statements(results: Results) -> str:
    """Return how many statements of a paper have which verdict, and of ours."""
    told = [
        _counted([finding for claim, finding in results if claim.ours == ours], whose)
        for ours, whose in ((False, "of the paper"), (True, "of our own"))
    ]
    return "; ".join(filter(None, told))


def _counted(findings: Sequence[Finding], whose: str) -> str:
    from ..analysis.claim import Verdict
    from ..models.base import things

    counts = Counter(finding.verdict for finding in findings)
    held = counts.pop(Verdict.HOLDS, 0)
    others = "".join(f", {counts[one]} {one.value.removeprefix('holds ')}" for one in Verdict if counts[one])
    many = f"{len(findings)} {things(len(findings), f'statements {whose}')}"
    return f"{held} of {many} {'holds' if len(findings) == 1 else 'hold'}{others}" if findings else ""


def without_markup(text: str) -> str:
    """Return a line of a docstring without its cross-references."""
    return re.sub(r":\w+:`([^`]*)`", r"\1", text).replace("``", "")


def settings_text(settings: Mapping[str, Any]) -> str:
    """Return settings as they are given to a policy."""
    return ", ".join(f"{name}={value}" for name, value in settings.items())


def settings_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the keyword arguments of an oracle, with their defaults; all but ``progress``."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != "progress"}
