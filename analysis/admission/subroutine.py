"""Claims about Algorithm 2: what it returns, where it fails, what it costs (Theorems 1 and 3)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from ...models.admission.instance import AdmissionInstance
from ...models.admission.jobs import Job
from ...models.admission.schedule import Offer, cheapest_schedule, printed_schedule
from ...models.base import Origin
from ...online.admission.oasis import Oasis, OasisPrinted
from ...online.play import play
from ..claim import Claim, Context, Finding, Table, Verdict, amended_if, holds_if
from ..experiments import track

TIE = 1e-9
"""Payoffs that differ by less, relative to the largest utility, are the same: rounding."""

CHUNK_TIMES = (0.1, 0.4, 0.7, 1.0, 1.5, 2.5)
"""Worker-slots per chunk of the random cases, m."""


@dataclass(frozen=True, eq=False)
class Case:
    """A job and what the machines offer it: an input of Algorithm 2."""

    job: Job
    offer: Offer


def one_job(
    slots: int,
    chunks: int,
    epochs: int,
    chunk_time: float,
    utility: tuple[float, float, float] = (200.0, 0.0, 0.0),
    *,
    capacity: float = 10.0,
    bandwidths: tuple[float, float] = (1.0, 1.0),
    origin: str = "given by hand",
) -> AdmissionInstance:
    """Return an instance with a job of the first slot, one machine of each kind, and amounts of 1.

    The utility is priority, decay and target; that of the default is 100 always.
    """
    return AdmissionInstance(
        horizon=slots,
        resources=["r"],
        worker_servers=[[capacity]],
        parameter_servers=[[capacity]],
        jobs=[
            {
                "arrival": 1,
                "epochs": epochs,
                "chunks": chunks,
                "minibatches": 1,
                "minibatch_time": chunk_time,
                "gradient_size": 0,
                "worker_bandwidth": bandwidths[0],
                "server_bandwidth": bandwidths[1],
                "worker_demand": [1],
                "server_demand": [1],
                "utility": dict(zip(("priority", "decay", "target"), utility, strict=True)),
            }
        ],
        origin=Origin(origin),
    )


PRINTED_CASES = ((2, 2, 1, 1.5, 10.0), (3, 2, 1, 2.5, 10.0), (4, 5, 2, 0.4, 1.0))
"""T, N, E, m and the workers that fit in a slot, of cases in which Algorithm 2 is wrong at unit prices."""


def unit_case(slots: int, chunks: int, epochs: int, chunk_time: float, capacity: float) -> Case:
    """Return a case at unit prices: a worker and its parameter server cost 1 each; the job is worth 100."""
    instance = one_job(slots, chunks, epochs, chunk_time, capacity=capacity)
    job = instance.jobs[0]
    rooms = (instance.setting.worker_room(job), instance.setting.server_room(job))
    sides = [part for room in rooms for part in (np.tile(room, (slots, 1)), np.ones((slots, 1)))]
    return Case(job, Offer(*sides))


def random_cases(rng: np.random.Generator, count: int) -> Iterator[Case]:
    """Yield small cases: up to 4 slots, 2 machines of each kind, 5 chunks and 3 epochs."""
    for _ in range(count):
        slots, workers, servers = (int(rng.integers(1, most + 1)) for most in (4, 2, 2))
        job = one_job(
            slots,
            int(rng.integers(1, 6)),
            int(rng.integers(1, 4)),
            float(rng.choice(CHUNK_TIMES)),
            (100.0, float(rng.choice([0.0, 0.5, 2.0])), float(rng.integers(0, 4))),
            bandwidths=((1.0, 1.0), (1.0, 3.0), (0.1, 0.3), (2.0, 3.0))[int(rng.integers(4))],
        ).jobs[0]
        yield Case(
            job,
            Offer(
                np.minimum(rng.integers(0, 5, (slots, workers)), job.chunks),
                rng.integers(0, 20, (slots, workers)) / 4.0,
                np.minimum(rng.integers(0, 5, (slots, servers)), job.chunks),
                rng.integers(0, 20, (slots, servers)) / 4.0,
            ),
        )


def payoff(case: Case, *, printed: bool = False) -> float:
    """Return what Algorithm 2 returns as mu_i: the best payoff if positive, else 0."""
    plan = (printed_schedule if printed else cheapest_schedule)(case.job, case.offer)
    return 0.0 if plan is None else max(0.0, plan.payoff)


def milp_payoff(case: Case) -> float:
    """Return the optimum of (27), or 0 if that is more, from a mixed-integer programme.

    Variables are the workers and parameter servers of every slot and machine, and for every slot whether it
    is the job's deadline: workers before it only, and utility by it. (6) and (7) stand as they are printed.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    job, offer = case.job, case.offer
    slots, workers = offer.worker_room.shape
    servers = offer.server_room.shape[1]
    y = np.arange(slots * workers).reshape(slots, workers)
    z = y.size + np.arange(slots * servers).reshape(slots, servers)
    u = y.size + z.size + np.arange(slots)
    size = y.size + z.size + slots
    rows, lows, highs = [], [], []

    def demand(entries: dict[int, float], low: float, high: float) -> None:
        row = np.zeros(size)
        row[list(entries)] = list(entries.values())
        rows.append(row)
        lows.append(low)
        highs.append(high)

    demand(dict.fromkeys(y.ravel().tolist(), 1.0), job.work, math.inf)  # (2)
    demand(dict.fromkeys(u.tolist(), 1.0), 1.0, 1.0)
    for s in range(slots):
        at_work = dict.fromkeys(y[s].tolist(), 1.0)
        demand(at_work | dict.fromkeys(u[s:].tolist(), -float(job.chunks)), -math.inf, 0.0)  # (3)
        demand(at_work | dict.fromkeys(z[s].tolist(), -1.0), 0.0, math.inf)  # (7)
        needed = dict.fromkeys(y[s].tolist(), job.worker_bandwidth)
        demand(needed | dict.fromkeys(z[s].tolist(), -job.server_bandwidth), -math.inf, 1e-9)  # (6)
    cost = np.concatenate([offer.worker_cost.ravel(), offer.server_cost.ravel(), -job.utilities(slots)])
    room = np.concatenate([offer.worker_room.ravel(), offer.server_room.ravel(), np.ones(slots)])
    found = milp(
        cost,
        integrality=np.ones(size),
        bounds=Bounds(0, room),
        constraints=LinearConstraint(np.array(rows), lows, highs),
        options={"mip_rel_gap": 0.0},
    )
    if found.status == 2:  # infeasible
        return 0.0
    if found.status != 0:
        raise RuntimeError(f"milp: {found.message}")
    return max(0.0, -float(found.fun))


def printed_cost(case: Case, slot: int, chunks: int) -> float:
    """Return COST_t of Algorithm 2 (lines 21-41) for a number of chunks in a slot (from 0), line by line."""
    job, offer = case.job, case.offer
    left = math.ceil(chunks * job.chunk_time)
    y: list[int] = []
    for h in np.argsort(offer.worker_cost[slot], kind="stable").tolist():
        y.append(min(int(offer.worker_room[slot, h]), job.chunks - sum(y), left))
        left -= y[-1]
    if left > 0:
        return math.inf
    needed = int(job.servers_for[sum(y)])
    z: list[int] = []
    for k in np.argsort(offer.server_cost[slot], kind="stable").tolist():
        z.append(min(int(offer.server_room[slot, k]), needed - sum(z), sum(y) - sum(z)))
    if sum(z) < needed:
        return math.inf
    return float(np.sort(offer.worker_cost[slot]) @ y + np.sort(offer.server_cost[slot]) @ z)


def least_cost(case: Case, slot: int, chunks: int) -> float:
    """Return the optimum of (32) by enumeration, infinite if there is none."""
    job, offer = case.job, case.offer
    least = math.inf
    sides = [
        list(product(*(range(int(room) + 1) for room in rooms[slot])))
        for rooms in (offer.worker_room, offer.server_room)
    ]
    for y, z in product(*sides):
        at_work = sum(y)
        enough = chunks * job.chunk_time <= at_work <= job.chunks
        if enough and job.servers_for[at_work] <= sum(z) <= at_work:
            least = min(least, float(offer.worker_cost[slot] @ y + offer.server_cost[slot] @ z))
    return least


def _check_theorem_1(context: Context) -> Finding:
    rng = np.random.default_rng(context.seed)
    count = context.pick(250, 3000, 20000)
    wrong: dict[float, list[int]] = {m: [0, 0, 0] for m in CHUNK_TIMES}
    for case in track(context, random_cases(rng, count)):
        exact, printed = payoff(case), payoff(case, printed=True)
        if exact > TIE:
            line = wrong[float(case.job.chunk_time)]
            line[0] += 1
            line[1] += printed < exact - TIE * case.job.priority
            line[2] += printed <= 0.0
    positive, worse, rejected = (sum(line[k] for line in wrong.values()) for k in range(3))
    known = []
    for given in PRINTED_CASES:
        case = unit_case(*given)
        plan = printed_schedule(case.job, case.offer)
        known.append((*given, payoff(case), "infeasible" if plan is None else plan.payoff))
    instance = rejected_instance()
    earned = [play(policy(floor=False), instance).total for policy in (Oasis, OasisPrinted)]
    return Finding(
        holds_if(worse == 0 and all(line[5] == line[6] for line in known)),
        "Whole chunks are handed to slots, so what rounding d m up wastes in a slot is lost, and a chunk "
        f"that takes more than N worker-slots can never be done. Of {positive} random small cases with a "
        f"positive payoff the printed programme is suboptimal in {100 * worse / positive:.1f} % and rejects "
        f"{100 * rejected / positive:.1f} % wrongly. Counterexample: one job with N = 5, E = 2, m = 0.4 and "
        f"room for one worker in each of 4 slots; OASiS earns {earned[0]:g} with exact schedules, "
        f"{earned[1]:g} with printed ones. The worker-slots of a job, not its chunks, are what has to be "
        "handed out.",
        {
            "random cases with a positive payoff": positive,
            "suboptimal (%)": 100 * worse / positive,
            "wrongly rejected (%)": 100 * rejected / positive,
            "counterexample, earned with exact schedules": earned[0],
            "counterexample, earned with printed schedules": earned[1],
        },
        tables=(
            Table(
                "Algorithm 2 at unit prices (f = 100)",
                ("T", "N", "E", "m", "room in a slot", "optimum of (27)", "as printed"),
                tuple(known),
            ),
            Table(
                "Random small cases with a positive payoff, by worker-slots per chunk",
                ("m", "cases", "suboptimal (%)", "wrongly rejected (%)"),
                tuple(
                    (m, n, 100 * bad / max(n, 1), 100 * none / max(n, 1))
                    for m, (n, bad, none) in wrong.items()
                ),
            ),
        ),
        counterexample=instance,
    )


def rejected_instance() -> AdmissionInstance:
    """Return the smallest instance known whose only job Algorithm 2 rejects although it is worth 100."""
    slots, chunks, epochs, chunk_time, capacity = PRINTED_CASES[2]
    return one_job(
        slots,
        chunks,
        epochs,
        chunk_time,
        capacity=capacity,
        origin="a worker trains 2.5 chunks in a slot, so 4 slots are enough for 10 chunks; Algorithm 2 hands "
        "out 2 a slot",
    )


def _check_cost_t(context: Context) -> Finding:
    rng = np.random.default_rng(context.seed)
    count = context.pick(60, 300, 2000)
    right = total = infeasible = 0
    for case in track(context, random_cases(rng, count)):
        for chunks in range(case.job.chunks + 1):
            found, least = printed_cost(case, 0, chunks), least_cost(case, 0, chunks)
            total += 1
            infeasible += least == math.inf
            right += found == least or abs(found - least) <= TIE * max(1.0, least)
    return Finding(
        holds_if(right == total),
        f"COST_t, line by line, agreed with enumeration in {right} of {total} slots and workloads, "
        f"{infeasible} of them infeasible: for a given number of workers the greedy deployment is the "
        "cheapest, and fewer workers never cost more or need more parameter servers. Zero demand, by which "
        "line 26 divides, has to count as no limit.",
        {"slots and workloads": total, "as by enumeration": right, "infeasible": infeasible},
    )


def _check_exact(context: Context) -> Finding:
    rng = np.random.default_rng(context.seed)
    count = context.pick(40, 400, 3000)
    right = positive = 0
    worst = 0.0
    for case in track(context, random_cases(rng, count)):
        found, best = payoff(case), milp_payoff(case)
        positive += best > TIE
        worst = max(worst, abs(found - best))
        right += abs(found - best) <= 1e-6 * case.job.priority
    return Finding(
        holds_if(right == count),
        f"The programme over worker-slots gave the optimum of (27), from HiGHS, in {right} of {count} random "
        f"small cases at random prices; {positive} payoffs were positive, and the largest difference was "
        f"{worst:.1e}.",
        {"cases": count, "as by HiGHS": right, "positive payoffs": positive, "largest difference": worst},
    )


def knapsack_case(sizes: np.ndarray, costs: np.ndarray, cover: int) -> Case:
    """Return a case of (27) whose least cost is that of items with these sizes that cover a demand.

    Slot j is item j: ``sizes[j]`` workers fit, and the one parameter server that any number of them needs
    costs ``costs[j]``. Workers cost 1 everywhere, W in all, which changes nothing. N is a power of ten, so
    that W = ``cover`` exactly.
    """
    chunks = 10 ** len(str(int(sizes.max())))
    job = one_job(
        len(sizes),
        chunks,
        1,
        cover / chunks,
        (2.0 * float(costs.sum() + cover + 1.0), 0.0, 0.0),
        bandwidths=(1.0, float(chunks)),
    ).jobs[0]
    ones = np.ones((len(sizes), 1), dtype=np.int64)
    return Case(job, Offer(sizes[:, None], ones.astype(float), ones, costs[:, None]))


def cheapest_cover(sizes: np.ndarray, costs: np.ndarray, cover: int) -> float:
    """Return the least cost of items whose sizes add up to at least ``cover``, by enumeration."""
    sets = np.array(list(product((0, 1), repeat=len(sizes))))
    return float((sets @ costs)[sets @ sizes >= cover].min())


def _check_theorem_3(context: Context) -> Finding:
    rng = np.random.default_rng(context.seed)
    count = context.pick(30, 150, 500)
    right = 0
    for _ in track(context, range(count)):
        items = int(rng.integers(2, 11))
        sizes, costs = rng.integers(1, 100, items), rng.integers(1, 100, items).astype(float)
        cover = int(rng.integers(1, sizes.sum() + 1))
        case = knapsack_case(sizes, costs, cover)
        plan = cheapest_schedule(case.job, case.offer)
        best = cheapest_cover(sizes, costs, cover)
        right += plan is not None and case.job.work == cover and abs(plan.cost - cover - best) <= TIE * best
    lines = []
    for digits in range(1, 5):
        chunks, slots, epochs = 10**digits, 10, 1
        lines.append(
            (chunks, digits, slots * digits, slots * (chunks * epochs) ** 2, slots * chunks * chunks)
        )
    return Finding(
        amended_if(False, right == count),
        "The time is polynomial in the values of N and E, not in the length of the job's description. And no "
        "algorithm does better unless P = NP: (27) contains the minimum knapsack (a slot is an item; "
        "workers cost the same everywhere, its one parameter server does not). On "
        f"{count} random knapsacks the optimum of (27) was that of enumeration in {right}. Ten times the "
        "numbers are one digit more to read and a hundred times the steps of Theorem 3.",
        {"random knapsacks": count, "optimum of (27) equals that of the knapsack": right},
        tables=(
            Table(
                "A job of N worker-slots in 10 slots",
                ("N", "digits of N", "digits of all item sizes", "T N^2 E^2 (Theorem 3)", "T W N (ours)"),
                tuple(lines),
            ),
        ),
    )


def two_slots() -> AdmissionInstance:
    """Return an instance whose first job needs two slots, and whose second never finishes."""
    both = one_job(2, 1, 2, 1.0).to_dict()
    endless = {**both["jobs"][0], "epochs": 3}
    return AdmissionInstance.from_dict({**both, "jobs": [both["jobs"][0], endless]})


def _check_completion(_context: Context) -> Finding:
    instance = two_slots()
    policy = Oasis(floor=False)
    play(policy, instance)
    rows = policy.plans[0].schedule.workers
    busy = np.bincount(rows[:, 0], weights=rows[:, 3], minlength=instance.setting.horizon + 1)[1:] > 0
    of_truth = 1 + np.flatnonzero(busy == busy.max())
    last, done = 1 + int(np.flatnonzero(busy)[-1]), int(policy.plans[0].completion)
    rejected = [i for i, mu in policy.payoffs.items() if mu == 0.0]
    return Finding(
        amended_if(of_truth.size == 1 and not rejected, last == done),
        "(8) is the argmax of a truth value, which every busy slot attains: for a job that runs in slots "
        f"{' and '.join(map(str, of_truth))} it names {of_truth.size} slots. The last busy slot, {last}, is "
        f"meant. It does not exist for rejected jobs ({len(rejected)} here), so (1) multiplies x_i = 0 by "
        "what is not defined. In the same way DP_COST calls itself for slots before a_i without end, and V "
        "in the proof of Theorem 3 is not defined.",
        {"slots that attain (8)": int(of_truth.size), "last busy slot": last, "rejected jobs": len(rejected)},
        counterexample=instance,
    )


CLAIMS = [
    Claim(
        "admission/theorem-1",
        "Theorem 1, Algorithm 2, (27)",
        "Algorithm 2 finds the best schedule of a job, an optimum of (27).",
        "The printed programme over chunks against the exact one over worker-slots: three cases by hand and "
        "random small ones at random prices; an instance on which OASiS loses its only job.",
        Verdict.FAILS,
        _check_theorem_1,
    ),
    Claim(
        "admission/cost-t",
        "Theorem 1, COST_t, (32)",
        "COST_t finds the cheapest way to do a workload in a slot, an optimum of (32).",
        "COST_t line by line against enumeration of all deployments in a slot.",
        Verdict.HOLDS,
        _check_cost_t,
    ),
    Claim(
        "admission/exact-schedule",
        "(27); our own",
        "The programme over worker-slots solves (27).",
        "Against a mixed-integer programme of (27), by HiGHS, on random small cases.",
        Verdict.HOLDS,
        _check_exact,
    ),
    Claim(
        "admission/theorem-3",
        "Theorem 3",
        "OASiS decides on a job in polynomial time, O(T N E (H + K) + T N^2 E^2).",
        "Minimum knapsacks as cases of (27), against enumeration; how the bound grows with the digits of N. "
        "As printed it fails; amended, the time is pseudo-polynomial.",
        Verdict.HOLDS_AMENDED,
        _check_theorem_3,
    ),
    Claim(
        "admission/completion-slot",
        "(8), Algorithm 2, Appendix D",
        "(8) defines the completion slot of every job.",
        "The slots that attain the printed argmax in a schedule of two slots, and what it says of a rejected "
        "job. Amended: the last busy slot of an accepted job.",
        Verdict.HOLDS_AMENDED,
        _check_completion,
    ),
]
