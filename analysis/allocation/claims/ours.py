"""A claim of our own: where OGASched stands against the best policy of ours that commits as early."""

from __future__ import annotations

from dataclasses import replace

from ....online.allocation import POLICIES
from ...claim import Context, Finding, Register, Why
from ...experiments import Contender, apart
from ...study import Statement, tally
from ..experiments import CONSTANT, Setup
from . import readings

claim = Register("allocation")

HEDGE = Contender("Hedge", POLICIES["hedge"])
STARTS = {
    "nothing, as by default": Contender("OGASched (from nothing)", POLICIES["ogasched"]),
    "the fair share": CONSTANT,
}

NOTE = "All commit before they see the slot's arrivals. OGASched steps by D/(G sqrt T)"

FEWER = ("8 cores, 64 GB", "1 core, 1 GB", "public code")
"""The readings but for those between the ends."""


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
    names = context.pick(FEWER, FEWER, readings.UNITS)
    place = readings.Place(context, apart(context, 3, 4, 10), {name: readings.UNITS[name] for name in names})
    setup = Setup(slots=context.pick(20, 40, 2000))
    study = place.play((HEDGE, *STARTS.values()), {"": setup}, replace(readings.LAB, note=NOTE))
    said = []
    for start, who in STARTS.items():
        leads = {name: readings.ahead(f, HEDGE.label, who.label)[:, 0] for name, f in study.found.items()}
        said.append(Statement(f"Hedge is ahead of OGASched from {start}", leads, "%"))
    return study.finding(f"Hedge against OGASched: {tally(said, study.found)}.", said)
