"""OGASched with the projection of Algorithm 1 as printed, kept runnable because claims depend on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...models.allocation.setting import Setting
from ..base import Traits
from .ogasched import Ogasched


def printed_projection(setting: Setting, z: np.ndarray, *, repaired: bool) -> tuple[np.ndarray, int]:
    """Run lines 6 to 31 of Algorithm 1 on every (server, kind) row, with ``zip`` read as the product.

    ``repaired`` mends what keeps the printed loop from ending, and nothing else: S is emptied in every pass,
    entries of B2 are set to zero, an empty B3 needs no rho. Returned is the result, which may be infeasible,
    and the number of rows whose loop never ends.
    """
    from .kernels import printed_projection as compiled

    s = setting
    y, endless = compiled(s.check_shape(z), s.server_start, s.edge_demand, s.capacity, repaired)
    return y, int(endless)


@dataclass
class OgaschedPrinted(Ogasched):
    """OGASched with the printed projection, repaired only so far that it ends; ties: the smaller port.

    Only the first of the entries of a row is ever capped, in descending order of z; of equal ones, that of
    the smaller port. Kinds tie as in :class:`Ogasched`. Its decisions may be infeasible, and then its reward
    means nothing. Parameters as for :class:`Ogasched`; the step is that of Table 1.
    """

    step: str = "decay"
    name: str = field(default="ogasched-printed", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="allocation",
        feasible=False,
        source="Zhao et al., arXiv:2305.06572 (2023), Algorithm 1 as printed",
    )

    def _project(self) -> None:
        z = self._y[self._blocks.position].reshape(self._setting.shape)
        y, _ = printed_projection(self._setting, z, repaired=True)
        self._y = self._blocks.pack(y)
        self._sums[:] = 0.0
        np.add.at(self._sums, self._blocks.slot, self._y)
