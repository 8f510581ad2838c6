"""Check your own policy, and draw instances to test with.

>>> from clairvoyant.online.allocation import Fairness
>>> check_policy(Fairness)

:func:`check_policy` is for policies what scikit-learn's ``check_estimator`` is for estimators. In a test
suite use :func:`parametrize_with_checks`, which makes a test of each check. Hypothesis strategies for
instances and decisions are in the module of each problem, e.g. :mod:`clairvoyant.testing.allocation`.
"""

from __future__ import annotations

from .checks import (
    CHECKS,
    Subject,
    UncheckedWarning,
    check_policy,
    policy_checks,
)
from .decorator import parametrize_with_checks
from .generic import generic_kit
from .kit import Kit, PolicyCheckError, ProblemCheckError, register_kit

__all__ = [
    "CHECKS",
    "Kit",
    "PolicyCheckError",
    "ProblemCheckError",
    "Subject",
    "UncheckedWarning",
    "check_policy",
    "generic_kit",
    "parametrize_with_checks",
    "policy_checks",
    "register_kit",
]
