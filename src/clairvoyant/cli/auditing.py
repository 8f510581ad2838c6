"""``clairvoyant audit``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from . import output as out
from . import rendering
from .parts import DONE, FAILED, FILE, SEED, Command, as_json, of_problems, stopped, verbosely


@click.command(
    cls=Command,
    short_help="Check every claim and write the report.",
    example="audit --problem allocation --quick --out reports",
)
@of_problems
@click.option("--claim", "claims", multiple=True, metavar="ID", help="Only this claim.")
@click.option("--quick", is_flag=True, help="A smoke test, on small instances.")
@click.option("--full", is_flag=True, help="The sizes of the paper; this may take days.")
@click.option(
    "--out", "folder", type=FILE, help="Folder; by default reports, or reports/claims with --claim."
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of everything random.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes; by default one per core.")
@click.option("--store", type=FILE, help="File in which findings and runs are kept.")
@verbosely
@as_json
def audit(
    problems: Sequence[str],
    claims: Sequence[str],
    quick: bool,
    full: bool,
    folder: Path | None,
    seed: int,
    workers: int | None,
    store: Path | None,
    verbose: bool,
    as_json: bool,
) -> int:
    """Check every claim of the papers, write a report into a folder, and print what stands and what not.

    Verdicts that are not as expected are printed first, then those against the papers that matter most: what
    is refuted before what is not reproduced, theorems before tables and figures, ten in all, each paper in
    its turn; with --verbose all. The end counts the verdicts on every paper.

    The exit status is 1 if a verdict differs from the expected one, or if the check of another distribution
    fails, which keeps no others from being checked. An interrupted audit goes on where it stopped when the
    same command is given again. With --store, whatever has been found before is taken from there, if mode,
    seed and source are the same, and runs and optima if what they depend on is, as with a sweep.
    """
    from .. import _own, api
    from .. import problems as known
    from ..analysis.audit import ForeignCheckError, choose
    from ..analysis.engine.engine import Interrupted
    from ..analysis.report import write_report

    if quick and full:
        raise click.UsageError("--quick and --full exclude each other")
    catalogue = _own.catalogue()
    for name in problems:
        known.find(name)
    choose(problems, claims, catalogue)  # refuses names before a folder is made
    mode = "quick" if quick else "full" if full else "default"
    folder = folder or Path("reports/claims" if claims else "reports")
    out.check_folder(folder)
    failed: dict[str, str] = {}
    with out.progress("audit") as report:
        try:
            results = api.audit(
                problems=problems or None,
                claims=claims or None,
                mode=mode,
                out=folder,
                seed=seed,
                workers=workers,
                progress=report,
                catalogue=catalogue,
                store=store,
            )
        except Interrupted as error:
            return stopped(f": {error}", as_json, saved=error.saved, total=error.total)
        except ForeignCheckError as error:
            results, failed = error.results, error.failed
            for text in error.tracebacks.values():
                out.log_lines(text)
        report(1.0, "writing the report")
        page = write_report(
            folder,
            results,
            mode=mode,
            seed=seed,
            facts=known.facts(results, mode, seed),
            policies=known.in_words(api.policy_table()),
            oracles=api.list_oracles(),
            papers=known.papers(),
            failed=failed,
            chosen=out.options({"--problem": problems, "--claim": claims}),
        )
    return _tell(results, failed, {"mode": mode, "seed": seed, "report": str(page)}, verbose, as_json)


def _tell(
    results: rendering.Results,
    failed: dict[str, str],
    described: dict[str, Any],
    verbose: bool,
    as_json: bool,
) -> int:
    """Print first what has no verdict, and then the verdicts."""
    for name, why in failed.items():
        out.log(f"failed: claim {name}: {why}")
    passed = not failed and all(claim.as_expected(finding) for claim, finding in results)
    if as_json:
        told = {"passed": passed} | described | {"claims": rendering.claim_facts(results)}
        out.print_json(told | ({"failed": failed} if failed else {}))
    else:
        rendering.print_claims(results, verbose)
        out.line(f"report: {described['report']}")
    return DONE if passed else FAILED
