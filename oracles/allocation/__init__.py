"""Oracles of the allocation problem: the best stationary decision, the sum of per-slot optima, gangs."""

from .optimum import ORACLES

__all__ = ["ORACLES"]
