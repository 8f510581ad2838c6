"""Placement of gang jobs on GPU machines (DAS).

Training jobs arrive over time. Each needs all of its instances at once, on one machine or spread over
several, and then runs to its end. How long that takes depends on how many machines it spans and on who else
is there.
"""

from .instance import PlacementInstance
from .placing import place
from .schedule import Schedule
from .setting import Feedback, Observation, Setting

__all__ = ["Feedback", "Observation", "PlacementInstance", "Schedule", "Setting", "place"]
