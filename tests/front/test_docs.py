"""The pages: what is made for them is that of the code, what stands on them runs, and browsers open them.

`make docs`, which `.ci/run` calls, makes them without a warning and runs the cells that they hold.
"""

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import clairvoyant as cv
from clairvoyant.analysis.claim import Context
from clairvoyant.analysis.findings import write_files
from clairvoyant.problems import OURS

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


def test_the_first_page_runs_as_written(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    text = (DOCS / "start.md").read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    tables = re.findall(r"as `(\w+\.csv)`:\n\n```csv\n(.*?)```", text, re.DOTALL)
    assert [name for name, _ in tables] == ["jobs.csv", "machines.csv"]
    for name, table in tables:
        Path(name).write_text(table)
    commands = re.findall(r"^clairvoyant (.*)$", text, re.MULTILINE)
    assert len(commands) == 5
    for command in commands:
        assert run(*shlex.split(command)).status == 0, command
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(code, {})  # noqa: S102 - as it stands there
    printed = capfd.readouterr().out
    value, bound = re.findall(r"(\d+\.\d) job-minutes; nothing takes less than (\d+\.\d)", printed)[0]
    assert value == bound == "314.0"


def test_versions_agree() -> None:
    cited = re.findall(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    assert cited == [cv.__version__]
    assert f"## {cv.__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


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
