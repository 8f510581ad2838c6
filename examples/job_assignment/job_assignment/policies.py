"""Who decides: greedy, and prices that rise with the load."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from clairvoyant.online.base import Traits

from .instance import Job, Setting


def guarantee(setting: Setting) -> float:
    """Return k + max(k, 1), by what the optimum is at most divided by :class:`Prices`."""
    m = 1.0 + setting.worth / setting.density
    k = max((c * (m ** (1.0 / c) - 1.0) for c in setting.machines), default=0.0)
    return k + max(k, 1.0)


@dataclass
class Greedy:
    """Accept whatever fits, on the machine with most places left in the fullest slot; the first of equals."""

    name: str = field(default="greedy", init=False)
    traits: ClassVar[Traits] = Traits("job-assignment")

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Begin with empty machines."""
        self._places = np.array(setting.machines, dtype=int)
        self._load = np.zeros((len(self._places), setting.slots), dtype=int)

    def costs(self, job: Job) -> np.ndarray:
        """Return what a place on each machine costs, shape (H,); infinite where there is none."""
        fullest = self._load[:, job.span].max(axis=1)
        return np.where(fullest < self._places, fullest - self._places, np.inf)

    def decide(self, job: Job) -> int:
        """Return the cheapest machine, or -1 if it costs as much as the job is worth."""
        costs = self.costs(job)
        h = min(job.fits, key=lambda h: costs[h], default=-1)
        if h < 0 or costs[h] >= job.value:
            return -1
        self._load[h, job.span] += 1
        return h


@dataclass
class Prices(Greedy):
    """Accept a job if it is worth more than its slots cost on the cheapest machine.

    A slot with n of c places taken costs p(n) = d (m^(n/c) - 1), where d is the density, V the worth and
    m = 1 + V / d: nothing if empty, V if full. With k, the largest c (m^(1/c) - 1) of all machines, no
    schedule is worth more than k + max(k, 1) times what this earns. If all c >= log2 m (jobs are small
    against capacities), k <= log2 m, as 2^x <= 1 + x from 0 to 1: Awerbuch, Azar and Plotkin (1993).

    Proof. By linear duality no schedule is worth more than D = sum of c p + sum of z, for any p >= 0 and
    z >= 0 with z_i >= v_i - (cost of i on h) for all i and its h. Take the last prices, and for z_i the value
    less the cost at arrival if i was accepted, else 0: prices only rise, so that this is allowed. Accepting a
    job of value v, length l and cost C < v adds to D v - C + sum over its slots of c (p(n+1) - p(n)). As
    c (p(n+1) - p(n)) = c (m^(1/c) - 1) (p(n) + d) <= k (p(n) + d), that is at most v - C + k (C + l d), and
    with l d <= v at most v + k v - (1 - k) C: (1 + k) v if k <= 1, and less than 2 k v if not.
    """

    name: str = field(default="prices", init=False)
    traits: ClassVar[Traits] = Traits(
        "job-assignment",
        guarantee="optimum / total <= k + max(k, 1), k = max of c (m^(1/c) - 1), m = 1 + worth / density",
        proven="in its docstring, after Awerbuch, Azar and Plotkin 1993",
    )

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Begin with empty machines, where nothing costs anything."""
        super().start(setting, rng)
        self._density, self._m = setting.density, 1.0 + setting.worth / setting.density

    def costs(self, job: Job) -> np.ndarray:
        """Return the sum of the prices of the slots on each machine, shape (H,)."""
        taken = self._load[:, job.span] / self._places[:, None]
        prices = np.where(taken < 1.0, self._density * (self._m**taken - 1.0), np.inf)
        return prices.sum(axis=1)


POLICIES = {policy.name: policy for policy in (Greedy, Prices)}
