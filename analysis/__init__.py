"""Policies against optima: regret, bounds, claims, the audit and its report."""
