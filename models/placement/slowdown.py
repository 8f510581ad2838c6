"""How much longer a job takes when it spans machines or shares them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base import InputError, need, refuse_unknown
from ..draw import real

LARGEST = 10.0
"""The largest parameter: nobody has seen a job that takes more than ten times as long."""


@dataclass(frozen=True)
class Slowdown:
    r"""The parameters of the slowdown; a job alone on the fewest machines that hold it is not slowed down.

    A job that spans :math:`K` machines, where :math:`K^{min}` would do, takes :math:`comm(K)` times its
    duration; beside others on machine k it does its work at the rate :math:`1 / \max_k contention_k`:

    .. math::
        comm(K) = \frac{1 + \kappa (K - 1) / K}{1 + \kappa (K^{min} - 1) / K^{min}}, \qquad
        contention_k = 1 + \eta \beta_i \sum_{j \ne i} \beta_j u_{jk},

    where :math:`u_{jk}` is the share of the GPUs of machine k that job j has, and :math:`\beta` the intensity
    of a job. The maximum is over the machines of job i. The simulator rounds both, as written in
    ``docs/instance-files.md``.

    Attributes
    ----------
    communication
        :math:`\kappa`, 0 to 10.
    contention
        :math:`\eta`, 0 to 10; with 1, a job of intensity 1 beside another one on the 7 other GPUs of a
        machine takes 1.875 times as long.
    """

    communication: float = 0.0
    contention: float = 0.0

    def __post_init__(self) -> None:
        for name in ("communication", "contention"):
            object.__setattr__(self, name, real(f"slowdown.{name}", getattr(self, name), 0.0, LARGEST))

    @classmethod
    def from_dict(cls, data: Any) -> Slowdown:
        """Read the JSON form; both parameters must be there."""
        if isinstance(data, Slowdown):
            return data
        if not isinstance(data, Mapping):
            raise InputError(f"slowdown: {data!r} is not an object")
        names = ("communication", "contention")
        refuse_unknown(data, set(names), "slowdown.")
        return cls(**{name: need(data, name, "slowdown.") for name in names})

    def to_dict(self) -> dict[str, float]:
        """Return the JSON form."""
        return {"communication": self.communication, "contention": self.contention}

    def spread_factor(self, spans: np.ndarray | int, fewest: np.ndarray | int) -> np.ndarray:
        """Return comm(K) for jobs that span ``spans`` machines where ``fewest`` would do."""
        cost = [1.0 + self.communication * (np.asarray(K) - 1.0) / np.asarray(K) for K in (spans, fewest)]
        result: np.ndarray = cost[0] / cost[1]
        return result

    @property
    def worst(self) -> float:
        """The most by which any job can be slowed down by both."""
        return (1.0 + self.communication) * (1.0 + self.contention)


NO_SLOWDOWN = Slowdown()
