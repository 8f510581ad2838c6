"""Claims of our own: certificates, the bound of CUCB, planning for ports with jobs, the search, variances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from ....models.selection.generate import generate
from ....models.selection.instance import SelectionInstance
from ....online.selection import POLICIES, Cucb, Esdp
from ....oracles.selection.p4 import p4_optima, select
from ...claim import Context, Finding, Register, Verdict
from ...engine.kept import decided, play
from ...experiments import SEEDS_APART, Contender, apart, lead, seeds, track
from ...study import ORACLE, Statement, Study, amounts, judge
from .. import experiments as ex
from ..experiments import ESDP, ESDP_LN, Setup, instance, optimum, rewards
from ..regret import TIE, Best, certificate, checkpoints, cucb_curve
from . import readings
from .algorithm import found_if, random_cases
from .theory import runs

claim = Register("selection")
HOLDS = Verdict.HOLDS


@claim("index-identity", "(20), (21); our own", HOLDS, ours=True)
def _identity(context: Context) -> Finding:
    """If S covers max Upsilon.x, (21) finds the maximum of Upsilon.x + sqrt(Sigma^2.x).

    P4(s) for all s by staircases, the search over x, and enumeration.
    """
    rng, worst, at_scale = context.rng(), 0.0, 0.0
    for given in track(context, random_cases(rng, context.pick(60, 200, 4000))):
        setting = given.instance("random").setting
        by_s = select(p4_optima(setting, given.upsilon, given.sigma2, s_max=given.s_max)).score
        by_x, exact = setting.knapsack.best(given.upsilon, given.sigma2).value, given.indices().max()
        worst = max(worst, abs(by_s - exact), abs(by_x - exact))
    for seed in seeds(context, 2, 3, 20):
        setting = generate("default", seed, slots=0).setting
        upsilon, sigma2 = (rng.integers(low, 60, setting.channels) for low in (0, 1))
        by_s = select(p4_optima(setting, upsilon, sigma2)).score
        at_scale = max(at_scale, abs(by_s - setting.knapsack.best(upsilon, sigma2).value))
    return found_if(
        max(worst, at_scale) <= TIE,
        "Maximising over s is maximising over sets, so ESDP's selection needs no table over s.",
        {"largest difference": worst, "largest difference, default size": at_scale},
        remark="Every x is feasible for s = Upsilon.x, and no optimum of P4(s) has s above Upsilon.x.",
    )


@claim("certificate", "(15), (18), (36); our own", HOLDS, ours=True)
def _certificates(context: Context) -> Finding:
    """A slot in which (15) holds costs at most delta + sqrt(m)/xi + 2 sqrt(sigma-hat^2.x), and no slot more
    than its optimum; the sum bounds the regret of a run.

    Certificates against regret after every slot, on default instances and on tiny ones with coins.
    """
    setup, sampled = runs(context)
    found = []
    for who, seed in track(context, list(product((ESDP, ESDP_LN), sampled))):
        found.append((ex.certificate_of(who, setup, seed), ex.regret_of(who, setup, seed)))
    loose = float(np.mean([one.total / lost[-1] for one, lost in found]))
    for n in range(context.pick(10, 30, 400)):
        here = generate("tiny", SEEDS_APART * context.seed + n, slots=80, noise="bernoulli")
        x = decided(Esdp(g="log"), here)
        best = Best.of(here)
        found.append((certificate(here, x, g="log", best=best), best.regret(here.rewards(x))))
    forms = [(form, lost) for one, lost in found for form in (one.per_slot, one.strict_per_slot)]
    most = max(float((lost - np.cumsum(form)).max()) for form, lost in forms)
    return found_if(
        most <= TIE * int(setup.slots or 0),
        "No run had more regret than its certificate after any slot.",
        {
            "runs": len(found),
            "largest regret less certificate": most,
            "certificate / regret, default instances, mean": loose,
        },
        remark="The strict certificate, which counts the whole optimum where (15) fails, is a theorem.",
    )


@claim("cucb-bound", "Sec. 3.3, other policies; our own", HOLDS, ours=True)
def _cucb(context: Context) -> Finding:
    """The expected regret of CUCB is at most 4 sqrt(1.5 m |E| T ln T) + m |E| (1 + pi^2/3).

    CUCB on default instances with several sample paths each, after every number of slots.
    """
    setup, sampled = runs(context)
    share, paths, points = [], context.pick(2, 2, 5), checkpoints(int(setup.slots or 0))
    for seed, n in track(context, list(product(sampled, range(paths)))):
        data = instance(setup, seed).to_dict()
        here = SelectionInstance.from_dict(data | {"seed": data["seed"] + n})  # of the same optimum
        lost = ex.proven(setup, seed).regret(play(Cucb(), here).rewards)[points - 1]
        share.append(lost / cucb_curve([here], points)[0])
    return found_if(
        0.0 <= np.min(share) <= np.max(share) <= 1.0,
        "The regret of CUCB stayed far below its bound.",
        {"runs": len(share), "largest regret of a run / bound": float(np.max(share))},
    )


@claim(
    "arrival-aware", "Algorithm 1, lines 9-16; our own", HOLDS, ours=True, choices=("the capacities", "rho")
)
def _arrival_aware(context: Context) -> Finding:
    """Planning for the ports with jobs earns more than planning for all of them where ports compete for
    devices.

    Both on the same instances with scarce and with more devices.
    """
    plans = {"all ports": {}, "ports with jobs": {"plan": "ports with jobs"}}
    names = ("c = 12, all ports", "c = 2", "c = 24", "rho = 0.4")
    study = readings.sweep(context, plans, (30, 60, 8000), names=names, who=(readings.ESDP,))
    gain = study.samples(lambda f: lead(f["ESDP"][:, 1], f["ESDP"][:, 0]))
    return study.finding(
        "Planning for the ports with jobs earns more than planning for all of them.",
        [Statement("ports with jobs earn more", gain, "%")],
    )


KNOWING = {
    "ESCB-V": Contender("ESCB-V", POLICIES["escb-v"]),
    "Gaussian Thompson": Contender("Gaussian Thompson", POLICIES["gaussian-thompson"]),
}
"""What estimates variances."""

SCARCE: dict[str, dict[str, Any]] = {"rho = 0.4": {"arrival_probability": 0.4}, "c = 2": {"capacity": 2}}
"""Where jobs or devices are scarce, which the text leaves open; runs are short."""

LONG: dict[str, dict[str, Any]] = {
    f"T = 2000{', ' * bool(name)}{name}": {"slots": 2000, **change}
    for name, change in {"": {}, **SCARCE, "c = 24": {"capacity": 24}}.items()
}
"""The full mode has these besides."""


@claim(
    "beyond-the-paper",
    "Algorithm 1; our own",
    turns=("c = 2", "rho = 0.4"),
    ours=True,
    choices=readings.OPEN[1:3],
)
def _beyond_the_paper(context: Context) -> Finding:
    """ESCB-V and Gaussian Thompson sampling, which estimate variances, have less regret than ESDP with g = ln
    t.

    All three on instances that no other check plays on; ESDP plans for the ports with jobs, which is its
    better plan, over 200 slots, or 300.
    """
    setup, sampled = Setup(slots=context.pick(40, 200, 300)), apart(context, 3, 8, 10)
    changes = SCARCE | context.pick({}, {}, LONG)
    scenarios = {name: partial(replace, **change) for name, change in changes.items()}
    study = Study.run(context, PER_SLOT, (ESDP_LN, *KNOWING.values()), {"": setup}, sampled, scenarios)

    def saved(found: Mapping[str, np.ndarray], who: str) -> Any:
        """Return by how many per cent of ESDP's mean regret that of another one is less."""
        theirs = found[ESDP_LN.label][:, 0]
        return 100.0 * (found[who][:, 0] - theirs) / (found[ORACLE][:, 0] - theirs).mean()

    said = [
        Statement(f"{who} has less regret than {ESDP_LN.label}", study.samples(partial(saved, who=who)), "%")
        for who in KNOWING
    ]
    sure = {who: amounts([one])[0] for who, one in zip(KNOWING, judge(said), strict=True)}
    told = " and ".join(f"{who} in {many}" for who, many in sure.items())
    return study.finding(f"{told} of the settings surely have less regret than ESDP.", said)


PER_SLOT = replace(
    readings.LAB,
    averages=lambda who, setup, seeds: np.array([rewards(who, setup, seed).mean() for seed in seeds]),
    optima=lambda setup, seeds: np.array([optimum(setup, seed).mean() for seed in seeds]),
)
