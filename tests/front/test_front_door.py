"""The public names: the same handful of functions for every problem, loaded when first used."""

import doctest
import inspect
import json
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clairvoyant as cv
from clairvoyant import api, problems
from clairvoyant.analysis.audit import choose as choose_claims
from clairvoyant.models.base import numbers as checked_numbers
from clairvoyant.models.checks import choose
from clairvoyant.models.placement.generate import generate

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
Pages = Callable[[str], Any]  # of tests/front/conftest.py
UNTYPED: Any = cv
"""For calls that a type checker refuses as well."""


@pytest.fixture(scope="module")
def instance() -> cv.Instance:
    return cv.generate("allocation", size="tiny", seed=1)


def python(script: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=cwd, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_public_name_is_there_and_listed() -> None:
    for name in cv.__all__:
        assert getattr(cv, name) is not None
        assert name in dir(cv)
    with pytest.raises(AttributeError, match="no attribute 'oracle_of_delphi'"):
        cv.oracle_of_delphi  # type: ignore[attr-defined]  # noqa: B018


def test_the_example_in_the_docstring_is_true() -> None:
    failed, tried = doctest.testmod(cv)
    assert (failed, tried) == (0, 5)


def test_the_import_loads_nothing_and_names_load_only_what_they_need(tmp_path: Path) -> None:
    names = "numpy numba scipy cvxpy pyomo ortools highspy matplotlib networkx hypothesis click rich"
    heavy = set(names.split())
    script = f"""
import sys
import clairvoyant, clairvoyant.pytest_plugin
print(*({heavy} & set(sys.modules)))
clairvoyant.generate("allocation", size="tiny").save("x.json")
clairvoyant.load("x.json")
print(*({heavy} & set(sys.modules)))
clairvoyant.load("y.json")
print(*({heavy} & set(sys.modules)))
"""
    cv.generate("selection", size="tiny").save(tmp_path / "y.json")
    assert python(script, tmp_path).splitlines() == ["", "numpy", "numpy"]


def test_numba_loads_no_linear_algebra_before_a_kernel_needs_it(tmp_path: Path) -> None:
    script = """
import sys
import clairvoyant
clairvoyant.solve(clairvoyant.generate("allocation", size="tiny"))
print("scipy.linalg" in sys.modules)
from numba.np import arraymath, linalg
print(arraymath._HAVE_BLAS, linalg.ensure_blas.__name__)  # so that kernels may multiply matrices
"""
    assert python(script, tmp_path).split() == ["False", "True", "ensure_blas"]


def test_an_instance_goes_from_file_to_regret(tmp_path: Path) -> None:
    made = cv.generate("allocation", size="tiny", seed=3, slots=20)
    made.save(tmp_path / "x.json.gz")
    instance = cv.load(tmp_path / "x.json.gz")
    assert instance == made
    assert str(instance.origin) == str(made.origin)
    optimum = cv.solve(instance, gap=1e-9)
    assert isinstance(optimum, cv.Optimum)
    assert optimum.bound is not None
    assert optimum.gap is not None
    assert optimum.gap <= 1e-9
    run = cv.play("ogasched", instance, seed=1, keep_decisions=True)
    assert isinstance(run, cv.Run)
    assert run.total <= optimum.bound
    assert run.digest == instance.digest()
    assert run.decisions is not None
    assert len(run.decisions) == len(run.rewards) == 20


def test_the_replayed_optimum_earns_its_value(instance: cv.Instance) -> None:
    from clairvoyant.online.play import Replay

    optimum = cv.solve(instance, "stationary")
    assert isinstance(instance, cv.AllocationInstance)
    replay = Replay([optimum.decision] * instance.setting.slots, instance.problem)
    assert cv.play(replay, instance).total == pytest.approx(optimum.value, rel=1e-12)


def test_names_and_policies_play_alike(instance: cv.Instance) -> None:
    by_name = cv.play("fairness:share=all", instance)
    by_object = cv.play(cv.make_policy("fairness:share=all"), instance)
    np.testing.assert_array_equal(by_name.rewards, by_object.rewards)


def test_equal_arguments_give_equal_instances() -> None:
    one, other = (cv.generate("allocation", "tiny", 7) for _ in range(2))
    assert one == other
    assert one != cv.generate("allocation", "tiny", 8)


def test_a_gang_instance_is_generated_from_a_fractional_one(tmp_path: Path) -> None:
    gang = cv.generate("allocation-gang", size="tiny", seed=3, slots=4, tasks=3, minimum=2)
    assert isinstance(gang, cv.AllocationGangInstance)
    assert gang.base == cv.generate("allocation", size="tiny", seed=3, slots=4)
    assert gang.setting.minimum.tolist() == [2, 2, 2]
    assert len(gang.setting.task_port) == 9
    gang.save(tmp_path / "x.json")
    assert cv.load(tmp_path / "x.json") == gang
    with pytest.raises(cv.InputError, match="tasks: 0 is not a whole number of at least 1"):
        cv.generate("allocation-gang", tasks=0)
    with pytest.raises(cv.InputError, match=r"takes no such option; it takes tasks, .*slots"):
        UNTYPED.generate("allocation-gang", task=2)
    with pytest.raises(cv.InputError, match="nowhere"):
        cv.from_trace("allocation-gang", "nowhere", tasks=2)


@pytest.mark.parametrize("problem", ["allocation", "allocation-gang"])
def test_traces_are_read_by_the_problem(problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def from_trace(folder: Path, *, slots: int, seed: int = 0, **_options: object) -> cv.Instance:
        assert folder == Path("traces")
        return cv.generate("allocation", size="tiny", slots=slots, seed=seed)

    monkeypatch.setattr("clairvoyant.models.allocation.trace.from_trace", from_trace)
    monkeypatch.setattr("clairvoyant.models.allocation.gang_generate.base_from_trace", from_trace)
    assert api.from_trace(problem, "traces", slots=3, seed=2) == api.generate(
        problem, size="tiny", slots=3, seed=2
    )


@pytest.mark.parametrize("problem", ["selection", "selection-gang"])
def test_traces_are_read_by_the_selection_problem(problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def from_trace(folder: Path, *, slots: int, seed: int = 0, **_options: object) -> cv.Instance:
        assert folder == Path("traces")
        return cv.generate("selection", size="tiny", slots=slots, seed=seed)

    monkeypatch.setattr("clairvoyant.models.selection.trace.from_trace", from_trace)
    monkeypatch.setattr("clairvoyant.models.selection.gang_generate.base_from_trace", from_trace)
    instance = api.from_trace(problem, "traces", slots=3, seed=2)
    assert instance.problem == problem
    assert (instance.setting.ports, instance.setting.slots) == (3, 3)


def test_an_oracle_is_known_by_both_of_its_names() -> None:
    both = {name for name in cv.list_oracles() if name.endswith("/gang")}
    assert both == {"allocation-gang/gang", "selection-gang/gang"}
    instance = cv.generate("selection-gang", size="tiny", slots=2)
    assert cv.solve(instance, "selection-gang/gang").value == cv.solve(instance, "gang").value
    with pytest.raises(cv.InputError, match="oracle: 'allocation-gang/gang' is not one of gang"):
        cv.solve(instance, "allocation-gang/gang")  # type: ignore[call-overload]


def test_everything_is_listed_by_problem() -> None:
    assert {"ogasched", "drf", "fairness"} <= set(cv.list_policies("allocation"))
    listed = set(cv.list_policies())
    for problem in ("allocation", "selection", "admission"):
        for name in cv.list_policies(problem):
            assert (name in listed) != (f"{problem}/{name}" in listed)
    assert {"allocation/drf", "admission/drf"} <= listed  # two problems have one
    assert list(cv.list_oracles("allocation")) == ["stationary", "dynamic"]
    assert set(cv.list_oracles("allocation")) < set(cv.list_oracles())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda _: UNTYPED.generate("alocation"), r"problem: 'alocation' is not one of allocation"),
        (
            lambda _: UNTYPED.generate("allocation", slot=3),
            r"slot: generate 'allocation' takes no such option; .*slots",
        ),
        (
            lambda _: cv.generate("allocation", size="huge"),
            r"size: 'huge' is not one of tiny, default, large",
        ),
        (
            lambda _: UNTYPED.from_trace("allocation", "here", foo=1),
            r"foo: from_trace 'allocation' takes no such",
        ),
        (lambda _: cv.from_trace("allocation", "nowhere"), r"nowhere"),
        (lambda i: cv.solve(i, "gang"), r"oracle: 'gang' is not one of stationary, dynamic"),
        (
            lambda i: UNTYPED.solve(i, gaps=1),
            r"gaps: oracle 'stationary' takes no such option; it takes .*gap",
        ),
        (lambda i: UNTYPED.solve(i, gap=-1), r"gap: -1 is not"),
        (lambda i: UNTYPED.play("ogashed", i), r"policy: 'ogashed' is not one of binpacking, drf"),
        (lambda i: UNTYPED.play("drf:quota=1", i), r"setting 'quota' is unknown"),
        (
            lambda _: UNTYPED.solve("m.json"),
            r"^instance: 'm\.json' is no instance; read a file with clairvoyant\.load",
        ),
        (
            lambda _: UNTYPED.solve(Path("m.json")),
            r"^instance: .*m\.json'\) is no instance; read a file with",
        ),
        (lambda _: UNTYPED.solve(None), r"^instance: NoneType is no instance"),
        (lambda i: UNTYPED.solve(i.to_dict()), r"^instance: dict is no instance"),
        (lambda i: UNTYPED.solve(i, 3), r"^oracle: 3 is not one of stationary, dynamic"),
        (lambda i: UNTYPED.solve(i, method=3), r"^method: 3 is not one of interior point, cvxpy"),
        (lambda i: UNTYPED.solve(i, gap="x"), r"^gap: 'x' is not"),
        (
            lambda i: UNTYPED.play(i, "drf"),
            r"^policy: AllocationInstance is an instance, which comes after the policy",
        ),
        (lambda _: UNTYPED.play("drf", "m.json"), r"^instance: 'm\.json' is no instance"),
        (
            lambda i: UNTYPED.play(UNTYPED.list_policies("allocation")["drf"], i),
            r"^policy: Drf is a class; give an object",
        ),
        (lambda i: UNTYPED.play(3, i), r"^policy: int has no member 'name'"),
        (lambda i: UNTYPED.play("drf", i, "0"), r"^seed: '0' is not a whole number"),
        (lambda _: UNTYPED.make_policy(3), r"^policy: 3 is not a name"),
        (lambda i: UNTYPED.load(i), r"^path: AllocationInstance\(.*\) is not a path"),
        (lambda _: UNTYPED.load(b"m.json"), r"^path: b'm\.json' is not a path"),
        (lambda _: UNTYPED.load("a\0b"), r"^path: 'a\\x00b' is not a path: it holds a NUL"),
        (lambda i: i.save("a\0b"), r"^path: 'a\\x00b' is not a path: it holds a NUL"),
        (lambda i: i.save(3), r"^path: 3 is not a path"),
        (lambda i: type(i).load(3), r"^path: 3 is not a path"),
        (lambda i: type(i).from_dict(3), r"^instance: 3 is not an object"),
        (lambda _: UNTYPED.AllocationGangInstance.from_dict(None), r"^instance: None is not an object"),
        (lambda i: UNTYPED.play("drf", i, isolated="no"), r"^isolated: 'no' is neither true nor false"),
        (lambda i: UNTYPED.play("drf", i, enforce="x"), r"^enforce: 'x' is neither"),
        (lambda i: UNTYPED.play("drf", i, keep_decisions=None), r"^keep_decisions: None is neither"),
        (lambda _: checked_numbers([np.array(1.0)], "x", (None, None)), r"^x\[0\]: array\(1\.\) is not a"),
        (lambda _: UNTYPED.from_trace("allocation", 3), r"^folder: 3 is not a path"),
        (lambda _: UNTYPED.from_trace("allocation", "a\0b"), r"^folder: 'a\\x00b' is not a path: it"),
        (lambda _: UNTYPED.train(3, "x"), r"^plan: 3 is not a path"),
        (lambda _: UNTYPED.train("a\0b", "x"), r"^plan: 'a\\x00b' is not a path: it holds"),
        (lambda _: UNTYPED.generate(["allocation"]), r"^problem: \['allocation'\] is not one of"),
        (lambda _: UNTYPED.list_policies("chess"), r"problem: 'chess'"),
        (lambda _: UNTYPED.list_oracles("chess"), r"problem: 'chess' is not one of allocation"),
    ],
)
def test_bad_arguments_are_refused_by_name(call: Any, message: str, instance: cv.Instance) -> None:
    with pytest.raises(cv.InputError, match=message):
        call(instance)


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (lambda _: UNTYPED.generate("alocation"), "allocation"),
        (lambda _: cv.generate("allocation", size="defualt"), "default"),
        (lambda _: UNTYPED.generate("allocation", slot=3), "slots"),
        (lambda _: cv.generate("allocation", utility="recipocal"), "reciprocal"),
        (lambda _: cv.generate("selection", noise="bernouli"), "bernoulli"),
        (lambda i: cv.solve(i, "stationery"), "stationary"),
        (lambda i: cv.solve(i, method="cvxpi"), "cvxpy"),
        (lambda i: UNTYPED.solve(i, timelimit=3), "time_limit"),
        (lambda i: cv.play("ogashed", i), "ogasched"),
        (lambda i: cv.play("fairness:shares=all", i), "share"),
        (lambda i: cv.play("ogasched:step=constnat", i), "constant"),
        (lambda i: cv.play("ogasched:start_at=zeor", i), "zero"),
        (lambda _: cv.make_policy("oasis:bounds=exat"), "exact"),
        (lambda _: cv.make_policy("esdp:g=loglg"), "loglog"),
        (lambda _: cv.list_policies("placment"), "placement"),
        (lambda _: cv.list_oracles("admision"), "admission"),
        (lambda _: choose_claims(["allocaton"], [], problems.claims()), "allocation"),
        (lambda _: choose_claims([], ["allocation/theorem1"], problems.claims()), "allocation/theorem-1"),
        (lambda i: type(i).from_dict(i.to_dict() | {"capacities": []}), "capacity"),
    ],
)
def test_a_misspelt_name_is_told_what_is_like_it(call: Any, meant: str, instance: cv.Instance) -> None:
    with pytest.raises(cv.InputError, match=rf"; did you mean {meant!r}\?"):
        call(instance)


@pytest.mark.parametrize(
    ("begun", "meant"),
    [
        ("sjf", "'sjf-consolidate' or 'sjf-estimate-consolidate' or 'sjf-estimate-patient'"),
        ("fifo", "'fifo-consolidate' or 'fifo-firstfit' or 'fifo-loadbalance'"),
    ],
)
def test_a_name_that_is_begun_is_told_how_it_may_go_on(begun: str, meant: str) -> None:
    with pytest.raises(cv.InputError, match=f"; did you mean {re.escape(meant)}\\?"):
        choose(begun, sorted(cv.list_policies("placement")), "policy")


def test_nothing_is_suggested_for_what_is_like_nothing(instance: cv.Instance) -> None:
    with pytest.raises(cv.InputError) as caught:
        cv.solve(instance, "xyzzy")
    assert "did you mean" not in str(caught.value)


@pytest.mark.parametrize("problem", ["allocation", "admission"])
def test_a_name_that_several_problems_use_is_said_with_the_problem(problem: str) -> None:
    assert cv.make_policy(f"{problem}/drf").traits.problem == problem
    assert cv.make_policy(f"{problem}/drf", problem).traits.problem == problem
    assert cv.make_policy("drf", problem).traits.problem == problem
    with pytest.raises(cv.InputError, match=r"^policy: 'drf' is allocation/drf or admission/drf; there are "):
        cv.make_policy("drf")


def documented(thing: Any) -> list[str] | None:
    """Return the names in the section on parameters of a docstring, or None if it has none."""
    text = inspect.cleandoc(thing.__doc__ or "")
    found = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-+$|\Z)", text, re.MULTILINE | re.DOTALL)
    if found is None:
        return None
    heads = (line for line in found[1].splitlines() if line and not line[0].isspace())
    return [name.strip().lstrip("*") for head in heads for name in head.split(",")]


@pytest.mark.parametrize("name", cv.list_policies())
def test_every_policy_documents_the_settings_that_it_has(name: str) -> None:
    kind = cv.list_policies()[name]
    told = [names for parent in kind.__mro__ if (names := documented(parent)) is not None]
    assert (told[0] if told else []) == [field.name for field in fields(kind) if field.init]


FUNCTIONS = {
    **{f"solve {name}": entry.function for name, entry in cv.list_oracles().items()},
    **{
        f"{part} {problem.name}": problem.part(part)
        for problem in problems.OURS
        for part in ("generate", "from_trace", "instance")
    },
    **{f"cv.{name}": getattr(cv, name) for name in ("generate", "from_trace", "solve", "play", "train")},
}


MAKES = ("generate", "from_trace")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_documents_the_parameters_that_it_has(name: str) -> None:
    told, parameters = documented(FUNCTIONS[name]), set(inspect.signature(FUNCTIONS[name]).parameters)
    if told is None:
        assert inspect.unwrap(FUNCTIONS[name]).__doc__
    elif "options" in told:  # those of another function
        assert set(told) - {"options"} <= parameters
    else:
        assert set(told) == parameters


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name.partition(" ")[0] in MAKES])
def test_what_generators_and_readers_share_is_told_by_each(name: str) -> None:
    part, function = name.partition(" ")[0], FUNCTIONS[name]
    told = documented(function)
    if told is None or "options" in told:  # those of another function
        return
    text = str(function.__doc__)
    assert told.count("seed") == 1
    assert "\nseed\n    Decides every draw; >= 0.\n" in text or "seed, " in text
    assert text.count("\nRaises\n------\nInputError\n    ") == 1
    if part == "from_trace":
        assert told.count("folder") == 1
        assert "missing, damaged, malformed or too short" in text


@pytest.mark.parametrize("problem", ["chess", None, 3, ["allocation"], {}])
def test_a_file_of_an_unknown_problem_is_refused(problem: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"problem": problem, "version": 1}), encoding="utf-8")
    with pytest.raises(cv.InputError, match=rf"x\.json: problem: {re.escape(repr(problem))} is not one of"):
        cv.load(path)


@pytest.fixture
def example(
    page: Pages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[int], str]:
    """Return what runs an example of the README as a script, in this process, and returns what it prints."""

    def run(number: int) -> str:
        script = tmp_path / "example.py"
        script.write_text(page("README.md").blocks("python")[number], encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        runpy.run_path(str(script), run_name="__main__")
        return capsys.readouterr().out

    return run


def test_the_first_example_of_the_readme_runs_and_has_ten_lines(page: Pages, tmp_path: Path) -> None:
    example = page("README.md").blocks("python")[0]
    assert len([row for row in example.splitlines() if row]) <= 10
    printed = python(example, tmp_path)
    numbers = re.findall(r"-?\d+\.\d+", printed)
    possible, bound = float(numbers[0]), float(numbers[1])
    assert possible <= bound
    assert len(numbers) == 2 + 3 * 2


def test_the_policy_of_the_readme_passes_the_checks(example: Callable[[int], str]) -> None:
    assert float(example(1)) > 0


@pytest.mark.usefixtures("compared_here")
def test_the_comparison_of_the_readme_compares(example: Callable[[int], str]) -> None:
    printed = example(2)
    assert printed.startswith("Comparison of admission, ratio")
    assert re.findall(r"^ *(oasis|fifo|drf) +4 ", printed, re.MULTILINE) == ["oasis", "fifo", "drf"]


def test_the_selection_example_of_the_readme_is_true(example: Callable[[int], str]) -> None:
    printed = example(3)
    regret = {
        name: float(value) for name, value in re.findall(r"^(\S+): regret (\S+) of", printed, re.MULTILINE)
    }
    assert set(regret) == {"esdp", "esdp-printed", "thompson"}
    assert min(regret.values()) > 0
    assert max(regret, key=lambda name: regret[name]) == "esdp-printed"


def test_the_admission_example_of_the_readme_is_true(example: Callable[[int], str]) -> None:
    printed = example(4)
    found = re.findall(r"^(\S+): (\S+) of at least (\S+) and at most (\S+)$", printed, re.MULTILINE)
    assert [name for name, *_ in found] == ["oasis", "oasis-printed", "fifo", "drf"]
    for total, value, bound in (map(float, numbers) for _, *numbers in found):
        assert 0 < total <= value <= bound


def test_the_placement_example_of_the_readme_is_true(example: Callable[[int], str]) -> None:
    printed = example(5)
    found = re.findall(r"^(\S+): (\S+) s; nothing takes less than (\S+) s$", printed, re.MULTILINE)
    assert [name for name, *_ in found][::4] == ["fifo-firstfit", "sjf-consolidate"]
    assert len(found) == 5
    for total, bound in (map(float, numbers) for _, *numbers in found):
        assert 0 < bound <= total


def test_the_environment_of_the_readme_plays(example: Callable[[int], str]) -> None:
    printed = example(6)
    bound = cv.solve(cv.generate("placement", size="tiny", seed=1), time_limit=30).bound
    found = re.fullmatch(r"random: (\d+) s\n", printed)
    assert found is not None
    assert bound is not None
    assert float(found[1]) >= bound - 0.5


def test_the_learned_schedulers_of_the_readme_play(example: Callable[[int], str]) -> None:
    printed = example(7)
    found = re.findall(r"^(\S+): mean completion time (\S+) min$", printed, re.MULTILINE)
    assert [name for name, _ in found] == ["fifo-firstfit", "fifo-consolidate", "das", "da-mc-capacity"]
    instance = generate(cluster="medium", jobs=100, seed=1)
    alone = float(instance.jobs.duration.mean()) / 60_000
    assert all(float(minutes) >= alone - 0.1 for _, minutes in found)


def test_the_instance_files_of_the_documents_are_valid(page: Pages, tmp_path: Path) -> None:
    texts = page("docs/instance-files.md").blocks("json")
    found = [json.loads(text)["problem"] for text in texts]
    assert found == [problem.name for problem in problems.OURS]
    for i, text in enumerate(texts):
        path = tmp_path / f"{i}.json"
        path.write_text(text, encoding="utf-8")
        assert cv.load(path).problem == json.loads(text)["problem"]


def test_a_file_of_another_problem_is_refused_and_so_is_an_unknown_problem(tmp_path: Path) -> None:
    path = tmp_path / "selection.json"
    api.generate("selection", size="tiny").save(path)
    assert api.load(path, "selection") == api.load(path)
    with pytest.raises(cv.InputError, match=r"selection\.json: problem: 'selection' is not 'admission'$"):
        api.load(path, "admission")
    for problem in ("chess", 3):
        with pytest.raises(cv.InputError, match=rf"^problem: {problem!r} is not one of"):
            api.load(tmp_path / "no-file", problem)  # type: ignore[arg-type]
    path.write_text('{"version": 1}', encoding="utf-8")
    with pytest.raises(cv.InputError, match=r"selection\.json: problem: None is not 'admission'$"):
        api.load(path, "admission")


def test_the_documents_name_every_field_of_an_instance() -> None:
    document = (ROOT / "docs" / "instance-files.md").read_text(encoding="utf-8")
    for problem in (problem.name for problem in problems.OURS):
        _, _, section = document.partition(f"\n## `{problem}`\n")
        own = section.partition("\n## ")[0]
        data = api.generate(problem, size="tiny").to_dict()
        inner = [
            f"{name}.{key}" for name in ("utility", "gang", "noise", "slowdown") for key in data.get(name, {})
        ]
        for field in [*data, *inner, *data.get("names", {}), *data["origin"]]:
            assert f"`{field}" in document, field
        for field in {*data} - {*cv.generate("allocation", size="tiny").to_dict(), "ports"}:
            assert f"`{field}" in own, (problem, field)


def test_the_links_of_the_documents_lead_somewhere() -> None:
    for document in (README, ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text(encoding="utf-8")):
            assert target.startswith("https://") or (document.parent / target).exists(), target
