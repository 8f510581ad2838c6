"""``clairvoyant train``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import output as out
from . import rendering
from .parts import DONE, FAILED, FILE, SEED, Command, as_json, stopped

if TYPE_CHECKING:
    from ..online.placement.learned.plan import Progress


@click.command(
    cls=Command, short_help="Train the networks of a learned scheduler.", example="train plan.toml --seed 1"
)
@click.argument("file", type=FILE, metavar="PLAN")
@click.option(
    "--out",
    "folder",
    type=FILE,
    help="Folder; by default reports/training/NAME-SEED. With --seeds, of folders.",
)
@click.option("--seed", type=SEED, help="Seed of all draws, instead of that of the plan.")
@click.option(
    "--seeds",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="Trainings, by seeds from --seed on.",
)
@click.option("--workers", type=click.IntRange(min=1), help="Processes for them; by default one per core.")
@as_json
def train(
    file: Path, folder: Path | None, seed: int | None, seeds: int, workers: int | None, as_json: bool
) -> int:
    """Train the networks of a learned scheduler by the PLAN, a TOML file, and test them.

    docs/training.md describes plans and what is written into the folder. An interrupted training goes on
    where it stopped when the same command is given again; one that is finished is not repeated.
    """
    from .. import api

    plan = api.read_plan(file, seed)
    from ..online.placement.learned import training

    if seeds > 1:
        return _train_all(file, folder, range(plan.seed, plan.seed + seeds), workers, as_json)
    if folder is None:
        folder = Path("reports/training") / f"{file.stem}-{plan.seed}"
    out.check_folder(folder)
    total, (done, over) = plan.training.iterations, training.standing(plan, folder)
    if over:
        out.log("note: the training has ended: nothing is trained again")
    elif done:
        out.log(f"note: goes on after iteration {done} of {total} in {folder}")
    if plan.optima is not None and not over and done < plan.training.imitation:
        out.log(f"note: {plan.optima.instances} small instances are solved before")
    with out.progress("train") as report:

        def follow(progress: Progress) -> None:
            nonlocal done
            done = progress.iteration
            note = rendering.training_note(progress)
            report(done / total, note)
            if progress.validation is not None:
                report.finished(note)

        solved, proved = 0, 0

        def solve(instance: Any, gap: float) -> Any:
            nonlocal solved, proved
            found, all_ = api.nearly_optimal(instance, gap), plan.optima.instances if plan.optima else 0
            solved, proved = solved + 1, proved + (found is not None)
            note = f"{solved} of {all_} small instances solved, {proved} of them proved"
            report(done / total, note)
            if solved == all_:
                report.finished(note)
            return found

        try:
            result = training.train(plan, folder, follow, solve)
        except KeyboardInterrupt:
            saved = f"after iteration {done} of {total}, saved in {folder}; the same command goes on from it"
            text = saved if done else "before anything was saved; the same command begins anew"
            return stopped(f" {text}", as_json, folder=str(folder), iteration=done, iterations=total)
    described = rendering.training_facts(folder, result)
    if as_json:
        out.print_json(described)
    else:
        rendering.print_training(described)
    return DONE


def trained(arguments: Mapping[str, Any], report: Callable[[float], None]) -> dict[str, Any]:
    """Train in a process of the engine; return the result."""
    from .. import api

    def follow(told: Progress) -> None:
        report(told.iteration / told.iterations)

    return api.train(arguments["plan"], arguments["folder"], seed=arguments["seed"], progress=follow)


def _train_all(
    file: Path, folder: Path | None, seeds: Sequence[int], workers: int | None, as_json: bool
) -> int:
    """Train with several seeds side by side; each goes on where it stopped, in a folder of its own."""
    from ..analysis.engine.cells import Answer, Cell, State
    from ..analysis.engine.processes import Processes

    above = Path("reports/training") if folder is None else folder
    folders = {str(seed): above / f"{file.stem}-{seed}" for seed in seeds}
    for one in folders.values():
        out.check_folder(one)
    cells = []
    for key, one in folders.items():
        arguments = {"plan": str(file.absolute()), "folder": str(one.absolute()), "seed": int(key)}
        cells.append(Cell(key, f"seed {key}", f"{__name__}:trained", arguments))
    ended: dict[str, Answer] = {}
    with out.progress("train") as report, Processes(workers) as processes:
        try:
            for answers in processes.run(cells):
                ended.update((cell.key, answer) for cell, answer in answers)
                part = sum(processes.fractions.values())
                report((len(ended) + part) / len(cells), f"{len(ended)} of {len(cells)} trainings")
        except KeyboardInterrupt:
            text = f": {len(ended)} of {len(cells)} trainings are done; the same command goes on"
            return stopped(text, as_json, done=len(ended), trainings=len(cells))
    failed = {key: answer.error for key, answer in ended.items() if answer.state is not State.DONE}
    described = [
        rendering.training_facts(one, ended[key].result) for key, one in folders.items() if key not in failed
    ]
    if as_json:
        out.print_json({"trainings": described, "failed": failed})
    else:
        for facts in described:
            rendering.print_training(facts)
    for key, error in failed.items():
        out.log(f"seed {key}: {error.splitlines()[-1]}")
    return FAILED if failed else DONE
