"""How much longer a job takes when it spans machines or shares them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..fields import Field, Number, Record

PARAMETER = Number(high=10.0)
"""Nobody has seen a job that takes more than ten times as long."""


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

    With contention 1, a job of intensity 1 beside another one on the 7 other GPUs of a machine takes 1.875
    times as long.
    """

    communication: float = 0.0
    contention: float = 0.0

    def __post_init__(self) -> None:
        for name in ("communication", "contention"):
            object.__setattr__(self, name, PARAMETER.read(getattr(self, name), f"slowdown.{name}", {}))

    def spread_factor(self, spans: np.ndarray | int, fewest: np.ndarray | int) -> np.ndarray:
        """Return comm(K) for jobs that span ``spans`` machines where ``fewest`` would do."""
        cost = [1.0 + self.communication * (np.asarray(K) - 1.0) / np.asarray(K) for K in (spans, fewest)]
        return cost[0] / cost[1]

    @property
    def worst(self) -> float:
        """The most by which any job can be slowed down by both."""
        return (1.0 + self.communication) * (1.0 + self.contention)


SLOWDOWN = Record(
    Field(
        "communication",
        PARAMETER,
        "kappa: a job on K machines takes 1 + kappa (K - 1) / K times as long as on one",
    ),
    Field("contention", PARAMETER, "eta: how much jobs on the same machine slow each other down"),
    make=Slowdown,
)
NO_SLOWDOWN = Slowdown()
