"""Claims about gang scheduling (Sec. 3.5): the printed set, and a regret that is still sublinear."""

from __future__ import annotations

import numpy as np

from ....models.allocation.gang import (
    generate_gang,
    printed_counterexample,
    printed_is_empty,
    printed_violations,
)
from ....models.allocation.generate import generate
from ....online.allocation.gang import PerturbedLeader, leader_bounds
from ....online.play import play
from ...claim import Context, Finding, Register, Table, Verdict
from ...experiments import SEEDS_APART
from ...statistics import mean_interval

claim = Register("allocation")


@claim(
    "gang-set",
    "Sec. 3.5, the solution space",
    Verdict.REFUTED,
    says="The constraint on positive sums expresses all-or-nothing scheduling of tasks.",
    how="One server, one kind, two unit tasks: allocations the printed set admits, and whether it is empty.",
)
def _gang_set(_context: Context) -> Finding:
    two = printed_counterexample(1.0, 2)
    lines = []
    for tiny in (0.5, 0.1, 1e-3, 1e-9):
        y = np.array([[1.0 - tiny], [tiny]])
        lines.append((tiny, not printed_violations(two.setting, y), not two.violations(y)))
    empty = printed_is_empty(printed_counterexample(0.0, 1).setting)
    admitted = sum(line[1] for line in lines)
    return Finding(
        Verdict.REFUTED if admitted or empty else Verdict.HOLDS,
        "The printed set admits any positive crumb as a scheduled task, and is empty where a task cannot "
        "run.",
        {"allocations admitted": admitted, "empty without devices": empty},
        tables=(
            Table(
                "One device, two unit tasks, both required",
                ("e", "in the printed set", "sound"),
                tuple(lines),
            ),
        ),
        counterexample=two,
    )


@claim(
    "gang-regret",
    "Sec. 3.5",
    Verdict.HOLDS_AMENDED,
    says="A similar algorithm retains sublinear regret for gangs.",
    how="Follow the perturbed leader on the sound set against the exact gang optimum (branch and bound).",
)
def _gang_regret(context: Context) -> Finding:
    from ....oracles.allocation.optimum import gang

    lines = []
    count = context.pick(2, 3, 10)
    for n in range(count):
        base = generate("tiny", SEEDS_APART * context.seed + n, slots=context.pick(20, 80, 200))
        instance = generate_gang(base, SEEDS_APART * context.seed + n)
        optimum = gang(instance)
        runs = [play(PerturbedLeader(), instance, seed).total for seed in range(context.pick(3, 5, 10))]
        earned = mean_interval(runs).low
        upper = float("inf") if optimum.bound is None else optimum.bound - earned
        bound = leader_bounds(instance.setting).regret(instance.setting.slots)
        lines.append((n, len(runs), optimum.value, upper, bound))
        context.progress((n + 1) / count)
    ratio = max(line[3] / line[4] for line in lines if line[4] > 0)
    return Finding(
        Verdict.HOLDS_AMENDED if ratio <= 1.0 else Verdict.UNDETERMINED,
        "Another algorithm has sublinear expected regret for gangs; the paper gives none.",
        {"largest mean regret / bound": ratio},
        tables=(
            Table(
                "Perturbed leader on gang instances",
                ("instance", "runs", "optimum", "mean regret (upper end, 95 %)", "bound"),
                tuple(lines),
            ),
        ),
        assumes="Amended: following the perturbed leader with an exact offline optimum, on the sound set. "
        "Rewards are linear in the arrivals, so its expected regret is at most 2 sqrt(D R A T) against "
        "arrivals fixed beforehand.",
    )


CLAIMS = claim.claims
