"""The command line on the selection problem and its gangs, as somebody meets it who has read no manual."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clairvoyant as cv

Run = Callable[..., Any]  # of tests/front/conftest.py


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("instances") / "tiny.json"
    cv.generate("selection", size="tiny", seed=1, slots=60).save(path)
    return path


@pytest.fixture(scope="module")
def gangs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("instances") / "gangs.json.gz"
    cv.generate("selection-gang", size="tiny", seed=1).save(path)
    return path


def assert_refused(printed: Any, message: str) -> None:
    assert (printed.status, printed.out) == (2, "")
    assert re.fullmatch(r"error: .*\n", printed.err), printed.err  # one line, no traceback
    assert re.search(message, printed.err), printed.err


# generate


def test_the_instances_are_public_by_names_that_cannot_be_confused() -> None:
    assert isinstance(cv.generate("selection", size="tiny"), cv.SelectionInstance)
    assert isinstance(cv.generate("selection-gang", size="tiny"), cv.SelectionGangInstance)
    assert {cv.AllocationGangInstance.problem, cv.SelectionGangInstance.problem} == {
        "allocation-gang",
        "selection-gang",
    }


def test_generate_passes_every_option_on(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.json.gz"
    named = "--slots 9 --ports 4 --servers 5 --density 0.6 --capacity 7 --arrival-probability 0.4"
    others = ["demand=[1,3]", "noise=bernoulli", "cost-scale=0.2", "kinds=3"]
    options = [*named.split(), *(word for other in others for word in ("--option", other))]
    data = run("generate", "selection", "--size", "tiny", "--seed", 3, *options, "--out", path, "--json").json
    wanted = cv.generate(
        "selection",
        size="tiny",
        seed=3,
        slots=9,
        ports=4,
        servers=5,
        density=0.6,
        capacity=7,
        arrival_probability=0.4,
        demand=(1, 3),
        noise="bernoulli",
        cost_scale=0.2,
        kinds=3,
    )
    assert cv.load(path) == wanted
    assert data["digest"] == wanted.digest()
    assert data["facts"] == wanted.facts()
    assert data["origin"] == wanted.origin.to_dict()


@pytest.mark.parametrize(
    ("text", "capacity"), [("24", [24, 24, 24]), ("24,12,10", [24, 12, 10]), ("[24,12,10]", [24, 12, 10])]
)
def test_the_capacity_is_one_number_or_one_per_kind(
    text: str, capacity: list[int], run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "x.json"
    assert run("generate", "selection", "--slots", 1, "--capacity", text, "--out", path).status == 0
    assert cv.load(path).setting.capacity.tolist() == capacity


def test_gangs_are_generated_with_capacities_in_between(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    options = ("--size", "tiny", "--capacity", "3,5", "--option", "tasks=[2,2]")
    assert run("generate", "selection-gang", *options, "--out", path).status == 0
    setting = cv.load(path).setting
    assert ((setting.capacity >= 3) & (setting.capacity <= 5)).all()
    assert setting.task_port.tolist() == [0, 0, 1, 1]


def test_generate_says_how_large_it_is_and_where_it_comes_from(run: Run, tmp_path: Path) -> None:
    printed = run("generate", "selection", "--size", "tiny", "--out", tmp_path / "x.json")
    words = " ".join(printed.out.split())
    instance = cv.load(tmp_path / "x.json")
    assert f"{instance.setting.channels} channels" in words
    assert all(column in words for column in instance.origin.filled)


# solve


def test_every_method_finds_the_same_optimum(tiny: Path, run: Run) -> None:
    found = {
        method: run("solve", tiny, "--method", method, "--json").json for method in ("dp", "highs", "cp-sat")
    }
    values = [data["value"] for data in found.values()]
    assert values == pytest.approx([values[0]] * 3, rel=1e-7)
    assert all(data["value"] <= data["bound"] for data in found.values())
    assert {data["oracle"] for data in found.values()} == {"clairvoyant"}
    assert "dynamic program" in found["dp"]["method"]


def test_solve_writes_a_decision_that_earns_the_value(tiny: Path, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "decision.json"
    value = run("solve", tiny, "--out", path, "--json").json["value"]
    instance = cv.load(tiny)
    decision = np.array(json.loads(path.read_text(encoding="utf-8"))["decision"])
    assert isinstance(instance, cv.SelectionInstance)
    assert instance.violations(decision) == []
    assert instance.rewards(decision).sum() == pytest.approx(value, rel=1e-12)


def test_a_table_that_would_not_fit_is_not_made_and_the_method_says_so(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    options = ("--size", "tiny", "--capacity", "1000000,1000001", "--option", "demand=[200000,600001]")
    assert run("generate", "selection", *options, "--out", path).status == 0
    printed = run("solve", path)
    assert printed.status == 0
    assert re.search(r"HiGHS \(the table of the dynamic program would take [\d.]+ TiB\)", printed.out)
    data = run("play", path, "--policy", "greedy", "--json").json
    assert "the table of the dynamic program would take" in data["optimum"]["method"]
    assert data["policies"]["greedy"]["regret"] >= 0


@pytest.mark.parametrize("method", ["dp", "highs", "cp-sat"])
def test_without_time_the_bound_is_still_true(method: str, tiny: Path, run: Run) -> None:
    data = run("solve", tiny, "--method", method, "--time-limit", 0, "--json").json
    best = cv.solve(cv.load(tiny)).value
    assert data["value"] <= best * (1 + 1e-12)
    assert best <= data["bound"] * (1 + 1e-12)


def test_an_oracle_can_be_given_by_the_name_that_the_list_shows(gangs: Path, run: Run) -> None:
    listed = [row["name"] for row in run("oracles", "--json").json["oracles"]]
    assert {"clairvoyant", "selection-gang/gang", "allocation-gang/gang"} <= set(listed)
    one, other = (
        run("solve", gangs, "--oracle", name, "--json").json for name in ("gang", "selection-gang/gang")
    )
    assert (one["oracle"], one["value"]) == (other["oracle"], other["value"])
    assert_refused(
        run("solve", gangs, "--oracle", "allocation-gang/gang"),
        r"oracle: 'allocation-gang/gang' is not one of gang",
    )


# play


def test_play_compares_with_the_clairvoyant_optimum(tiny: Path, run: Run) -> None:
    specs = ["esdp", "esdp:delta=log,g=log", "esdp-printed:alpha=0.25", "thompson"]
    words = (word for spec in specs for word in ("--policy", spec))
    data = run("play", tiny, *words, "--seeds", 3, "--seed", 2, "--json").json
    instance = cv.load(tiny)
    best = cv.solve(instance).value
    assert data["optimum"]["oracle"] == "clairvoyant"
    for spec in specs:
        scores = data["policies"][spec]
        seeds = (2, 3, 4) if spec == "thompson" else (2,)  # the others draw nothing
        assert scores["per_seed"] == [cv.play(spec, instance, seed).total for seed in seeds]
        assert (scores["standard_error"] is not None) == (spec == "thompson")
        assert scores["regret"] == pytest.approx(best - scores["total"], rel=1e-9)
        assert 0 <= scores["regret"] <= scores["regret_at_most"]
        assert scores["infeasible"] == 0
        assert scores["sees"] == ["arrivals"]
    assert len({scores["total"] for scores in data["policies"].values()}) > 1


def test_play_names_whose_bound_it_prints(tiny: Path, run: Run) -> None:
    printed = run("play", tiny, "--policy", "cucb", "--policy", "lcf:misfit=skip")
    assert printed.status == 0
    line = r"^bound on the regret of cucb, in expectation: [\d.,]+ \(more than the optimum itself\)$"
    assert re.search(line, printed.out, re.MULTILINE)
    assert "cucb: expected regret <= 4 sqrt(1.5 m |E| T ln T)" in printed.out
    assert "cucb, seed 0: total" in printed.err


def test_gangs_are_played_and_solved(gangs: Path, run: Run) -> None:
    data = run("play", gangs, "--policy", "esdp-gang", "--policy", "esdp-gang:delta=none", "--json").json
    assert (data["problem"], data["optimum"]["oracle"], data["bounds"]) == ("selection-gang", "gang", None)
    assert all(scores["regret"] >= 0 for scores in data["policies"].values())
    assert_refused(run("play", gangs, "--policy", "esdp"), "'esdp' plays 'selection', not 'selection-gang'")


@pytest.mark.parametrize(
    "options",
    [("--slots", 0), ("--arrival-probability", 0), ("--density", 0), ("--capacity", 0)],
    ids=["no slots", "no jobs", "no channels", "no devices"],
)
def test_where_nothing_can_be_earned_nobody_regrets(
    options: tuple[Any, ...], run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "x.json"
    assert run("generate", "selection", "--size", "tiny", *options, "--out", path).status == 0
    assert run("solve", path, "--json").json["value"] == 0
    data = run("play", path, "--policy", "esdp", "--policy", "thompson", "--policy", "hswf", "--json").json
    assert [scores["regret"] for scores in data["policies"].values()] == [0, 0, 0]
    printed = run("play", path, "--policy", "cucb")
    assert printed.status == 0


# policies, oracles, audit


def test_the_lists_hold_both_problems_and_each_alone(run: Run) -> None:
    both = run("policies", "--json").json["policies"]
    for problem in ("selection", "selection-gang"):
        alone = run("policies", "--problem", problem, "--json").json["policies"]
        assert alone
        assert alone == [row for row in both if row["problem"] == problem]
    names = [row["name"] for row in both]
    assert len(set(names)) == len(names)
    (oracle,) = run("oracles", "--problem", "selection", "--json").json["oracles"]
    assert (oracle["name"], oracle["methods"]) == ("clairvoyant", ["dp", "highs", "cp-sat"])
    assert run("oracles").status == run("policies").status == 0


def test_audit_takes_the_problem(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}
    finding = cv.Finding(cv.Verdict.REFUTED, "The smallest instance has no optimum.", proof="1 < 2")
    claim = cv.Claim(
        "selection/first", "Sec. 2", "It holds.", "By trying.", cv.Verdict.REFUTED, lambda _context: finding
    )

    def run_audit(**options: Any) -> list[tuple[cv.Claim, cv.Finding]]:
        asked.update(options)
        return [(claim, finding)]

    monkeypatch.setattr("clairvoyant.analysis.audit.run_audit", run_audit)
    data = run("audit", "--problem", "selection", "--quick", "--out", tmp_path, "--json").json
    assert asked["problems"] == ("selection",)
    assert data["passed"] is True
    page = (tmp_path / "selection.html").read_text(encoding="utf-8")
    assert "Generated selection instances" in page
    assert "esdp-printed" in page


# Bad input


def changed(target: Path, tiny: Path, fields: dict[str, Any]) -> Path:
    data = json.loads(tiny.read_text(encoding="utf-8"))
    target.write_text(json.dumps(data | fields), encoding="utf-8")
    return target


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"capacity": [4, 2.5]}, r"capacity\[1\]: 2\.5 is not a whole number of at least 0"),
        ({"capacity": [4]}, r"demand: shape 8 x 2 does not fit, expected 8 x 1"),
        ({"capacity": []}, r"capacity: empty"),
        ({"capacity": [4, 2**40]}, r"capacity\[1\]: 1099511627776 is not a whole number .* at most 2"),
        ({"demand": [[1, 1]] * 7 + [[1, -1]]}, r"demand\[7\]\[1\]: -1 is not a whole number"),
        ({"demand": [[1, 1]] * 7 + [[1, 0.5]]}, r"demand\[7\]\[1\]: 0\.5 is not a whole number"),
        ({"mean": [0.5] * 7 + [1.5]}, r"mean\[7\]: 1\.5 is not a finite number of at least 0 and at most 1"),
        ({"mean": [0.5] * 7 + [float("nan")]}, r"mean\[7\]: nan is not a finite number"),
        ({"mean": [0.5] * 7}, r"mean: shape 7 does not fit, expected 8"),
        (
            {"arrivals": [[0, 1, 2]]},
            r"arrivals\[0\]\[2\]: 2 is not a whole number of at least 0 and at most 1",
        ),
        ({"arrivals": [[0, 1]]}, r"edges\[\d\]\[0\]: 2 is out of range for 2 ports"),
        ({"edges": [[0, 0]] * 8}, r"edges\[1\]: \[0, 0\] stands twice"),
        ({"noise": {"kind": "pink"}}, r"noise\.kind: 'pink' is not one of"),
        ({"noise": {"kind": "clipped-normal"}}, r"noise\.scale: missing field"),
        ({"noise": {"kind": "none", "colour": 1}}, r"noise\.colour: unknown field"),
        ({"seed": -1}, r"seed: -1 is not a whole number"),
        ({"path": [[0.5] * 8]}, r"path: shape 1 x 8 does not fit"),
        ({"overhead": [0.1]}, r"overhead: unknown field"),
        ({"problem": "selections"}, r"problem: 'selections' is not one of .*selection-gang"),
        ({"version": "1"}, r"version: '1' is not supported"),
    ],
)
def test_bad_files_are_refused_in_one_line_naming_field_index_and_value(
    fields: dict[str, Any], message: str, tiny: Path, run: Run, tmp_path: Path
) -> None:
    path = changed(tmp_path / "bad.json", tiny, fields)
    assert_refused(run("solve", path, "--json"), rf"bad\.json: {message}")
    assert_refused(run("play", path, "--policy", "esdp"), rf"bad\.json: {message}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("generate selection --capacity 1.5 --out OUT", r"capacity: 1\.5 is not a whole number"),
        ("generate selection --capacity many --out OUT", "capacity: 'many' is not a whole number"),
        ("generate selection --capacity 1,2 --out OUT", r"capacity: \[1, 2\] has not one number for each"),
        ("generate selection --capacity 1,x,3 --out OUT", r"capacity\[1\]: 'x' is not a whole number"),
        (
            "generate selection --option capacity=3 --out OUT",
            "not given in this way, but as --capacity",
        ),
        ("generate selection --density 3 --out OUT", r"density: 3\.0 is not at least 0 and at most 1"),
        ("generate selection --utility log --out OUT", "utility: generate 'selection' takes no such option"),
        ("generate selection --option demand=[2,1] --out OUT", r"demand: \[2, 1\] does not increase"),
        ("generate selection --option noise=pink --out OUT", "noise: 'pink' is not one of clipped-normal"),
        ("generate selection --size huge --out OUT", "size: 'huge' is not one of tiny, default, large"),
        (
            "generate selection-gang --capacity 3 --out OUT",
            r"capacity: 3 is not a pair \(smallest, largest\)",
        ),
        (
            "generate selection-gang --density 0.5 --out OUT",
            "density: generate 'selection-gang' takes no such",
        ),
        (
            "generate allocation --capacity 3 --out OUT",
            "capacity: generate 'allocation' takes no such option",
        ),
        ("generate selection --trace nowhere --out OUT", "nowhere"),
        (
            "generate selection --trace nowhere --capacity 3 --out OUT",
            "capacity: from_trace 'selection' takes no",
        ),
        ("solve FILE --method simplex", "method: 'simplex' is not one of dp, highs, cp-sat"),
        ("solve FILE --oracle stationary", r"oracle: 'stationary' is not one of clairvoyant"),
        ("solve FILE --gap -1", "gap: -1.0 is not"),
        ("solve FILE --time-limit -1", "time_limit: -1.0 is not"),
        ("play FILE --policy ogasched", "'ogasched' plays 'allocation', not 'selection'"),
        ("play FILE --policy esdp:delta=fast", "policy esdp: delta: 'fast' is not one of loglog"),
        ("play FILE --policy esdp:g=1", "policy esdp: g: '1' is not one of full, loglog, log"),
        ("play FILE --policy esdp-printed:alpha=2", r"alpha: 2\.0 is not in \[0, 1\]"),
        ("play FILE --policy hswf:misfit=wait", "misfit: 'wait' is not"),
        ("play FILE --policy thompson:seed=3", "setting 'seed' is unknown"),
        (
            "worst-case FILE --policy esdp",
            r"problem: no worst case is searched for 'selection', but for allocation",
        ),
        ("audit --claim selection/nonsense --out FOLDER", "'selection/nonsense'"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(
    arguments: str, message: str, tiny: Path, run: Run, tmp_path: Path
) -> None:
    places = {"FILE": tiny, "OUT": tmp_path / "out.json", "FOLDER": tmp_path / "reports"}
    assert_refused(run(*(places.get(word, word) for word in arguments.split())), message)
    assert list(tmp_path.iterdir()) == []
