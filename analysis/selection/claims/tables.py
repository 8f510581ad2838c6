"""Claims about Table 3, the baselines and the text of Sec. 4; the figures are in :mod:`.figures`."""

from __future__ import annotations

from itertools import product

import numpy as np

from ....models.selection.generate import SPREAD
from ....models.selection.instance import SelectionInstance
from ....online.selection import Hswf
from ...claim import Context, Finding, Register, Verdict, finding, holds_if, table
from ...engine.kept import decided
from ...experiments import seeds, spread, track
from ..experiments import BASELINES, Setup, instance
from .algorithm import one_device

claim = Register("selection")
REFUTED = Verdict.REFUTED


@claim("costs", "(7), Table 3", REFUTED, choices=("the scale of the costs", "whether Sec. 4 draws Z or v"))
def _costs(context: Context) -> Finding:
    """With costs f_k from N(0.5, 0.1) the mean net utilities are in [0, 1].

    Means of utility less cost before clipping at several scales of the costs, with the utilities Z, or their
    means v, from N(mu, mu/2).
    """
    sampled, rows, some = seeds(context, 10, 40, 400), [], []
    for drawn, scale in track(context, list(product((0, 1), (1.0, 0.5, 0.2, 0.1, 0.0)))):
        made, rng = [instance(Setup(slots=0, cost_scale=scale), seed) for seed in sampled], context.rng(1)
        plain = [rng.normal(i.scale / SPREAD, drawn * i.scale) - i.setting.cost for i in made]
        negative = np.array([100.0 * (v < 0.0).mean() for v in plain])
        best = [i.setting.knapsack.best(np.maximum(v, 0.0)).value for i, v in zip(made, plain, strict=True)]
        idle = round(100 * best.count(0.0) / len(best), 1)
        rows.append(("Zv"[drawn], f"{scale:g}", spread(negative, 2), spread(np.array(best), 3), idle))
        some += [bool(negative.any())] if scale == 1.0 else []
    heads = "drawn | costs times | channels with a negative mean (%) | optimum"
    title = "Costs and what they leave on synthetic instances, c = 12, jobs at all ports"
    return finding(
        holds_if(not any(some), REFUTED if all(some) else Verdict.UNDETERMINED),
        "With the printed costs nearly every channel has a negative mean; doing nothing is best, or nearly.",
        {"instances": len(sampled)},
        table(title, f"{heads} | doing nothing is best on (%)", rows),
        proof="mu is at most 1, and the three costs sum to a normal variable of mean 1.5 and deviation "
        "0.17. That is above 1 with probability 0.998, so even the best channel has a negative mean net "
        "utility nearly always, and (7) puts it in [0, 1].\n\nIf v is drawn from N(mu, mu/2), v less the "
        "costs is normal with mean mu - 1.5 and variance mu^2/4 + 0.03. Over mu from U(0.1, 1) it is "
        "negative with probability 0.97.",
        assumes="Sec. 4 generates the utility v, by Sec. 2.2 an expectation, from N(mu, mu/2); it may be Z "
        "that is meant. Sec. 3.1 speaks of normalising by tuning f_k, which Table 3 prints as they are here.",
    )


@claim("baselines", "Sec. 4 (baselines)", Verdict.VACUOUS)
def _baselines(context: Context) -> Finding:
    """All three baselines estimate utilities by averages of what they observed.

    Each on two sample paths of one instance: who uses what it observes decides differently.
    """
    sampled, slots = seeds(context, 4, 6, 20), context.pick(100, 200, 2000)
    differ = {who.label: 0.0 for who in BASELINES}
    for seed in track(context, sampled):
        here = instance(Setup(slots=slots), seed)
        data = here.to_dict()
        other = SelectionInstance.from_dict(data | {"seed": data["seed"] + 1})
        for who in BASELINES:
            one, two = (decided(who.make(), nature) for nature in (here, other))
            differ[who.label] += 100.0 * float((one != two).any(axis=1).mean()) / len(sampled)
    return finding(
        holds_if(all(differ.values()), Verdict.VACUOUS),
        "LCF and LWTF may estimate what they like: no decision of theirs depends on it.",
        {"instances": len(sampled), "slots": slots}
        | {f"slots decided differently on another path, {k} (%)": v for k, v in differ.items()},
        remark="They rank by cost and by waiting time. HAUF in the list and in Sec. 4.3 is HSWF elsewhere. "
        "Ranking by x_(l,r)(t) before x is chosen is circular; all channels of a port are taken to count.",
    )


@claim("hswf-strategy", "Sec. 4.1", REFUTED, choices=("whether it stops at, or skips, what does not fit",))
def _hswf_strategy(_context: Context) -> Finding:
    """Unlike ESDP, HSWF does not adjust its strategy.

    HSWF as the list of baselines defines it, on two ports: its decisions under the same arrivals.
    """
    note = "HSWF decides differently under the same arrivals in slots 0 and 2"
    small = one_device([(0, 0), (1, 0)], [0.25, 1.0], [[1, 1], [0, 1], [1, 1]], note)
    found = {m: decided(Hswf(misfit=m), small) for m in ("stop", "skip")}
    return finding(
        holds_if(any(np.array_equal(x[0], x[2]) for x in found.values())),
        "HSWF ranks ports by what it has observed, and so changes its mind.",
        {f"{m}, port served in slot {t}": int(np.argmax(x[t])) for m, x in found.items() for t in (0, 2)},
        counterexample=small,
    )


@claim("heuristics", "Sec. 4 (baselines)", Verdict.NOT_CHECKABLE)
def _heuristics(_context: Context) -> Finding:
    """Heuristics such as the genetic algorithm take non-polynomial time in every slot.

    Not checked: no heuristic is specified.
    """
    return finding(
        Verdict.NOT_CHECKABLE,
        "No heuristic of the kind meant is specified but by the name of the genetic algorithm, so there is "
        "nothing to run.",
        remark="Sec. 1 calls the three baselines heuristics too; they sort, which takes polynomial time.",
    )
