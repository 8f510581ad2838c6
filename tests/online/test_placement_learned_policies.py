"""The learned schedulers as policies: the contract, what they see, the files of their networks."""

import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from clairvoyant.api import make_policy, policy_table
from clairvoyant.cli.commands import main
from clairvoyant.models.base import InputError
from clairvoyant.models.placement.generate import generate
from clairvoyant.models.placement.instance import PlacementInstance
from clairvoyant.online.placement import FifoConsolidate, Untrained
from clairvoyant.online.placement.learned import checkpoint
from clairvoyant.online.placement.learned.design import DESIGNS, Design, Readings
from clairvoyant.online.placement.learned.features import Eyes, Scene
from clairvoyant.online.placement.learned.plan import Plan
from clairvoyant.online.placement.learned.policies import SHIPPED, TRAINED, Learned, members
from clairvoyant.online.placement.learned.weights import initial
from clairvoyant.online.play import play
from clairvoyant.problems import policies
from clairvoyant.testing import check_policy
from clairvoyant.testing import placement as kit

LITERAL = [part.name for part in fields(Readings)]
ESTIMATES = {"features": "estimates", "prior": "consolidate"}


def content(design: Design, seed: int = 0) -> dict[str, Any]:
    """Return what a file of networks holds."""
    return {"design": design.to_dict(), "actor": dict(initial(design, seed).arrays)}


def saved(folder: Path, design: Design, seed: int = 0) -> str:
    """Write untrained networks and return where."""
    path = folder / "networks.npz"
    checkpoint.write(path, content(design, seed))
    return str(path)


def maker(name: str, folder: Path) -> Callable[[], Any]:
    """Return what makes a policy, with untrained networks if none come with the package."""
    kind = policies("placement")[name]
    if kind is Untrained:
        return lambda: Untrained(design="dl2", seed=1)
    if members(name):
        return kind
    path = saved(folder, Plan.load(SHIPPED / f"{name}.toml").design)
    return lambda: kind(checkpoint=path)


def tiny(seed: int = 0, jobs: int = 6, sigma: float = 0.5, **options: Any) -> PlacementInstance:
    """Return a small generated instance with estimates."""
    return generate("tiny", seed, jobs=jobs, estimate_error=sigma, **options)


def watched(policy: Any, instance: PlacementInstance) -> Iterator[tuple[Scene, np.ndarray]]:
    """Yield what the networks could see at every epoch, and what a policy decides."""
    eyes = Eyes(instance.setting, estimates=True)
    policy.start(instance.setting, np.random.default_rng(0))
    hidden = policy.traits.sees
    episode = instance.episode(hidden | {"estimates"})
    for seen in episode:
        shown = seen if "estimates" in hidden else replace(seen, estimate=None)
        decision = policy.decide(shown)
        yield eyes.look(seen), decision
        episode.apply(decision)


def finite(scene: Scene) -> bool:
    """Tell whether all features are finite."""
    return all(np.isfinite(part).all() for part in (scene.jobs, scene.machines, scene.pairs))


def same(one: Scene, other: Scene) -> bool:
    """Tell whether two scenes are equal to the bit."""
    parts = ("jobs", "machines", "pairs", "fits")
    return all(np.array_equal(getattr(one, part), getattr(other, part)) for part in parts)


# ------------------------------------------------------------------ the contract


@pytest.mark.parametrize("name", [*TRAINED, "untrained"])
def test_contract(name: str, tmp_path: Path) -> None:
    small = PlacementInstance.from_dict(tiny(3, jobs=4).to_dict() | {"window": 2})
    check_policy(maker(name, tmp_path), instances={"small": small}, seeds=(0,))


def test_the_register_says_what_they_see_and_how_they_are_set() -> None:
    rows = {row.name: row for row in policy_table("placement")}
    learned = {name for name, kind in policies("placement").items() if issubclass(kind, Learned)}
    assert learned == {*TRAINED, "untrained"}
    for name in learned:
        assert not rows[name].randomised
        assert rows[name].guarantee == "none"
        assert rows[name].summary.endswith((".", ")"))
    for name, kind in TRAINED.items():
        assert kind.name == name
        outcomes = {"outcomes": 0.0} if name == "das" else {}
        assert rows[name].settings == {"member": 0, "checkpoint": None} | outcomes
        assert rows[name].sees == (("estimates",) if name.endswith("-estimates") else ())
    assert rows["untrained"].settings == {"design": "das", "seed": 0}
    assert rows["untrained"].sees == ()


# ------------------------------------------------------------------ what they see


@given(instance=kit.instances(min_jobs=2, max_jobs=6, estimates=True), data=st.data())
@hypothesis_settings(max_examples=30, deadline=None)
def test_nothing_is_seen_of_the_future_or_of_durations(
    instance: PlacementInstance, data: st.DataObject
) -> None:
    """Only estimates of what waits may differ from an instance that looks the same so far."""
    decided = play(FifoConsolidate(), instance, keep_decisions=True).decisions or ()
    epoch = data.draw(st.integers(0, len(decided) - 1))

    def looks(one: PlacementInstance) -> list[Scene]:
        eyes, episode, scenes = Eyes(one.setting, estimates=True), one.episode(frozenset({"estimates"})), []
        for seen, decision in zip(episode, decided[: epoch + 1], strict=False):
            scenes.append(eyes.look(seen))
            episode.apply(decision)
        return scenes

    before, others = looks(instance), 0
    for other in kit.alter(instance, epoch, frozenset({"estimates"}), decided):
        others += 1
        assert all(same(a, b) for a, b in zip(before, looks(other)[: epoch + 1], strict=True))
    assume(others)


def test_estimates_change_two_features_of_jobs_and_nothing_else() -> None:
    scenes = [
        [scene for scene, _ in watched(FifoConsolidate(), tiny(1, jobs=8, sigma=sigma))]
        for sigma in (0.0, 0.5, 2.0)
    ]
    for exact, *rest in zip(*scenes, strict=True):
        for other in rest:
            assert not np.array_equal(exact.jobs[:, 12:], other.jobs[:, 12:])
            blind = [replace(scene, jobs=scene.jobs[:, :12]) for scene in (exact, other)]
            assert same(*blind)


@pytest.mark.parametrize("sigma", [0.0, 0.5, 2.0])
def test_wrong_estimates_are_no_harm_to_feasibility(sigma: float, tmp_path: Path) -> None:
    policy = TRAINED["da-mc-estimates"](checkpoint=saved(tmp_path, Design.of(ESTIMATES)))
    instance = tiny(2, jobs=20, sigma=sigma)
    run = play(policy, instance, keep_decisions=True)
    assert instance.violations(instance.schedule_of(run.decisions or ())) == []


def test_estimates_must_be_there_and_be_declared(tmp_path: Path) -> None:
    path = saved(tmp_path, Design.of(ESTIMATES))
    with pytest.raises(InputError, match="the jobs of the instance have none; give every job"):
        play(TRAINED["da-mc-estimates"](checkpoint=path), generate("tiny", 0))
    with pytest.raises(InputError, match=r"^checkpoint: .*networks see estimates .*das does not declare"):
        TRAINED["das"](checkpoint=path)


# ------------------------------------------------------------------ every design, every reading


def crowd() -> PlacementInstance:
    """Return 100 jobs that wait together, and one of many instances."""
    plain: dict[str, Any] = {
        "submit": 0,
        "duration": 10,
        "instances": 1,
        "gpus": 1,
        "cpus": 1,
        "memory": 1,
        "estimate": 5,
    }
    jobs = [plain | {"instances": 1 + i % 3, "gpus": i % 3, "duration": 1 + i % 7} for i in range(100)]
    jobs.append(plain | {"instances": 64, "gpus": 0, "memory": 0.25})
    machines = [{"gpus": 8, "cpus": 16, "memory": 32}] * 4
    return PlacementInstance(machines=machines, jobs=jobs, window=128)


@pytest.mark.parametrize("features", [{}, ESTIMATES], ids=["paper", "estimates"])
@pytest.mark.parametrize("name", DESIGNS)
def test_every_design_copes_with_every_instance(name: str, features: dict[str, str], tmp_path: Path) -> None:
    path = saved(tmp_path, Design.of({"name": name, **features}))
    edges = kit.degenerate()
    chosen = ("no jobs", "one machine", "no GPUs", "machines with nothing", "huge numbers")
    for instance in (*(edges[edge] for edge in chosen), crowd()):
        policy = TRAINED["da-mc-estimates"](checkpoint=path)
        moves = list(watched(policy, instance))
        assert all(finite(scene) for scene, _ in moves)
        assert instance.violations(instance.schedule_of([rows for _, rows in moves])) == []


@pytest.mark.parametrize("reading", LITERAL)
def test_every_literal_reading_decides_feasibly(reading: str, tmp_path: Path) -> None:
    policy = TRAINED["das"](checkpoint=saved(tmp_path, Design.of({"readings": {reading: "literal"}})))
    assert policy.traits.randomised == (reading == "window")
    instance = tiny(4, jobs=8)
    run = play(policy, instance, keep_decisions=True)
    assert instance.violations(instance.schedule_of(run.decisions or ())) == []


def test_a_window_drawn_at_random_is_declared_and_follows_the_seed(tmp_path: Path) -> None:
    path = saved(tmp_path, Design.of({"name": "da", "readings": {"window": "literal"}}))
    runs = [
        play(TRAINED["da"](checkpoint=path), crowd(), seed, keep_decisions=True).decisions or ()
        for seed in (0, 0, 1)
    ]
    first, again, other = ([rows.tolist() for rows in run] for run in runs)
    assert first == again != other
    assert not TRAINED["da"].traits.randomised


# ------------------------------------------------------------------ untrained networks


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"design": "dass"}, "^design: 'dass' is not one of das, da, "),
        ({"seed": -1}, "^seed: -1 is not a whole number"),
        ({"seed": 0.5}, r"^seed: 0\.5 is not a whole number"),
    ],
)
def test_an_untrained_policy_that_cannot_be(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Untrained(**settings)


# ------------------------------------------------------------------ files of networks


def test_the_networks_that_come_with_the_package_follow_their_plans() -> None:
    """Every policy has its plan; every file has a plan beside it and holds what that says."""
    plans = {path.stem: Plan.load(path) for path in SHIPPED.glob("*.toml")}
    assert TRAINED.keys() <= plans.keys()
    shipped = {path.stem: path for path in SHIPPED.glob("*.npz")}
    named = {f"{name}-{number}": (name, number) for name in plans for number in members(name)}
    assert shipped.keys() == named.keys()
    assert {name for name, _ in named.values()} >= TRAINED.keys()
    for stem, (name, number) in named.items():
        found = checkpoint.read(shipped[stem])
        assert Plan.of(found["plan"]) == replace(plans[name], seed=number)
        assert checkpoint.restored(shipped[stem]).design == plans[name].design


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"member": 99}, "^member: 99 of das does not come with the package; there are: "),
        ({"member": -1}, "^member: -1 is not a whole number"),
        ({"member": True}, "^member: True is not a whole number"),
        ({"member": 1, "checkpoint": "a.npz"}, "^member: 1 is given, and a checkpoint as well"),
        ({"checkpoint": 3}, "^checkpoint: 3 is not the path of a file"),
        ({"checkpoint": "nowhere/a.npz"}, r"^checkpoint: nowhere/a\.npz: No such file"),
    ],
)
def test_a_trained_policy_that_cannot_be(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        TRAINED["das"](**settings)


def test_a_file_that_has_changed_is_read_anew(tmp_path: Path) -> None:
    path = saved(tmp_path, DESIGNS["da"], seed=0)
    policy = TRAINED["das"](checkpoint=path)
    first = policy.networks()
    assert policy.networks() is first
    saved(tmp_path, DESIGNS["da-mc"], seed=1)
    os.utime(path, ns=(1, 1))
    assert policy.networks().design == DESIGNS["da-mc"]


def test_a_file_of_the_same_time_is_read_anew(tmp_path: Path) -> None:
    path, found = tmp_path / "networks.npz", []
    for seed in (0, 1):
        saved(tmp_path, DESIGNS["da"], seed=seed)
        os.utime(path, ns=(1, 1))
        found.append(TRAINED["das"](checkpoint=str(path)).networks().arrays)
    assert not all(np.array_equal(found[0][key], found[1][key]) for key in found[0])


def test_a_file_plays_by_its_own_design(tmp_path: Path) -> None:
    path = saved(tmp_path, DESIGNS["da"], seed=5)
    mine = play(make_policy(f"dl2:checkpoint={path}", "placement"), tiny(), keep_decisions=True)
    same_ = play(Untrained(design="da", seed=5), tiny(), keep_decisions=True)
    assert mine.policy == f"dl2:checkpoint={path}"
    assert [rows.tolist() for rows in mine.decisions or ()] == [
        rows.tolist() for rows in same_.decisions or ()
    ]


class Trap:
    """Makes a file as soon as it is unpickled."""

    def __init__(self, made: Path) -> None:
        self.made = made

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.made),)


def members_of(path: Path) -> dict[str, bytes]:
    """Return the members of a file."""
    with zipfile.ZipFile(path) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def pack(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> None:
    """Write a file of these members."""
    with zipfile.ZipFile(path, "w", method) as packed:
        for name, data in members.items():
            packed.writestr(name, data)


def member(array: np.ndarray) -> bytes:
    """Return an array as a member."""
    data = io.BytesIO()
    np.lib.format.write_array(data, array, allow_pickle=True)
    return data.getvalue()


def spoil(kind: str, path: Path) -> None:
    """Write a file that is no good, each in another way."""
    good = content(DESIGNS["da"])
    weights, design, name = good["actor"], good["design"], "encoder.jobs.weight"
    changes: dict[str, Any] = {
        "no design": {"design": None},
        "unknown design": {"design": design | {"name": "other"}},
        "shape": {"design": design | {"hidden": 64}},
        "not finite": {"actor": weights | {name: np.full_like(weights[name], np.nan)}},
        "type": {"actor": weights | {name: weights[name].astype(np.float64)}},
        "missing": {"actor": {key: value for key, value in weights.items() if key != name}},
        "unknown": {"actor": weights | {"more": weights[name]}},
        "no weights": {"actor": [1.0]},
        "one array": {"actor": weights[name]},
        # What is said of a file, as JSON, may not be taken for it.
        "format": {"format": "other"},
        "version": {"version": 3},
        "version true": {"version": True},
    }
    checkpoint.write(path, good | changes.get(kind, {}))
    whole, parts, weight = path.read_bytes(), members_of(path), f"actor/{name}.npy"
    match kind:
        case "hash":
            pack(path, parts | {weight: member(np.zeros_like(weights[name]))})
        case "code":
            pack(path, parts | {weight: member(np.array([Trap(path.with_name("ran"))], dtype=object))})
        case "longer than it is":
            pack(path, parts | {weight: parts[weight].replace(b"(32, 5)", b"(32,55)")})
        case "no about":
            pack(path, {key: data for key, data in parts.items() if key != "about.npy"})
        case "list":
            pack(path, parts | {"about.npy": member(np.frombuffer(b"[1]", dtype=np.uint8))})
        case "packed":
            pack(path, parts, zipfile.ZIP_DEFLATED)
        case "pickle":
            path.write_bytes(pickle.dumps(Trap(path.with_name("ran"))))
        case "text":
            path.write_text("no networks at all", encoding="utf-8")
        case "empty":
            path.write_bytes(b"")
        case "half":
            path.write_bytes(whole[: len(whole) // 2])
        case "other zip":
            pack(path, {"a.txt": b"text"})
        case "folder":
            path.unlink()
            path.mkdir()


UNREAD = "is no whole file of networks; it is not read"
FOREIGN = "is no file of networks of this package"
SPOILED = {
    "version": "has version 3; this package reads 2",
    "version true": "has version True; this package reads 2",
    "format": FOREIGN,
    "no design": "holds no design",
    "unknown design": "design.name: 'other' is not one of",
    "shape": "encoder.jobs.bias has shape (32,), the design says (64,)",
    "not finite": "encoder.jobs.weight is not finite",
    "type": "encoder.jobs.weight has numbers of type float64; they are to be float32",
    "missing": "encoder.jobs.weight is missing",
    "unknown": "more is unknown to the design",
    "no weights": "holds no weights",
    "one array": "holds no weights",
    "hash": "is damaged: its hash is not that of its content",
    "code": UNREAD,
    "longer than it is": UNREAD,
    "no about": FOREIGN,
    "list": FOREIGN,
    "packed": UNREAD,
    "pickle": UNREAD,
    "text": UNREAD,
    "empty": UNREAD,
    "half": UNREAD,
    "other zip": UNREAD,
    "folder": "is not a regular file",
}


@pytest.mark.parametrize("kind", SPOILED)
def test_a_file_that_is_no_good_is_refused_before_all_work(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def work(*_: Any, **__: Any) -> None:
        raise AssertionError("the error comes too late")

    monkeypatch.setattr("clairvoyant.api.solve", work)
    path, played = tmp_path / "bad.npz", tmp_path / "tiny.json"
    spoil(kind, path)
    tiny().save(played)
    with pytest.raises(InputError) as error:
        TRAINED["das"](checkpoint=str(path))
    assert str(error.value).startswith(f"checkpoint: {path}")
    assert SPOILED[kind] in str(error.value)
    assert main(["play", str(played), "--policy", f"das:checkpoint={path}"]) == 2
    assert capsys.readouterr().err == f"error: policy das: {error.value}\n"
    assert not (tmp_path / "ran").exists()


@given(at=st.floats(0, 1, exclude_max=True), changed=st.integers(1, 255))
@hypothesis_settings(max_examples=60, deadline=None)
def test_a_damaged_file_is_refused_or_read_as_it_was(at: float, changed: int) -> None:
    design = Design(hidden=4, placement="gaussian")
    with TemporaryDirectory() as folder:
        path = Path(saved(Path(folder), design))
        whole = bytearray(path.read_bytes())
        whole[int(at * len(whole))] ^= changed
        path.write_bytes(whole)
        try:
            found = checkpoint.restored(path).arrays
        except InputError:
            return
    want = initial(design, 0).arrays
    assert all(np.array_equal(found[key], want[key]) for key in want)


def test_equal_networks_are_equal_files_whatever_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    design = Design(hidden=4, placement="gaussian")
    first = Path(saved(tmp_path, design)).read_bytes()
    monkeypatch.setattr("time.time", lambda: 2e9)
    monkeypatch.setattr("time.localtime", lambda *_: (2033, 5, 18, 0, 0, 0, 0, 0, 0))
    assert Path(saved(tmp_path, design)).read_bytes() == first
    assert Path(saved(tmp_path, design, seed=1)).read_bytes() != first


def test_a_file_is_read_by_numpy_without_pickles(tmp_path: Path) -> None:
    path = saved(tmp_path, DESIGNS["das"])
    with np.load(path, allow_pickle=False) as found:
        about = json.loads(found["about"].tobytes())
        assert about["design"] == DESIGNS["das"].to_dict()
        want = initial(DESIGNS["das"], 0).arrays
        assert all(np.array_equal(found[f"actor/{key}"], x) for key, x in want.items())


def test_the_shipped_networks_are_small() -> None:
    assert sum(path.stat().st_size for path in SHIPPED.glob("*.npz")) < 10e6


@pytest.mark.skipif(not members("da-mc-capacity"), reason="needs networks")
def test_a_running_job_that_was_never_seen_is_named() -> None:
    made = generate("tiny", 1, jobs=8, rho=3.0)
    learned, other = TRAINED["da-mc-capacity"](), FifoConsolidate()
    episode = made.episode(frozenset())
    for one in (learned, other):
        one.start(made.setting, np.random.default_rng(0))
    for seen in episode:
        if len(seen.running):
            break
        episode.apply(other.decide(seen))
    with pytest.raises(InputError, match=r"^observation: job \d+ runs, but this policy has not seen it wait"):
        learned.scores(seen)
