"""Where each problem lives in each layer: a new problem adds one line to each table.

Everything is named as ``module:name`` and loaded when it is first used.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from .models.draw import choose

INSTANCES = {
    "allocation": "models.allocation.instance:AllocationInstance",
    "allocation-gang": "models.allocation.gang:GangInstance",
    "selection": "models.selection.instance:SelectionInstance",
    "selection-gang": "models.selection.gang:GangInstance",
    "admission": "models.admission.instance:AdmissionInstance",
    "placement": "models.placement.instance:PlacementInstance",
}
"""The class of the instances."""

GENERATORS = {
    "allocation": "models.allocation.generate:generate",
    "allocation-gang": "models.allocation.gang_generate:generate",
    "selection": "models.selection.generate:generate",
    "selection-gang": "models.selection.gang_generate:generate",
    "admission": "models.admission.generate:generate",
    "placement": "models.placement.generate:generate",
}
"""A function of a size, a seed and options that returns a synthetic instance."""

TRACES = {
    "allocation": "models.allocation.trace:from_trace",
    "allocation-gang": "models.allocation.gang_generate:from_trace",
    "selection": "models.selection.trace:from_trace",
    "selection-gang": "models.selection.gang_generate:from_trace",
    "admission": "models.admission.trace:from_trace",
    "placement": "models.placement.trace:from_trace",
}
"""A function of a folder of traces and options that returns an instance."""

ORACLES = {
    "allocation": "oracles.allocation:ORACLES",
    "allocation-gang": "oracles.allocation:ORACLES",
    "selection": "oracles.selection:ORACLES",
    "selection-gang": "oracles.selection:ORACLES",
    "admission": "oracles.admission:ORACLES",
    "placement": "oracles.placement:ORACLES",
}
"""A mapping from names to oracles; each knows the problem it solves, and the first one is the default."""

RIVALS = {
    "allocation": "stationary",
    "allocation-gang": "gang",
    "selection": "clairvoyant",
    "selection-gang": "gang",
    "admission": "offline",
    "placement": "offline",
}
"""The oracle that policies are compared with."""

BOUNDS = {
    "allocation": "analysis.allocation.regret:bounds",
    "selection": "analysis.selection.regret:bounds",
    "admission": "analysis.admission.competitive:bounds",
}
"""A function of an instance that returns, by name, what the theorems bound the regret or the ratio by."""

RATIOS = {
    "admission": "analysis.admission.competitive:ratio",
    "placement": "analysis.placement.measures:ratio",
}
"""Where policies are judged by optimum / total (total / optimum where less is better) and not by regret: a
function of an optimum and a total that returns the interval in which this lies."""

MEASURES = {
    "placement": "analysis.placement.measures:measures",
}
"""What else is told of a run: a function of an instance and its decisions that returns numbers by name."""

WORST_CASES = {
    "allocation": "analysis.allocation.worst_case:worst_case",
}
"""A search for the instance on which a policy regrets most."""


def find(problem: Any, table: Mapping[str, str]) -> Any:
    """Load what a table holds for a problem.

    Raises
    ------
    InputError
        If the problem is not in the table, naming those that are.
    """
    choose(problem, table, "problem")
    module, name = table[problem].split(":")
    return getattr(import_module(f".{module}", __package__), name)
