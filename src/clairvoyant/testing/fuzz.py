"""Campaigns against the toolkit itself: ``python -m clairvoyant.testing.fuzz``, or ``make fuzz``.

*files* damages instance files: each is refused in one line, or it is an instance like any other, which is
solved at a time limit of 0, played and written back. *instances* draws small instances, their rewards on all
scales, and lets the oracles judge each other: no value of one is above the bound of another, a replay earns
the value, and no policy earns more than is possible. *certificates* draws such instances, has certificates
written, verified, damaged, and verified again.

A campaign is cut into chunks, each of which is one run of Hypothesis with a seed of its own, which decides
all that is drawn (but that Hypothesis also draws numbers which stand in the source of the modules at hand). A
chunk that is done stands in ``fuzz.jsonl`` of the folder and is not done again; what failed stands there as
the smallest case that Hypothesis found, with its traceback.
"""

from __future__ import annotations

import hashlib
import json
import resource
import signal
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click
import hypothesis
from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st

from ..analysis.engine.cells import (
    LAYERS,
    Answer,
    Cell,
    State,
    key_of,
    look_again,
    source_of,
    source_of_module,
)
from ..analysis.engine.engine import run_cells
from ..analysis.engine.processes import Processes
from ..analysis.engine.store import open_store
from ..cli import output as out
from ..models.base import InputError
from .campaigns import TARGETS, check_certificates, check_file, cross_check, damaged, has_certificates
from .kit import Target

CHUNK = 50
"""Cases of a chunk: what is lost at most when a campaign is stopped."""

MEMORY = 6 << 30
"""Bytes that a worker may hold: a damaged file may ask for a horizon of a billion slots."""

CASE_SECONDS = 120
"""Seconds after which a case counts as too long, which is no failure."""


RETRY = (State.FAILED, State.TIMED_OUT)
"""Chunks whose process ended are run again by the next campaign."""

FUNCTION = "clairvoyant.testing.fuzz:chunk"
"""What a worker calls; this module may run under another name."""


class TooLongError(Exception):
    """A case took longer than :data:`CASE_SECONDS`."""


CAMPAIGNS = ("files", "instances", "certificates")


def run_chunk(campaign: str, problem: str, seed: int, chunk: int, cases: int) -> dict[str, Any]:
    """Run one chunk of a campaign; return its line: how the cases ended, and the smallest failure if any."""
    counts: Counter[str] = Counter()
    last: list[str] = [""]

    @hypothesis.seed(int.from_bytes(hashlib.sha256(f"{campaign}/{problem}/{seed}/{chunk}".encode()).digest()))
    @hypothesis.settings(
        max_examples=cases,
        database=None,
        deadline=None,
        derandomize=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        verbosity=hypothesis.Verbosity.quiet,
    )
    @given(st.data())
    def one(data: st.DataObject) -> None:
        try:
            with _bounded():
                counts[_case(campaign, TARGETS[problem], data, last)] += 1
        except TooLongError:
            counts["too long"] += 1
        except MemoryError:
            counts["too large"] += 1

    line = {"campaign": campaign, "problem": problem, "seed": seed, "chunk": chunk, "cases": cases}
    try:
        one()
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is what a campaign looks for
        trace = "".join(traceback.format_exception(error))
        return line | {"counts": dict(counts), "failure": {"case": last[0], "trace": trace[-8000:]}}
    return line | {"counts": dict(counts), "failure": None}


def _case(campaign: str, target: Target, data: st.DataObject, last: list[str]) -> str:
    """Draw one case and check it; ``last`` keeps the one at hand."""
    instance = data.draw(target.instances)
    if campaign == "files":
        text = data.draw(damaged(instance.to_dict()))
        last[0] = text.decode(errors="replace")
        return check_file(text, data.draw(st.booleans()))
    factor = data.draw(st.sampled_from([1.0, 1.0, 1e-10, 1e9, 1e-6, 1e3]))
    with suppress(InputError):  # scaled, the smallest numbers may be smaller than is read
        instance = type(instance).from_dict(target.scaled(instance.to_dict(), factor))
    last[0] = json.dumps(instance.to_dict())
    return cross_check(target, instance) if campaign == "instances" else check_certificates(instance, data)


@contextmanager
def _bounded() -> Iterator[None]:
    """Limit the time of a case; warnings are errors."""

    def ring(*_: Any) -> None:
        raise TooLongError

    usual = signal.signal(signal.SIGALRM, ring)
    signal.alarm(CASE_SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, usual)


def chunk(arguments: Mapping[str, Any], _report: Callable[[float], None]) -> dict[str, Any]:
    """Run the chunk that a cell stands for, in a process that may hold so much memory."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    return run_chunk(**arguments)


def fuzz(
    folder: Path,
    *,
    seed: int,
    files: int,
    instances: int,
    certificates: int = 0,
    problems: tuple[str, ...] = tuple(TARGETS),
    workers: int = 2,
    report: Callable[[str], None] = click.echo,
) -> list[dict[str, Any]]:
    """Run the campaigns, as many cases of each per problem, and return a line for every chunk.

    Chunks that stand in ``fuzz.jsonl`` of the folder are not run again, unless the source has changed.
    """
    look_again()
    front = source_of_module(__name__.partition(".")[0] if __name__ != "__main__" else "clairvoyant")
    source = key_of(layers=source_of(LAYERS), front=front, hypothesis=hypothesis.__version__)
    wanted = [
        {"campaign": campaign, "problem": problem, "seed": seed, "chunk": number, "cases": cases}
        for campaign, total in zip(CAMPAIGNS, (files, instances, certificates), strict=True)
        for number in range(-(-total // CHUNK))
        for problem in problems
        if campaign != "certificates" or has_certificates(problem)
        for cases in [min(CHUNK, total - number * CHUNK)]
    ]
    cells = [
        Cell(key_of(source=source, **one), f"{one['campaign']}, {one['problem']}", FUNCTION, one)
        for one in wanted
    ]
    before: dict[str, Answer] = {}
    new: list[str] = []

    def take(cell: Cell, answer: Answer) -> None:
        if cell.key not in before:
            new.append(cell.key)
            failed = ", FAILED" if line_of(cell, answer)["failure"] is not None else ""
            report(f"{len(new)} of {len(cells) - len(before)}: {cell.name}{failed}")

    with open_store(folder / "fuzz.jsonl") as store, Processes(workers) as processes:
        before |= store.known(cell.key for cell in cells)
        report(f"{len(cells)} chunks of up to {CHUNK} cases, {len(before)} of them done before")
        answers = run_cells(cells, store, processes, retry=RETRY, take=take)
    return [line_of(cell, answers[cell.key]) for cell in cells]


def line_of(cell: Cell, answer: Answer) -> dict[str, Any]:
    """Return the line of a chunk; one that ended its process has failed."""
    if answer.state is State.DONE:
        return dict(answer.result)
    return {**cell.arguments, "counts": {}, "failure": {"case": "", "trace": answer.error}}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Decides every case.")
@click.option("--files", type=click.IntRange(min=0), default=5000, show_default=True, help="Per problem.")
@click.option("--instances", type=click.IntRange(min=0), default=1000, show_default=True, help="Per problem.")
@click.option(
    "--certificates", type=click.IntRange(min=0), default=1000, show_default=True, help="Per problem."
)
@click.option("--problem", "problems", multiple=True, type=click.Choice(list(TARGETS)), help="Only these.")
@click.option("--workers", type=click.IntRange(min=1), default=2, show_default=True, help="Processes.")
@click.option(
    "--out", "folder", type=click.Path(path_type=Path), default=Path("reports/fuzz"), show_default=True
)
@click.pass_context
def main(
    context: click.Context,
    seed: int,
    files: int,
    instances: int,
    certificates: int,
    problems: tuple[str, ...],
    workers: int,
    folder: Path,
) -> None:
    """Damage files and certificates, and let the oracles judge each other; go on where it was stopped."""
    chosen = problems or tuple(TARGETS)
    try:
        lines = fuzz(
            folder,
            seed=seed,
            files=files,
            instances=instances,
            certificates=certificates,
            problems=chosen,
            workers=workers,
        )
    except InputError as error:
        raise click.UsageError(str(error)) from error
    for campaign in CAMPAIGNS:
        for problem in chosen:
            here = [line for line in lines if (line["campaign"], line["problem"]) == (campaign, problem)]
            counts = sum((Counter(line["counts"]) for line in here), Counter())
            text = ", ".join(f"{n} {how}" for how, n in counts.most_common()) or "nothing"
            click.echo(f"{campaign}, {problem}: {text}")
    failed = [line for line in lines if line["failure"] is not None]
    for line in failed:
        out.line()
        out.line(f"{line['campaign']}, {line['problem']}, chunk {line['chunk']}:")
        out.line(line["failure"]["case"])
        for part in line["failure"]["trace"].splitlines():
            out.line(part)
    context.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
