"""One-way trading: a fortune of 1 is sold in parts while prices come and go, what is left at the lowest."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

import clairvoyant as cv
from clairvoyant.analysis.claim import Claim, Context, Finding, Table, Verdict, holds_if
from clairvoyant.models import base, draw
from clairvoyant.models.program import CvxpyProgram
from clairvoyant.models.stopwatch import library
from clairvoyant.online.base import Traits
from clairvoyant.problems import Problem


@dataclass(frozen=True)
class Setting:
    """What is known before: no price is below ``low`` or above ``high``."""

    low: float
    high: float


class OneWayTrading(base.Instance):
    """Prices that come one by one; a decision is the part of the fortune that is sold at a price."""

    problem = "one-way-trading"
    revealed = ("prices",)

    def __init__(self, *, low: Any, high: Any, prices: Any, origin: Any = None) -> None:
        least = draw.real("low", low, 1e-9, 1e9)
        self.setting = Setting(least, draw.real("high", high, least, 1e9))
        self.prices = base.numbers(prices, "prices", (None,), low=least, high=self.setting.high)
        if not len(self.prices):
            raise base.InputError("prices: there is none")
        self.origin = base.Origin.from_dict(origin or {"source": "made by hand"})

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        form = {"problem": self.problem, "version": 1, "low": self.setting.low, "high": self.setting.high}
        return form | {"prices": self.prices.tolist(), "origin": self.origin.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "OneWayTrading":
        """Read the JSON form."""
        base.refuse_unknown(data, {"problem", "version", "low", "high", "prices", "origin"})
        needed = {name: base.need(data, name) for name in ("low", "high", "prices")}
        return cls(**needed, origin=data.get("origin"))

    def episode(self, sees: frozenset[str]) -> "Market":
        """Return a pass through the prices."""
        return Market(self)

    def violations(self, decision: Any) -> list[base.Violation]:
        """List what the parts that are sold break: each at least 0, and at most 1 in all."""
        parts = base.numbers(decision, "decision", (None,), low=-math.inf)
        found = [base.Violation("part", (int(i),), -float(parts[i])) for i in np.flatnonzero(parts < 0.0)]
        excess = math.fsum(parts) - 1.0
        return [*found, base.Violation("fortune", (), excess)] if excess > 1e-9 else found

    def program(self) -> CvxpyProgram:
        """Declare the best sale; ``parts`` makes decisions of its solution, whatever a solver's tolerance."""
        cp = library("cvxpy")
        low, s = self.setting.low, cp.Variable(len(self.prices), name="s", nonneg=True)

        def parts(found: Mapping[str, np.ndarray]) -> list[float]:
            sold = np.maximum(found["s"], 0.0)
            return (sold / max(1.0, math.fsum(sold))).tolist()

        rows = {"fortune": cp.sum(s) <= 1.0}
        return CvxpyProgram(
            cp.Problem(cp.Maximize(self.prices @ s + low * (1.0 - cp.sum(s))), list(rows.values())),
            {"s": s},
            rows,
            title=f"The best sale at {len(self.prices)} prices",
            equations=(
                "maximise    sum_t p_t s_t + low (1 - sum_t s_t)",
                "subject to  sum_t s_t <= 1,  s >= 0",
            ),
            decisions=parts,
        )


@dataclass(frozen=True)
class Price:
    """What is seen before a decision."""

    price: float


class Market:
    """One pass through the prices; with the last one, what is left is sold at the lowest there can be."""

    def __init__(self, instance: OneWayTrading) -> None:
        self._instance, self._sold = instance, list[float]()

    def __iter__(self) -> Iterator[Price]:
        """Yield every price."""
        yield from map(Price, self._instance.prices.tolist())

    def apply(self, decision: Any, *, enforce: bool = True) -> base.Outcome:
        """Check and pay the part that is sold at the present price."""
        broken = self._instance.violations([*self._sold, decision])
        if enforce and broken:
            raise base.DecisionError(f"price {len(self._sold)}: {broken[0]}", broken)
        reward = decision * float(self._instance.prices[len(self._sold)])
        self._sold.append(decision)
        if len(self._sold) == len(self._instance.prices):
            reward += self._instance.setting.low * max(0.0, 1.0 - math.fsum(self._sold))
        return base.Outcome(reward, not broken, None)


SIZES = {"tiny": (6, 4.0), "default": (100, 10.0), "large": (1000, 100.0)}
stream = draw.streams("prices")


def generate(size: str = "default", seed: int = 0, *, high: float | None = None) -> OneWayTrading:
    """Return prices that go up and down at random between 1 and 4, 10 or 100."""
    count, usual = SIZES[draw.choose(size, SIZES, "size")]
    top = usual if high is None else draw.real("high", high, 1.0, 1e9)
    steps = stream(draw.whole("seed", seed, 0), "prices").normal(0.0, 0.3, count)
    width = math.log(top)
    walk = np.abs((np.cumsum(steps) * width + width) % (2 * width or 1.0) - width)
    prices = np.clip(np.exp(walk), 1.0, top)
    return OneWayTrading(low=1.0, high=top, prices=prices, origin={"source": f"random walk, seed {seed}"})


def tight(setting: Setting) -> float:
    """Return the c >= 1 with c = ln((high / low - 1) / (c - 1)): no policy has a lower ratio than this."""
    span, least, most = setting.high / setting.low - 1.0, 1.0, 2.0 + math.log(setting.high / setting.low)
    for _ in range(100):
        c = 0.5 * (least + most)
        least, most = (c, most) if c > 1.0 and (c - 1.0) * math.exp(c) < span else (least, c)
    return most


@dataclass
class Threshold:
    """Sell up to w at price low (1 + (c - 1) e^(c w)), for the c of the theorem.

    At a highest price p >= c low so far, w of it is sold, for at least the integral of these prices up to w,
    and the rest for low or more: that is p / c, and nobody earns more than p. Below c low, low is enough.
    """

    name: str = field(default="threshold", init=False)
    traits: ClassVar[Traits] = Traits(
        "one-way-trading",
        guarantee="optimum / total <= c, c = ln((high / low - 1) / (c - 1)), the least possible",
        proven="in its docstring; El-Yaniv, Fiat, Karp and Turpin 2001",
    )

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Begin with the whole fortune."""
        self._low, self._c, self._sold = setting.low, tight(setting), 0.0

    def decide(self, seen: Price) -> float:
        """Return what is still to be sold at this price."""
        rise = (seen.price / self._low - 1.0) / max(self._c - 1.0, 1e-300)
        part = max(0.0, min(1.0, math.log(rise) / self._c if rise > 1.0 else 0.0) - self._sold)
        self._sold += part
        return part


@dataclass
class Reservation:
    """Sell everything at the first price of at least sqrt(low high)."""

    name: str = field(default="reservation", init=False)
    traits: ClassVar[Traits] = Traits(
        "one-way-trading",
        guarantee="optimum / total <= sqrt(high / low)",
        proven="at once: what is sold is at least sqrt(low high), or no price is above it",
    )

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Begin with the whole fortune."""
        self._price, self._left = math.sqrt(setting.low * setting.high), 1.0

    def decide(self, seen: Price) -> float:
        """Return all or nothing."""
        part = self._left if seen.price >= self._price else 0.0
        self._left -= part
        return part


def ratio(optimum: cv.Optimum, total: float) -> tuple[float, float]:
    """Return the interval of optimum / total."""
    return optimum.value / total, (math.inf if optimum.bound is None else optimum.bound) / total


def bounds(instance: OneWayTrading) -> dict[str, float]:
    """Return the theorem's ratio."""
    return {"the ratio of the best policy": tight(instance.setting)}


def ladder(high: float, steps: int) -> np.ndarray:
    """Return prices that rise from 1 by equal factors: the adversary stops them when it hurts most."""
    return high ** (np.arange(1, steps + 1) / steps)


def worst(policy: Any, high: float, steps: int) -> float:
    """Return the largest optimum / total of a policy on the beginnings of a ladder."""
    prices = ladder(high, steps)
    begun = [OneWayTrading(low=1.0, high=high, prices=prices[: k + 1]) for k in range(steps)]
    return max(cv.solve(one).bound / cv.play(policy, one).total for one in begun)


def least(high: float, steps: int) -> float:
    """Return the least ratio that any policy at all can have on the beginnings of a ladder, by a program."""
    cp, prices = library("cvxpy"), ladder(high, steps)
    s, share = cp.Variable(steps, nonneg=True), cp.Variable()
    earned = cp.cumsum(cp.multiply(prices - 1.0, s)) + 1.0
    problem = cp.Problem(cp.Maximize(share), [earned >= share * prices, cp.sum(s) <= 1.0])
    return 1.0 / float(problem.solve(solver="HIGHS"))


def check(context: Context) -> Finding:
    """Close in on the ratio from both sides: what the policy reaches, and what no policy can avoid."""
    steps, rows = context.pick(20, 60, 400), []
    for high in (2.0, 10.0, 100.0):
        rows.append((high, least(high, steps), worst(Threshold(), high, steps), tight(Setting(1.0, high))))
        context.progress(len(rows) / 3)
    sound = all(max(low, reached) <= c * (1.0 + 1e-6) for _, low, reached, c in rows)
    close = all(min(low, reached) >= 0.9 * c for _, low, reached, c in rows)
    table = Table("Ratios", ("high / low", "of no policy less", "of threshold", "theorem"), tuple(rows))
    text = (
        "No policy is below {1:.3f} at high / low = {0:g}; threshold has {2:.3f}, the theorem says {3:.3f}."
    )
    return Finding(holds_if(sound and close), text.format(*rows[-1]), tables=(table,))


CLAIM = Claim(
    "one-way-trading/tight",
    "El-Yaniv, Fiat, Karp and Turpin 2001",
    "The threshold policy has the ratio c = ln((high / low - 1) / (c - 1)), and no policy has a lower one.",
    "Rising prices that stop anywhere: against the declared program; the least of all by a linear program.",
    Verdict.HOLDS,
    check,
)

PROBLEM = Problem(
    name="one-way-trading",
    summary="a fortune to sell in parts at prices that come and go",
    instance=OneWayTrading,
    generate=generate,
    policies={policy.name: policy for policy in (Threshold, Reservation)},
    claims=(CLAIM,),
    ratio=ratio,
    bounds=bounds,
)
