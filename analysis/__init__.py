"""How far apart they are: regret, bounds, claims, the audit and its report."""
