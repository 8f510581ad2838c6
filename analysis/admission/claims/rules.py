"""The rules that are played and the numbers that are judged, against cases worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....models.admission.instance import AdmissionInstance
from ....models.admission.schedule import Schedule
from ....online.admission import Dorm, Drf, Fifo, Oasis, Rrh
from ....online.base import Policy
from ...by_hand import by_hand
from ...claim import Context, Finding, Register, Verdict
from ...engine.kept import play
from ..measures import counts, timeliness
from .cases import cluster, plain_job

claim = Register("admission")


def _job(slots: int, need: float, most: int = 1, priority: float = 20.0, decay: float = 0.0) -> Any:
    """Return a job of slot 1 with ``slots`` times ``most`` worker-slots to do, and target 1."""
    return plain_job(need, need, priority / 2.0, decay, target=1.0, epochs=slots, chunks=most)


def _cluster(capacity: float, *jobs: Any) -> AdmissionInstance:
    """Return jobs for one machine of each kind, and ten slots."""
    return cluster(jobs, capacity, capacity, horizon=10)


def _run(policy: Policy, instance: AdmissionInstance) -> tuple[Schedule, np.ndarray]:
    """Return the schedule, and how many workers each job has in the first slot."""
    schedule = Schedule.of_deployments(play(policy, instance, keep_decisions=True).decisions or ())
    return schedule, counts(instance, schedule).workers[:, 0]


def _position(policy: Oasis) -> tuple[float, ...]:
    """Return where between L and U the logarithms of both prices of the first slot stand, 0 to 1."""
    low, high = policy.range.lower(policy.floor), (policy.range.upper_workers, policy.range.upper_servers)
    prices = (policy.worker_prices, policy.server_prices)
    return tuple(
        float((np.log(p[0, 0, 0]) - a) / (b[0] - a)) for p, a, b in zip(prices, low, high, strict=True)
    )


@claim("rules", "(1), Alg. 1, Sec. IV, Sec. V.A", Verdict.HOLDS, ours=True)
def _rules(_context: Context) -> Finding:
    """What is played and judged is what the paper defines: utilities, prices, baselines, lateness.

    Two or three jobs on one machine, worked out by hand.
    """
    steep = _cluster(1.0, _job(3, 1.0, priority=100.0, decay=2.0))
    line = _cluster(3.0, _job(2, 2.0), _job(2, 2.0), _job(2, 1.0))
    greedy = _cluster(10.0, _job(2, 4.0, 10), _job(2, 1.0, 10))
    risky = _cluster(1.0, _job(2, 1.0, priority=100.0, decay=1.0), _job(3, 1.0, priority=2.0))
    ranked = _cluster(1.0, _job(2, 1.0, priority=20.0), _job(2, 1.0, priority=100.0, decay=10.0))
    wide = _cluster(10.0, _job(2, 1.0, 10))
    priced = _cluster(10.0, _job(1, 5.0, priority=200.0), _job(1, 6.0, priority=2.0))
    oasis = Oasis()
    earned, at = play(oasis, priced).total, _position(oasis)
    earns, falls = steep.jobs[0].utility([1, 2]), (50.0, 100.0 / (1.0 + np.exp(2.0)))
    served = (counts(risky, _run(Rrh(workers=1), risky)[0]).workers > 0).sum(axis=1)
    late = timeliness(steep, _run(Fifo(1), steep)[0])["sensitive"]
    return by_hand(
        [
            ("utility at a delay of 1, 2; priority 100, decay 2, target 1", earns, falls),
            ("lateness, 3 slots of work from slot 1 on, target 1", late, 3 - 1 - 1),
            ("FIFO, needs 2, 2, 1 of 3: workers in slot 1", _run(Fifo(1), line)[1], (1, 0, 0)),
            ("DRF, needs 4 and 1 of 10", _run(Drf(), greedy)[1], (1, 6)),
            ("Dorm, 10 workers fit", _run(Dorm(), wide)[1], 10),
            ("RRH, delaying the first job costs more: slots of the second", served, (2, 0)),
            ("RRH, the second job is worth more now", _run(Rrh(workers=1), ranked)[1], (0, 1)),
            ("OASiS serves jobs worth 100 and 1, one after the other", earned, 101),
            ("its prices at half of the capacity, on the way from ln L to ln U", at, (0.5, 0.5)),
        ]
    )
