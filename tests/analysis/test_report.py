"""The site: well-formed, self-contained, escaped; a text for every picture, a command for every claim."""

import inspect
import re
from functools import partial
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from clairvoyant.analysis.claim import Claim, Context, Figure, Finding, Paper, Table, Verdict
from clairvoyant.analysis.findings import check_id
from clairvoyant.analysis.report import BADGES, KINDS, OWN, kind_of, source_line, write_report
from clairvoyant.analysis.report.tables import MOST_COLUMNS, MOST_ROWS, instance_tables
from clairvoyant.analysis.report.text import cell, prose
from clairvoyant.api import audit, policy_table
from clairvoyant.models.allocation.generate import generate
from clairvoyant.models.base import InputError, Instance, Origin
from clairvoyant.oracles.allocation.optimum import ORACLES
from clairvoyant.problems import OURS, papers, problems

EVIL = "a <script>alert('&')</script> \"b\""
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" width="100%">'
    '<defs><path id="m" d="M 0 0"/></defs><use href="#m"/></svg>'
)
VOID = {"meta", "path", "use", "rect", "br", "input"}
PAGES = ("index", "allocation", "theirs")
HEADINGS = ("h1", "h2", "h3", "h4")


def check(n: int, _context: Context) -> Finding:
    if n == 0:
        return Finding(list(Verdict)[n], EVIL)
    return Finding(
        list(Verdict)[n],
        f"{EVIL} with ``code``",
        {"count (jobs)": 3, EVIL: 1.5, "note": EVIL},
        (Table(EVIL, ("name", EVIL), ((EVIL, 1.5), ("x", None))),),
        tuple(Figure(f"picture-{n}-{i}", f"{EVIL} {i}", SVG) for i in range(2)),
        generate("tiny", n) if n == 2 else None,
    )


def theirs(_context: Context) -> Finding:
    rows = tuple((i, EVIL) for i in range(40))
    return Finding(Verdict.HOLDS, "Fine.", tables=(Table("Many. Of them", ("", "text"), rows),))


CLAIMS = [
    Claim(f"allocation/claim-{n}", EVIL, EVIL, EVIL, Verdict.HOLDS if n == 1 else verdict, partial(check, n))
    for n, verdict in enumerate(Verdict)
]
ALL = [*CLAIMS, Claim("theirs/own", "(1)", EVIL, EVIL, Verdict.HOLDS, theirs, ours=True)]
FACTS = {"allocation": [Table("Instances", ("instance", "origin"), (("default", "real: cpu; filled: TPU"),))]}
PAPER = Paper(EVIL, EVIL, EVIL, EVIL, 1999, ("claim-0", "claim-2"), "claim-3", ("claim-4", EVIL, EVIL))


def write(
    out: Path, claims: list[Claim], mode: str = "default", seed: int = 0, paper: Paper | None = None
) -> Path:
    found = audit(catalogue=claims, out=out, workers=1, mode=mode, seed=seed)
    known = {"allocation": paper} if paper else {}
    return write_report(
        out,
        found,
        mode=mode,
        seed=seed,
        facts=FACTS,
        policies=policy_table(),
        oracles=ORACLES,
        papers=known,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("report"), ALL, paper=PAPER).parent


@pytest.fixture(scope="module")
def index(folder: Path) -> str:
    return (folder / "index.html").read_text("utf-8")


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    return (folder / "allocation.html").read_text("utf-8")


class Reader(HTMLParser):
    """Checks the nesting and keeps what the tests ask for."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, list[str]] = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice"
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self.open):
            self.inside.setdefault(tag, []).append(data)


@pytest.fixture(scope="module")
def readers(folder: Path) -> dict[str, Reader]:
    return {f"{name}.html": Reader((folder / f"{name}.html").read_text("utf-8")) for name in PAGES}


def ids(reader: Reader) -> list[str | None]:
    return [attrs["id"] for _, attrs in reader.tags if "id" in attrs]


def test_all_pages_are_there_and_well_formed(folder: Path, readers: dict[str, Reader]) -> None:
    assert {path.name for path in folder.glob("*.html")} == set(readers)
    for name, reader in readers.items():
        assert (folder / name).read_text("utf-8").startswith('<!DOCTYPE html>\n<html lang="en">')
        assert reader.open == []
        assert len(ids(reader)) == len(set(ids(reader)))
        assert {tag for tag, _ in reader.tags} >= {"header", "main", "footer", "h1", "h2"}


def test_they_load_nothing_from_elsewhere(folder: Path, readers: dict[str, Reader]) -> None:
    for name, reader in readers.items():
        text = (folder / name).read_text("utf-8")
        assert not re.search(r"(https?:)?//\w|@import|url\((?!#)", text)
        assert not {"link", "img", "iframe", "object", "embed"} & {tag for tag, _ in reader.tags}
        assert [tag for tag, _ in reader.tags].count("script") == 1
        assert not [n for _, attrs in reader.tags for n in attrs if n.startswith("on") or n == "src"]


def test_links_lead_somewhere(folder: Path, readers: dict[str, Reader]) -> None:
    for name, reader in readers.items():
        for _, attrs in reader.tags:
            if (target := attrs.get("href")) is not None:
                file, _, part = target.partition("#")
                assert (folder / (file or name)).is_file(), target
                assert not part or part in ids(readers[file or name]), target


def test_headings_nest_and_the_content_is_near(readers: dict[str, Reader]) -> None:
    for reader in readers.values():
        levels = [HEADINGS.index(tag) for tag, _ in reader.tags if tag in HEADINGS]
        assert levels.count(0) == 1
        assert levels[0] == 0
        assert all(lower <= upper + 1 for upper, lower in pairwise(levels))
        links = [attrs for tag, attrs in reader.tags if tag == "a"]
        assert links[0] == {"class": "skip", "href": "#content"}
        before = [tag for tag, _ in reader.tags][: [tag for tag, _ in reader.tags].index("main")]
        assert before.count("a") + before.count("summary") <= 150


def test_columns_have_the_room_that_they_need(tmp_path: Path) -> None:
    row = (1.5, "6 ± 1", "x" * 30, "x" * 100, "x" * 200)
    finding = Finding(Verdict.HOLDS, "fine", tables=(Table("t", tuple("abcde"), (row, (None,) * 5)),))
    write(tmp_path, [Claim("a/x", "", "", "", Verdict.HOLDS, lambda _context: finding)])
    text = (tmp_path / "a.html").read_text("utf-8")
    heads = [f'<th scope="col"{style}>' for style in (' class="number"', ' class="short"', "")]
    heads += [f'<th scope="col" class="{name}">' for name in ("text", "long")]
    for head, name in zip(heads, "abcde", strict=True):
        assert f"{head}{name}</th>" in text


def test_everything_is_escaped(index: str, page: str) -> None:
    for text, least in ((index, 30), (page, 60)):
        assert text.count("<script") == 1
        assert text.count("a &lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt; &#34;b&#34;") > least


def test_every_figure_has_a_text_and_ids_of_its_own(page: str, readers: dict[str, Reader]) -> None:
    pictures = [attrs for tag, attrs in readers["allocation.html"].tags if tag == "svg"]
    assert len(pictures) == 2 * len(CLAIMS) - 2
    captions = dict(re.findall(r'<span id="(caption\d+)">(.*?)</span>', page))
    for attrs in pictures:
        assert attrs["role"] == "img"
        assert "alert" in captions[str(attrs["aria-labelledby"])]
    assert len(set(re.findall(r'href="#(figure\d+-m)"', page))) == 2 * len(CLAIMS) - 2


def article(page: str, claim: Claim) -> str:
    start = page.index(f'<article id="{claim.id.replace("/", "--")}"')
    return page[start : page.index("</article>", start)]


def test_every_claim_has_its_verdict_its_source_and_its_command(page: str) -> None:
    source = f"test_report.py:{inspect.getsourcelines(check)[1]}"
    for claim, verdict in zip(CLAIMS, Verdict, strict=True):
        section = article(page, claim)
        assert f"clairvoyant audit --claim {claim.id}" in "".join(Reader(section).inside["pre"])
        sign, style, _ = BADGES[verdict]
        badge = f'<span class="badge {style}"><span aria-hidden="true">{sign}</span> {verdict.value}</span>'
        assert badge in section
        assert source in section


def test_every_verdict_is_in_the_list_of_all(index: str, readers: dict[str, Reader]) -> None:
    rows = index[index.index('<table class="verdicts"') :].split('<tr role="row"')[2:]
    assert len(rows) == len(ALL)
    for row, claim in zip(rows, ALL, strict=True):
        assert f'href="{claim.problem}.html#{claim.id.replace("/", "--")}">{claim.id}</a>' in row
        assert row.startswith(" data-ours") == claim.ours
    forms = [attrs for tag, attrs in readers["index.html"].tags if tag == "form"]
    assert len(forms) == 1
    assert "hidden" in forms[0]  # without script nothing is shown that would not work


def test_the_paper_opens_the_first_page(index: str) -> None:
    opening = index[index.index('id="paper-allocation"') : index.index('id="paper-theirs"')]
    assert opening.count(str(prose(EVIL))) >= 8  # citation, meaning of the number, findings, places
    assert opening.index("What stands") < opening.index("What does not")
    assert "What is open" not in opening  # of the main claims none is
    assert opening.count("<li>") == 2 + len(CLAIMS)
    own = index[index.index('id="paper-theirs"') : index.index('id="legend"')]
    assert f"Statements of the paper: <b>{len(CLAIMS)}</b>" in opening
    assert "Our own: <b>1</b>" in own
    assert ("Our own" in opening, "Statements" in own) == (False, False)
    assert "<b>1.5</b>" in opening
    assert 'href="figures/picture-3-0.svg"' in opening


def test_without_a_paper_the_first_claims_stand_for_the_problem(tmp_path: Path) -> None:
    text = write(tmp_path, ALL).read_text("utf-8")
    opening = text[text.index('id="paper-allocation"') : text.index('id="legend"')]
    assert "What is open" in opening
    assert "<svg" not in opening
    assert 'class="number-line"' not in opening


def test_a_part_of_the_claims_is_enough_for_a_paper(tmp_path: Path) -> None:
    text = write(tmp_path, CLAIMS[1:2], paper=PAPER).read_text("utf-8")
    opening = text[text.index('id="paper-allocation"') : text.index('id="legend"')]
    assert "claim-1" in opening
    assert "<svg" not in opening


def test_records_of_papers_name_claims_and_numbers_that_are_there() -> None:
    for problem, paper in papers().items():
        (record,) = (one for one in OURS if one.name == problem)
        known = {claim.id.partition("/")[2]: claim for claim in record.part("claims")}
        assert {*paper.main, paper.picture, paper.number[0]} <= known.keys()
        named = known[paper.number[0]].check
        assert f'"{paper.number[1]}"' in inspect.getsource(inspect.unwrap(named))
    assert len(papers()) == 4


@pytest.mark.parametrize(
    ("where", "kind"),
    [
        ("Proof of Theorem 1, (31), (32)", "Theorems and their proofs"),
        ("Sec. 3.2, (23)-(27)", "Equations"),
        ("(21), Algorithm 2, line 1", "Equations"),
        ("Algorithm 1, lines 7 to 31", "Algorithms"),
        ("Table 1, Fig. 2", "Tables"),
        ("Captions of Fig. 2 and 5", "Figures"),
        ("Abstract, Sec. 1", "Text"),
        ("", "Text"),
    ],
)
def test_kinds_of_statements(where: str, kind: str) -> None:
    claim = Claim("a/b", where, "", "", Verdict.HOLDS, theirs)
    assert kind_of(claim, theirs(Context())) == kind
    assert kind in KINDS
    ours = Claim("a/b", where, "", "", Verdict.HOLDS, theirs, ours=True)
    assert kind_of(ours, theirs(Context())) == OWN


def test_the_source_of_what_has_none_is_not_made_up() -> None:
    class Callable:
        def __call__(self, context: Context) -> Finding:
            return theirs(context)

    assert source_line(Callable()) == ""
    by_rule = source_line(OURS[0].part("claims")[0].check)
    file, _, line = by_rule.partition(":")
    assert file == "clairvoyant/analysis/allocation/claims/projection.py"
    lines = (Path(__file__).parents[2] / file.removeprefix("clairvoyant/")).read_text("utf-8").splitlines()
    assert lines[int(line) - 1].startswith("@claim(")


def test_the_signs_of_the_verdicts_differ_without_colour() -> None:
    assert set(BADGES) == set(Verdict)
    assert len({sign for sign, _, _ in BADGES.values()}) == len(Verdict)


def test_an_unexpected_verdict_stands_out(index: str, page: str, tmp_path: Path) -> None:
    assert index.count("Not as expected") == 1
    assert [claim for claim in CLAIMS if "<b>expected: " in article(page, claim)] == CLAIMS[1:2]
    assert "<b>expected: holds</b>" in article(page, CLAIMS[1])
    expected = write(tmp_path, CLAIMS[:1]).read_text("utf-8")
    assert "Not as expected" not in expected
    assert "Every verdict is as expected." in expected


def test_the_counterexample_is_shown_solved_and_played(page: str, folder: Path) -> None:
    section, name = article(page, CLAIMS[2]), "counterexamples/allocation/claim-2.json"
    assert f'href="{name}" download>{name}</a> ({(folder / name).stat().st_size / 1000:.1f} kB)' in section
    lines = "".join(Reader(section).inside["pre"])
    assert f"clairvoyant solve {name}" in lines
    assert f"clairvoyant play {name} --policy ogasched" in lines
    assert "utility.alpha" in section
    assert "Counterexample" not in article(page, CLAIMS[1])


@pytest.mark.parametrize("problem", [one.name for one in OURS])
@pytest.mark.parametrize("size", ["tiny", "default"])
def test_tables_of_an_instance_have_all_its_fields(problem: str, size: str) -> None:
    (record,) = (one for one in OURS if one.name == problem)
    instance: Instance = record.part("generate")(size, 0)
    tables, meanings = instance_tables(instance)
    told = {str(name) for one in tables for name in (*one.columns, *(row[0] for row in one.rows))}
    fields = instance.to_dict().keys() - {"problem", "version", "origin"}
    assert fields <= {name.partition(".")[0] for name in told}
    assert meanings.keys() <= told
    assert {name.partition(".")[0] for name in meanings} >= fields - {"names", "utility", "noise"}
    for one in tables:
        assert all(len(row) == len(one.columns) for row in one.rows)
        assert len(one.rows) <= MOST_ROWS or one.columns[0] == "field"
        assert len(one.columns) <= MOST_COLUMNS + 1


def test_equal_entries_in_line_are_one_row() -> None:
    instance = generate("tiny", 0)
    data = instance.to_dict()
    data["arrivals"] = [[1] * len(data["demand"])] * 30 + [[0] * len(data["demand"])]
    (shown,) = (one for one in instance_tables(type(instance).from_dict(data))[0] if one.title == "arrivals")
    assert [row[0] for row in shown.rows] == ["0 to 29", "30"]


class Foreign(Instance[None]):
    """An instance of others, whose fields nothing declares."""

    problem = "theirs"
    origin = Origin("by hand")
    setting = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "problem": "theirs",
            "version": 1,
            "rate": {"low": -0.5, "high": {"of": None}},
            "empty": [],
            "jobs": [{"size": 1, "kind": {"name": EVIL}}, {"size": 2, "late": True}],
            "mixed": [1, {"a": EVIL}],
            "wide": [{f"field {i}": i for i in range(20)}] * 2 + [{"field 0": 1e-9}],
        }

    def episode(self, sees: frozenset[str]) -> Any:
        raise NotImplementedError

    def violations(self, decision: Any) -> list[Any]:
        raise NotImplementedError

    @classmethod
    def from_dict(cls, data: Any) -> "Foreign":
        raise NotImplementedError


def test_an_instance_whose_fields_nobody_declares_is_shown_too() -> None:
    tables, meanings = instance_tables(Foreign())
    assert meanings == {}
    shown = {one.title: one for one in tables}
    assert list(shown) == ["Values", "jobs", "mixed", "wide"]
    assert shown["Values"].rows == (("rate.low", "−0.5"), ("rate.high.of", "–"), ("empty", "none"))
    assert shown["jobs"].columns == ("index", "jobs.size", "jobs.kind.name", "jobs.late")
    assert shown["jobs"].rows == (("0", "1", EVIL, "–"), ("1", "2", "–", "yes"))
    assert shown["mixed"].rows[1] == ("1", str({"a": EVIL}))
    assert shown["wide"].columns == ("index", "0 to 1", "2")  # many fields are rows
    assert shown["wide"].rows[:2] == (("wide.field 0", "0", "1×10⁻⁹"), ("wide.field 1", "1", "–"))


def test_the_first_page_is_small(tmp_path: Path) -> None:
    known = papers()
    catalogue = [claim for name in known for claim in problems()[name].part("claims")]
    pictures = {f"{name}/{paper.picture}" for name, paper in known.items()}
    drawn = (Figure("picture", "caption " * 30, SVG.replace("M 0 0", "L 0.12 3.45 " * 2500)),)
    found = [
        (claim, Finding(claim.expected, "It was found. " * 8, figures=drawn if claim.id in pictures else ()))
        for claim in catalogue
    ]
    path = write_report(tmp_path, found, mode="full", seed=0, facts={}, policies=(), oracles={}, papers=known)
    assert len(found) > 200
    assert path.read_text("utf-8").count("<svg") == 4
    assert path.stat().st_size < 300_000


def test_the_page_of_a_problem_cannot_be_the_first_one() -> None:
    with pytest.raises(InputError, match="first page"):
        check_id(Claim("Index/x", "", "", "", Verdict.HOLDS, theirs))


def test_policies_oracles_and_facts_are_listed(readers: dict[str, Reader]) -> None:
    inside = readers["allocation.html"].inside
    cells = {text.strip() for tag in ("th", "td") for text in inside[tag]}
    mine = {row.name for row in policy_table() if row.problem.partition("-")[0] == "allocation"}
    assert mine | set(ORACLES) | {"real: cpu; filled: TPU", "nothing", "arrivals"} <= cells
    assert "esdp" not in cells


def test_the_same_findings_have_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    write(tmp_path / "elsewhere", ALL, paper=PAPER)
    for name in PAGES:
        assert (tmp_path / f"elsewhere/{name}.html").read_bytes() == (folder / f"{name}.html").read_bytes()


def test_pages_of_an_earlier_audit_stay_and_are_linked_apart(tmp_path: Path) -> None:
    def sections() -> list[str]:
        found = Reader((tmp_path / "index.html").read_text("utf-8"))
        return [str(attrs["href"]) for _, attrs in found.tags if str(attrs.get("href", "")).endswith(".html")]

    theirs = [claim for claim in ALL if claim.problem != "allocation"]
    write(tmp_path, ALL)
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.html")}
    assert "left here by an earlier" not in before["index.html"].decode()
    (tmp_path / "notes.html").write_text("<title>mine</title>", "utf-8")
    write(tmp_path, CLAIMS[:1])
    others = sorted({f"{claim.problem}.html" for claim in theirs})
    assert others
    text = (tmp_path / "index.html").read_text("utf-8")
    assert all(f'<a href="{name}">' in text.partition("left here by an earlier one")[2] for name in others)
    assert all((tmp_path / name).read_bytes() == before[name] for name in others)
    assert sections() == [*others, "allocation.html"]
    write(tmp_path, ALL)
    assert (tmp_path / "index.html").read_bytes() == before["index.html"]


def test_the_commands_name_mode_and_seed(tmp_path: Path) -> None:
    text = write(tmp_path, CLAIMS[:1], mode="full", seed=4).read_text("utf-8")
    assert "<code>clairvoyant audit --full --seed 4</code>" in text
    commands = "".join(Reader((tmp_path / "allocation.html").read_text("utf-8")).inside["pre"])
    assert commands == "clairvoyant audit --claim allocation/claim-0 --full --seed 4"


def test_a_page_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "index.html").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        write(tmp_path, CLAIMS[:1])


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1.23456789e-7, "1.23457×10⁻⁷"),
        (-1e21, "−1×10²¹"),
        (-0.25, "−0.25"),
        (-3, "−3"),
        (True, "yes"),
        (False, "no"),
        (None, "–"),
        (float("nan"), "–"),
        (float("inf"), "∞"),
        (float("-inf"), "−∞"),
        ("a-b", "a-b"),
    ],
)
def test_cells_of_tables(value: object, shown: str) -> None:
    assert cell(value) == shown


def test_code_in_texts() -> None:
    assert prose("``y <= a`` and :math:`x`") == "<code>y &lt;= a</code> and <code>x</code>"
