"""The audit: check every claim, side by side, saving each finding as soon as it is there."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..models.base import InputError, make_folder, things
from ..models.draw import choose as name_one_of
from .claim import Claim, Context, Finding
from .findings import Partial, ReadInstance, check_id, from_dict, to_dict, write_files
from .workers import TICK, side_by_side

MODES = ("quick", "default", "full")
PARTIAL = "audit.partial"
"""The file in the folder of the audit that an interrupted audit goes on from."""

LAYERS = ("models", "oracles", "online", "analysis")
_Answer = dict[str, Any] | str
"""A finding in the form of JSON, or the traceback of a check that raised."""

Progress = Callable[[float, str], None]
"""Called with the fraction done (0 to 1) and a short text."""


class AuditInterrupted(KeyboardInterrupt):
    """The audit was interrupted; ``saved`` of ``total`` findings are there for the next one."""

    def __init__(self, saved: int, total: int) -> None:
        super().__init__(
            f"saved: {saved} of {total} {things(total, 'findings')}; the same command goes on from there"
        )
        self.saved, self.total = saved, total


class CheckError(RuntimeError):
    """A check ended with an exception instead of a finding; the text holds the claim and the traceback."""


def run_audit(
    *,
    problems: Sequence[str] | None = None,
    claims: Sequence[str] | None = None,
    mode: str = "default",
    out: Path,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
    catalogue: Sequence[Claim],
    read: ReadInstance,
) -> list[tuple[Claim, Finding]]:
    """Check claims and return their findings, in the order of the claims.

    Every finding is written into ``out`` as soon as it is there. An audit that was interrupted, killed or
    stopped by an error is continued by the next one with the same mode, seed and source; a complete one
    leaves nothing to continue.

    Parameters
    ----------
    problems
        Only claims of these problems.
    claims
        Only these claims, by id.
    mode
        "quick", "default" or "full".
    out
        Folder for the findings; made unless it is there.
    seed
        Decides everything random.
    workers
        Processes; by default one per core. With one, the checks run in this process.
    progress
        Called with the fraction done and a text.
    catalogue
        Where claims are chosen from. Their checks must be functions that a new process can import, unless
        there is one worker.
    read
        Returns the instance of a JSON object, for the counterexamples.

    Raises
    ------
    InputError
        For an unknown problem, claim or mode, or a folder that cannot be written, before any work.
    AuditInterrupted
        After Ctrl-C; it says how many findings are saved.
    CheckError
        If a check raises, after saving what is finished.
    """
    chosen = choose(problems, claims, catalogue)
    name_one_of(mode, MODES, "mode")
    if workers is not None and workers < 1:
        raise InputError(f"workers: {workers} is not at least 1")
    make_folder(out)
    context = Context(mode, seed)
    saved = Partial(out / PARTIAL, _key(context, catalogue))
    audit = _Audit(chosen, out, context, saved, read, progress or (lambda _fraction, _text: None))
    try:
        audit.run(workers or os.cpu_count() or 1)
    except KeyboardInterrupt:
        raise AuditInterrupted(len(audit.found), len(chosen)) from None
    finally:
        saved.close()
    return [(claim, audit.found[claim.id]) for claim in chosen]


def choose(
    problems: Sequence[str] | None, claims: Sequence[str] | None, catalogue: Sequence[Claim]
) -> list[Claim]:
    """Return the claims of these problems and with these ids, or all where none are given.

    Raises
    ------
    InputError
        For an unknown claim, and a problem without claims, listing the known ones.
    """
    known: dict[str, Claim] = {}
    for claim in catalogue:
        check_id(claim)
        if known.setdefault(claim.id, claim) is not claim:
            raise InputError(f"claim: {claim.id!r} is there twice")
    valid = sorted({claim.problem for claim in catalogue})
    for problem in problems or ():
        name_one_of(problem, valid, "problem with claims")
    for name in claims or ():
        name_one_of(name, known, "claim")
    return [
        claim
        for claim in catalogue
        if (not claims or claim.id in claims) and (not problems or claim.problem in problems)
    ]


def _key(context: Context, claims: Sequence[Claim]) -> dict[str, Any]:
    """Return everything that findings depend on."""
    return {
        "mode": context.mode,
        "seed": context.seed,
        "version": version("clairvoyant"),
        "source": source_digest(claims),
        "missing": sorted({claim.extra for claim in claims if claim.lacks_extra}),
    }


def source_digest(claims: Sequence[Claim] = ()) -> str:
    """Return a hash of the source of this package and of the modules that hold the checks of the claims."""
    root = Path(__file__).resolve().parent.parent
    files = {
        path.relative_to(root).as_posix(): path
        for layer in LAYERS
        for path in (root / layer).rglob("*")
        if path.suffix in (".py", ".json", ".pt")
    }
    for claim in claims:
        check: Any = claim.check
        while isinstance(check, partial):
            check = check.func
        place = getattr(sys.modules[check.__module__], "__file__", None)
        if place is not None and Path(place).resolve() not in files.values():
            files[check.__module__] = Path(place).resolve()
    hasher = hashlib.sha256()
    for name, path in sorted(files.items()):
        hasher.update(f"{name}\n{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return hasher.hexdigest()


class _Audit:
    """What is found so far, in memory and in files."""

    def __init__(
        self,
        claims: Sequence[Claim],
        out: Path,
        context: Context,
        saved: Partial,
        read: ReadInstance,
        progress: Progress,
    ) -> None:
        self.found: dict[str, Finding] = {}
        self._claims, self._out, self._context = claims, out, context
        self._saved, self._read, self._progress, self._note = saved, read, progress, ""
        self._figures: dict[str, str] = {}
        self._under_way: dict[str, float] = {}

    def run(self, workers: int) -> None:
        """Take what is saved and check the rest."""
        saved = self._saved.load(self._read)
        for claim in self._claims:
            if claim.id in saved:
                self._keep(claim, saved[claim.id])
        if self.found:
            self._note = "taken from an audit that was not completed"
        self._tell()
        rest = [claim for claim in self._claims if claim.id not in self.found]
        if workers == 1:
            self._in_turn(rest)
        elif rest:
            self._side_by_side(rest, min(workers, len(rest)))
        if saved.keys() <= self.found.keys():  # else the audit of more claims can still go on from there
            self._saved.remove()

    def _in_turn(self, claims: Sequence[Claim]) -> None:
        for claim in claims:

            def tell(fraction: float, name: str = claim.id) -> None:
                self._under_way = {name: fraction}
                self._tell()

            self._settle(claim, _check(claim, Context(self._context.mode, self._context.seed, tell)))

    def _side_by_side(self, claims: Sequence[Claim], count: int) -> None:
        fractions = multiprocessing.RawArray("d", len(claims))
        pending: dict[Future[_Answer], Claim] = {}
        with side_by_side(count, _begin_worker, fractions) as pool:
            for place, claim in enumerate(claims):
                task = (claim, self._context.mode, self._context.seed, place)
                pending[pool.submit(_check_apart, *task)] = claim
            try:
                while pending:
                    for future in wait(pending, TICK, FIRST_COMPLETED).done:
                        self._settle(pending[future], _answer(pending[future], future))
                        del pending[future]
                    self._under_way = {claim.id: fractions[n] for n, claim in enumerate(claims)}
                    self._tell()
            finally:
                self._salvage(pending)

    def _salvage(self, pending: Mapping[Future[_Answer], Claim]) -> None:
        """Keep what was finished at the moment of an interrupt or an error."""
        for future, claim in pending.items():
            if future.done() and future.exception() is None:
                answer = future.result()
                if not isinstance(answer, str):
                    self._keep(claim, from_dict(answer, self._read))

    def _settle(self, claim: Claim, answer: _Answer) -> None:
        if isinstance(answer, str):
            raise CheckError(f"{claim.id}: {answer}")
        self._keep(claim, from_dict(answer, self._read))
        self._tell()

    def _keep(self, claim: Claim, finding: Finding) -> None:
        for figure in finding.figures:
            owner = self._figures.setdefault(figure.name, claim.id)
            if owner != claim.id:
                raise CheckError(f"{claim.id}: {owner} has a figure named {figure.name!r} too")
        write_files(self._out, claim, finding, self._context)
        self._saved.add(claim, finding)
        self.found[claim.id] = finding
        self._note = f"{claim.id}: {finding.verdict.value}"

    def _tell(self) -> None:
        done, total = len(self.found), len(self._claims)
        begun = sum(part for name, part in self._under_way.items() if name not in self.found)
        note = f"; {self._note}" if self._note else ""
        self._progress((done + begun) / max(1, total), f"{done} of {total} {things(total, 'claims')}{note}")


def _check(claim: Claim, context: Context) -> _Answer:
    """Return the finding in the form of JSON, or the traceback as text."""
    try:
        return to_dict(claim.find(context))
    except Exception:  # noqa: BLE001 - not every exception can travel to the main process, which raises it
        return traceback.format_exc()


def _check_apart(claim: Claim, mode: str, seed: int, place: int) -> _Answer:
    """Check a claim in a worker, telling the main process how far it is."""

    def tell(fraction: float) -> None:
        _worker.fractions[place] = fraction

    return _check(claim, Context(mode, seed, tell))


def _answer(claim: Claim, future: Future[_Answer]) -> _Answer:
    try:
        return future.result()
    except Exception as error:
        raise CheckError(f"{claim.id}: {error}") from error


class _Worker:
    """What a worker process knows."""

    fractions: Any


_worker = _Worker()


def _begin_worker(fractions: Any) -> None:
    _worker.fractions = fractions
