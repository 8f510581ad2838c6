"""The rules that are played and the bound that is certified, against cases worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....online.base import Policy
from ....online.placement import DrfFirstFit, FifoConsolidate, FifoLoadBalance, SjfConsolidate, Tetris
from ....online.play import play
from ...by_hand import by_hand
from ...claim import Context, Finding, Register, Verdict
from ..experiments import followed
from .theory import cluster

claim = Register("placement")

Rows = Sequence[tuple[float, float, int, int]]

WORTH_A_LOOK = (0.0, 1.0)
"""Without communication, with a contention that shows on which machine a job runs."""


def _minutes(
    policy: Policy, machines: int, gpus: int, rows: Rows, slowdown: tuple[float, float] = (0.0, 0.0)
) -> np.ndarray:
    """Return the JCT of each job in minutes."""
    instance = cluster(machines, gpus, rows, slowdown, origin="by hand")
    schedule = followed(instance, play(policy, instance, keep_decisions=True).decisions or ())
    result: np.ndarray = np.round(instance.completion_times(schedule) / 60.0, 4)
    return result


@claim(
    "rules",
    "Sec. 3, Sec. 5.1.5",
    Verdict.HOLDS,
    says="What is played and bounded is what the paper defines: orders, machines, contention, JCT.",
    how="Two jobs on one or two machines, worked out by hand: JCT in minutes.",
    ours=True,
)
def _rules(_context: Context) -> Finding:
    from ....oracles.placement.bound import check_certificate, lower_bound

    queue = cluster(1, 1, [(0.0, 10.0, 1, 1)] * 2, origin="by hand")
    bound = check_certificate(queue, lower_bound(queue).certificate).jct
    two = [(0.0, 10.0, 1, 1)] * 2
    return by_hand(
        [
            (
                "two jobs that share the GPUs of a machine half and half, eta = 1",
                _minutes(FifoConsolidate(), 1, 2, two, WORTH_A_LOOK),
                (15, 15),
            ),
            (
                "DRF, 2 GPUs and 1 GPU",
                _minutes(DrfFirstFit(), 1, 2, [(0.0, 10.0, 1, 2), (0.0, 10.0, 1, 1)]),
                (20, 10),
            ),
            (
                "SJF, 20 and 10 min",
                _minutes(SjfConsolidate(), 1, 1, [(0.0, 20.0, 1, 1), (0.0, 10.0, 1, 1)]),
                (30, 10),
            ),
            (
                "LoadBalance takes the other machine, eta = 1",
                _minutes(FifoLoadBalance(), 2, 4, two, WORTH_A_LOOK),
                (10, 10),
            ),
            (
                "Tetris takes the other machine, eta = 1",
                _minutes(Tetris(), 2, 4, two, WORTH_A_LOOK),
                (10, 10),
            ),
            (
                "Consolidate takes the machine with room for both instances, kappa = 1",
                _minutes(FifoConsolidate(), 2, 4, [(0.0, 10.0, 1, 3), (0.0, 10.0, 2, 1)], (1.0, 0.0)),
                (10, 10),
            ),
            ("cost of two jobs of 10 min for one GPU (s)", play(FifoConsolidate(), queue).total, 600 + 1200),
            ("certified bound of that (s, rounded)", round(bound), 600 + 1200),
        ]
    )


CLAIMS = claim.claims
