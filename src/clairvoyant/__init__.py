"""Online cluster scheduling: offline optima, online policies, and how far they are from each other.

The names below are all there is to know for a start; each loads what it needs when it is first used, so that
importing this package costs next to nothing.

>>> import clairvoyant as cv
>>> instance = cv.generate("allocation", size="tiny", seed=1)
>>> optimum = cv.solve(instance)
>>> run = cv.play("ogasched", instance)
>>> run.total <= optimum.bound
True
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers know better; loading ``typing`` for it would take time

if TYPE_CHECKING:
    from . import analysis, models, online, oracles, testing
    from ._doors import from_trace, generate, load, make_policy, play, solve
    from .analysis.claim import Claim, Finding, Verdict
    from .api import __version__, from_table, list_oracles, list_policies, train
    from .comparing import Comparison, compare
    from .intervals import Interval, ratio, regret
    from .models.admission.instance import AdmissionInstance
    from .models.allocation.gang import AllocationGangInstance
    from .models.allocation.instance import AllocationInstance
    from .models.base import ClairvoyantError, DecisionError, InputError, Instance
    from .models.placement.instance import PlacementInstance
    from .models.selection.gang import SelectionGangInstance
    from .models.selection.instance import SelectionInstance
    from .online.base import Policy, Traits
    from .online.guard import TamperError
    from .online.isolated import PolicyError
    from .online.play import Run
    from .oracles.base import Optimum, OracleError, WhyStopped
    from .plotting import (
        explore,
        plot_holdings,
        plot_ratio,
        plot_regret,
        plot_schedule,
        plot_utilization,
    )
    from .ranking import Leaderboard, leaderboard
    from .sweeping import results, sweep

_HOMES = {
    **dict.fromkeys(
        (
            *("load", "generate", "from_table", "from_trace", "solve", "play", "train"),
            *("make_policy", "list_policies", "list_oracles", "__version__"),
        ),
        "api",
    ),
    **dict.fromkeys(("ClairvoyantError", "DecisionError", "InputError", "Instance"), "models.base"),
    "AdmissionInstance": "models.admission.instance",
    "PlacementInstance": "models.placement.instance",
    "AllocationInstance": "models.allocation.instance",
    "AllocationGangInstance": "models.allocation.gang",
    "SelectionInstance": "models.selection.instance",
    "SelectionGangInstance": "models.selection.gang",
    **dict.fromkeys(("Optimum", "OracleError", "WhyStopped"), "oracles.base"),
    **dict.fromkeys(("Policy", "Traits"), "online.base"),
    "PolicyError": "online.isolated",
    "TamperError": "online.guard",
    "Run": "online.play",
    **dict.fromkeys(("Claim", "Finding", "Verdict"), "analysis.claim"),
    **dict.fromkeys(("Comparison", "compare"), "comparing"),
    **dict.fromkeys(("Leaderboard", "leaderboard"), "ranking"),
    **dict.fromkeys(("Interval", "ratio", "regret"), "intervals"),
    **dict.fromkeys(("sweep", "results"), "sweeping"),
    **dict.fromkeys(
        ("explore", "plot_holdings", "plot_ratio", "plot_regret", "plot_schedule", "plot_utilization"),
        "plotting",
    ),
}
"""Public name -> the module that holds it, and its name there if that is another."""

_LAYERS = ("models", "oracles", "online", "analysis", "testing")

__all__ = [
    "AdmissionInstance",
    "AllocationGangInstance",
    "AllocationInstance",
    "Claim",
    "ClairvoyantError",
    "Comparison",
    "DecisionError",
    "Finding",
    "InputError",
    "Instance",
    "Interval",
    "Leaderboard",
    "Optimum",
    "OracleError",
    "PlacementInstance",
    "Policy",
    "PolicyError",
    "Run",
    "SelectionGangInstance",
    "SelectionInstance",
    "TamperError",
    "Traits",
    "Verdict",
    "WhyStopped",
    "__version__",
    "analysis",
    "compare",
    "explore",
    "from_table",
    "from_trace",
    "generate",
    "leaderboard",
    "list_oracles",
    "list_policies",
    "load",
    "make_policy",
    "models",
    "online",
    "oracles",
    "play",
    "plot_holdings",
    "plot_ratio",
    "plot_regret",
    "plot_schedule",
    "plot_utilization",
    "ratio",
    "regret",
    "results",
    "solve",
    "sweep",
    "testing",
    "train",
]


if not TYPE_CHECKING:  # type checkers take the names above, and find misspelt ones

    def __getattr__(name: str) -> object:
        """Load a public name when it is first asked for."""
        from importlib import import_module

        if name in _LAYERS:
            return import_module(f".{name}", __name__)
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, _, there = _HOMES[name].partition(":")
        value: object = getattr(import_module(f".{module}", __name__), there or name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})
