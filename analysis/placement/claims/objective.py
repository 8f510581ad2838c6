"""Claims about the densities and the objective that DAS is trained by (Sec. 4.1.2, 4.3, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...claim import Context, Finding, Register, Table, Verdict, amended_if, holds_if
from ...experiments import track
from ..formulas import clipped, log_density, printed_clipped, printed_log_density
from .network import HIDDEN, PENDING, draws_of

claim = Register("placement")

BOUND = 0.2
"""epsilon in (17) (Appendix D)."""

COPY = 2
"""z, the steps between two copies of the networks (Appendix D)."""

DISCOUNT = 0.98
"""gamma (Appendix D)."""


# (8), log pi: densities


@claim(
    "log-density",
    "Sec. 4.3, after (18)",
    Verdict.REFUTED,
    says="The printed formula is the logarithm of the density of the normal distribution.",
    how="Its integral in one dimension, its derivatives and ratios, beside the normal density.",
)
def printed_density(context: Context) -> Finding:
    from scipy.integrate import quad
    from scipy.stats import multivariate_normal

    lines = []
    for v in (0.1, 0.25, 0.5, 0.99):
        pair = [
            quad(lambda a, f=f, v=v: np.exp(f(np.array([a]), np.zeros(1), np.array([v]))), -20.0, 20.0)[0]
            for f in (printed_log_density, log_density)
        ]
        lines.append((v, *map(float, pair), 1.0 / v))
    rng = draws_of(context, 14)
    deviation = 0.0
    for _ in range(context.pick(10, 50, 500)):
        action, mean, variance = rng.normal(size=3), rng.uniform(-1, 1, 3), rng.uniform(0.05, 0.95, 3)
        judge = float(multivariate_normal.logpdf(action, mean, np.diag(variance)))
        deviation = max(deviation, abs(log_density(action, mean, variance) - judge))
    a, mu, narrow, wide = np.ones(1), np.zeros(1), np.array([0.25]), np.array([0.5])
    ratios = [float(np.exp(f(a, mu, narrow) - f(a, mu, wide))) for f in (printed_log_density, log_density)]
    off = max(abs(line[1] - 1.0) for line in lines)
    return Finding(
        holds_if(off < 1e-6, Verdict.REFUTED),
        "The printed formula is no density: it lacks the inverse covariance, and its exponential integrates "
        "to 1 / Sigma.",
        {
            "narrowing from 0.5 to 0.25, action 1 away: ratio, printed": ratios[0],
            "the same, normal density": ratios[1],
            "normal density: largest difference from scipy": deviation,
        },
        tables=(
            Table(
                "Integral of the density in one dimension",
                ("Sigma", "printed", "normal density", "1 / Sigma"),
                tuple(lines),
            ),
        ),
        assumes="The covariance is diagonal, with variances between 0 and 1 by (8).",
        proof="The integral is computed by quadrature. The derivative of the printed formula by Sigma is -1 "
        "/ Sigma, whatever the action was: a good action far off makes the policy narrower instead of wider.",
    )


def first_probability(ahead: float, variance: float, jobs: int) -> float:
    """Return how likely a score with mean ``ahead`` is the largest, beside others with mean 0.

    All scores are normal with the same variance.
    """
    from scipy.special import ndtr

    z, weight = np.polynomial.hermite_e.hermegauss(120)
    below = ndtr(ahead / np.sqrt(variance) + z) ** (jobs - 1)
    return float((weight * below).sum() / weight.sum())


@claim(
    "priority-probability",
    "(7), (8), Sec. 5.5, Figure 6(a)",
    Verdict.UNDETERMINED,
    says="The priority 0.69 is the probability of being scheduled first.",
    how="Exact probabilities for normal scores, by the number of jobs and the variance; 0.69 is printed with "
    "two digits.",
    choices=("the number of jobs: 2 to 64", "the variance, from (0, 1) by (8)", "means of the other jobs: 0"),
)
def priority_probability(_context: Context) -> Finding:
    counts, variances = (2, 5, 10, PENDING), (0.1, 0.5, 0.99)
    lines = [(n, *(first_probability(0.69, v, n) for v in variances)) for n in counts]
    agree = [abs(p - 0.69) < 0.005 for line in lines for p in line[1:]]
    open_ = Verdict.UNDETERMINED if any(agree) else Verdict.REFUTED
    columns = ("jobs", *(f"Sigma = {v:g}" for v in variances))
    title = "Probability that a score with mean 0.69 is the largest, the others with mean 0"
    return Finding(
        holds_if(all(agree), open_),
        f"In {sum(agree)} of {len(agree)} readings a score of 0.69 means that probability: it depends on how "
        f"many jobs wait, and on their variance.",
        {"readings": len(agree), "readings that agree": sum(agree)},
        tables=(Table(title, columns, tuple(lines)),),
        assumes="Scores are independent and normal, with the means and variances of (8).",
        proof="By (7) and (8) the score is any number, and nothing makes scores add up to 1: see the table.",
    )


# (17), (18): the objective


def slope(objective: Callable[..., np.ndarray], ratio: float, advantage: float) -> float:
    """Return the derivative of a clipped objective by the ratio."""
    h = 1e-6
    low, high = (float(objective(ratio + d, advantage, BOUND)) for d in (-h, h))
    return round((high - low) / (2.0 * h), 6) + 0.0


def mean_ratio(mean: float, variance: float, old_mean: float, old_variance: float) -> float:
    """Return the expected ratio of two normal densities, over actions of the old one."""
    from scipy.integrate import quad

    def term(a: float) -> float:
        action = np.array([a])
        new = log_density(action, np.array([mean]), np.array([variance]))
        old = log_density(action, np.array([old_mean]), np.array([old_variance]))
        return float(np.exp(old) * np.exp(new - old))

    return float(quad(term, -12.0, 12.0)[0])


@claim(
    "clip",
    "(17), (18)",
    Verdict.REFUTED,
    says="The minimum of the mean ratio and its clipped value, times B, bounds how far the policy moves.",
    how="Values and slopes beside PPO's, for both signs of B; the expected ratio of normal policies.",
)
def clip(_context: Context) -> Finding:
    lines = [
        (
            r,
            B,
            *(value for f in (printed_clipped, clipped) for value in (float(f(r, B, BOUND)), slope(f, r, B))),
        )
        for B in (1.0, -1.0)
        for r in (0.5, 1.0, 2.0)
    ]
    wrong = [line for line in lines if line[3] != line[5]]
    advantages = np.array([1.0, -1.0])
    scores = [
        tuple(float(f(np.array(r), advantages, BOUND).sum()) for f in (printed_clipped, clipped))
        for r in ((1.2, 3.0), (1.0, 1.1))
    ]
    swapped = scores[0][0] > scores[1][0] and scores[0][1] < scores[1][1]
    means = [mean_ratio(m, v, 0.0, 0.5) for m, v in ((0.3, 0.5), (0.8, 0.3), (-0.5, 0.45))]
    columns = ("ratio", "B", "printed", "derivative", "PPO", "derivative of PPO")
    return Finding(
        holds_if(not wrong and not swapped, Verdict.REFUTED),
        "As printed a bad action that became half as likely is pushed on without bound: for B < 0 the wrong "
        "side is cut.",
        {
            "cases with another slope than PPO's": len(wrong),
            "two samples: preference reversed": swapped,
            "expected ratio, furthest from 1": max(abs(m - 1.0) for m in means),
        },
        tables=(
            Table(
                "One sample: objective and its derivative by the ratio, epsilon = 0.2", columns, tuple(lines)
            ),
        ),
        assumes="epsilon = 0.2 (Appendix D).",
        proof="min(ratio, clip(ratio)) B is min(ratio, 1 + epsilon) B. For B < 0 its slope is B below 1 - "
        "epsilon, where that of PPO is 0: nothing stops the policy from moving on. Above 1 + epsilon it is "
        "0, where that of PPO is B: a bad action that has become likely is never put right.",
        remark="Besides, the printed ratio is an expectation; if it is taken over the actions of the old "
        "policy, it is 1 for every new one.",
    )


class Chain(NamedTuple):
    """A decision process: P (states, actions, next states), rewards (states, actions), policy likewise."""

    P: np.ndarray
    rewards: np.ndarray
    policy: np.ndarray

    def values(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the exact V, shape (states,), and Q, shape (states, actions), of the policy."""
        moves = np.einsum("sa,sax->sx", self.policy, self.P)
        gains = (self.policy * self.rewards).sum(axis=1)
        V = np.linalg.solve(np.eye(len(moves)) - DISCOUNT * moves, gains)
        return V, self.rewards + DISCOUNT * self.P @ V

    def expected_advantage(self, decay: float, *, by_q: bool) -> np.ndarray:
        """Return E[GAE | s, a] with temporal differences of the exact Q or V, shape (states, actions)."""
        V, Q = self.values()
        ahead = (self.policy * Q).sum(axis=1) if by_q else V
        delta = self.rewards + DISCOUNT * self.P @ ahead - (Q if by_q else V[:, None])
        states, actions = delta.shape
        onward = np.einsum("sax,xb->saxb", self.P, self.policy).reshape(states * actions, -1)
        total = np.linalg.solve(np.eye(states * actions) - DISCOUNT * decay * onward, delta.reshape(-1))
        return total.reshape(states, actions)

    def gradient(self, advantage: np.ndarray) -> np.ndarray:
        """Return the policy gradient by the logits of a softmax policy, from state 0."""
        moves = np.einsum("sa,sax->sx", self.policy, self.P)
        visits = np.linalg.solve((np.eye(len(moves)) - DISCOUNT * moves).T, np.eye(len(moves))[0])
        centred = advantage - (self.policy * advantage).sum(axis=1, keepdims=True)
        return visits[:, None] * self.policy * centred


def softmax(logits: np.ndarray) -> np.ndarray:
    """Return the softmax policy of logits, shape (states, actions)."""
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def stay_or_move(policy: np.ndarray | None = None) -> Chain:
    """Return two states: staying in the second one pays 2, moving there 1; all policies even by default."""
    P = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
    return Chain(P, np.array([[0.0, 1.0], [2.0, 0.0]]), np.full((2, 2), 0.5) if policy is None else policy)


@claim(
    "q-advantage",
    "(15), (16), (17)",
    Verdict.HOLDS_AMENDED,
    says="The generalised advantage estimate can be derived from Q.",
    how="Exact values of random decision processes. Amended: with V, the mean of Q over the actions.",
)
def q_advantage(context: Context) -> Finding:
    rng = draws_of(context, 16)
    from_q = from_v = slopes = 0.0
    count = context.pick(5, 40, 400)
    for _ in track(context, range(count)):
        logits = rng.normal(size=(2, 2))
        P, rewards = rng.dirichlet(np.ones(2), size=(2, 2)), rng.normal(size=(2, 2))
        chain = Chain(P, rewards, softmax(logits))
        V, Q = chain.values()
        from_q = max(from_q, float(np.abs(chain.expected_advantage(0.95, by_q=True)).max()))
        advantage = chain.expected_advantage(0.95, by_q=False)
        from_v = max(from_v, float(np.abs(advantage - (Q - V[:, None])).max()))
        step = 1e-5 * np.eye(4).reshape(4, 2, 2)
        true = [
            (
                Chain(P, rewards, softmax(logits + d)).values()[0][0]
                - Chain(P, rewards, softmax(logits - d)).values()[0][0]
            )
            / 2e-5
            for d in step
        ]
        slopes = max(slopes, float(np.abs(chain.gradient(advantage).reshape(-1) - true).max()))
    chain = stay_or_move()
    V, Q = chain.values()
    by_q, by_v = (chain.expected_advantage(0.95, by_q=flag) for flag in (True, False))
    lines = [
        (("first", "second")[s], ("stay", "move")[a], *(float(t[s, a]) for t in (Q, by_q, by_v)))
        for s in range(2)
        for a in range(2)
    ]
    columns = ("state", "action", "Q", "expected advantage from Q", "from V")
    return Finding(
        amended_if(from_q > 1e-6, from_v < 1e-6 and slopes < 1e-4, Verdict.REFUTED),
        "From an exact Q the expected advantage is 0 for every state and action; from V it is Q - V.",
        {
            "processes": count,
            "from Q: largest expected advantage": from_q,
            "from V: largest difference from Q - V": from_v,
            "from V: largest difference from the gradient of the return": slopes,
        },
        tables=(Table("Two states, an even policy, exact values", columns, tuple(lines)),),
        assumes="Q and V are exact. What is left from Q in training is noise and the error of the critic.",
        proof="Q holds the action already, so that its temporal differences have expectation 0.",
    )


class Updates(NamedTuple):
    """What the ratios of single-sample updates were.

    Attributes
    ----------
    steps, equal, cut
        Updates, those whose ratio is exactly 1, and those where it is beyond the bound.
    furthest
        The largest distance of a ratio from 1.
    """

    steps: int
    equal: int
    cut: int
    furthest: float


def single_updates(rng: np.random.Generator, steps: int, rate: float) -> Updates:
    """Play Algorithm 1's updates of the output layer (8): one sample each, copies every z steps.

    The states are random, the advantages standard normal, the density is the right one, the optimiser Adam.
    """
    theta = np.zeros(2 * HIDDEN + 2)
    old = theta.copy()
    first, second = np.zeros_like(theta), np.zeros_like(theta)
    ratios = []
    for t in range(steps):
        x = np.column_stack([np.maximum(rng.normal(size=(PENDING, HIDDEN)), 0.0), np.ones(PENDING)])
        mean, variance = _heads(theta, x)
        action = mean + np.sqrt(variance) * rng.normal(size=PENDING)
        ratio = np.exp(log_density(action, mean, variance) - log_density(action, *_heads(old, x)))
        ratios.append(ratio)
        advantage = rng.normal()
        score = (action - mean) / variance
        by_variance = (score**2 - 1.0 / variance) / 2.0
        slope_of_log = np.concatenate(
            [(score * (1.0 - mean**2)) @ x, (by_variance * variance * (1.0 - variance)) @ x]
        )
        passes = min(ratio * advantage, np.clip(ratio, 1 - BOUND, 1 + BOUND) * advantage) == ratio * advantage
        gradient = passes * advantage * ratio * slope_of_log
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        scale = np.sqrt(second / (1.0 - 0.999 ** (t + 1))) + 1e-8
        theta = theta + rate * first / (1.0 - 0.9 ** (t + 1)) / scale
        if t % COPY == 0:
            old = theta.copy()
    away = np.abs(np.array(ratios) - 1.0)
    return Updates(steps, int((away == 0.0).sum()), int((away > BOUND).sum()), float(away.max()))


def _heads(theta: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return means and variances of (8) for job states ``x``, the last column of which is 1."""
    from scipy.special import expit

    half = len(theta) // 2
    return np.tanh(x @ theta[:half]), expit(x @ theta[half:])


@claim(
    "copy-interval",
    "(17), Algorithm 1, Appendix D",
    Verdict.UNDETERMINED,
    says="With updates at every step and copies at every second one, clipping bounds the policy.",
    how="The output layer (8) on random features: it holds if ratios are clipped at all.",
    choices=("learning rate: the least, a middle and the largest of Appendix D",),
)
def copy_interval(context: Context) -> Finding:
    steps = context.pick(200, 1000, 10000)
    found = {}
    for place_, rate in enumerate(track(context, (1e-6, 1e-5, 1e-4))):
        found[rate] = single_updates(np.random.default_rng((context.seed, 17, place_)), steps, rate)
    one = found[1e-4]
    rows = tuple((rate, u.equal, u.cut, u.furthest) for rate, u in found.items())
    columns = ("learning rate", "ratio exactly 1", "clipped", "largest |ratio - 1|")
    return Finding(
        holds_if(all(u.cut > 0 for u in found.values()), Verdict.UNDETERMINED),
        f"In {one.equal} of {steps} updates both policies are the same and the ratio is 1; on one layer "
        f"{one.cut} ratios are clipped.",
        {"updates": steps, "the bound": BOUND},
        tables=(Table(f"{steps} updates", columns, rows),),
        assumes=f"One layer, (8), on {HIDDEN} random features, {PENDING} jobs, Adam. How far a whole network "
        f"moves in one update is for a trained one to show.",
        remark="A step draws one action, updates once, and copies at every even t. The action is drawn from "
        "the new policy, so the ratio is no importance weight.",
    )


CLAIMS = claim.claims
