"""Claims of our own: certificates, the bound of CUCB, planning for ports with jobs, the search."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from ....models.selection.generate import generate
from ....models.selection.instance import SelectionInstance
from ....online.play import play
from ....online.selection import Cucb, Esdp
from ...claim import Context, Finding, Register, Table, Verdict, holds_if
from ...experiments import SEEDS_APART, seeds, track
from ...study import Statement
from ..experiments import CUCB, ESDP, ESDP_LN, instance, played
from ..regret import TIE, RegretCurves, certificate, checkpoints, cucb_curve, over_time
from .algorithm import largest_index, random_cases
from .readings import ESDP as OURS
from .readings import sweep
from .theory import curve, regret_figure, regret_of, runs

claim = Register("selection")
HOLDS, REFUTED = Verdict.HOLDS, Verdict.REFUTED


@claim(
    "index-identity",
    "(20), (21); our own",
    HOLDS,
    says="If S covers max Upsilon.x, (21) finds the maximum of Upsilon.x + sqrt(Sigma^2.x).",
    how="P4(s) for all s by staircases, the search over x, and enumeration.",
    ours=True,
)
def _identity(context: Context) -> Finding:
    from ....oracles.selection.p4 import p4_optima
    from ....oracles.selection.p4 import select as select_corner

    rng = np.random.default_rng(context.seed)
    worst = 0.0
    for given in track(context, random_cases(rng, context.pick(60, 200, 4000))):
        setting = given.instance("random").setting
        by_s = select_corner(p4_optima(setting, given.upsilon, given.sigma2, s_max=given.s_max)).score
        by_x = setting.knapsack.best(given.upsilon, given.sigma2).value
        exact = largest_index(given)
        worst = max(worst, abs(by_s - exact), abs(by_x - exact))
    at_scale = 0.0
    for seed in seeds(context, 2, 3, 20):
        setting = generate("default", seed, slots=0).setting
        upsilon, sigma2 = (rng.integers(low, 60, setting.channels) for low in (0, 1))
        by_s = select_corner(p4_optima(setting, upsilon, sigma2)).score
        at_scale = max(at_scale, abs(by_s - setting.knapsack.best(upsilon, sigma2).value))
    kept = worst <= TIE and at_scale <= TIE
    return Finding(
        holds_if(kept, REFUTED),
        "Maximising over s is maximising over sets, so ESDP's selection needs no table over s.",
        {"largest difference": worst, "largest difference, default size": at_scale},
        proof="" if kept else "The differences.",
        remark="Every x is feasible for s = Upsilon.x, and no optimum of P4(s) has s above Upsilon.x.",
    )


def small_certificates(context: Context) -> tuple[float, float]:
    """Return regret less certificate and less the strict one, the largest over small runs with coins."""
    plain = strict = -math.inf
    for n in range(context.pick(10, 30, 400)):
        sampled = generate("tiny", SEEDS_APART * context.seed + n, slots=80, noise="bernoulli")
        run = play(Esdp(g="log"), sampled, keep_decisions=True)
        regret = over_time(sampled, run.rewards)
        found = certificate(sampled, np.array(run.decisions), g="log")
        plain = max(plain, float((regret - np.cumsum(found.per_slot)).max()))
        strict = max(strict, float((regret - np.cumsum(found.strict_per_slot)).max()))
    return plain, strict


@claim(
    "certificate",
    "(15), (18), (36); our own",
    HOLDS,
    says="A slot in which (15) holds costs at most delta + sqrt(m)/xi + 2 sqrt(sigma-hat^2.x), and no slot "
    "more than its optimum; the sum bounds the regret of a run.",
    how="The certificate recomputed from decisions and sample path, against the regret after every slot.",
    ours=True,
)
def _certificates(context: Context) -> Finding:
    setup, sampled = runs(context)
    lines, excess = [], [*small_certificates(context)]
    proven: dict[str, list[np.ndarray]] = {ESDP.label: [], ESDP_LN.label: []}
    points = checkpoints(int(setup.slots or 0))
    for who, seed in track(context, list(product((ESDP, ESDP_LN), sampled))):
        regret = regret_of(who, setup, seed)
        g = "log" if who == ESDP_LN else "full"
        found = certificate(instance(setup, seed), played(who, setup, seed), g=g)
        proven[who.label].append(np.cumsum(found.per_slot)[points - 1])
        both = (found.per_slot, found.strict_per_slot)
        excess += [float((regret - np.cumsum(per_slot)).max()) for per_slot in both]
        shown = (float(regret[-1]), found.total, found.strict, float(found.optimum.sum()))
        lines.append((who.label, seed, *shown))
    curves = [curve(who, setup, sampled) for who in (ESDP, ESDP_LN)]
    for one in curves:
        one.bounds[f"{one.policy}, certificate"] = np.array(proven[one.policy])
    kept = max(excess) <= TIE * points[-1]
    return Finding(
        holds_if(kept, REFUTED),
        "No run had more regret than its certificate after any slot.",
        {
            "runs": len(lines),
            "largest regret less certificate": max(excess),
            "certificate / regret, g = ln(t + 1)": float(
                np.mean([x[3] / x[2] for x in lines if x[0] == ESDP_LN.label])
            ),
        },
        tables=(
            Table(
                f"Default instances, T = {setup.slots}",
                ("policy", "instance seed", "regret", "certificate", "strict certificate", "optimum"),
                tuple(lines),
            ),
        ),
        figures=(
            regret_figure(
                "regret-certificate",
                "Regret of ESDP maximised over the ports with jobs, and the certificates of the same runs; "
                "default instances, mean (and for the regret 95 % band) over instances.",
                curves,
                "y",
            ),
        ),
        proof="" if kept else "The runs of the table.",
        remark="The strict certificate, which counts the whole optimum where (15) fails, is a theorem.",
    )


@claim(
    "cucb-bound",
    "Sec. 3.3, other policies; our own",
    HOLDS,
    says="The expected regret of CUCB is at most 4 sqrt(1.5 m |E| T ln T) + m |E| (1 + pi^2/3).",
    how="CUCB on default instances with several sample paths each, after every number of slots.",
    ours=True,
)
def _cucb(context: Context) -> Finding:
    setup, sampled = runs(context)
    paths = context.pick(2, 2, 5)
    points = checkpoints(int(setup.slots or 0))
    found = np.zeros((len(sampled), paths, len(points)))
    for (row, seed), n in track(context, list(product(enumerate(sampled), range(paths)))):
        here = instance(setup, seed)
        other = SelectionInstance.from_dict(here.to_dict() | {"seed": here.seed + n})
        found[row, n] = over_time(other, play(Cucb(), other).rewards)[points - 1]
    bound = cucb_curve([instance(setup, seed) for seed in sampled], points)
    share = found / bound[:, None, :]
    mean = RegretCurves(CUCB.label, points, found.mean(axis=1), {"CUCB, bound in expectation": bound})
    kept = bool((share <= 1.0).all())
    return Finding(
        holds_if(kept, REFUTED),
        "The regret of CUCB stayed far below its bound.",
        {
            "runs": len(sampled) * paths,
            "largest regret of a run / bound": float(share.max()),
            "bound / regret at T": float((bound[:, -1] / found.mean(axis=1)[:, -1]).mean()),
        },
        figures=(
            regret_figure(
                "regret-cucb",
                "Regret of CUCB against the clairvoyant optimum on default instances, mean over sample paths "
                "and 95 % band over instances, and its bound.",
                [mean],
                "y",
            ),
        ),
        proof="" if kept else "The runs.",
    )


@claim(
    "arrival-aware",
    "Algorithm 1, lines 9-16; our own",
    HOLDS,
    says="Planning for the ports with jobs earns more than planning for all of them wherever capacity binds.",
    how="Both on the same instances with scarce and with more devices.",
    ours=True,
    choices=("the capacities", "rho"),
)
def _arrival_aware(context: Context) -> Finding:
    plans = {"all ports": {}, "ports with jobs": {"plan": "ports with jobs"}}
    names = ("as printed", "c = 2", "c = 24", "rho = 0.4")
    study = sweep(context, plans, (100, 200, 8000), names, who=(OURS,))
    gain = study.samples(lambda f: 100.0 * np.diff(f[OURS], axis=1)[:, 0] / f[OURS][:, 0].mean())
    return study.finding(
        "Planning for the ports with jobs earns more than planning for all of them.",
        [Statement("ports with jobs earn more", gain, "%")],
        small=context.mode == "quick",
    )


CLAIMS = claim.claims
