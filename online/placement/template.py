"""A policy to start from, for ``clairvoyant new-policy``."""

from __future__ import annotations

TEMPLATE = '''"""A policy for the placement problem."""

from dataclasses import dataclass, field
from typing import ClassVar

import clairvoyant as cv
import numpy as np
from clairvoyant.models.placement import Observation, Setting, place


@dataclass
class $kind:
    """Small jobs first, on the fullest machines; ties: the older job, the lower machine.

    With a method ``learn(self, feedback: Feedback)`` it is told what each decision cost.

    Parameters
    ----------
    patience
        The hours that a job waits until it comes before one with a GPU less.
    """

    patience: float = 1.0
    name: str = field(default="$name", init=False)
    traits: ClassVar[cv.Traits] = cv.Traits(problem="placement")

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Forget everything; ``rng`` is the only source of randomness."""

    def decide(self, observation: Observation) -> np.ndarray:
        """Return the rows (job, machine, count) that start now, all instances of a job or none."""
        gpus = observation.instances * observation.need[:, 0]
        hours = (observation.time - observation.submit) / 3.6e6  # times are in milliseconds
        fullest = np.tile(-observation.free[:, 0], (len(gpus), 1))
        return place(observation, hours / self.patience - gpus, fullest)
'''
