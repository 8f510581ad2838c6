"""Oracles: exact offline optima with certified bounds."""
