"""Files of strangers: what a terminal would obey is written out, and no more is read than fits."""

import csv
import gzip
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clairvoyant as cv
from clairvoyant.analysis.audit import PARTIAL
from clairvoyant.api import audit
from clairvoyant.cli import commands, output
from clairvoyant.models import base
from clairvoyant.models.base import InputError, read_bytes, read_object
from clairvoyant.models.traces import read_table
from clairvoyant.online.placement.learned import checkpoint
from clairvoyant.online.placement.learned.plan import Plan

EVIL = "\x1b]0;title\x07\x1b[31m\x00\x9b2J\x7f\u202e\u2028\ud800\r\n\tend"
SEEN = r"\x1b]0;title\x07\x1b[31m\x00\x9b2J\x7f\u202e\u2028\ud800\r\n\tend"
HARMLESS = re.compile(
    r"[^\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]*"
)
"""What may reach a terminal: besides all this only the ends of lines."""


@pytest.fixture(scope="module")
def form() -> dict[str, Any]:
    return cv.generate("admission", size="tiny", seed=1, jobs=3).to_dict()


def write(path: Path, data: Any) -> Path:
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def run(capfd: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    capfd.readouterr()
    status = commands.main([str(word) for word in words])
    out, err = capfd.readouterr()
    assert HARMLESS.fullmatch(out)
    assert HARMLESS.fullmatch(err)
    return status, out, err


# What a terminal would obey


@given(st.text())
def test_whatever_is_printed_is_one_line_of_harmless_characters(text: str) -> None:
    seen = output.visible(text)
    assert HARMLESS.fullmatch(seen)
    assert "\n" not in seen
    if HARMLESS.fullmatch(text) and "\n" not in text:
        assert seen == text


def test_names_and_origins_are_written_out(
    form: dict[str, Any],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    origin = {"source": EVIL, "real": [EVIL, "b"], "filled": [EVIL]}
    path = write(tmp_path / "\x1b[31mx.json", form | {"origin": origin})
    status, out, _ = run(capfd, "play", path, "--policy", "fifo", "--no-optimum", "-v")
    assert status == 0
    assert out.count(SEEN) == 3
    assert r"/\x1b[31mx.json)" in out
    status, out, _ = run(capfd, "play", path, "--policy", "fifo", "--no-optimum", "--json")
    assert json.loads(out)["origin"] == origin


@pytest.mark.parametrize("change", [{EVIL: 1}, {"horizon": EVIL}, {"resources": [EVIL, EVIL]}])
def test_errors_are_written_out(
    change: dict[str, Any], form: dict[str, Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capfd, "solve", write(tmp_path / "x.json", form | change))
    assert (status, out, err.count("\n")) == (2, "", 1)


def test_arguments_are_written_out(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for words in (
        ("solve", "\x1b[31m.json"),
        ("solve", "\udcff.json"),
        ("\x1b[31m",),
        ("generate", "\x1b[31m", "--out", tmp_path / "x"),
        ("policies", "--problem", "\x1b]0;a\x07"),
        ("audit", "--claim", "\x1b[31m", "--out", tmp_path),
    ):
        assert run(capfd, *words)[0] == 2


def test_a_bug_is_written_out(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def bug(_path: Path) -> None:
        raise ZeroDivisionError(EVIL)

    monkeypatch.setattr("clairvoyant.api.load", bug)
    status, _, err = run(capfd, "solve", "x.json")
    assert status == 3
    assert "Traceback" in err
    assert r"\x1b]0;title" in err


@pytest.mark.parametrize("terminal", [False, True])
def test_notes_of_progress_are_written_out(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal, raising=False)
    monkeypatch.setattr(output, "DRAW_EVERY", 0.0)
    monkeypatch.setattr(output, "LINE_EVERY", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "300")
    with output.progress(EVIL) as report:
        report(0.5, EVIL)
    printed = capfd.readouterr().err
    assert SEEN in printed
    assert not {"\x07", "\x00", "\x9b", "\u202e", "\u2028"} & set(printed)
    assert "\x1b]0" not in printed


# What never ends, and what is too much


def instance(path: Path) -> object:
    return cv.load(path)


def table(path: Path) -> object:
    return read_table(path.parent, path.name, ["a"])


def imported(path: Path) -> object:
    return cv.from_table("placement", path, machines={"gpus": [1]})


def logged(path: Path) -> object:
    return cv.from_table("placement", path, format="swf")


def plan(path: Path) -> object:
    return Plan.load(path)


def trained(path: Path) -> object:
    return checkpoint.read(path)


def policy(path: Path) -> object:
    return cv.make_policy(f"das:checkpoint={path}")


def audited(path: Path) -> object:
    return audit(claims=["allocation/equation-9"], mode="quick", out=path.parent, workers=1)


READERS = [instance, table, imported, logged, plan, trained, policy]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/full", "/proc/self"])
def test_devices_are_refused(reader: Callable[[Path], object], device: str) -> None:
    with pytest.raises(InputError, match="cannot be read: it is not a regular file") as caught:
        reader(Path(device))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("reader", [*READERS, audited])
def test_pipes_are_refused_and_not_waited_for(reader: Callable[[Path], object], tmp_path: Path) -> None:
    path = tmp_path / PARTIAL
    os.mkfifo(path)
    with pytest.raises(InputError, match="cannot be read: it is not a regular file"):
        reader(path)


@pytest.mark.parametrize("reader", READERS)
def test_files_that_are_too_long_are_refused_before_they_are_read(
    reader: Callable[[Path], object], tmp_path: Path
) -> None:
    path = tmp_path / PARTIAL
    with path.open("wb") as stream:
        stream.truncate(2**40)  # takes no room
    with pytest.raises(InputError, match="cannot be read: it holds more than 256 MiB"):
        reader(path)


def test_standard_input_is_read_from_a_file_and_refused_from_a_pipe(
    form: dict[str, Any], tmp_path: Path
) -> None:
    path = write(tmp_path / "x.json", form)
    script = "import clairvoyant as cv; print(cv.load('/dev/stdin').digest())"
    with path.open() as stream:
        read = subprocess.run(
            [sys.executable, "-c", script], stdin=stream, capture_output=True, text=True, check=True
        )
    assert read.stdout.strip() == cv.load(path).digest()
    piped = subprocess.run(
        [sys.executable, "-c", script], input=path.read_text(), capture_output=True, text=True, check=False
    )
    assert "InputError: /dev/stdin: cannot be read: it is not a regular file" in piped.stderr


@pytest.mark.parametrize("reader", [instance, table])
def test_what_is_packed_is_unpacked_no_further_than_the_limit(
    reader: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit of 1 MiB stands for the real one; 400 MiB would be unpacked if nobody stopped."""
    unpacked = 0
    usual = gzip.GzipFile.read

    def read(self: gzip.GzipFile, size: int | None = -1) -> bytes:
        nonlocal unpacked
        data = usual(self, size)
        unpacked += len(data)
        return data

    monkeypatch.setattr(base, "MOST_BYTES", 2**20)
    monkeypatch.setattr(gzip.GzipFile, "read", read)
    path = tmp_path / "bomb.json.gz"
    member = gzip.compress(bytes(2**22))
    path.write_bytes(member * 100)
    with pytest.raises(InputError, match="cannot be read: it holds more than 1 MiB"):
        reader(path)
    assert unpacked == 2**20 + 1


@given(st.binary(max_size=100), st.integers(0, 120))
def test_exactly_as_much_as_the_limit_is_read(data: bytes, limit: int) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(base, "MOST_BYTES", limit)
        for name, content in (("x", data), ("x.gz", gzip.compress(data))):
            path = Path(folder) / name
            path.write_bytes(content)
            if max(len(data), len(content)) <= limit:
                assert read_bytes(path) == data
            else:
                with pytest.raises(InputError, match="holds more than"):
                    read_bytes(path)


def test_no_instance_is_saved_that_could_not_be_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "MOST_BYTES", 1000)
    with pytest.raises(InputError, match=r"x\.json: not written: it would hold"):
        cv.generate("allocation", size="tiny").save(tmp_path / "x.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["[" * 10**6, '{"a":' * 10**5, "[" * 10**5 + "]" * 10**5])
def test_deep_nests_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(InputError, match="not a complete JSON text"):
        read_object(path)


def test_a_table_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a\n" + "1" * (csv.field_size_limit() + 1))
    with pytest.raises(InputError, match=r"x\.csv: no CSV table: field larger than field limit"):
        table(tmp_path / "x.csv")


def test_networks_that_would_unpack_to_more_than_the_limit_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w") as packed:
        for name in "abc":
            packed.writestr(name, bytes(400))
    monkeypatch.setattr(base, "MOST_BYTES", 10**6)
    monkeypatch.setattr(checkpoint, "MOST_BYTES", 1000)
    with pytest.raises(InputError, match="it is not read"):
        checkpoint.read(path)


@pytest.mark.parametrize(
    "damage", ["not JSON", "[" * 10**5, "{}", "[]", "1", "null", '{"verdict": "who knows"}']
)
def test_a_damaged_store_of_findings_is_refused_or_computed_again(damage: str, tmp_path: Path) -> None:
    def interrupt(fraction: float, _note: str) -> None:
        if fraction:
            raise KeyboardInterrupt

    options: dict[str, Any] = {"claims": ["allocation/equation-9", "allocation/equation-12"], "mode": "quick"}
    with pytest.raises(KeyboardInterrupt):
        audit(**options, out=tmp_path, workers=1, progress=interrupt)
    file = sqlite3.connect(tmp_path / PARTIAL)
    file.execute("UPDATE cell SET result = ?", (damage,))
    file.commit()
    changed = file.total_changes
    file.close()
    assert changed
    if damage in {"not JSON", "[" * 10**5}:
        with pytest.raises(InputError, match=rf"{PARTIAL}: .* is damaged \(.*\); delete the file$") as caught:
            audit(**options, out=tmp_path, workers=1)
        assert "\n" not in str(caught.value)
    else:
        found = audit(**options, out=tmp_path, workers=1)
        assert {claim.id for claim, finding in found if claim.as_expected(finding)} == {*options["claims"]}
