"""Campaigns against the toolkit itself: ``python -m clairvoyant.testing.fuzz``, or ``make fuzz``.

*files* damages instance files: each is refused in one line, or it is an instance like any other, which is
solved at a time limit of 0, played and written back. *instances* draws small instances, their rewards on all
scales, and lets the oracles judge each other: no value of one is above the bound of another, a replay earns
the value, and no policy earns more than is possible.

A campaign is cut into chunks, each of which is one run of Hypothesis with a seed of its own, which decides
all that is drawn (but that Hypothesis also draws numbers which stand in the source of the modules at hand). A
chunk that is done is a line of ``fuzz.jsonl`` in the folder and is not done again; what failed stands there
as the smallest case that Hypothesis found, with its traceback.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import resource
import signal
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import hypothesis
from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st

from ..cli import output as out
from .campaigns import TARGETS, check_file, cross_check, damaged
from .kit import Target

CHUNK = 50
"""Cases of a chunk: what is lost at most when a campaign is stopped."""

MEMORY = 6 << 30
"""Bytes that a worker may hold: a damaged file may ask for a horizon of a billion slots."""

CASE_SECONDS = 120
"""Seconds after which a case counts as too long, which is no failure."""


class TooLongError(Exception):
    """A case took longer than :data:`CASE_SECONDS`."""


CAMPAIGNS = ("files", "instances")


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
    instance = type(instance).from_dict(target.scaled(instance.to_dict(), factor))
    last[0] = json.dumps(instance.to_dict())
    return cross_check(target, instance)


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


def _begin_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver ends the workers
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def done_chunks(path: Path) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return the lines of chunks that are done, by what identifies them; a torn last line is forgotten."""
    found = {}
    for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        found[_key(line)] = line
    return found


def _key(line: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(line[name] for name in ("campaign", "problem", "seed", "chunk", "cases"))


def fuzz(
    folder: Path,
    *,
    seed: int,
    files: int,
    instances: int,
    problems: tuple[str, ...] = tuple(TARGETS),
    workers: int = 2,
    report: Callable[[str], None] = click.echo,
) -> list[dict[str, Any]]:
    """Run the campaigns, as many cases of each per problem, and return a line for every chunk.

    Chunks that stand in ``fuzz.jsonl`` of the folder are not run again.
    """
    wanted = [
        (campaign, problem, seed, chunk, min(CHUNK, total - chunk * CHUNK))
        for campaign, total in zip(CAMPAIGNS, (files, instances), strict=True)
        for chunk in range(-(-total // CHUNK))
        for problem in problems
    ]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "fuzz.jsonl"
    lines = done_chunks(path)
    left = [key for key in wanted if key not in lines]
    report(f"{len(wanted)} chunks of up to {CHUNK} cases, {len(wanted) - len(left)} of them done before")
    spawn = multiprocessing.get_context("spawn")
    with path.open("a", encoding="utf-8") as log, ProcessPoolExecutor(workers, spawn, _begin_worker) as pool:
        log.write("\n")  # ends a torn line
        waiting = [pool.submit(run_chunk, *key) for key in left]
        try:
            for number, future in enumerate(as_completed(waiting), 1):
                line = future.result()
                lines[_key(line)] = line
                log.write(json.dumps(line) + "\n")
                log.flush()
                os.fsync(log.fileno())
                failed = "" if line["failure"] is None else ", FAILED"
                report(f"{number} of {len(left)}: {line['campaign']}, {line['problem']}{failed}")
        except BaseException:  # Ctrl-C too: what has not begun is dropped, and the error is raised again
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [lines[key] for key in wanted]


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Decides every case.")
@click.option("--files", type=click.IntRange(min=0), default=5000, show_default=True, help="Per problem.")
@click.option("--instances", type=click.IntRange(min=0), default=1000, show_default=True, help="Per problem.")
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
    problems: tuple[str, ...],
    workers: int,
    folder: Path,
) -> None:
    """Damage instance files, and let the oracles judge each other; go on where it was stopped."""
    chosen = problems or tuple(TARGETS)
    lines = fuzz(folder, seed=seed, files=files, instances=instances, problems=chosen, workers=workers)
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
