"""The registry: what each problem has, what other distributions add, and what is left out as broken."""

import inspect
import json
import logging
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import make_dataclass, replace
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import clairvoyant as cv
from clairvoyant import api
from clairvoyant import problems as module
from clairvoyant import templates as templates
from clairvoyant.analysis.claim import Claim, Context, Finding, Verdict
from clairvoyant.analysis.engine.kept import optimum_of
from clairvoyant.analysis.optima import relied_on
from clairvoyant.cli.commands import main
from clairvoyant.models.allocation.instance import AllocationInstance
from clairvoyant.models.base import InputError
from clairvoyant.online.allocation import POLICIES
from clairvoyant.online.base import Traits
from clairvoyant.oracles.allocation import ORACLES
from clairvoyant.oracles.base import Optimum, OracleEntry, OracleError, WhyStopped
from clairvoyant.problems import OURS, Option, PluginError, Problem, find
from clairvoyant.testing import allocation as testing


class Dist:
    """A distribution, of which only the name counts."""

    name = "stranger"


class Entry:
    """An entry point that gives an object, or raises an error."""

    dist, value = Dist(), "stranger:THING"

    def __init__(self, name: str, thing: Any) -> None:
        self.name, self.thing = name, thing

    def load(self) -> Any:
        print("loading")
        if isinstance(self.thing, BaseException):
            raise self.thing
        return self.thing


class Theirs(AllocationInstance):
    """Instances of another problem."""

    problem = "theirs"  # type: ignore[assignment]


class Lazy:
    """A policy for allocation that another distribution brings; it is no dataclass."""

    name = "lazy"
    traits = Traits(problem="allocation")

    def start(self, setting: Any, rng: Any) -> None:
        self._nothing = setting.zeros() if hasattr(setting, "zeros") else None

    def decide(self, observation: Any) -> Any:
        return self._nothing


class Patient(Lazy):
    """The same for the other problem; it holds nothing."""

    name = "patient"
    traits = Traits(problem="theirs")

    def start(self, setting: Any, rng: Any) -> None:
        self._nothing = 0.0 * setting.edge_demand


GOOD = Problem(
    name="theirs",
    instance=Theirs,
    oracles={"best": replace(ORACLES["stationary"], problem="theirs"), "other": ORACLES["dynamic"]},
)


CLAIM = Claim(
    "allocation/c", "Sec. 1", "It is so.", "Look.", Verdict.HOLDS, lambda _: Finding(Verdict.HOLDS, "")
)


ODD: Any = Dist()


def forget() -> None:
    for cached in (module._others, module._added, module._warn_once):
        cached.cache_clear()


@pytest.fixture
def entries(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, list[Entry]]]:
    """What the groups of entry points hold; the tests fill it before anybody asks."""
    there: dict[str, list[Entry]] = {}
    monkeypatch.setattr(module, "_entries", lambda what: there.get(what, []))
    forget()
    yield there
    monkeypatch.undo()
    forget()


@pytest.mark.parametrize("problem", OURS, ids=lambda problem: problem.name)
def test_every_part_of_a_problem_can_be_loaded_and_is_what_it_says(problem: Problem) -> None:
    kind = problem.part("instance")
    assert kind.problem == problem.name
    assert problem.summary
    assert module.rival(problem.name) in module.oracles(problem.name)
    assert module.policies(problem.name)
    assert problem.part("kit").problem == problem.name
    assert all(claim.problem == problem.name for claim in problem.part("claims"))
    for part in ("bounds", "ratio", "measures", "worst_case", "facts", "besides", "generate", "from_trace"):
        assert not problem.has(part) or callable(problem.part(part))


@pytest.mark.parametrize("problem", OURS, ids=lambda problem: problem.name)
def test_the_options_of_a_problem_are_taken_by_its_generator(problem: Problem) -> None:
    def taken(one: Problem) -> set[str]:
        return {
            p.name
            for p in inspect.signature(one.part("generate")).parameters.values()
            if p.kind is p.KEYWORD_ONLY
        }

    assert set(problem.options) <= taken(problem)
    of_the_room = {name for one in OURS if one.room == problem.room for name in one.options}
    assert of_the_room & taken(problem) == set(problem.options)
    assert set(problem.small) <= taken(problem)


def test_what_a_problem_has_not_is_said_by_name() -> None:
    with pytest.raises(InputError, match=r"^problem: 'allocation' has no measures$"):
        find("allocation").part("measures")
    with pytest.raises(InputError, match=r"^problem: 'chess' is not one of allocation"):
        find("chess")
    with pytest.raises(InputError, match=r"^problem: None is not one of"):
        find(None)


def test_a_text_that_leads_nowhere_is_said_with_the_part() -> None:
    for text, why in (
        ("nowhere:generate", "No module named 'nowhere'"),
        (".models.base:generate", "no attribute"),
        ("x", "No module"),
    ):
        with pytest.raises(
            PluginError, match=f"problem 'theirs': generate: '{text}' cannot be loaded: .*{why}"
        ):
            replace(GOOD, generate=text).part("generate")


def test_runs_of_another_problem_have_a_regret_and_summaries(entries: dict[str, list[Entry]]) -> None:
    entries["problems"] = [Entry("theirs", GOOD)]
    entries["policies"] = [Entry("patient", Patient)]
    instance = Theirs.from_dict(cv.generate("allocation", "tiny", 1).to_dict() | {"problem": "theirs"})
    run, optimum = cv.play("patient", instance), cv.solve(instance)
    assert cv.regret(run, optimum).low == pytest.approx(optimum.value - run.total)
    for shown, head in ((instance, "theirs: "), (optimum, "optimum "), (run, "patient: total ")):
        assert shown.summary().startswith(head)
        assert shown.summary().endswith(instance.digest())
        assert instance.digest() in shown._repr_html_()
    assert "oracle: theirs/best" in optimum.summary()


def test_a_problem_of_another_distribution_may_have_a_template(
    entries: dict[str, list[Entry]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(templates, "TEMPLATE", 'class $kind:\n    name = "$name"\n', raising=False)
    entries["problems"] = [Entry("theirs", replace(GOOD, template=f"{templates.__name__}:TEMPLATE"))]
    new = templates.new_policy("theirs", "HTTPCache2", tmp_path)
    assert new.policy.read_text() == 'class HttpCache2:\n    name = "http-cache-2"\n'
    assert (new.policy.name, new.test.name) == ("http_cache_2.py", "test_http_cache_2.py")


def test_a_problem_of_another_distribution_is_one_of_all(entries: dict[str, list[Entry]]) -> None:
    entries["problems"] = [Entry("theirs", GOOD)]
    assert list(module.problems())[-1] == "theirs"
    assert list(cv.list_oracles("theirs")) == ["best"]
    assert module.rival("theirs") == "best"
    data = cv.generate("allocation", size="tiny").to_dict() | {"problem": "theirs"}
    assert isinstance(module.read_instance(data), Theirs)
    with pytest.raises(InputError, match=r"^problem: 'theirs' has no policies$"):
        cv.list_policies("theirs")
    with pytest.raises(InputError, match=r"^problem: 'theirs' has no generate$"):
        api.generate("theirs")


@pytest.mark.parametrize(
    ("thing", "why"),
    [
        (ImportError("no module\nnamed x"), "ImportError: no module named x$"),
        (ZeroDivisionError(), "ZeroDivisionError:$"),
        (SystemExit(3), "SystemExit: 3$"),
        (GeneratorExit("\x1b[31mred" + 1000 * "x"), r"GeneratorExit: \\x1b\[31mredx{477}$"),
        (3, "it is a int, not a clairvoyant.problems.Problem"),
        (replace(GOOD, name="a/b"), "name: 'a/b' is not made of"),
        (replace(GOOD, name="selection"), "there is a problem 'selection' already"),
        (
            replace(GOOD, generate="nowhere:generate"),
            "'theirs': generate: 'nowhere:generate' cannot be",
        ),
        (replace(GOOD, template="logging:INFO"), "template: it is no text"),
        (replace(GOOD, instance="logging:Logger"), "instance: .* is no subclass of clairvoyant.Instance"),
        (replace(GOOD, instance=AllocationInstance), "is of the problem 'allocation'"),
        (replace(GOOD, policies={"lazy": Dist}), "Dist.*is no policy: it lacks traits, start, decide"),
        (
            replace(GOOD, oracles={"best": ODD}),
            "an oracle is a Dist, not a clairvoyant.oracles.base.OracleEntry",
        ),
        (replace(GOOD, claims=[ODD]), "a claim is a Dist, not a clairvoyant.Claim"),
        (replace(GOOD, claims=[replace(CLAIM, id="theirs/a b")]), "'theirs/a b' is not of the form"),
        (replace(GOOD, claims=[replace(CLAIM, extra="gpu")]), "its extra none of rl"),
        (replace(GOOD, claims=[CLAIM]), "claims: 'allocation/c' is there twice, or of another problem"),
        (replace(GOOD, claims=2 * [replace(CLAIM, id="theirs/c")]), "claims: 'theirs/c' is there twice"),
        (replace(GOOD, options={"out": Option("Taken.")}), "options: 'out' is taken"),
        (replace(GOOD, options={"jobs": ODD}), "options: 'jobs' is taken, or no name of a"),
    ],
)
def test_a_broken_problem_is_left_out_with_one_warning(
    thing: object,
    why: str,
    entries: dict[str, list[Entry]],
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    entries["problems"] = [Entry("broken", thing), Entry("theirs", replace(GOOD, name="theirs"))]
    with caplog.at_level(logging.WARNING, "clairvoyant"):
        assert list(module.problems()) == [*(one.name for one in OURS), "theirs"]
        assert cv.generate("allocation", size="tiny").problem == "allocation"
        module.problems()
    (record,) = caplog.records
    message = record.getMessage()
    assert message.startswith("'broken' of stranger is left out: ")
    assert len(message.splitlines()) == 1
    assert "loading" not in capsys.readouterr().out
    with pytest.raises(AssertionError, match=why):
        raise AssertionError(message)


def test_policies_oracles_and_claims_are_added_to_what_is_there(
    entries: dict[str, list[Entry]], caplog: pytest.LogCaptureFixture
) -> None:
    here = module.claims()
    entries["policies"] = [
        Entry("lazy", Lazy),
        Entry("drf", POLICIES["drf"]),
        Entry("no-policy", Dist),
        Entry("no-traits", type("Odd", (Lazy,), {"traits": Dist})),
        Entry("no-name", type("Odd", (Lazy,), {"name": None})),
        Entry("odd-name", type("Odd", (Lazy,), {"name": "lazy:no"})),
        Entry("object", Lazy()),
        Entry("no-default", make_dataclass("Odd", [("setting", int)], bases=(Lazy,))),
        Entry("of-nothing", type("Lost", (Lazy,), {"traits": Traits(problem="chess")})),
        Entry("twice", type("Again", (Lazy,), {})),
    ]
    deaf = replace(ORACLES["stationary"], function=lambda _instance, *, gap=0.0: gap)
    entries["oracles"] = [
        Entry("again", replace(ORACLES["stationary"])),
        Entry("no-oracle", GOOD),
        Entry("deaf", deaf),
    ]
    entries["claims"] = [
        Entry("no-claim", GOOD),
        Entry("no-id", replace(CLAIM, id="allocation")),
        Entry("ours-too", replace(here[0], id="allocation/of-a-stranger")),
    ]
    forget()
    with caplog.at_level(logging.WARNING, "clairvoyant"):
        assert cv.list_policies("allocation")["lazy"] is Lazy
        assert cv.list_policies("allocation")["drf"] is POLICIES["drf"]
        assert "lazy" in cv.list_policies()
        assert list(cv.list_oracles("allocation")) == ["stationary", "dynamic", "again"]
        assert [claim.id for claim in module.claims()] == [*(c.id for c in here), "allocation/of-a-stranger"]
    assert [re.sub(r"<.*>", "It", message.replace(" of stranger", "")) for message in caplog.messages] == [
        "'no-policy' is left out: It is no policy: it lacks traits, start, decide",
        "'no-traits' is left out: It is no policy: it lacks traits",
        "'no-name' is left out: It is no policy: it lacks name",
        f"'odd-name' is left out: name: 'lazy:no' {module.UNNAMED}",
        "'object' is left out: It is an object; give its class",
        "'no-default' is left out: TypeError: missing a required argument: 'setting'",
        f"'of-nothing' is left out: problem: 'chess' is not one of {', '.join(one.name for one in OURS)}",
        "'twice' is left out: another distribution adds 'lazy' to 'allocation' already",
        "'drf' is left out: a policy of 'allocation' has this name already",
        "'no-oracle' is left out: an oracle is a Problem, not a clairvoyant.oracles.base.OracleEntry",
        "'deaf' is left out: oracle 'deaf': its function does not take time_limit, progress",
        "'no-claim' is left out: a claim is a Problem, not a clairvoyant.Claim",
        "'no-id' is left out: 'allocation' is not of the form problem/name",
    ]


def test_a_policy_of_a_problem_that_there_is_not_is_left_out_with_one_warning(
    entries: dict[str, list[Entry]], caplog: pytest.LogCaptureFixture
) -> None:
    lost = type("Lost", (Patient,), {"name": "lost", "traits": Traits(problem="their")})
    record = replace(GOOD, policies={"patient": Patient, "lost": lost, "lazy": Lazy})
    entries["problems"] = [Entry("theirs", record)]
    forget()
    with caplog.at_level(logging.WARNING, "clairvoyant"):
        assert [*cv.list_policies("theirs")] == ["patient"]  # lazy is of allocation, which there is
        assert [*cv.list_policies("theirs")] == ["patient"]
    why = "its traits name the problem 'their', which there is not"
    assert caplog.messages == [f"the policy 'lost' of 'theirs' is left out: {why}"]


@pytest.mark.parametrize(
    ("generate", "why"),
    [
        (lambda _seed=0: None, "generate: it does not take a size and a seed: too many positional arguments"),
        (lambda _size, _seed: None, "problem 'theirs': generate returned None, which is no instance"),
    ],
)
def test_a_generator_that_is_none_is_told(
    entries: dict[str, list[Entry]], caplog: pytest.LogCaptureFixture, generate: Any, why: str
) -> None:
    entries["problems"] = [Entry("theirs", replace(GOOD, generate=generate))]
    forget()
    with caplog.at_level(logging.WARNING, "clairvoyant"):
        if "theirs" in module.problems():
            with pytest.raises(PluginError, match=why):
                api.generate("theirs")
        else:
            assert why in caplog.text


def test_an_error_in_a_package_of_others_is_told_with_its_place(
    entries: dict[str, list[Entry]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    (tmp_path / "stranger.py").write_text("def generate(size, seed):\n    return 1 / seed\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    made = import_module("stranger")
    entries["problems"] = [Entry("theirs", replace(GOOD, generate=made.generate))]
    forget()
    assert main(["generate", "theirs", "--out", str(tmp_path / "i.json")]) == 1
    said = capsys.readouterr().err
    assert "stranger.py, line 2, in generate: ZeroDivisionError: division by zero" in said
    assert "bug in clairvoyant" not in said
    monkeypatch.delitem(sys.modules, "stranger")


GIVEN: Any = Optimum(2.0, 2.0, None, WhyStopped.PROVED, "mine", 0.0)


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (5, "returned 5, which is no Optimum"),
        (replace(GIVEN, value=math.nan), "value: nan is not a finite number"),
        (replace(GIVEN, value=ODD), "value: "),
        (replace(GIVEN, bound=math.nan), "bound: nan is not a finite number"),
        (replace(GIVEN, value=-math.inf), "value: -inf is not a finite number"),
        (replace(GIVEN, minimised=True), "minimised: True, but of its instance it is False"),
        (replace(GIVEN, value=2.1), "value: 2.1 is beyond its bound, 2"),
        (replace(GIVEN, bound=3.0), "why_stopped: it is proved, but the gap is 0.333"),
        (replace(GIVEN, bound=None), "why_stopped: it is proved, but the gap is None"),
        (replace(GIVEN, bound=math.inf), "why_stopped: it is proved, but the gap is"),
        (replace(GIVEN, why_stopped="proved"), "why_stopped: 'proved' is no WhyStopped"),
        (replace(GIVEN, value=10**400), "value: 1000"),
        (replace(GIVEN, value=Fraction(21, 10)), "value: 2.1 is beyond its bound, 2"),
        (replace(GIVEN, scale=math.nan), "scale: nan is not a finite number"),
        (replace(GIVEN, value=2.0 + 1e-8), None),
        (replace(GIVEN, value=2.1, scale=1e6), None),
        (replace(GIVEN, value=0.0, bound=1e-12), None),
        (replace(GIVEN, bound=math.inf, why_stopped=WhyStopped.TIME_LIMIT), None),
        (replace(GIVEN, bound=None, why_stopped=WhyStopped.ROUNDS), None),
    ],
)
def test_an_oracle_of_others_that_contradicts_itself_is_refused(
    entries: dict[str, list[Entry]], found: Any, why: str | None
) -> None:
    def mine(_instance: Any, **_options: Any) -> Any:
        return found

    entries["oracles"] = [Entry("mine", OracleEntry(mine, "allocation", "made up", (), "none"))]
    forget()
    instance = cv.generate("allocation", "tiny")
    if why is None:
        assert api.solve(instance, "mine").bound == found.bound
    else:
        with pytest.raises(OracleError, match=f"^oracle 'mine':? {re.escape(why)}"):
            api.solve(instance, "mine")


@pytest.mark.parametrize(("value", "why"), [(2.0, ""), (2.1, "why_stopped"), (1.9, "value")])
def test_where_less_is_better_the_value_is_above_the_bound(
    entries: dict[str, list[Entry]], value: float, why: str
) -> None:
    found = replace(GIVEN, value=value, minimised=True)
    entry = OracleEntry(lambda _instance, **_options: found, "placement", "made up", (), "none")
    entries["oracles"] = [Entry("mine", entry)]
    forget()
    instance = cv.generate("placement", "tiny")
    asked: list[Any] = [
        lambda: api.solve(instance, "mine"),
        lambda: optimum_of("mine", entry, instance, {}),
        lambda: relied_on("mine", entry, instance),
    ]
    for ask in asked:
        if not why:
            ask()
        else:
            with pytest.raises(OracleError, match=f"^oracle 'mine': {why}: "):
                ask()


def test_packages_are_those_of_policies_too(entries: dict[str, list[Entry]]) -> None:
    entries["policies"] = [Entry("lazy", Lazy)]
    forget()
    assert module.packages() == {"stranger"}


def test_a_policy_that_is_no_dataclass_has_no_settings(entries: dict[str, list[Entry]]) -> None:
    entries["policies"] = [Entry("lazy", Lazy)]
    assert isinstance(cv.make_policy("lazy", "allocation"), Lazy)
    (row,) = (row for row in api.policy_table("allocation") if row.name == "lazy")
    assert row.settings == {}
    with pytest.raises(InputError, match=r"^policy lazy: setting 'step' is unknown; its settings are: none$"):
        cv.make_policy("lazy:step=1")


def test_nothing_is_said_while_the_shell_completes(
    entries: dict[str, list[Entry]],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    entries["problems"] = [Entry("broken", 3), Entry("theirs", GOOD)]
    asked = {
        "_CLAIRVOYANT_COMPLETE": "bash_complete",
        "COMP_WORDS": "clairvoyant generate t",
        "COMP_CWORD": "2",
    }
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit):
        main([])
    assert capsys.readouterr().out == "plain,theirs\n"
    assert not caplog.records
    assert logging.getLogger("clairvoyant").isEnabledFor(logging.WARNING)


def test_a_policy_may_be_frozen(entries: dict[str, list[Entry]]) -> None:
    entries["policies"] = [Entry("lazy", make_dataclass("Lazy", [], bases=(Lazy,), frozen=True))]
    assert cv.make_policy("allocation/lazy", "allocation").name == "allocation/lazy"


def test_a_file_that_holds_no_entry_points_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "odd-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Name: odd\nVersion: 1.0\n", encoding="utf-8")
    (folder / "entry_points.txt").write_text("[clairvoyant.problems]\nno equals sign\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    forget()
    assert list(module.problems()) == [one.name for one in OURS]
    module.claims()
    monkeypatch.undo()
    forget()
    (message,) = caplog.messages
    assert message.startswith("all other distributions are left out: entry points: ")


def test_a_kit_is_loaded_when_it_is_used(entries: dict[str, list[Entry]]) -> None:
    entries["problems"] = [Entry("theirs", replace(GOOD, kit="nowhere:KIT"))]
    with pytest.raises(PluginError, match="problem 'theirs': kit: 'nowhere:KIT' cannot be loaded"):
        find("theirs").part("kit")


WRONG: Any = "wrong"


@pytest.mark.parametrize(
    ("part", "thing", "why"),
    [
        ("kit", ODD, "kit: it is a Dist, not a clairvoyant.testing.kit.Kit"),
        ("kit", ".testing.allocation:TARGET", "kit: it is a Target, not a clairvoyant.testing.kit.Kit"),
        ("kit", ".testing.selection:KIT", "kit: it is of the problem 'selection'"),
        ("target", ".testing.allocation:KIT", "target: it is a Kit, not a clairvoyant.testing.kit.Target"),
    ],
)
def test_a_kit_or_target_that_is_none_is_said_by_name(
    part: str, thing: Any, why: str, entries: dict[str, list[Entry]]
) -> None:
    entries["problems"] = [Entry("theirs", replace(GOOD, **{part: thing}))]
    with pytest.raises(PluginError, match=f"^problem 'theirs': {part}: {why.partition(': ')[2]}$"):
        find("theirs").part(part)


@pytest.mark.parametrize(
    ("kind", "field", "why"),
    [
        *(
            ("KIT", name, "is no function")
            for name in ("ordinary", "degenerate", "alter", "secrets", "shown")
        ),
        ("KIT", "long", "is no function"),
        ("KIT", "observable", "is no set of names"),
        *(("TARGET", name, "is no function") for name in ("scaled", "replay")),
        ("TARGET", "instances", "is no strategy of Hypothesis"),
    ],
)
def test_what_is_wrong_in_a_kit_or_target_is_said_by_name(kind: str, field: str, why: str) -> None:
    with pytest.raises(InputError, match=f"^{field}: 'wrong' {why}$"):
        replace(getattr(testing, kind), **{field: WRONG})
    with pytest.raises(InputError, match=r"^ceiling: 3 is no name of an oracle$"):
        replace(testing.TARGET, ceiling=3)  # type: ignore[arg-type]


def odd(_context: Context) -> Finding:
    raise ValueError("wrong\nhere")


def no_facts(mode: str, seed: int) -> Any:
    raise SystemExit(f"no facts, {mode}, {seed}")


def test_a_claim_of_others_that_raises_ends_the_audit_with_status_1_after_all_others(
    entries: dict[str, list[Entry]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    bad, good = replace(CLAIM, id="theirs/bad", check=odd), replace(CLAIM, id="theirs/good")
    entries["problems"] = [Entry("theirs", replace(GOOD, claims=[bad, good], facts=no_facts))]
    entries["claims"] = [Entry("bad", replace(bad, id="allocation/of-a-stranger"))]
    options = ["--claim", "theirs/bad", "--claim", "theirs/good", "--claim", "allocation/of-a-stranger"]
    options += ["--workers", "1", "--quick", "--out", str(tmp_path)]
    why = "its check, from stranger, failed: ValueError: wrong"
    assert main(["audit", *options]) == 1
    printed = capsys.readouterr()
    assert "1 claim: all as expected" in printed.out
    assert "bug in clairvoyant" not in printed.err
    assert "ValueError: wrong" in printed.err
    assert printed.err.splitlines()[-2:] == [
        f"failed: claim {name}: {why}" for name in ("theirs/bad", "allocation/of-a-stranger")
    ]
    assert f"Without a verdict: theirs/bad: {why}" in (tmp_path / "index.html").read_text("utf-8")
    assert (tmp_path / "findings" / "theirs" / "good.json").exists()
    assert caplog.messages == [
        "the facts of 'theirs', from stranger, are left out: SystemExit: no facts, quick, 0"
    ]
    assert main(["audit", *options, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["failed"] == dict.fromkeys(("allocation/of-a-stranger", "theirs/bad"), why)
    assert (told["passed"], len(told["claims"])) == (False, 1)


def test_a_worker_process_does_not_warn_again(
    entries: dict[str, list[Entry]], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries["problems"] = [Entry("broken", 3)]
    monkeypatch.setattr(module, "parent_process", object)
    module.problems()
    assert not caplog.records


def test_an_interrupt_while_others_load_is_not_their_fault(entries: dict[str, list[Entry]]) -> None:
    entries["problems"] = [Entry("slow", KeyboardInterrupt())]
    with pytest.raises(KeyboardInterrupt):
        module.problems()
