"""Claims about the densities and the objective that DAS is trained by (Sec. 4.1.2, 4.3, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...claim import Context, Finding, Register, Verdict, Why, amended_if, finding, holds_if, table
from ...experiments import track
from ..formulas import clipped, log_density, printed_clipped, printed_log_density
from .network import HIDDEN, PENDING

claim = Register("placement")

BOUND, COPY, DISCOUNT = 0.2, 2, 0.98  # epsilon in (17), z, the steps between copies, and gamma (Appendix D)


@claim("log-density", "Sec. 4.3, after (18)", Verdict.REFUTED)
def printed_density(_context: Context) -> Finding:
    """The printed formula is the logarithm of the density of the normal distribution.

    Its integral in one dimension and its ratios, beside the normal density.
    """
    from scipy.integrate import quad

    def density(of: Callable[..., float], action: float, variance: float) -> float:
        return float(np.exp(of(np.array([action]), np.zeros(1), np.array([variance]))))

    both = printed_log_density, log_density
    rows = [
        (v, *(quad(lambda a, f=f, v=v: density(f, a, v), -20.0, 20.0)[0] for f in both), 1.0 / v)
        for v in (0.1, 0.25, 0.5, 0.99)
    ]
    printed, normal = (density(f, 1.0, 0.25) / density(f, 1.0, 0.5) for f in both)
    return finding(
        holds_if(max(abs(row[1] - 1.0) for row in rows) < 1e-6),
        "The printed formula is no density: without the inverse covariance it integrates to 1 / Sigma.",
        {"action 1 away, Sigma from 0.5 to 0.25: ratio, printed": printed, "normal density": normal},
        table("Integral of the density", "Sigma | printed | normal density | 1 / Sigma", rows),
        assumes="The covariance is diagonal, with variances between 0 and 1 by (8).",
        proof="The integral is computed by quadrature. The derivative of the printed formula by Sigma is -1 "
        "/ Sigma, whatever the action was: a good action far off makes the policy narrower instead of wider.",
    )


def first_probability(ahead: float, variance: float, jobs: int) -> float:
    """Return how likely a normal score with mean ``ahead`` is the largest, beside others with mean 0."""
    from scipy.special import ndtr

    z, weight = np.polynomial.hermite_e.hermegauss(120)
    below = ndtr(ahead / np.sqrt(variance) + z) ** (jobs - 1)
    return float((weight * below).sum() / weight.sum())


def variance_of(probability: float, jobs: int) -> float:
    """Return the variance for which a score of that mean is the largest with that probability."""
    from scipy.optimize import brentq

    return float(brentq(lambda v: first_probability(probability, v, jobs) - probability, 0.01, 1.0))


@claim(
    "priority-probability",
    "(7), (8), Sec. 5.5, Figure 6(a)",
    because=Why.DEPENDS,
    choices=("the number of jobs: 2 to 24", "the variance, from (0, 1) by (8)", "means of the other jobs: 0"),
)
def priority_probability(_context: Context) -> Finding:
    """The priority 0.69 is the probability of being scheduled first.

    Exact probabilities for normal scores, by the number of jobs and the variance, to two digits.
    """
    variances, many = (0.1, 0.5, 0.99), (2, 5, 10, PENDING)
    rows = [(n, *(first_probability(0.69, v, n) for v in variances), variance_of(0.69, n)) for n in many]
    heads = " | ".join(["jobs", *(f"Sigma = {v:g}" for v in variances), "Sigma for which it is 0.69"])
    tried = [(n, v) for n, row in zip(many, rows, strict=True) for v in (*variances, row[-1])]
    agree = {
        f"{n} jobs, Sigma = {v:.3g}": abs(first_probability(0.69, v, n) - 0.69) < 0.005 for n, v in tried
    }
    return finding(
        holds_if(all(agree.values()), Verdict.UNDETERMINED if any(agree.values()) else Verdict.REFUTED),
        "0.69 is the probability of being first for one variance per number of jobs, which the text does not "
        "give, and not for others.",
        table("Probability that a score with mean 0.69 is the largest, others with 0", heads, rows),
        signs={"0.69 is the probability": agree},
        assumes="0.69 is the mean of the score. Scores are independent and normal, by (8), those of other "
        "jobs with mean 0.",
        proof="By (7) and (8) the score is any number, and nothing makes scores add up to 1: see the table.",
    )


def slope(objective: Callable[..., np.ndarray], ratio: float, advantage: float) -> float:
    """Return the derivative of a clipped objective by the ratio."""
    h = 1e-6
    low, high = (float(objective(ratio + d, advantage, BOUND)) for d in (-h, h))
    return round((high - low) / (2.0 * h), 6) + 0.0


@claim("clip", "(17), (18)", Verdict.REFUTED)
def clip(_context: Context) -> Finding:
    """The minimum of the mean ratio and its clipped value, times B, bounds how far the policy moves.

    Values and slopes beside PPO's, for both signs of B.
    """
    both = printed_clipped, clipped
    rows = [
        (r, B, *(value for f in both for value in (float(f(r, B, BOUND)), slope(f, r, B))))
        for B in (1.0, -1.0)
        for r in (0.5, 1.0, 2.0)
    ]
    wrong = sum(row[3] != row[5] for row in rows)
    good_and_bad = np.array([1.0, -1.0])
    (printed, right), (printed_then, right_then) = (
        [float(f(np.array(ratios), good_and_bad, BOUND).sum()) for f in both]
        for ratios in ((1.2, 3.0), (1.0, 1.1))
    )
    heads = "ratio | B | printed | derivative | PPO | derivative of PPO"
    swapped = printed > printed_then and right < right_then
    return finding(
        holds_if(not wrong and not swapped),
        "As printed a bad action that became less likely is pushed on: for B < 0 the wrong side is cut.",
        {"cases with another slope than PPO's": wrong, "two samples: preference reversed": swapped},
        table("Objective of one sample and its derivative by the ratio, epsilon = 0.2", heads, rows),
        proof="min(ratio, clip(ratio)) B is min(ratio, 1 + epsilon) B. For B < 0 its slope is B below 1 - "
        "epsilon, where that of PPO is 0: nothing stops the policy from moving on. Above 1 + epsilon it is "
        "0, where that of PPO is B: a bad action that has become likely is never put right.",
        remark="The printed ratio is an expectation; over the old policy it is 1 for every new one.",
    )


class Chain(NamedTuple):
    """A decision process: P (states, actions, next states), rewards (states, actions), policy likewise."""

    P: np.ndarray
    rewards: np.ndarray
    policy: np.ndarray

    @property
    def moves(self) -> np.ndarray:
        """Return I - gamma times the probabilities to get from state to state."""
        return np.eye(len(self.P)) - DISCOUNT * np.einsum("sa,sax->sx", self.policy, self.P)

    def values(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the exact V, shape (states,), and Q, shape (states, actions), of the policy."""
        V = np.linalg.solve(self.moves, (self.policy * self.rewards).sum(axis=1))
        return V, self.rewards + DISCOUNT * self.P @ V

    def expected_advantage(self, decay: float, *, by_q: bool) -> np.ndarray:
        """Return E[GAE | s, a] with temporal differences of the exact Q or V, shape (states, actions)."""
        V, Q = self.values()
        ahead = (self.policy * Q).sum(axis=1) if by_q else V
        delta = self.rewards + DISCOUNT * self.P @ ahead - (Q if by_q else V[:, None])
        onward = np.einsum("sax,xb->saxb", self.P, self.policy).reshape(delta.size, -1)
        total = np.linalg.solve(np.eye(delta.size) - DISCOUNT * decay * onward, delta.reshape(-1))
        return total.reshape(delta.shape)

    def gradient(self, advantage: np.ndarray) -> np.ndarray:
        """Return the policy gradient by the logits of a softmax policy, from state 0."""
        visits = np.linalg.solve(self.moves.T, np.eye(len(self.P))[0])
        centred = advantage - (self.policy * advantage).sum(axis=1, keepdims=True)
        return visits[:, None] * self.policy * centred


@claim("q-advantage", "(15), (16), (17)", Verdict.HOLDS_AMENDED)
def q_advantage(context: Context) -> Finding:
    """B_t, the generalised advantage estimate of taking an action, can be derived by the Q-value of (15).

    Exact values of random decision processes. Amended: by way of V, the mean of Q over the actions.
    """
    from scipy.special import softmax

    rng = context.rng(16)
    from_q = from_v = slopes = 0.0
    for _ in track(context, range(context.pick(5, 20, 400))):
        logits, P = rng.normal(size=(2, 2)), rng.dirichlet(np.ones(2), size=(2, 2))
        rewards, steps = rng.normal(size=(2, 2)), 1e-5 * np.vstack([np.eye(4), -np.eye(4)]).reshape(8, 2, 2)
        chain = Chain(P, rewards, softmax(logits, axis=1))
        V, Q = chain.values()
        by_q, by_v = (chain.expected_advantage(0.95, by_q=flag) for flag in (True, False))
        moved = [Chain(P, rewards, softmax(logits + d, axis=1)).values()[0][0] for d in steps]
        true = (np.array(moved[:4]) - moved[4:]) / 2e-5
        from_q = max(from_q, float(np.abs(by_q).max()))
        from_v = max(from_v, float(np.abs(by_v - (Q - V[:, None])).max()))
        slopes = max(slopes, float(np.abs(chain.gradient(by_v).reshape(-1) - true).max()))
    return finding(
        amended_if(from_q > 1e-6, from_v < 1e-6 and slopes < 1e-4),
        "From an exact Q the expected advantage is 0 for every state and action; from V it is Q - V.",
        {"from Q: largest": from_q, "from V: off Q - V": from_v, "from V: off the gradient": slopes},
        assumes="Q and V are exact. How the Q-value gives the estimate the paper does not say.",
        proof="Q holds the action already, so that its temporal differences have expectation 0.",
    )


def single_updates(rng: np.random.Generator, steps: int, rate: float) -> np.ndarray:
    """Return the ratios of Adam's updates of (8) by Algorithm 1, of a random state and advantage each."""
    theta = np.zeros(2 * HIDDEN + 2)
    old, first, second = theta.copy(), np.zeros_like(theta), np.zeros_like(theta)
    ratios = np.empty(steps)
    for t in range(steps):
        x = np.column_stack([np.maximum(rng.normal(size=(PENDING, HIDDEN)), 0.0), np.ones(PENDING)])
        mean, variance = _heads(theta, x)
        action = mean + np.sqrt(variance) * rng.normal(size=PENDING)
        ratio = np.exp(log_density(action, mean, variance) - log_density(action, *_heads(old, x)))
        ratios[t], advantage = ratio, rng.normal()
        score = (action - mean) / variance
        by_variance = (score**2 - 1.0 / variance) / 2.0
        slopes = [(score * (1.0 - mean**2)) @ x, (by_variance * variance * (1.0 - variance)) @ x]
        passes = clipped(ratio, advantage, BOUND) == ratio * advantage
        gradient = passes * advantage * ratio * np.concatenate(slopes)
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        scale = np.sqrt(second / (1.0 - 0.999 ** (t + 1))) + 1e-8
        theta = theta + rate * first / (1.0 - 0.9 ** (t + 1)) / scale
        if t % COPY == 0:
            old = theta.copy()
    return ratios


def _heads(theta: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return means and variances of (8) for job states ``x``, the last column of which is 1."""
    from scipy.special import expit

    half = len(theta) // 2
    return np.tanh(x @ theta[:half]), expit(x @ theta[half:])


@claim(
    "copy-interval",
    "(17), Algorithm 1, Appendix D",
    because=Why.LACKING,
    choices=("learning rate: the least, a middle and the largest of Appendix D",),
)
def copy_interval(context: Context) -> Finding:
    """With updates at every step and copies at every second one, clipping bounds the policy.

    The output layer (8) on random features: it holds if ratios are clipped at all.
    """
    steps, rows = context.pick(200, 1000, 10000), []
    for place, rate in enumerate(track(context, (1e-6, 1e-5, 1e-4))):
        away = np.abs(single_updates(context.rng(17, place), steps, rate) - 1.0)
        rows.append((rate, int((away == 0.0).sum()), int((away > BOUND).sum()), float(away.max())))
    _, equal, cut, _ = rows[-1]
    return finding(
        holds_if(all(row[2] > 0 for row in rows), Verdict.UNDETERMINED),
        f"In {equal} of {steps} updates both policies are the same; on one layer {cut} ratios are clipped.",
        {"the bound": BOUND},
        table(f"{steps} updates", "learning rate | ratio exactly 1 | clipped | largest |ratio - 1|", rows),
        assumes=f"One layer, (8), on {HIDDEN} random features, {PENDING} jobs, Adam; not a whole network.",
        remark="The action is drawn from the new policy, so the ratio is no importance weight.",
    )
