"""The site in a browser: nothing is cut off at any width, and the rules of accessibility find nothing."""

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from clairvoyant.analysis.claim import Claim, Context, Figure, Finding, Table, Verdict
from clairvoyant.analysis.findings import write_files
from clairvoyant.analysis.plots import name_axes, new_figure, plot_bars, to_svg
from clairvoyant.analysis.report import Shown, write_leaderboard, write_report
from clairvoyant.api import list_oracles, policy_table
from clairvoyant.problems import OURS, papers

pytestmark = pytest.mark.slow
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
AXE = Path(os.environ.get("CLAIRVOYANT_AXE", ""))
WIDTHS = (360, 1280, 1600)

MEASURE = """
addEventListener("load", async () => {
  const many = selector => Array.from(document.querySelectorAll(selector));
  const told = {stops: 0, page: location.pathname.split("/").pop(), width: innerWidth};
  const main = document.querySelector("main");
  for (const one of many("a[href], button, summary, select, input, [tabindex='0']")) {
    const before = main.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_PRECEDING;
    if (before && one.checkVisibility()) told.stops += 1;
  }
  many("details").forEach(one => { one.open = true; });
  told.body = document.documentElement.scrollWidth;
  told.scrolled = many(".box, pre").filter(box => box.scrollWidth > box.clientWidth + 1).length;
  told.letters = Math.min(...many("svg text").map(text => text.getBoundingClientRect().height));
  const form = document.getElementById("filters");
  if (form) {
    const set = (name, value) => {
      form.elements[name].value = value;
      form.dispatchEvent(new Event("input"));
      return many(".verdicts tbody tr").filter(row => row.checkVisibility()).length;
    };
    told.filtered = [
      set("kind", ""), set("kind", "ours"), set("paper", "selection"), set("kind", ""),
      set("verdict", "refuted"), set("text", "nowhere"), set("verdict", ""), set("paper", ""),
      set("text", "Finding CLAIM-3"), set("text", ""),
    ];
  }
  const beyond = one => one.getBoundingClientRect().right > innerWidth && !one.closest(".box");
  told.beyond = many("body *").filter(beyond).map(one => one.outerHTML.slice(0, 80)).slice(0, 3);
  const found = typeof axe === "undefined" || innerWidth > 360 ? null : await axe.run();
  told.faults = found?.violations.map(one => [one.id, one.nodes.length, one.nodes[0].html]);
  parent.postMessage(told, "*");
});
"""
"""What a page tells of itself to the page that holds it, at a width."""

HOLD = """
const told = [];
addEventListener("message", event => {
  told.push(event.data);
  document.querySelector("pre").textContent = JSON.stringify(told);
});
"""


def unchecked(_context: Context) -> Finding:
    raise AssertionError("the findings are there already")


def results() -> list[tuple[Claim, Finding]]:
    """Return findings on every problem of ours, with tables and figures as wide and as long as any."""
    numbers = tuple((f"da-mc-capacity - row {r}", *("-13.86 [-11.20, +3.47]",) * 8) for r in range(15))
    wide = Table("Wide. " + "At some length. " * 20, tuple(f"a head {i} (%)" for i in range(9)), numbers)
    texts = Table("Texts", ("", *"abcde"), (("x", *("some words in a cell " * 5,) * 5),))
    bars = {"OASiS": ([1.0], [0.5], [1.5]), "FIFO": ([2.0], [1.5], [2.5])}
    figure, ax = new_figure()
    name_axes(plot_bars(ax, ["the long name of a group, as printed, rho = 0.4"], bars), "regret per slot", "")
    svg = to_svg(figure)
    found = []
    for record in OURS:
        for n, verdict in enumerate(Verdict):
            claim_id = f"{record.name}/claim-{n}"
            claim = Claim(claim_id, "(1)", "It says so.", "By trial.", verdict, unchecked, ours=n == 5)
            finding = Finding(
                verdict,
                "A finding in one sentence.",
                {"a number of ours": 0.5},
                (wide, texts) if n == 2 else (),
                (Figure(claim_id.replace("/", "-"), "A picture.", svg),) if n in {2, 3} else (),
                record.part("generate")("tiny", n) if n == 2 else None,
                proof="A proof.\n\nIn two parts.",
            )
            found.append((claim, finding))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if CHROMIUM is None:
        pytest.skip("needs chromium")
    out, found = tmp_path_factory.mktemp("site"), results()
    for claim, finding in found:
        write_files(out, claim, finding, Context("quick"))
    players, known = policy_table(), list_oracles()
    write_report(out, found, mode="quick", seed=0, facts={}, policies=players, oracles=known, papers=papers())
    figures = [figure for _, finding in found for figure in finding.figures]
    tables = [table for _, finding in found for table in finding.tables]
    told = ["The optimum: the best schedule."], figures[0], tables[:2], tables[0], tables[2:4]
    board = Shown("admission", *told, {"dorm": "it is slow"}, {"PAI": "no folder"})
    write_leaderboard(out, [board])
    return out


def ask(folder: Path, pages: list[str], widths: tuple[int, ...], *options: str) -> list[dict[str, Any]]:
    """Return what copies of pages tell of themselves at some widths, with axe where that is installed."""
    rules = AXE.read_text("utf-8") if AXE.is_file() else ""
    added = f"<script>{rules}</script><script>{MEASURE}</script></body>"
    for page in pages:
        text = (folder / page).read_text("utf-8")
        (folder / f"told-{page}").write_text(text.replace("</body>", added), "utf-8")
    frames = [f'<iframe src="told-{page}" style="width:{w}px"></iframe>' for page in pages for w in widths]
    holder = folder / "holder.html"
    holder.write_text(f"<!DOCTYPE html><pre></pre><script>{HOLD}</script>{''.join(frames)}", "utf-8")
    command = [str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1700,900"]
    command += ["--virtual-time-budget=30000", *options, "--dump-dom", holder.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    told = re.search("<pre>(.*?)</pre>", done.stdout, re.DOTALL)
    assert told is not None
    found: list[dict[str, Any]] = json.loads(html.unescape(told[1]))
    assert len(found) == len(frames)
    return found


@pytest.fixture(scope="module")
def told(folder: Path) -> list[dict[str, Any]]:
    return ask(folder, ["index.html", "allocation.html", "admission.html", "leaderboard.html"], WIDTHS)


def test_nothing_is_cut_off_and_no_table_scrolls_where_there_is_room(told: list[dict[str, Any]]) -> None:
    for one in told:
        assert one["width"] in WIDTHS
        assert one["body"] <= one["width"], one["beyond"]
        assert one["scrolled"] == 0 or one["width"] < 1280, one


def test_letters_in_figures_are_large_enough_on_a_phone(told: list[dict[str, Any]]) -> None:
    letters = [one["letters"] for one in told if one["width"] == 360 and one["page"] != "told-index.html"]
    assert letters
    assert min(letters) >= 9.0


def test_the_content_is_near(told: list[dict[str, Any]]) -> None:
    assert all(0 < one["stops"] <= 150 for one in told)


def test_the_filters_leave_what_fits(told: list[dict[str, Any]]) -> None:
    many, verdicts = len(OURS), len(Verdict)
    wanted = [many * verdicts, many, 1, verdicts, 1, 0, 0, 0, many, many * verdicts]
    filtered = [one["filtered"] for one in told if "filtered" in one]
    assert filtered == [wanted] * len(WIDTHS)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_rules_of_accessibility_find_nothing(
    folder: Path, told: list[dict[str, Any]], scheme: str
) -> None:
    if not AXE.is_file():
        pytest.skip("needs axe-core: CLAIRVOYANT_AXE names its axe.min.js")
    if scheme == "dark":
        dark = "--blink-settings=preferredColorScheme=0"
        told = ask(folder, ["index.html", "selection.html"], (360,), dark)
    found = {one["page"]: one["faults"] for one in told if one["width"] == 360}
    assert len(found) > 1
    assert all(faults == [] for faults in found.values()), found
