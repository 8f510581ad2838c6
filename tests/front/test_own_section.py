"""A problem of others without claims has a section in the audit: what holds for any problem."""

import importlib
import json
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import strategies as st

import clairvoyant as cv
from clairvoyant import _own, api
from clairvoyant import problems as module
from clairvoyant.analysis.audit import source_digest
from clairvoyant.analysis.claim import Claim, Context, Finding, Verdict
from clairvoyant.models.base import InputError
from clairvoyant.online.play import policy_stream
from clairvoyant.oracles.base import Optimum, OracleEntry, OracleError
from clairvoyant.oracles.generic import declared
from clairvoyant.problems import OURS, PluginError, Problem
from clairvoyant.testing.kit import Target

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "one_way_trading"
NAME = "one-way-trading"
QUICK = Context("quick")


@pytest.fixture(scope="module")
def trading() -> Iterator[ModuleType]:
    """The module of the tutorial."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXAMPLE)
        yield importlib.import_module("one_way_trading")
        sys.modules.pop("one_way_trading")


@pytest.fixture
def brought(trading: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Problem]:
    """Return what makes the problem of the tutorial known, without claims and with other parts changed."""

    def bring(**parts: Any) -> Problem:
        record: Problem = replace(trading.PROBLEM, **({"claims": ()} | parts))
        there = module._Brought({NAME: record}, {NAME: "stranger"})
        monkeypatch.setattr(module, "_others", lambda: there)
        return record

    return bring


def found(name: str) -> Finding:
    """Check one of the claims, and say whether the verdict is a surprise."""
    (claim,) = (one for one in _own.catalogue() if one.id == f"{NAME}/{name}")
    return claim.find(QUICK)


def expected(finding: Finding) -> bool:
    """Whether the audit passes with the finding."""
    claim = next(_own.claims_of(NAME))
    return claim.as_expected(finding)


def test_only_problems_of_others_without_claims_have_the_section(brought: Callable[..., Problem]) -> None:
    ours = [claim.id for claim in module.claims()]
    assert [claim.id for claim in _own.catalogue()] == ours
    assert {problem.name for problem in OURS} > {claim.problem for claim in module.claims()}
    brought()
    new = [claim.id for claim in _own.catalogue()][len(ours) :]
    assert new == [f"{NAME}/oracles", f"{NAME}/contract", f"{NAME}/bound"]
    own = Claim(f"{NAME}/x", "here", "says", "how", Verdict.HOLDS, lambda _: Finding(Verdict.HOLDS, ""))
    brought(claims=(own,))
    assert [claim.id for claim in _own.catalogue()] == [*ours, own.id]
    brought(policies={})
    assert [claim.id for claim in _own.catalogue()] == [*ours, f"{NAME}/oracles"]


def test_the_section_of_a_good_problem_holds(brought: Callable[..., Problem]) -> None:
    brought()
    for name, summary in (
        ("oracles", "On 3 instances all bounds enclose the values, and the decisions earn them when played."),
        ("contract", "All checks of 2 policies pass."),
        ("bound", "No policy passes the bound in 6 runs."),
    ):
        finding = found(name)
        assert (finding.verdict, finding.headline) == (Verdict.HOLDS, summary)
        assert finding.numbers["contradictions"] == 0
        limits = "These cannot look at everything: degenerate_instances." if name == "contract" else ""
        assert finding.remark == limits
        assert finding.tables


def test_the_table_is_that_of_the_plays(brought: Callable[..., Problem], trading: ModuleType) -> None:
    brought(ratio=None)
    (table,) = found("bound").tables
    rows = {row[0]: row[1:] for row in table.rows}
    assert set(rows) == {"threshold", "reservation"}
    regrets = []
    for seed in range(3):
        instance = trading.generate("tiny", seed)
        regrets.append(declared(instance).value - cv.play(trading.Threshold(), instance).total)
    runs, least, most, low, high = rows["threshold"]
    assert runs == 3
    assert least == pytest.approx(sum(regrets) / 3)
    assert low < least <= most < high


def wrong(by: float, **fields: Any) -> Callable[..., Optimum]:
    """An oracle whose value is beyond what its decisions earn."""

    def solve(instance: Any, **_: Any) -> Optimum:
        return replace(declared(instance), **({"value": declared(instance).value + by} | fields))

    return solve


def entry(function: Callable[..., Optimum]) -> dict[str, OracleEntry]:
    return {"best": OracleEntry(function, NAME, "the best", (), "nothing")}


def target(ceiling: str | None = "best", replay: Any = lambda _, x: x) -> Target:
    return Target(st.nothing(), lambda data, _: data, replay, ceiling)


def raising(*_: Any, **__: Any) -> Optimum:
    raise OracleError("status 'lost'")


@pytest.mark.parametrize(
    ("function", "replay", "why"),
    [
        (wrong(1.0, bound=1e9), None, "best on tiny, seed 0: its decisions come to .*, its value is "),
        (wrong(0.0, bound=0.5), None, "best on tiny, seed 0: the value .* is beyond the bound 0.5"),
        (wrong(math.nan), None, "its value is nan"),
        (wrong(0.0, minimised=True), None, "it says minimised=True, the instance does not"),
        (wrong(0.0), lambda _, x: [2.0 for _ in x], "its decisions cannot be played: price 0: fortune"),
        (wrong(0.0), lambda _, x: x[:-1], "its decisions cannot be played: there are too few"),
        (wrong(0.0), lambda _, x: [*x, 0.0], "7 decisions for 6 events"),
        (raising, None, "best on tiny, seed 0: status 'lost'"),
    ],
)
def test_an_oracle_that_is_wrong_is_refuted_by_an_instance(
    brought: Callable[..., Problem], function: Any, replay: Any, why: str
) -> None:
    brought(oracles=entry(function), target=target(replay=replay or (lambda _, x: x)))
    finding = found("oracles")
    assert finding.verdict is Verdict.REFUTED
    assert finding.counterexample == api.generate(NAME, "tiny", 0)
    with pytest.raises(AssertionError, match=why):
        raise AssertionError(finding.proof)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ZeroDivisionError("by\nzero"), "ZeroDivisionError: by zero"),
        (InputError("size: too large"), "size: too large"),
    ],
)
def test_an_oracle_that_raises_is_named_and_the_others_go_on(
    brought: Callable[..., Problem], trading: ModuleType, error: Exception, said: str
) -> None:
    first = trading.generate("tiny", 0).digest()

    def crash(instance: Any, **_: Any) -> Optimum:
        if instance.digest() == first:
            raise error
        return declared(instance)

    brought(oracles=entry(crash) | {"fine": entry(declared)["best"]}, target=target())
    finding = found("oracles")
    assert finding.verdict is Verdict.NOT_CHECKABLE
    assert finding.remark == f"best on tiny, seed 0: {said}"
    assert not expected(finding)
    values = {row[:2]: row[2] for row in finding.tables[0].rows}
    assert values.pop(("best", "tiny, seed 0")) is None
    assert len(values) == 5
    assert all(value is not None for value in values.values())
    finding = found("bound")
    assert f"tiny, seed 0: {said}" in finding.remark
    assert {row[1] for row in finding.tables[0].rows} == {2}


def test_a_replay_or_a_ratio_that_raises_is_named(brought: Callable[..., Problem]) -> None:
    def fail(*_: Any) -> Any:
        raise TypeError("not so")

    brought(oracles=entry(wrong(0.0)), target=target(replay=fail), ratio=fail)
    for name, said in (
        ("oracles", "best on tiny, seed 0: TypeError: not so\n\nbest on tiny, seed 1: TypeError"),
        ("bound", "threshold on tiny, seed 2: TypeError: not so\n\nreservation on tiny, seed 0: TypeError"),
    ):
        assert said in found(name).remark
        assert not expected(found(name))


def test_an_oracle_that_is_not_there_is_said_by_name(brought: Callable[..., Problem]) -> None:
    brought(oracles=entry(wrong(0.0)), target=target("worst"))
    with pytest.raises(
        PluginError,
        match=f"^problem '{NAME}': target: ceiling: 'worst' is not one of its oracles: best$",
    ):
        found("bound")
    brought(rival="nobody")
    with pytest.raises(PluginError, match=r": rival: 'nobody' is not one of its oracles: program$"):
        module.rival(NAME)


def test_a_program_that_forbids_too_much_is_refuted_by_a_policy(
    brought: Callable[..., Problem], trading: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = trading.OneWayTrading.program

    def strict(self: Any) -> Any:
        found = program(self)
        rows = [*found.problem.constraints, found.problem.variables()[0][0] == 1.0]
        found.problem = type(found.problem)(found.problem.objective, rows)
        return found

    monkeypatch.setattr(trading.OneWayTrading, "program", strict)
    brought()
    assert found("oracles").verdict is Verdict.HOLDS  # what nobody sees who looks at the oracle alone
    finding = found("bound")
    assert finding.verdict is Verdict.REFUTED
    assert finding.counterexample is not None
    assert "is beyond the bound" in finding.proof


def test_a_policy_that_breaks_its_contract_is_refuted(
    brought: Callable[..., Problem], trading: ModuleType
) -> None:
    class Greedy(trading.Threshold):  # type: ignore[name-defined, misc]
        """Sells everything at every price."""

        def decide(self, seen: Any) -> float:
            return 1.0

    brought(policies={"threshold": Greedy, "reservation": trading.Reservation})
    finding = found("contract")
    assert finding.verdict is Verdict.REFUTED
    assert finding.proof.startswith("policy 'threshold' fails start_resets: an infeasible decision")
    (first, second) = finding.tables[0].rows
    assert "feasible_decisions" in first[3]
    assert second == ("reservation", 12, 0, "none")
    finding = found("bound")
    assert finding.verdict is Verdict.NOT_CHECKABLE
    assert "threshold on tiny, seed 0: DecisionError: " in finding.remark
    assert not expected(finding)  # nobody said that this would be open
    assert [row[:2] for row in finding.tables[0].rows] == [("threshold", 0), ("reservation", 3)]


def test_who_is_not_feasible_on_purpose_may_be_beyond_the_bound(
    brought: Callable[..., Problem], trading: ModuleType
) -> None:
    class Printed(trading.Threshold):  # type: ignore[name-defined, misc]
        """Sells everything at every price."""

        traits = replace(trading.Threshold.traits, feasible=False)

        def decide(self, seen: Any) -> float:
            return 1.0

    brought(policies={"threshold": Printed}, ratio=None)
    finding = found("bound")
    assert (finding.verdict, finding.small) == (Verdict.NOT_CHECKABLE, True)
    assert "infeasible decisions, which may pass any bound" in finding.remark
    ((_, runs, _, most, _, _),) = finding.tables[0].rows
    assert runs == 3
    assert most < 0.0


def test_every_instance_is_played_with_a_seed_of_its_own(
    brought: Callable[..., Problem], trading: ModuleType
) -> None:
    drawn: list[float] = []

    class Random(trading.Threshold):  # type: ignore[name-defined, misc]
        """Notes what it could draw."""

        def start(self, setting: Any, rng: Any) -> None:
            super().start(setting, rng)
            drawn.append(rng.random())

    brought(policies={"threshold": Random})
    found("bound")
    assert drawn == [policy_stream(seed).random() for seed in range(3)]


def test_what_is_missing_leaves_the_verdict_open_and_the_audit_passes(
    brought: Callable[..., Problem],
) -> None:
    for parts, why in (
        ({"generate": None}, "there are no instances: the problem has neither `generate` nor `kit`"),
        ({"oracles": entry(wrong(0.0))}, "the problem has no `target`"),
        (
            {"oracles": entry(wrong(0.0, bound=None)), "target": target()},
            "best on tiny, seed 0: there is no bound",
        ),
    ):
        brought(**parts)
        finding = found("oracles")
        assert finding.verdict is Verdict.NOT_CHECKABLE
        assert why in finding.remark
        assert expected(finding)
    for parts, why in (
        ({"oracles": entry(wrong(0.0))}, "it is not said that the bound is one for all policies"),
        ({"oracles": entry(wrong(0.0, bound=0.5)), "target": target(None)}, "is one for all policies"),
        ({"oracles": entry(wrong(0.0, bound=None)), "target": target()}, "seed 0: there is no bound"),
    ):
        brought(**parts)
        finding = found("bound")
        assert finding.verdict is Verdict.NOT_CHECKABLE
        assert why in finding.remark
        assert expected(finding)
        assert [row[1] for row in finding.tables[0].rows] == [3, 3]
    brought(oracles=entry(raising), target=target())
    assert not expected(found("bound"))


def test_instances_of_a_kit_take_the_place_of_generated_ones(
    brought: Callable[..., Problem], trading: ModuleType
) -> None:
    from clairvoyant.testing import Kit

    made = trading.generate("tiny", 7)
    kit = Kit(NAME, lambda: {"mine": made}, lambda: {"mine": made}, frozenset(), lambda *_: (), lambda _: ())
    brought(generate=None, kit=kit)
    (table,) = found("oracles").tables
    assert [row[1] for row in table.rows] == ["mine"]


def test_the_command_shows_the_section(
    brought: Callable[..., Problem], run: Callable[..., Any], tmp_path: Path
) -> None:
    brought()
    done = run("audit", "--problem", NAME, "--quick", "--workers", 1, "--out", tmp_path, "--json")
    assert done.status == 0
    assert [claim["id"] for claim in done.json["claims"]] == [
        f"{NAME}/{name}" for name in ("oracles", "contract", "bound")
    ]
    page = (tmp_path / f"{NAME}.html").read_text("utf-8")
    assert page.count(f'id="{NAME}--') >= 3
    assert "Mean ratio" in page
    read = json.loads((tmp_path / "findings" / NAME / "bound.json").read_text("utf-8"))
    assert read["verdict"] == "holds"


def test_a_generator_that_raises_is_the_fault_of_its_distribution(
    brought: Callable[..., Problem], run: Callable[..., Any], tmp_path: Path
) -> None:
    def generate(size: str, seed: int) -> Any:
        raise ZeroDivisionError(f"no luck with {size}, {seed}")

    brought(generate=generate)
    done = run("audit", "--problem", NAME, "--quick", "--workers", 1, "--out", tmp_path)
    assert done.status == 1
    assert f"failed: claim {NAME}/oracles: its check, from stranger, failed: ZeroDivisionError" in done.err
    assert "bug in clairvoyant" not in done.err


def test_findings_are_those_of_the_source_of_the_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "own_digest_package"
    package.mkdir()
    for name, text in (("__init__", ""), ("instance", "class Mine: ...\n"), ("policies", "LOW = 1\n")):
        (package / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    kind = importlib.import_module("own_digest_package.instance").Mine
    claims = [replace(next(iter(module.claims())), check=partial(_own.check_oracles, kind))]
    first = source_digest(claims)
    assert first == source_digest(claims) != source_digest()
    (package / "policies.py").write_text("LOW = 2\n", encoding="utf-8")
    assert source_digest(claims) != first
