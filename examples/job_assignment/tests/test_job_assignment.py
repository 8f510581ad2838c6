"""The policies keep their contract, and the program finds the best of all assignments."""

from itertools import product

import pytest
from job_assignment.instance import generate
from job_assignment.policies import POLICIES

import clairvoyant as cv
from clairvoyant.testing import UncheckedWarning, check_policy


@pytest.mark.parametrize("policy", POLICIES.values())
def test_a_policy_keeps_the_contract(policy: type) -> None:
    with pytest.warns(UncheckedWarning, match="degenerate_instances does not check all"):
        check_policy(policy)


@pytest.mark.parametrize("seed", range(3))
def test_the_program_finds_the_best_of_all_assignments(seed: int) -> None:
    instance = generate("tiny", seed, places=1)
    every = product(*((-1, *job.fits) for job in instance.jobs))
    sound = (one for one in every if not instance.violations(one))
    sums = [sum(job.value for job, h in zip(instance.jobs, one, strict=True) if h >= 0) for one in sound]
    found = cv.solve(instance, method="cp-sat")
    assert (found.value, found.why_stopped.value) == (pytest.approx(max(sums)), "proved")
