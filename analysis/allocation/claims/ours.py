"""Statements of our own about the paper: what it does not say, and a reader would ask."""

from __future__ import annotations

import numpy as np

from ....models.allocation.generate import generate
from ....online.allocation.ogasched import Ogasched
from ...claim import Context, Finding, Register, Table, Verdict
from ...experiments import seeds, spread, track
from ...study import Statement, counted, judge, settled, statements
from ..experiments import Setup, instance
from ..regret import theorem_1, theorem_1_tightened
from ..worst_case import worst_case
from .readings import OPEN, UNITS

claim = Register("allocation")


@claim(
    "theorem-1-looseness",
    "Theorem 1 at the sizes of Sec. 4",
    Verdict.UNDETERMINED,
    says="The bound says something at the paper's default size: it is below the stationary optimum.",
    how="The bound beside the stationary optimum of default instances.",
    ours=True,
    choices=OPEN,
)
def _looseness(context: Context) -> Finding:
    from ....oracles.allocation.optimum import stationary

    sampled, below, rows = seeds(context, 4, 5, 20), {}, []
    for name, turn in track(context, UNITS.items()):
        lines = []
        for seed in sampled:
            made = instance(turn(Setup()), seed)
            best = stationary(made).value
            lines.append((best, theorem_1(made), theorem_1_tightened(made)))
        optimum, bound, tight = np.array(lines).T
        below[name] = 100.0 * (1.0 - bound / optimum)
        rows.append((name, *(spread(v, 0) for v in (optimum, bound, tight)), spread(bound / optimum, 2)))
    judged = judge([Statement("the bound is below the stationary optimum", below, "%")], below)
    return Finding(
        settled(judged),
        "The bound is below the stationary optimum in coarse units of CPU and MEM; in finer ones it may not "
        "be.",
        {"instances": len(sampled), **counted(judged)},
        tables=(
            statements(judged, below, ""),
            Table(
                f"Default instances, T = 2000, {len(sampled)} of them",
                ("units", "optimum", "bound (14)", "tightened", "bound / optimum"),
                tuple(rows),
            ),
        ),
        small=context.mode == "quick",
    )


@claim(
    "worst-case",
    "(6)",
    Verdict.HOLDS,
    says="The supremum of the regret over arrival sequences obeys Theorem 1.",
    how="All 0/1 sequences on a tiny instance, and a search over longer ones.",
    ours=True,
)
def _worst_arrivals(context: Context) -> Finding:
    made = generate("tiny", context.seed, ports=2, slots=context.pick(3, 5, 7))
    found = worst_case(Ogasched, made, seed=context.seed, evaluations=2**14)
    context.progress(0.5)
    longer = made.with_arrivals(np.zeros((24, 2), dtype=np.int64))
    searched = worst_case(Ogasched, longer, seed=context.seed, evaluations=context.pick(100, 1000, 10000))
    lines = tuple(
        (
            w.instance.setting.slots,
            "all 0/1 sequences" if w.exhaustive else "search",
            w.evaluations,
            w.regret,
            w.bound,
            w.regret / w.bound,
        )
        for w in (found, searched)
    )
    beaten = next((w.instance for w in (found, searched) if w.regret > w.bound), None)
    positive = all(w.regret > 0.0 for w in (found, searched))
    return Finding(
        Verdict.REFUTED if beaten is not None else Verdict.HOLDS if positive else Verdict.UNDETERMINED,
        "The worst arrivals there are cost less than the bound allows.",
        {"largest ratio": max(line[5] for line in lines)},
        tables=(
            Table(
                "Worst arrivals, tiny instance with 2 ports",
                ("slots T", "how", "sequences played", "regret", "bound (14)", "ratio"),
                lines,
            ),
        ),
        counterexample=beaten,
    )


CLAIMS = claim.claims
