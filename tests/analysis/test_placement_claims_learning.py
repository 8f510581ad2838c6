"""Claims about trained networks: what they are made of, and that they never say more than the runs do.

They play files that are written here, of networks that never learned: no test depends on how well the shipped
ones do.
"""

import json
import os
import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from clairvoyant.analysis import claim as claims
from clairvoyant.analysis.claim import Claim, Context, Finding, Verdict, Why
from clairvoyant.analysis.placement import experiments
from clairvoyant.analysis.placement.claims import learned, learned_cases, model, trained
from clairvoyant.analysis.placement.claims.trained import PAPER_JOBS, Group
from clairvoyant.analysis.placement.experiments import (
    FIFO_C,
    FIFO_FF,
    JCT,
    Setup,
    outcome,
)
from clairvoyant.analysis.study import judge
from clairvoyant.api import audit
from clairvoyant.models.base import InputError
from clairvoyant.online.placement.learned import checkpoint, policies
from clairvoyant.online.placement.learned.design import DESIGNS, Design
from clairvoyant.online.placement.learned.plan import MOST_INSTANCES, TEST, VALIDATION
from clairvoyant.online.placement.learned.weights import initial

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="runs take minutes where kernels run as plain Python"
)

ALL = [*learned.claim.claims, *learned_cases.claim.claims]
BY_ID = {one.id.removeprefix("placement/"): one for one in ALL}

CAPACITY = replace(DESIGNS["da-mc"], features="capacity", prior="consolidate")
LINEAR = Design(ordering="linear", placement="linear", features="capacity", prior="patient", holds=True)
FILES = {
    **{name: DESIGNS[name] for name in ("da", "da-mc", "da-rwgp", "das", "dl2", "rifling")},
    "clone-ppo": DESIGNS["da-mc"],
    **dict.fromkeys(
        ("das-literal", "das-literal-long", "das-outcomes", "das-settings-hours"), DESIGNS["das"]
    ),
    "evolved": LINEAR,
    "evolved-estimates": replace(LINEAR, features="estimates", prior="estimates"),
    "da-mc-capacity": CAPACITY,
    "da-mc-estimates": replace(CAPACITY, features="estimates"),
    "da-mc-prior": replace(DESIGNS["da-mc"], prior="consolidate"),
    "da-mc-printed": DESIGNS["da-mc"],
    **{f"da-mc-{what}": DESIGNS["da-mc"] for what in ("long", "wide", "features", "patient", "optima")},
    **{f"{name}-settings": DESIGNS[name] for name in trained.ABLATIONS},
    **{f"{name}-loaded": DESIGNS[name] for name in trained.PAPER},
    **{f"das-h{heads}": replace(DESIGNS["das"], heads=heads) for heads in (1, 2, 8)},
    **{f"das-t{tau}": replace(DESIGNS["das"], history=tau) for tau in (4, 6, 10)},
}
MEMBERS = 2


def write(folder: Path, name: str, member: int, design: Design) -> None:
    """Write networks that never learned."""
    networks = initial(design, 1000 * member + sum(map(ord, name)))
    content = {"design": design.to_dict(), "actor": networks.arrays}
    checkpoint.write(folder / f"{name}-{member}.npz", content)


def test_longer_trainings_are_one_more_reading_of_those_that_have_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = {"das-settings": 5, "da-settings": 5, "das-settings-long": 2, "das-settings-hours": 2}
    monkeypatch.setattr(policies, "members", lambda name: [*range(kept.get(name, 0))])
    printed = "settings of Appendix D"
    assert trained.by_settings(["das", "dl2", "fifo-consolidate"]) == {
        "our settings": {},
        printed: {"das": "das-settings"},
        f"{printed}, 60 passes": {"das": "das-settings-long"},
        f"{printed}, 150 passes": {"das": "das-settings-hours"},
    }
    assert [*trained.by_settings(["das", "da"])] == ["our settings", printed]  # the others learned from less
    kept["da-settings-long"] = 2
    assert [*trained.by_settings(["das", "da"])] == ["our settings", printed, f"{printed}, 60 passes"]
    kept["da-settings"] = 1
    assert [*trained.by_settings(["das", "da"])] == ["our settings"]


def test_designs_of_the_paper_were_trained_at_two_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"das-loaded-long": 1}
    monkeypatch.setattr(policies, "members", lambda name: [*range(kept.get(name, 0))])
    names, loaded = ["das", "dl2", "fifo-consolidate"], {"das": "das-loaded", "dl2": "dl2-loaded"}
    known = {"trained at rho 0.8": {}, "at rho 2": loaded}
    assert trained.by_load(names) == known
    kept["das-loaded-long"] = 2
    long = loaded | {"das": "das-loaded-long"}
    assert trained.by_load(names) == {**known, "at rho 2, for longer": long}
    assert [*trained.by_load(["das", "da"])] == [*known]  # which would have learned from less
    kept["da-loaded-long"] = 2
    assert len(trained.by_load(["das", "da"])) == 3


def test_all_of_figure_5_learn_from_as_many_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"das-long": 2, "rifling-long": 2, "das-t4-long": 1}
    monkeypatch.setattr(policies, "members", lambda name: [*range(kept.get(name, 0))])
    few: dict[str, dict[str, str]] = {"96,000 jobs": {}}
    names = ["das", "das-t4", "rifling", FIFO, "das"]
    assert trained.by_jobs(names) == few  # one of them has not enough
    kept["das-t4-long"] = 2
    longer = {"das": "das-long", "das-t4": "das-t4-long", "rifling": "rifling-long"}
    assert trained.by_jobs(names) == {**few, "384,000 jobs": longer}


def test_curves_of_figure_5_have_colours_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that begin with that of DAS would all have its colour."""
    shown: list[str] = []
    monkeypatch.setattr(learned, "plot_bands", lambda _ax, _x, curves, **_options: shown.extend(curves))
    curve = np.array([np.arange(1.0, 50.0), np.ones(49)])
    (figure,) = learned.plot_learning({name: [curve, curve] for name in learned.LONGER})
    assert "longer, our settings" in figure.caption
    assert sorted(shown) == ["das", "h1", "h2", "h8", "rifling", "t10", "t4", "t6"]


def test_cases_are_shown_to_networks_of_all_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"das": 5, "das-settings": 5, "das-settings-hours": 2, "das-loaded": 3, "das-long": 2, "da": 5}
    monkeypatch.setattr(policies, "members", lambda name: [*range(kept.get(name, 0))])
    every = ["das", "das-settings", "das-settings-hours", "das-long", "das-loaded"]
    assert trained.readings_of("das") == every
    shown = trained.with_networks("da", "das", readings=True)
    monkeypatch.setattr(trained, "trained", lambda name, _context: Group(name, ()))
    found = shown(lambda _context, *of: Finding(Verdict.HOLDS, ", ".join(one.label for one in of)))
    few = found(Context("quick")).remark
    assert (
        few == f"There are too few networks of {', '.join(f'{n} (0)' for n in ['da', 'da-loaded', *every])}."
    )


def test_readings_say_from_how_many_jobs_the_networks_of_the_package_learned() -> None:
    known = trained.records()
    jobs = {name.rpartition("-")[0]: of["jobs"] for name, of in known.items()}
    for name in {*learned.HEADS, *learned.TAUS, "rifling"}:
        readings = trained.by_jobs([name])
        for (says, by), many in zip(readings.items(), (96_000, 384_000), strict=True):
            assert says == f"{many:,} jobs"
            assert jobs[by.get(name, name)] == many


def record(folder: Path, curves: Mapping[str, Any], jobs: int = 2 * PAPER_JOBS) -> None:
    """Put trainings on record."""
    told = {name: {"jobs": jobs, "curve": np.transpose(curve).tolist()} for name, curve in curves.items()}
    (folder / "curves.json").write_text(json.dumps(told), encoding="utf-8")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with networks of all names."""
    folder = tmp_path_factory.mktemp("networks")
    for name, design in FILES.items():
        for member in range(MEMBERS):
            write(folder, name, member, design)
    names = [f"{name}-{member}" for name in ("das", "da", "das-settings") for member in range(MEMBERS)]
    record(folder, {name: ([0, 50, 100 + len(name)], [9, 1, at]) for at, name in enumerate(names)})
    return folder


@pytest.fixture
def shipped(files: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Let those be the networks that come with the package."""
    monkeypatch.setattr(policies, "SHIPPED", files)
    outcome.cache_clear()
    yield files
    outcome.cache_clear()


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no extra be installed, for those who ask."""
    monkeypatch.setattr(claims, "find_spec", lambda _name: None)


def needy(check: Callable[[Context], Finding] = lambda _c: Finding(Verdict.HOLDS, "checked")) -> Claim:
    """Return a claim that needs an extra."""
    return Claim("a/x", "here", "it holds", "look", Verdict.HOLDS, check, extra="rl")


EXACT = {
    "case-affinity": Verdict.UNDETERMINED,
    "decision-time": Verdict.HOLDS,
    "learned-gap": Verdict.HOLDS,
}
"""What comes out whatever the networks have learned."""


@pytest.mark.parametrize("name", BY_ID)
@pytest.mark.usefixtures("shipped")
def test_claim_plays_and_has_the_form_of_a_claim(name: str) -> None:
    told: list[float] = []
    finding = BY_ID[name].find(Context("quick", 0, told.append))
    assert finding.verdict is EXACT.get(name, finding.verdict)
    assert finding.small
    assert finding.faults == []
    for table in finding.tables:
        assert table.rows
        assert all(len(row) == len(table.columns) for row in table.rows)
    assert told[-1] == 1.0
    assert all(a <= b for a, b in pairwise(told))
    assert all(np.isfinite(v) for v in finding.numbers.values() if isinstance(v, (int, float)))
    assert all("<svg" in figure.svg for figure in finding.figures)


def test_claims_have_names_of_their_own_and_need_no_extra() -> None:
    assert len(BY_ID) == len(ALL)
    assert {one.problem for one in ALL} == {"placement"}
    assert {one.extra for one in ALL} == {""}


def test_claims_can_be_sent_to_another_process() -> None:
    assert all(pickle.dumps(one) for one in ALL)


# --- Without networks, and without PyTorch ------------------------------------------------------------------


def test_one_training_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, design in FILES.items():
        write(tmp_path, name, 0, design)
    monkeypatch.setattr(policies, "SHIPPED", tmp_path)
    for one in ALL:
        if one is BY_ID["training-settled"]:
            continue  # it plays nothing
        finding = one.find(Context())
        assert finding.verdict is Verdict.NOT_CHECKABLE
        assert "At least 2 trainings" in finding.headline
        assert one.as_expected(finding) == (one.expected is Verdict.NOT_CHECKABLE)


@pytest.mark.usefixtures("bare")
def test_without_an_extra_the_audit_says_what_to_install(tmp_path: Path) -> None:
    told: list[float] = []
    (both,) = audit(
        catalogue=[needy()], out=tmp_path, workers=1, progress=lambda fraction, _text: told.append(fraction)
    )
    claim, finding = both
    assert finding.verdict is Verdict.NOT_CHECKABLE
    assert 'pip install "clairvoyant[rl]"' in finding.headline
    assert claim.as_expected(finding)
    assert told[-1] == 1.0


def test_what_was_not_checked_without_pytorch_is_checked_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(_context: Context) -> Finding:
        raise RuntimeError("stopped")

    catalogue = [needy(), Claim("a/y", "here", "it stops", "look", Verdict.HOLDS, stop)]
    with monkeypatch.context() as patch:
        patch.setattr(claims, "find_spec", lambda _name: None)
        with pytest.raises(RuntimeError, match="stopped"):
            audit(catalogue=catalogue, out=tmp_path, workers=1)
    (found,) = audit(catalogue=catalogue, claims=["a/x"], out=tmp_path, workers=1)
    assert found[1].verdict is Verdict.HOLDS


def test_with_the_extra_no_other_verdict_is_as_expected() -> None:
    one = needy()
    assert not one.lacks_extra
    assert not one.as_expected(Finding(Verdict.NOT_CHECKABLE, ""))
    assert one.as_expected(Finding(Verdict.HOLDS, ""))


def test_what_small_samples_leave_open_is_no_surprise() -> None:
    one = BY_ID["ladder"]
    assert one.as_expected(Finding(Verdict.NOT_CHECKABLE, "", small=True))
    assert not one.as_expected(Finding(Verdict.NOT_CHECKABLE, ""))
    assert not one.as_expected(Finding(Verdict.HOLDS, "", small=True))


@pytest.mark.usefixtures("bare")
def test_without_the_extra_a_wrong_verdict_is_still_wrong() -> None:
    one = needy()
    assert one.lacks_extra
    assert not one.as_expected(Finding(Verdict.REFUTED, ""))


# --- Playing -----------------------------------------------------------------------------------------------


def test_what_is_not_learned_has_no_networks() -> None:
    with pytest.raises(InputError, match="has no networks"):
        trained.learned(FIFO_C)


@pytest.mark.usefixtures("shipped")
def test_networks_are_found_by_their_whole_name() -> None:
    context = Context("default")
    assert len(trained.trained("da-mc", context)) == MEMBERS
    variant = trained.trained("das-h8", context)
    assert [who.policy for who in variant.members] == ["da-mc"] * MEMBERS
    assert trained.learned(variant.members[0]).networks().design.heads == 8
    assert len(trained.trained("da-mc-nobody", context)) == 0
    assert len(trained.untrained("das", 3)) == 3


# --- Comparing ---------------------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(2, 6))
@settings(max_examples=30, deadline=None)
def test_the_p_of_what_varies_over_two_things_is_that_of_welch(seed: int, m: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=m), rng.normal(1.0, 2.0, size=n)
    welch = stats.ttest_ind(a, b, equal_var=False).pvalue
    assert trained._p_of(a.mean() - b.mean(), a, b) == pytest.approx(welch)
    assert trained._p_of(a.mean(), a) == pytest.approx(stats.ttest_1samp(a, 0.0).pvalue)


def test_what_does_not_vary_is_sure_and_a_single_sample_is_not() -> None:
    assert trained._p_of(1.0, np.ones(3), np.ones(2)) == 0.0
    assert trained._p_of(1.0, np.ones(3), np.ones(1)) == 1.0
    assert trained._p_of(0.0, np.zeros(3)) == 1.0


@pytest.mark.parametrize("ratio", [0.0, 0.5, 1.0, 2.0])
def test_trainings_and_traces_that_vary_alike_are_rarely_told_apart_from_a_rule(ratio: float) -> None:
    """The standard errors over 5 trainings and over 20 traces have such a ratio."""
    rng, false = np.random.default_rng(7), 0
    for _ in range(600):
        ours = rng.normal(size=20) + rng.normal(scale=0.5 * ratio, size=(5, 1))
        false += trained.Versus(ours, np.zeros((1, 20))).p < 0.05
    assert false <= 46  # 30 expected at 5 %; more than 46 has a chance of 0.2 %


def test_trainings_that_differ_by_chance_are_rarely_told_apart() -> None:
    """In families of 40 comparisons of equal designs, whose trainings differ more than the traces do."""
    rng, false = np.random.default_rng(5), 0
    for _ in range(40):
        said = []
        for k in range(40):
            each, traces = rng.normal(scale=5.0, size=(2, 5, 1)), rng.normal(scale=2.0, size=(2, 5, 8))
            both = trained.Versus(*(each + traces))
            said.append(trained.Below(f"{k}", {"": -both.gap.mean(0)}, p={"": both.p}))
        false += any(one.signs != (None,) for one in judge(said))
    assert false <= 6  # 2 expected at 5 %; more than 6 has a chance of 0.3 %


@pytest.mark.parametrize("seed", [0, 999, 1000, 2000, 10**6, 10**9])
def test_no_instance_is_one_that_networks_were_chosen_by(seed: int) -> None:
    found = trained.held_out(Context("full", seed))
    sampled = trained.traces(found)
    for part in (VALIDATION, TEST):
        assert sampled[-1] < part or sampled[0] >= part + MOST_INSTANCES
    assert (found.seed == seed) == (seed < 1000)


def test_comparing_by_hand() -> None:
    ours = np.array([[101.0, 204.0, 103.0], [103.0, 208.0, 105.0]])
    theirs = np.array([[100.0, 202.0, 101.0], [100.0, 198.0, 99.0]])
    found = trained.compare(ours, theirs)
    assert found.gap.mean(1).tolist() == pytest.approx([2.0, 4.0])
    assert found.row("?")[1:] == ["?", "+2.00 to +4.00", "0 of 2"]


@pytest.mark.usefixtures("shipped")
def test_comparing_with_itself_is_no_difference() -> None:
    das = trained.trained("das", Context("quick"))
    one = Group("one", das.members[:1])
    played = trained.values(one, Setup(20), range(3), JCT)
    found = trained.compare(played, played)
    (told,) = judge([trained.Below("", {"": -found.gap.mean(0)}, p={"": found.p})])
    assert told.signs == (False,)
    assert found.row("") == ["+0.00 [+0.00, +0.00]", "", "-", "-"]


def test_a_contest_sets_the_first_of_a_pair_against_the_second() -> None:
    """Policies that search are left out where time is short; their names stand for no networks."""
    ours, theirs = FIFO_C.label, FIFO_FF.label
    context = Context("quick")
    found = trained.contest(context, "Rules", [f"{ours} - {theirs}", f"{theirs} - {ours}", f"{ours} - MOSA"])
    (table,) = found.tables
    assert [row[0] for row in table.rows] == [f"{ours} - {theirs}", f"{theirs} - {ours}"]
    setup, sampled = trained.base_setup(context), trained.traces(context)
    a, b = (
        np.array([outcome(who, setup, seed).measures[JCT] for seed in sampled]) for who in (FIFO_C, FIFO_FF)
    )
    assert abs((a - b).mean()) > 1.0  # minutes: they can be told apart
    assert table.rows[0][1].startswith(f"{float((100.0 * (a - b) / b).mean()):+.2f} ")
    assert table.rows[1][1].startswith(f"{float((100.0 * (b - a) / a).mean()):+.2f} ")


def test_a_contest_without_networks_says_so() -> None:
    found = trained.contest(Context("quick"), "Nobody", [f"da-mc-nobody - {FIFO_C.label}"])
    assert found.verdict is Verdict.NOT_CHECKABLE
    assert found.remark == "There are too few networks of da-mc-nobody (0)."


@pytest.mark.parametrize(
    ("wrong", "brief", "verdict"),
    [
        ("nobody", "", Verdict.HOLDS),
        ("das-settings 1", "", Verdict.UNDETERMINED),
        ("das-settings 1", "das-settings", Verdict.HOLDS),  # which decides nothing
        ("da 0", "", Verdict.HOLDS),
    ],
)
@pytest.mark.parametrize("name", ["case-priority", "case-affinity"])
@pytest.mark.usefixtures("shipped")
def test_a_case_holds_if_it_does_for_all_networks_of_das(
    name: str, wrong: str, brief: str, verdict: Verdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = {made.digest(): (jobs, at < 2) for at, (made, _, *jobs) in enumerate(model.case_6a().values())}

    def case(who: Any, made: Any, _opening: Any) -> tuple[np.ndarray, np.ndarray]:
        right, priorities, affinities = who.label != wrong, np.zeros(9), np.ones((1, 8))
        if made.digest() in busy:
            (_, fits), full = busy[made.digest()]
            priorities[fits] = 1.0 if full or not right else -1.0
        affinities[0, learned_cases.CONTENDING] = 0.0 if right else 2.0
        return priorities, affinities

    monkeypatch.setattr(learned_cases, "case", case)
    monkeypatch.setattr(Group, "brief", property(lambda group: group.label == brief))
    assert BY_ID[name].check(Context("quick")).verdict is verdict


# --- Verdicts ----------------------------------------------------------------------------------------------

FIFO, FIRST = FIFO_C.label, FIFO_FF.label
EVEN = np.array([1.0, -1.0] * 4)  # of 8 traces: the mean is 0, its standard error 0.378
Contest = Callable[..., Finding]


def runs(gap: float, by_trace: float = 0.5, by_training: float = 0.5) -> np.ndarray:
    """Return what four trainings do on eight traces: so many per cent above 100, and how much that varies."""
    return 100.0 + gap + by_training * EVEN[:4, None] + by_trace * EVEN


@pytest.fixture
def contest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Contest:
    """Return a contest in which trainings do what is said; FIFO-Consolidate does 100, FIFO-FirstFit 90."""

    def judge(played: Mapping[str, Any], *pairs: str, brief: str = "", **options: Any) -> Finding:
        for name in played:
            for member in range(MEMBERS):
                write(tmp_path, name, member, DESIGNS[name.split("-")[0]])
        record(tmp_path, {f"{n}-{m}": () for n in played for m in range(MEMBERS) if f"{n}-{m}" != brief})
        known = {FIFO: np.full((1, 8), 100.0), FIRST: np.full((1, 8), 90.0), **played}

        def values(group: Group, setup: Setup, _sampled: object, measure: str) -> Any:
            found = known[group.label]
            return found(setup.rho, measure) if callable(found) else found

        monkeypatch.setattr(policies, "SHIPPED", tmp_path)
        monkeypatch.setattr(experiments, "play_all", lambda *_: None)
        monkeypatch.setattr(trained, "values", values)
        return trained.contest(Context(), "A", pairs, **options)

    return judge


HOLDS, FAILS, OPEN = Verdict.HOLDS, Verdict.NOT_REPRODUCED, Verdict.UNDETERMINED


@pytest.mark.parametrize(
    ("played", "verdict", "why"),
    [
        ({"das": runs(-3)}, HOLDS, None),
        ({"das": runs(3)}, FAILS, None),
        ({"das": np.full((4, 8), 100.0)}, FAILS, None),  # no difference is no lead
        ({"das": runs(-1.02, 1.0, 0.1)}, OPEN, Why.SAMPLES),  # p = 0.03 in both measures: 0.06 after Holm
        ({"das": runs(-1.5, 0.1, 1.0)}, OPEN, Why.SAMPLES),  # only the traces are sure
        ({"das": runs(-3), "das-settings": runs(-3)}, HOLDS, None),
        ({"das": runs(3), "das-settings": runs(3)}, FAILS, None),
        ({"das": runs(-3), "das-settings": runs(3)}, OPEN, Why.DEPENDS),
        ({"das": runs(-3), "das-settings": runs(-0.1)}, OPEN, Why.SAMPLES),
    ],
)
def test_a_verdict_needs_traces_trainings_and_all_settings(
    contest: Contest, played: Mapping[str, Any], verdict: Verdict, why: Why | None
) -> None:
    found = contest(played, f"das - {FIFO}", settings=trained.by_settings)
    assert (found.verdict, found.why) == (verdict, why)
    assert found.faults == []
    assert len(found.tables[0].rows) == len(played)


def test_only_what_the_statement_names_is_judged(contest: Contest) -> None:
    das = {"das": lambda _rho, measure: runs(-3 if measure == JCT else 3)}
    assert contest(das, f"das - {FIFO}").verdict is FAILS
    assert contest(das, f"das - {FIFO}: JCT").verdict is HOLDS
    assert contest(das, f"das - {FIFO}: JCT", f"das - {FIRST}: JCT").verdict is FAILS
    beside = contest(das, f"das - {FIFO}: JCT", beside=[f"das - {FIRST}"])
    assert beside.verdict is HOLDS
    assert [row[2::4] for row in beside.tables[0].rows] == [("below", "-"), ("-", "-")]


def test_what_was_trained_too_briefly_decides_nothing(contest: Contest, tmp_path: Path) -> None:
    alone = contest({"das": runs(3)}, f"das - {FIFO}", brief="das-1")
    assert (alone.verdict, alone.why) == (OPEN, Why.LACKING)
    assert alone.assumes.endswith("so that nothing is decided: das.")
    for gap, verdict in ((-3, OPEN), (3, FAILS)):
        played = {"das": runs(gap), "dl2": runs(20)}
        found = contest(played, f"das - {FIFO}", "das - dl2", brief="dl2-0")
        assert (found.verdict, found.why) == (verdict, Why.SAMPLES if verdict is OPEN else None)
    literal = {"das-literal": runs(3), "das-literal-long": runs(-3)}
    found = contest(literal, f"{trained.LITERAL} - {FIFO}", brief="das-literal-0", settings=trained.by_passes)
    assert (found.verdict, len(found.tables[0].rows)) == (HOLDS, 2)  # the brief ones are only shown
    one = trained.trained("das", Context())
    for jobs, brief in ((PAPER_JOBS, True), (PAPER_JOBS + 1, False)):
        record(tmp_path, {"das-0": (), "das-1": ()}, jobs)
        assert one.brief is brief


@pytest.mark.parametrize(
    ("das", "dl2", "verdict"),
    [(-3, 3, HOLDS), (3, -3, HOLDS), (-0.1, 3, OPEN), (3, -0.1, OPEN), (3, 3, FAILS)],
)
def test_that_one_of_several_is_below_needs_one_of_them(
    contest: Contest, das: float, dl2: float, verdict: Verdict
) -> None:
    found = contest({"das": runs(das), "dl2": runs(dl2)}, f"das - {FIFO}", f"dl2 - {FIFO}", either=True)
    assert found.verdict is verdict
    ahead, behind = ([2 * (gap == sure) for gap in (das, dl2)] for sure in (-3, 3))
    assert found.headline == (
        f"A: surely ahead in {ahead[0]} of 2 (das) and {ahead[1]} of 2 (dl2), surely not in {behind[0]} and "
        f"{behind[1]}."
    )


def test_one_of_several_has_to_be_below_all_its_rivals(contest: Contest) -> None:
    both = {"das": runs(-3), "dl2": runs(-3)}
    pairs = [f"das - {FIFO}", f"das - {FIRST}", f"dl2 - {FIFO}"]
    assert contest(both, *pairs, either=True).verdict is HOLDS
    assert contest(both, *pairs, f"dl2 - {FIRST}", either=True).verdict is FAILS
    assert contest(both, *pairs).verdict is FAILS


@pytest.mark.parametrize(
    ("gaps", "verdict"),
    [
        ((-3, 3, -5), HOLDS),  # by rate; behind at one of three
        ((-3, 0, -5), HOLDS),
        ((3, 3, -5), FAILS),
        ((-5, -3, -3), FAILS),  # the lead does not grow
    ],
)
def test_most_of_the_places_and_a_lead_that_grows(
    contest: Contest, gaps: tuple[int, ...], verdict: Verdict
) -> None:
    places = {name: Setup(20, rho=rho) for rho, name in enumerate(("Low", "Normal", "High"))}
    found = contest(
        {"das": lambda rho, _measure: runs(gaps[rho])},
        f"das - {FIFO}: JCT",
        places=lambda _context: places,
        most="JCT",
        further=[("JCT", "High", "Low")],
    )
    assert found.verdict is verdict
    assert len(found.tables) == 3


def test_settings_are_read_from_the_networks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policies, "SHIPPED", tmp_path)
    for rate, name in ((0.0001, "da"), (0.5, "das")):
        training = {"learning_rate": rate, "discount": 0.98, "entropy": 0.03, "jobs": 1000}
        training["reward_limit"] = 1_000_000
        plan = {"design": {"hidden": 64}, "jobs": {}, "training": training}
        checkpoint.write(tmp_path / f"{name}-0.npz", {"plan": plan})
    plan = {"design": {}, "jobs": {}, "training": {"method": "evolution"}}
    checkpoint.write(tmp_path / "evolved-0.npz", {"plan": plan})
    record(tmp_path, {"da-0": (), "das-0": (), "evolved-0": ()})
    groups = [trained.trained(name, Context()) for name in ("da", "das", "evolved")]
    unlike, evolved = trained.told(groups).split("\n\n")
    assert unlike == "Settings unlike those of Appendix D, learning rate 0.5 (0.0001): das."
    assert evolved == "Found by evolution, which has none of the settings of Appendix D: evolved."


@pytest.mark.parametrize(
    ("slope", "noise", "verdict"),
    [(0.0, 0.01, HOLDS), (-0.4, 0.1, HOLDS), (-1.5, 0.1, FAILS), (1.5, 0.1, FAILS), (-1.5, 2.0, OPEN)],
)
def test_a_training_is_settled_if_its_curve_stays_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slope: float, noise: float, verdict: Verdict
) -> None:
    """In the last third it falls or rises by so many points; before that it falls by 40."""
    monkeypatch.setattr(policies, "SHIPPED", tmp_path)
    settled, x = BY_ID["training-settled"], np.linspace(0.0, 3000.0, 31)
    late = np.maximum(x - 2000.0, 0.0) / 1000.0
    curves = {
        f"das-{n}": (x, 40.0 - np.minimum(x, 2000.0) / 50.0 + (slope + noise * EVEN[n]) * late)
        for n in range(4)
    }
    record(tmp_path, {"das-0": curves["das-0"], "da-0": curves["das-1"], "da-1": ([0], [1])})
    assert settled.find(Context()).why is Why.LACKING
    record(tmp_path, curves)
    found = settled.find(Context())
    assert found.verdict is verdict
    assert found.tables[1].rows[0][3].startswith(f"{slope:+.2f} ")
    assert "least to largest seed" in found.figures[0].svg
    assert found.faults == []


# --- Cases -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["busy", "busy, turned", "empty", "empty, turned"])
def test_the_case_of_figure_6a_is_as_told(name: str) -> None:
    made, opening, blocked, fitting = model.case_6a()[name]
    episode = made.episode(frozenset())
    for step, observation in enumerate(episode):
        if step < len(opening):
            episode.apply(np.array(opening[step], dtype=np.int64))
            continue
        assert observation.instances[blocked] == 8
        assert observation.instances[fitting] == 1
        room = int((observation.free[:, 0] >= observation.need[blocked, 0]).sum())
        assert (room >= 8) == name.startswith("empty")
        break


@pytest.mark.parametrize("cores", [64.0, 16.0])
def test_the_case_of_figure_6b_is_as_told(cores: float) -> None:
    made, opening = learned_cases.case_6b(cores)
    episode = made.episode(frozenset())
    seen = iter(episode)
    next(seen)
    episode.apply(np.array(opening[0], dtype=np.int64))
    free = next(seen).free
    assert free[[0, 7], 0].tolist() == [0, 0]
    assert len(set(free[:, 0].tolist())) == 2
    alike = np.unique(free[list(learned_cases.ALIKE)], axis=0)
    assert len(alike) == 1
    assert np.array_equal(free[learned_cases.CONTENDING], alike[0]) == (cores == 16.0)


@pytest.mark.usefixtures("shipped")
def test_an_opening_that_never_ends_is_an_error() -> None:
    made, opening = learned_cases.case_6b(16.0)
    who = trained.trained("das", Context("quick")).members[0]
    with pytest.raises(RuntimeError, match="the opening lasts"):
        learned_cases.case(who, made, [*opening, [(3, 1, 1)], [], [], [], [], []])


def test_a_picture_of_learning_shows_the_means_of_equal_parts() -> None:
    decisions = np.arange(1.0, 101.0)
    curve = np.array([decisions, np.where(decisions % 2.0 == 0.0, 3.0, -1.0) + (decisions > 50.0)])
    found = learned.means(curve)
    assert found.shape == (2, learned.PIECES)
    assert np.diff(found[0]) == pytest.approx(5.0, abs=0.5)
    assert found[1] == pytest.approx(np.where(found[0] > 50.0, 2.0, 1.0), abs=0.5)
    few = np.array([[10.0, 1000.0], [4.0, 2.0]])
    assert learned.means(few).tolist() == few.tolist()  # parts without validations are left out
