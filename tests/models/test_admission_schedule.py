"""The cheapest schedule of a job at given prices, against brute force, an integer program and a plain one."""

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from clairvoyant.models.admission import kernels
from clairvoyant.models.admission.jobs import Job, exact
from clairvoyant.models.admission.schedule import (
    Offer,
    Plan,
    cheapest_schedule,
    printed_schedule,
)
from clairvoyant.models.base import InputError

CLOSE = 1e-9


def job_of(**fields: Any) -> Job:
    """Return a job of two worker-slots that is worth 100 whenever it is done, with some fields changed."""
    plain: dict[str, Any] = {
        "index": 0,
        "arrival": 1,
        "epochs": 1,
        "chunks": 2,
        "minibatches": 1,
        "minibatch_time": 1.0,
        "gradient_size": 0.0,
        "worker_bandwidth": 1.0,
        "server_bandwidth": 1.0,
        "worker_demand": np.ones(1),
        "server_demand": np.ones(1),
        "priority": 200.0,
        "decay": 0.0,
        "target": 1.0,
    }
    return Job(**{**plain, **fields})


@st.composite
def jobs(draw: st.DrawFn, max_chunks: int = 4) -> Job:
    bandwidths = st.sampled_from([(1.0, 1.0), (1.0, 3.0), (0.1, 0.3), (2.0, 3.0), (2.0, 7.0), (3.0, 2.0)])
    b, capacity = draw(bandwidths)
    return job_of(
        arrival=draw(st.integers(1, 3)),
        epochs=draw(st.integers(1, 2)),
        chunks=draw(st.integers(1, max_chunks)),
        minibatch_time=draw(st.sampled_from([0.1, 0.4, 0.5, 1.0, 1.5, 2.5])),
        worker_bandwidth=b,
        server_bandwidth=capacity,
        priority=draw(st.sampled_from([1.0, 10.0, 100.0])),
        decay=draw(st.sampled_from([0.0, 0.5, 5.0])),
        target=draw(st.sampled_from([0.0, 1.0, 3.0])),
    )


@st.composite
def offers(draw: st.DrawFn, max_slots: int = 3, max_machines: int = 2, max_room: int = 3) -> Offer:
    slots = draw(st.integers(1, max_slots))
    costs = st.sampled_from([0.0, 1.0, 2.0]) | st.floats(0.0, 20.0)
    arrays = []
    for machines in (draw(st.integers(0, max_machines)), draw(st.integers(0, max_machines))):
        for values, kind in ((st.integers(0, max_room), np.int64), (costs, np.float64)):
            rows = st.lists(values, min_size=slots * machines, max_size=slots * machines)
            arrays.append(np.array(draw(rows), dtype=kind).reshape(slots, machines))
    return Offer(*arrays)


def random_offer(rng: np.random.Generator, slots: int, machines: int, costs: str, room: int) -> Offer:
    """Return an offer whose costs are "alike", a few "whole" numbers, or "any"."""
    sides = []
    for _ in range(2):
        shape = (slots, machines)
        cost = {
            "alike": np.ones(shape),
            "whole": rng.integers(1, 4, shape) * 1.0,
            "any": rng.exponential(1.0, shape),
        }[costs]
        sides += [rng.integers(0, room + 1, shape) if costs != "alike" else np.full(shape, room), cost]
    return Offer(*sides)


def arrays(job: Job, offer: Offer) -> tuple[np.ndarray, ...]:
    return offer.worker_room, offer.worker_cost, offer.server_room, offer.server_cost, job.servers_for


def best_counts(job: Job, offer: Offer) -> Any:
    ratio = job.worker_bandwidth / job.server_bandwidth * (1.0 - 1e-12)
    utilities = job.utilities(job.arrival + len(offer.worker_room) - 1)
    return kernels.best_counts(arrays(job, offer), ratio, job.work, utilities, -np.inf)


def enough(job: Job, y: int, z: int) -> bool:
    """Tell whether z parameter servers are as many as y workers need and may have: (6) and (7)."""
    return exact(job.worker_bandwidth) * y <= exact(job.server_bandwidth) * z and z <= y <= job.chunks


def every_slot_cost(job: Job, offer: Offer) -> list[dict[int, float]]:
    """Return by slot the least cost of y workers, by trying everything on all machines."""
    result = []
    for s in range(len(offer.worker_room)):
        least: dict[int, float] = {}
        for ys in itertools.product(*(range(n + 1) for n in offer.worker_room[s])):
            for zs in itertools.product(*(range(n + 1) for n in offer.server_room[s])):
                if enough(job, sum(ys), sum(zs)):
                    cost = float(ys @ offer.worker_cost[s] + zs @ offer.server_cost[s])
                    least[sum(ys)] = min(cost, least.get(sum(ys), np.inf))
        result.append(least)
    return result


def brute_costs(job: Job, offer: Offer) -> np.ndarray:
    """Return the least cost by every deadline, by trying everything."""
    costs, done = [], {0: 0.0}
    for least in every_slot_cost(job, offer):
        reached: dict[int, float] = {}
        for (w, before), (y, cost) in itertools.product(done.items(), least.items()):
            total = min(w + y, job.work)
            reached[total] = min(before + cost, reached.get(total, np.inf))
        done = reached
        costs.append(done.get(job.work, np.inf))
    return np.array(costs)


def plain_costs(job: Job, offer: Offer) -> np.ndarray:
    """Return the least cost by every deadline from the textbook program, without the package's kernels."""
    best, costs = np.full(job.work + 1, np.inf), []
    best[0] = 0.0
    for s in range(len(offer.worker_room)):
        by_number = {}
        for side, (room, cost) in enumerate(
            ((offer.worker_room[s], offer.worker_cost[s]), (offer.server_room[s], offer.server_cost[s]))
        ):
            units = np.sort(np.repeat(cost, room))
            by_number[side] = np.concatenate([[0.0], np.cumsum(units)])
        before = best.copy()
        for y in range(1, min(len(by_number[0]) - 1, job.chunks, job.work) + 1):
            z = int(job.servers_for[y])
            if z < len(by_number[1]):
                best[y:] = np.minimum(best[y:], before[:-y] + by_number[0][y] + by_number[1][z])
        costs.append(best[-1])
    return np.array(costs)


def payoffs(job: Job, costs: np.ndarray) -> np.ndarray:
    result: np.ndarray = job.utilities(job.arrival + len(costs) - 1) - costs
    return result


def by_program(job: Job, offer: Offer) -> float:
    """Return the largest payoff (27) by HiGHS, minus infinity if the job cannot finish."""
    slots, machines = offer.worker_room.shape
    others = offer.server_room.shape[1]
    ny, nz = slots * machines, slots * others
    cost = np.concatenate(
        [offer.worker_cost.ravel(), offer.server_cost.ravel(), -job.utilities(job.arrival + slots - 1)]
    )
    upper = np.concatenate([offer.worker_room.ravel(), offer.server_room.ravel(), np.ones(slots)])
    rows: list[np.ndarray] = []
    lower: list[float] = []

    def at_least(row: np.ndarray, value: float) -> None:
        rows.append(row)
        lower.append(value)

    one = np.zeros(len(cost))
    one[ny + nz :] = 1.0
    at_least(-one, -1.0)
    at_least(one, 1.0)  # one deadline
    work = np.zeros(len(cost))
    work[:ny] = 1.0
    at_least(work, job.work)
    ratio = exact(job.worker_bandwidth) / exact(job.server_bandwidth)
    for s in range(slots):
        y, z, open_ = (np.zeros(len(cost)) for _ in range(3))
        y[s * machines : (s + 1) * machines] = 1.0
        z[ny + s * others : ny + (s + 1) * others] = 1.0
        open_[ny + nz + s :] = 1.0
        at_least(job.chunks * open_ - y, 0.0)
        at_least(ratio.denominator * z - ratio.numerator * y, 0.0)
        at_least(y - z, 0.0)
    found = milp(
        cost,
        constraints=LinearConstraint(np.array(rows), np.array(lower), np.inf),
        integrality=np.ones(len(cost)),
        bounds=Bounds(0.0, upper),
        # The presolve of HiGHS calls some of these programs infeasible that are not.
        options={"mip_rel_gap": 0.0, "presolve": False},
    )
    return -float(found.fun) if found.success else -np.inf


def check_plan(job: Job, offer: Offer, plan: Plan, spare: bool = False) -> None:
    """Assert that a plan keeps to (2)-(7), and that its numbers are those of its schedule.

    Where workers may be ``spare``, more of them may run than needed, and longer.
    """
    y, z = np.zeros_like(offer.worker_room), np.zeros_like(offer.server_room)
    for count, rows in ((y, plan.schedule.workers), (z, plan.schedule.servers)):
        assert (rows[:, 1] == job.index).all()
        count[rows[:, 0] - job.arrival, rows[:, 2]] = rows[:, 3]
    assert (y <= offer.worker_room).all()
    assert (z <= offer.server_room).all()
    assert all(enough(job, int(a), int(b)) for a, b in zip(y.sum(axis=1), z.sum(axis=1), strict=True))
    done = np.cumsum(y.sum(axis=1))
    assert done[-1] == job.work or (spare and done[-1] > job.work)
    delay = int(np.flatnonzero(y.any(axis=1))[-1])
    assert plan.completion == job.arrival + delay
    assert spare or delay == np.argmax(done >= job.work)
    cost = float((y * offer.worker_cost).sum() + (z * offer.server_cost).sum())
    assert plan.cost == pytest.approx(cost, rel=CLOSE, abs=CLOSE)
    assert plan.payoff == pytest.approx(job.utility(delay) - cost, rel=CLOSE, abs=CLOSE)


def check_best(job: Job, offer: Offer, costs: np.ndarray) -> None:
    """Assert that the best plan is as good as the costs by deadline allow, and that ``least`` is kept to."""
    plan = cheapest_schedule(job, offer)
    best = float(payoffs(job, costs).max())
    if best == -np.inf:
        assert plan is None
        assert printed_schedule(job, offer) is None
        return
    assert plan is not None
    check_plan(job, offer, plan)
    assert plan.payoff == pytest.approx(best, rel=CLOSE, abs=CLOSE)
    for least in (plan.payoff - 0.1, plan.payoff + 0.1):
        other = cheapest_schedule(job, offer, least=least)
        assert (other is None) == (least > plan.payoff)
        assert other is None or other.payoff == pytest.approx(best, rel=CLOSE, abs=CLOSE)
    printed = printed_schedule(job, offer)
    if printed is not None:
        check_plan(job, offer, printed, spare=True)
        assert printed.payoff <= plan.payoff + CLOSE


@settings(deadline=None, max_examples=100)
@given(jobs(), offers())
def test_brute_force_finds_the_same_costs_and_the_same_payoff(job: Job, offer: Offer) -> None:
    check_best(job, offer, brute_costs(job, offer))


@settings(deadline=None, max_examples=40)
@given(jobs(max_chunks=8), offers(max_slots=6, max_machines=4, max_room=4))
def test_an_integer_program_finds_the_same_payoff(job: Job, offer: Offer) -> None:
    plan = cheapest_schedule(job, offer)
    found = by_program(job, offer)
    if plan is None:
        assert found == -np.inf
    else:
        assert found == pytest.approx(plan.payoff, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("costs", ["alike", "whole", "any"])
@pytest.mark.parametrize("decay", [0.0, 0.02, 0.5])
def test_the_plain_programme_finds_the_same_payoff_on_larger_offers(costs: str, decay: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(15):
        slots, chunks = int(rng.integers(10, 40)), int(rng.integers(5, 30))
        offer = random_offer(rng, slots, 6, costs, 4)
        job = job_of(
            chunks=chunks,
            minibatch_time=float(round(rng.uniform(0.3, 0.6) * slots, 2)),
            server_bandwidth=float(rng.choice([1.0, 2.3, 5.0, 9.0])),
            priority=float(rng.uniform(1.0, 4.0) * chunks * slots),
            decay=decay,
            target=float(rng.integers(1, slots)),
        )
        check_best(job, offer, plain_costs(job, offer))


@pytest.mark.parametrize(
    ("slots", "chunks", "b", "work", "decay", "way"),
    [
        (60, 33, 0.46, 902, 0.01, "bound"),
        (60, 47, 0.93, 1907, 0.3, "bound"),
        (60, 20, 0.21, 640, 0.0, "deviations"),
        (40, 50, 1.0, 1001, 0.0, "deviations"),
        (20, 89, 0.128, 1241, 0.0, "all worker-slots"),
        (45, 96, 0.9, 3937, 0.3, "all worker-slots"),
        (59, 65, 0.673, 835, 0.0, "all worker-slots"),
    ],
)
def test_with_all_costs_alike_the_largest_payoff_is_found(
    slots: int, chunks: int, b: float, work: int, decay: float, way: str
) -> None:
    rest = {"priority": 3.0 * chunks * slots, "decay": decay, "target": 20.0}
    job = job_of(chunks=chunks, minibatch_time=round((work - 0.5) / chunks, 6), worker_bandwidth=b, **rest)
    assert job.work == work
    rooms, ones = np.full((slots, 12), 8), np.ones((slots, 12))
    offer = Offer(rooms, ones, rooms, ones)
    expected = plain_costs(job, offer)
    check_best(job, offer, expected)
    payoff, cost, counts, tries, full = best_counts(job, offer)
    assert payoff == pytest.approx(payoffs(job, expected).max(), rel=CLOSE)
    assert counts.sum() == work
    assert payoff + cost == pytest.approx(job.utility(len(np.trim_zeros(counts, "b")) - 1))
    assert way == ("all worker-slots" if full else "deviations" if tries else "bound")


@settings(deadline=None, max_examples=60)
@given(jobs(max_chunks=8), offers(max_slots=6, max_machines=4))
def test_the_programme_over_all_worker_slots_finds_the_same_payoff(job: Job, offer: Offer) -> None:
    curves, limits = kernels.slot_curves(arrays(job, offer))
    costs = plain_costs(job, offer)
    able = np.flatnonzero(np.isfinite(costs))
    if not able.size:
        return
    utilities = job.utilities(job.arrival + len(costs) - 1)
    for first in {int(able[0]), int(able[-1])}:
        last = int(able[-1])
        counts = kernels.all_counts(curves, limits, job.work, first, last, utilities)
        assert counts.sum() == job.work
        spent = sum(curves[s, y] for s, y in enumerate(counts))
        best = (utilities - costs)[first : last + 1].max()
        assert utilities[len(counts) - 1] - spent <= best + CLOSE
        assert job.utility(len(np.trim_zeros(counts, "b")) - 1) - spent >= best - CLOSE


@pytest.mark.parametrize(
    ("slots", "chunks", "epochs", "time", "room", "printed", "exactly"),
    [(2, 2, 1, 1.5, 10, 92.0, 94.0), (3, 2, 1, 2.5, 10, None, 90.0), (4, 5, 2, 0.4, 1, None, 92.0)],
)
def test_the_printed_program_is_not_optimal(
    slots: int, chunks: int, epochs: int, time: float, room: int, printed: float | None, exactly: float
) -> None:
    job = job_of(chunks=chunks, epochs=epochs, minibatch_time=time)
    rooms, costs = np.full((slots, 1), min(room, chunks)), np.ones((slots, 1))
    offer = Offer(rooms, costs, rooms, costs)
    best, found = cheapest_schedule(job, offer), printed_schedule(job, offer)
    assert best is not None
    assert best.payoff == exactly
    assert (None if found is None else found.payoff) == printed


def test_the_printed_program_pays_for_workers_that_have_nothing_left_to_do() -> None:
    """Two worker-slots are enough, but in a slot with one worker only two chunks of five are handed out."""
    job = job_of(chunks=5, epochs=1, minibatch_time=0.4, decay=1.0, target=2.0)
    rooms = np.ones((5, 1), dtype=np.int64)
    offer = Offer(rooms, np.ones((5, 1)), rooms, np.zeros((5, 1)))
    plan, exact = printed_schedule(job, offer), cheapest_schedule(job, offer)
    assert plan is not None
    assert exact is not None
    assert (job.work, exact.completion, exact.cost) == (2, 2, 2.0)
    assert (plan.completion, plan.cost) == (3, 3.0)
    assert plan.payoff == job.utility(2) - 3.0
    check_plan(job, offer, plan, spare=True)


def test_the_printed_program_refuses_a_table_that_is_too_large() -> None:
    job = job_of(epochs=10**9, minibatch_time=1e-9)
    rooms = np.ones((5, 1), dtype=np.int64)
    offer = Offer(rooms, np.ones((5, 1)), rooms, np.ones((5, 1)))
    with pytest.raises(InputError, match=r"jobs\[0\]\.epochs: 1000000000"):
        printed_schedule(job, offer)
    assert cheapest_schedule(job, offer) is not None


def test_decimals_are_exact() -> None:
    job = job_of(chunks=3, epochs=10, minibatch_time=0.1, worker_bandwidth=0.1, server_bandwidth=0.3)
    offer = Offer(np.array([[3]]), np.array([[1.0]]), np.array([[1]]), np.array([[1.0]]))
    plan = cheapest_schedule(job, offer)
    assert plan is not None
    assert plan.cost == 4.0  # three workers and one parameter server
    assert plan.schedule.servers.tolist() == [[1, 0, 0, 1]]


def best_payoff(job: Job, offer: Offer) -> float:
    """Return the payoff of the best schedule, minus infinity if there is none."""
    plan = cheapest_schedule(job, offer)
    return -np.inf if plan is None else plan.payoff


@settings(deadline=None, max_examples=40)
@given(jobs(), offers(), st.data())
def test_payoffs_fall_with_prices_and_rise_with_room(job: Job, offer: Offer, data: st.DataObject) -> None:
    payoff = best_payoff(job, offer)
    for name in ("worker_cost", "server_cost", "worker_room", "server_room"):
        array = getattr(offer, name)
        if array.size:
            changed = array.copy()
            changed[
                data.draw(st.integers(0, len(array) - 1)), data.draw(st.integers(0, array.shape[1] - 1))
            ] += 1
            other = best_payoff(job, dataclasses.replace(offer, **{name: changed}))
            lower, upper = (other, payoff) if name.endswith("cost") else (payoff, other)
            assert lower <= upper + CLOSE


@settings(deadline=None, max_examples=40)
@given(jobs(), offers(max_machines=4), st.data())
def test_the_order_of_machines_does_not_matter(job: Job, offer: Offer, data: st.DataObject) -> None:
    h = data.draw(st.permutations(range(offer.worker_room.shape[1])))
    k = data.draw(st.permutations(range(offer.server_room.shape[1])))
    other = Offer(
        *(np.asfortranarray(a[:, h]) for a in (offer.worker_room, offer.worker_cost)),
        *(np.asfortranarray(a[:, k]) for a in (offer.server_room, offer.server_cost)),
    )
    first, second = cheapest_schedule(job, offer), cheapest_schedule(job, other)
    if first is None or second is None:
        assert first is second
    else:
        assert first.payoff == pytest.approx(second.payoff, rel=CLOSE, abs=CLOSE)


def test_of_equal_machines_the_first_are_taken_and_work_is_done_early() -> None:
    job = job_of(chunks=4, epochs=1, server_bandwidth=4.0, minibatch_time=1.5)
    ones = np.ones((5, 3))
    offer = Offer(np.full((5, 3), 2), ones, np.full((5, 3), 1), ones)
    plan = cheapest_schedule(job, offer)
    assert plan is not None
    assert plan.schedule.workers.tolist() == [[1, 0, 0, 2], [1, 0, 1, 2], [2, 0, 0, 2]]
    assert plan.schedule.servers.tolist() == [[1, 0, 0, 1], [2, 0, 0, 1]]


def test_what_cannot_be_scheduled_is_not() -> None:
    some = np.full((3, 2), 2)
    ones = np.ones((3, 2))
    offer = Offer(some, ones, some, ones)
    hopeless = (
        (job_of(worker_bandwidth=2.0), offer),  # b > B
        (job_of(epochs=4), offer),  # more than N workers in every slot
        (job_of(), Offer(0 * some, ones, some, ones)),
        (job_of(), Offer(some, ones, 0 * some, ones)),
        (job_of(), Offer(*(array[:0] for array in (some, ones, some, ones)))),
        (job_of(chunks=9), Offer(some[:2], ones[:2], some[:2], ones[:2])),
    )
    for job, given_offer in hopeless:
        assert cheapest_schedule(job, given_offer) is None
        assert printed_schedule(job, given_offer) is None


def test_what_costs_nothing_is_done_at_once() -> None:
    job = job_of(chunks=3, minibatch_time=2.0, decay=0.5)
    rooms = np.full((4, 1), 3)
    plan = cheapest_schedule(job, Offer(rooms, np.zeros((4, 1)), rooms, np.zeros((4, 1))))
    assert plan is not None
    assert (plan.completion, plan.cost) == (2, 0.0)
    assert plan.payoff == job.utility(1)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_rooms_are_exact_quotients(data: st.DataObject) -> None:
    large = st.integers(1, 30) | st.integers(10**14, 10**15)
    need = data.draw(large)
    has = data.draw(large | st.integers(0, 10**15 // need).map(lambda n: n * need))
    used = data.draw(st.integers(0, has))
    most = data.draw(st.integers(1, 10**4))
    found = kernels.rooms(
        np.array([[float(has)]]), np.array([[[float(used)]]]), np.array([float(need)]), most
    )
    assert found[0, 0] == min((has - used) // need, most)


def test_a_job_that_is_too_large_for_the_exact_programme_is_refused_before_it_takes_memory() -> None:
    slots, chunks = 40, 10_000
    job = job_of(
        chunks=chunks, minibatch_time=25.005, server_bandwidth=29.0, priority=1e6, decay=0.01, target=150.0
    )
    rng = np.random.default_rng(0)
    tied = Offer(
        rng.integers(0, 800, (slots, 27)),
        np.ones((slots, 27)),
        rng.integers(0, 30, (slots, 23)),
        np.full((slots, 23), 5.0),
    )
    message = r"^jobs\[0\]\.chunks: 10000: 250050 worker-slots of work in 40 slots are more than"
    with pytest.raises(InputError, match=message):
        cheapest_schedule(job, tied)


def test_too_many_slots_for_the_table_of_costs_are_refused() -> None:
    one = np.ones((10_000, 1))
    job = job_of(chunks=10_000)
    with pytest.raises(InputError, match=r"^jobs\[0\]\.chunks: 10000: "):
        cheapest_schedule(job, Offer(one, one, one, one))
