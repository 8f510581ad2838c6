"""The estimates of the policies while they play, (8) and (9), and the sequences delta and g."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...models.draw import choose
from ...models.selection.setting import Feedback


def _log(t: np.ndarray) -> np.ndarray:
    return np.log(t + 1.0)


def _loglog(t: np.ndarray) -> np.ndarray:
    return np.log(_log(t) + 1.0)


DELTAS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "loglog": lambda t: 1.0 / (_loglog(t) + 1.0),
    "log": lambda t: 1.0 / (_log(t) + 1.0),
    "loglog-7": lambda t: 1.0 / _loglog(t),
    "logloglog": lambda t: 1.0 / (np.log(_loglog(t) + 1.0) + 1.0),
}
"""The sequences delta(t) by name; all are positive and fall to zero.

"loglog" is the default of Sec. 4: (14), with t + 1 for t. "log", "loglog-7" and "logloglog" are the three of
Fig. 7 as printed; the second of these lacks the last "+ 1" of the default.
"""

GS: dict[str, Callable[[np.ndarray, float], np.ndarray]] = {
    "full": lambda t, m: _log(t) + 4.0 * _loglog(t) * m,
    "loglog": lambda t, m: 4.0 * _loglog(t) * m,
    "log": lambda t, _: _log(t),
}
"""The three sequences g(t) of Fig. 8 by name; "full" is the default of Sec. 4: (11), with t + 1 for t."""


def check_name(field: str, name: object, known: dict[str, Callable[..., np.ndarray]]) -> None:
    """Raise if a setting is not the name of a sequence."""
    choose(name, known, field)


def delta(name: str, t: np.ndarray | float) -> np.ndarray:
    """Return delta(t), the slack of (12), by a name of :data:`DELTAS`; the first slot is 1."""
    check_name("delta", name, DELTAS)
    return DELTAS[name](np.asarray(t, dtype=np.float64))


def g(name: str, t: np.ndarray | float, m: float) -> np.ndarray:
    """Return g(t), which sets the width of the confidence in (10), by a name of :data:`GS`.

    The first slot is 1; m is the most channels that fit at once, or what is put in its place.
    """
    check_name("g", name, GS)
    return GS[name](np.asarray(t, dtype=np.float64), m)


class Statistics:
    """Uses and earnings of every channel so far, (8) and (9).

    ``count`` is n, how often each channel was used, ``total`` the sum of the net utilities that it showed,
    and ``squares`` that of their squares.
    """

    def __init__(self, channels: int) -> None:
        self.count = np.zeros(channels, dtype=np.int64)
        self.total, self.squares = np.zeros(channels), np.zeros(channels)

    def update(self, feedback: Feedback) -> None:
        """Add what a slot has shown."""
        self.count[feedback.channels] += 1
        self.total[feedback.channels] += feedback.utility
        self.squares[feedback.channels] += feedback.utility**2

    @property
    def untried(self) -> np.ndarray:
        """Which channels were never used, shape (E,)."""
        return self.count == 0

    @property
    def mean(self) -> np.ndarray:
        """v-hat of (9): the average net utility, 0 for channels never used, shape (E,)."""
        return self.total / np.maximum(self.count, 1)

    def variance(self, prior: float) -> np.ndarray:
        """Return the empirical variance with ``prior`` more samples of the variance 1/4, shape (E,).

        No variance of a number in [0, 1] is larger. It is 0 for channels never used, if ``prior`` is 0.
        """
        sums = np.maximum(0.0, self.squares - self.count * self.mean**2) + 0.25 * prior
        result: np.ndarray = sums / np.maximum(self.count + prior, np.finfo(np.float64).tiny)
        return result

    def spread(self, width: float) -> np.ndarray:
        """Return width / n, 0 for channels never used, shape (E,); for g(t) / 2 it is sigma-hat^2 of (10)."""
        return np.divide(width, self.count, out=np.zeros(len(self.count)), where=self.count > 0)
