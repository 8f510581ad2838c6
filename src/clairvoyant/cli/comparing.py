"""``clairvoyant compare``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import output as out
from .parts import (
    DONE,
    FILE,
    Command,
    as_json,
    first_seed,
    optimum_limit,
    policy_specs,
    run_seeds,
    stopped,
    store_file,
)

if TYPE_CHECKING:
    from ..comparing import Comparison


@click.command(
    cls=Command,
    short_help="Compare policies on instances, and with the optimum.",
    example="compare day-*.json.gz --policy oasis --policy fifo --seeds 5 --out runs.csv",
)
@click.argument("files", metavar="FILE...", type=FILE, nargs=-1, required=True)
@policy_specs
@run_seeds
@first_seed
@click.option("--no-optimum", is_flag=True, help="Do not compute optima, and so no regret or ratio.")
@optimum_limit
@click.option("--workers", type=click.IntRange(min=1), help="Processes; by default one per core.")
@store_file
@click.option("--out", "target", type=FILE, help="File for the table of all runs, .csv or .parquet.")
@as_json
def compare(
    files: Sequence[Path],
    specs: Sequence[str],
    seeds: int,
    seed: int,
    no_optimum: bool,
    time_limit: float | None,
    workers: int | None,
    store: Path | None,
    target: Path | None,
    as_json: bool,
) -> int:
    """Play policies on the instances in the FILEs, and set what they earn beside the optimum.

    All instances are of one problem. The regret (or the ratio, for a problem that has one) lies between the
    two ends printed, whatever is not proved about the optimum; the interval beside them is for the
    mean over all instances of the kind, 95 % by Student's t. Below that, every two policies are compared on
    the same instances, with p values corrected for their number.

    What the store holds is not computed again, and an interrupted comparison goes on where it stopped when
    the same command is given again.
    """
    from ..analysis.engine.engine import Interrupted
    from ..comparing import compare as compare_all
    from ..tables import check_table

    if target is not None:
        out.check_writable(target, read=files)
        check_table(target)
    with out.progress("compare") as report:
        try:
            found = compare_all(
                files,
                specs,
                seeds,
                seed=seed,
                time_limit=time_limit,
                optimum=not no_optimum,
                workers=workers,
                store=store,
                progress=report,
            )
        except Interrupted as error:
            return stopped(f": {error}", as_json, saved=error.saved, total=error.total)
    if target is not None:
        found.save(target)
    if as_json:
        out.print_json(_facts(found))
    else:
        _print(found)
        if target is not None:
            out.line(f"all runs are in {target}")
    return DONE


def _facts(found: Comparison) -> dict[str, object]:
    """Return everything."""
    frames = {"policies": found.summary(), "pairs": found.pairs(), "runs": found.to_frame()}
    rows = {name: frame.to_dict("records") for name, frame in frames.items()}
    return {"problem": found.problem, "measure": found.measure or None, "unit": found.unit, **rows}


def _print(found: Comparison) -> None:
    """Print one row per policy, and one per two of them."""
    told, pairs = found.summary(), found.pairs()
    unit = f" ({found.unit})" if found.unit else ""
    several = not told["to"].isna().all()
    measured = [f">{found.measure}", *([">mean of the kind"] if several else [])] if found.measure else []
    scale = found.frame["optimum_value"].mean() if found.measure == "regret" else None
    rows = []
    for row in told.to_dict("records"):
        cells = [row["policy"], str(row["instances"]), out.number(row["total"])]
        if found.measure:
            known = not math.isnan(row["low"])
            cells.append(out.interval(row["low"], row["high"], scale) if known else "")
            cells += [_between(row["from"], row["to"])] if several else []
        rows.append([*cells, "" if math.isnan(row["ms"]) else f"{row['ms']:.3g}"])
    out.print_table(["policy", ">instances", f">total{unit}", *measured, ">ms per decision"], rows)
    if found.measure and told["low"].notna().any():
        out.line(_optimum(found))
    for row in told[told["infeasible"] > 0].to_dict("records"):
        out.line(f"{row['policy']}: {row['infeasible']:,} infeasible decisions, so its total means nothing")
    if len(pairs) and not pairs["from"].isna().all():
        out.line()
        rows = [
            [
                row["policy"],
                row["other"],
                f"{row['difference']:+,.4g}",
                _between(row["from"], row["to"]),
                f"{row['p']:.3f}",
            ]
            for row in pairs.to_dict("records")
        ]
        out.print_table(["policy", "less", f">total{unit}", ">95 %", ">p (Holm)"], rows)


def _optimum(found: Comparison) -> str:
    """Say what was possible, in the mean over the instances."""
    each = found.frame.groupby("instance")[["optimum_value", "optimum_bound"]].first()
    value, bound = each.mean(skipna=False)
    mean, unit = "mean " if len(each) > 1 else "", found.unit and f" {found.unit}"
    proven = "nothing is proven about what is better"
    if math.isfinite(bound):
        proven = f"nothing is better than {out.number(bound)}{unit}"
    return f"{mean}optimum {out.number(value)}{unit}; {proven}"


def _between(low: float, high: float) -> str:
    return "" if math.isnan(low) or math.isnan(high) else f"{low:,.4g} to {high:,.4g}"
