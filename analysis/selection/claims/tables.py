"""Claims about Table 3, the baselines and the text of Sec. 4; the figures are in :mod:`.figures`."""

from __future__ import annotations

import numpy as np

from ....models.base import Origin
from ....models.selection.generate import COST, MEAN, SIZES, SPREAD, generate
from ....models.selection.instance import SelectionInstance
from ....online.play import play
from ....online.selection import EsdpPrinted, Hswf, statistics
from ...claim import Context, Finding, Register, Table, Verdict, holds_if
from ...experiments import policy_seed, seeds, spread, track
from ...statistics import mean_interval
from ..experiments import BASELINES, Contender, Setup, instance
from .algorithm import six_channels
from .readings import NOTE

claim = Register("selection")
REFUTED = Verdict.REFUTED

CAPACITIES = (2, 12, 24)
"""c as printed, the default, and the hard case."""

SYNTHETIC = "Synthetic instances with the distributions of Table 3"


@claim(
    "table-3",
    "Table 3, Sec. 4",
    Verdict.HOLDS,
    says="Table 3 and the text describe a scenario that can be drawn.",
    how="What the generator and the policy draw or hold, with c = 2 and costs in full, against what is "
    "printed.",
    choices=("the unit of the capacities",),
)
def _table_3(context: Context) -> Finding:
    sampled = seeds(context, 10, 30, 100)
    made = [instance(Setup(capacity=2, cost_scale=1.0), seed) for seed in track(context, sampled)]
    first, policy = made[0].setting, EsdpPrinted()
    demand = np.concatenate([i.setting.demand.ravel() for i in made])
    mu = np.concatenate([i.scale for i in made]) / SPREAD
    arrived = np.array([i.arrivals.mean() for i in made])
    preset = SIZES["default"]
    density = np.array([i.setting.channels / (preset.ports * preset.servers) for i in made])
    price = np.concatenate([generate(seed=s, kinds=1, cost_scale=1.0).setting.cost for s in sampled])
    most = np.array([i.setting.most_channels for i in made])
    grown = statistics.delta(policy.delta, 1.0), statistics.g(policy.g, 1.0, 16.0)
    says = (1 / (np.log(np.log(2) + 1) + 1), np.log(2) + 4 * np.log(np.log(2) + 1) * 16)

    def near(samples: np.ndarray, value: float) -> bool:
        _, low, high = mean_interval(samples, 0.9999)
        return bool(low <= value <= high)

    rows = (
        ("job types |L|", 8, first.ports, first.ports == 8 == preset.ports),
        ("servers |R|", 40, preset.servers, preset.servers == 40),
        ("kinds of devices K", 3, first.kinds, first.kinds == 3),
        ("slots T", 2000, first.slots, first.slots == 2000),
        ("demands", "from 1 to 2", f"drawn from {demand.min()} to {demand.max()}", set(demand) == {1, 2}),
        ("arrival probability rho", 0.9, f"{spread(arrived, 4)} jobs per port and slot", near(arrived, 0.9)),
        (
            "probability of a channel, printed as rho_(l,r)",
            0.1,
            f"{spread(density, 4)} of all pairs",
            near(density, 0.1),
        ),
        (
            "mean utility mu",
            "uniform on 0.1 to 1",
            f"mean {spread(mu, 3)}, from {mu.min():.2f} to {mu.max():.2f}",
            near(mu, sum(MEAN) / 2) and mu.min() >= MEAN[0] and mu.max() <= MEAN[1],
        ),
        (
            "supply cost f_k of a kind",
            "normal (0.5, 0.1)",
            f"mean {spread(price, 3)}, deviation {price.std():.3f}",
            near(price, COST[0]) and abs(price.std() - COST[1]) < 0.02,
        ),
        ("alpha", 0.5, policy.alpha, policy.alpha == 0.5),
        ("delta(1)", f"{says[0]:.4f}", f"{grown[0]:.4f}", bool(np.isclose(grown[0], says[0]))),
        ("g(1) at alpha |E| = 16", f"{says[1]:.4f}", f"{grown[1]:.4f}", bool(np.isclose(grown[1], says[1]))),
    )
    kept = sum(bool(row[3]) for row in rows)
    return Finding(
        holds_if(kept == len(rows), Verdict.UNDETERMINED),
        "All parameters of Table 3 can be drawn; its capacities of 1 to 2 then admit two channels at once.",
        {
            "instances": len(sampled),
            "parameters": len(rows),
            "reproduced": kept,
            "most channels at once, c = 2": int(most.max()),
        },
        tables=(
            Table(
                f"Table 3. {SYNTHETIC}; the paper's trace is not used here",
                ("parameter", "paper", "ours", "agrees"),
                tuple((*row[:3], "yes" if row[3] else "no") for row in rows),
            ),
        ),
        remark="The bounds of c are said to be normalised, by what is not said. At c = 2 no job runs on "
        "more than two servers, so most claims run over c = 2, 12 and 24. The costs have claims of their "
        "own.",
    )


@claim(
    "alpha",
    "Sec. 4 (default algorithmic settings), Table 3",
    REFUTED,
    says="The most channels at once, m, is calculated as alpha |E| with alpha = 0.5.",
    how="alpha |E| against the exact m at c = 2, 12 and 24.",
    choices=("the unit of the capacities",),
)
def _alpha(context: Context) -> Finding:
    sampled = seeds(context, 10, 30, 200)
    lines, equal = [], []
    for c in track(context, CAPACITIES):
        made = [instance(Setup(slots=0, capacity=c), seed).setting for seed in sampled]
        exact = np.array([s.most_channels for s in made], dtype=float)
        half = np.array([EsdpPrinted().alpha * s.channels for s in made])
        equal.append(float((half == exact).mean()))
        shares = (100 * float((half < exact).mean()), 100 * float((half > exact).mean()))
        lines.append((c, spread(exact), spread(half), *shares))
    small = six_channels(1).setting
    return Finding(
        holds_if(min(equal) == 1.0, REFUTED),
        "alpha |E| is several times m where devices are scarce, and below m where they are not.",
        {
            "instances": len(sampled),
            **{f"equal to m, c = {c}": e for c, e in zip(CAPACITIES, equal, strict=True)},
        },
        tables=(
            Table(
                f"alpha |E| against the exact m = max ||x||_1. {SYNTHETIC}, {len(sampled)} of them",
                ("capacity", "m", "alpha |E|", "too small on (%)", "too large on (%)"),
                tuple(lines),
            ),
        ),
        counterexample=six_channels(1),
        remark=f"On the counterexample alpha |E| is {0.5 * small.channels:g} and m is {small.most_channels}. "
        "Too large a value only widens g and S(t); what one that is too small does is the claim "
        "selection/truncated-s.",
    )


@claim(
    "costs",
    "(7), Table 3",
    REFUTED,
    says="With costs f_k from N(0.5, 0.1) the mean net utilities are in [0, 1].",
    how="Means of utility less cost before clipping at several scales of the costs.",
    choices=("the scale of the costs",),
)
def _costs(context: Context) -> Finding:
    sampled = seeds(context, 10, 40, 400)
    scales = (1.0, 0.5, 0.2, 0.1, 0.0)
    negative, best = np.zeros((len(sampled), len(scales))), np.zeros((len(sampled), len(scales)))
    for row, seed in track(context, enumerate(sampled)):
        for column, scale in enumerate(scales):
            made = instance(Setup(slots=0, cost_scale=scale), seed)
            plain = made.scale / SPREAD - made.setting.cost
            negative[row, column] = 100.0 * (plain < 0.0).mean()
            best[row, column] = made.setting.knapsack.best(np.maximum(plain, 0.0)).value
    return Finding(
        holds_if(bool((negative[:, 0] == 0.0).all()), REFUTED),
        "With the printed costs nearly every channel has a negative mean, and doing nothing is best.",
        {"instances": len(sampled)},
        tables=(
            Table(
                f"Costs and what they leave, c = 12, jobs at all ports. {SYNTHETIC}, {len(sampled)} of them",
                (
                    "costs times",
                    "channels with a negative mean (%)",
                    "optimum",
                    "doing nothing is best on (%)",
                ),
                tuple(
                    (
                        f"{scale:g}",
                        spread(negative[:, i], 2),
                        spread(best[:, i], 3),
                        round(100 * float((best[:, i] == 0.0).mean()), 1),
                    )
                    for i, scale in enumerate(scales)
                ),
            ),
        ),
        proof="mu is at most 1, and the three costs sum to a normal variable of mean 1.5 and deviation "
        "0.17. That is above 1 with probability 0.998, so even the best channel has a negative mean net "
        "utility nearly always, and (7) puts it in [0, 1].",
        remark="A tenth of the costs is our default, which leaves a few per cent of the channels negative "
        "before clipping.",
    )


def decisions(who: Contender, sampled: SelectionInstance, seed: int) -> np.ndarray:
    """Return what a baseline decides, x[slot, channel]."""
    return np.array(play(who.make(), sampled, policy_seed(seed), keep_decisions=True).decisions)


@claim(
    "baselines",
    "Sec. 4 (baselines)",
    Verdict.VACUOUS,
    says="All three baselines estimate utilities by averages of what they observed.",
    how="Each baseline on two sample paths of one instance: one that uses what it observes decides "
    "differently.",
)
def _baselines(context: Context) -> Finding:
    sampled, slots = seeds(context, 4, 6, 20), context.pick(100, 200, 2000)
    differ = {who: np.zeros(len(sampled)) for who in BASELINES}
    for row, seed in track(context, enumerate(sampled)):
        made = instance(Setup(slots=slots), seed)
        data = made.to_dict()
        other = SelectionInstance.from_dict(data | {"seed": data["seed"] + 1})
        for who in BASELINES:
            both = [decisions(who, nature, seed) for nature in (made, other)]
            differ[who][row] = 100.0 * (both[0] != both[1]).any(axis=1).mean()
    learns = {who.label: bool((values > 0.0).any()) for who, values in differ.items()}
    return Finding(
        Verdict.HOLDS if all(learns.values()) else Verdict.VACUOUS,
        "LCF and LWTF may estimate what they like: no decision of theirs depends on it.",
        {"instances": len(sampled), "slots": slots},
        tables=(
            Table(
                f"Slots decided differently on another sample path of an instance, {slots} slots. {NOTE}",
                ("baseline", "slots decided differently (%)", "uses what it observes"),
                tuple(
                    (who.label, spread(values), "yes" if learns[who.label] else "no")
                    for who, values in differ.items()
                ),
            ),
        ),
        remark="They rank by cost and by waiting time. HAUF in the list and in Sec. 4.3 is HSWF elsewhere. "
        "Ranking by x_(l,r)(t) before x is chosen is circular; all channels of a port are taken to count.",
    )


def second_thoughts() -> SelectionInstance:
    """Return two ports at one device; HSWF serves the first, meets the second alone, and then prefers it."""
    return SelectionInstance(
        edges=[(0, 0), (1, 0)],
        demand=[[1], [1]],
        capacity=[1],
        mean=[0.25, 1.0],
        arrivals=[[1, 1], [0, 1], [1, 1]],
        origin=Origin("HSWF decides differently under the same arrivals in slots 0 and 2"),
    )


@claim(
    "hswf-strategy",
    "Sec. 4.1",
    REFUTED,
    says="Unlike ESDP, HSWF does not adjust its strategy.",
    how="HSWF as the list of baselines defines it, on two ports: its decisions under the same arrivals.",
    choices=("whether it stops at, or skips, what does not fit",),
)
def _hswf_strategy(_context: Context) -> Finding:
    small = second_thoughts()
    found = {
        m: np.array(play(Hswf(misfit=m), small, keep_decisions=True).decisions) for m in ("stop", "skip")
    }
    adjusts = all(not np.array_equal(x[0], x[2]) for x in found.values())
    return Finding(
        holds_if(not adjusts, REFUTED),
        "HSWF ranks ports by what it has observed, and so changes its mind.",
        {f"{m}, port served in slot {t}": int(np.argmax(x[t])) for m, x in found.items() for t in (0, 2)},
        counterexample=small,
    )


@claim(
    "heuristics",
    "Sec. 4 (baselines)",
    Verdict.NOT_CHECKABLE,
    says="Heuristics such as the genetic algorithm take non-polynomial time in every slot.",
    how="Not checked: no heuristic is specified.",
)
def _heuristics(_context: Context) -> Finding:
    return Finding(
        Verdict.NOT_CHECKABLE,
        "No heuristic is specified but by the name of the genetic algorithm, so there is nothing to run.",
        remark="With a fixed number of generations it is polynomial.",
    )


CLAIMS = claim.claims
