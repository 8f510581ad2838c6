"""``clairvoyant leaderboard``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import output as out
from .parts import DONE, FILE, Command, as_json, completes, of_problems, policy_names, stopped, store_file

if TYPE_CHECKING:
    from ..ranking import Leaderboard


@click.command(
    cls=Command,
    short_help="Rank all policies on a fixed public set of instances.",
    example="leaderboard --problem admission --out reports",
)
@of_problems
@click.option(
    "--policy",
    "specs",
    multiple=True,
    metavar="NAME[:KEY=VALUE,...]",
    shell_complete=completes(policy_names),
    help="One more policy to set beside ours, with one --problem; your own is FILE.py:CLASS.",
)
@click.option("--traces", type=FILE, help="Folder of traces; without it their instances are left out.")
@click.option("--out", "folder", type=FILE, default="reports", show_default=True, help="Folder for the page.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes; by default one per core.")
@store_file
@as_json
def leaderboard(
    problems: Sequence[str],
    specs: Sequence[str],
    traces: Path | None,
    folder: Path,
    workers: int | None,
    store: Path | None,
    as_json: bool,
) -> int:
    """Play every policy on a fixed public set of instances, and rank them by their share of the optimum.

    Policies that see the same before they decide are a group, and compete with each other: how far each is
    behind the first of its group is measured on the same instances, with p values corrected for their number.
    Who is not told apart from the first by these may be just as good.
    A share lies between that of the certified bound and that of the best solution found.

    Writes leaderboard.html, and all runs as leaderboard-PROBLEM.csv, into the folder. What the store holds is
    not computed again, and an interrupted run goes on where it stopped when the same command is given again.
    """
    from .. import problems as known
    from ..analysis.engine.engine import Interrupted
    from ..analysis.report import write_leaderboard
    from ..ranking import leaderboard as ranked

    chosen = list(dict.fromkeys(problems)) or [
        name for name, one in known.problems().items() if one.has("leaderboard")
    ]
    for name in chosen:
        known.find(name).part("leaderboard")
    if specs and len(chosen) > 1:
        raise click.UsageError("--policy needs one --problem, which says what it plays")
    out.check_folder(folder)
    found = []
    with out.progress("leaderboard") as report:
        for i, name in enumerate(chosen):

            def tell(fraction: float, text: str, i: int = i, name: str = name) -> None:
                report((i + fraction) / len(chosen), f"{name}: {text}")

            try:
                board = ranked(name, specs, traces=traces, workers=workers, store=store, progress=tell)
            except Interrupted as error:
                return stopped(f": {name}: {error}", as_json, saved=error.saved, total=error.total)
            board.comparison.save(folder / f"leaderboard-{name}.csv")
            found.append(board)
    given = {"--problem": problems, "--policy": specs, "--traces": [traces] if traces else []}
    page = write_leaderboard(folder, [board.shown() for board in found], out.options(given))
    if as_json:
        rows = {board.problem: board.summary().to_dict("records") for board in found}
        out.print_json({"page": str(page), "leaderboards": rows, "left_out": _left_out(found)})
        return DONE
    for board in found:
        _print(board)
    out.line(f"page: {page}")
    return DONE


def _left_out(found: Sequence[Leaderboard]) -> dict[str, dict[str, str]]:
    return {board.problem: dict(board.left_out) for board in found}


def _print(board: Leaderboard) -> None:
    """Print the groups of a board below each other."""
    from ..ranking import cells

    for group, part in board.ranked().groupby("group", sort=False):
        out.line(f"{board.problem}: policies that {group}")
        rows = []
        for policy, low, high, behind, least, most, _, apart, ms in cells(part):
            share = "" if low.is_nan() else f"{low}" if low == high else f"{low} to {high}"
            found = ["", "", ""] if behind.is_nan() else [f"{behind}", f"{least} to {most}", apart]
            rows.append([policy, share, *found, "" if ms.is_nan() else f"{ms}"])
        heads = [">% of the optimum", ">behind the first", ">95 %", "told apart", ">ms per decision"]
        out.print_table(["policy", *heads], rows)
    for name, why in board.left_out.items():
        out.line(f"left out: {name}: {why}")
