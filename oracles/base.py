"""The result of every oracle: an incumbent's value, a certified bound, and why the search stopped."""

from __future__ import annotations

import enum
import gzip
import inspect
import json
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from hashlib import sha256
from numbers import Real
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypeVar

from .. import verify
from ..models import stopwatch
from ..models.base import ClairvoyantError, DecisionType, InputError, make_folder, path_of, write_whole
from ..models.shown import Shown, amount
from ..verify import VERSION, RejectedError, Statement, UnreadableError, derive

ProgressCallback = Callable[[float, str], None]
"""Called with the fraction done (0 to 1) and a short text."""


class PartProgress(Protocol):
    """What a part of a search is given for its progress: it takes its own value and dual bound as well.

    They are in units of the :class:`Optimum`; not a number stands for none.
    """

    def __call__(
        self, done: float, text: str, /, *, value: float = math.nan, bound: float = math.nan
    ) -> None:
        """Take the fraction done, a short text, and what the part has found and proved so far."""


CANCELLED = 2.0**-20
"""Where gains and charges cancel to less than this part of them, a gap is relative to this part: what remains
is made of their rounding, and an optimum of exactly 0 would have no gap but infinity."""


REPAIRED = 2.0**-40
"""The part of a value or a bound that a certificate may lack: decisions are shrunk until they are feasible
exactly, and bounds are computed again."""


ROUNDED = 2.0**-50
"""The part of gains and charges, where they cancel, that their rounding takes from a value or adds to it."""


CONTRADICTS, NEXT_TO_0 = 1e-6, 1e-9
"""A value that is further beyond its bound than this part of either, and than the second number, is so by no
rounding, and one that is so far from it is not proved."""


VERIFIED = "certificate verified"
"""What is said of an optimum that a certificate proves."""


UNCERTIFIED = "not certified"
"""What is said of one that is proved by a solver or a search alone."""


CHECKER = sha256(inspect.getsource(verify).encode()).hexdigest()[:16]
"""A hash of the checker of certificates."""


PAUSE = 0.5
"""Seconds between two reports of progress."""


class OracleError(ClairvoyantError):
    """A solver's answer failed our own check, or it reported an unknown status."""


class NoOptimumError(OracleError):
    """A solver ended with neither a solution nor its time up: ``solver`` with this ``status``."""

    def __init__(self, solver: str, status: str) -> None:
        super().__init__(f"{solver}: status {status} for a program that has an optimum")
        self.solver, self.status = solver, status


class WhyStopped(enum.Enum):
    """Why an oracle stopped, whatever its incumbent is."""

    PROVED = "proved"
    GAP_REACHED = "gap reached"
    TIME_LIMIT = "time limit"
    STALLED = "no further progress in floating point"
    ROUNDS = "all rounds are done"

    @classmethod
    def of(cls, status: str) -> Self:
        """Return what a :attr:`Optimum.status` begins with."""
        return next(why for why in cls if status.startswith(why.value))


@dataclass(frozen=True)
class Optimum(Shown, Generic[DecisionType]):
    """The result of an oracle: its incumbent and a certified bound.

    Attributes
    ----------
    value
        Objective of ``decision``, recomputed by the instance.
    bound
        Certified: nothing is better than this. ``None`` if nothing is proven.
    decision
        The decision itself; playing it gives ``value``.
    why_stopped, method, seconds
        Why and how, and how long it took, without loading libraries and compiling kernels.
    certificate
        The numbers from which anyone can compute ``bound`` again, where the method has them.
    minimised
        Whether less is better, so that ``bound`` is below ``value``.
    scale
        The instance's own least scale: where gains and charges cancel, :data:`CANCELLED` of what the bound is
        made of. 0 elsewhere.
    problem, digest, oracle, unit
        Of which instance it is, by which oracle, and in which unit; :func:`clairvoyant.solve` fills them in.
    statement
        What :mod:`clairvoyant.verify` has verified, if a certificate was written.
    instance, writer, vipr
        What :meth:`save_certificate` and :meth:`save_vipr` need; :func:`clairvoyant.solve` fills them in.
    """

    value: float
    bound: float | None
    decision: DecisionType
    why_stopped: WhyStopped
    method: str
    seconds: float
    certificate: Any = None
    minimised: bool = False
    scale: float = 0.0
    problem: str = ""
    digest: str = ""
    oracle: str = ""
    unit: str = ""
    statement: Statement | None = None
    instance: Any = field(default=None, repr=False, compare=False)
    writer: CertificateWriter | None = field(default=None, repr=False, compare=False)
    vipr: ViprWriter | None = field(default=None, repr=False, compare=False)

    @property
    def gap(self) -> float | None:
        """Distance of ``bound`` from ``value`` over max(``scale``, |``bound``|), never negative."""
        if self.bound is None:
            return None
        sign = -1.0 if self.minimised else 1.0
        return relative_gap(sign * self.value, sign * self.bound, self.scale)

    @property
    def facts(self) -> dict[str, Any]:
        """Everything that is told of it but the decision and what belongs to that."""
        return {
            "value": self.value,
            "bound": self.bound,
            "gap": self.gap,
            "why_stopped": self.status,
            "method": self.method,
            "seconds": self.seconds,
        }

    @property
    def status(self) -> str:
        """Why the search stopped, and what proves it: a verified certificate, or else the method alone."""
        why = self.why_stopped.value
        if self.certified:
            return f"{why}, {VERIFIED}"
        if self.statement is None:
            return f"{why} by {self.method}, {UNCERTIFIED}" if self.why_stopped is WhyStopped.PROVED else why
        _, _, gap = self._proven(self.statement)
        return f"{why} by {self.method}, {UNCERTIFIED}: the certificate proves a gap of {gap:.2g}"

    @property
    def certified(self) -> bool:
        """Whether a certificate was verified that proves what is reported: value, and bound if any."""
        if self.statement is None:
            return False
        value, bound, _ = self._proven(self.statement)
        if self.bound is None:
            return True
        sign = -1.0 if self.minimised else 1.0
        slack = REPAIRED * max(self.scale, abs(self.value), abs(self.bound))
        slack += ROUNDED * self.scale / CANCELLED
        return value >= sign * self.value - slack and bound <= sign * self.bound + slack

    def _proven(self, statement: Statement) -> tuple[float, float, float]:
        """Return value, bound and gap of a statement; the first two with another sign if less is better."""
        sign = -1.0 if self.minimised else 1.0
        value, bound = sign * float(statement.value), sign * float(statement.bound)
        return value, bound, relative_gap(value, bound, self.scale)

    def verified(self) -> Self:
        """Write its certificate in memory and check it; return this optimum with what that proves.

        Its bound counts where it is tighter than that of the oracle, and where it proves the decision to be
        optimal, without any tolerance, the optimum is proved.

        Raises
        ------
        InputError
            If certificates of the oracle are not written yet.
        OracleError
            If the certificate does not survive the check.
        """
        return self._with(self._checked_certificate()[1])

    def _with(self, statement: Statement) -> Self:
        """Return this optimum with a statement, and with what that proves beyond the oracle."""
        sign = -1 if self.minimised else 1  # a float would round the fraction
        exact, proven = sign * Fraction(statement.bound), sign * float(statement.bound)
        if Fraction(proven) < exact:
            proven = math.nextafter(proven, math.inf)
        tighter = self.bound is None or proven < sign * self.bound
        found = replace(self, statement=statement, bound=sign * proven if tighter else self.bound)
        return replace(found, why_stopped=WhyStopped.PROVED) if statement.gap == "0" else found

    def save_certificate(self, path: str | os.PathLike[str]) -> Self:
        """Write what proves this optimum, for ``clairvoyant verify``; gzipped if the name ends in ``.gz``.

        It is checked before it is written.

        Returns
        -------
        Optimum
            This one, as :meth:`verified` returns it.

        Raises
        ------
        InputError
            If certificates of the oracle are not written yet, or the file cannot be written.
        OracleError
            If the certificate does not survive the check.
        """
        target = path_of("path", path)
        certificate, statement = self._checked_certificate()
        text = json.dumps(certificate, separators=(",", ":")).encode() + b"\n"
        write_whole(target, gzip.compress(text, mtime=0) if target.suffix == ".gz" else text)
        return self._with(statement)

    def _checked_certificate(self) -> tuple[dict[str, Any], Statement]:
        """Return its certificate and the statement that this proves."""
        writer = certificate_writer(self.problem, self.oracle, self.writer)
        certificate = {
            "version": VERSION,
            "problem": self.problem,
            "oracle": self.oracle,
            "digest": self.digest,
        }
        try:
            decision, proof = writer(self.instance, self)
            certificate |= {"claims": {}, "decision": decision, "proof": proof}
            statement = derive(self.instance.to_dict(), certificate)
        except (RejectedError, UnreadableError) as error:
            raise OracleError(
                f"{self.problem}/{self.oracle}: the certificate is rejected: {error}"
            ) from error
        return certificate | {"claims": statement.claims}, statement

    def save_vipr(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write the proofs in the VIPR format, which public checkers of 0/1 programs read.

        Returns
        -------
        list
            The files, one for each 0/1 program; the folder is made unless it is there.

        Raises
        ------
        InputError
            If the oracle's optimum is not made of 0/1 programs, or a file cannot be written.
        """
        into, writer = path_of("folder", folder), vipr_writer(self.problem, self.oracle, self.vipr)
        make_folder(into)
        written = []
        for name, text in writer(self.instance, self):
            written.append(into / name)
            write_whole(written[-1], text.encode())
        return written

    def told(self) -> tuple[str, dict[str, str]]:
        """Return value and unit, and below them the bound, how they came about, and the instance."""
        pairs = {"bound": "nothing is proved about what is better"}
        if self.bound is not None:
            side = "below" if self.minimised else "above"
            pairs["bound"] = f"nothing is {side} {amount(self.bound, self.unit)} (gap {self.gap:.2g})"
        if self.statement is not None:
            at_least, most = ("costs at most", "less") if self.minimised else ("earns at least", "more")
            told = f"it {at_least} {self.statement.value}, and nothing {most} than {self.statement.bound}"
            pairs["certificate"] = told
        how = self.status if self.method in self.status else f"{self.method}: {self.status}"
        pairs["method"] = f"{how} after {self.seconds:.3g} s"
        pairs |= {"oracle": f"{self.problem}/{self.oracle}", "instance": self.digest} if self.digest else {}
        return f"optimum {amount(self.value, self.unit)}", pairs

    def __repr__(self) -> str:
        gap = "none proven" if self.gap is None else f"{self.gap:.2e}"
        bound = "none" if self.bound is None else f"{self.bound:.9g}"
        return f"Optimum(value={self.value:.9g}, bound={bound}, gap={gap}, {self.told()[1]['method']!r})"


CertificateWriter = Callable[[Any, Optimum[Any]], tuple[Any, Any]]
"""Takes an instance and its optimum; returns ``decision`` and ``proof`` of its certificate, as JSON."""


ViprWriter = Callable[[Any, Optimum[Any]], Iterator[tuple[str, str]]]
"""Takes an instance and its optimum; yields names and texts of files in the VIPR format."""


def certificate_writer(problem: str, oracle: str, writer: CertificateWriter | None) -> CertificateWriter:
    """Return what writes the certificates of an oracle, or raise an InputError if nothing does."""
    if writer is None:
        raise InputError(f"certificate: the proofs of {problem}/{oracle} are not written as certificates yet")
    return writer


def vipr_writer(problem: str, oracle: str, writer: ViprWriter | None) -> ViprWriter:
    """Return what writes the proofs of an oracle in the VIPR format, or raise an InputError."""
    if writer is None:
        raise InputError(f"vipr: the proofs of {problem}/{oracle} are not written in this format")
    return writer


def relative_gap(value: float, bound: float, scale: float = 0.0) -> float:
    """Return (bound - value) / max(scale, |bound|), at least 0; infinite if that is 0, or the bound infinite.

    No number in it is absolute: with all rewards multiplied, and so the scale, it stays the same.
    """
    if bound <= value:
        return 0.0
    unit = max(scale, abs(bound))
    return (bound - value) / unit if 0.0 < unit < math.inf else math.inf


def rounding(terms: int, gross: float) -> float:
    """Return the most that rounding can change a sum of ``terms`` numbers of at least 0.

    Below the least normal number, that is no share of the sum but some of the least of all numbers. A sum of
    nothing but zeros is exact.

    ``gross`` is the sum; where gains and charges cancel, the sum of both. Each number is made by a few
    operations.
    """
    return (terms + 8) * (2.0**-52 * gross + math.ulp(0.0)) if gross > 0.0 else 0.0


def why_stopped(
    value: float,
    bound: float | None,
    budget: Budget,
    *,
    rounding: float,
    otherwise: WhyStopped,
    scale: float = 0.0,
) -> WhyStopped:
    """Return why a search stopped, judged by value and bound alone; the one judge of all oracles.

    "proved" is said only where ``bound`` is within rounding of ``value``, "gap reached" where it is within
    the relative gap asked for. No threshold is absolute; where numbers are so small that rounding is more
    than :data:`CANCELLED` of them, nothing is proved.

    Where less is better, ``value`` and ``bound`` have the other sign. ``rounding`` is the part of their
    distance that is rounding in the sums that they are made of, see :func:`rounding`; ``scale`` is as in
    :func:`relative_gap`. ``otherwise`` is the reason if neither a gap nor the time ended the search.
    """
    gap = math.inf if bound is None else relative_gap(value, bound, scale)
    if bound is not None and bound - value <= rounding and gap <= CANCELLED:
        return WhyStopped.PROVED
    if gap <= budget.gap:
        return WhyStopped.GAP_REACHED
    return WhyStopped.TIME_LIMIT if budget.over else otherwise


def concluded(
    decision: Any,
    value: float,
    bound: float | None,
    budget: Budget,
    method: str,
    certificate: Any,
    *,
    rounding: float,
    otherwise: WhyStopped = WhyStopped.STALLED,
    scale: float = 0.0,
) -> Optimum:
    """Return an optimum that says by :func:`why_stopped`, which takes the same, why the search ended."""
    why = why_stopped(value, bound, budget, rounding=rounding, otherwise=otherwise, scale=scale)
    return Optimum(value, bound, decision, why, method, budget.seconds, certificate, scale=scale)


class Budget:
    """A relative gap to reach and a time limit to keep; both are checked here, once for all oracles."""

    def __init__(self, gap: float, time_limit: float | None) -> None:
        if not (isinstance(gap, (int, float)) and math.isfinite(gap) and gap >= 0):
            raise InputError(f"gap: {gap!r} is not a finite number of at least 0")
        if time_limit is not None and not (isinstance(time_limit, (int, float)) and time_limit >= 0):
            raise InputError(f"time_limit: {time_limit!r} is not a number of seconds of at least 0")
        self.gap = float(gap)
        self.time_limit = math.inf if time_limit is None else float(time_limit)
        self._start = stopwatch.now()

    @property
    def seconds(self) -> float:
        """Seconds since the budget was made, but those in which libraries loaded or kernels compiled."""
        return stopwatch.now() - self._start

    @property
    def left(self) -> float:
        """Seconds left, possibly infinite, never negative."""
        return max(0.0, self.time_limit - self.seconds)

    @property
    def used(self) -> float:
        """The part of the time that is over, at most 1."""
        return min(1.0, self.seconds / self.time_limit) if self.time_limit > 0.0 else 1.0

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return self.left <= 0.0

    def rest(self) -> Budget:
        """Return a budget of the time left."""
        return type(self)(self.gap, self.left)


def so_far(value: float, bound: float | None) -> str:
    """Return what the progress of a search tells first: its incumbent and its dual bound."""
    return f"incumbent {_told(value)}, dual bound {_told(bound)}"


def _told(value: float | None) -> str:
    if value is None or not math.isfinite(value):
        return "none"
    return f"{value:,.0f}" if 1e6 <= abs(value) < 1e15 else f"{value:,.6g}"


class Report:
    """Reports progress from within a solver; an error raised by the callback waits until the solver ends."""

    def __init__(self, progress: PartProgress | None) -> None:
        self._progress = progress
        self._next = 0.0
        self._raised: BaseException | None = None

    def __call__(self, done: float, text: str, *, value: float = math.nan, bound: float = math.nan) -> bool:
        """Report as :class:`PartProgress` does, twice a second at most; return whether to go on."""
        now = stopwatch.now()
        if self._progress is not None and self._raised is None and now >= self._next:
            self._next = now + PAUSE
            try:
                self._progress(done, text, value=value, bound=bound)
            except BaseException as error:  # noqa: BLE001 - raised again by finish
                self._raised = error
        return self._raised is None

    def gap(self, text: str, value: float, bound: float) -> bool:
        """Report value and bound, either possibly infinite, and as the fraction the less over the more."""
        low, high = sorted((value, bound))
        known = 0.0 < low <= high < math.inf
        return self(low / high if known else 0.0, text, value=value, bound=bound)

    def finish(self) -> None:
        """Raise the error of the callback, if there was one."""
        if self._raised is not None:
            raise self._raised


Decision = TypeVar("Decision")


def checked(instance: Any, schedule: Decision) -> Decision:
    """Return a schedule that keeps all constraints of its instance; an OracleError for any other."""
    broken = instance.violations(schedule)
    if broken:
        raise OracleError(f"a schedule is infeasible: {broken[0]}")
    return schedule


Number = TypeVar("Number", bound=float)


class Incumbent(ABC, Generic[Decision, Number]):
    """The incumbent and the dual bound of a search, the methods that found them, and the budget.

    ``start`` is the first decision, checked like any other, and the name of its method; ``proof`` is the
    first bound, the name of its method, and its certificate. ``terms`` is the number of summands of a value;
    0 if values are whole and sums exact. ``unavoidable`` is the constant part of every value, which does not
    count in a gap.
    """

    minimised = False
    unit = 1
    """Values and bounds are multiples of 1 / ``unit`` of those in the :class:`Optimum`."""

    def __init__(
        self,
        instance: Any,
        budget: Budget,
        progress: ProgressCallback | None,
        start: tuple[Decision, str],
        proof: tuple[Number, str, Any],
        *,
        terms: int = 0,
        unavoidable: float = 0,
    ) -> None:
        self.instance, self.budget, self.progress = instance, budget, progress
        self.terms, self.unavoidable, self._sign = terms, unavoidable, -1 if self.minimised else 1
        self.bound, self.prover, self.certificate = proof
        self.certified = self.bound
        self.decision, self.maker = start
        self.value = self.evaluate(self.decision)
        self.offer(*start)

    @abstractmethod
    def evaluate(self, decision: Decision) -> Number:
        """Return the value of a decision."""

    @property
    def method(self) -> str:
        """The methods that found the incumbent and that proved the bound."""
        return f"schedule: {self.maker}; bound: {self.prover}"

    @property
    def over(self) -> bool:
        """Whether the optimum is proved, the gap reached, or the time up."""
        return self._why(WhyStopped.STALLED) is not WhyStopped.STALLED

    def offer(self, decision: Decision, maker: str) -> None:
        """Take a decision as the incumbent if it is better, after a check."""
        broken = self.instance.violations(decision)
        if broken:
            raise OracleError(f"{maker}: infeasible: {'; '.join(map(str, broken[:3]))}")
        value = self.evaluate(decision)
        if self._sign * value > self._sign * self.value:
            self.decision, self.value, self.maker = decision, value, maker
        self._compare()

    def limit(self, bound: Number, prover: str, certificate: Any = None) -> None:
        """Take a bound if it is tighter, and its certificate if that is tighter than the certified bound."""
        if certificate is not None and self._sign * bound < self._sign * self.certified:
            self.certified, self.certificate = bound, certificate
        if self._sign * bound < self._sign * self.bound:
            self.bound, self.prover = bound, prover
        self._compare()

    def _compare(self) -> None:
        """Raise if the value is beyond the bound by more than rounding errors."""
        if self._sign * (self.value - self.bound) > self._rounding:
            raise OracleError(
                f"the value {self.value / self.unit!r} ({self.maker}) is "
                f"{'below' if self.minimised else 'above'} "
                f"the bound {self.bound / self.unit!r} ({self.prover})"
            )

    @property
    def _rounding(self) -> float:
        return rounding(self.terms, self.value) if self.terms else 0.0

    def _why(self, otherwise: WhyStopped) -> WhyStopped:
        value, bound = (self._sign * (number - self.unavoidable) for number in (self.value, self.bound))
        return why_stopped(value, bound, self.budget, rounding=2.0 * self._rounding, otherwise=otherwise)

    def report(self) -> PartProgress | None:
        """Return what takes the progress of a part of the search.

        What it tells begins with the incumbent and the dual bound of the whole search, or those of the part
        where they are better: these are offered and checked when the part ends.
        """
        progress = self.progress
        if progress is None:
            return None

        better, tighter = (min, max) if self.minimised else (max, min)

        def report(done: float, text: str, *, value: float = math.nan, bound: float = math.nan) -> None:
            # what comes first stays if the other is not a number
            where = so_far(better(self.value / self.unit, value), tighter(self.bound / self.unit, bound))
            progress(min(1.0, max(0.0, done)), f"{where}; {text}")

        return report

    def optimum(self, otherwise: WhyStopped) -> Optimum:
        """Return the incumbent, and why the search stopped: ``otherwise`` unless gap or time say so."""
        why, value, bound = self._why(otherwise), self.value / self.unit, self.bound / self.unit
        if self.progress is not None:
            self.progress(1.0, so_far(value, bound))
        bound = min(value, bound) if self.minimised else max(value, bound)  # rounding alone is between them
        seconds = self.budget.seconds
        return Optimum(
            value, bound, self.decision, why, self.method, seconds, self.certificate, self.minimised
        )


def _finite(number: Real) -> bool:
    """Return whether a number is finite as a float."""
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def contradiction(found: Optimum[Any], minimised: bool) -> str:
    """Return what no optimum can have, whoever found it; nothing if it may be one."""
    numbers = {"value": found.value, "bound": found.bound, "scale": found.scale}
    for name, number in numbers.items():
        if number is None and name == "bound":
            continue
        if isinstance(number, bool) or not isinstance(number, Real):
            return f"{name}: {number!r:.60} is not a number"
        if not _finite(number) and (name != "bound" or number != number):
            return f"{name}: {number!r:.60} is not a finite number"
    if not isinstance(found.why_stopped, WhyStopped):
        return f"why_stopped: {found.why_stopped!r:.60} is no WhyStopped"
    if bool(found.minimised) != minimised:
        return f"minimised: {found.minimised!r}, but of its instance it is {minimised}"
    value, bound, scale = (
        float(found.value),
        math.inf if found.bound is None else float(found.bound),
        found.scale,
    )
    apart = bound - value if found.bound is None or not minimised else value - bound
    slack = NEXT_TO_0 + CONTRADICTS * max(
        float(scale), abs(value), abs(bound) if abs(bound) < math.inf else 0.0
    )
    if apart < -slack:
        return f"value: {value:.9g} is beyond its bound, {bound:.9g}"
    if found.why_stopped is WhyStopped.PROVED and apart > slack:
        return f"why_stopped: it is {found.why_stopped.value}, but the gap is {found.gap}"
    return ""


@dataclass(frozen=True)
class OracleEntry:
    """One line of the list of oracles.

    Attributes
    ----------
    function
        Takes an instance and at least ``gap``, ``time_limit`` and ``progress``; returns an :class:`Optimum`.
        An argument that does not fit is an InputError, an answer that fails our own check an OracleError.
    problem
        The problem whose instances it takes.
    description
        The optimisation problem.
    methods
        The values of its ``method`` argument, the default first; empty if it has none.
    guarantee
        The reason why the bound is certified.
    writer
        What writes certificates of its optima, if they are written.
    vipr
        What writes their proofs in the VIPR format, where they are those of 0/1 programs.
    """

    function: Callable[..., Optimum]
    problem: str
    description: str
    methods: tuple[str, ...]
    guarantee: str
    writer: CertificateWriter | None = None
    vipr: ViprWriter | None = None

    def optimum(self, name: str, instance: Any, **options: Any) -> Optimum[Any]:
        """Return what it finds for an instance, known by this name; an OracleError if that cannot be."""
        found = self.function(instance, **options)
        if not isinstance(found, Optimum):
            raise OracleError(f"oracle {name!r} returned {found!r:.60}, which is no Optimum")
        if wrong := contradiction(found, type(instance).minimised):
            raise OracleError(f"oracle {name!r}: {wrong}")
        return found

    def named(self, name: str, instance: Any, found: Optimum[Any]) -> Optimum[Any]:
        """Return an optimum that it has found, known as the oracle of this name, with all that it tells."""
        whose = {"problem": instance.problem, "digest": instance.digest(), "unit": instance.unit}
        return replace(found, oracle=name, instance=instance, writer=self.writer, vipr=self.vipr, **whose)
