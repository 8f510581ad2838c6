"""Run cells: take what the store knows, have the rest computed, keep every answer as soon as it is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from ...models import stopwatch
from ...models.base import things
from .cells import Answer, Cell, EngineError, State
from .processes import Limits
from .store import Store

Progress = Callable[[float, str], None]  # called with the fraction done (0 to 1) and a short text


class Executor(Protocol):
    """What computes cells: :class:`.processes.Processes`, or a cluster."""

    @property
    def limits(self) -> Limits:
        """What a cell may take."""

    @property
    def fractions(self) -> Mapping[str, float]:
        """How far the cells are that are being run, by key, as far as that is known."""

    def run(self, cells: Iterable[Cell]) -> Iterator[list[tuple[Cell, Answer]]]:
        """Yield what became of cells as they end; now and then nothing, so that progress can be told.

        What cells have found on their way comes as cells of other keys.
        """


class Interrupted(KeyboardInterrupt):
    """The engine was interrupted; the answers of ``saved`` of ``total`` cells are kept."""

    def __init__(self, saved: int, total: int, what: str = "cells") -> None:
        super().__init__(
            f"saved: {saved} of {total} {things(total, what)}; the same command goes on from there"
        )
        self.saved, self.total = saved, total


def run_cells(
    cells: Sequence[Cell],
    store: Store,
    executor: Executor,
    *,
    retry: Collection[State] = (),
    progress: Progress | None = None,
    take: Callable[[Cell, Answer], None] = lambda _cell, _answer: None,
    believe: Callable[[str, Answer], bool] = lambda _key, _answer: True,
    what: str = "cells",
) -> dict[str, Answer]:
    """Return what became of every cell, by key; cells of one key are one.

    Answers in the store that are believed are taken, but for those in states to retry, and for those that
    exceeded a limit which the executor has raised since. New ones are kept there as soon as they are
    computed. ``take`` is called with every cell and its answer as soon as that is kept, those from the store
    first; progress with the fraction done and a text, in which cells are called ``what``.

    A store that cannot be written is an InputError. After Ctrl-C an Interrupted, and where cells cannot be
    run at all an EngineError, say how much is kept.
    """
    wanted, limits = dict[str, Cell](), executor.limits
    for cell in cells:
        wanted.setdefault(cell.key, cell)
    known = store.known(wanted)
    found = {key: old for key, old in known.items() if stands(old, retry, limits) and believe(key, old)}
    tell = _Teller(len(wanted), found.values(), what, progress or (lambda _fraction, _text: None))
    try:
        for key, answer in found.items():
            take(wanted[key], answer)
        tell([], executor)
        for answers in executor.run([cell for key, cell in wanted.items() if key not in found]):
            if answers:
                store.add(answers)
            ended = [(cell, answer) for cell, answer in answers if cell.key in wanted]
            for cell, answer in ended:
                found[cell.key] = answer
                take(cell, answer)
            tell([answer for _, answer in ended], executor)
    except KeyboardInterrupt:  # maybe between keeping an answer and taking it
        kept = found.keys() | (store.known(wanted).keys() - known.keys())
        raise Interrupted(len(kept), len(wanted), what) from None
    except EngineError as error:
        saved = f"saved: {len(found)} of {len(wanted)} {things(len(wanted), what)}"
        raise EngineError(f"{error}; {saved}") from error
    return found


def stands(answer: Answer, retry: Collection[State], limits: Limits) -> bool:
    """Return whether an answer is taken: not in a state that is tried again, nor for a limit since raised."""
    if answer.state in retry or (answer.state is State.TIMED_OUT and not answer.exceeded):
        return False
    now = vars(limits)
    return all(now[name] is not None and now[name] <= old for name, old in answer.exceeded.items())


class _Teller:
    """Tells how far it is, and how much longer it may take."""

    def __init__(self, total: int, before: Collection[Answer], what: str, progress: Progress) -> None:
        self._total, self._what, self._progress = total, what, progress
        self._before, self._begin = len(before), stopwatch.now()
        self._states = Counter(answer.state for answer in before)

    def __call__(self, answers: Sequence[Answer], executor: Executor) -> None:
        """Count these answers, too, and tell it."""
        self._states.update(answer.state for answer in answers)
        done = self._states.total()
        part = sum(executor.fractions.values())
        text = f"{done} of {self._total} {things(self._total, self._what)}"
        if self._before:
            text += f", {self._before} of them taken from the store"
        others = [(state, count) for state, count in self._states.items() if state is not State.DONE]
        text += "".join(f", {count} {state.value}" for state, count in others)
        new = done - self._before + part
        if new > 0 and done < self._total:
            left = (stopwatch.now() - self._begin) / new * (self._total - done - part)
            text += f", about {duration(left)} left"
        self._progress((done + part) / max(1, self._total), text)


def duration(seconds: float) -> str:
    """Return a time for people: seconds, minutes, hours or days."""
    for unit, size in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2.0 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
