"""The page: well-formed, self-contained, escaped; a text for every picture, a command for every claim."""

import re
from functools import partial
from html.parser import HTMLParser
from pathlib import Path

import pytest

from clairvoyant.analysis.claim import Claim, Context, Figure, Finding, Table, Verdict
from clairvoyant.analysis.report import BADGES, cell, file_size, prose, write_report
from clairvoyant.api import audit, policy_table
from clairvoyant.models.allocation.generate import generate
from clairvoyant.models.base import InputError
from clairvoyant.oracles.allocation.optimum import ORACLES

EVIL = "a <script>alert('&')</script> \"b\""
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" width="100%">'
    '<defs><path id="m" d="M 0 0"/></defs><use href="#m"/></svg>'
)
VOID = {"meta", "path", "use", "rect", "br"}


def check(n: int, _context: Context) -> Finding:
    if n == 0:
        return Finding(list(Verdict)[n], EVIL)
    return Finding(
        list(Verdict)[n],
        f"{EVIL} with ``code``",
        {EVIL: 1.5, "count (jobs)": 3, "note": EVIL},
        (Table(EVIL, ("name", EVIL), ((EVIL, 1.5), ("x", None))),),
        tuple(Figure(f"picture-{n}-{i}", f"{EVIL} {i}", SVG) for i in range(2)),
        generate("tiny", n) if n == 2 else None,
    )


CLAIMS = [
    Claim(f"allocation/claim-{n}", EVIL, EVIL, EVIL, Verdict.HOLDS if n == 1 else verdict, partial(check, n))
    for n, verdict in enumerate(Verdict)
]
FACTS = [Table("Instances", ("instance", "origin"), (("default", "real: cpu; filled: TPU"),))]


def write(out: Path, claims: list[Claim], mode: str = "default", seed: int = 0) -> Path:
    found = audit(catalogue=claims, out=out, workers=1, mode=mode, seed=seed)
    return write_report(
        out, found, mode=mode, seed=seed, facts=FACTS, policies=policy_table(), oracles=ORACLES
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("report"), CLAIMS)


@pytest.fixture(scope="module")
def text(page: Path) -> str:
    return page.read_text("utf-8")


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
def reader(text: str) -> Reader:
    return Reader(text)


def test_is_well_formed(text: str, reader: Reader) -> None:
    assert text.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert reader.open == []
    ids = [attrs["id"] for _, attrs in reader.tags if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_loads_nothing_from_elsewhere(text: str, reader: Reader, page: Path) -> None:
    assert not re.search(r"(https?:)?//\w", text)
    assert "@import" not in text
    assert not {"script", "link", "img", "iframe", "object", "embed"} & {tag for tag, _ in reader.tags}
    assert not [name for _, attrs in reader.tags for name in attrs if name.startswith("on") or name == "src"]
    ids = {attrs.get("id") for _, attrs in reader.tags}
    for _, attrs in reader.tags:
        target = attrs.get("href")
        if target is not None:
            assert target[1:] in ids if target.startswith("#") else (page.parent / target).is_file()


def test_columns_have_the_room_that_they_need(tmp_path: Path) -> None:
    row = (1.5, "6 ± 1", "x" * 30, "x" * 100, "x" * 200)
    finding = Finding(Verdict.HOLDS, "fine", tables=(Table("t", tuple("abcde"), (row, (None,) * 5)),))
    text = write(tmp_path, [Claim("a/x", "", "", "", Verdict.HOLDS, lambda _context: finding)]).read_text(
        "utf-8"
    )
    heads = [f'<th scope="col"{style}>' for style in (' class="number"', ' class="short"', "")]
    heads += [f'<th scope="col" class="{name}">' for name in ("text", "long")]
    for head, name in zip(heads, "abcde", strict=True):
        assert f"{head}{name}</th>" in text


def test_everything_is_escaped(text: str) -> None:
    assert "<script" not in text
    assert text.count("a &lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt; &#34;b&#34;") > 50


def test_every_figure_has_a_text_and_ids_of_its_own(text: str, reader: Reader) -> None:
    pictures = [attrs for tag, attrs in reader.tags if tag == "svg"]
    assert len(pictures) == 2 * len(CLAIMS) - 2
    captions = dict(re.findall(r'<span id="(caption\d+)">(.*?)</span>', text))
    for attrs in pictures:
        assert attrs["role"] == "img"
        assert "alert" in captions[str(attrs["aria-labelledby"])]
    assert len(set(re.findall(r'href="#(figure\d+-m)"', text))) == 2 * len(CLAIMS) - 2


def test_every_claim_has_its_verdict_and_its_command(reader: Reader, text: str) -> None:
    commands = "".join(reader.inside["pre"])
    assert commands.count("clairvoyant audit") == len(CLAIMS)
    for claim, verdict in zip(CLAIMS, Verdict, strict=True):
        assert f"clairvoyant audit --claim {claim.id}" in commands
        section = text[text.index(f'<article id="{claim.id.replace("/", "--")}"') :]
        sign, style, _ = BADGES[verdict]
        assert (
            f'<span class="badge {style}"><span aria-hidden="true">{sign}</span> {verdict.value}</span>'
            in section
        )


def test_the_signs_of_the_verdicts_differ_without_colour() -> None:
    assert set(BADGES) == set(Verdict)
    assert len({sign for sign, _, _ in BADGES.values()}) == len(Verdict)


def test_an_unexpected_verdict_stands_out(text: str, tmp_path: Path) -> None:
    assert text.count("Not as expected") == 2  # above, and in the section of claim 1
    assert "the expected verdict is “holds”" in text
    expected = write(tmp_path, CLAIMS[:1]).read_text("utf-8")
    assert "Not as expected" not in expected
    assert "Every verdict is as expected." in expected


def test_the_counterexample_can_be_had_with_its_size(text: str, page: Path) -> None:
    path = page.parent / "counterexamples/allocation/claim-2.json"
    link = (
        'href="counterexamples/allocation/claim-2.json" download>counterexamples/allocation/claim-2.json</a>'
    )
    assert f"{link} ({file_size(path.stat().st_size)})" in text


def test_policies_oracles_and_facts_are_listed(reader: Reader) -> None:
    cells = {text.strip() for tag in ("th", "td") for text in reader.inside[tag]}
    assert {row.name for row in policy_table()} <= cells
    assert set(ORACLES) <= cells
    assert {"real: cpu; filled: TPU", "nothing", "arrivals"} <= cells


def test_the_same_findings_have_the_same_bytes(page: Path, tmp_path: Path) -> None:
    assert write(tmp_path / "elsewhere", CLAIMS).read_bytes() == page.read_bytes()


def test_the_commands_name_mode_and_seed(tmp_path: Path) -> None:
    text = write(tmp_path, CLAIMS[:1], mode="full", seed=4).read_text("utf-8")
    commands = "".join(Reader(text).inside["pre"])
    assert commands == "clairvoyant audit --claim allocation/claim-0 --full --seed 4"
    assert "<code>clairvoyant audit --full --seed 4</code>" in text


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


@pytest.mark.parametrize(("size", "text"), [(999, "999 bytes"), (12345, "12.3 kB"), (2_500_000, "2.5 MB")])
def test_sizes_of_files(size: int, text: str) -> None:
    assert file_size(size) == text
