"""Oracles of the placement problem: the offline gang schedule."""

from .optimum import ORACLES

__all__ = ["ORACLES"]
