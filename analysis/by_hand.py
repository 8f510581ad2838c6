"""What a paper defines, worked out by hand on small cases, beside what the code plays and measures there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .claim import Finding, finding, holds_if, table

CLOSE = 1e-6
"""Relative: more than what oracles and sums of floating-point numbers are off, less than any mistake here."""


def by_hand(cases: Iterable[tuple[str, Any, Any]]) -> Finding:
    """Return the finding on cases: what is computed, the numbers by the code, the numbers by hand."""
    rows, wrong = [], 0
    for what, ours, worked in cases:
        code, hand = (np.asarray(v, dtype=np.float64).ravel() for v in (ours, worked))
        agrees = code.shape == hand.shape and np.allclose(code, hand, rtol=CLOSE, atol=CLOSE)
        wrong += not agrees
        rows.append((what, _text(code), _text(hand), "agrees" if agrees else "differs"))
    said = "The code agrees with what was worked out by hand from the definitions, the paper's or ours."
    return finding(
        holds_if(wrong == 0),
        said if wrong == 0 else f"The code differs from the definitions in {wrong} of {len(rows)} cases.",
        {"cases": len(rows), "cases that differ": wrong},
        table("Small cases", "what | by the code | by hand | ", rows),
        proof="" if wrong == 0 else "See the table.",
    )


def _text(values: np.ndarray) -> str:
    return " ".join(f"{v:.4g}" for v in values)
