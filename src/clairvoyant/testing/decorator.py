"""The checks of policies as tests of pytest, each by its own id."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from ..models.base import Instance
from .checks import CHECKS, policy_checks

if TYPE_CHECKING:
    import pytest


def parametrize_with_checks(
    *policies: Any,
    instances: Iterable[Instance] | Mapping[str, Instance] | None = None,
    seeds: Iterable[int] = (0, 1),
) -> pytest.MarkDecorator:
    """Return a decorator that makes a test of every check of every policy.

    What it decorates takes ``check``, a function without arguments, and calls it::

        @parametrize_with_checks(MyPolicy)
        def test_my_policy(check):
            check()

    The ids are those of the policy and the check, such as ``MyPolicy-no_peeking``. Policies are made when a
    test runs, so that one that cannot be made fails its tests, and no others.

    Parameters
    ----------
    *policies
        Classes or functions without arguments that make a policy, or policies, of which copies are played.
    instances, seeds
        As for :func:`policy_checks`.
    """
    import pytest

    chosen = instances if isinstance(instances, Mapping | None) else list(instances)
    played = tuple(seeds)
    cases = []
    for policy in policies:
        name = getattr(policy, "__name__", None) or getattr(policy, "name", None) or type(policy).__name__
        for check, run in late_checks(policy, chosen, played):
            cases.append(pytest.param(run, id=f"{name}-{check}"))
    return pytest.mark.parametrize("check", cases)


def late_checks(
    policy: Any, instances: Any = None, seeds: tuple[int, ...] = (0, 1)
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield what :func:`policy_checks` does; the policy is made when the first check runs."""
    known = cache(partial(_checks, policy, instances, seeds))
    for one in CHECKS:
        yield one.__name__, partial(_run, known, one.__name__)


def _checks(policy: Any, instances: Any, seeds: tuple[int, ...]) -> Mapping[str, Callable[[], None]]:
    return dict(policy_checks(policy, instances=instances, seeds=seeds))


def _run(known: Callable[[], Mapping[str, Callable[[], None]]], name: str) -> None:
    """Run a check of a policy; what it has played is known to its other checks."""
    known()[name]()
