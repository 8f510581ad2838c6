"""The budgeted 0/1 problem of ESDP.

In every slot jobs arrive at ports; the scheduler switches on channels between these ports and servers under
the capacities of the whole cluster, without knowing what a channel earns on average; channels that are
switched on show a noisy utility.
"""

from .gang import SelectionGangInstance, SelectionGangSetting
from .instance import SelectionInstance
from .setting import Feedback, Observation, Setting

__all__ = [
    "Feedback",
    "Observation",
    "SelectionGangInstance",
    "SelectionGangSetting",
    "SelectionInstance",
    "Setting",
]
