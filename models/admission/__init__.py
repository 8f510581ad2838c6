"""Admission and scheduling of elastic training jobs (OASiS).

Jobs arrive over the slots of a horizon. A job may get workers on machines of one kind and parameter servers
on machines of another kind, as many in every slot as the scheduler likes, until its work is done; the sooner
it is done, the more it is worth.
"""

from .instance import AdmissionInstance
from .jobs import Job
from .schedule import Deployment, Schedule
from .setting import Feedback, Observation, PriceRange, Setting

__all__ = [
    "AdmissionInstance",
    "Deployment",
    "Feedback",
    "Job",
    "Observation",
    "PriceRange",
    "Schedule",
    "Setting",
]
