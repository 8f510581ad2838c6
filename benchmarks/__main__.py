"""``python -m benchmarks [--problem P] [--full]``: time and memory beside named rivals, problem by problem.

The engine that runs many cells is measured as if it were one more problem, "engine".

Compile time is shown apart: everything is run once on a small instance first. Memory is measured in a
process of its own.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from clairvoyant.problems import problems

from . import engine
from .measure import HEADER, Row, import_time, show

PROBLEMS = {name: problem for name, problem in problems().items() if problem.has("benchmark")}
ENGINE = "engine"


def measure(problem: str, full: bool) -> Iterator[Row]:
    """Yield every measurement of one problem, or of the engine."""
    yield import_time()
    yield from (engine.measure if problem == ENGINE else PROBLEMS[problem].part("benchmark"))(full)


def main() -> None:
    """Run the measurements, print them as they come, and write reports/benchmarks-PROBLEM.json."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--problem", choices=[*PROBLEMS, ENGINE], help="only this one")
    parser.add_argument("--full", action="store_true", help="larger instances too (minutes, gigabytes)")
    chosen = parser.parse_args()
    print(HEADER, flush=True)
    for problem in [chosen.problem] if chosen.problem else [*PROBLEMS, ENGINE]:
        rows = []
        for row in measure(problem, chosen.full):
            rows.append(asdict(row) | {"ratio": row.ratio})
            print(show(row), flush=True)
        out = Path("reports", f"benchmarks-{problem}.json")
        out.parent.mkdir(exist_ok=True)
        out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
