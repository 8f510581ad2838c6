"""Claims about gang scheduling (Sec. 3.4): the printed constraint, and ESDP on the sound set."""

from __future__ import annotations

import numpy as np

from ....models.base import Origin
from ....models.mixed import without_solution
from ....models.program import SOLVER_TOLERANCE, SolverError
from ....models.selection.gang import SelectionGangInstance, SelectionGangSetting
from ....models.selection.gang_generate import generate
from ....models.selection.gang_program import literal_program
from ....online.selection.gang import GangEsdp
from ...claim import Context, Finding, Register, Verdict, amended_if, finding, holds_if
from ...engine.kept import play
from ...experiments import SEEDS_APART, track
from ...statistics import growth_exponent
from ..regret import over_time

claim = Register("selection")


def printed_is_empty(setting: SelectionGangSetting, arrivals: np.ndarray) -> bool:
    """Return whether no decision meets the constraints as printed in a slot, proved by multipliers."""
    program = literal_program(setting, np.zeros(setting.channels), arrivals)
    if without_solution(program, lambda: False, SOLVER_TOLERANCE):
        return True
    solved = program.solve()
    if solved.value is None:
        raise SolverError(f"HiGHS ended with {solved.status} on the printed program")
    x = np.round(solved.variables["x"])
    running = np.bincount(setting.port, weights=x, minlength=setting.ports)
    kept = (running >= setting.minimum).all() and (setting.used(x) <= setting.capacity).all()
    if not kept or x[~setting.open(arrivals)].any():
        raise SolverError("HiGHS returned a decision that breaks the printed program")
    return False


def two_jobs() -> SelectionGangInstance:
    """Return two jobs of one task each, and one device: either can run, both cannot."""
    return SelectionGangInstance(
        channels=[[0, 0], [1, 0]],
        task_port=[0, 1],
        demand=[[1], [1]],
        capacity=[[1]],
        minimum=[1, 1],
        mean=[0.5, 0.5],
        arrivals=[[1, 1]],
        origin=Origin("one of two jobs could run, but Sec. 3.4 as printed has no decision"),
    )


@claim(
    "gang-literal",
    "Sec. 3.4, first constraint",
    Verdict.REFUTED,
    choices=("whether m_l(t) is 0 without a job",),
)
def _gang_literal(_context: Context) -> Finding:
    """All-or-nothing is modelled by asking of every port, in every slot, for at least m_l(t) tasks.

    Solve the printed program for two jobs at one device, both of them there.
    """
    small = two_jobs()
    empty = printed_is_empty(small.setting, small.arrivals[0])
    sound = [not small.violations(np.array([x])) for x in ((1, 0), (0, 1), (0, 0))]
    return finding(
        holds_if(not (empty and all(sound))),
        "With two jobs and room for one, the printed constraints have no solution; all-or-nothing has three.",
        {"no decision as printed": empty, "decisions of the sound form": sum(sound)},
        counterexample=small,
    )


@claim("gang-sound", "Sec. 3.4", Verdict.HOLDS_AMENDED)
def _gang_sound(context: Context) -> Finding:
    """The gang problem can be solved by an approach similar to ESDP.

    ESDP maximised over the sound set: feasibility, and growth of the regret from T/8 to T.
    """
    count, slots = context.pick((5, 160), (6, 400), (20, 8000))
    curves, infeasible = [], 0
    at = np.array([slots // 8, slots // 4, slots // 2, slots])
    for n in track(context, range(count)):
        here = generate("tiny", SEEDS_APART * context.seed + n, tasks=(2, 2), slots=slots)
        run = play(GangEsdp(delta=None, g="log"), here, enforce=False)
        infeasible += run.infeasible
        curves.append(over_time(here, run.rewards)[at - 1])
    exponent = growth_exponent(at, np.array([curve for curve in curves if curve[0] > 1e-3]))
    sublinear = infeasible == 0 and exponent.high < 1.0
    empty = printed_is_empty(two_jobs().setting, np.ones(2))
    return finding(
        amended_if(sublinear and not empty, sublinear, Verdict.UNDETERMINED),
        "With a launch variable per job, the index of ESDP gives feasible decisions and sublinear regret.",
        {"infeasible decisions": infeasible}
        | {"growth exponent of the regret": exponent.mean, "growth exponent, high (95 %)": exponent.high},
        small=context.quick,
        assumes="ESDP with g = ln t, without rounding of the index, and planning for the ports with jobs.",
        remark="The maximisation is a 0/1 program and no longer a knapsack: the polynomial time of the "
        "printed recursion does not carry over.",
    )
