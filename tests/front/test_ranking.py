"""``cv.leaderboard`` and ``clairvoyant leaderboard``: shares of the optimum, groups, and the page."""

from __future__ import annotations

import dataclasses
import html
import itertools
import math
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import Rectangle

import clairvoyant as cv
from clairvoyant import api, problems, ranking
from clairvoyant.analysis.report import write_leaderboard
from clairvoyant.analysis.stage import Family, Stage
from clairvoyant.analysis.statistics import mean_interval
from clairvoyant.comparing import Comparison

Run = Callable[..., Any]  # of tests/front/conftest.py
SEEDS = range(3)
TINY: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "allocation": (("ogasched", "hedge", "fairness", "slot-optimum"), {"size": "tiny"}),
    "admission": (("oasis", "fifo", "drf", "rrh"), {"size": "tiny"}),
    "placement": (("fifo-firstfit", "mosa", "sjf-consolidate"), {"size": "tiny", "jobs": 4}),
}
STAGES = {
    name: one.part("leaderboard") for name, one in problems.problems().items() if one.has("leaderboard")
}


def stage(problem: str, **more: Any) -> Stage:
    """Return a stage of two small families on which a few policies play."""
    players, options = TINY[problem]
    families = []
    for name, each in (("first", None), ("second", ("seed", (7,)))):
        seeds = SEEDS if each is None else each[1]
        made = [api.generate(problem, seed=seed, **options).digest()[:12] for seed in seeds]
        families.append(Family(name, options, made, each))
    others = {name: "not here" for name in problems.players(problem) if name not in players}
    return Stage(families, without=others, **more)


@pytest.fixture
def staged(monkeypatch: pytest.MonkeyPatch, compared_here: list[str]) -> Callable[..., list[str]]:
    """Return what puts a small stage in the place of a problem's; what is computed then is listed."""

    def put(problem: str, here: Stage | None = None) -> list[str]:
        where = f"clairvoyant.analysis.{problem}.stage.STAGE"
        monkeypatch.setattr(where, stage(problem) if here is None else here)
        return compared_here

    return put


@pytest.mark.parametrize("problem", TINY)
def test_a_share_is_what_play_and_solve_give(problem: str, staged: Callable[..., Any]) -> None:
    staged(problem)
    board = cv.leaderboard(problem)
    frame, told = board.to_frame(), board.summary().set_index("policy")
    assert set(frame["family"]) == {"first", "second"}
    shares: dict[str, dict[str, list[float]]] = {}
    for (name, policy), part in frame.groupby(["instance", "policy"]):
        instance = api.generate(problem, seed=int(str(name).split()[-1]), **TINY[problem][1])
        best, runs = cv.solve(instance), [cv.play(str(policy), instance, seed) for seed in part["seed"]]
        assert best.bound is not None
        sides = [(r.total, best.bound) for r in runs], [(r.total, best.value) for r in runs]
        if type(instance).minimised:
            sides = [(b, a) for a, b in sides[0]], [(b, a) for a, b in sides[1]]
        low, high = (float(np.mean([a / b for a, b in side])) for side in sides)
        assert part["low"].mean() == pytest.approx(low)
        assert part["high"].mean() == pytest.approx(high)
        assert low <= high * (1 + 1e-9)
        shares.setdefault(str(policy), {})[str(name)] = [low, high]
    for policy, by_instance in shares.items():
        assert told.loc[policy, "low"] == pytest.approx(np.mean([low for low, _ in by_instance.values()]))
        assert told.loc[policy, "high"] == pytest.approx(np.mean([high for _, high in by_instance.values()]))
        assert told.loc[policy, "family.second"] == pytest.approx(by_instance["second, seed 7"][0])
    for _, group in told.groupby("group"):
        assert group["low"].is_monotonic_decreasing
        first = group.index[0]
        assert math.isnan(group["behind"][first])
        for policy in group.index[1:]:
            differences = [shares[first][name][0] - shares[policy][name][0] for name in shares[policy]]
            wanted = mean_interval(differences)
            assert tuple(group.loc[policy, ["behind", "from", "to"]]) == pytest.approx(wanted)
            assert 0.0 <= group["p"][policy] <= 1.0


def test_who_sees_more_stands_apart(staged: Callable[..., Any]) -> None:
    staged("allocation")
    board = cv.leaderboard("allocation", ["ogasched:step=decay"])
    told = board.summary()
    groups = {group: {*part["policy"]} for group, part in told.groupby("group", sort=False)}
    assert groups == {
        "see what all see": {"ogasched", "hedge", "ogasched:step=decay"},
        "also see the arrivals of the slot": {"fairness", "slot-optimum"},
    }
    assert "ogasched-printed" in board.left_out
    ticks = [label.get_text() for label in board.plot().get_yticklabels()]
    assert ticks == [
        "see what all see",
        *told["policy"][:3],
        "also see the arrivals of the slot",
        *told["policy"][3:],
    ]
    assert "Leaderboard of allocation" in repr(board)
    assert "<table" in board._repr_html_()


def test_one_of_ones_own_plays_beside_them(staged: Callable[..., Any]) -> None:
    class Nobody:
        name = "nobody"
        traits = cv.Traits(problem="allocation")

        def start(self, setting: Any, rng: Any) -> None:
            self._shape = setting.shape

        def decide(self, observation: Any) -> np.ndarray:
            return np.zeros(self._shape)

    staged("allocation")
    told = cv.leaderboard("allocation", [Nobody()]).summary()
    last = told[told["group"] == "see what all see"].iloc[-1]
    assert (last["policy"], last["low"], last["high"]) == ("nobody", 0.0, 0.0)


def test_who_is_infeasible_somewhere_is_last_and_moves_nobody(staged: Callable[..., Any]) -> None:
    """A mean over what is left would put first who fails where little can be had."""
    staged("admission")
    board = cv.leaderboard("admission")
    frame, before = board.comparison.to_frame(), board.summary().set_index("policy")
    group = before["group"].value_counts().idxmax()
    here = before[before["group"] == group]
    lost = ["optimum_value", "optimum_bound", "low", "high"]
    for broken, first in itertools.product(here.index, (False, True)):
        place = frame["policy"].eq(broken) & frame["instance"].eq(frame["instance"][0])
        place &= ~frame.duplicated(["policy", "instance"]) if first else True  # or of all of its seeds
        spoilt = frame.assign(infeasible=place.astype(int))
        spoilt.loc[place, lost] = math.nan
        comparison = dataclasses.replace(board.comparison, frame=spoilt)
        told = dataclasses.replace(board, comparison=comparison).summary().set_index("policy")
        now, others = told[told["group"] == group], here.index.drop(broken)
        assert [*now.index] == [*others, broken]
        assert now.loc[broken, ["low", "high", "behind", "p", "family.first"]].isna().all()
        assert (now.loc[broken, "infeasible"], now["infeasible"].sum()) == (place.sum(), place.sum())
        assert now["behind"].notna().tolist() == [False, *[True] * (len(here) - 2), False]
        assert now["low"][others].equals(here["low"][others])


def test_one_policy_is_a_list_of_one_everywhere(staged: Callable[..., Any]) -> None:
    staged("allocation")
    text, labelled = "ogasched:step=decay", {"mine": "ogasched:step=decay"}
    shares = [
        cv.leaderboard("allocation", some).summary().set_index("policy")["low"]
        for some in (text, [text], api.make_policy(text), labelled)
    ]
    assert all(share.equals(shares[0]) for share in shares[:3])
    assert shares[3]["mine"] == shares[0][text]
    instance = api.generate("allocation", "tiny", 0)
    totals = {cv.compare(instance, one).frame["total"][0] for one in (text, [text], api.make_policy(text))}
    assert len(totals) == 1
    with pytest.raises(cv.InputError, match="policies: 'hedge' is on the board already"):
        cv.leaderboard("allocation", "hedge")
    with pytest.raises(cv.InputError, match="policies: int is no policy, nor several of them"):
        cv.leaderboard("allocation", 3)  # type: ignore[arg-type]


def test_the_board_says_who_was_infeasible(staged: Callable[..., Any]) -> None:
    staged("allocation")
    board = cv.leaderboard("allocation", "ogasched-printed")
    why = r"[\d,]+ infeasible decisions, so its shares mean nothing"
    assert re.fullmatch(why, board.left_out["ogasched-printed"])
    assert board.summary().groupby("group")["policy"].last()["see what all see"] == "ogasched-printed"


def test_the_ends_of_a_negative_share_are_in_order() -> None:
    told = {"instance": "a", "policy": "p", "total": -2.0, "optimum_value": 5.0, "optimum_bound": 10.0}
    frame = pd.DataFrame([told | dict.fromkeys(("low", "high"), math.nan)])
    board = ranking.Leaderboard("admission", Comparison("admission", "", "", frame), {"a": "f"}, {}, {}, {})
    assert board.to_frame()[["low", "high"]].to_numpy().tolist() == [[-0.4, -0.2]]


def test_what_earns_nothing_beside_nothing_has_no_share(staged: Callable[..., Any]) -> None:
    options: dict[str, Any] = {"size": "tiny", "jobs": 0}
    digests = [api.generate("admission", seed=seed, **options).digest() for seed in SEEDS]
    staged("admission", dataclasses.replace(stage("admission"), families=[Family("empty", options, digests)]))
    board = cv.leaderboard("admission")
    told = board.summary()
    assert told[["low", "high", "behind", "from", "to", "p"]].isna().all(axis=None)
    assert len(board.shown().tables) == told["group"].nunique()


def test_another_instance_than_the_board_means_is_refused(staged: Callable[..., Any]) -> None:
    here = stage("admission")
    wrong = dataclasses.replace(here.families[0], digests=[*here.families[0].digests[:2], "0" * 12])
    staged("admission", dataclasses.replace(here, families=[wrong]))
    with pytest.raises(
        cv.ClairvoyantError, match=r"first, seed 2: digest [0-9a-f]+ does not begin with 0{12}"
    ):
        cv.leaderboard("admission")


def test_who_plays_in_one_family_has_a_share_there_and_no_rank(staged: Callable[..., Any]) -> None:
    here = stage("admission")
    staged("admission", dataclasses.replace(here, only={"drf": ("first", "it is slow")}))
    board = cv.leaderboard("admission")
    frame, told = board.to_frame(), board.summary().set_index("policy")
    assert set(frame.loc[frame["policy"] == "drf", "family"]) == {"first"}
    assert set(frame.loc[frame["policy"] == "fifo", "family"]) == {"first", "second"}
    assert board.left_out["drf"] == "it plays in the family 'first' alone: it is slow"
    group = told[told["group"] == told["group"]["drf"]]
    assert group.index[-1] == "drf"
    assert group.loc["drf", ["low", "high", "behind", "p", "family.second"]].isna().all()
    assert group.drop(index="drf")["low"].notna().all()
    alone = frame[frame["policy"] == "drf"]["low"].mean()
    assert group["family.first"]["drf"] == pytest.approx(alone)
    assert set(told.index) - {*board.ranked()["policy"]} == {"drf"}
    assert "drf" not in [label.get_text() for label in board.plot().get_yticklabels()]
    page = board.shown()
    assert "drf" not in [row[0] for table in page.tables for row in table.rows]
    assert page.left_out["drf"] == f"{board.left_out['drf']}; its share there is {100 * alone:.2f} %"


def board_of(shares: Mapping[str, list[float]], problem: str = "allocation") -> ranking.Leaderboard:
    """Return a board on which policies have these shares of the optimum, instance by instance."""
    rows = [
        {"instance": f"f, seed {i}", "policy": name, "total": share, "events": 1, "seconds": 1e-3}
        for name, some in shares.items()
        for i, share in enumerate(some)
    ]
    frame = pd.DataFrame(rows).assign(optimum_value=1.0, optimum_bound=1.0, low=0.0, high=0.0, infeasible=0)
    made = {f"f, seed {i}": api.generate(problem, size="tiny", seed=i) for i in range(8)}
    sees = {name: frozenset({"arrivals"} if name.startswith("s") else ()) for name in shares}
    return ranking.Leaderboard(
        problem, Comparison(problem, "", "", frame), dict.fromkeys(made, "f"), sees, {}, made
    )


def test_the_page_tells_who_may_be_as_good_as_the_first() -> None:
    base = [0.9 + 0.001 * i for i in range(8)]
    close = [one + (-1) ** i * 0.01 * i - 0.001 for i, one in enumerate(base)]
    board = board_of({"hedge": base, "ogasched": close, "follow-leader": [one - 4e-5 for one in base]})
    rows = {row[0]: row for row in board.shown().tables[0].rows}
    assert {name: row[7] for name, row in rows.items()} == {
        "hedge": None,
        "ogasched": "no",
        "follow-leader": "yes",
    }
    assert [str(one) for one in rows["follow-leader"][3:7]] == ["0.004", "0.004", "0.004", "0.0157"]
    assert str(rows["hedge"][1]) == "90.35"
    bars = [bar for bar in board.plot().patches[::2] if isinstance(bar, Rectangle)]
    faint = {round(bar.get_bbox().y0 + 0.35): bar.get_alpha() for bar in bars}
    assert [faint[list(rows).index(name)] for name in ("hedge", "ogasched", "follow-leader")] == [
        1.0,
        1.0,
        0.35,
    ]


def test_all_pictures_have_the_same_axis() -> None:
    ends = [board_of({"hedge": [share] * 8}).plot().get_xlim() for share in (0.3, 0.998, 1.18)]
    assert ends == [(0.0, ranking.MOST)] * 3
    assert board_of({"hedge": [1.5] * 8}).plot().get_xlim()[1] == 150.0


def test_more_than_all_is_explained_by_what_is_proven() -> None:
    told = " ".join(board_of({"slot-optimum": [1.2] * 8, "hedge": [0.9] * 8}).shown().about)
    assert "More than 100 % is no error: the optimum is the best allocation to hold in every slot" in told
    assert "Of ``slot-optimum`` (ours: the per-slot optimum" in told
    assert "is proven: reward of every slot >=" in told
    assert "``hedge``" not in told
    assert "100 %" not in " ".join(board_of({"spreading": [0.9] * 8}).shown().about)
    assert "100 %" not in " ".join(board_of({"escb": [1.2] * 8}, "selection").shown().about)  # an error there


def test_p_is_below_the_level_where_it_is_said_to_be() -> None:
    told = [ranking._rounded_up(p) for p in (0.04999, 0.05, 0.0123456, math.nextafter(0.05, 0.0))]
    assert [str(one) for one in told[:3]] == ["0.049990", "0.0501", "0.0124"]
    assert told[3] < ranking.LEVEL


def test_a_bar_ends_at_what_is_certified_and_its_outline_at_what_is_possible() -> None:
    board = board_of({"hedge": [0.5] * 8})
    frame = board.comparison.frame.assign(optimum_bound=2.0)
    told = dataclasses.replace(board, comparison=dataclasses.replace(board.comparison, frame=frame))
    bar, outline = told.plot().patches
    assert isinstance(bar, Rectangle)
    assert isinstance(outline, Rectangle)
    assert (bar.get_width(), outline.get_x(), outline.get_width()) == (25.0, 25.0, 25.0)
    assert [str(cell) for cell in told.shown().tables[0].rows[0][1:3]] == ["25.00", "50.00"]


def test_the_page_says_what_is_ranked_and_on_what(staged: Callable[..., Any]) -> None:
    staged("placement", stage("placement", time_limit=5.0, total="cost with {gpu_weight:g} a GPU"))
    page = cv.leaderboard("placement").shown()
    told = " ".join(page.about)
    assert "Ranked by the optimum / the total. The total is cost with 0 a GPU." in told
    assert "known in advance; sought for at most 5 s an instance." in told
    assert "All policies see before they decide: the jobs that wait" in told
    assert [row[:2] for row in page.families.rows] == [
        ("first", "3, seed 0 to 2"),
        ("second", "1, seed 7"),
    ]
    assert page.families.rows[0][2:] == (
        "jobs 4, machines 2, GPUs 8, largest gang 4 to 6",
        "size=tiny, jobs=4",
    )
    assert {row[0] for row in page.folded[0].rows} == set(TINY["placement"][0])
    assert len(page.folded[1].rows) == 4


def test_the_page_says_in_words_what_each_policy_sees(staged: Callable[..., Any]) -> None:
    staged("admission")
    (policies, _) = cv.leaderboard("admission").shown().folded
    seen = {row[0]: row[2] for row in policies.rows}
    assert seen == dict.fromkeys(seen, "nothing") | {"oasis": "the announced price range"}


def test_the_page_says_whether_traces_are_played(staged: Callable[..., Any], tmp_path: Path) -> None:
    here = stage("allocation")
    far = Family("far", {}, ("0" * 12,), trace=True)
    staged("allocation", dataclasses.replace(here, families=[*here.families, far]))
    page = cv.leaderboard("allocation").shown()
    missing = "no folder of traces is given"
    assert (page.traces, "far" in page.left_out) == ({"far": missing}, False)
    for traces, told in (
        ({"far": missing}, f"here without those of public traces (far (allocation): {missing}), and is"),
        ({"far": ""}, "here with those of public traces (far (allocation)), and is ranked"),
        (
            {"far": "", "near": "gone"},
            "(far (allocation)), here without those of public traces (near (allocation): gone), and is",
        ),
    ):
        text = write_leaderboard(tmp_path, [page._replace(traces=traces)]).read_text("utf-8")
        assert told in text


@pytest.mark.parametrize("problem", STAGES)
def test_every_board_says_what_a_total_is_and_what_is_seen(problem: str) -> None:
    assert STAGES[problem].total
    named = {part for kind in problems.players(problem).values() for part in kind.traits.sees}
    assert named <= set(problems.find(problem).sight)
    assert problems.find(problem).sight[""]


def test_gangs_have_boards_of_their_own() -> None:
    assert {"allocation-gang", "selection-gang"} <= set(STAGES)
    for problem in ("allocation-gang", "selection-gang"):
        assert not STAGES[problem].without
        for name in problems.players(problem):
            assert api.make_policy(name, problem).traits.feasible


def test_what_has_no_stage_has_no_board(monkeypatch: pytest.MonkeyPatch) -> None:
    none = dataclasses.replace(problems.find("selection-gang"), leaderboard=None)
    monkeypatch.setattr("clairvoyant.ranking.find", lambda _: none)
    with pytest.raises(cv.InputError, match="'selection-gang' has no leaderboard"):
        cv.leaderboard("selection-gang")


@pytest.mark.parametrize("problem", STAGES)
def test_traces_have_to_be_a_folder_whether_a_family_needs_them_or_not(problem: str, tmp_path: Path) -> None:
    with pytest.raises(cv.InputError, match=r"traces: .*nowhere: no such folder"):
        cv.leaderboard(problem, traces=tmp_path / "nowhere")


@pytest.mark.parametrize(("problem", "here"), STAGES.items())
def test_the_instances_are_those_of_the_recipes(problem: str, here: Stage) -> None:
    traces = os.environ.get("CLAIRVOYANT_TRACES")
    for family in here.families:
        assert len(family.digests) >= 5
        for _, options, digest in [*family.recipes()][:: 1 if problem != "allocation" else 4]:
            if not family.trace:
                assert api.generate(problem, **options).digest().startswith(digest)
            elif traces:
                assert api.from_trace(problem, traces, **options).digest().startswith(digest)
    known: Mapping[str, Any] = problems.players(problem)
    assert set(here.without) | set(here.only) <= set(known)
    assert {family for family, _ in here.only.values()} <= {family.name for family in here.families}
    for spec in here.also:
        api.make_policy(spec, problem)


class TestCommand:
    def test_ranks_and_writes_the_page(self, run: Run, tmp_path: Path, staged: Callable[..., Any]) -> None:
        ran = staged("admission")
        command = ("leaderboard", "--problem", "admission", "--store", tmp_path / "store.sqlite")
        found = run(*command, "--out", tmp_path / "reports")
        assert found.status == 0, found.err
        assert "admission: policies that also see the announced price range" in found.out
        assert "left out: dorm: not here" in found.out
        page = (tmp_path / "reports/leaderboard.html").read_text("utf-8")
        assert "<svg" in page
        assert "public traces" not in page
        assert re.search(r'<td class="number">\d+\.\d\d</td>', page)
        assert page.count("<summary>") == 2
        assert 'href="index.html"' not in page
        assert "To reproduce these pages: <code>clairvoyant leaderboard --problem admission</code>" in page
        assert (tmp_path / "reports/leaderboard-admission.csv").read_text("utf-8").count("\n") > 20
        assert ran
        ran.clear()
        again = run(*command, "--out", tmp_path / "reports", "--json")
        assert ran == []
        assert again.status == 0
        rows = again.json["leaderboards"]["admission"]
        assert {row["policy"] for row in rows} == {"oasis", "fifo", "drf", "rrh"}
        assert (tmp_path / "reports/leaderboard.html").read_text("utf-8") == page

    def test_a_page_is_made_again_by_its_command(
        self, run: Run, tmp_path: Path, staged: Callable[..., Any]
    ) -> None:
        staged("admission")
        (tmp_path / "my traces").mkdir()
        given = ("--policy", "fifo:workers=2", "--traces", tmp_path / "my traces")
        found = run("leaderboard", "--problem", "admission", *given, "--out", tmp_path)
        assert found.status == 0, found.err
        page = html.unescape((tmp_path / "leaderboard.html").read_text("utf-8"))
        wanted = f"--problem admission --policy fifo:workers=2 --traces '{tmp_path}/my traces'</code>"
        assert f"<code>clairvoyant leaderboard {wanted}" in page

    def test_a_policy_needs_a_problem(self, run: Run, tmp_path: Path) -> None:
        found = run("leaderboard", "--policy", "fifo", "--out", tmp_path)
        assert (found.status, found.out) == (2, "")
        assert "--policy needs one --problem" in found.err

    def test_no_problem_of_that_name(self, run: Run, tmp_path: Path) -> None:
        found = run("leaderboard", "--problem", "admision", "--out", tmp_path)
        assert found.status == 2
        assert "did you mean 'admission'" in found.err
