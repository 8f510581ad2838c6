"""A rolling horizon: whenever jobs arrive, what is left of all known ones is scheduled anew.

Each time the volume method prices the capacities, and ruin and recreate schedules at these prices, as in the
offline oracle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ...models.admission.jobs import Job, Rest
from ...models.admission.schedule import NOTHING, Deployment
from ...models.admission.setting import Observation, Setting
from ...models.base import InputError
from ...models.checks import whole
from ..base import Traits

if TYPE_CHECKING:
    from ...models.admission.market import Volume
    from ...models.admission.search import Placed, Search

MOST = 10_000
"""The most steps and rounds."""

MOST_EXPECTED = 200
"""The most jobs of a forecast; of more, so many are taken, evenly spaced in their order."""

WARM, COLD = 1.5e-2, 1e-4
"""Relative loss that a round is accepted with by probability 1/e: in the first round, and after the last."""

TRAITS = Traits(
    problem="admission",
    randomised=True,
    source="ours: at every arrival the volume method (Barahona and Anbil, Mathematical Programming 2000) and "
    "ruin and recreate (Schrimpf et al., Journal of Computational Physics 2000); keep=true: bid-price control"
    " (Talluri and van Ryzin, Management Science 1998); forecast=true: prices learned from the arrivals, the "
    "idea of Agrawal, Wang and Ye, Operations Research 2014",
)


@dataclass
class RollingHorizon:
    """Schedules all known jobs anew at every arrival; ties: the earlier job, the machine with less left over.

    Known are the jobs that have arrived and can still finish, each with what is left of its work. A few steps
    of the volume method, from the last prices on, price the machines in every slot that is left. The schedule
    is the better one of two: the last one, where other jobs are added as there is room, or a new one; the
    best utility per cost comes first. Then rounds of ruin and recreate look for a better one. A job that was
    begun may pause, or be dropped for others: only completion earns. What is earned and planned never falls.

    Parameters
    ----------
    keep
        Whether a job is admitted or rejected for good when it arrives, as by OASiS. It is admitted if its
        utility is above its cost at the prices, in what the admitted ones leave free; of these, all are done.
    forecast
        Whether prices are those for future jobs, too: the jobs of the t slots so far are expected to arrive
        again in the next t slots, and so on. Without it prices are too low for ``keep``.
    steps
        The most steps of the volume method at an arrival.
    rounds
        The rounds of ruin and recreate at an arrival.

    Attributes
    ----------
    planned
        What the known jobs were to earn from the slot of the last arrivals on.

    Raises
    ------
    InputError
        If ``keep`` or ``forecast`` is not true or false, or a number not whole and from 0 to 10,000.
    """

    keep: bool = False
    forecast: bool = False
    steps: int = 60
    rounds: int = 60
    name: str = field(default="rolling-horizon", init=False)
    traits: Traits = field(default=TRAITS, init=False)

    def __post_init__(self) -> None:
        for name in ("keep", "forecast"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name}: {getattr(self, name)!r} is not true or false")
        for name in ("steps", "rounds"):
            whole(name, getattr(self, name), 0, MOST)
        self.traits = replace(self.traits, randomised=self.rounds > 0)

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Forget everything."""
        self._setting, self._rng = setting, rng
        self._seen: list[Job] = []
        self._left: dict[Job, int] = {}
        self._plans: dict[Job, Placed] = {}
        self._prices: np.ndarray | None = None
        self.planned = 0.0

    def decide(self, observation: Observation) -> Deployment:
        """Schedule the known jobs anew if some have arrived, and return what runs in this slot."""
        slot = observation.slot
        arrived = [job for job in observation.jobs if self._setting.why_never(job) is None]
        if arrived:
            self._seen += arrived
            self._left |= {job: job.work for job in arrived}
            self._schedule(slot)
        return self._run(slot)

    def _schedule(self, slot: int) -> None:
        """Price what is left of the known jobs, and make the best schedule that is found the plan."""
        rests = {job: Rest.of(job, slot, left) for job, left in self._left.items()}
        rests = {job: rest for job, rest in rests.items() if self._setting.why_never(rest) is None}
        volume = self._priced(slot, list(rests.values()))
        search = self._begun(slot, rests, volume)
        search.rounds(WARM * (COLD / WARM) ** (np.arange(self.rounds) / max(1, self.rounds)), same=self.keep)
        self.planned = search.best_value
        placements = zip(rests, search.best, strict=True)
        self._plans = {job: placed for job, placed in placements if placed is not None}
        self._left = {job: self._left[job] for job in (self._plans if self.keep else rests)}

    def _priced(self, slot: int, rests: Sequence[Job]) -> Volume:
        """Return the prices for what is left of the known jobs, and for those expected."""
        from ...models.admission.market import Market, Volume

        market = Market(self._setting, [*rests, *(self._expected(slot) if self.forecast else ())])
        volume = Volume(market, self._prices)
        for _ in range(self.steps):
            if volume.settled:
                break
            volume.step()
        self._prices = volume.prices
        return volume

    def _expected(self, slot: int) -> list[Job]:
        """Return the jobs that arrive later if all so far come again and again, every ``slot`` slots."""
        again = [
            replace(job, arrival=job.arrival + later)
            for later in range(slot, self._setting.horizon, slot)
            for job in self._seen
            if job.arrival + later <= self._setting.horizon
        ]
        able = [job for job in again if self._setting.why_never(job) is None]
        some = np.linspace(0, len(able) - 1, min(len(able), MOST_EXPECTED)).astype(np.int64)
        return [able[i] for i in some.tolist()]

    def _begun(self, slot: int, rests: dict[Job, Rest], volume: Volume) -> Search:
        """Return the better one of the last schedule, with what finds room in it, and of a new one."""
        from ...models.admission.search import Search

        given = self._setting, list(rests.values()), volume.market.per_unit(volume.prices), self._rng
        old = Search(*given)
        for i, job in enumerate(rests):
            if job in self._plans:
                plan = self._plans[job]
                old.restore(i, *(rows[rows[:, 0] >= slot - 1] for rows in (plan.workers, plan.servers)))
        old.greedy(1.0)
        if self.keep:
            return old
        new = Search(*given)
        new.greedy(1.0)
        for search in (old, new):
            search.greedy(0.0)
        return new if new.value > old.value else old

    def _run(self, slot: int) -> Deployment:
        """Return what is planned for a slot, and forget the jobs that are done."""
        sides = [[NOTHING.workers], [NOTHING.servers]]
        for job, plan in list(self._plans.items()):
            for side, rows in zip(sides, (plan.workers, plan.servers), strict=True):
                now = rows[rows[:, 0] == slot - 1]
                side.append(np.column_stack([np.full(len(now), job.index), now[:, 1:]]))
            self._left[job] -= int(sides[0][-1][:, 2].sum())
            if self._left[job] == 0:
                del self._left[job], self._plans[job]
        return Deployment(*(np.concatenate(side) for side in sides))
