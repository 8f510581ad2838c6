"""The rules that are played and the bound that is certified, against cases worked out by hand."""

from __future__ import annotations

import numpy as np

from ....models.placement.instance import PlacementInstance
from ....online.base import Policy
from ....online.placement import DrfFirstFit, FifoConsolidate, FifoLoadBalance, SjfConsolidate, Tetris
from ...by_hand import by_hand
from ...claim import Context, Finding, Register, Verdict
from ...engine.kept import play
from ..experiments import followed
from .theory import cluster

claim = Register("placement")


def _minutes(policy: Policy, instance: PlacementInstance) -> np.ndarray:
    """Return the JCT of each job in minutes."""
    schedule = followed(instance, play(policy, instance, keep_decisions=True).decisions or ())
    return np.asarray(np.round(instance.completion_times(schedule) / 60.0, 4))


@claim("rules", "Sec. 3, Sec. 5.1.5", Verdict.HOLDS, ours=True)
def _rules(_context: Context) -> Finding:
    """What is played and bounded is what the paper defines: orders, machines, contention, JCT.

    Two jobs on one or two machines, worked out by hand: JCT in minutes.
    """
    from ....oracles.placement.bound import check_certificate, lower_bound

    ten, none, eta, kappa = (0.0, 10.0, 1, 1), (0.0, 0.0), (0.0, 1.0), (1.0, 0.0)
    two, gang = [ten, ten], [(0.0, 10.0, 1, 3), (0.0, 10.0, 2, 1)]
    played = (
        ("two jobs share a machine half and half, eta = 1", FifoConsolidate(), (1, 2), two, eta, (15, 15)),
        ("DRF, 2 GPUs and 1 GPU", DrfFirstFit(), (1, 2), [(0.0, 10.0, 1, 2), ten], none, (20, 10)),
        ("SJF, 20 and 10 min", SjfConsolidate(), (1, 1), [(0.0, 20.0, 1, 1), ten], none, (30, 10)),
        ("LoadBalance takes the other machine, eta = 1", FifoLoadBalance(), (2, 4), two, eta, (10, 10)),
        ("Tetris takes the other machine, eta = 1", Tetris(), (2, 4), two, eta, (10, 10)),
        ("Consolidate, room for both instances, kappa = 1", FifoConsolidate(), (2, 4), gang, kappa, (10, 10)),
    )
    queue = cluster(1, 1, two, origin="by hand")
    bound = check_certificate(queue, lower_bound(queue).certificate).jct
    return by_hand(
        [
            *(
                (what, _minutes(policy, cluster(*size, rows, slowdown, origin="by hand")), worked)
                for what, policy, size, rows, slowdown, worked in played
            ),
            ("cost of two jobs of 10 min for one GPU (s)", play(FifoConsolidate(), queue).total, 600 + 1200),
            ("certified bound of that (s, rounded)", round(bound), 600 + 1200),
        ]
    )
