"""Claims about Algorithm 2 and what it solves: (8), (14), (27), (32), Theorems 1 and 3, and what mends it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np

from ....models.admission.instance import AdmissionInstance
from ....models.admission.jobs import Job
from ....models.admission.schedule import Offer, cheapest_schedule, printed_schedule
from ....online.admission.oasis import Oasis, OasisPrinted
from ...claim import Context, Finding, Register, Verdict, amended_if, finding, holds_if, table
from ...engine.kept import play
from ...experiments import seeds, track
from .cases import below, cluster, holds_unless, optimum, plain_job

claim = Register("admission")

TIE = 1e-9  # payoffs that differ by less, relative to the largest utility, are the same: rounding
CHUNK_TIMES = (0.1, 0.4, 0.7, 1.0, 1.5, 2.5)  # worker-slots per chunk of the random cases, m
BANDWIDTHS = ((1.0, 1.0), (1.0, 3.0), (0.1, 0.3), (2.0, 3.0))  # their b and B


class Case(NamedTuple):
    """A job and what the machines offer it: an input of Algorithm 2."""

    job: Job
    offer: Offer


def one_job(
    slots: int, chunks: int, epochs: int, m: float, room: float = 10.0, origin: str = "", **changes: Any
) -> AdmissionInstance:
    """Return an instance with a job of the first slot, worth 100 unless changed, and two machines."""
    job = plain_job(1.0, 1.0, chunks=chunks, epochs=epochs, minibatch_time=m, **changes)
    return cluster([job], room, room, horizon=slots, origin=origin or "given by hand")


PRINTED_CASES = ((2, 2, 1, 1.5, 10.0), (3, 2, 1, 2.5, 10.0), (4, 5, 2, 0.4, 1.0))
"""T, N, E, m and the workers that fit in a slot, of cases in which Algorithm 2 is wrong at unit prices."""


def unit_case(*given: Any) -> Case:
    """Return the case of :func:`one_job` in which a worker and its parameter server cost 1 each."""
    instance = one_job(*given)
    job, s = instance.jobs[0], instance.setting
    rooms = [np.tile(room, (s.horizon, 1)) for room in (s.worker_room(job), s.server_room(job))]
    price = np.ones((s.horizon, 1))
    return Case(job, Offer(rooms[0], price, rooms[1], price))


def random_cases(rng: np.random.Generator, count: int) -> Iterator[Case]:
    """Yield small cases: up to 4 slots, 2 machines of each kind, 5 chunks and 3 epochs."""
    for _ in range(count):
        slots, workers, servers, chunks, epochs = (int(rng.integers(1, most)) for most in (5, 3, 3, 6, 4))
        chunk_time, decay = float(rng.choice(CHUNK_TIMES)), float(rng.choice([0.0, 0.5, 2.0]))
        target, (b, wide) = float(rng.integers(0, 4)), BANDWIDTHS[int(rng.integers(4))]
        changes: dict[str, Any] = {"target": target, "worker_bandwidth": b, "server_bandwidth": wide}
        job = one_job(slots, chunks, epochs, chunk_time, worth=50.0, decay=decay, **changes).jobs[0]
        sides = []
        for machines in (workers, servers):
            sides.append(np.minimum(rng.integers(0, 5, (slots, machines)), chunks))
            sides.append(rng.integers(0, 20, (slots, machines)) / 4.0)
        yield Case(job, Offer(*sides))


def payoff(case: Case, *, printed: bool = False) -> float:
    """Return what Algorithm 2 returns as mu_i: the best payoff if positive, else 0."""
    plan = (printed_schedule if printed else cheapest_schedule)(*case)
    return 0.0 if plan is None else max(0.0, plan.payoff)


def least(cost: np.ndarray, highest: np.ndarray, rows: np.ndarray, low: Any, high: np.ndarray) -> float:
    """Return the least cost of whole numbers from 0 to their highest, rows of which lie within their ends."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    found = milp(
        cost,
        integrality=np.ones(len(cost)),
        bounds=Bounds(0, highest),
        constraints=LinearConstraint(rows, low, high),
        options={"mip_rel_gap": 0.0},
    )
    if found.status not in (0, 2):  # optimal, infeasible
        raise RuntimeError(f"milp: {found.message}")
    return math.inf if found.status == 2 else float(found.fun)


def milp_payoff(case: Case, *, whole: bool = False) -> float:
    """Return the optimum of (27), or 0 if that is more, from a mixed-integer program.

    Variables are workers and parameter servers by slot and machine, whether a slot is the deadline, and the
    chunks that it trains, which replace (2) if they are ``whole``. (6) and (7) stand as they are printed.
    """
    job, offer = case
    (slots, workers), servers = offer.worker_room.shape, offer.server_room.shape[1]
    y = np.arange(slots * workers).reshape(slots, workers)
    z = y.size + np.arange(slots * servers).reshape(slots, servers)
    u = y.size + z.size + np.arange(slots)
    d = u + slots
    rows = np.zeros((2 + 4 * slots, d[-1] + 1))
    lows, highs = np.full(len(rows), -math.inf), np.zeros(len(rows))
    rows[0, u], lows[0], highs[0] = 1.0, 1.0, 1.0
    rows[1, d if whole else y.ravel()] = 1.0
    lows[1], highs[1] = job.epochs * job.chunks if whole else job.work, math.inf  # (2)
    for s in range(slots):
        three, six, seven, train = rows[2 + 4 * s : 6 + 4 * s]
        three[y[s]], three[u[s:]] = 1.0, -float(job.chunks)
        six[y[s]], six[z[s]], highs[3 + 4 * s] = job.worker_bandwidth, -job.server_bandwidth, 1e-9
        seven[y[s]], seven[z[s]] = -1.0, 1.0
        train[y[s]], train[d[s]] = -1.0, float(job.chunk_time)
        highs[5 + 4 * s] = 1e-9 if whole else math.inf
    cost = [offer.worker_cost.ravel(), offer.server_cost.ravel(), -job.utilities(slots), np.zeros(slots)]
    most = [offer.worker_room.ravel(), offer.server_room.ravel(), np.ones(slots)]
    most.append(np.full(slots, job.epochs * job.chunks))
    return max(0.0, -least(np.concatenate(cost), np.concatenate(most), rows, lows, highs))


def printed_cost(case: Case, slot: int, chunks: int) -> float:
    """Return COST_t of Algorithm 2 (lines 21-41) for a number of chunks in a slot (from 0), line by line."""
    job, offer = case
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


def up_to(rooms: np.ndarray) -> list[tuple[int, ...]]:
    """Return all the ways to put some on each machine, as many as there is room for."""
    return list(product(*(range(int(room) + 1) for room in rooms)))


def least_cost(case: Case, slot: int, chunks: int) -> float:
    """Return the optimum of (32) by enumeration, infinite if there is none."""
    job, offer = case
    best = math.inf
    for y, z in product(up_to(offer.worker_room[slot]), up_to(offer.server_room[slot])):
        enough = chunks * job.chunk_time <= sum(y) <= job.chunks
        if enough and job.servers_for[sum(y)] <= sum(z) <= sum(y):
            best = min(best, float(offer.worker_cost[slot] @ y + offer.server_cost[slot] @ z))
    return best


def printed_program(case: Case) -> tuple[np.ndarray, int, int]:
    """Return what DP_COST (lines 2-20) costs by deadline, and how often its loops and those of COST_t ran.

    Line by line; before the arrival no work costs nothing.
    """
    slots, chunks = len(case.offer.worker_room), case.job.epochs * case.job.chunks
    before = np.full(chunks + 1, math.inf)
    before[0], loops, costs = 0.0, 0, np.zeros(slots)
    for slot in range(slots):
        here = np.array([printed_cost(case, slot, d) for d in range(chunks + 1)])
        now = np.empty_like(before)
        for left in range(chunks + 1):
            tried = here[: left + 1] + before[left::-1]
            loops += len(tried)
            now[left] = tried.min()
        before, costs[slot] = now, now[chunks]
    machines = case.offer.worker_room.shape[1] + case.offer.server_room.shape[1]
    return costs, loops, slots * (chunks + 1) * machines


def same(one: float, other: float) -> bool:
    """Return whether payoffs, of a job worth up to 100, are the same but for tolerances of solvers."""
    return abs(one - other) <= 1e-4


@claim(
    "theorem-1",
    "Theorem 1, Algorithm 2, (27), Appendix B",
    Verdict.HOLDS_AMENDED,
    choices=("whether a slot trains whole chunks, as Sec. IV.C assumes, or (2) counts parts",),
)
def theorem_1(context: Context) -> Finding:
    """Algorithm 2 finds the best schedule of a job, an optimum of (27).

    Algorithm 2, compiled and line by line, against the exact program over worker-slots, and against a
    mixed-integer program of (27) in which every slot trains whole chunks, on random small cases.
    """
    positive = worse = rejected = divided = 0
    as_whole, checked = True, context.pick(30, 60, 1000)
    cases = list(random_cases(context.rng(), context.pick(250, 600, 10000)))
    for k, case in track(context, enumerate(cases)):
        exact, printed = payoff(case), payoff(case, printed=True)
        if k < checked:
            costs, _, _ = printed_program(case)
            lined = max(0.0, float((case.job.utilities(len(costs)) - costs).max()))
            as_whole &= same(printed, lined) and same(printed, milp_payoff(case, whole=True))
        if exact > TIE:
            missed = printed < exact - TIE * case.job.priority
            positive, worse, rejected = positive + 1, worse + missed, rejected + (printed <= 0.0)
            divided += missed and (1.0 / float(case.job.chunk_time)).is_integer()
    plans = [(given, unit_case(*given)) for given in PRINTED_CASES]
    return finding(
        amended_if(worse == 0, as_whole and divided == 0, Verdict.UNDETERMINED),
        "Algorithm 2 is optimal if each slot trains whole chunks; for (27) as printed it misses the best "
        "schedule and rejects jobs.",
        {
            "random cases with a positive payoff": positive,
            "suboptimal (%)": 100 * worse / positive,
            "wrongly rejected (%)": 100 * rejected / positive,
            "suboptimal where 1 / m is whole": divided,
            "cases as by HiGHS with whole chunks": checked if as_whole else "not all",
        },
        table(
            "Algorithm 2 at unit prices (f = 100)",
            "T | N | E | m | room in a slot | optimum of (27) | as printed",
            ((*given, payoff(c), payoff(c, printed=True) or "infeasible") for given, c in plans),
        ),
        counterexample=rejected_instance(),
        assumes="The amendment: a slot trains a whole number of chunks, as Sec. IV.C assumes before "
        "Algorithm 2; in (2) and (27) parts of chunks count as well.",
        remark="DP_COST has no base case before the arrival; ours is that no work costs nothing.",
    )


def rejected_instance() -> AdmissionInstance:
    """Return the smallest instance known whose only job Algorithm 2 rejects although it is worth 100."""
    text = "a worker trains 2.5 chunks in a slot, 4 slots are enough for 10; Algorithm 2 hands out 2 a slot"
    return one_job(*PRINTED_CASES[2], origin=text)


def small_chunks() -> AdmissionInstance:
    """Return an instance whose only job Algorithm 2 rejects although a chunk takes 3 % of a slot."""
    text = "133 chunks of 0.03 slots are done by one worker in 4 slots; Algorithm 2 hands out 33 a slot"
    return one_job(4, 133, 1, 0.03, 1.0, origin=text)


def dear_chunks() -> AdmissionInstance:
    """Return two jobs of which Algorithm 2 rejects the second, although 4 of 10 slots are enough for it."""
    second = plain_job(3.0, 3.0, 100.0, 1.0, 3.0, chunks=133, minibatch_time=0.03)
    text = "133 chunks of 0.03 slots, which soon are worth less, beside a job of ten slots"
    return cluster([plain_job(7.0, 7.0, epochs=10), second], horizon=10, origin=text)


def has_slack(case: Case) -> bool:
    """Return whether the best schedule, if any, has time for all chunks as whole chunks per slot."""
    plan, job = cheapest_schedule(*case), case.job
    busy = [] if plan is None else np.bincount(*plan.schedule.workers[:, [0, 3]].T).tolist()
    return sum(int(y) // job.chunk_time for y in busy) >= job.epochs * job.chunks


@claim("whole-chunks", "Sec. IV.C, before (32)", Verdict.HOLDS_AMENDED)
def whole_chunks(context: Context) -> Finding:
    """Where a chunk takes much less than a slot, one may safely assume that a worker trains a whole number of
    chunks in each slot.

    What OASiS earns with printed and with exact schedules of jobs of which one worker fits, with as many
    chunks as there is time for, and as many as whole chunks per slot leave time for; the random cases of
    theorem-1, by whether the best schedule leaves time for whole chunks.
    """
    slack = "with slack"
    worse: dict[str, list[bool]] = {slack: [], "without": []}
    for case in track(context, random_cases(context.rng(), context.pick(250, 600, 10000))):
        if (best := payoff(case)) > TIE:
            missed = payoff(case, printed=True) < best - TIE * case.job.priority
            worse[slack if has_slack(case) else "without"].append(missed)
    jobs = [
        (f"{100 * m:g} % of a slot, 4 slots", chunks, one_job(4, chunks, 1, m, 1.0))
        for m in (0.07, 0.03, 0.013)
        for chunks in (math.floor(4.0 / m), 4 * math.floor(1.0 / m))
    ]
    lines: list[tuple[str, int, float, float]] = []
    for name, chunks, made in (*jobs, ("3 % of a slot, 10 slots, beside another job", 133, dear_chunks())):
        totals = [play(policy(floor=False), made).total for policy in (Oasis, OasisPrinted)]
        lines.append((name, chunks, totals[0], totals[1]))
    printed, amended = (all(0.0 < line[2] == line[3] for line in lines[at::2]) for at in (0, 1))
    return finding(
        amended_if(printed, amended and {*worse[slack]} == {False}, Verdict.UNDETERMINED),
        "Less than a chunk per slot is lost; a job whose best schedule has no such slack may do worse, or be "
        "rejected.",
        {f"random cases {name}": len(some) for name, some in worse.items()}
        | {f"worse of those {name}": sum(some) for name, some in worse.items()},
        table(
            "Jobs of which one worker fits, worth 100 each",
            "a chunk | chunks | earned with exact schedules | with printed ones",
            lines,
        ),
        counterexample=small_chunks(),
        assumes="The amendment: the best schedule has time for all chunks as whole chunks per slot, sum_t "
        "floor(y(t) / m) >= E N, y(t) being its workers in slot t.",
        proof="If slot t trains at most floor(y(t) / m) chunks, line 24 asks for at most y(t) workers.",
    )


@claim("cost-t", "Theorem 1, COST_t, (32)", Verdict.HOLDS)
def cost_t(context: Context) -> Finding:
    """COST_t finds the cheapest way to do a workload in a slot, an optimum of (32).

    COST_t line by line against enumeration of all deployments in a slot.
    """
    right = total = infeasible = 0
    for case in track(context, random_cases(context.rng(), context.pick(40, 150, 1000))):
        for chunks in range(case.job.chunks + 1):
            found, best = printed_cost(case, 0, chunks), least_cost(case, 0, chunks)
            total += 1
            infeasible += best == math.inf
            right += found == best or abs(found - best) <= TIE * max(1.0, best)
    return finding(
        holds_if(right == total, Verdict.UNDETERMINED),
        "The greedy deployment of COST_t was the cheapest in every slot and for every workload that we "
        "enumerated.",
        {"slots and workloads": total, "as by enumeration": right, "infeasible": infeasible},
        assumes="Zero demand, by which line 26 divides, counts as no limit.",
    )


def part_of_bound(case: Case) -> float:
    """Return the steps of Algorithm 2 over the bound of Theorem 3."""
    (slots, workers), servers = case.offer.worker_room.shape, case.offer.server_room.shape[1]
    chunks, (_, loops, visits) = case.job.chunks * case.job.epochs, printed_program(case)
    return (loops + visits) / (slots * chunks * (workers + servers) + slots * chunks**2)


MOST_PART = 3.0  # of the printed bound: with D = N E the loops are T (D + 1) (D + 2) / 2, at most 3 T D^2


def knapsack_case(sizes: np.ndarray, costs: np.ndarray, cover: int) -> Case:
    """Return a case of (27) whose least cost is that of items with these sizes that cover a demand.

    Slot j is item j: ``sizes[j]`` workers fit, at 1 each, and their parameter server costs ``costs[j]``.
    N is a power of ten, so that W = ``cover`` exactly.
    """
    chunks = 10 ** len(str(int(sizes.max())))
    worth = float(costs.sum() + cover + 1.0)
    job = one_job(len(sizes), chunks, 1, cover / chunks, worth=worth, server_bandwidth=chunks).jobs[0]
    ones = np.ones((len(sizes), 1), dtype=np.int64)
    return Case(job, Offer(sizes[:, None], ones.astype(float), ones, costs[:, None]))


def cheapest_cover(sizes: np.ndarray, costs: np.ndarray, cover: int) -> float:
    """Return the least cost of items whose sizes add up to at least ``cover``, by enumeration."""
    sets = np.array(list(product((0, 1), repeat=len(sizes))))
    return float((sets @ costs)[sets @ sizes >= cover].min())


@claim("theorem-3", "Theorem 3, Appendix D", Verdict.HOLDS_AMENDED)
def theorem_3(context: Context) -> Finding:
    """OASiS decides on a job in polynomial time, O(T N E (H + K) + T N^2 E^2).

    Loops of Algorithm 2, counted, against the bound and against the digits of N; minimum knapsacks as cases
    of (27), against enumeration.
    """
    rng, count = context.rng(), context.pick(20, 60, 300)
    right = sum(_as_knapsack(rng) for _ in track(context, range(count)))
    most = max(map(part_of_bound, random_cases(rng, count)))
    sizes = [(2**bits - 1, bits) for bits in range(3, context.pick(7, 9, 10))]
    lines = [(n, bits, printed_program(unit_case(2, n, 1, 1.0, 2.0**bits))[1]) for n, bits in sizes]
    doubled = all(after[2] >= 2 * before[2] for before, after in pairwise(lines))
    within = most <= MOST_PART and right == count
    return finding(
        amended_if(within and not doubled, within, Verdict.UNDETERMINED),
        "For a fixed number of resources, steps are as printed, but polynomial in the values of N and E: a "
        "binary digit more quadruples them.",
        {
            "random cases": count,
            "most steps / printed bound": most,
            "random knapsacks": count,
            "optimum of (27) equals that of the knapsack": right,
        },
        table("Loops of DP_COST, T = 2, E = 1", "N | binary digits of N | loops", lines),
        assumes="The amendment: pseudo-polynomial, in the values of N and E instead of their lengths, and "
        "for a fixed number of resources: loops over them are not counted, here or in the theorem (Appendix "
        "D has a factor V, not defined, that it leaves out).",
        remark="No algorithm does better unless P = NP: (27) contains the minimum knapsack (a slot is an "
        "item; workers cost the same everywhere, its one parameter server does not). The time for sorting, "
        "which the theorem leaves out, is within its bound only where N E is at least log H and log K.",
    )


def _as_knapsack(rng: np.random.Generator) -> bool:
    """Return whether (27) finds the optimum of a random minimum knapsack."""
    items = int(rng.integers(2, 11))
    sizes, costs = rng.integers(1, 100, items), rng.integers(1, 100, items).astype(float)
    cover = int(rng.integers(1, sizes.sum() + 1))
    case = knapsack_case(sizes, costs, cover)
    plan, best = cheapest_schedule(*case), cheapest_cover(sizes, costs, cover)
    return plan is not None and case.job.work == cover and abs(plan.cost - cover - best) <= TIE * best


@claim("completion-slot", "(8), Algorithm 2, Appendix B", Verdict.HOLDS_AMENDED)
def completion_slot(_context: Context) -> Finding:
    """(8) defines the completion slot of every job.

    The slots that attain the printed argmax in a schedule of two slots, and what it says of a rejected job.
    """
    jobs = [plain_job(1.0, 1.0, epochs=epochs) for epochs in (2, 3)]  # the second never finishes
    instance, policy = cluster(jobs, horizon=2), Oasis(floor=False)
    play(policy, instance)
    busy = np.zeros((len(jobs), instance.setting.horizon), dtype=bool)  # whether y > 0, by job and slot
    for i, plan in policy.plans.items():
        busy[i, plan.schedule.workers[:, 0] - 1] = True
    named = [np.flatnonzero(row == row.max()) + 1 for row in busy]
    last, one = int(named[0][-1]), all(len(slots) == 1 for slots in named)
    return finding(
        amended_if(one, last == policy.plans[0].completion, Verdict.UNDETERMINED),
        "(8) is the argmax of a truth value: it names every busy slot, for a rejected job every slot; the "
        "last busy one is meant.",
        {"slots that attain (8)": len(named[0]), "last busy slot": last, "if rejected": len(named[1])},
        counterexample=instance,
        assumes="The amendment: the last busy slot of an accepted job; a rejected one earns nothing.",
    )


def by_schedules(instance: AdmissionInstance) -> float:
    """Return the optimum of (14), by HiGHS, over all schedules of all jobs."""
    s, columns, worth = instance.setting, [], []
    for job in instance.jobs:
        allowed = [
            (y, z)
            for y, z in product(up_to(s.worker_room(job)), up_to(s.server_room(job)))
            if sum(y) <= job.chunks and job.servers_for[sum(y)] <= sum(z) <= sum(y)  # (3), (6), (7)
        ]
        before = job.arrival - 1
        for chosen in product(allowed, repeat=s.horizon - before):
            workers, servers = (np.pad(side, ((before, 0), (0, 0))) for side in zip(*chosen, strict=True))
            if workers.sum() >= job.work:
                taken = workers[..., None] * job.worker_demand, servers[..., None] * job.server_demand
                columns.append([*taken[0].ravel(), *taken[1].ravel(), *np.eye(len(instance.jobs))[job.index]])
                worth.append(job.utility(np.flatnonzero(workers.sum(axis=1))[-1] - before))
    if not worth:
        return 0.0
    capacity = [np.tile(c.ravel(), s.horizon) for c in (s.worker_servers, s.parameter_servers)]
    limit = np.concatenate([*capacity, np.ones(len(instance.jobs))]) + 1e-9
    return -least(-np.array(worth), np.ones(len(worth)), np.array(columns).T, -math.inf, limit)


def few_jobs(seed: int) -> AdmissionInstance:
    """Return a random instance with so few schedules that all can be written down: 3 jobs, 2 slots."""
    rng = np.random.default_rng(seed)
    jobs = []
    for arrival in np.sort(rng.integers(1, 3, 3)):
        chunks, time = int(rng.integers(1, 3)), float(rng.choice([0.5, 1.0, 1.3]))
        wide, demands = float(rng.choice([1.0, 2.0])), (rng.integers(1, 4, 2), rng.integers(1, 4, 2))
        some = {"arrival": int(arrival), "chunks": chunks, "minibatch_time": time, "server_bandwidth": wide}
        jobs.append(plain_job(*demands, float(rng.integers(1, 100)) / 2.0, 1.0, **some))
    machines = rng.integers(2, 5, (2, 2)), rng.integers(2, 5, (1, 2))
    return cluster(jobs, *machines, horizon=2, origin=f"random instance of 3 jobs and 2 slots, seed {seed}")


@claim("equivalence", "(1), (14), Sec. IV.A", Verdict.HOLDS)
def equivalence(context: Context) -> Finding:
    """(1) and (14) are equivalent: their feasible solutions correspond, with the same objective.

    Optima of (14), over all schedules of each job, against those of (1), on small random instances.
    """
    made = map(few_jobs, track(context, seeds(context, 5, 20, 200)))
    found = [(one, by_schedules(one), optimum(one)[0]) for one in made]
    wrong = [one for one, value, best in found if not (below(value, best) and below(best, value))]
    values = [value for _, value, _ in found]
    return holds_unless(
        wrong,
        bool(values),
        "The optimum over all schedules of all jobs was that of (1) on every random instance.",
        {"instances": len(values), "of different optima": len(wrong), "mean optimum": float(np.mean(values))},
        assumes="(8) is read as the last busy slot.",
    )


@claim("exact-schedule", "(27)", Verdict.HOLDS, ours=True)
def exact_schedule(context: Context) -> Finding:
    """The program over worker-slots solves (27).

    Against a mixed-integer program of (27), by HiGHS, on random small cases.
    """
    count = context.pick(30, 100, 2000)
    cases = track(context, random_cases(context.rng(), count))
    found = np.array([(payoff(case), milp_payoff(case)) for case in cases])
    right = sum(same(one, other) for one, other in found)
    return finding(
        holds_if(right == count, Verdict.UNDETERMINED),
        "The program over worker-slots gave the optimum of (27) in every random small case.",
        {"cases": count, "as by HiGHS": right, "positive payoffs": int((found[:, 1] > 1e-6).sum())},
    )
