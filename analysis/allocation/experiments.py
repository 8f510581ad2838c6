"""Runs that the claims of Sec. 4 share: who plays on what, their rewards, and how sure a difference is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, lru_cache, partial
from typing import NamedTuple, TypeVar

import numpy as np

from ...models.allocation.generate import generate
from ...models.allocation.instance import AllocationInstance
from ...online.allocation import BinPacking, Drf, Fairness, Ogasched, Spreading
from ...online.base import Policy
from ...online.play import play
from ..claim import Context, Figure, Table, Verdict, holds_if
from ..plots import name_axes, new_figure, plot_bands, plot_bars, to_svg
from ..statistics import mean_band, mean_interval

T = TypeVar("T")

WHO_SEES = "OGASched decides before it sees the slot's arrivals, the heuristics after"
"""Stands in every table: the two kinds of policy do not play the same game."""

SEEDS_APART = 1000
"""Contexts with different seeds use different instances, as long as a check draws fewer than this."""


@dataclass(frozen=True)
class Setup:
    """Arguments of the generator, without the seed."""

    size: str = "default"
    slots: int | None = None
    ports: int | None = None
    servers: int | None = None
    density: float | None = None
    arrival_probability: float = 0.7
    contention: float | None = None
    utility: str = "mix"
    overhead: tuple[float, float] | None = None
    filled: bool = True


@dataclass(frozen=True)
class Contender:
    """A policy with its settings, known by its label.

    Attributes
    ----------
    label
        Name in tables and figures.
    make
        Makes the policy.
    knows_horizon
        Whether decisions depend on T; otherwise the first t rewards are those of a run of t slots.
    """

    label: str
    make: Callable[[], Policy] = field(compare=False)
    knows_horizon: bool = field(default=False, compare=False)

    @property
    def decides(self) -> str:
        """When it decides."""
        return "after arrivals" if "arrivals" in self.make().traits.sees else "before arrivals"


CONSTANT = Contender("OGASched (constant)", partial(Ogasched, "constant", "fair"), knows_horizon=True)
PER_SLOT = Contender("OGASched (26)", partial(Ogasched, "per-slot", "fair"), knows_horizon=True)
TABLE_1 = Contender("OGASched (Table 1)", partial(Ogasched, "decay", "fair"))
DRF = Contender("DRF", Drf)
FAIRNESS = Contender("FAIRNESS", Fairness)
FAIRNESS_LITERAL = Contender("FAIRNESS (literal)", partial(Fairness, "all"))
BINPACKING = Contender("BINPACKING", BinPacking)
SPREADING = Contender("SPREADING", Spreading)

OGASCHED = (CONSTANT, TABLE_1)
BASELINES = (DRF, FAIRNESS, BINPACKING, SPREADING)
HEURISTICS = (DRF, FAIRNESS, FAIRNESS_LITERAL, BINPACKING, SPREADING)
EVERYONE = (*OGASCHED, *HEURISTICS)

STEPS = (
    "(constant): D/(G sqrt T); (Table 1): eta0 = 25, decay 0.9999; both start from every port's fair share. "
    "FAIRNESS divides a server among the ports that have jobs, (literal) among all its ports"
)


def with_step(eta0: float, decay: float) -> Contender:
    """Return OGASched with the step eta0 decay^t."""
    return Contender(f"eta0 = {eta0:g}, decay {decay:g}", partial(Ogasched, "decay", "fair", eta0, decay))


def seeds(context: Context, quick: int, default: int, full: int) -> range:
    """Return the instance seeds of a check; how many depends on the mode."""
    first = SEEDS_APART * context.seed
    return range(first, first + int(context.pick(quick, default, full)))


@lru_cache(maxsize=8)
def instance(setup: Setup, seed: int) -> AllocationInstance:
    """Return the instance of a setup and an instance seed."""
    return generate(seed=seed, **asdict(setup))


@cache
def rewards(who: Contender, setup: Setup, seed: int) -> np.ndarray:
    """Return the reward of every slot, shape (T,); each run is made once per process.

    The policy's seed is another stream than the instance's.
    """
    policy_seed = int(np.random.SeedSequence(seed, spawn_key=(1,)).generate_state(1)[0])
    result = play(who.make(), instance(setup, seed), policy_seed).rewards
    result.setflags(write=False)
    return result


@cache
def optimum(setup: Setup, seed: int) -> float:
    """Return the reward per slot of the best stationary allocation in hindsight."""
    from ...oracles.allocation import stationary

    drawn = instance(setup, seed)
    return float(stationary(drawn).value) / drawn.setting.slots


def averages(who: Contender, setup: Setup, drawn: Sequence[int]) -> np.ndarray:
    """Return the average reward per slot on each instance seed."""
    return np.array([rewards(who, setup, seed).mean() for seed in drawn])


def optima(setup: Setup, drawn: Sequence[int]) -> np.ndarray:
    """Return the stationary optimum per slot on each instance seed."""
    return np.array([optimum(setup, seed) for seed in drawn])


def by_horizon(who: Contender, setup: Setup, drawn: Sequence[int], lengths: Sequence[int]) -> np.ndarray:
    """Return average rewards for several horizons, shape (seeds, lengths).

    The first slots of a longer instance are those of the shorter one, so one run serves all lengths unless
    the policy knows T.
    """
    if who.knows_horizon:
        return np.stack([averages(who, replace(setup, slots=n), drawn) for n in lengths], axis=1)
    longest = replace(setup, slots=max(lengths))
    return np.array([[rewards(who, longest, seed)[:n].mean() for n in lengths] for seed in drawn])


def lead(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Return by how many per cent of their mean over the seeds ``ours`` is above ``theirs``, seed by seed.

    The mean of the result is the ratio of the means less one; single rewards may be near zero or negative.
    """
    result: np.ndarray = 100.0 * (ours - theirs) / abs(theirs.mean())
    return result


def strongest(among: Iterable[Contender], setup: Setup, drawn: Sequence[int]) -> Contender:
    """Return the contender with the largest average reward over the seeds."""
    return max(among, key=lambda who: float(averages(who, setup, drawn).mean()))


def spread(samples: np.ndarray, digits: int = 1, sign: bool = False) -> str:
    """Return mean and half width of the 95 % interval over seeds as text."""
    mean, low, _ = mean_interval(samples)
    return f"{mean:{'+' if sign else ''}.{digits}f} ± {mean - low:.{digits}f}"


def positive(samples: np.ndarray) -> bool | None:
    """Tell whether the mean is positive (True) or negative (False); ``None`` if the 95 % interval holds 0."""
    _, low, high = mean_interval(samples)
    return True if low > 0 else False if high < 0 else None


class Statement(NamedTuple):
    """One thing the text says, what we find, and whether that agrees (``None``: undecided)."""

    says: str
    finds: str
    agrees: bool | None


def verdict(statements: Iterable[Statement]) -> Verdict:
    """Return "fails" if a statement fails, else "holds"; what is undecided decides nothing."""
    return holds_if(all(s.agrees is not False for s in statements))


def statement_table(statements: Iterable[Statement]) -> Table:
    """Return a table of statements."""
    words = {True: "holds", False: "fails", None: "undecided"}
    return Table(
        f"What the text says, statement by statement. {WHO_SEES}",
        ("statement", "found (mean ± 95 % half width over seeds)", "verdict"),
        tuple((s.says, s.finds, words[s.agrees]) for s in statements),
    )


def curves(
    name: str,
    caption: str,
    x: Sequence[float] | np.ndarray,
    panels: Mapping[str, Mapping[str, np.ndarray]],
    x_axis: str,
    log: str = "",
) -> Figure:
    """Return a figure with one panel per y axis label, of curves with bands over seeds.

    ``panels[y axis][curve]`` has shape (seeds, points).
    """
    figure, axes = new_figure(len(panels))
    for ax, (y_axis, lines) in zip(np.atleast_1d(np.array(axes, dtype=object)), panels.items(), strict=True):
        plot_bands(ax, x, {label: mean_band(samples) for label, samples in lines.items()})
        name_axes(ax, x_axis, y_axis, log=log)
    return Figure(f"allocation-{name}", f"{caption} {WHO_SEES}.", to_svg(figure))


def bars(
    name: str, caption: str, groups: Sequence[str], series: Mapping[str, np.ndarray], axis: str
) -> Figure:
    """Return a figure of bars with intervals over seeds; ``series[label]`` has shape (seeds, groups)."""
    figure, ax = new_figure(height=max(3.3, 0.16 * len(groups) * (len(series) + 1)))
    plot_bars(ax, groups, {label: mean_band(samples) for label, samples in series.items()})
    ax.set_xlabel(axis)
    return Figure(f"allocation-{name}", f"{caption} {WHO_SEES}.", to_svg(figure))


def track(context: Context, items: Iterable[T]) -> Iterator[T]:
    """Yield the items, reporting how many are done."""
    known = list(items)
    for done, item in enumerate(known):
        context.progress(done / len(known))
        yield item
    context.progress(1.0)
