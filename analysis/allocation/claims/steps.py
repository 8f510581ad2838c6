"""Claims about the step of OGASched and what it learns over time (Sec. 4.1 and 4.2, Fig. 4)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from ....models.allocation import geometry
from ....models.allocation.setting import Feedback, Observation
from ....online.allocation import Ogasched
from ...claim import Context, Finding, Register, Table, Verdict
from ...experiments import lead, policy_seed, seeds, spread, track
from ...study import Fact, Said, Statement, Study, counted, judge, settled, statements
from ..experiments import (
    CONSTANT,
    FAIRNESS,
    OGASCHED,
    PER_SLOT,
    TABLE_1,
    Contender,
    Setup,
    by_horizon,
    instance,
    rewards,
    with_step,
)
from .readings import CHOICES, FINEST, LAB, OPEN, UNITS, Found, by_step, earnings, finding, panels

claim = Register("allocation")

BEFORE = "OGASched decides before it sees the slot's arrivals."
ETA0, DECAY = 25.0, 0.9999
START = "the initial decision y(1): nothing, or every port's fair share"


def own_steps(setup: Setup, seed: int, slots: int, start: str = "fair") -> tuple[np.ndarray, np.ndarray]:
    """Return the step (26) in the first slots of a run with it, NaN where nothing arrives (it is 0/0).

    The second array has it for as many edges with jobs in every slot: times the root of their share.
    """
    drawn = instance(setup, seed)
    s, policy = drawn.setting, Ogasched("per-slot", start)
    policy.start(s, np.random.default_rng(policy_seed(seed)))
    steps = np.full(slots, np.nan)
    for slot, x in enumerate(drawn.arrivals[:slots]):
        norm = float(np.linalg.norm(s.supergradient(policy.decide(Observation(slot, None)), x)))
        if norm > 0.0:
            steps[slot] = geometry.diameter(s) / (norm * np.sqrt(s.slots))
        policy.learn(Feedback(slot, x, 0.0))
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
    says="eta0 = 25 and decay 0.9999 tune the step around the value (26), and this serves the reward.",
    how="Whether the values of (26) in a run and those of Table 1 overlap, and the rewards of both and of "
    "D/(G sqrt T), over readings of the setting.",
    choices=(*OPEN, "and 1 % of a core, as the traces count"),
)
def _eta0(context: Context) -> Finding:
    sampled, horizon = seeds(context, 4, 8, 20), 2000
    units = {**UNITS, **FINEST}
    few = context.pick(30, 60, 2000)
    setting = {"": Setup(slots=context.pick(40, 200, 2000))}
    study = Study.run(context, LAB, (CONSTANT, PER_SLOT, TABLE_1), setting, sampled, units)
    last = ETA0 * DECAY ** (horizon - 1)
    own = {
        name: np.array([own_steps(turn(Setup()), seed, few)[0] for seed in sampled])
        for name, turn in units.items()
    }
    proven = {
        name: np.array([constant_step(turn(Setup()), s) for s in sampled]) for name, turn in units.items()
    }
    highest = {name: 100.0 * (np.nanmax(v, axis=1) / last - 1.0) for name, v in own.items()}
    lowest = {name: 100.0 * (1.0 - np.nanmin(v, axis=1) / ETA0) for name, v in own.items()}
    said = [
        Statement("(26) is somewhere as large as the least step of Table 1", highest, "% above"),
        Statement("(26) is somewhere as small as the largest step of Table 1", lowest, "% below"),
    ]
    for who in (CONSTANT, PER_SLOT):
        gain = study.samples(lambda f, label=who.label: lead(f[TABLE_1.label], f[label])[:, 0])  # type: ignore[misc]
        said.append(Statement(f"the step of Table 1 earns more than {who.label}", gain, "%"))
    judged = judge(said, units)
    sizes = tuple(
        (name, spread(proven[name], 3), spread(np.nanmedian(own[name], axis=1), 3), f"{ETA0:g} to {last:.1f}")
        for name in units
    )
    return Finding(
        settled(judged),
        "The step of Table 1 is many times (26) in coarse units of CPU and MEM, and a fraction of it in the "
        "finest.",
        {"instances": len(sampled), "horizon": horizon, **counted(judged)},
        tables=(
            statements(judged, units, BEFORE),
            Table(
                f"Step sizes at T = {horizon}, 95 % half widths over {len(sampled)} instances. {BEFORE}",
                ("units", "D/(G sqrt T)", "median of (26)", "Table 1"),
                sizes,
            ),
            earnings(study, f"Average reward per slot, {setting[''].slots} slots"),
        ),
        small=context.mode == "quick",
    )


@claim(
    "step-26-grows",
    "Sec. 4.1, on (26)",
    Verdict.UNDETERMINED,
    says="(26) makes the step larger and larger as time goes on.",
    how="The mean of (26) in the last tenth of a run against the first, over readings of the setting; each "
    "value as for the same number of edges with jobs, which takes out the luck of the arrivals.",
    choices=(*OPEN, START),
)
def _step_26_grows(context: Context) -> Finding:
    sampled, slots = seeds(context, 4, 8, 20), context.pick(40, 150, 2000)
    changes: dict[str, np.ndarray] = {}
    shown: dict[str, dict[str, np.ndarray]] = {}
    for name, turn in track(context, UNITS.items()):
        shown[f"step\n{name}"] = {}
        for start in ("zero", "fair"):
            runs = [own_steps(turn(Setup(slots=slots)), seed, slots, start)[1] for seed in sampled]
            tenths = np.nanmean(np.array(runs).reshape(len(sampled), 10, -1), axis=2)
            changes[f"{name}; y(1) {start}"] = lead(tenths[:, -1], tenths[:, 0])
            shown[f"step\n{name}"][f"y(1) {start}"] = tenths
    judged = judge([Statement("(26) is larger in the last tenth than in the first", changes, "%")], changes)
    return Finding(
        settled(judged),
        "In (26) the horizon is a constant; only the gradient's norm can move it, and whether it shrinks "
        "depends on units and start.",
        {"instances": len(sampled), "slots": slots, **counted(judged)},
        tables=(statements(judged, changes, BEFORE),),
        figures=(
            panels(
                "step-26",
                "The step (26) by tenth of the horizon.",
                "tenth of the horizon",
                np.arange(1, 11),
                shown,
            ),
        ),
        small=context.mode == "quick",
        remark="With linear utilities the norm hardly depends on the decision, and the step does not grow. "
        "D/(G sqrt T), for which Theorem 1 is proven, is constant by definition.",
    )


@claim(
    "increasing-T",
    "Sec. 4.1 and 4.2, first finding",
    Verdict.UNDETERMINED,
    says="OGASched's performance rises with the horizon.",
    how="Average reward over nested horizons, alone and against FAIRNESS on the same slots, which takes out "
    "the luck of the arrivals.",
    choices=CHOICES,
)
def _increasing_horizon(context: Context) -> Finding:
    sampled = seeds(context, 4, 10, 20)
    lengths = context.pick((20, 60), (100, 300, 900), (1000, 2000, 5000, 10000))
    found: dict[str, dict[str, np.ndarray]] = {}
    for name, turn in track(context, UNITS.items()):
        found[name] = {w.label: by_horizon(w, turn(Setup()), sampled, lengths) for w in (*OGASCHED, FAIRNESS)}
    study = Study(LAB, found, [f"T = {n}" for n in lengths], sampled)
    said = [
        Statement(
            f"OGASched earns more per slot at T = {lengths[-1]} than at {lengths[0]}",
            by_step(study, lambda f, who: lead(f[who][:, -1], f[who][:, 0])),
            "%",
        ),
        Statement(
            "its lead over FAIRNESS is larger then",
            by_step(study, lambda f, who: _gained(f[who], f[FAIRNESS.label])),
            "points",
        ),
    ]
    return finding(
        study,
        "OGASched earns more over longer horizons with the constant step and curved utilities; elsewhere no "
        "gain is visible.",
        said,
        title="Average reward per slot",
        figures=(
            panels(
                "horizon",
                "Average reward per slot over the horizon.",
                "horizon T (slots)",
                lengths,
                {f"reward per slot\n{name}": v for name, v in found.items()},
                log="x",
            ),
        ),
        small=context.mode == "quick",
    )


def _gained(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Return how many points the ratio to another gains from the first to the last column."""
    ratio = 100.0 * ours / theirs
    return ratio[:, -1] - ratio[:, 0]


STARTS = {
    "fair share": {w.label: w for w in OGASCHED},
    "nothing": {
        CONSTANT.label: Contender(
            "constant, y(1) = 0", partial(Ogasched, "constant", "zero"), knows_horizon=True
        ),
        TABLE_1.label: Contender("Table 1, y(1) = 0", partial(Ogasched, "decay", "zero")),
    },
}
"""OGASched with both steps from either initial decision."""


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
    says="The average reward oscillates at the beginning, a leading cause being the good initial decision.",
    how="How much the average until slot t goes back and forth in the second and in the last twentieth of "
    "the slots, from the fair share and from nothing.",
    choices=CHOICES,
)
def _oscillation(context: Context) -> Finding:
    sampled, slots = seeds(context, 4, 10, 20), context.pick(100, 200, 8000)
    setup = Setup(slots=slots, overhead=(0.4, 0.6), contention=11.0)
    decays, caused, rows = {}, {}, []
    for name, turn in track(context, UNITS.items()):
        here = turn(setup)
        plain = _wobble(FAIRNESS, here, sampled)
        rows.append((name, FAIRNESS.label, *(spread(c, 2) for c in plain.T), ""))
        for who in OGASCHED:
            fair, zero = (_wobble(STARTS[start][who.label], here, sampled) for start in STARTS)
            key = f"{name}; {who.label}"
            decays[key], caused[key] = fair[:, 0] - fair[:, 1], fair[:, 0] - zero[:, 0]
            rows.append((name, who.label, *(spread(c, 2) for c in fair.T), spread(zero[:, 0], 2)))
    said = [
        Statement("the average goes back and forth more at the beginning", decays, "% of it", 2),
        Statement("and more from the fair share than from nothing", caused, "% of it", 2),
    ]
    judged = judge(said, decays)
    return Finding(
        settled(judged),
        "The average oscillates at first with any policy, since one slot weighs more in it; the initial "
        "decision is no cause of it everywhere.",
        {"instances": len(sampled), "slots": slots, **counted(judged)},
        tables=(
            statements(judged, decays, BEFORE),
            Table(
                f"Way up and down of the average reward (% of the final average), {slots} slots, 95 % half "
                f"widths over {len(sampled)} instances. {BEFORE} FAIRNESS decides after.",
                ("units", "algorithm", "beginning", "end", "beginning, from nothing"),
                tuple(rows),
            ),
        ),
        small=context.mode == "quick",
    )


INITIAL = (0.1, 1.0, 5.0, 25.0, 100.0)
DECAYS = (0.9, 0.99, 0.995, 0.999, 0.9999, 1.0001)
INSIDE = tuple(d for d in DECAYS if 0.995 <= d <= 0.9999)


@claim(
    "figure-4",
    "Fig. 4, Sec. 4.1",
    Verdict.UNDETERMINED,
    says="A wrong step makes rewards negative in many slots; decays from 0.995 to 0.9999 are best, and "
    "0.9999 beats 1.0001.",
    how="Rewards over a grid of eta0 and decay, over readings of the setting; the best decay of the range "
    "against the best outside.",
    choices=OPEN,
)
def _figure_4(context: Context) -> Finding:
    sampled, slots = seeds(context, 4, 8, 10), context.pick(40, 200, 8000)
    by_start = {f"eta0 {eta:g}": with_step(eta, DECAY) for eta in INITIAL}
    by_decay = {f"decay {decay:g}": with_step(ETA0, decay) for decay in DECAYS}
    grid = list(dict.fromkeys([*by_start.values(), *by_decay.values()]))
    setting = {"": Setup(slots=slots)}
    study = Study.run(context, LAB, (CONSTANT, *grid), setting, sampled, UNITS)
    label = {d: with_step(ETA0, d).label for d in DECAYS}
    inside, outside = ([label[d] for d in DECAYS if (d in INSIDE) is side] for side in (True, False))
    negative = {
        f"{name}, {family}": _negative(grid, turn(Setup(slots=min(slots, 100), utility=family)), sampled[0])
        for name, turn in UNITS.items()
        for family in ("mix", "reciprocal")
    }
    most = max(negative, key=lambda where: negative[where])
    said: list[Said] = [
        Fact(
            "with a wrong step the reward is negative in many slots",
            f"{negative[most]:.0f} % of the slots at most ({most})",
            negative[most] > 0.0,
        ),
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
    judged = judge(said, UNITS)
    return Finding(
        settled(judged),
        "In coarse units of CPU and MEM decays outside the printed range earn more; in fine ones decay "
        "hardly "
        "matters.",
        {
            "instances": len(sampled),
            "slots": slots,
            **counted(judged),
            **{f"negative slots (%), {where}": round(v, 1) for where, v in negative.items()},
        },
        tables=(
            statements(judged, UNITS, BEFORE),
            earnings(study, f"Average reward per slot of OGASched by step, {slots} slots"),
        ),
        figures=tuple(
            panels(
                f"figure-4{letter}",
                f"Accumulated reward of OGASched by {what}.",
                "slot t",
                _points(slots),
                {
                    f"reward\n{n}": _accumulated(group, turn(setting[""]), sampled)
                    for n, turn in UNITS.items()
                },
            )
            for letter, what, group in (
                ("a", "eta0 (decay 0.9999)", (CONSTANT, *by_start.values())),
                ("b", "decay (eta0 = 25)", (CONSTANT, *by_decay.values())),
            )
        ),
        small=context.mode == "quick",
    )


def _best(found: Found, among: list[str]) -> np.ndarray:
    """Return the rewards of the contender with the largest mean."""
    return found[max(among, key=lambda who: float(found[who].mean()))][:, 0]


def _negative(grid: Iterable[Contender], setup: Setup, seed: int) -> float:
    """Return the largest share of slots (%) in which a contender's reward is negative."""
    return max(100.0 * float((rewards(who, setup, seed) < 0.0).mean()) for who in grid)


def _points(slots: int) -> np.ndarray:
    """Return about 40 numbers of slots from 1 to ``slots``, denser at the beginning."""
    return np.unique(np.geomspace(1, slots, 40).round().astype(np.int64))


def _accumulated(group: Iterable[Contender], setup: Setup, sampled: Iterable[int]) -> dict[str, np.ndarray]:
    """Return accumulated rewards by contender, shape (seeds, points)."""
    at = _points(setup.slots or 0) - 1
    return {w.label: np.array([np.cumsum(rewards(w, setup, seed))[at] for seed in sampled]) for w in group}


CLAIMS = claim.claims
