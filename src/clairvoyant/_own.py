"""The section of the audit that a problem has without a claim of its own: what holds for any problem.

The checks are found by the class of the instances, from which a worker process finds the problem.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from .analysis.claim import Claim, Context, Finding, Verdict
from .analysis.own import Replayed, consistent, contract, within_bound
from .models.base import Instance
from .oracles.generic import declared
from .problems import OURS, Problem, claims, find, known_oracle, oracles, players, problems, rival

WHERE = "of any problem"
ORACLES = (
    "No value of an oracle is beyond its bound, and its decisions are feasible and earn the value.",
    "Small instances are solved by every oracle of the problem, and the decisions are played.",
)
CONTRACT = (
    "Every policy keeps its contract: feasible, reproducible, honest in its traits, and blind to the future.",
    "The checks of `check_policy`, as far as they can look.",
)
BOUND = (
    "No policy does better than the bound that is certified.",
    "Every policy plays instances that an oracle solves; how far they stay behind is measured.",
)


def catalogue() -> list[Claim]:
    """Return all claims, and those of any problem for problems of others that have none."""
    listed = claims()
    mute = problems().keys() - {problem.name for problem in OURS} - {claim.problem for claim in listed}
    return listed + [claim for name in problems() if name in mute for claim in claims_of(name)]


def claims_of(name: str) -> Iterator[Claim]:
    """Yield the claims that hold for any problem, as far as this one has what they are about."""
    kind = find(name).part("instance")
    has = {"oracles": bool(oracles(name)), "policies": bool(players(name))}
    if has["oracles"]:
        check = partial(check_oracles, kind)
        yield Claim(f"{name}/oracles", WHERE, *ORACLES, Verdict.HOLDS, check, ours=True)
    if has["policies"] and (find(name).has("kit") or find(name).has("generate")):
        contract = partial(check_contract, kind)
        yield Claim(f"{name}/contract", WHERE, *CONTRACT, Verdict.HOLDS, contract, ours=True)
    if all(has.values()):
        yield Claim(f"{name}/bound", WHERE, *BOUND, Verdict.HOLDS, partial(check_bound, kind), ours=True)


def check_oracles(kind: type[Instance], context: Context) -> Finding:
    """Check that the oracles of a problem are consistent; ``kind`` is the class of its instances."""
    known = oracles(kind.problem)
    return consistent(samples(find(kind.problem), context), known, _replays(kind.problem), context)


def check_contract(kind: type[Instance], context: Context) -> Finding:
    """Check that the policies of a problem keep their contract."""
    from .testing.generic import find_kit

    known = players(kind.problem)
    checks = {name: partial(_contract, one, context.seed) for name, one in known.items()}
    return contract(checks, find_kit(kind.problem).unchecked, context)


def _contract(policy: type[Any], seed: int) -> Mapping[str, str | None]:
    """Return for each check why a policy fails it, or ``None``."""
    from .testing import PolicyCheckError, UncheckedWarning, policy_checks

    results: dict[str, str | None] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncheckedWarning)  # the finding has a table of them
        try:
            checks = [*policy_checks(policy, seeds=(seed, seed + 1))]
        except Exception as error:  # noqa: BLE001 - whatever a policy of others does is told
            return {"made": f"{policy.name} cannot be made: {type(error).__name__}: {error}"}
        for name, check in checks:
            try:
                check()
                results[name] = None
            except PolicyCheckError as error:
                results[name] = str(error)
    return results


def check_bound(kind: type[Instance], context: Context) -> Finding:
    """Check that no policy of a problem passes the bound of its oracle; measure how far they stay behind."""
    record = find(kind.problem)
    top = _ceiling(record)
    solve = oracles(record.name)[top or rival(record.name) or ""].function
    ratio = record.part("ratio") if record.has("ratio") else None
    made = samples(record, context)
    return within_bound(made, solve, players(record.name), ratio, top is not None, context)


def samples(record: Problem, context: Context) -> Mapping[str, Instance]:
    """Return instances by name: generated ones, else those that the checks of policies know, if there are."""
    size, count = context.pick(("tiny", 3), ("tiny", 20), ("default", 20))
    if record.has("generate"):
        generate, seeds = record.part("generate"), range(context.seed, context.seed + count)
        return {f"{size}, seed {seed}": generate(size, seed) for seed in seeds}
    return dict(record.part("kit").ordinary()) if record.has("kit") else {}


def _replays(name: str) -> dict[str, Replayed]:
    """Return how the decisions of oracles are played; those of a declared program are one per event."""
    record, known = find(name), oracles(name)
    found: dict[str, Replayed] = {}
    for key, entry in known.items():
        if entry.function is declared:
            found[key] = _as_they_are
        elif record.has("target"):
            found[key] = record.part("target").replay
    return found


def _as_they_are(_instance: Instance, decision: Any) -> Any:
    return decision


def _ceiling(record: Problem) -> str | None:
    """Return the oracle whose bound no policy can pass, if it is known."""
    if not record.has("oracles"):
        return next(iter(oracles(record.name)))
    named = record.part("target").ceiling if record.has("target") else None
    return known_oracle(record.name, "target: ceiling", named)
