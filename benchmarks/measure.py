"""The common part of all benchmarks: rows, clocks, and peak memory in a separate process."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import clairvoyant
from clairvoyant import verify


@dataclass(frozen=True)
class Row:
    """One measurement, beside a rival's in the same run.

    Attributes
    ----------
    what
        The quantity.
    ours
        The measurement.
    target
        The limit that it should not exceed.
    rival, theirs
        Who else did the same, and the rival's measurement.
    unit
        Of the measurements: "s", "ms", "kB", "GB", "%", or "x" for times as much.
    note
        Further remarks.
    """

    what: str
    ours: float
    target: float | None = None
    rival: str = ""
    theirs: float | None = None
    unit: str = "s"
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times as much the rival takes."""
        return None if self.theirs is None else self.theirs / self.ours


def timed(job: Callable[[], Any]) -> float:
    """Return the wall-clock seconds of a job."""
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def median_of(times: int, job: Callable[[], Any]) -> float:
    """Return the median wall-clock seconds of a job over a few repetitions."""
    return statistics.median(timed(job) for _ in range(times))


def solved(
    sampled: Sequence[Any], methods: Sequence[str], seconds: float | None = None
) -> tuple[dict[str, list[Any]], dict[str, float]]:
    """Solve instances by every method within a time limit; return the optima, and the median seconds."""
    found: dict[str, list[Any]] = {method: [] for method in methods}
    spent = {
        method: statistics.median(
            timed(lambda: optima.append(clairvoyant.solve(one, method=method, time_limit=seconds)))  # noqa: B023
            for one in sampled
        )
        for method, optima in found.items()
    }
    return found, spent


def interval(label: str, sampled: Sequence[Any], seconds: float, asked: float) -> Row:
    """Measure the mean gap of the default oracle on instances of one kind, beside what was asked for.

    A gap is in per cent: how far the bound is from the value, relative to the bound.
    """
    gaps = [100.0 * clairvoyant.solve(instance, time_limit=seconds).gap for instance in sampled]
    note = f"({', '.join(f'{gap:.2f}' for gap in gaps)})"
    label = f"certified interval of {label}, {seconds:.0f} s: mean gap of {len(gaps)}"
    return Row(label, statistics.fmean(gaps), asked, unit="%", note=note)


def proofs(optima: Sequence[Any]) -> int:
    """Return how many optima are proved, up to a gap of 1e-6."""
    return sum(one.gap is not None and one.gap <= 1e-6 for one in optima)


def certificate(label: str, instance: Any, oracle: str) -> Iterator[Row]:
    """Measure the certificate of an optimum: writing it, reading and checking it, and its size."""
    optimum = clairvoyant.solve(instance, oracle)
    with tempfile.TemporaryDirectory() as folder:
        file, target = str(Path(folder, "instance.json.gz")), Path(folder, "certificate.json.gz")
        instance.save(file)
        wrote = timed(lambda: optimum.save_certificate(target))
        spent = timed(lambda: verify.check(*map(verify.read_object, (file, str(target)))))
        size = target.stat().st_size / 1e3
    label = f"certificate, {instance.problem}/{oracle}, {label}"
    yield Row(f"{label}: write", wrote)
    yield Row(f"{label}: verify", spent)
    yield Row(f"{label}: size", size, unit="kB")


def import_time() -> Row:
    """Compare importing the package with importing NumPy."""

    def run(module: str) -> float:
        return median_of(5, lambda: subprocess.run([sys.executable, "-c", f"import {module}"], check=True))

    return Row("import clairvoyant (new process)", run("clairvoyant"), 0.5, "import numpy", run("numpy"))


def peak_memory(prepare: str, job: str) -> tuple[float, float]:
    """Return the peak memory of a new process before and after a job, in GB (Linux reports it in /proc).

    Parameters
    ----------
    prepare, job
        Python code; ``c`` is the package. What is compiled or imported in ``prepare`` is not the job's.
    """
    code = (
        "import re, clairvoyant as c\n"
        "def peak(): return re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1]\n"
        f"{prepare}\n"
        "before = peak()\n"
        f"{job}\n"
        "print(before, peak())\n"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    before, after = (int(kibibytes) * 1024 / 1e9 for kibibytes in out.split())
    return before, after


HEADER = f"{'what':66} {'ours':>11} {'to reach':>9}  times as much as ours takes the rival"


def show(row: Row) -> str:
    """Return one line of the table."""
    target = "" if row.target is None else f"{row.target:.2f}"
    ratio = "" if row.ratio is None else f"{row.ratio:8.1f}x {row.rival}"
    return f"{row.what:66} {row.ours:8.3f} {row.unit:2} {target:>9} {ratio} {row.note}".rstrip()
