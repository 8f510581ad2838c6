"""The rules that are played and the numbers that are judged, against cases worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....models.selection.instance import SelectionInstance
from ....models.selection.setting import Feedback, Observation
from ....online.selection import Cucb, Escb, Esdp, EsdpPrinted, Hswf, Lcf, Lwtf, Thompson
from ...by_hand import by_hand
from ...claim import Context, Finding, Register, Verdict
from ..experiments import Setup, instance
from ..regret import RunCertificate, certificate, cucb_bound, over_time
from .algorithm import one_device

claim = Register("selection")


def _two(slots: int) -> SelectionInstance:
    """Return two ports that always have a job for one device, the first worth 0.8 and the second 0.5."""
    return one_device([(0, 0), (1, 0)], [0.8, 0.5], slots, "worked out by hand", cost=[0.2, 0.1])


def _taught(policy: Any, *shown: tuple[int, float]) -> Any:
    """Return a policy that has seen these channels and what they earned, slot by slot."""
    policy.start(_two(10).setting, np.random.default_rng(0))
    for slot, (channel, earned) in enumerate(shown):
        policy.learn(Feedback(slot, np.array([channel]), np.array([earned])))
    return policy


def _chosen(policy: Any, arrivals: tuple[int, int], *shown: tuple[int, float]) -> np.ndarray:
    """Return what such a policy decides then."""
    return np.asarray(_taught(policy, *shown).decide(Observation(len(shown), np.array(arrivals))))


@claim("rules", "(8) to (11), (16) to (18), Sec. 4.1", Verdict.HOLDS, ours=True)
def _rules(_context: Context) -> Finding:
    """What is played and judged is what the paper defines: averages, confidence, rounding, baselines, regret.

    Two ports that share a device, worked out by hand.
    """
    seen = ((0, 1.0), (1, 0.75), (1, 0.25))  # averages 1 and 1/2 of one and of two uses
    wins = ((0, 1.0), (1, 0.0)) * 100
    half = np.log(5.0) / 2.0  # of g(t) = ln(t + 1) in the fourth slot
    one = np.ones(1)
    taught, jobs = _taught(Thompson(), *wins), Observation(200, np.ones(2, dtype=np.int64))
    thompson = [taught.decide(jobs) for _ in range(20)]
    certified = RunCertificate(one, 0.2 * one, 0.3 * one, one < 0, one < 0)
    slot_3 = certificate(_two(3), [[1, 0], [0, 1], [1, 0]], g="log")  # after one use each
    escb = _taught(Escb("log"), *seen).index(3)
    drawn, one_each = (instance(Setup(capacity=c), 0).setting for c in (2, 1))
    sizes = drawn.ports, drawn.kinds, drawn.slots, drawn.demand.min(), drawn.demand.max(), EsdpPrinted().alpha
    return by_hand(
        [
            ("Table 3: |L|, K, T, demands from 1 to 2, alpha", sizes, (8, 3, 2000, 1, 2, 0.5)),
            ("channels at once if all c_k are 2; 1", (drawn.most_channels, one_each.most_channels), (2, 1)),
            ("averages and spread of ESCB", escb, ((1, 0.5), (half, half / 2))),
            ("Upsilon and Sigma^2 of ESDP, xi = 2", _taught(Esdp(g="log"), *seen).index(3), ((2, 1), (4, 2))),
            ("indices of CUCB", _taught(Cucb(), *seen).index(3)[0], (2.4420269, 1.5196670)),
            ("HSWF after these", _chosen(Hswf(), (1, 1), *seen), (1, 0)),
            ("LWTF after these", _chosen(Lwtf(), (1, 1), *seen), (1, 0)),
            ("LCF, costs 0.2 and 0.1", _chosen(Lcf(), (1, 1)), (0, 1)),
            ("Algorithm 1 without any job", _chosen(EsdpPrinted(), (0, 0)), (0, 0)),
            ("Thompson after 100 wins and 100 failures, 20 times", sum(thompson), (20, 0)),
            ("bound of CUCB at T = 10", cucb_bound(_two(10)), 41.824901),
            ("certificate of a slot: error 0.2, width 0.3", certified.per_slot, 0.5),
            ("error and width of slot 3, xi = 2", (slot_3.error[2], slot_3.width[2]), (1.0348332, 1.6651092)),
            ("regret of 0.5 per slot", over_time(_two(3), np.full(3, 0.5)), (0.3, 0.6, 0.9)),
        ]
    )
