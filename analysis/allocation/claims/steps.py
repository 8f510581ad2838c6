"""Claims about the step of OGASched and what it learns over time (Sec. 4.1 and 4.2, Fig. 4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ....models.allocation import geometry
from ....online.allocation import Ogasched
from ...claim import Context, Finding, Register, Why
from ...engine.kept import decided
from ...experiments import Contender, lead, policy_seed, seeds
from ...plots import POSITIVE
from ...study import Statement, amounts, how_sure, judge
from ..experiments import CONSTANT, FAIRNESS, OGASCHED, PER_SLOT, TABLE_1, Setup, instance, rewards
from ..regret import checkpoints
from . import readings
from .readings import CHOICES, LAB, OPEN, OURS, by_step, on, ours, rises, usual

claim = Register("allocation")

ETA0, DECAY = 25.0, 0.9999


def own_steps(who: Contender, setup: Setup, seed: int, slots: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the step (26) in the first slots of a run, NaN where nothing arrives (it is 0/0).

    The second array has it for as many edges with jobs in every slot: times the root of their share.
    """
    drawn = instance(setup, seed)
    s, steps = drawn.setting, np.full(slots, np.nan)
    decisions = decided(who.make(), drawn, policy_seed(seed), most=slots)
    for slot, (x, y) in enumerate(zip(drawn.arrivals, decisions, strict=False)):
        norm = float(np.linalg.norm(s.supergradient(y, x)))
        if norm > 0.0:
            steps[slot] = geometry.diameter(s) / (norm * np.sqrt(s.slots))
    share = drawn.arrivals[:slots] @ np.bincount(s.port, minlength=s.ports) / len(s.port)
    return steps, steps * np.sqrt(share)


@claim(
    "eta0",
    "Table 1, Sec. 4",
    turns=("1 % of a core, 1 GB", "8 cores, 64 GB"),
    choices=(*OPEN, "and 1 % of a core, as the traces count"),
)
def _eta0(context: Context) -> Finding:
    """eta0 = 25 and decay 0.9999 tune the step around the value (26), and this serves the reward.

    Whether (26) in a run and the steps of Table 1 overlap; rewards of both and of D/(G sqrt T).
    """
    here = on(context, seeds(context, 3, 6, 20), {**readings.UNITS, **readings.FINEST})
    study = here.play((CONSTANT, PER_SLOT, TABLE_1), {"defaults": Setup(slots=context.pick(40, 200, 2000))})
    few, last = context.pick(20, 40, 2000), ETA0 * DECAY**1999  # at the end of 2000 slots
    highest, lowest = {}, {}
    for name, turn in here.scenarios.items():
        own = np.array([own_steps(PER_SLOT, turn(Setup()), seed, few)[0] for seed in here.seeds])
        highest[name] = 100.0 * (np.nanmax(own, axis=1) / last - 1.0)
        lowest[name] = 100.0 * (1.0 - np.nanmin(own, axis=1) / ETA0)

    def gain(who: Contender) -> Statement:
        over = study.samples(lambda f: lead(f[TABLE_1.label], f[who.label])[:, 0])
        return Statement(f"the step of Table 1 earns more than {who.label}", over, "%")

    return readings.finding(
        study,
        "The step of Table 1 is many times (26) in coarse units, and a fraction of it in the finest.",
        [
            Statement("(26) is somewhere as large as the least step of Table 1", highest, "% above"),
            Statement("(26) is somewhere as small as the largest step of Table 1", lowest, "% below"),
            gain(CONSTANT),
            gain(PER_SLOT),
        ],
    )


def _above(says: str, shares: Mapping[str, np.ndarray], least: float) -> Statement:
    """Say that a share (%) is above a threshold, which ``says`` has a place for."""
    return Statement(says.format(least), {name: of - least for name, of in shares.items()}, "points more")


def _around(what: str, says: str, shares: Mapping[str, np.ndarray], least: float) -> dict[str, str]:
    """Return what the same comes to with a third and with three times the threshold, for the numbers."""
    others = (round(least / 3.0, 1), 3.0 * least)
    return {f"{what} {n:g} %": judge([_above(says, shares, n)])[0].word for n in others}


LARGER = {"at all": 0.0, "by more than 1 %": 1.0}
"""By how many per cent (26) has to be larger to count: the text names no least amount."""


@claim(
    "step-26-grows",
    "Sec. 4.1, on (26)",
    turns=("8 cores, 64 GB; y(1) zero; at all", "ranges of the public code; y(1) fair; by more than 1 %"),
    choices=(
        *OPEN,
        "the initial decision y(1): nothing, or every port's fair share",
        "what counts as larger: any amount, or more than 1 %",
    ),
)
def _step_26_grows(context: Context) -> Finding:
    """(26) makes the step larger and larger as time goes on.

    The mean of (26) in the last tenth of a run against the first, over readings of the setting; each value as
    for the same number of edges with jobs, which takes out the luck of the arrivals.
    """
    here, slots, tenths = on(context, seeds(context, 3, 8, 20)), context.pick(40, 100, 2000), range(1, 11)
    names = {f"y(1) {start}": f"y(1) {start}" for start in ("zero", "fair")}
    starts = [Contender(name, partial(Ogasched, "per-slot", name.split()[-1])) for name in names]

    def by_tenth(who: Contender, setup: Setup, seed: int) -> Any:
        return np.nanmean(own_steps(who, setup, seed, slots)[1].reshape(len(tenths), -1), axis=1)

    study = here.measure(starts, Setup(slots=slots), tenths, by_tenth, "step")
    changes = by_step(study, lambda f, who: lead(f[who][:, -1], f[who][:, 0]), names)
    larger = {f"{name}; {how}": v - by for how, by in LARGER.items() for name, v in changes.items()}
    said = [Statement("(26) is larger in the last tenth than in the first", larger, "points more")]
    return readings.finding(
        study,
        f"That the step (26) grows is {how_sure(judge(said))}: only the gradient's norm can move it.",
        said,
        study.figure("step-26", "The step (26) over time.", "tenth of the horizon", tenths, "", POSITIVE),
        title="The step (26) by tenth of the horizon",
        assumes="That 1 % more counts as larger is a threshold of ours.",
        remark="In (26) the horizon is a constant. With linear utilities the norm hardly depends on the "
        "decision, and the step does not grow. D/(G sqrt T), for which Theorem 1 is proven, is constant by "
        "definition.",
    )


@claim("increasing-T", "Sec. 4.1 and 4.2, first finding", because=Why.SAMPLES, choices=CHOICES)
def _increasing_horizon(context: Context) -> Finding:
    """OGASched's performance rises with the horizon.

    Average reward over nested horizons, the ends of Table 2, alone and against FAIRNESS on the same slots.
    """
    ends = [usual(context, slots) for slots in (1000, 10000)]
    study = on(context).play((*OGASCHED, FAIRNESS), {f"T = {one.slots}": one for one in ends})
    longer = "its lead over FAIRNESS is larger then"
    said = [
        rises(study, OURS, f"earns more per slot at {study.heads[-1]} than at {study.heads[0]}"),
        ours(study, longer, lambda f, who: readings.gained(f, who, [FAIRNESS]), LAB.unit),
    ]
    (more, less), (gains, loses) = (amounts([one]) for one in judge(said))
    return readings.finding(
        study,
        f"Longer horizons surely bring more reward in {more} of the readings, less in {less}; a larger lead "
        f"over FAIRNESS in {gains}, a smaller in {loses}.",
        said,
    )


FROM_NOTHING = {
    CONSTANT.label: Contender("(constant), y(1) = 0", partial(Ogasched, "constant", "zero")),
    TABLE_1.label: Contender("(Table 1), y(1) = 0", partial(Ogasched, "decay", "zero")),
}
"""OGASched with both steps, with nothing for the initial decision in place of the fair share."""


def _wobble(who: Contender, setup: Setup, seed: int) -> list[float]:
    """Return by how much (% of the end) the average goes back and forth in the second and last twentieth."""
    earned = rewards(who, setup, seed)
    mean = np.cumsum(earned) / np.arange(1, len(earned) + 1)
    width = len(mean) // 20
    spans = mean[width : 2 * width], mean[-width:]
    return [100.0 * (abs(np.diff(m)).sum() - abs(m[-1] - m[0])) / abs(mean[-1]) for m in spans]


@claim("oscillation", "Sec. 4.1, on Fig. 2", because=Why.SAMPLES, at_full=Why.DEPENDS, choices=CHOICES)
def _oscillation(context: Context) -> Finding:
    """The average reward oscillates at the beginning, a leading cause being the good initial decision.

    How much the average until slot t goes back and forth in the second and in the last twentieth of the
    slots, from the fair share and from nothing.
    """
    who, heads = (FAIRNESS, *OGASCHED, *FROM_NOTHING.values()), ("beginning", "end")
    study = on(context).measure(who, readings.fig_2(context), heads, _wobble)
    decays = by_step(study, lambda f, who: f[who][:, 0] - f[who][:, 1])
    caused = by_step(study, lambda f, who: f[who][:, 0] - f[FROM_NOTHING[who].label][:, 0])
    said = [
        Statement("the average goes back and forth more at the beginning", decays, "% of it", 2),
        Statement("and more from the fair share than from nothing", caused, "% of it", 2),
    ]
    (more, _), (cause, none) = (amounts([one]) for one in judge(said))
    return readings.finding(
        study,
        f"Rewards surely oscillate more at first in {more} of the readings; the initial decision is surely a "
        f"cause in {cause}, no cause in {none}.",
        said,
        title="Way up and down of the average reward (% of the final average)",
    )


DECAYS = (0.9, 0.99, 0.995, 0.999, 0.9999, 1.0001)
NEGATIVE, MANY = "with eta0 = 100 the reward is negative in more than {:g} % of the slots", 10.0
"""Per cent of the slots that are many: a threshold of ours."""


@claim(
    "figure-4",
    "Fig. 4, Sec. 4.1",
    because=Why.SAMPLES,
    choices=(*OPEN, "utilities: mixed, or all reciprocal", "how many slots are many"),
)
def _figure_4(context: Context) -> Finding:
    """Wrong steps make many rewards negative; decays 0.995 to 0.9999 are best, 0.9999 beats 1.0001.

    Rewards over a grid of eta0 and decay; the best decay of the range against the best outside.
    """
    here, setup = on(context, seeds(context, 3, 4, 10)), Setup(slots=context.pick(40, 200, 8000))
    initial = context.pick((1.0, ETA0, 100.0), (1.0, ETA0, 100.0), (0.1, 1.0, 5.0, ETA0, 100.0))
    by_start, by_decay = [_stepped(eta, DECAY) for eta in initial], [_stepped(ETA0, d) for d in DECAYS]
    study = here.play(dict.fromkeys([CONSTANT, *by_start, *by_decay]), {"defaults": setup})
    labels = [who.label for who in by_decay]
    inside, outside = labels[2:5], labels[:2] + labels[5:]  # the range that is printed
    wrong, families = by_start[-1], {of: replace(setup, utility=of) for of in ("mix", "reciprocal")}
    below = here.play([wrong], families, replace(LAB, averages=_negative))
    negative = below.samples(lambda f: f[wrong.label].max(axis=1))
    best = study.samples(lambda f: lead(f[labels[4]], f[labels[5]])[:, 0])
    printed = study.samples(lambda f: lead(_best(f, inside), _best(f, outside)))
    at = checkpoints(setup.slots or 1, 40).tolist()
    starts, decays = (here.over_time((CONSTANT, *who), setup, at, True) for who in (by_start, by_decay))
    said = [
        _above(NEGATIVE, negative, MANY),
        Statement("decay 0.9999 is better than 1.0001 (eta0 = 25)", best, "%", 2),
        Statement("decays from 0.995 to 0.9999 are better than others (eta0 = 25)", printed, "%", 2),
    ]
    return readings.finding(
        study,
        f"That decays of the printed range are best is {how_sure(judge(said)[2:])}.",
        said,
        starts.figure("figure-4a", "By eta0 (decay 0.9999).", "slot t", at),
        decays.figure("figure-4b", "By decay (eta0 = 25).", "slot t", at),
        title="Average reward per slot of OGASched by step",
        numbers=_around("many, if more than", NEGATIVE, negative, MANY),
        assumes=f"Many slots are more than {MANY:g} % of them, a threshold of ours; the wrong step is the "
        "largest one. Utilities are mixed or all reciprocal, whichever gives more negative rewards.",
    )


def _stepped(eta0: float, decay: float) -> Contender:
    """Return OGASched with the step eta0 decay^t; that of Table 1 shares its runs with other claims."""
    if (eta0, decay) == (ETA0, DECAY):
        return TABLE_1
    return Contender(f"eta0 = {eta0:g}, decay {decay:g}", partial(Ogasched, "decay", "fair", eta0, decay))


def _best(found: readings.Found, among: list[str]) -> np.ndarray:
    """Return the rewards of the contender with the largest mean."""
    return found[max(among, key=lambda who: float(found[who].mean()))][:, 0]


def _negative(who: Contender, setup: Setup, sampled: Iterable[int]) -> np.ndarray:
    """Return the share of slots (%) in which a contender's reward is negative, on each instance."""
    return np.array([100.0 * (rewards(who, setup, seed) < 0.0).mean() for seed in sampled])
