"""A claim of our own: where OASiS and RRH stand against the rolling horizon."""

from __future__ import annotations

from ...claim import Context, Finding, Register, Why
from ...experiments import apart
from ...study import Study, tally
from ..experiments import OASIS, RRH, Contender, Setup
from .figures import AS_OURS, FEASIBLE, LAB, Case, Reading, both, with_setup

claim = Register("admission")

ROLLING = Contender("rolling horizon", "rolling-horizon")
KEEPING = Contender("the same that keeps", "rolling-horizon", (("forecast", True), ("keep", True)))

LARGE = with_setup(jobs=100, horizon=100, worker_machines=50, server_machines=50)
READINGS: dict[str, Reading] = {
    "short": AS_OURS,
    "feasible": FEASIBLE,
    "short, 100 jobs": LARGE,
    "feasible, 100 jobs": both(LARGE, FEASIBLE),
}
"""Which jobs are used; the full mode has all of them, by default without those of many jobs."""


@claim(
    "beyond-the-paper",
    "Algorithm 1, Sec. V; our own",
    because=Why.SAMPLES,
    ours=True,
    choices=("which of the drawn jobs are used, as few can finish",),
)
def _beyond_the_paper(context: Context) -> Finding:
    """A rolling horizon earns more than OASiS and RRH, also one that keeps what it admitted, as OASiS
    promises.

    All four on instances that no other check plays on; the one that keeps expects what came so far to come
    again.
    """
    setup = Setup(8, 8, 3, 3, "short") if context.quick else Setup(20, 20, 5, 5, "short")
    sampled, players = apart(context, 3, 5, 10), (OASIS, RRH, ROLLING, KEEPING)
    scenarios = {name: READINGS[name] for name in context.pick(["short"], ["short", "feasible"], READINGS)}
    study = Study.run(context, LAB, players, {"": Case(setup)}, sampled, scenarios)
    said = [one for ours in (ROLLING, KEEPING) for one in study.leads(ours.label, (OASIS.label, RRH.label))]
    return study.finding(
        f"The rolling horizon, of either kind, against OASiS and RRH: {tally(said, scenarios)}.",
        said,
        assumes="One that does not keep may drop a job that was begun, which is then worth nothing; OASiS "
        "never does. OASiS is told the range of prices, the others nothing.",
        numbers={"jobs": setup.jobs},
    )
