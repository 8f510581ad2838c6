"""The fractional bipartite allocation problem of OGASched.

In every slot jobs arrive at ports; the scheduler holds a fractional allocation of devices on the edges
between ports and servers; a port that yields a job earns a concave gain minus the dominant communication
overhead.
"""

from .gang import AllocationGangInstance, AllocationGangSetting
from .instance import AllocationInstance
from .setting import Feedback, Observation, Setting

__all__ = [
    "AllocationGangInstance",
    "AllocationGangSetting",
    "AllocationInstance",
    "Feedback",
    "Observation",
    "Setting",
]
