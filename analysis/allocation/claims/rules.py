"""The rules that are played and the numbers that are judged, against cases worked out by hand."""

from __future__ import annotations

import numpy as np

from ....online.allocation import BinPacking, Drf, Fairness, Ogasched, Spreading
from ...by_hand import by_hand
from ...claim import Context, Finding, Register, Verdict
from ...engine.kept import decided
from ..experiments import Setup, hindsight, instance
from ..regret import regret_curves, theorem_1
from .projection import linear, row

claim = Register("allocation")


@claim("rules", "(1) to (14), (25), Sec. 4", Verdict.HOLDS, ours=True)
def _rules(_context: Context) -> Finding:
    """What is played and judged is what the paper defines: projection, gradient, step, bound, regret,
    heuristics.

    Instances of one or two ports, worked out by hand.
    """
    line = row([2.0, 1.0], 3.0, [[1, 1]] * 24)  # D^2 = 12, G^2 = 2, so that the step is 1/2
    longer = row([2.0, 1.0], 3.0, [[1, 1]] * 96)
    tight, point = row([2.0] * 4, 3.0).setting, np.array([[3.0], [2.0], [-1.0], [0.6]])
    narrow, alone = row([2.0, 1.0], 2.0, [[1, 1]]), row([2.0, 2.0], 2.0, [[1, 0]])
    shared = linear([(0, 0), (1, 0), (0, 1), (1, 1)], [[1.0], [1.0]], [[2.0], [2.0]], [[1, 1]])
    two_kinds = linear([(0, 0)], [[4.0, 4.0]], [[8.0, 8.0]], [[1]] * 32, overhead=(0.5, 0.2))
    hidden = next(iter(line.episode(frozenset()))).arrivals is None
    best = hindsight(line)
    regret = regret_curves(Ogasched, [line]).stationary[0, -1]
    drawn, step = instance(Setup(), 0).setting, Ogasched("decay")
    sizes = drawn.ports, drawn.servers, drawn.kinds, drawn.slots, step.eta0, step.decay
    alpha, beta = drawn.alpha.ravel(), drawn.overhead
    ends = (alpha >= 1.0) & (alpha <= 1.5), (beta >= 0.3) & (beta <= 0.5)
    return by_hand(
        [
            ("Table 1: |L|, |R|, K, T, eta0, decay", sizes, (10, 128, 6, 2000, 25, 0.9999)),
            ("Table 1: alpha in 1 to 1.5 and beta in 0.3 to 0.5", [each.all() for each in ends], (1, 1)),
            ("projection of (3, 2, -1, 0.6)", tight.project(point), (2, 1, 0, 0)),
            ("y(1) to y(5), step D / (G sqrt T) = 1/2", decided(Ogasched(), line)[:5], _LADDER),
            ("y(1) to y(4), overhead of the first kind", decided(Ogasched(), two_kinds)[:4], _STEPS),
            ("whether arrivals are hidden", hidden, True),
            ("stationary optimum and bound, T = 24", (best.value, best.bound), (72, 72)),
            ("(14) at T = 24 and 96", (theorem_1(line), theorem_1(longer)), (24, 48)),
            ("regret of OGASched, T = 24", regret, 72 - 65.5),
            ("DRF, shares 1 and 1/2 of one server", decided(Drf(), narrow), (1, 1)),
            ("FAIRNESS, one of two ports has a job", decided(Fairness(), alone), (2, 0)),
            ("BINPACKING, two ports on two servers", decided(BinPacking(), shared), (1, 1, 0.5, 0.5)),
            ("SPREADING, the same", decided(Spreading(), shared), (1, 0.5, 0.5, 1)),
        ]
    )


_LADDER = ((0, 0), (0.5, 0.5), (1, 1), (1.5, 1), (2, 1))
_STEPS = ((0, 0), (2 / 3, 4 / 3), (4 / 3, 8 / 3), (2, 4))
