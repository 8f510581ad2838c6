"""From priorities and affinities to starts: how the scheduler of Sec. 3 carries out its two decisions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import frozen, numbers
from .setting import Observation


def place(observation: Observation, priorities: Any, affinities: Any, *, strict: bool = False) -> np.ndarray:
    """Return the decision (rows job, machine, count) that priorities and affinities stand for.

    The jobs are tried in descending order of priority; each takes as many instances as fit on each machine in
    descending order of affinity, and starts if all of them find a place. Ties go to the older job and to the
    machine with the lower index.

    Parameters
    ----------
    observation
        What is seen now, w waiting jobs and M machines.
    priorities
        One per waiting job, finite, shape (w,).
    affinities
        One per waiting job and machine, finite, shape (w, M).
    strict
        Whether a job that does not fit ends the matter; otherwise it is passed over.

    Raises
    ------
    InputError
        For a wrong shape or a number that is not finite.
    """
    from .kernels import start_by_rank

    w, machines = len(observation.jobs), len(observation.free)
    first = numbers(priorities, "priorities", (w,), low=-np.inf)
    scores = numbers(affinities, "affinities", (w, machines), low=-np.inf)
    rows: np.ndarray = start_by_rank(
        observation.free.copy(),
        observation.jobs,
        observation.instances,
        observation.need,
        np.argsort(-first, kind="stable"),
        np.argsort(-scores, axis=1, kind="stable"),
        strict,
    )
    return frozen(rows)
