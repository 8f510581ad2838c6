"""The best schedule of jobs and the least bound."""

from __future__ import annotations

from typing import Any

from ...models.admission.schedule import Schedule
from .. import turns


class Best(turns.Best[Schedule, float]):
    """The best schedule and the least bound; the certificate is a :class:`Priced`."""

    def evaluate(self, decision: Schedule) -> float:
        """Return the utility of a schedule."""
        return float(self.instance.rewards(decision).sum())

    def limit_by(self, found: Any) -> None:
        """Take prices if the bound that they prove is tighter."""
        self.limit(found.bound, found.method, found)
