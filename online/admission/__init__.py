"""Policies of the admission problem: OASiS and the paper's baselines."""

from __future__ import annotations

from typing import Any

POLICIES: dict[str, type[Any]] = {}

__all__ = ["POLICIES"]
