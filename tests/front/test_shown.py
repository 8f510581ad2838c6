"""What instances, optima and runs show of themselves: a few lines, and a small table in a notebook."""

import dataclasses
import re
from html.parser import HTMLParser
from typing import Any

import pytest

import clairvoyant as cv
from clairvoyant import api
from clairvoyant.models.base import Origin
from clairvoyant.problems import OURS


class Cells(HTMLParser):
    """The caption and the cells of a table."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.texts = set[str](), list[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        assert all(name in {"style", "scope"} for name, _ in attrs)
        assert dict(attrs).get("style", "") in {"", "text-align: left", "color: inherit"}  # no colours

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def check(shown: Any, digest: str) -> list[str]:
    lines: list[str] = shown.summary().splitlines()
    assert 3 <= len(lines) <= 6
    assert lines[-1].endswith(f": {digest}")
    table = Cells(shown._repr_html_())
    assert table.tags == {"table", "caption", "tbody", "tr", "th", "td"}
    head, *cells = table.texts
    assert [head, *(f"  {a}: {b}" for a, b in zip(cells[::2], cells[1::2], strict=True))] == lines
    return lines


@pytest.mark.parametrize("problem", [problem.name for problem in OURS])
def test_every_problem_shows_the_result_first_and_the_digest_last(problem: str) -> None:
    instance = api.generate(problem, "tiny", 1)
    head, *_ = check(instance, instance.digest())
    assert head.startswith(f"{problem}: ")
    optimum = cv.solve(instance, time_limit=20)
    head, below, *_ = check(optimum, instance.digest())
    unit = f" {instance.unit}" if instance.unit else ""
    assert re.fullmatch(rf"optimum [\d,.]+{unit}", head)
    assert re.match(
        rf"  bound: nothing is {'below' if instance.minimised else 'above'} [\d,.]+{unit} ", below
    )
    run = cv.play(next(iter(cv.list_policies(problem))), instance, seed=3)
    head, below, *_ = check(run, instance.digest())
    assert re.fullmatch(rf"{re.escape(run.policy)}: total -?[\d,.]+{unit}", head)
    assert below.endswith("less is better") is instance.minimised


def test_what_is_not_proved_or_not_feasible_is_said() -> None:
    instance = cv.generate("allocation", "tiny", 1, slots=0)
    optimum, run = cv.solve(instance), cv.play("drf", instance)
    assert "nothing is proved" in dataclasses.replace(optimum, bound=None).summary()
    assert "2 decisions, so the total means nothing" in dataclasses.replace(run, infeasible=2).summary()
    assert "0 events" in run.summary()
    bare = dataclasses.replace(optimum, digest="", problem="", oracle="")
    assert bare.summary().splitlines()[0] == "optimum 0"


def test_names_of_strangers_are_escaped() -> None:
    instance = cv.generate("allocation", "tiny", 1)
    evil = "<script>alert(1)</script> & more"
    instance.origin = Origin(evil)
    run = dataclasses.replace(cv.play("drf", instance), policy=evil)
    for shown in (instance, run):
        check(shown, instance.digest())
        assert evil in shown.summary()
        assert "<script>" not in shown._repr_html_()
