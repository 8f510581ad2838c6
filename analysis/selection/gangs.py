"""Claims about gang scheduling (Sec. 3.4): the printed constraint, and ESDP on the sound set."""

from __future__ import annotations

import numpy as np

from ...models.program import SolverError
from ...models.selection.gang import SelectionGangInstance, SelectionGangSetting, printed_counterexample
from ...models.selection.gang_generate import generate
from ...models.selection.gang_program import literal_program
from ...online.play import play
from ...online.selection.gang import GangEsdp
from ..claim import Claim, Context, Finding, Table, Verdict, amended_if, holds_if
from ..statistics import growth_exponent, mean_interval

SEEDS_APART = 1000
"""Seeds of instances that belong to one seed of the audit."""


def printed_is_empty(setting: SelectionGangSetting, arrivals: np.ndarray) -> bool:
    """Return whether no decision meets the constraints as printed in a slot, by solving for one.

    Raises
    ------
    SolverError
        If HiGHS neither finds a decision that keeps the printed rows nor says that there is none.
    """
    solved = literal_program(setting, np.zeros(setting.channels), arrivals).solve()
    if solved.status in ("provenInfeasible", "infeasibleOrUnbounded"):  # 0/1 programs are bounded
        return True
    if solved.value is None:
        raise SolverError(f"HiGHS ended with {solved.status} on the printed program")
    x = np.round(solved.variables["x"])
    running = np.bincount(setting.port, weights=x, minlength=setting.ports)
    kept = (running >= setting.minimum).all() and (setting.used(x) <= setting.capacity).all()
    if not kept or x[~setting.open(arrivals)].any():
        raise SolverError("HiGHS returned a decision that breaks the printed program")
    return False


def _empty_slots(instance: SelectionGangInstance) -> tuple[int, int]:
    """Return in how many slots no decision is printed-feasible, and in how many an empty port is to blame."""
    setting = instance.setting
    patterns, repeats = np.unique(instance.arrivals, axis=0, return_counts=True)
    blamed = ((setting.minimum >= 1) & (patterns == 0)).any(axis=1)
    empty = np.array([printed_is_empty(setting, arrivals) for arrivals in patterns], dtype=bool)
    if (blamed & ~empty).any():
        raise SolverError("HiGHS found a decision where a port without a job has to run tasks")
    return int(repeats[empty].sum()), int(repeats[blamed].sum())


def _one_task_on_two_servers() -> SelectionGangInstance:
    """Return an instance whose only job has one task of the two that it needs, and two servers for it."""
    return SelectionGangInstance(
        channels=[[0, 0], [0, 1]],
        task_port=[0],
        demand=[[1]],
        capacity=[[1], [1]],
        minimum=[2],
        mean=[0.5, 0.5],
        arrivals=[[1]],
    )


def _check_literal(context: Context) -> Finding:
    smallest = printed_counterexample()
    alone = printed_is_empty(smallest.setting, smallest.arrivals[0])
    sound = not smallest.violations(np.zeros((1, 1)))
    twice = _one_task_on_two_servers().setting
    counted = not printed_is_empty(twice, np.ones(1)) and twice.tasks < twice.minimum[0]
    count = context.pick(4, 20, 60)
    slots = context.pick(100, 400, 2000)
    rho = 0.9
    lines = []
    for n in range(count):
        ports = 2 + n % 3
        instance = generate(
            "tiny", SEEDS_APART * context.seed + n, ports=ports, slots=slots, arrival_probability=rho
        )
        empty, blamed = _empty_slots(instance)
        needed = int((instance.setting.minimum >= 1).sum())
        lines.append((n, ports, needed, 100 * empty / slots, 100 * blamed / slots, 100 * (1 - rho**needed)))
        context.progress((n + 1) / count)
    share = float(np.mean([line[3] for line in lines]))
    blame = float(np.mean([line[4] for line in lines]))
    return Finding(
        holds_if(not alone and share == 0.0 and not counted),
        "As printed, every port has to run m_l tasks in every slot, and (4) forbids that without a job. The "
        f"smallest instance, one port with m = 1 and no job, has no decision at all. Over {count} random "
        f"instances, where a port has a job with probability {rho:g}, no decision is feasible in "
        f"{share:.3g} % of the slots; in {blame:.3g} % because a port with m_l >= 1 is empty. Moreover "
        "nothing keeps a task to one server: with m = 2, one task on two servers is "
        f"{'accepted as two' if counted else 'refused'}.",
        {
            "smallest instance has no decision": alone,
            "to do nothing is feasible there in the sound form": sound,
            "one task on two servers counts as two": bool(counted),
            "slots without a decision (%)": share,
            "slots with an empty port that has to run tasks (%)": blame,
        },
        tables=(
            Table(
                "Slots in which no decision meets the printed constraints",
                (
                    *("instance", "ports", "ports with m >= 1", "no decision (%)"),
                    *("empty port with m >= 1 (%)", "predicted, 1 - rho^ports (%)"),
                ),
                tuple(lines),
            ),
        ),
        counterexample=smallest if alone else None,
    )


def _check_sound(context: Context) -> Finding:
    from ...oracles.selection.gang import gang

    count, slots = context.pick((8, 400), (8, 1000), (20, 8000))
    at = np.array([slots // 8, slots // 4, slots // 2, slots])
    policies = {"exact index": GangEsdp(delta=None, g="log"), "rounded": GangEsdp(g="log")}
    curves: dict[str, list[np.ndarray]] = {name: [] for name in policies}
    infeasible = 0
    lines = []
    for n in range(count):
        instance = generate("tiny", SEEDS_APART * context.seed + n, tasks=(2, 2), slots=slots)
        certificate = gang(instance).certificate
        for name, policy in policies.items():
            run = play(policy, instance, enforce=False)
            infeasible += run.infeasible
            curve = np.cumsum(certificate.per_slot[:, 1] - run.rewards)[at - 1]
            curves[name].append(curve)
            lines.append((n, name, *curve.tolist()))
        context.progress((n + 1) / count)
    exponent = {
        name: growth_exponent(at, np.array([curve for curve in found if curve[0] > 1e-3]))
        for name, found in curves.items()
    }
    last = {name: mean_interval([curve[-1] for curve in found]) for name, found in curves.items()}
    exact = exponent["exact index"]
    smallest = printed_counterexample()
    printed = not printed_is_empty(smallest.setting, smallest.arrivals[0])
    return Finding(
        amended_if(printed, infeasible == 0 and exact.high < 1.0),
        "With a launch variable per job the same index, maximised over the sound set, gives "
        f"{infeasible} infeasible decisions in {count} runs of {slots} slots, and its regret against the "
        f"exact optimum grows as t^{exact} (95 %), {'so' if exact.high < 1.0 else 'not clearly'} "
        f"sublinearly; rounded as in ESDP, as t^{exponent['rounded']}. The maximisation is a 0/1 program "
        "and no longer a knapsack: the polynomial time of the printed recursion does not carry over.",
        {
            "infeasible decisions": infeasible,
            "growth exponent, exact index": exact.mean,
            "growth exponent, exact index, upper end (95 %)": exact.high,
            "growth exponent, rounded": exponent["rounded"].mean,
            "mean regret at the end, exact index": last["exact index"].mean,
            "mean regret at the end, rounded": last["rounded"].mean,
        },
        tables=(
            Table(
                "Regret of ESDP for gangs against the exact optimum (upper ends)",
                ("instance", "index", *(f"after {t} slots" for t in at.tolist())),
                tuple(lines),
            ),
        ),
    )


CLAIMS = [
    Claim(
        "selection/gang-literal",
        "Sec. 3.4, first constraint",
        "Gang scheduling is modelled by asking of every port, in every slot, for at least m_l tasks.",
        "Solve the printed program for every arrival pattern of random instances, and of the smallest one.",
        Verdict.FAILS,
        _check_literal,
    ),
    Claim(
        "selection/gang-sound",
        "Sec. 3.4",
        "The gang problem can be solved by an approach similar to ESDP.",
        "Play ESDP with the index maximised over the sound set against the exact optimum: feasibility, and "
        "growth of the regret from T/8 to T.",
        Verdict.HOLDS_AMENDED,
        _check_sound,
    ),
]
