"""What a policy of the selection problem may know: setting, observations and feedback (Sec. 2 of ESDP).

A decision is an array ``x[channel]`` of zeros and ones, in the order of ``setting.edges``. What it earns in a
slot is its expected net utility; what the policy observes is the realised net utility of the chosen channels.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..slots import Observation as Observation
from .channels import Channels
from .knapsack import Knapsack


@dataclass(frozen=True, eq=False)
class Setting(Channels):
    """What a policy may know before it starts: :class:`.channels.Channels`, and the search in them."""

    @cached_property
    def knapsack(self) -> Knapsack:
        """The feasible sets Omega(t) and the exact search in them; see :class:`.knapsack.Knapsack`."""
        return Knapsack(self)

    @cached_property
    def most_channels(self) -> int:
        """m: the most channels that fit at once, max of sum_e x_e under (2), exactly."""
        return self.knapsack.best(np.ones(self.channels)).count


@dataclass(frozen=True)
class Feedback:
    """What a policy learns after its decision: the realised net utility of the channels it chose.

    Attributes
    ----------
    slot
        The slot.
    channels
        Indices of the chosen channels, ascending.
    utility
        Z~ of each of them in this slot, in [0, 1].
    """

    slot: int
    channels: np.ndarray
    utility: np.ndarray
