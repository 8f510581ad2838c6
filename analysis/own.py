"""What holds for any problem, whoever brings it: oracles are consistent, and no policy passes their bound.

Everything is handed in: instances, oracles, policies. A verdict rests on what was measured alone; where a
part of the problem is missing that it would need, the verdict is open, and the remark names the part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..models.base import ClairvoyantError, Instance, things
from ..online.play import Replay, Run, play
from ..oracles.base import Optimum, OracleEntry, OracleError, contradiction
from .claim import PARAGRAPH, Context, Finding, Table, Verdict, finding, table
from .statistics import Interval, mean_interval

SLACK = 1e-9  # what sums in another order may differ by, as a part of the absolute values that are added up

BLIND = {"no_peeking", "holds_no_instance", "nothing_handed_over"}
"""Checks without which nobody knows whether a policy is blind to the future."""

Replayed = Callable[[Instance, Any], Iterable[Any]]
"""Turns an oracle's decision on an instance into decisions, one per event."""

Ratio = Callable[[Optimum, float], tuple[float, float]]
Make = Callable[[], Any]
Solved = dict[str, tuple[Instance, Optimum]]


@dataclass
class _Found:
    """What came out so far: what contradicts the statement, what is missing to decide it, and instances."""

    faults: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    left_open: list[str] = field(default_factory=list)
    counterexample: Instance | None = None

    @classmethod
    def on(cls, instances: Collection[str]) -> _Found:
        """Begin; without instances something is missing."""
        why = "there are no instances: the problem has neither `generate` nor `kit`"
        return cls(missing=[] if instances else [why])

    def fault(self, text: str, instance: Instance | None = None) -> None:
        """Note what contradicts the statement, and keep the first instance on which it does."""
        self.faults.append(text)
        self.counterexample = instance if self.counterexample is None else self.counterexample

    def finding(self, holds: str, tables: Sequence[Table], remark: str = "", **numbers: int) -> Finding:
        """Return the finding; ``holds`` is the headline where nothing is open."""
        verdict, headline, proof = Verdict.HOLDS, holds, ""
        if self.faults:
            verdict, proof = Verdict.REFUTED, _short(self.faults[0])
            headline = "This was contradicted; the first contradiction stands below."
        elif self.missing or self.left_open:
            verdict, headline = Verdict.NOT_CHECKABLE, "Open, as something is missing."
            remark = "\n\n".join(map(_short, dict.fromkeys([*self.left_open, *self.missing])))
        more: dict[str, Any] = {"proof": proof, "remark": remark, "counterexample": self.counterexample}
        more["small"] = verdict is Verdict.NOT_CHECKABLE and not self.left_open
        return finding(verdict, headline, {**numbers, "contradictions": len(self.faults)}, *tables, **more)


def _short(text: str) -> str:
    """Return the first words of a text that others may have made as long as they like."""
    words = text.split()
    return text if len(words) <= PARAGRAPH else " ".join([*words[: PARAGRAPH - 1], "..."])


def consistent(
    instances: Mapping[str, Instance],
    oracles: Mapping[str, OracleEntry],
    replays: Mapping[str, Replayed],
    context: Context,
) -> Finding:
    """Check what oracles say: no value beyond its bound, and decisions that earn the value when played.

    ``replays`` tells of each oracle whose decisions can be played how they are.
    """
    found, rows = _Found.on(instances), []
    if not oracles:
        found.missing.append("there are no oracles")
    for name, entry in oracles.items():
        if name not in replays:
            found.missing.append(f"the decisions of {name!r} are not played: the problem has no `target`")
        for where, instance in instances.items():
            try:
                rows.append(_asked(found, name, entry, replays.get(name), where, instance))
            except Exception as error:  # noqa: BLE001 - whatever an oracle of others does is told
                found.left_open.append(f"{name} on {where}: {_said(error)}")
                rows.append((name, where, None, None, None))
            context.progress(len(rows) / (len(oracles) * len(instances)))
    heads = "oracle | instance | value | bound | of its decisions, played"
    count = f"{len(instances)} {things(len(instances), 'instances')}"
    holds = f"On {count} all bounds enclose the values, and the decisions earn them when played."
    return found.finding(holds, [table("What the oracles say", heads, rows)], solved=len(rows))


def _asked(
    found: _Found, name: str, entry: OracleEntry, replay: Replayed | None, where: str, instance: Instance
) -> tuple[Any, ...]:
    """Return a row of what an oracle says of an instance, noting what is wrong with it."""
    what = f"{name} on {where}"
    try:
        optimum = entry.function(instance)
    except OracleError as error:
        found.fault(f"{what}: {error}", instance)
        return name, where, None, None, None
    sign, total = -1.0 if instance.minimised else 1.0, None
    if replay is not None:
        total = _played(found, what, list(replay(instance, optimum.decision)), optimum, instance)
    if optimum.minimised != instance.minimised:
        found.fault(f"{what}: it says minimised={optimum.minimised}, the instance does not", instance)
    elif optimum.bound is None or not math.isfinite(optimum.bound):
        found.missing.append(f"{what}: there is no bound")
    elif not sign * (optimum.value - optimum.bound) <= SLACK * abs(optimum.bound):
        found.fault(f"{what}: the value {optimum.value!r} is beyond the bound {optimum.bound!r}", instance)
    elif wrong := contradiction(optimum, instance.minimised):
        found.fault(f"{what}: {wrong}", instance)
    return name, where, optimum.value, optimum.bound, total


def _played(
    found: _Found, what: str, decisions: list[Any], optimum: Optimum, instance: Instance
) -> float | None:
    """Return what decisions earn, noting if it is not the value or if they cannot be played."""
    try:
        run = play(Replay(decisions, instance.problem), instance)
    except (ClairvoyantError, IndexError) as error:
        why = "there are too few" if isinstance(error, IndexError) else str(error)
        found.fault(f"{what}: its decisions cannot be played: {why}", instance)
        return None
    if len(run.rewards) != len(decisions):
        found.fault(f"{what}: {len(decisions)} decisions for {len(run.rewards)} events", instance)
    if not abs(run.total - optimum.value) <= _slack(run, optimum.value):
        found.fault(f"{what}: its decisions come to {run.total!r}, its value is {optimum.value!r}", instance)
    return run.total


def _said(error: Exception) -> str:
    """Return what an error in the code of others says, with its kind unless it is one of ours."""
    kind = "" if isinstance(error, ClairvoyantError) else f"{type(error).__name__}: "
    return " ".join(f"{kind}{error}".split())


def _slack(run: Run, value: float) -> float:
    return SLACK * max(float(np.abs(run.rewards).sum()), abs(value))


def contract(
    policies: Mapping[str, Callable[[], Mapping[str, str | None]]],
    unchecked: Mapping[str, str],
    context: Context,
) -> Finding:
    """Check that policies keep their contract.

    What runs the checks of a policy returns for each of them why it fails, or ``None``. ``unchecked`` says by
    the name of a check what it cannot look at.
    """
    found, rows, ran = _Found(), list[tuple[Any, ...]](), 0
    if not policies:
        found.missing.append("there are no policies")
    for name, check in policies.items():
        results = check()
        failed = {one: why for one, why in results.items() if why is not None}
        ran += len(results)
        for why in failed.values():
            found.fault(why)
        rows.append((name, len(results) - len(failed), len(failed), ", ".join(failed) or "none"))
        context.progress(len(rows) / len(policies))
    tables = [table("Checks of the contract", "policy | passed | failed | which fail", rows)]
    if unchecked:
        tables.append(table("Not all is looked at", "check | why", unchecked.items()))
    found.missing += [f"{one}: {why}" for one, why in unchecked.items() if one in BLIND]
    count = "one policy" if len(policies) == 1 else f"{len(policies)} policies"
    limits = f"These cannot look at everything: {', '.join(unchecked)}." if unchecked else ""
    return found.finding(f"All checks of {count} pass.", tables, limits, checks=ran)


def within_bound(
    instances: Mapping[str, Instance],
    solve: Callable[[Instance], Optimum],
    policies: Mapping[str, Make],
    ratio: Ratio | None,
    ceiling: bool,
    context: Context,
) -> Finding:
    """Check that no policy does better than the bound, and say by how much each falls short of the optimum.

    ``ratio`` returns the interval of optimum / total (total / optimum where less is better), if policies are
    compared so; ``ceiling`` tells whether the bound of the oracle is one for all policies.
    """
    found, solved = _Found.on(instances), Solved()
    if not ceiling:
        found.missing.append("it is not said that the bound is one for all policies: `target.ceiling`")
    for where, instance in instances.items():
        try:
            solved[where] = instance, solve(instance)
        except Exception as error:  # noqa: BLE001 - whatever an oracle of others does is told
            found.left_open.append(f"{where}: {_said(error)}")
        else:
            bound = solved[where][1].bound
            if bound is None or not math.isfinite(bound):
                found.missing.append(f"{where}: there is no bound")
        context.progress(len(solved) / (2 * len(instances)))
    rows, played = list[tuple[Any, ...]](), 0
    for name, make in policies.items():
        scores = _scores(found, name, make, solved, ratio, ceiling, context.seed)
        rows.append((name, len(scores), *_row(scores)))
        played += len(scores)
        context.progress(0.5 + len(rows) / (2 * len(policies)))
    what = "ratio" if ratio is not None else "regret"
    heads = f"policy | runs | {what} at least | {what} at most | 95 % from | 95 % to"
    title = f"Mean {what}. Against value and bound of the oracle; the interval is of the mean over instances"
    holds = f"No policy passes the bound in {played} {things(played, 'runs')}."
    return found.finding(holds, [table(title, heads, rows)], runs=played)


def _scores(
    found: _Found, name: str, make: Make, solved: Solved, ratio: Ratio | None, ceiling: bool, seed: int
) -> list[tuple[float, float]]:
    """Return the interval of regret or ratio of a policy on every instance that it plays."""
    scores = []
    for number, (where, (instance, optimum)) in enumerate(solved.items()):
        try:
            policy = make()
            run = play(policy, instance, seed + number, enforce=policy.traits.feasible)
            ends = None if ratio is None else ratio(optimum, run.total)
        except Exception as error:  # noqa: BLE001 - whatever a policy of others does is told
            found.left_open.append(f"{name} on {where}: {type(error).__name__}: {error}")
            continue
        sign, bound = -1.0 if instance.minimised else 1.0, optimum.bound
        if run.infeasible:
            found.missing.append(f"{name} on {where}: infeasible decisions, which may pass any bound")
        beyond = bound is not None and sign * (run.total - bound) > _slack(run, bound)
        if beyond and ceiling and not run.infeasible:
            found.fault(f"{name} on {where}: {run.total!r} is beyond the bound {bound!r}", instance)
        if ends is None:
            top = math.inf if bound is None else sign * (bound - run.total)
            scores.append((sign * (optimum.value - run.total), top))
        else:
            low, high = ends
            scores.append((low, high) if run.infeasible else (max(low, 1.0), max(low, high, 1.0)))
    return scores


def _row(scores: Sequence[tuple[float, float]]) -> tuple[float | None, ...]:
    """Return the means of the lower and the upper ends, and from where to where these are uncertain."""
    if not scores:
        return None, None, None, None
    low, high = (
        mean_interval(ends) if all(map(math.isfinite, ends)) else Interval(math.inf, math.nan, math.nan)
        for ends in zip(*scores, strict=True)
    )
    return low.mean, high.mean, low.low, high.high
