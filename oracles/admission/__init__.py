"""Oracles of the admission problem: the offline program, over schedules and compact."""

from .optimum import ORACLES

__all__ = ["ORACLES"]
