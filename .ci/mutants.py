"""Plant faults, one at a time, in a copy of the source: tests must kill each, and claims must notice it.

``make mutants`` runs all; ``python .ci/mutants.py NAME ...`` some. What is known of a fault is kept in
``reports/mutants.json`` and taken from there as long as the source is the same. The exit status is 1 if a
fault survives the tests, or if one of its claims does not notice it in the quick audit, by another verdict
than the expected one. docs/verdicts.md shows the table.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "reports" / "mutants.json"
COPIED = (
    *("models", "oracles", "online", "analysis", "src", "tests", "examples", "benchmarks", "docs", ".ci"),
    *("pyproject.toml", "README.md", "CONTRIBUTING.md", "Makefile", "requirements.lock"),
)
"""What tests and audits read."""

LIMIT = 900
"""Seconds after which a run is ended; then nothing is known, and it is to be repeated."""

FOUND = 1
"""The exit status of tests that fail, and of an audit with a verdict that is not the expected one."""


class Mutant(NamedTuple):
    """A fault: what it is, where, what stands there and what in its place, and who should notice."""

    name: str
    file: str
    old: str
    new: str
    tests: str
    claims: str


def _read_all() -> list[Mutant]:
    return [
        Mutant(**entry) for entry in json.loads(Path(__file__).with_name("mutants.json").read_text("utf-8"))
    ]


MUTANTS = _read_all()
"""All faults, of ``mutants.json``; ``tests`` and ``claims`` are separated by blanks."""


def planted(mutant: Mutant, root: Path) -> str:
    """Return the text of the file with the fault.

    Raises
    ------
    ValueError
        Unless what the fault replaces stands there once.
    """
    text = (root / mutant.file).read_text("utf-8")
    if (count := text.count(mutant.old)) != 1:
        raise ValueError(f"{mutant.name}: {mutant.old!r} stands {count} times in {mutant.file}")
    return text.replace(mutant.old, mutant.new)


def key(mutant: Mutant) -> str:
    """Return what a result depends on: the fault, and all source."""
    hasher = hashlib.sha256(json.dumps(mutant).encode())
    for part in COPIED:
        files = (ROOT / part).rglob("*") if (ROOT / part).is_dir() else [ROOT / part]
        for path in sorted(files):
            if path.is_file() and "__pycache__" not in path.parts:
                hasher.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return hasher.hexdigest()


def copy_to(folder: Path) -> None:
    """Copy the source, compiled kernels included."""
    for part in COPIED:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, folder / part, symlinks=True)
        else:
            shutil.copy2(source, folder / part)


def run(folder: Path, *command: str) -> tuple[int, str]:
    """Run Python on the copy; return the exit status, 124 if it took too long, and the last line printed."""
    more = {
        "PYTHONPATH": str(folder / "src"),
        "OPENBLAS_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "CI": "true",
    }
    try:
        done = subprocess.run(
            [sys.executable, *command],
            cwd=folder,
            env={**os.environ, **more},
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 124, f"more than {LIMIT} s"
    lines = (done.stdout + done.stderr).strip().splitlines()
    return done.returncode, lines[-1] if lines else ""


def forget(mutant: Mutant, folder: Path) -> None:
    """Drop the compiled kernels of a problem: they hold constants, and kernels, of other files."""
    room = Path(mutant.file).parts[1]
    for layer in ("models", "oracles", "online"):
        for path in (folder / layer / room).rglob("*.nb[ic]"):
            path.unlink()


def commands(mutant: Mutant) -> list[tuple[str, ...]]:
    """Return what runs its tests, and what audits each of its claims."""
    tests = ("-m", "pytest", "-x", "-q", "-p", "no:xdist", *mutant.tests.split())
    audit = ("-m", "clairvoyant", "audit", "--quick", "--workers", "1", "--out", "reports", "--claim")
    return [tests, *((*audit, claim) for claim in mutant.claims.split())]


def judge(mutant: Mutant, folder: Path, sound: set[tuple[str, ...]]) -> dict[str, Any]:
    """Plant a fault, ask the tests and the claims, and take it out again.

    ``sound`` has the commands that are known to pass without a fault; it grows.

    Raises
    ------
    RuntimeError
        If tests or claims fail on the sound source, or cannot be run: then they show nothing.
    """
    asked = commands(mutant)
    for command in asked:
        if command not in sound and (said := run(folder, *command))[0] != 0:
            raise RuntimeError(f"{mutant.name}: without the fault: {said[1]}")
        sound.add(command)
    path = folder / mutant.file
    before = path.read_text("utf-8")
    path.write_text(planted(mutant, folder), "utf-8")
    forget(mutant, folder)
    try:
        answers = [run(folder, *command) for command in asked]
    finally:
        path.write_text(before, "utf-8")
        forget(mutant, folder)
    for status, what in answers:
        if status not in (0, FOUND):
            raise RuntimeError(f"{mutant.name}: could not be run to the end ({status}): {what}")
    (killed, said), *found = answers
    missed = [claim for claim, (status, _) in zip(mutant.claims.split(), found, strict=True) if not status]
    return {"killed": killed == FOUND, "tests": said, "noticed": not missed, "missed by": missed}


def main(names: list[str]) -> int:
    """Judge faults, print a line for each, and return the exit status."""
    chosen = [one for one in MUTANTS if not names or one.name in names]
    KEPT.parent.mkdir(exist_ok=True)
    known = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}
    sound = set[tuple[str, ...]]()
    with tempfile.TemporaryDirectory() as name:
        copy_to(Path(name))
        for number, mutant in enumerate(chosen, 1):
            if known.get(mutant.name, {}).get("key") != key(mutant):
                known[mutant.name] = {"key": key(mutant), **judge(mutant, Path(name), sound)}
                KEPT.write_text(json.dumps(known, indent=1) + "\n", "utf-8")
            one = known[mutant.name]
            words = "killed" if one["killed"] else "SURVIVES", "noticed" if one["noticed"] else "NOT NOTICED"
            missed = f"; not by {', '.join(one['missed by'])}" if one["missed by"] else ""
            line = f"{number:3} of {len(chosen)}  {words[0]:9} {words[1]:12} {mutant.name}{missed}"
            print(line, flush=True)
    found = [known[one.name] for one in chosen]
    killed, noticed = (sum(one[what] for one in found) for what in ("killed", "noticed"))
    print(f"{len(found)} faults: tests kill {killed}, claims notice {noticed}")
    return int(min(killed, noticed) < len(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
