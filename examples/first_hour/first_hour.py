"""From a table of jobs to an answer: import, optimum, comparison, pictures, and a policy of one's own."""

from dataclasses import dataclass, field
from typing import ClassVar

import matplotlib.pyplot as plt
import numpy as np

import clairvoyant as cv
from clairvoyant.models.placement import Observation, Setting, place
from clairvoyant.testing import check_policy


@dataclass
class ShortFirst:
    """The shortest job first, unless another has waited long; ties: the older job, the lower machine.

    Parameters
    ----------
    patience
        The hours that a job waits until it comes before one that is an hour shorter.
    """

    patience: float = 4.0
    name: str = field(default="short-first", init=False)
    traits: ClassVar[cv.Traits] = cv.Traits(problem="placement", sees=frozenset({"durations"}))

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Forget everything; nothing is kept."""

    def decide(self, observation: Observation) -> np.ndarray:
        """Return the rows (job, machine, count) that start now, all instances of a job or none."""
        assert observation.duration is not None  # as declared
        waited = observation.time - observation.submit
        fullest = np.tile(-observation.free[:, 0], (len(waited), 1))
        return place(observation, waited / self.patience - observation.duration, fullest)


if __name__ == "__main__":
    instance = cv.from_table("placement", "jobs.csv", machines="machines.csv", columns={"gpus": "1"})
    optimum = cv.solve(instance, time_limit=10)
    print(optimum.summary())
    check_policy(ShortFirst, instances=[instance])
    found = cv.compare(instance, ["fifo-firstfit", "sjf-consolidate", ShortFirst()], time_limit=10)
    print(found)
    found.to_frame().to_csv("runs.csv", index=False)
    fifo = cv.play("fifo-firstfit", instance, keep_decisions=True)
    low, high = cv.ratio(fifo, optimum)
    print(f"FIFO takes {low:.3f} to {high:.3f} times as long as it has to")
    figure, (above, below) = plt.subplots(2, figsize=(8, 7), height_ratios=(1, 3), layout="constrained")
    cv.plot_ratio(found, ax=above)
    cv.plot_schedule(instance, {"FIFO": fifo, "the best found": optimum}, ax=below)
    figure.savefig("first_hour.svg")
