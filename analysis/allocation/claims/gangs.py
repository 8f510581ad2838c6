"""Claims about gang scheduling (Sec. 3.5): the printed set, and a regret that is still sublinear."""

from __future__ import annotations

import numpy as np

from ....models.allocation import gang as model
from ....models.allocation.generate import generate
from ....online.allocation.gang import PerturbedLeader, leader_bounds
from ....oracles.allocation.optimum import ORACLES
from ...claim import Context, Finding, Register, Verdict, finding, holds_if, table
from ...engine.kept import play
from ...experiments import seeds, track
from ...optima import relied_on
from ...statistics import mean_interval

claim = Register("allocation")


@claim("gang-set", "Sec. 3.5, the solution space", Verdict.REFUTED)
def _gang_set(_context: Context) -> Finding:
    """The constraint on positive sums expresses all-or-nothing scheduling of tasks.

    One server, one kind, two unit tasks: allocations the printed set admits, and whether it is empty.
    """
    two, lines = model.printed_counterexample(1.0, 2), []
    for tiny in (0.5, 0.1, 1e-3, 1e-9):
        y = np.array([[1.0 - tiny], [tiny]])
        lines.append((tiny, not model.printed_violations(two.setting, y), not two.violations(y)))
    empty = model.printed_is_empty(model.printed_counterexample(0.0, 1).setting)
    return finding(
        holds_if(not any(line[1] for line in lines) and not empty),
        "The printed set admits any positive crumb as a scheduled task, and is empty where none can run.",
        {"empty without devices": empty},
        table("One device, two unit tasks, both required", "e | in the printed set | sound", lines),
        counterexample=two,
        assumes="In the sound set a scheduled task gets all of its demand of every kind, as ALL-OR-NOTHING "
        "asks; the paper does not say how much a task needs. The printed set is empty only where too few "
        "tasks find any device: here on a machine without one, with one task required.",
    )


@claim("gang-regret", "Sec. 3.5", Verdict.HOLDS_AMENDED)
def _gang_regret(context: Context) -> Finding:
    """A similar algorithm retains sublinear regret for gangs.

    Follow the perturbed leader on the sound set against the exact gang optimum (branch and bound).
    """
    lines = []
    for seed in track(context, seeds(context, 2, 3, 10)):
        base = generate("tiny", seed, slots=context.pick(10, 20, 200))
        instance = model.generate_gang(base, seed)
        optimum = relied_on("gang", ORACLES["gang"], instance)
        runs = [play(PerturbedLeader(), instance, own).total for own in range(context.pick(3, 5, 10))]
        upper = np.inf if optimum.bound is None else optimum.bound - mean_interval(runs).low
        bound = leader_bounds(instance.setting).regret(instance.setting.slots)
        lines.append((seed, len(runs), optimum.value, upper, bound))
    ratio = max(line[3] / line[4] for line in lines if line[4] > 0)
    heads = "seed | runs | optimum | mean regret (upper end, 95 %) | bound"
    return finding(
        Verdict.HOLDS_AMENDED if ratio <= 1.0 else Verdict.UNDETERMINED,
        "Another algorithm has sublinear expected regret for gangs; the paper gives none.",
        {"largest mean regret / bound": ratio},
        table("Perturbed leader on gang instances", heads, lines),
        assumes="Amended: following the perturbed leader with an exact offline optimum, on the sound set. "
        "Rewards are linear in the arrivals, so its expected regret is at most 2 sqrt(D R A T) against "
        "arrivals fixed beforehand.",
    )
