"""Statements of our own: what mends Theorems 1, 2 and 4, what ties change, and the ratio with many jobs."""

from __future__ import annotations

import math

import numpy as np

from ....models.admission.generate import generate
from ....models.admission.instance import AdmissionInstance
from ....online.admission.oasis import Oasis
from ....online.play import play
from ...claim import Context, Finding, Register, Table, Verdict, holds_if
from ...experiments import policy_seed, seeds, spread, track
from .. import competitive
from ..experiments import NOTE, OASIS, Setup, instance, outcome
from .cases import HAND, TIE, Played, below, hand_run, rising_run, rising_runs, runs, settle
from .subroutine import milp_payoff, payoff, random_cases, same

claim = Register("admission")


@claim(
    "exact-schedule",
    "(27)",
    Verdict.HOLDS,
    ours=True,
    says="The programme over worker-slots solves (27).",
    how="Against a mixed-integer programme of (27), by HiGHS, on random small cases.",
)
def exact_schedule(context: Context) -> Finding:
    """Check the exact subroutine."""
    count = context.pick(30, 200, 2000)
    cases = track(context, random_cases(np.random.default_rng(context.seed), count))
    found = np.array([(payoff(case), milp_payoff(case)) for case in cases])
    right = sum(same(one, other, 100.0) for one, other in found)
    return Finding(
        holds_if(right == count, Verdict.UNDETERMINED),
        "The programme over worker-slots gave the optimum of (27) in every random small case.",
        {
            "cases": count,
            "as by HiGHS": right,
            "positive payoffs": int((found[:, 1] > TIE).sum()),
            "largest difference": float(abs(found[:, 0] - found[:, 1]).max()),
        },
    )


def looseness(instance: AdmissionInstance) -> float:
    """Return what the repaired D_I of OASiS is at least times the optimum: over all jobs' best utilities."""
    policy = Oasis(floor=False)
    play(policy, instance)
    most = sum(job.utility(job.shortest - 1) for job in instance.jobs if job.index not in instance.never)
    return competitive.duals(instance, policy).repaired / most


@claim(
    "weak-duality",
    "(19), (20)",
    Verdict.HOLDS,
    ours=True,
    says="D_I is at least the optimum if payoffs are worked out again at the final prices over all "
    "schedules of the "
    "empty cluster, and also if prices are raised to U where the largest job may not fit.",
    how="Both on random instances against the exact optimum, and by what factor they miss it.",
)
def weak_duality(context: Context) -> Finding:
    """Check the mended duals."""
    random = [r for r in runs(context) if r.least > 0.0]
    lines = []
    for name in ("printed", "raised", "repaired"):
        loose = np.array([getattr(r.duals, name) / r.least for r in random])
        valid = sum(below(1.0, float(part)) for part in loose)
        lines.append((name, valid, len(random), *np.quantile(loose, [0.0, 0.5, 1.0]).tolist()))
    wrong = [r.instance for r in random if not below(r.least, min(r.duals.raised, r.duals.repaired))]
    verdict, example = settle(wrong)
    large = [looseness(generate("default", seed)) for seed in seeds(context, 5, 20, 50)]
    return Finding(
        verdict,
        "Both mended duals were at least the optimum in every run, but many times as large: valid, and "
        "empty.",
        {
            "instances": len(random),
            **{f"{line[0]} D_I >= OPT": line[1] for line in lines},
            "10 jobs: repaired D_I / sum of best utilities, median": float(np.median(large)),
            "10 jobs: the same, largest": max(large),
        },
        tables=(
            Table(
                "D_I / OPT on small random instances",
                ("dual", "valid", "instances", "least", "median", "largest"),
                tuple(lines),
            ),
        ),
        counterexample=example,
        assumes="The proofs are in analysis/admission/competitive.py.",
    )


@claim(
    "theorem-4-finite-steps",
    "Theorem 4, Lemma 3",
    Verdict.REFUTED,
    ours=True,
    says="The obvious amendment: OPT <= 2 max(1, (e^{xa} - 1) / x) ALG, with a = alpha and x the largest "
    "share that "
    "a job takes in a slot.",
    how="The instances by hand, rising utilities, and random instances against the exact optimum.",
)
def finite_bound(context: Context) -> Finding:
    """Check the bound that Definition 1 with finite steps would give."""

    def bound(r: Played) -> float:
        alpha, share, _ = r.sizes
        return 2.0 * max(1.0, competitive.finite_steps(alpha, share))

    hand = [hand_run(*given) for given in HAND]
    random = [r for r in runs(context) if r.least > 0.0]
    worst = [max(some, key=lambda r: r.ratio / bound(r)) for some in rising_runs(context).values()]
    shown = (*hand, rising_run(5, 100.0, 20), *worst)
    above = [r for r in shown if not below(r.ratio, bound(r))]
    return Finding(
        Verdict.REFUTED if above else Verdict.UNDETERMINED,
        "The obvious amendment of Theorem 4 fails too, because jobs are rejected that do not fit at prices "
        "below U.",
        {
            "F = 1000: OPT / ALG": hand[2].ratio,
            "F = 1000: 2 (e^{xa} - 1) / x": bound(hand[2]),
            "random instances above": sum(not below(r.ratio, bound(r)) for r in random),
            "random instances": len(random),
        },
        tables=(
            Table(
                "OPT / ALG against 2 (e^{xa} - 1) / x",
                ("instance", "x", "ratio", "bound"),
                tuple((str(r.instance.origin), r.sizes[1], r.ratio, bound(r)) for r in shown),
            ),
        ),
        counterexample=above[0].instance if above else None,
        remark="A bound that holds is in admission/theorem-4-printed-prices.",
    )


def proof_holds(r: Played, log_bound: float, steep: bool) -> bool:
    """Return whether every step of the proof in :mod:`.competitive` holds in a run."""
    kappa = math.exp(log_bound) / 2.0
    initial = below(r.duals.start, r.most / 2.0)
    payoffs = competitive.payoffs_at(r.instance, competitive.raised_prices(r.policy))
    feasible = all(payoffs[i] <= mu + TIE * r.instance.jobs[i].priority for i, mu in r.policy.payoffs.items())
    weak = below(r.least, r.duals.raised)
    summed = below(r.duals.raised - r.duals.start, kappa * r.earned)
    single = not steep or all(below(step.rise, kappa * step.gain) for step in r.steps)
    unraised = not steep or below(r.duals.raised, r.duals.printed)
    return initial and feasible and weak and summed and single and unraised


def _proved(context: Context, steep: bool) -> Finding:
    """Return the finding on a proven bound: no run above it, and no step of its proof broken."""
    log_bound = competitive.log_steep_bound if steep else competitive.log_printed_bound
    families = {
        "random": [r for r in runs(context, steep) if r.least > 0.0],
        "two jobs of which one fits": [hand_run(*given, steep) for given in HAND],
        **{f"rising utilities, shares of 1/{n}": some for n, some in rising_runs(context, steep).items()},
    }
    lines, wrong = [], []
    for name, some in families.items():
        logs = np.array([log_bound(*r.sizes) for r in some])
        parts = np.log([r.ratio for r in some]) - logs
        pairs = zip(some, parts, logs, strict=True)
        wrong += [r.instance for r, part, log in pairs if part > TIE or not proof_holds(r, log, steep)]
        lines.append(
            (
                name,
                len(some),
                max(r.ratio for r in some),
                float(np.median(np.exp(logs))),
                float(np.exp(parts.max())),
            )
        )
    verdict, example = settle(wrong)
    what = "steep prices, which reach U at (1 - x) c" if steep else "prices as printed"
    return Finding(
        verdict,
        f"With {what}, no run exceeded the bound or broke a step of its proof.",
        {
            "runs": sum(line[1] for line in lines),
            "runs that break the bound or a step of the proof": len(wrong),
            "largest ratio / bound": max(line[4] for line in lines),
        },
        tables=(
            Table(
                f"OPT / ALG with {what}",
                ("instances", "runs", "largest ratio", "bound (median)", "largest ratio / bound"),
                tuple(lines),
            ),
        ),
        counterexample=example,
        assumes="U and L exact, L without a floor, and a job can finish. The proof is in "
        "analysis/admission/competitive.py.",
        remark="As x alpha goes to 0 the bound goes to 2 alpha.",
    )


@claim(
    "theorem-4-printed-prices",
    "Theorem 4",
    Verdict.HOLDS,
    ours=True,
    says="OPT <= 2 max(1, B) ALG, B = (e^{xa} - 1) / x (e^a - 1) / (e^{(1-x)a} - 1) for x < 1/2, else (e^a "
    "- 1) / "
    "max(1 - x, x0), with prices as printed, the exact range and no floor.",
    how="Bound and proof step by step on random instances against the exact optimum and on all "
    "counterexamples.",
)
def printed_prices(context: Context) -> Finding:
    """Check the bound with printed prices."""
    return _proved(context, steep=False)


@claim(
    "theorem-4-steep",
    "Theorem 4",
    Verdict.HOLDS,
    ours=True,
    says="OPT <= 2 max(1, B) ALG, B = (e^{xa/(1-x)} - 1) / x for x < 1/2, else (e^a - 1) / max(1 - x, x0), "
    "with "
    "prices that reach U at (1 - x) c.",
    how="As for the printed prices.",
)
def steep_prices(context: Context) -> Finding:
    """Check the bound with steep prices."""
    return _proved(context, steep=True)


def reordered(sampled: AdmissionInstance, rng: np.random.Generator) -> AdmissionInstance:
    """Return the same jobs and machines, the machines in another order."""
    data = sampled.to_dict()
    for side in ("worker_servers", "parameter_servers"):
        data[side] = [data[side][i] for i in rng.permutation(len(data[side]))]
    return AdmissionInstance.from_dict(data)


@claim(
    "ties",
    "Algorithms 1 and 2",
    Verdict.HOLDS,
    ours=True,
    says="What OASiS earns depends on how ties between equally good schedules are broken, of which the "
    "paper says "
    "nothing.",
    how="The same jobs and machines in several orders of the machines.",
)
def ties(context: Context) -> Finding:
    """Check whether the order of equal machines changes what is earned."""
    sampled = seeds(context, 3, 5, 10)
    setup = context.pick(
        Setup(40, 40, 8, 8, "short"), Setup(100, 60, 15, 15, "short"), Setup(200, 100, 50, 50, "short")
    )
    orders = context.pick(4, 6, 20)
    found = np.zeros((len(sampled), orders))
    for row, seed in track(context, enumerate(sampled)):
        rng = np.random.default_rng(policy_seed(seed))
        found[row, 0] = outcome(OASIS, setup, seed).total
        for column in range(1, orders):
            found[row, column] = play(Oasis(), reordered(instance(setup, seed), rng)).total
    wide = 100.0 * (found.max(axis=1) - found.min(axis=1)) / found.mean(axis=1)
    return Finding(
        holds_if(bool((wide > 0.0).any()), Verdict.UNDETERMINED),
        "The order in which equal machines are listed changes the total utility of OASiS.",
        {
            "instances": len(sampled),
            "orders": orders,
            "range of the total (% of its mean)": spread(wide),
            "widest range (% of the mean)": round(float(wide.max()), 2),
        },
        tables=(
            Table(
                f"Total utility of OASiS with the machines in {orders} orders: {setup.jobs} jobs, T = "
                f"{setup.horizon}, {setup.worker_machines} + {setup.server_machines} machines. {NOTE}",
                ("instance", "least", "mean", "most", "range (%)"),
                tuple(
                    (seed, *(round(float(v), 1) for v in (row.min(), row.mean(), row.max(), w)))
                    for seed, row, w in zip(sampled, found, wide, strict=True)
                ),
            ),
        ),
        remark="Differences between policies on one instance that are smaller than this say nothing. We take "
        "machines in ascending order of price, then of number.",
    )


CLAIMS = claim.claims
