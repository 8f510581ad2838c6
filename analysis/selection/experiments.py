"""Runs that the claims of Sec. 4 share: who plays on what, their rewards, and the clairvoyant optimum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np

from ...models.base import frozen_copy
from ...models.selection.generate import generate
from ...models.selection.instance import SelectionInstance
from ...online.play import Run
from ...online.selection import Esdp, EsdpPrinted, Hswf, Lcf, Lwtf
from ...oracles.base import CHECKER, Optimum
from ...oracles.selection.optimum import ORACLES
from ..engine.kept import optimum_of, run_of
from ..experiments import Contender, policy_seed
from ..optima import prover, rest_on
from .regret import Best, RunCertificate, certificate

ORACLE = "clairvoyant"


@dataclass(frozen=True)
class Setup:
    """Arguments of the generator, without the seed."""

    size: str = "default"
    slots: int | None = None
    ports: int | None = None
    servers: int | None = None
    density: float | None = None
    capacity: int | None = None
    arrival_probability: float = 0.9
    demand: tuple[int, int] = (1, 2)
    cost_scale: float = 0.1


ESDP = Contender("ESDP", Esdp)
ESDP_LN = Contender("ESDP (g = ln t)", partial(Esdp, g="log"))
PRINTED = Contender("ESDP (printed)", EsdpPrinted)
BASELINES = HSWF, LCF, LWTF = Contender("HSWF", Hswf), Contender("LCF", Lcf), Contender("LWTF", Lwtf)


def variant(who: Contender, delta: str = "loglog", g: str = "full", alpha: float = 0.5) -> Contender:
    """Return ESDP, as printed or not, with other sequences delta and g and another alpha."""
    more = {"alpha": alpha} if who == PRINTED else {}
    settings = {"delta": delta, "g": g, **more}
    text = ", ".join(f"{name} {value}" for name, value in settings.items())
    return Contender(f"{who.label}: {text}", partial(who.make, **settings))


@lru_cache(maxsize=16)
def instance(setup: Setup, seed: int) -> SelectionInstance:
    """Return the instance of a setup and an instance seed."""
    return generate(seed=seed, **asdict(setup))


def _sets(_instance: SelectionInstance, run: Run[Any]) -> dict[str, Any]:
    return {"x": np.array(run.decisions, dtype=bool)}


@cache
def played(who: Contender, setup: Setup, seed: int) -> np.ndarray:
    """Return the decisions x[slot, channel] of a contender; made or looked up once per process."""
    return frozen_copy(run_of(who.make(), instance(setup, seed), policy_seed(seed), _sets)["x"])


@cache
def rewards(who: Contender, setup: Setup, seed: int) -> np.ndarray:
    """Return the expected net utility of every slot, shape (T,)."""
    return frozen_copy(instance(setup, seed).rewards(played(who, setup, seed)))


def _slots(_instance: SelectionInstance, found: Optimum[np.ndarray]) -> dict[str, Any]:
    return {"per_slot": found.certificate.per_slot[:, 0].copy(), "method": found.method}


def _certified(here: SelectionInstance, found: Optimum[np.ndarray]) -> dict[str, Any]:
    proof = {"prover": prover(ORACLE, ORACLES[ORACLE], here, found), "checker": CHECKER}
    return proof | {"per_slot": found.certificate.per_slot, "decision": found.decision}


@cache
def solved(setup: Setup, seed: int, reduce: Callable[..., dict[str, Any]] = _slots) -> dict[str, Any]:
    """Return what is kept of the clairvoyant optimum: in every slot, and what proves it."""
    found = optimum_of(ORACLE, ORACLES[ORACLE], instance(setup, seed), {}, reduce)
    return {k: frozen_copy(v) if isinstance(v, np.ndarray) else v for k, v in found.items()}


def optimum(setup: Setup, seed: int, *, relied: bool = False) -> np.ndarray:
    """Return the largest expected net utility of every slot, shape (T,); ``relied``: a verdict rests on it.

    No certificate is made: in a mean over instances no single one decides anything.
    """
    found = solved(setup, seed)
    if relied:
        rest_on(ORACLE, instance(setup, seed), found["method"])
    return np.asarray(found["per_slot"])


def proven(setup: Setup, seed: int) -> Best:
    """Return what is best in every slot; its certificate is verified, once for all claims."""
    found = solved(setup, seed, _certified)
    rest_on(ORACLE, instance(setup, seed), found["prover"])
    return Best(found["per_slot"], found["decision"])


def regret_of(who: Contender, setup: Setup, seed: int) -> np.ndarray:
    """Return the regret of a contender after each slot, shape (T,)."""
    return proven(setup, seed).regret(rewards(who, setup, seed))


def certificate_of(who: Contender, setup: Setup, seed: int) -> RunCertificate:
    """Return the certificate of a run of ESDP over the ports with jobs."""
    g, best = "log" if who == ESDP_LN else "full", proven(setup, seed)
    return certificate(instance(setup, seed), played(who, setup, seed), g=g, best=best)
