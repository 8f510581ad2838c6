"""``clairvoyant train``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import output as out
from . import rendering
from .interrupt import INTERRUPTED
from .parts import DONE, FILE, SEED, Command, as_json

if TYPE_CHECKING:
    from ..online.placement.learned.training import Progress


@click.command(
    cls=Command,
    short_help="Train the networks of a learned scheduler.",
    example="train plan.toml --seed 1",
)
@click.argument("file", type=FILE, metavar="PLAN")
@click.option("--out", "folder", type=FILE, help="Folder; by default reports/training/NAME-SEED.")
@click.option("--seed", type=SEED, help="Seed of all draws, instead of that of the plan.")
@as_json
def train(file: Path, folder: Path | None, seed: int | None, as_json: bool) -> int:
    """Train the networks of a learned scheduler by the PLAN, a TOML file, and test them.

    docs/training.md describes plans and what is written into the folder. An interrupted training goes on
    where it stopped when the same command is given again; one that is finished is not repeated.
    """
    from .. import api

    plan = api.read_plan(file, seed)
    from ..online.placement.learned import training

    if folder is None:
        folder = Path("reports/training") / f"{file.stem}-{plan.seed}"
    out.check_folder(folder)
    total, done = plan.training.iterations, training.iterations_done(plan, folder)
    if done == total:
        out.log("note: every iteration is done: nothing is trained again")
    elif done:
        out.log(f"note: goes on after iteration {done} of {total} in {folder}")
    with out.progress("train") as report:

        def follow(progress: Progress) -> None:
            nonlocal done
            done = progress.iteration
            note = rendering.training_note(progress)
            report(done / total, note)
            if progress.validation is not None:
                report.finished(note)

        try:
            result = training.train(plan, folder, follow)
        except KeyboardInterrupt:
            saved = f"after iteration {done} of {total}, saved in {folder}; the same command goes on from it"
            out.log(
                f"interrupted {saved if done else 'before anything was saved; the same command begins anew'}"
            )
            if as_json:
                out.print_json(
                    {"interrupted": True, "folder": str(folder), "iteration": done, "iterations": total}
                )
            return INTERRUPTED
    described = rendering.training_facts(folder, result)
    if as_json:
        out.print_json(described)
    else:
        rendering.print_training(described)
    return DONE
