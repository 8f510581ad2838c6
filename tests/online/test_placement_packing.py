"""The policies that pack, wait and backfill: every decision beside that of a judge in plain Python."""

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from clairvoyant.api import make_policy
from clairvoyant.models.base import InputError
from clairvoyant.models.placement.generate import generate
from clairvoyant.models.placement.instance import PlacementInstance
from clairvoyant.models.placement.setting import Observation
from clairvoyant.online.placement import (
    DrfByLoad,
    DrfFgd,
    DrfPatient,
    EasyEstimateConsolidate,
    SjfEstimatePatient,
    packing,
)
from clairvoyant.testing import placement as kit

from .test_placement_policies import cluster, fits, job, left, reference_order, room, starts, watch

FEW = hypothesis_settings(max_examples=25, deadline=None)
Free = list[list[int]]
Rows = list[list[int]]


def crowded(seed: int, jobs: int = 20, **options: Any) -> PlacementInstance:
    """Return gangs on three machines that hold few of them at once."""
    return generate("tiny", seed, jobs=jobs, machines=3, rho=4.0, estimate_error=0.5, **options)


GANGS = kit.instances(min_jobs=1, max_jobs=8, max_instances=6, estimates=True) | st.builds(
    crowded, st.integers(0, 50), window=st.sampled_from([3, 64])
)


class Judge:
    """Decides as the policies that pack should, from the observations and what has run, with fractions."""

    def __init__(self, policy: Any, instance: PlacementInstance) -> None:
        self.policy, self.instance = policy, instance
        self.capacity: Free = instance.setting.capacity.tolist()
        self.ended = self.ran = 0
        self.seen: set[int] = set()

    def fewest(self, free: Free, p: int, seen: Observation) -> int:
        """Return on how few machines a job could start, by trying all sets of them; M + 1 for none."""
        need, most = seen.need[p].tolist(), int(seen.instances[p])
        rooms = [room(has, need, most) for has in free]
        for size in range(1, len(rooms) + 1):
            if any(sum(some) >= most for some in itertools.combinations(rooms, size)):
                return size
        return len(rooms) + 1

    def fragments(self, free: list[int]) -> Fraction:
        """Return the mean of the GPUs of a machine that jobs of the mix could not use."""
        jobs = self.instance.jobs
        mix = sorted(i for i in self.seen if jobs.need[i, 0])[-packing.MIX :]
        lost = 0
        for i in mix:
            need, instances = jobs.need[i].tolist(), int(jobs.instances[i])
            whole = max(room(has, need, instances) for has in self.capacity)
            lost += free[0] if room(free, need, instances) < whole else 0
        return Fraction(lost, max(1, len(mix)))

    def quiet(self, seen: Observation) -> bool:
        """Tell whether what runs and what waits asks for little."""
        for r in range(3):
            total = sum(has[r] for has in self.capacity)
            used = total - sum(int(has[r]) for has in seen.free)
            used += sum(int(c) * int(n) for c, n in zip(seen.instances, seen.need[:, r], strict=True))
            if used > Fraction(self.policy.quiet) * total:
                return False
        return True

    def rows(self, seen: Observation) -> Rows:
        """Return the rows that start now, in the order in which they are found."""
        self.seen |= set(seen.jobs.tolist())
        self.ended += len(seen.ended)
        self.ran += sum(finish - start for _, start, finish in seen.ended.tolist())
        free, jobs = seen.free.tolist(), self.instance.jobs
        load = [0] * len(free)
        for i, k, count in seen.running.tolist():
            load[k] += int(jobs.intensity[i] * jobs.need[i, 0]) * count
        fgd = isinstance(self.policy, DrfFgd)
        quiet = not fgd and self.quiet(seen)
        found: Rows = []
        for p in reference_order(type(self.policy), self.instance.setting, seen):
            need, remaining = seen.need[p].tolist(), int(seen.instances[p])
            now, at_best = self.fewest(free, p, seen), self.fewest(self.capacity, p, seen)
            if now > len(free) or (now > at_best and not self.due(seen, p)):
                if self.policy.strict:
                    break
                continue
            while remaining:
                count, best = min(
                    ((-room(has, need, remaining), k) for k, has in enumerate(free)),
                    key=lambda one: (one[0], self.tie(free, load, need, one, quiet=quiet, fgd=fgd), one[1]),
                )
                found.append([int(seen.jobs[p]), best, -count])
                remaining += count
                free[best] = [f + count * n for f, n in zip(free[best], need, strict=True)]
                load[best] -= count * int(seen.intensity[p]) * need[0]
        return found

    def tie(
        self, free: Free, load: list[int], need: list[int], one: tuple[int, int], *, quiet: bool, fgd: bool
    ) -> Fraction:
        """Return what decides between machines with equal room, the least first."""
        count, k = one
        if fgd:
            after = [f + count * n for f, n in zip(free[k], need, strict=True)]
            return self.fragments(after) - self.fragments(free[k])
        if quiet:
            return Fraction(load[k], self.capacity[k][0]) if self.capacity[k][0] else Fraction(0)
        return Fraction(free[k][0])

    def due(self, seen: Observation, p: int) -> bool:
        """Tell whether a job does not wait for a better place any more."""
        if not hasattr(self.policy, "patience") or not self.ended:
            return True
        bound = Fraction(self.policy.patience) * Fraction(self.ran, self.ended)
        return seen.time - int(seen.submit[p]) >= bound


PACKING = (
    *(lambda: DrfByLoad(), lambda: DrfByLoad(quiet=0.25), lambda: DrfByLoad(quiet=4)),
    *(lambda: DrfPatient(), lambda: DrfPatient(patience=0.25), lambda: DrfPatient(patience=16, quiet=2)),
    *(lambda: DrfFgd(), lambda: SjfEstimatePatient(patience=0.5)),
    lambda: DrfPatient(patience=1, strict=True),
)


@pytest.mark.parametrize("make", PACKING)
@given(instance=GANGS)
@FEW
def test_every_decision_is_that_of_the_judge(make: Any, instance: PlacementInstance) -> None:
    with patch.object(packing, "MIX", 5):
        policy = make()
        judge = Judge(policy, instance)
        for seen, decision in watch(policy, instance):
            assert decision.tolist() == judge.rows(seen)


def test_what_is_left_of_a_gang_goes_where_there_is_just_room() -> None:
    """8 of 10 instances take an empty machine, the other 2 the gap of 2, though another machine is empty."""
    jobs = [job(duration=99, gpus=6), job(1, instances=10)]
    for policy in (DrfByLoad(), DrfFgd()):
        assert starts(policy, cluster(jobs, gpus=(8, 8, 8)))[1] == [[1, 1, 8], [1, 0, 2]]


def test_quiet_or_not_by_hand() -> None:
    """2 + 1 of 12 GPUs are at most a quarter; with 1 more they are not. Cores and memory are plenty."""
    jobs = [job(duration=99, gpus=2), job(1, duration=99)]
    policy = DrfByLoad(quiet=0.25)
    assert starts(policy, cluster(jobs, gpus=(4, 4, 4)))[1] == [[1, 1, 1]]
    assert starts(policy, cluster([*jobs, job(1)], gpus=(4, 4, 4)))[1] == [[1, 0, 1], [2, 0, 1]]


def test_contention_counts_the_intensity_of_neighbours() -> None:
    """3 GPUs of intensity 0.25 on one machine contend less than 1 GPU of intensity 1 on the other."""
    jobs = [job(duration=99, gpus=3, intensity=0.25), job(1, duration=99), job(2)]
    found = starts(DrfByLoad(quiet=1), cluster(jobs, gpus=(8, 8)))
    assert found == [[[0, 0, 1]], [[1, 1, 1]], [[2, 0, 1]]]
    assert starts(DrfByLoad(quiet=0), cluster(jobs, gpus=(8, 8)))[2] == [[2, 0, 1]]
    assert starts(DrfByLoad(quiet=0), cluster(jobs[::2], gpus=(4, 8)))[1] == [[1, 0, 1]]


def test_contention_counts_shares_of_the_machine() -> None:
    """2 of 8 GPUs of intensity 0.75 contend less than 1 of 4 of intensity 1."""
    jobs = [job(duration=99, cpus=60), job(1, duration=99, gpus=2, cpus=60, intensity=0.75), job(2)]
    assert starts(DrfByLoad(quiet=1), cluster(jobs, gpus=(4, 8)))[2] == [[2, 1, 1]]


def test_fragmentation_by_hand() -> None:
    """Jobs of 4 GPUs are most of the mix: one of 1 GPU goes to the machine that has no room for them."""
    jobs = [
        job(duration=50, gpus=4),
        *[job(1, duration=9, gpus=4)] * 3,
        job(20, duration=50, gpus=3),
        job(30),
    ]
    found = starts(DrfFgd(), cluster(jobs, gpus=(8, 9)))
    assert found[-2:] == [[[4, 1, 1]], [[5, 1, 1]]]
    assert starts(DrfByLoad(quiet=0), cluster(jobs, gpus=(8, 9)))[-1] == [[5, 0, 1]]


@pytest.mark.parametrize(("size", "machine"), [(1, 0), (2, 1)])
def test_the_mix_is_that_of_the_last_arrivals(size: int, machine: int) -> None:
    """The first job leaves 5 and 1 GPUs: if such jobs are to come, the second one had better take the 1."""
    with patch.object(packing, "MIX", size):
        found = starts(DrfFgd(), cluster([job(duration=50, gpus=3), job(1)], gpus=(5, 4)))
    assert found == [[[0, 1, 1]], [[1, machine, 1]]]


# ------------------------------------------------------------------ waiting


@given(GANGS, st.sampled_from([0.0, 0.5, 2.0]))
@FEW
def test_only_spread_starts_wait_and_none_beyond_the_bound(
    instance: PlacementInstance, patience: float
) -> None:
    policy = DrfPatient(patience=patience)
    judge = Judge(policy, instance)
    for seen, decision in watch(policy, instance):
        judge.rows(seen)
        started, free = set(decision[:, 0].tolist()), left(seen, decision)
        for p, i in enumerate(seen.jobs.tolist()):
            spans = int((decision[:, 0] == i).sum())
            if i in started and not judge.due(seen, p):
                assert spans == judge.fewest(judge.capacity, p, seen)
            elif i not in started and judge.due(seen, p):
                assert not fits(free, seen.need[p], int(seen.instances[p]))
            elif i not in started:
                assert judge.fewest(free.tolist(), p, seen) > judge.fewest(judge.capacity, p, seen)


@given(GANGS)
@FEW
def test_without_patience_nobody_waits(instance: PlacementInstance) -> None:
    assert starts(DrfPatient(patience=0), instance) == starts(DrfByLoad(), instance)


@pytest.mark.parametrize(
    ("patience", "start", "spans"), [(0, 20, 2), (1, 30, 2), (1.5, 39.999, 2), (2, 40, 2), (9, 60, 1)]
)
def test_waiting_by_hand(patience: float, start: float, spans: int) -> None:
    """A gang of 4 comes at 20 s; 2 + 2 GPUs are free until 60 s, and the only job that has ended ran 10 s."""
    busy = [job(duration=10, gpus=4), *[job(11, duration=49, gpus=2, cpus=60)] * 2]
    events = [job(t, duration=99, gpus=0) for t in (29.999, 30, 39.999, 40)]
    instance = cluster([*busy, job(20, duration=5, instances=4), *events], gpus=(4, 4))
    decided = [
        (seen.time / 1000, rows[:, 0].tolist())
        for seen, rows in watch(DrfPatient(patience=patience), instance)
    ]
    assert [(time, jobs.count(3)) for time, jobs in decided if 3 in jobs] == [(start, spans)]


@pytest.mark.parametrize(
    "text", ["drf-patient:patience=-1", "drf-byload:quiet=-0.5", "drf-patient:quiet=nan"]
)
def test_settings_out_of_range(text: str) -> None:
    with pytest.raises(InputError, match=text.partition(":")[2].partition("=")[0]):
        make_policy(text, "placement")


# ------------------------------------------------------------------ backfilling


def by_end(running: list[tuple[int, list[int], list[list[int]]]]) -> Iterator[tuple[int, list[Any]]]:
    """Yield when jobs are expected to end, and those that do, in the order of time."""
    for end, group in itertools.groupby(sorted(running, key=lambda one: one[0]), key=lambda one: one[0]):
        yield end, list(group)


class EasyJudge:
    """Decides as EASY should; a running job is (expected end, need, its (machine, count))."""

    def __init__(self, instance: PlacementInstance, *, shortest: bool) -> None:
        self.instance, self.shortest = instance, shortest
        self.ends: dict[int, int] = {}
        self.promised: dict[int, int] = {}

    def consolidated(self, free: Free, p: int, seen: Observation) -> Free:
        """Return (machine, count) of a job that fits: most room first, then the fewest free GPUs."""
        need, remaining = seen.need[p].tolist(), int(seen.instances[p])
        ranked = sorted(range(len(free)), key=lambda k: (-room(free[k], need, remaining), free[k][0], k))
        placed = []
        for k in ranked:
            count = room(free[k], need, remaining)
            remaining -= count
            placed += [[k, count]] if count else []
        return placed

    def end(self, seen: Observation, p: int, spans: int) -> int:
        """Return when a job would end by its estimate on so many machines."""
        assert seen.estimate is not None
        fewest = Judge(None, self.instance).fewest(self.instance.setting.capacity.tolist(), p, seen)
        factor = self.instance.setting.slowdown.spread_factor(spans, fewest)
        return seen.time + int(np.floor(seen.estimate[p] * factor + 0.5))

    def rows(self, seen: Observation) -> Rows:
        """Return the rows that start now."""
        jobs, free = self.instance.jobs, seen.free.tolist()
        running = []
        for i, group in itertools.groupby(seen.running.tolist(), key=lambda row: row[0]):
            held = [row[1:] for row in group]
            running.append((max(self.ends[i], seen.time + 1), jobs.need[i].tolist(), held))
        found: Rows = []
        head, shadow, then = -1, 0, free
        todo = list(range(len(seen.jobs)))
        while todo:
            p = todo.pop(0)
            need, instances = seen.need[p].tolist(), int(seen.instances[p])
            if not fits(np.array(free), np.array(need), instances):
                if head < 0:
                    head, then = p, [list(has) for has in free]
                    ending = by_end(running)
                    while not fits(np.array(then), seen.need[p], instances):
                        shadow, ended = next(ending)
                        for _, given_back, held in ended:
                            self.add(then, held, given_back, 1)
                    self.promised.setdefault(int(seen.jobs[p]), shadow)
                    if self.shortest and seen.estimate is not None:
                        todo.sort(key=lambda q: seen.estimate[q])  # type: ignore[index]
                continue
            placed = self.consolidated(free, p, seen)
            end = self.end(seen, p, len(placed))
            if head >= 0 and end > shadow:
                self.add(then, placed, need, -1)
                if not fits(np.array(then), seen.need[head], int(seen.instances[head])):
                    self.add(then, placed, need, 1)
                    continue
            self.add(free, placed, need, -1)
            running.append((end, need, placed))
            self.ends[int(seen.jobs[p])] = end
            found += [[int(seen.jobs[p]), k, count] for k, count in placed]
        return found

    @staticmethod
    def add(free: Free, placed: Free, need: list[int], sign: int) -> None:
        """Add what a job holds to what is free, or take it."""
        for k, count in placed:
            free[k] = [f + sign * count * n for f, n in zip(free[k], need, strict=True)]


@pytest.mark.parametrize("shortest", [False, True])
@given(instance=GANGS)
@FEW
def test_easy_decides_as_its_judge(shortest: bool, instance: PlacementInstance) -> None:
    judge = EasyJudge(instance, shortest=shortest)
    for seen, decision in watch(EasyEstimateConsolidate(shortest), instance):
        assert decision.tolist() == judge.rows(seen)


@pytest.mark.parametrize("shortest", [False, True])
@given(instance=kit.instances(min_jobs=2, max_jobs=8, max_instances=6, contention=False))
@FEW
def test_with_true_estimates_no_head_starts_later_than_promised(
    shortest: bool, instance: PlacementInstance
) -> None:
    data = instance.to_dict()
    told = [one | {"estimate": one["duration"]} for one in data["jobs"]]
    instance = PlacementInstance.from_dict(data | {"jobs": told})
    judge = EasyJudge(instance, shortest=shortest)
    started: dict[int, int] = {}
    for seen, decision in watch(EasyEstimateConsolidate(shortest), instance):
        judge.rows(seen)
        started |= dict.fromkeys(decision[:, 0].tolist(), seen.time)
    assert all(started[i] <= promise for i, promise in judge.promised.items())


def test_backfilling_by_hand() -> None:
    """A gang of 4 GPUs waits for the job that ends at 10 s; at 1 s 2 GPUs are free on machine 0."""
    jobs = [job(estimate=10, gpus=2), job(1, estimate=5, gpus=4)]
    late = job(1, duration=5, estimate=9.001)
    cases = {
        "ends in time": ([job(1, estimate=9)], [[2, 0, 1]]),
        "ends too late": ([late], []),
        "the shortest": ([late, job(1, estimate=9, gpus=2), job(1, estimate=1, gpus=2)], [[3, 0, 1]]),
    }
    for name, (others, rows) in cases.items():
        instance = cluster([*jobs, *others], gpus=(4,))
        assert starts(EasyEstimateConsolidate(), instance)[1] == rows, name
    instance = cluster([*jobs, *cases["the shortest"][0]], gpus=(4,))
    assert starts(EasyEstimateConsolidate(shortest=True), instance)[1] == [[4, 0, 1]]
    # With a GPU more than the gang needs, the late one leaves room for it.
    assert starts(EasyEstimateConsolidate(), cluster([*jobs, late, late], gpus=(5,)))[1] == [[2, 0, 1]]


def test_a_job_that_outlives_its_estimate_is_expected_to_end_at_once() -> None:
    jobs = [job(duration=10, estimate=2, gpus=2), job(1, estimate=5, gpus=4), job(3, estimate=0.001)]
    found = starts(EasyEstimateConsolidate(), cluster([*jobs, job(3, estimate=0.002)], gpus=(4,)))
    assert found[:2] == [[[0, 0, 1]], [[2, 0, 1]]]


def test_easy_needs_to_be_told() -> None:
    instance = cluster([job(estimate=5)])
    policy = EasyEstimateConsolidate()
    policy.start(instance.setting, np.random.default_rng(0))
    with pytest.raises(InputError, match="needs the estimates, but was not shown them"):
        policy.decide(next(iter(instance.episode(frozenset({"durations"})))))


# ------------------------------------------------------------------ what none of them may depend on

EVERY = (*PACKING, lambda: EasyEstimateConsolidate(), lambda: EasyEstimateConsolidate(shortest=True))


@pytest.mark.parametrize("make", EVERY)
@given(instance=GANGS, data=st.data())
@FEW
def test_the_future_and_true_durations_do_not_matter(
    make: Any, instance: PlacementInstance, data: st.DataObject
) -> None:
    """Until a job that is another one comes or a job ends whose duration is another one."""
    told = instance.to_dict()
    jobs = told["jobs"]
    lengths = data.draw(st.permutations([one["duration"] for one in jobs]))
    cut = data.draw(st.sampled_from([one["submit"] for one in jobs]))
    other = [
        one | {"duration": length} if one["submit"] < cut else one | {"duration": length, "intensity": 0.5}
        for one, length in zip(jobs, lengths, strict=True)
    ]
    changed = PlacementInstance.from_dict(told | {"jobs": other})
    mine, theirs = watch(make(), instance), watch(make(), changed)
    for (seen, decision), (_seen, there) in zip(mine, theirs, strict=False):
        if _seen.time != seen.time or len(seen.ended) or len(_seen.ended) or seen.time >= 1000 * cut:
            break
        assert decision.tolist() == there.tolist()


@pytest.mark.parametrize("make", EVERY)
@given(
    instance=kit.instances(min_jobs=1, max_jobs=6, slowdowns=False, estimates=True),
    factor=st.sampled_from([2, 3, 10]),
)
@FEW
def test_the_unit_of_time_does_not_matter(make: Any, instance: PlacementInstance, factor: int) -> None:
    data = instance.to_dict()
    for one in data["jobs"]:
        one |= {name: factor * one[name] for name in ("submit", "duration", "estimate")}
    assert starts(make(), PlacementInstance.from_dict(data)) == starts(make(), instance)
