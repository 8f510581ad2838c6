"""Oracles of the selection problem: the budgeted 0/1 program of every slot, the index of ESCB, gangs."""

from .optimum import ORACLES

__all__ = ["ORACLES"]
