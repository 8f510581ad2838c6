"""A claim of our own: where OGASched stands against the best policy of ours that commits as early."""

from __future__ import annotations

from dataclasses import replace

from ....online.allocation import POLICIES
from ...claim import Context, Finding, Register, Why
from ...experiments import Contender, apart
from ...study import Statement, how_sure, judge
from ..experiments import CONSTANT, Setup
from . import readings

claim = Register("allocation")

HEDGE = Contender("Hedge", POLICIES["hedge"])
STARTS = {
    "nothing, as by default": Contender("OGASched (from nothing)", POLICIES["ogasched"]),
    "the fair share": CONSTANT,
}

NOTE = "All commit before they see the slot's arrivals. OGASched steps by D/(G sqrt T)"


@claim(
    "beyond-the-paper",
    "Algorithm 1; our own",
    because=Why.SAMPLES,
    ours=True,
    choices=(*readings.OPEN, "where OGASched starts"),
)
def _beyond_the_paper(context: Context) -> Finding:
    """Hedge, which sees no more than OGASched, earns more than it does from either start.

    Both on instances that no other check plays on.
    """
    place, setup = readings.on(context, apart(context, 3, 4, 10)), Setup(slots=context.pick(20, 40, 2000))
    study = place.play((HEDGE, *STARTS.values()), {"": setup}, replace(readings.LAB, note=NOTE))
    said = []
    for start, who in STARTS.items():
        leads = {name: readings.ahead(f, HEDGE.label, who.label)[:, 0] for name, f in study.found.items()}
        said.append(Statement(f"Hedge is ahead of OGASched from {start}", leads, "%"))
    return study.finding(
        f"That Hedge is ahead of OGASched from both starts is {how_sure(judge(said))}.", said
    )
