"""The audit: check every claim, side by side, saving each finding as soon as it is there."""

from __future__ import annotations

import os
import pickle
import traceback
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import FunctionType
from typing import Any

from ..models.base import ClairvoyantError, InputError, make_folder, remove_parts, things
from ..models.draw import choose as name_one_of
from ..models.draw import whole
from .claim import Claim, Context, Finding
from .engine.cells import LAYERS, Answer, Cell, State, key_of, look_again, raised, source_of, source_of_module
from .engine.engine import Executor, Progress, run_cells
from .engine.kept import believed, keeping, signed
from .engine.processes import Limits, Processes
from .engine.store import Store, open_store
from .findings import ReadInstance, check_id, from_dict, to_dict, write_files

Results = list[tuple[Claim, Finding]]

OURS = __name__.partition(".")[0]  # the name of this package

CHECK_APART = f"{__name__}:check_apart"  # the function of the cells that are findings
PARTIAL = "audit.partial"  # the file in the folder of the audit that an interrupted audit goes on from


class CheckError(RuntimeError):
    """A check ended with an exception instead of a finding; the text holds the claim and the traceback."""


class ForeignCheckError(ClairvoyantError):
    """Checks of other distributions ended with exceptions; all other checks were finished.

    ``results`` are the findings of the others, in the order of the claims. ``failed`` says of each claim
    without one whose it is and what its check raised, in one line; ``tracebacks`` are those of the checks.
    """

    def __init__(self, results: Results, tracebacks: Mapping[str, str], owners: Mapping[str, str]) -> None:
        self.results, self.tracebacks = results, dict(tracebacks)
        self.failed = {
            claim: f"its check, from {owners[claim]}, failed: {raised(text)}"
            for claim, text in tracebacks.items()
        }
        super().__init__("; ".join(f"claim {claim}: {why}" for claim, why in self.failed.items()))


def run_audit(
    *,
    problems: str | Sequence[str] | None = None,
    claims: str | Sequence[str] | None = None,
    mode: str = "default",
    out: Path,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
    catalogue: Sequence[Claim],
    read: ReadInstance,
    owners: Mapping[str, str] | None = None,
    store: Path | None = None,
) -> Results:
    """Check claims and return their findings, in the order of the claims.

    Every finding is written as soon as it is there. An audit that was interrupted, killed or stopped by an
    error is continued by the next one with the same mode, seed and source; a complete one leaves nothing.

    Parameters
    ----------
    problems, claims
        Only claims of these problems, and only these claims, by id; one name may stand alone.
    mode, seed
        "quick", "default" or "full"; what decides everything random.
    out
        Folder for the findings; made unless it is there.
    workers
        Processes; by default one per core. With 1, the checks run in this one.
    catalogue
        Where claims are chosen from. With workers, their checks are functions that a new process can import.
    read
        Returns the instance of a JSON object, for the counterexamples.
    owners
        The distributions that bring the claims which are not ours, by id; what they raise stops no others.
    store
        File in which findings, and the runs and optima that they rest on, are kept for every later audit and
        sweep, and from which they are taken. By default one in ``out`` that is deleted at the end.

    Raises
    ------
    InputError
        For an unknown problem, claim or mode, or a folder that cannot be written, before any work.
    Interrupted
        After Ctrl-C; it says of how many claims the findings are saved.
    CheckError
        If a check of ours raises, after saving what is finished.
    ForeignCheckError
        If only others do, after all that remain are finished.
    """
    chosen = choose(problems, claims, catalogue)
    context, tell = Context(mode, seed), progress or (lambda _fraction, _text: None)
    if workers is not None:
        whole("workers", workers, 1)
    make_folder(out)
    key, by_id = _key(context, catalogue), {claim.id: claim for claim in chosen}
    audit = _Audit(by_id, out, context, key, read, tell, owners or {})
    with open_store(store or out / PARTIAL) as kept:
        for folder in (out, *out.glob("figures"), *out.glob("findings/*"), *out.glob("counterexamples/*")):
            remove_parts(folder)  # nobody else writes there now
        audit.run(kept, workers or os.cpu_count() or 1)
        if store is None and audit.complete(kept):
            kept.remove()  # while nobody else can begin to write it
    results = [(claim, audit.found[claim.id]) for claim in chosen if claim.id in audit.found]
    if audit.failed:
        raise ForeignCheckError(results, audit.failed, audit.owners)
    return results


def choose(
    problems: str | Sequence[str] | None, claims: str | Sequence[str] | None, catalogue: Sequence[Claim]
) -> list[Claim]:
    """Return the claims of these problems and with these ids, or all where none are given."""
    known: dict[str, Claim] = {}
    for claim in catalogue:
        check_id(claim)
        if known.setdefault(claim.id, claim) is not claim:
            raise InputError(f"claim: {claim.id!r} is there twice")
    valid = sorted({claim.problem for claim in catalogue})
    theirs = [name_one_of(one, valid, "problem with claims") for one in _names(problems) or valid]
    these = [name_one_of(one, known, "claim") for one in _names(claims) or known]
    return [claim for claim in catalogue if claim.id in these and claim.problem in theirs]


def _names(given: str | Sequence[str] | None) -> Sequence[str] | None:
    return [given] if isinstance(given, str) else given


def _key(context: Context, claims: Sequence[Claim]) -> str:
    """Return a hash of everything that findings depend on."""
    missing = sorted({claim.extra for claim in claims if claim.lacks_extra})
    told = {"version": version("clairvoyant"), "source": source_digest(claims), "missing": missing}
    return key_of(**told, mode=context.mode, seed=context.seed)


def source_digest(claims: Sequence[Claim] = ()) -> str:
    """Return a hash of the source of this package and of those that hold the checks of the claims."""
    look_again()
    modules = {name for claim in claims for name in _modules(claim.check) if name.partition(".")[0] != OURS}
    parts = {"layers": source_of(LAYERS), "front": source_of_module(OURS)}
    return key_of(**parts, others=[source_of_module(name) for name in sorted(modules)])


def _modules(check: Any) -> Iterator[str]:
    """Yield the modules of a check, and of the classes and functions that it is given beforehand."""
    while isinstance(check, partial):
        given = (*check.args, *check.keywords.values())
        yield from (one.__module__ for one in given if isinstance(one, (type, FunctionType)))
        check = check.func
    yield check.__module__


@dataclass
class _Audit:
    """What is found so far, in memory and in files."""

    claims: Mapping[str, Claim]
    out: Path
    context: Context
    key: str
    read: ReadInstance
    progress: Progress
    owners: Mapping[str, str]
    found: dict[str, Finding] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    figures: dict[str, str] = field(default_factory=dict)  # the claim of every figure
    note: str = ""

    def run(self, store: Store, workers: int) -> None:
        """Take what is kept and check the rest."""
        with ExitStack() as opened:
            if workers == 1:
                opened.enter_context(keeping(store.look, lambda cell, answer: store.add([(cell, answer)])))
                executor: Executor = _Here(self.claims, replace(self.context, progress=self._report_within))
            else:
                executor = opened.enter_context(Processes(workers, store=store.path))
            run_cells(
                [*self._cells(workers > 1)],
                store,
                executor,
                retry=(State.FAILED, State.TIMED_OUT),
                progress=lambda part, text: self.progress(part, f"{text}{self.note}"),
                take=self._take,
                believe=believed,
                what="claims",
            )

    def _cells(self, travel: bool) -> Iterator[Cell]:
        """Yield the cells of the claims; those that travel to another process hold the claim."""
        arguments = {"audit": self.key, "mode": self.context.mode, "seed": self.context.seed}
        for claim in self.claims.values():
            try:
                more = {"claim": b64encode(pickle.dumps(claim)).decode()} if travel else {}
            except Exception as error:  # noqa: BLE001 - whatever its parts raise
                self._fail(claim, str(error), error)
                continue
            yield Cell(_key_of_finding(claim, self.key), claim.id, CHECK_APART, arguments | more)

    def complete(self, store: Store) -> bool:
        """Tell whether all that is kept was wanted or is out of date; else a larger audit can go on there."""
        kept = [row for row in store.rows(CHECK_APART) if row["arguments"].get("audit") == self.key]
        return not self.failed and all(row["name"] in self.found for row in kept)

    def _fail(self, claim: Claim, why: str, cause: Exception | None = None) -> None:
        """Raise an error for a claim of ours; note it for one of others."""
        if claim.id not in self.owners:
            raise CheckError(f"{claim.id}: {why}") from cause
        self.failed[claim.id] = why

    def _take(self, cell: Cell, answer: Answer) -> None:
        """Keep a finding, as files too."""
        claim = self.claims[cell.name]
        if answer.state is not State.DONE:
            self._fail(claim, answer.error)
            return
        try:
            finding = from_dict(answer.result, self.read)
        except Exception as error:  # noqa: BLE001 - whatever the class of a counterexample does
            self._fail(claim, traceback.format_exc(), error)
            return
        for figure in finding.figures:
            owner = self.figures.setdefault(figure.name, claim.id)
            if owner in self.owners and claim.id not in self.owners:  # then it is not ours that is at fault
                self.failed[owner] = f"{claim.id} has a figure named {figure.name!r} too"
                self.figures[figure.name] = claim.id
                del self.found[owner]
            elif owner != claim.id:
                self._fail(claim, f"{owner} has a figure named {figure.name!r} too")
                return
        write_files(self.out, claim, finding, self.context)
        self.found[claim.id] = finding
        self.note = f"; {claim.id}: {finding.verdict.value}"

    def _report_within(self, fraction: float) -> None:
        done, total = len(self.found) + len(self.failed), len(self.claims)
        self.progress((done + fraction) / total, f"{done} of {total} {things(total, 'claims')}{self.note}")


@dataclass
class _Here:
    """Checks in this process, one after the other."""

    claims: Mapping[str, Claim]
    context: Context
    limits: Limits = field(default_factory=Limits)
    fractions: dict[str, float] = field(default_factory=dict)

    def run(self, cells: Iterable[Cell]) -> Iterator[list[tuple[Cell, Answer]]]:
        """Yield every cell with its answer."""
        for cell in cells:
            try:
                found = self.claims[cell.name].find(self.context)
                answer = Answer(State.DONE, signed(cell.key, to_dict(found)))
            except (Exception, SystemExit):  # noqa: BLE001 - reported as that of a process is
                self.context.progress(0.0)  # raises a Ctrl-C that some library made another exception of
                answer = Answer(State.FAILED, None, traceback.format_exc())
            yield [(cell, answer)]


def check_apart(arguments: Mapping[str, Any], report: Callable[[float], None]) -> dict[str, Any]:
    """Check a claim in a process of the engine; return the finding in the form of JSON, signed."""
    claim: Claim = pickle.loads(b64decode(arguments["claim"]))  # noqa: S301 - of who began the process
    found = claim.find(Context(arguments["mode"], arguments["seed"], report))
    return signed(_key_of_finding(claim, arguments["audit"]), to_dict(found))


def _key_of_finding(claim: Claim, audit: str) -> str:
    return key_of(claim=claim.id, audit=audit)
