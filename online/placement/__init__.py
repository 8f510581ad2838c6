"""Policies of the placement problem: heuristics and metaheuristics."""

from __future__ import annotations

from typing import Any

POLICIES: dict[str, type[Any]] = {}

__all__ = ["POLICIES"]
