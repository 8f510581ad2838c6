"""The pages: what is made for them is that of the code, what stands on them runs, and browsers open them.

`make docs`, which `.ci/run` calls, makes them without a warning and runs the cells that they hold.
"""

import json
import re
import runpy
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

import clairvoyant as cv
from clairvoyant.analysis.claim import Context
from clairvoyant.analysis.findings import write_files
from clairvoyant.online.placement.learned.policies import SHIPPED
from clairvoyant.problems import OURS, oracles, players

Run = Callable[..., Any]  # of tests/front/conftest.py
ROOT = Path(__file__).resolve().parents[2]
DOCS, BUILT = ROOT / "docs", ROOT / "reports" / "docs"
CLAIMED = [problem for problem in OURS if len(problem.part("claims"))]


@pytest.fixture(scope="module")
def made() -> Iterator[Any]:
    """Return what makes parts of pages."""
    sys.path.insert(0, str(DOCS))
    yield import_module("made")
    sys.path.remove(str(DOCS))


def kept(problem: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DOCS / "findings" / f"{problem}.json").read_text("utf-8"))
    return found


@pytest.mark.parametrize("problem", CLAIMED, ids=lambda problem: problem.name)
def test_the_findings_kept_are_those_of_the_claims(problem: Any) -> None:
    data, claims = kept(problem.name), problem.part("claims")
    assert (data["problem"], data["mode"], data["seed"]) == (problem.name, "default", 0)
    found = data["findings"]
    assert [one["claim"] for one in found] == [claim.id for claim in claims]
    for one, claim in zip(found, claims, strict=True):
        assert {key: one[key] for key in ("where", "says", "how", "ours")} == {
            key: getattr(claim, key) for key in ("where", "says", "how", "ours")
        }
        assert one["choices"] == [*claim.choices]
        assert one["verdict"] == claim.expected.value, claim.id
        assert one["verdict"] != "refuted" or one["counterexample"] or one["proof"]


def test_a_counterexample_on_a_page_is_an_instance(made: Any) -> None:
    shown = [
        one["counterexample"]["instance"]
        for problem in CLAIMED
        for one in kept(problem.name)["findings"]
        if one["counterexample"] and "instance" in one["counterexample"]
    ]
    assert len(shown) >= 20
    for data in shown:
        again = next(p for p in OURS if p.name == data["problem"]).part("instance").from_dict(data)
        assert again.to_dict() == data
        (text,) = re.findall(r"```json\n(.*)\n```", made.counterexample({"instance": data}), re.DOTALL)
        assert json.loads(text) == data


def test_findings_are_kept_from_the_folder_of_an_audit(keeper: Any, tmp_path: Path) -> None:
    name = "allocation/equation-13"
    (claim,) = [one for one in OURS[0].part("claims") if one.id == name]
    write_files(tmp_path, claim, claim.find(Context()), Context())
    before = (DOCS / "findings" / "allocation.json").read_text("utf-8")
    assert keeper.page("allocation", [*OURS[0].part("claims")], tmp_path / "nothing", before) == before
    (again,) = json.loads(keeper.page("allocation", [claim], tmp_path, '{"findings": []}'))["findings"]
    (held,) = [one for one in kept("allocation")["findings"] if one["claim"] == name]
    numbers = "largest difference from the multiplier there"  # made of roundings
    again["numbers"].pop(numbers)
    held["numbers"].pop(numbers)
    assert again == held
    write_files(tmp_path, claim, claim.find(Context("quick")), Context("quick"))
    with pytest.raises(SystemExit, match="found otherwise"):
        keeper.kept(claim, tmp_path)
    write_files(tmp_path, claim, claim.find(Context("full")), Context("full"))
    (full,) = json.loads(keeper.page("allocation", [claim], tmp_path, '{"findings": []}', "full"))["findings"]
    signs = json.loads((tmp_path / "findings" / f"{name}.json").read_text("utf-8"))["signs"]
    decided = {says: {r: s for r, s in of.items() if s is not None} for says, of in signs.items()}
    assert full == {key: again[key] for key in ("claim", "says", "found", "headline")} | {
        "numbers": full["numbers"],
        "decided": {says: of for says, of in decided.items() if of},
    }


@pytest.mark.parametrize("problem", CLAIMED, ids=lambda problem: problem.name)
def test_what_was_found_at_full_size_is_of_statements_that_are_there(made: Any, problem: Any) -> None:
    path = DOCS / "findings" / "full" / f"{problem.name}.json"
    if not path.exists():
        assert "--full" not in made.errata(problem.name)
        return
    full = json.loads(path.read_text("utf-8"))
    assert (full["problem"], full["mode"], full["seed"]) == (problem.name, "full", 0)
    says = {claim.id: claim.says for claim in problem.part("claims")}
    assert full["findings"]
    for one in full["findings"]:
        assert one["says"] == says[one["claim"]]
    text = made.errata(problem.name)
    assert f"{len(full['findings'])} of {len(says)} statements were checked once with `--full`" in text


@pytest.mark.parametrize("problem", CLAIMED, ids=lambda problem: problem.name)
def test_errata_show_every_claim(made: Any, problem: Any) -> None:
    text = made.errata(problem.name)
    for one in kept(problem.name)["findings"]:
        assert made.plain(one["says"]) in text
        assert made.plain(one["headline"]) in text
        assert one["verdict"] == "holds" or one["ours"] or f"`{one['command']}`" in text


def test_what_stands_in_a_text_is_no_markdown(made: Any) -> None:
    from markdown_it import MarkdownIt

    class Text(HTMLParser):
        text = ""

        def handle_data(self, data: str) -> None:
            self.text += data

    for given in ("|L| * 2_3 <b> [x](y) $a$ `c`", "1. not a list", "# - + > ~~no~~ &amp; {doc}`x` \\("):
        shown = Text()
        shown.feed(MarkdownIt().render(made.plain(given)))
        assert shown.text.strip() == given


def test_the_reference_has_every_public_name_once(made: Any) -> None:
    pages = {theme: made.reference(theme) for theme in made.THEMES}
    text = "\n".join(pages.values())
    for name in {*cv.__all__} - made.NOT_SHOWN:
        assert len(re.findall(rf"^\.\. auto\w+:: clairvoyant\.{name}$", text, re.MULTILINE)) == 1, name
    for theme in pages:
        assert f"<!-- made: reference {theme} -->" in (DOCS / "reference" / f"{theme}.md").read_text("utf-8")


@pytest.mark.usefixtures("compared_here")
def test_the_first_page_runs_as_written(
    run: Run, page: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    start = page("docs/start.md")
    monkeypatch.chdir(tmp_path)
    for name, table in zip(("jobs.csv", "machines.csv"), start.blocks("csv"), strict=True):
        assert f"as `{name}`" in start.text
        Path(name).write_text(table)
    commands = [words for program, *words in start.commands() if program == "clairvoyant"]
    assert len(commands) == 5
    for words in commands:
        assert run(*words).status == 0, words
    (code,) = start.blocks("python")
    exec(code, {})  # noqa: S102 - as it stands there
    printed = capfd.readouterr().out
    value, bound = re.findall(r"(\d+\.\d) job-minutes; nothing takes less than (\d+\.\d)", printed)[0]
    assert value == bound == "314.0"


def rows(printed: str) -> dict[str, tuple[float, float, float]]:
    """Return the total and both ends of the ratio by policy, from what `compare` prints."""
    found = re.findall(r"^(\S+) +1 +([\d,]+) +([\d.]+)(?: to ([\d.]+))?", printed, re.MULTILINE)
    return {
        name: (float(total.replace(",", "")), float(low), float(high or low))
        for name, total, low, high in found
    }


@pytest.mark.usefixtures("compared_here")
def test_the_first_hour_is_as_told(
    run: Run, page: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    """With shorter limits: what is proved is less, and contains what the page tells."""
    hour, folder = page("docs/first-hour.md"), ROOT / "examples" / "first_hour"
    script = (folder / "first_hour.py").read_text("utf-8")
    picture, policy, calls = hour.blocks("python")
    assert policy in script
    assert indent(calls, "    ") in script
    told = "\n".join(hour.blocks("text"))
    assert (folder / "jobs.csv").read_text("utf-8").startswith(hour.blocks("text")[0])
    monkeypatch.chdir(tmp_path)
    for table in folder.glob("*.csv"):
        shutil.copy(table, tmp_path)
    refused = run("import", "jobs.csv", "--machines", "machines.csv", "--out", "jobs.json")
    assert refused.status == 2
    assert refused.err in told
    printed = {}
    for program, *words in hour.commands():
        assert program == "clairvoyant"
        quick = {"compare": ("--workers", "1"), "audit": ("--quick", "--workers", "1")}.get(words[0], ())
        done = run(*("0.1" if word == "10" else word for word in words), *quick)
        assert done.status == 0, done.err
        printed[words[0]] = done.out
        if words[0] == "new-policy":
            own = Path("short_first.py")
            own.write_text(own.read_text().partition("@dataclass")[0] + policy)
    imported = " ".join(printed["import"].split())
    for line in next(text for text in hour.blocks("text") if "in all rows" in text).splitlines():
        assert line[8:].removesuffix("...").strip() in imported  # after the name at its beginning
    assert printed["check"].splitlines()[-1] in told
    assert "placement/eager-jct (Appendix A): refuted" in printed["audit"]
    quick_rows = rows(printed["compare"])
    assert rows(hour.blocks("text")[-2]).keys() == quick_rows.keys()
    for name, (total, low, high) in rows(told).items():
        assert total == quick_rows[name][0]
        assert quick_rows[name][1] <= low <= high <= quick_rows[name][2]
    (value, bound) = re.findall(r"optimum ([\d,]+) s; nothing is better than ([\d,.]+) s", told)[0]
    exec(picture, {})  # noqa: S102 - as it stands there
    assert Path("schedules.svg").exists()
    Path("first_hour.py").write_text(script.replace("time_limit=10", "time_limit=0.1"))
    runpy.run_path("first_hour.py", run_name="__main__")
    found = re.findall(r"^optimum ([\d,]+) s\n  bound: nothing is below ([\d,.]+) s", capfd.readouterr().out)
    ours, proved = (float(text.replace(",", "")) for text in found[0])
    assert proved <= float(bound.replace(",", "")) <= float(value.replace(",", "")) <= ours
    assert Path("first_hour.svg").exists()


def test_versions_agree() -> None:
    cited = re.findall(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    assert cited == [cv.__version__]
    assert f"## {cv.__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
@pytest.mark.skipif(
    not (BUILT / "index.html").exists(), reason="the documentation has not been made: make docs"
)
@pytest.mark.parametrize(
    ("page", "wanted"),
    [
        ("concepts", ("<svg", "relative gap asked for")),
        ("tutorials/allocation", ("<math", "of stationary")),
        ("tutorials/selection", ('<msub><mover accent="true">',)),
        ("errata/selection", ("<details>", "selection/algorithm-2")),
    ],
)
def test_a_browser_opens_the_pages(page: str, wanted: tuple[str, ...]) -> None:
    call = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    done = subprocess.run(
        [*call, (BUILT / f"{page}.html").as_uri()], capture_output=True, text=True, check=True, timeout=60
    )
    for text in wanted:
        assert text in done.stdout
    assert not re.search(
        r'(?:src|href)="(?:https?:)?//[^"]*\.(?:js|css)', done.stdout
    )  # nothing from a network


def test_every_training_of_the_package_is_in_the_table(made: Any) -> None:
    text = made.trainings("placement")
    of = Counter(file.stem.rpartition("-")[0] for file in SHIPPED.glob("*.npz"))
    row = r"^\| `([\w-]+)` \| (\d+) \| [\d,]+(?: to [\d,]+)? \| ([\d., ]+) \| ([-+\d., ]+) \|$"
    told = re.findall(row, text, re.MULTILINE)
    assert {name: int(seeds) for name, seeds, _, _ in told} == of
    assert all(len(minutes.split(", ")) == len(best.split(", ")) == int(n) for _, n, minutes, best in told)


@pytest.mark.parametrize("problem", OURS, ids=lambda problem: problem.name)
def test_what_grows_is_measured_of_every_policy_and_oracle(made: Any, problem: Any) -> None:
    kept = json.loads((DOCS / "scaling" / f"{problem.name}.json").read_text("utf-8"))
    measured = {(one["kind"], one["name"]) for one in kept["cells"]}
    there = {("policy", name) for name in players(problem.name)}
    there |= {("oracle", name) for name in oracles(problem.name)}
    assert measured == there, (
        f"python -m benchmarks.scaling --problem {problem.name} measures what is missing"
    )
    for one in kept["cells"]:
        assert ("over" in one) or (one["seconds"] > 0 and one["memory"] >= one["loaded"] > 0), one
    text = made.scaling(problem.name)
    assert all(f"| `{name}` |" in text for _, name in measured)
    drawn = {one["name"] for one in kept["cells"] if one["kind"] == "policy" and "over" not in one}
    assert text.count("<svg") == 1 + -(-len(drawn) // 9)
