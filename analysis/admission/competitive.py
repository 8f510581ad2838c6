r"""What prices certify about the offline optimum, and what is proven of OPT / ALG.

Notation. Amounts are shares of all capacity: w~ of a worker, c~ of a machine. p is a price, g what is taken,
c what a machine has, L and U the prices of an empty and of a full machine, a = ln(U / L), alpha the largest a
and at least 1. Parameter servers are treated like workers. x is the largest share of a resource of a machine
that one job takes in a slot, x0 the smallest share that a worker takes. U and L are those of all jobs, L
without floor, and at least one job can finish.

**Weak duality.** For any prices p >= 0 and mu_i >= max(0, f_i - cost) over all schedules of the empty
cluster, OPT <= D = sum mu_i + sum p c~. OASiS takes the best schedule that still fits, so its D_I may be
below OPT. There are two ways to mend that:

- *repaired*: mu_i worked out again at the final prices, over the empty cluster. Valid for any prices.
- *raised*: mu_i as it is, and p = U where g > 0 and g >= (1 - x) c. Take a schedule of the empty cluster. If
  it fitted on arrival, f_i - cost <= mu_i then, and prices only rise. If not, g + w y > c for a resource of a
  machine in a slot, where w y <= x c: there p = U >= f_i / w~, so that f_i - cost <= 0.

**Theorem (printed prices).** OPT <= 2 max(1, B) ALG with a = alpha and::

    B = (e^{xa} - 1) / x * (e^a - 1) / (e^{(1-x)a} - 1)   for x < 1/2
    B = (e^a - 1) / max(1 - x, x0)                        for x >= 1/2

*Proof.*

1. D_0 <= OPT / 2. With v_i = W_i sum w~ the range has T R L = min v_i / 4 * min f_i(T - a_i) / v_i, and so
   sum L c~ <= f_i(T - a_i) / 4 for every job i that can finish and demands something; the same for parameter
   servers. The optimum earns at least f_i(T - a_i).
2. A step takes a share d <= x of a machine at price p, for which the job pays p d c~. It raises p c~ by
   (e^{ad} - 1) p c~, which is (e^{ad} - 1) / d times what is paid, and that grows with d.
3. Where p is not raised, g < (1 - x) c, and all steps are at most m = min(x, 1 - x): p c~ has risen by at
   most (e^{ma} - 1) / m times what jobs paid there. (If x0 > 1 - x, nothing is taken there.)
4. Where p is raised, p c~ rises from L c~ to U c~ in all. Cut off at (1 - x) c, all steps are at most m, and
   by (2) jobs paid at least m / (e^{ma} - 1) times (e^{(1-x)a} - 1) L c~. They also paid at least x0 L c~ in
   the first step. So p c~ has risen by at most B times what was paid.
5. B and the factor in (3), which is not larger, grow with a, so alpha may stand for a. An accepted job has
   f_i = mu_i + cost, so D - D_0 <= sum mu_i + max(1, B) sum cost <= max(1, B) ALG with raised prices, and by
   weak duality OPT <= D <= OPT / 2 + max(1, B) ALG.

**Theorem (steep prices).** With p = L (U / L)^min(1, g / ((1 - x) c)), OPT <= 2 max(1, B) ALG with::

    B = (e^{xa/(1-x)} - 1) / x        for x < 1/2
    B = (e^a - 1) / max(1 - x, x0)    for x >= 1/2

*Proof.* As before, but no price needs to be raised. A step multiplies p by at most e^{min(a, ad/(1-x))}, so
that p c~ rises by at most (e^{min(a, ad/(1-x))} - 1) / d times what is paid. Over x0 <= d <= x that is
largest at d = x if x < 1/2, else at d = max(1 - x, x0): it grows up to d = 1 - x and falls from there.

**For x > 1/2 no power of alpha bounds OPT / ALG, whatever the prices.** Take one machine, one slot, and jobs
that need a share w > 1/2 of it, worth 1 and then F, and at last one that needs w / F^2, fits beside either,
and is worth 1 / F. U and L are the same whether the second comes or not, with U / L = 4 F^3 / w. A policy
that takes the first has at most 1 + 1 / F of F + 1 / F; one that does not has 1 / F of 1 + 1 / F if the
second does not come. So OPT / ALG can be nearly F, which is about e^{a/3}.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...models.admission.cluster import Usage
from ...models.admission.instance import AdmissionInstance
from ...models.admission.jobs import Job
from ...models.admission.prices import price_range
from ...models.admission.schedule import Offer, Plan, cheapest_schedule
from ...models.admission.setting import PriceRange, Setting
from ...online.admission.oasis import Oasis
from ...oracles.base import Optimum

Prices = tuple[np.ndarray, np.ndarray]
"""Of workers, shape (T, H, R), and of parameter servers, shape (T, K, R)."""


class Duals(NamedTuple):
    """Dual objectives (19) of a finished run."""

    start: float  # D_0: before the first job
    printed: float  # D_I: payoffs at arrival, final prices; may be below the optimum
    raised: float  # D_I with raised prices; never below the optimum if the range is that of all jobs
    repaired: float  # D_I with repaired payoffs; never below the optimum


class Step(NamedTuple):
    """What accepting a job did."""

    job: int
    gain: float
    """P_i - P_{i-1}."""
    rise: float
    """D_i - D_{i-1}, with payoffs as at arrival."""
    relation: float
    """The least alpha with which Definition 1 holds: the largest rise of p c~ over what was paid there."""
    largest: float
    """The largest share of a resource of a machine that the job takes in a slot."""


def prices(
    found: PriceRange, usage: Usage, *, floor: bool = False, steep: bool = False, raised: bool = False
) -> Prices:
    """Return the prices of a range at this usage, per share of all capacity: (22), or the steep ones.

    What no job demands has the price 0. For x = 1 the steep price is U as soon as anything is taken. Raised
    prices are U where the largest job may not fit; see the module.
    """
    s, share = usage.setting, found.share if steep else 0.0
    result = []
    for taken, has, upper, lower in (
        (usage.workers, s.worker_units, found.upper_workers, found.lower(floor)[0]),
        (usage.servers, s.server_units, found.upper_servers, found.lower(floor)[1]),
    ):
        asked = np.isfinite(upper) & math.isfinite(lower)
        low = lower if math.isfinite(lower) else 0.0
        span = np.maximum(np.where(asked, upper, low) - low, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(taken > 0, np.minimum(taken / ((1.0 - share) * has), 1.0), 0.0)
        price = np.where(asked, np.exp(low + span * part), 0.0)
        if raised:
            tight = asked & (taken > 0) & (taken >= (1.0 - found.share) * has * (1.0 - 1e-12))
            price = np.where(tight, np.maximum(price, np.exp(upper)), price)
        result.append(price)
    return result[0], result[1]


def prices_of(policy: Oasis, usage: Usage, *, raised: bool = False) -> Prices:
    """Return the prices of the policy's range and settings at this usage."""
    return prices(policy.range, usage, floor=policy.floor, steep=policy.steep, raised=raised)


def able(instance: AdmissionInstance) -> list[Job]:
    """Return the jobs that can finish."""
    return [job for job in instance.jobs if job.index not in instance.never]


def dual(setting: Setting, payoffs: float, at: Prices) -> float:
    """Return sum mu_i + sum p c~ + sum q c~ (19) for a sum of payoffs."""
    both = zip(at, (setting.worker_units, setting.server_units), strict=True)
    return payoffs + sum(float((p * has / np.maximum(has.sum(axis=0), 1)).sum()) for p, has in both)


def best_plan(instance: AdmissionInstance, job: Job, at: Prices) -> Plan:
    """Return the best schedule that the empty cluster has at these prices for a job that can finish."""
    s, parts = instance.setting, []
    for room, share, price in (
        (s.worker_room(job), s.worker_share(job), at[0]),
        (s.server_room(job), s.server_share(job), at[1]),
    ):
        known = np.where(np.isfinite(share), share, 0.0)  # infinite where no machine has it: there is no room
        parts += [np.tile(room, (s.horizon - job.arrival + 1, 1)), price[job.arrival - 1 :] @ known]
    plan = cheapest_schedule(job, Offer(*parts))
    if plan is None:
        raise RuntimeError(f"job {job.index} has no schedule in the empty cluster")
    return plan


def payoffs_at(instance: AdmissionInstance, at: Prices) -> np.ndarray:
    """Return max(0, f_i - cost) over all schedules of the empty cluster at these prices, shape (I,)."""
    result = np.zeros(len(instance.jobs))
    for job in able(instance):
        result[job.index] = max(0.0, best_plan(instance, job, at).payoff)
    return result


def duals(instance: AdmissionInstance, policy: Oasis) -> Duals:
    """Return the dual objectives of OASiS (``scale`` 1) after it has played the instance."""
    s = instance.setting
    final = prices_of(policy, policy.usage)
    payoffs = sum(policy.payoffs.values())
    return Duals(
        start=dual(s, 0.0, prices_of(policy, Usage(s))),
        printed=dual(s, payoffs, final),
        raised=dual(s, payoffs, prices_of(policy, policy.usage, raised=True)),
        repaired=dual(s, float(payoffs_at(instance, final).sum()), final),
    )


def steps(instance: AdmissionInstance, policy: Oasis) -> Iterator[Step]:
    """Yield what every accepted job did to primal and dual, from the plans of a finished run."""
    s = instance.setting
    usage = Usage(s)
    before = prices_of(policy, usage)
    for i in sorted(policy.plans):
        job, plan = instance.jobs[i], policy.plans[i]
        taken = usage.workers.copy(), usage.servers.copy()
        usage.add(job, plan.schedule)
        after = prices_of(policy, usage)
        relation = largest = 0.0
        for old, new, g, now, has in (
            (before[0], after[0], taken[0], usage.workers, s.worker_units),
            (before[1], after[1], taken[1], usage.servers, s.server_units),
        ):
            share = (now - g) / np.maximum(has, 1)
            dearer = new > old
            with np.errstate(divide="ignore", over="ignore"):  # a price below 1e-308 is 0, or nearly
                least = (new - old)[dearer] / (old * share)[dearer]
            relation = max(relation, float(least.max(initial=0.0)))
            largest = max(largest, float(share.max(initial=0.0)))
        rise = policy.payoffs[i] + dual(s, 0.0, after) - dual(s, 0.0, before)
        yield Step(i, job.utility(plan.completion - job.arrival), rise, relation, largest)
        before = after


def least_share(instance: AdmissionInstance) -> float:
    """Return x0: the least share of a machine that a worker or server of a job that can finish takes."""
    s, least = instance.setting, math.inf
    for job in able(instance):
        for need, has, room in (
            (job.worker_units, s.worker_units, s.worker_room(job)),
            (job.server_units, s.server_units, s.server_room(job)),
        ):
            share = (need / np.maximum(has, 1))[room > 0]
            least = min(least, float(share[share > 0.0].min(initial=math.inf)))
    return least if math.isfinite(least) else 0.0


def finite_steps(alpha: float, share: float) -> float:
    """Return (e^{xa} - 1) / x, what Definition 1 needs for steps of up to a share x; alpha for x = 0."""
    return math.exp(_log_growth(alpha, share)) if _log_growth(alpha, share) < 709.0 else math.inf


def log_bound(alpha: float, share: float, least: float, steep: bool = False) -> float:
    """Return the logarithm of what bounds OPT / ALG with printed or with steep prices: ln 2 max(1, B)."""
    if share >= 0.5:
        log_b = _log_expm1(alpha) - math.log(max(1.0 - share, least))
    elif steep:
        log_b = _log_growth(alpha / (1.0 - share), share)
    else:
        log_b = _log_growth(alpha, share) + _log_expm1(alpha) - _log_expm1((1.0 - share) * alpha)
    return math.log(2.0) + max(0.0, log_b)


def log_bounds(instance: AdmissionInstance) -> tuple[float, float]:
    """Return the logarithms of both bounds, for printed and for steep prices, range exact, no floor."""
    sizes = instance.announced.alpha(), instance.announced.share, least_share(instance)
    return log_bound(*sizes), log_bound(*sizes, steep=True)


def bounds(instance: AdmissionInstance) -> dict[str, float]:
    """Return what is proven of ln(OPT / ALG), by the policy it is proven of.

    They are logarithms because the bounds themselves are often beyond 1e308. Nothing is proven if U and L are
    announced by hand, or if no job can finish: then there is no entry.
    """
    exact = price_range(instance.setting, instance.jobs)
    if instance.announced.to_dict() != exact.to_dict() or len(instance.never) == len(instance.jobs):
        return {}
    printed, steep = log_bounds(instance)
    told = "ln(OPT / ALG) of oasis:floor=false"
    return {told: printed, f"{told},steep=true": steep}


def ratio(optimum: Optimum, earned: float) -> tuple[float, float]:
    """Return the interval that holds OPT / ALG: value and certified bound over what was earned.

    0 / 0 is 1. Without a bound, and where nothing was earned of something, the end is infinite.
    """
    high = math.inf if optimum.bound is None else over(max(optimum.bound, optimum.value), earned)
    return over(optimum.value, earned), high


def over(best: float, earned: float) -> float:
    """Return best / earned; 0 / 0 is 1, and anything else over 0 infinite."""
    if earned > 0.0:
        return best / earned
    return 1.0 if best <= 0.0 else math.inf


def _log_expm1(value: float) -> float:
    """Return ln(e^v - 1) for v > 0."""
    return value + math.log(-math.expm1(-value))


def _log_growth(alpha: float, share: float) -> float:
    """Return ln((e^{xa} - 1) / x), and its limit ln a for x = 0."""
    return _log_expm1(share * alpha) - math.log(share) if share > 0.0 else math.log(alpha)
