"""Train the networks of the package by their plans and seeds, side by side; each goes on where it stopped.

``make networks`` trains all of them (hours). ``python .ci/networks.py NAME ...`` trains those of some plans,
and ``NAME-SEED`` a single one, a new seed as well; ``--left`` only says what is left. At the end what is
trained in full becomes the networks of the package, and ``curves.json`` keeps how they learned. The exit
status is 1 if a training fails.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from clairvoyant.analysis.engine.cells import Cell, State
from clairvoyant.analysis.engine.processes import Processes
from clairvoyant.online.placement.learned.plan import Plan

ROOT = Path(__file__).resolve().parents[1]
SHIPPED = ROOT / "online" / "placement" / "learned" / "pretrained"
FOLDER = ROOT / "reports" / "training"


class Training(NamedTuple):
    """A training by the plan of a name, with a seed."""

    name: str
    seed: str

    def __str__(self) -> str:
        return f"{self.name}-{self.seed}"

    @property
    def plan(self) -> Path:
        """The file of its plan."""
        return SHIPPED / f"{self.name}.toml"

    @property
    def folder(self) -> Path:
        """Where it is, finished or not."""
        return FOLDER / str(self)

    @property
    def done(self) -> bool:
        """Whether it is finished."""
        return (self.folder / "result.json").exists()

    def progress(self) -> list[dict[str, Any]]:
        """Return what is on record of its iterations."""
        log = self.folder / "progress.jsonl"
        text = log.read_text("utf-8") if log.exists() else ""
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def cell(self) -> Cell:
        """Return the training as a cell of the engine."""
        arguments = {"plan": str(self.plan), "folder": str(self.folder), "seed": int(self.seed)}
        return Cell(str(self), str(self), "clairvoyant.cli.training:trained", arguments)

    def left(self) -> int:
        """Return how many iterations are left."""
        return 0 if self.done else Plan.load(self.plan).training.iterations - len(self.progress())


def chosen(words: Sequence[str]) -> list[Training]:
    """Return the trainings that are named, by default all whose networks the package has.

    Raises
    ------
    SystemExit
        If a word is neither a plan with networks nor a plan and a seed.
    """
    kept = [Training(*file.stem.rsplit("-", 1)) for file in sorted(SHIPPED.glob("*.npz"))]
    if not words:
        return kept
    found = []
    for word in words:
        name, _, seed = word.rpartition("-")
        of_plan = [one for one in kept if one.name == word]
        if not of_plan and not (seed.isdigit() and (SHIPPED / f"{name}.toml").exists()):
            raise SystemExit(f"{word}: neither a plan of which there are networks nor a plan and a seed")
        found += of_plan or [Training(name, seed)]
    return found


def told(trainings: Sequence[Training]) -> str:
    """Return what is left, a line for each plan and one for all."""
    lines = []
    for name, some in groupby(sorted(trainings), lambda one: one.name):
        of = [*some]
        left = sum(one.left() for one in of)
        lines.append(f"{name}: {sum(one.done for one in of)} of {len(of)} done, {left:,} iterations left")
    done, left = sum(one.done for one in trainings), sum(one.left() for one in trainings)
    return "\n".join([*lines, f"{done} of {len(trainings)} trainings done, {left:,} iterations left"])


def record(one: Training, machine: str) -> dict[str, Any]:
    """Return what ``curves.json`` keeps of a finished training: time, jobs learned from, learning curve."""
    plan, lines = Plan.load(one.plan), one.progress()
    training = plan.training
    seconds, before, curve = 0.0, 0, []
    for line in lines:
        seconds, before = seconds + (line["steps"] - before) / line["speed"], line["steps"]
        if line["validation"] is not None:
            curve.append([line["steps"], round(line["validation"], 3)])
    new = len(lines) - (training.imitation if plan.optima else 0)  # optima are the same every time
    jobs = new * training.episodes * training.jobs
    return {"seconds": round(seconds, 1), "jobs": jobs, "machine": machine, "curve": curve}


def keep(one: Training, machine: str) -> None:
    """Make the networks of a finished training those of the package."""
    shutil.copyfile(one.folder / "best.npz", SHIPPED / f"{one}.npz")
    curves = SHIPPED / "curves.json"
    records = json.loads(curves.read_text("utf-8")) if curves.exists() else {}
    records[str(one)] = record(one, machine)
    lines = [f"{json.dumps(name)}: {json.dumps(of)}" for name, of in sorted(records.items())]
    curves.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def main(words: Sequence[str]) -> int:
    """Say what is left, train it unless ``--left`` is among the words, and return the exit status."""
    trainings = chosen([word for word in words if word != "--left"])
    print(told(trainings), flush=True)
    if "--left" in words:
        return 0
    failed = 0
    with Processes() as processes:
        for answers in processes.run([one.cell() for one in trainings]):
            for cell, answer in answers:
                failed += answer.state is not State.DONE
                ended = answer.error.splitlines()[-1] if answer.error else "done"
                print(f"{cell.name}: {ended}; {told(trainings).splitlines()[-1]}", flush=True)
        machine = f"one of {processes.count} on {os.cpu_count()} cores, PyTorch {version('torch')}"
    for one in trainings:
        if one.done:
            keep(one, machine)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
