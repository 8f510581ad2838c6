"""``python -m benchmarks.scaling [--problem P] [--name N]``: what policies and oracles take over size.

Each cell, one policy or oracle on one instance, is a process of its own, so that its memory is its own. What
is found is kept in docs/scaling/PROBLEM.json, of which the page is made; a call computes what is missing
there, and with ``--name`` what that policy or oracle takes anew. Times are those of processors.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import clairvoyant as cv
from clairvoyant.problems import find, oracles, players

KEPT = Path(__file__).resolve().parents[1] / "docs" / "scaling"
ENOUGH = 10.0
"""Seconds of a processor after which nothing larger is tried."""
AT_MOST = 60.0
"""Seconds of a processor after which a cell is stopped; what is loaded and compiled before does not count."""
SOLVE_SECONDS = 20.0
"""The time limit of an oracle."""


@dataclass(frozen=True)
class Ladder:
    """Instances of growing size: what the size counts, and the options that make each."""

    counts: str  # a name in the instance's facts
    common: Mapping[str, Any]
    steps: tuple[Mapping[str, Any], ...]

    def make(self, problem: str, step: int) -> Any:
        """Return the instance of a step."""
        return cv.generate(problem, seed=0, **{**self.common, **self.steps[step]})


GRAPHS = ((4, 16), (10, 128), (30, 384), (100, 1024), (400, 4096))
CLUSTERS = ((10, 8, 4), (20, 16, 8), (32, 24, 24), (56, 48, 24), (96, 90, 24))
GANGS = ((3, 3), (5, 5), (10, 8), (20, 16))
LADDERS = {
    "allocation": Ladder("edges", {"slots": 100}, tuple({"ports": p, "servers": s} for p, s in GRAPHS)),
    "allocation-gang": Ladder(
        "edges", {"slots": 100}, tuple({"ports": p, "servers": s} for p, s in GRAPHS[:4])
    ),
    "selection": Ladder(
        "channels",
        {"slots": 200},
        tuple({"ports": p, "servers": s, "capacity": c} for p, s, c in CLUSTERS),
    ),
    "selection-gang": Ladder("channels", {"slots": 200}, tuple({"ports": p, "servers": s} for p, s in GANGS)),
    "admission": Ladder(
        "jobs",
        {"size": "large", "horizon": 100, "fit": "short"},
        tuple({"jobs": n} for n in (10, 50, 200, 800, 3200)),
    ),
    "placement": Ladder(
        "jobs",
        {"size": "large", "cluster": "large", "rho": 3.2, "estimate_error": 0.5},
        tuple({"jobs": n} for n in (15, 60, 250, 1000, 4000, 16000)),
    ),
}

Cell = dict[str, Any]


def peak() -> float:
    """Return the most memory that this process has had, in GB (Linux counts it in kB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def measured(problem: str, kind: str, name: str, step: int) -> Cell:
    """Return what a policy or an oracle takes on the instance of a step; a tiny one loads all first."""
    tiny = {"size": "tiny", **({"estimate_error": 0.5} if problem == "placement" else {})}
    run_on(cv.generate(problem, seed=0, **tiny), kind, name)
    instance, loaded = LADDERS[problem].make(problem, step), peak()
    start = time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (int(start + AT_MOST), int(start + AT_MOST) + 5))
    found = run_on(instance, kind, name)
    return {
        "size": int(instance.facts()[LADDERS[problem].counts]),
        "seconds": round(time.process_time() - start, 4),
        "memory": round(peak(), 3),
        "loaded": round(loaded, 3),
        **found,
    }


def run_on(instance: Any, kind: str, name: str) -> Cell:
    """Return of a policy how often it decided, of an oracle how far it came."""
    if kind == "policy":
        enforce = players(instance.problem)[name].traits.feasible  # not of what is kept as printed
        return {"decisions": len(cv.play(name, instance, seed=0, enforce=enforce).rewards)}
    optimum = cv.solve(instance, name, time_limit=SOLVE_SECONDS)
    gap = None if optimum.gap is None else float(f"{optimum.gap:.3g}")
    return {"gap": gap, "why": optimum.why_stopped.value}


def apart(problem: str, kind: str, name: str, step: int) -> Cell:
    """Return the cell, measured in a process that ends when it takes too long; then only that is known."""
    command = [sys.executable, "-m", "benchmarks.scaling", "--problem", problem, "--name", name]
    told = subprocess.run([*command, "--cell", kind, str(step)], capture_output=True, text=True)
    common = {"kind": kind, "name": name, "step": step}
    if told.returncode < 0:
        return {**common, "size": None, "over": AT_MOST}
    if told.returncode:
        raise SystemExit(f"{problem}, {name}, step {step}:\n{told.stderr}")
    return common | json.loads(told.stdout)


def cast(problem: str) -> Iterator[tuple[str, str]]:
    """Yield kind and name of all that is measured: every oracle, and every policy that plays as it is."""
    yield from (("oracle", name) for name in oracles(problem))
    yield from (("policy", name) for name in players(problem))


def climb(problem: str, kind: str, name: str) -> Iterator[Cell]:
    """Yield the cells of growing size, the last one the first that takes more than enough."""
    for step in range(len(LADDERS[problem].steps)):
        cell = apart(problem, kind, name, step)
        yield cell
        if cell.get("over") or (kind == "policy" and cell["seconds"] > ENOUGH):
            return


def page(problem: str) -> Path:
    """Return where the cells of a problem are kept."""
    return KEPT / f"{problem}.json"


def write(problem: str, cells: list[Cell]) -> None:
    """Keep the cells, in the order of the lists of the problem."""
    order = {who: place for place, who in enumerate(cast(problem))}
    cells = [one for one in cells if (one["kind"], one["name"]) in order]
    cells.sort(key=lambda one: (order[one["kind"], one["name"]], one["step"]))
    ladder = LADDERS[problem]
    head = {"problem": problem, "counts": ladder.counts, "common": ladder.common, "steps": ladder.steps}
    head |= {"solve_seconds": SOLVE_SECONDS, "enough": ENOUGH}
    lines = ",\n".join(json.dumps(one) for one in cells)
    KEPT.mkdir(exist_ok=True)
    page(problem).write_text(f'{json.dumps(head)[:-1]}, "cells": [\n{lines}\n]}}\n', encoding="utf-8")


def measure(problem: str, only: str | None, again: bool) -> None:
    """Measure what is missing of a problem, one policy or oracle or all again, and keep it as it comes."""
    find(problem)
    cells = json.loads(page(problem).read_text("utf-8"))["cells"] if page(problem).exists() else []
    known = {(one["kind"], one["name"]) for one in cells}
    for kind, name in cast(problem):
        if name == only or (only is None and (again or (kind, name) not in known)):
            cells = [one for one in cells if (one["kind"], one["name"]) != (kind, name)]
            for cell in climb(problem, kind, name):
                print(problem, json.dumps(cell), file=sys.stderr, flush=True)
                cells.append(cell)
            write(problem, cells)
    write(problem, cells)


def main() -> None:
    """Measure all problems, or one, or a single cell, which is printed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("--problem", choices=LADDERS)
    parser.add_argument("--name", help="only this policy or oracle, anew")
    parser.add_argument("--again", action="store_true", help="all anew, not only what is not kept")
    parser.add_argument("--cell", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.cell:
        kind, step = chosen.cell
        print(json.dumps(measured(chosen.problem, kind, chosen.name, int(step))))
        return
    for problem in [chosen.problem] if chosen.problem else LADDERS:
        measure(problem, chosen.name, chosen.again)


if __name__ == "__main__":
    main()
