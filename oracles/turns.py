"""Stages of a search that take turns, by the work they have done and not by the clock.

Time only ends the search, and does not decide what is done before: a run with more time does all that one
with less time does, and goes on. As the best decision and the tightest bound are kept, it never ends worse on
a machine of the same speed.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from .base import Decision, Incumbent, Number

Stage = Generator[float, None, None]
"""Yields, after each step, how much work that was: about the seconds that a core takes, by the size of the
instance alone. Infinity says that the next step takes more time than is left."""

STEP = 0.1
"""About the work of a step, where it can be divided."""


class Best(Incumbent[Decision, Number]):
    """The incumbent of stages, and what they have told."""

    done = 0.0
    """The part of all work that is done, where stages end by themselves."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        # The best that stages have told so far; it is offered and checked when they end.
        self.hoped, self.proved = self.value / self.unit, self.bound / self.unit

    def tell(self, text: str, *, value: float = math.nan, bound: float = math.nan) -> None:
        """Tell the progress, and what a stage has found and proved so far."""
        better, tighter = (min, max) if self.minimised else (max, min)
        # what comes first stays if the other is not a number
        self.hoped = better(self.hoped, self.value / self.unit, value)
        self.proved = tighter(self.proved, self.bound / self.unit, bound)
        report = self.report()
        if report is not None:
            low, high = sorted((self.hoped, self.proved))
            near = low / high if high > 0.0 else 1.0
            report(max(near, self.done, self.budget.used), text, value=self.hoped, bound=self.proved)


@dataclass(eq=False)
class Turn:
    """A stage, and when its turn comes.

    Attributes
    ----------
    stage
        The stage.
    share
        Its part of all work, relative to those of the others.
    most
        The work after which it ends, if it does not end before.
    ahead
        The work that it does before those begin that are not ahead.
    spent
        The work that it has done.
    """

    stage: Stage
    share: float
    most: float = math.inf
    ahead: float = 0.0
    spent: float = 0.0

    @property
    def late(self) -> float:
        """How far its work is, as a multiple of its share."""
        return (self.spent - self.ahead) / self.share


def in_turns(best: Best[Any, Any], turns: Sequence[Turn]) -> bool:
    """Let stages work, the one next that has done the least of its share, until all end or time is up.

    Returns whether a stage had a step left that takes more time than is left.
    """
    live, whole = list(turns), sum(turn.most for turn in turns)
    with ExitStack() as ended:
        for turn in turns:
            ended.callback(turn.stage.close)
        while live and not best.over:
            turn = min(live, key=lambda one: one.late)
            work = next(turn.stage, None)
            if work == math.inf:  # with more time it is done: others must not have what is left
                return True
            turn.spent += turn.most if work is None else work
            if turn.spent >= turn.most:
                turn.spent = turn.most
                turn.stage.close()
                live.remove(turn)
            if whole < math.inf:
                best.done = sum(one.spent for one in turns) / whole
    return False
