"""Claims about the step of OGASched and what it learns over time (Sec. 4.1 and 4.2, Fig. 4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from ....models.allocation import geometry
from ....online.allocation import Ogasched
from ....online.play import play
from ...claim import Context, Figure, Finding, Register, Verdict, Why, table
from ...experiments import lead, policy_seed, seeds, spread, track
from ...plots import POSITIVE
from ...study import Said, Statement, Study, conclude, judge
from .. import experiments
from ..experiments import CONSTANT, FAIRNESS, OGASCHED, TABLE_1, Contender, Setup, instance, rewards
from . import readings
from .readings import CHOICES, LAB, OPEN, Found, earnings, fig_2, finding, sample, units

claim = Register("allocation")

BEFORE = "OGASched decides before it sees the slot's arrivals."
ETA0, DECAY = 25.0, 0.9999


def own_steps(setup: Setup, seed: int, slots: int, start: str = "fair") -> tuple[np.ndarray, np.ndarray]:
    """Return the step (26) in the first slots of a run with it, NaN where nothing arrives (it is 0/0).

    The second array has it for as many edges with jobs in every slot: times the root of their share.
    """
    drawn = instance(setup, seed)
    s, steps = drawn.setting, np.full(slots, np.nan)
    run = play(Ogasched("per-slot", start), drawn, policy_seed(seed), keep_decisions=True, most=slots)
    for slot, (x, y) in enumerate(zip(drawn.arrivals, run.decisions or (), strict=False)):
        norm = float(np.linalg.norm(s.supergradient(y, x)))
        if norm > 0.0:
            steps[slot] = geometry.diameter(s) / (norm * np.sqrt(s.slots))
    share = drawn.arrivals[:slots] @ np.bincount(s.port, minlength=s.ports) / len(s.port)
    return steps, steps * np.sqrt(share)


def constant_step(setup: Setup, seed: int) -> float:
    """Return D/(G sqrt T), the step for which Theorem 1 is proven."""
    s = instance(setup, seed).setting
    return geometry.diameter(s) / float(np.sqrt(geometry.gradient_norms(s).sum() * s.slots))


@claim(
    "eta0",
    "Table 1, Sec. 4",
    Verdict.UNDETERMINED,
    turns=("1 % of a core, 1 GB", "8 cores, 64 GB"),
    says="eta0 = 25 and decay 0.9999 tune the step around the value (26), and this serves the reward.",
    how="Whether (26) in a run and the steps of Table 1 overlap; rewards of both and of D/(G sqrt T).",
    choices=(*OPEN, "and 1 % of a core, as the traces count"),
)
def _eta0(context: Context) -> Finding:
    sampled, setup = seeds(context, 3, 6, 20), Setup(slots=context.pick(40, 200, 2000))
    scenarios = {**units(context), **readings.FINEST}
    horizon, few = 2000, context.pick(20, 40, 2000)
    study = Study.run(
        context, LAB, (CONSTANT, experiments.PER_SLOT, TABLE_1), {"": setup}, sampled, scenarios
    )
    last = ETA0 * DECAY ** (horizon - 1)
    own, proven = {}, {}
    for name, turn in scenarios.items():
        own[name] = np.array([own_steps(turn(Setup()), seed, few)[0] for seed in sampled])
        proven[name] = np.array([constant_step(turn(Setup()), seed) for seed in sampled])
    highest = {name: 100.0 * (np.nanmax(v, axis=1) / last - 1.0) for name, v in own.items()}
    lowest = {name: 100.0 * (1.0 - np.nanmin(v, axis=1) / ETA0) for name, v in own.items()}
    said = [
        Statement("(26) is somewhere as large as the least step of Table 1", highest, "% above"),
        Statement("(26) is somewhere as small as the largest step of Table 1", lowest, "% below"),
    ]
    for who in (CONSTANT, experiments.PER_SLOT):
        gain = study.samples(lambda f, label=who.label: lead(f[TABLE_1.label], f[label])[:, 0])  # type: ignore[misc]
        said.append(Statement(f"the step of Table 1 earns more than {who.label}", gain, "%"))
    sizes = (
        (name, spread(proven[name], 3), spread(np.nanmedian(own[name], axis=1), 3), f"{ETA0:g} to {last:.1f}")
        for name in scenarios
    )
    return conclude(
        "The step of Table 1 is many times (26) in coarse units, and a fraction of it in the finest.",
        said,
        table(
            f"Step sizes at T = {horizon}, 95 % half widths over {len(sampled)} instances. {BEFORE}",
            "units | D/(G sqrt T) | median of (26) | Table 1",
            sizes,
        ),
        earnings(study, f"Average reward per slot, {setup.slots} slots"),
        scenarios=scenarios,
        note=BEFORE,
        numbers={"instances": len(sampled), "horizon": horizon},
        small=context.quick,
    )


def _above(says: str, shares: Mapping[str, np.ndarray], least: float) -> Statement:
    """Say that a share (%) is above a threshold, which ``says`` has a place for."""
    return Statement(says.format(least), {name: of - least for name, of in shares.items()}, "points more")


def _around(what: str, says: str, shares: Mapping[str, np.ndarray], least: float) -> dict[str, str]:
    """Return what the same comes to with a third and with three times the threshold, for the numbers."""
    others = (round(least / 3.0, 1), 3.0 * least)
    return {f"{what} {n:g} %": judge([_above(says, shares, n)], shares)[0].word for n in others}


GROWN, LARGER = "(26) is by more than {:g} % larger in the last tenth than in the first", 1.0


@claim(
    "step-26-grows",
    "Sec. 4.1, on (26)",
    Verdict.UNDETERMINED,
    turns=("8 cores, 64 GB; y(1) zero", "public code; y(1) fair"),
    says="(26) makes the step larger and larger as time goes on.",
    how="The mean of (26) in the last tenth of a run against the first, over readings of the setting; each "
    "value as for the same number of edges with jobs, which takes out the luck of the arrivals.",
    choices=(*OPEN, "the initial decision y(1): nothing, or every port's fair share"),
)
def _step_26_grows(context: Context) -> Finding:
    sampled, slots = seeds(context, 3, 8, 20), context.pick(40, 100, 2000)
    changes: dict[str, np.ndarray] = {}
    shown: dict[str, dict[str, np.ndarray]] = {}
    for name, turn in track(context, units(context).items()):
        shown[f"step\n{name}"] = {}
        for start in ("zero", "fair"):
            runs = [own_steps(turn(Setup(slots=slots)), seed, slots, start)[1] for seed in sampled]
            tenths = np.nanmean(np.array(runs).reshape(len(sampled), 10, -1), axis=2)
            changes[f"{name}; y(1) {start}"] = lead(tenths[:, -1], tenths[:, 0])
            shown[f"step\n{name}"][f"y(1) {start}"] = tenths
    axis = "tenth of the horizon"
    return conclude(
        "In (26) the horizon is a constant; only the gradient's norm can move it, and whether it shrinks "
        "depends on units and start.",
        [_above(GROWN, changes, LARGER)],
        experiments.curves(
            "step-26", f"The step (26) by {axis}.", np.arange(1, 11), shown, axis, possible=POSITIVE
        ),
        scenarios=changes,
        note=BEFORE,
        numbers={
            "instances": len(sampled),
            "slots": slots,
            **_around("larger by more than", GROWN, changes, LARGER),
        },
        small=context.quick,
        assumes=f"Larger is by more than {LARGER:g} %, a threshold of ours.",
        remark="With linear utilities the norm hardly depends on the decision, and the step does not grow. "
        "D/(G sqrt T), for which Theorem 1 is proven, is constant by definition.",
    )


@claim(
    "increasing-T",
    "Sec. 4.1 and 4.2, first finding",
    Verdict.UNDETERMINED,
    because=Why.SAMPLES,
    says="OGASched's performance rises with the horizon.",
    how="Average reward over nested horizons, alone and against FAIRNESS on the same slots.",
    choices=CHOICES,
)
def _increasing_horizon(context: Context) -> Finding:
    study = readings.over_horizons(context, (*OGASCHED, FAIRNESS))
    said = [
        readings.rises(study, f"OGASched earns more per slot at {study.heads[-1]} than at {study.heads[0]}"),
        readings.ours(study, "its lead over FAIRNESS is larger then", readings.gained, "points"),
    ]
    return finding(
        study,
        "With the constant step and curved utilities OGASched gains on FAIRNESS over longer horizons; "
        "elsewhere no gain is visible.",
        said,
        title="Average reward per slot",
    )


FROM_NOTHING = {
    CONSTANT: Contender("constant, y(1) = 0", partial(Ogasched, "constant", "zero"), knows_horizon=True),
    TABLE_1: Contender("Table 1, y(1) = 0", partial(Ogasched, "decay", "zero")),
}
"""OGASched with both steps, with nothing for the initial decision in place of the fair share."""


def _wobble(who: Contender, setup: Setup, sampled: Iterable[int]) -> np.ndarray:
    """Return how much the average reward until slot t goes back and forth, early and late, (seeds, 2).

    That is the length of the way up and down in per cent of the final value, less what is left of it at the
    end: in the second twentieth of the slots, and in the last one.
    """
    result = []
    for seed in sampled:
        earned = rewards(who, setup, seed)
        mean = np.cumsum(earned) / np.arange(1, len(earned) + 1)
        width = len(mean) // 20
        spans = mean[width : 2 * width], mean[-width:]
        result.append([100.0 * (abs(np.diff(m)).sum() - abs(m[-1] - m[0])) / abs(mean[-1]) for m in spans])
    return np.array(result)


@claim(
    "oscillation",
    "Sec. 4.1, on Fig. 2",
    Verdict.UNDETERMINED,
    because=Why.SAMPLES,
    says="The average reward oscillates at the beginning, a leading cause being the good initial decision.",
    how="How much the average until slot t goes back and forth in the second and in the last twentieth of "
    "the slots, from the fair share and from nothing.",
    choices=CHOICES,
)
def _oscillation(context: Context) -> Finding:
    sampled, setup = sample(context), fig_2(context)
    decays, caused, rows = {}, {}, []
    for name, turn in track(context, units(context).items()):
        plain = _wobble(FAIRNESS, turn(setup), sampled)
        rows.append((name, FAIRNESS.label, *(spread(c, 2) for c in plain.T), ""))
        for who in OGASCHED:
            fair, zero = (_wobble(one, turn(setup), sampled) for one in (who, FROM_NOTHING[who]))
            key = f"{name}; {who.label}"
            decays[key], caused[key] = fair[:, 0] - fair[:, 1], fair[:, 0] - zero[:, 0]
            rows.append((name, who.label, *(spread(c, 2) for c in fair.T), spread(zero[:, 0], 2)))
    return conclude(
        "At first the average oscillates with any policy; the initial decision is surely a cause in some "
        "readings, in others runs do not decide.",
        [
            Statement("the average goes back and forth more at the beginning", decays, "% of it", 2),
            Statement("and more from the fair share than from nothing", caused, "% of it", 2),
        ],
        table(
            f"Way up and down of the average reward (% of the final average), {setup.slots} slots, 95 % half "
            f"widths over {len(sampled)} instances. {BEFORE} FAIRNESS decides after.",
            "units | algorithm | beginning | end | beginning, from nothing",
            rows,
        ),
        scenarios=decays,
        note=BEFORE,
        numbers={"instances": len(sampled), "slots": setup.slots},
        small=context.quick,
    )


DECAYS = (0.9, 0.99, 0.995, 0.999, 0.9999, 1.0001)
FAMILIES = ("mix", "reciprocal")
NEGATIVE, MANY = "with eta0 = 100 the reward is negative in more than {:g} % of the slots", 10.0
"""Per cent of the slots that are many: a threshold of ours."""
INSIDE = tuple(d for d in DECAYS if 0.995 <= d <= 0.9999)


@claim(
    "figure-4",
    "Fig. 4, Sec. 4.1",
    Verdict.UNDETERMINED,
    because=Why.SAMPLES,
    says="Wrong steps make many rewards negative; decays 0.995 to 0.9999 are best, 0.9999 beats 1.0001.",
    how="Rewards over a grid of eta0 and decay; the best decay of the range against the best outside.",
    choices=(*OPEN, "utilities: mixed, or all reciprocal", "how many slots are many"),
)
def _figure_4(context: Context) -> Finding:
    sampled, setup = seeds(context, 3, 6, 10), Setup(slots=context.pick(40, 200, 8000))
    initial = context.pick((1.0, ETA0, 100.0), (1.0, ETA0, 100.0), (0.1, 1.0, 5.0, ETA0, 100.0))
    by_start, by_decay = [_stepped(eta, DECAY) for eta in initial], [_stepped(ETA0, d) for d in DECAYS]
    grid = list(dict.fromkeys([*by_start, *by_decay]))
    study = Study.run(context, LAB, (CONSTANT, *grid), {"": setup}, sampled, units(context))
    label = {decay: _stepped(ETA0, decay).label for decay in DECAYS}
    inside, outside = ([label[d] for d in DECAYS if (d in INSIDE) is side] for side in (True, False))
    negative = {
        name: np.maximum(
            *(_negative(by_start[-1], turn(replace(setup, utility=of)), sampled) for of in FAMILIES)
        )
        for name, turn in units(context).items()
    }
    said: list[Said] = [
        _above(NEGATIVE, negative, MANY),
        Statement(
            "decay 0.9999 is better than 1.0001 (eta0 = 25)",
            study.samples(lambda f: lead(f[label[0.9999]], f[label[1.0001]])[:, 0]),
            "%",
            2,
        ),
        Statement(
            "decays from 0.995 to 0.9999 are better than others (eta0 = 25)",
            study.samples(lambda f: lead(_best(f, inside), _best(f, outside))),
            "%",
            2,
        ),
    ]
    return conclude(
        "In coarse units decays outside the printed range earn more; in fine ones decay hardly matters.",
        said,
        earnings(study, f"Average reward per slot of OGASched by step, {setup.slots} slots"),
        _accumulated("a", "eta0 (decay 0.9999)", (CONSTANT, *by_start), context, setup, sampled),
        _accumulated("b", "decay (eta0 = 25)", (CONSTANT, *by_decay), context, setup, sampled),
        scenarios=study.found,
        note=BEFORE,
        numbers={
            "instances": len(sampled),
            "slots": setup.slots,
            **_around("many, if more than", NEGATIVE, negative, MANY),
        },
        small=context.quick,
        assumes=f"Many slots are more than {MANY:g} % of them, a threshold of ours; the wrong step is the "
        "largest one. Utilities are mixed or all reciprocal, whichever gives more negative rewards.",
    )


def _stepped(eta0: float, decay: float) -> Contender:
    """Return OGASched with this step; that of Table 1 has its runs in common with other claims."""
    return TABLE_1 if (eta0, decay) == (ETA0, DECAY) else experiments.with_step(eta0, decay)


def _best(found: Found, among: list[str]) -> np.ndarray:
    """Return the rewards of the contender with the largest mean."""
    return found[max(among, key=lambda who: float(found[who].mean()))][:, 0]


def _negative(who: Contender, setup: Setup, sampled: Iterable[int]) -> np.ndarray:
    """Return the share of slots (%) in which a contender's reward is negative, on each instance."""
    return np.array([100.0 * (rewards(who, setup, seed) < 0.0).mean() for seed in sampled])


def _accumulated(
    letter: str, what: str, group: Iterable[Contender], context: Context, setup: Setup, sampled: Iterable[int]
) -> Figure:
    """Return a panel of Fig. 4: accumulated rewards over time in each reading."""
    at = np.unique(np.geomspace(1, setup.slots or 1, 40).round().astype(np.int64))
    shown = {
        f"reward\n{name}": {
            w.label: np.array([np.cumsum(rewards(w, turn(setup), s))[at - 1] for s in sampled]) for w in group
        }
        for name, turn in units(context).items()
    }
    return experiments.curves(
        f"figure-4{letter}", f"Accumulated reward of OGASched by {what}.", at, shown, "slot t"
    )


CLAIMS = claim.claims
