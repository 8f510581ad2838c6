"""The cooling of simulated annealing: by rounds, so that a longer run starts with all of a shorter one."""

from __future__ import annotations

import math
from collections.abc import Iterator


def cooling(first: int, warm: float, cold: float) -> Iterator[float]:
    """Yield the heat of every round, without an end: it falls from warm to cold, again and again.

    The first time it takes ``first`` rounds, and each time twice as many as before. How many rounds there
    will be, or how long they take, does not matter; so what is best of all rounds is never worse after more.
    """
    while True:
        for k in range(first):
            yield warm * math.exp(math.log(cold / warm) * k / first)
        first *= 2
