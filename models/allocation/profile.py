"""Facts computed from the traces, carried in ``profile.json`` so that generators run where no traces are.

The file holds counts and rates only, never rows of a trace, and names the source and its terms beside every
fact. Types and classes with fewer than ten members are left out. To renew it::

    python -m clairvoyant.models.allocation.profile FOLDER
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from .. import sources
from ..base import InputError, write_whole
from ..draw import choose
from ..sources import Folder, MachineType, RequestClass

FILE = Path(__file__).with_name("profile.json")
LEAST = 10
"""Machine types and request classes with fewer members than this are left out."""

ABOUT = (
    "Facts computed from public traces by `python -m clairvoyant.models.allocation.profile FOLDER`, each "
    "beside its source and terms. Units: cores; GB (gpu-2023 and dlrm-2025 GiB, v2018 percent of 512 GB); "
    f"cards. Types and classes with fewer than {LEAST} members are left out. by_hour: median arrivals by "
    "hour of the source's clock, hour 0 first, relative to their mean. fano_per_hour: variance / mean."
)


def facts(folder: Folder) -> dict[str, Any]:
    """Compute the profile from a folder of traces."""
    return {
        "about": ABOUT,
        "machines": {name: _machines(folder, name) for name in ("pai-2020", "gpu-2023")},
        "requests": {name: _requests(folder, name) for name in sources.REQUESTS},
        "arrivals": {name: _events(folder, name) for name in ("pai-2020", "google-2011")}
        | {f"{name} requests": _request_arrivals(folder, name) for name in ("gpu-2023", "v2018")},
        "tpu_slices": {
            "source": sources.TPU_SLICES.file,
            "terms": sources.TPU_SLICES.terms,
            "percent_by_chips": {str(k): round(v, 4) for k, v in sorted(sources.tpu_slices(folder).items())},
        },
    }


def text(profile: dict[str, Any]) -> str:
    """Return the profile as JSON with each innermost object or list on one line."""
    lines = json.dumps(profile, indent=1)
    return re.sub(r"[{[][^][{}]*[]}]", lambda found: re.sub(r"\n *", " ", found[0]), lines) + "\n"


@cache
def load() -> dict[str, Any]:
    """Return the built-in profile."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def machine_types(name: str) -> tuple[MachineType, ...]:
    """Return the machine types of a source from the built-in profile, commonest first."""
    known = load()["machines"]
    return tuple(MachineType(**entry) for entry in known[choose(name, known, "machines")]["types"])


def request_classes(name: str) -> tuple[RequestClass, ...]:
    """Return the request classes of a source from the built-in profile, commonest first."""
    known = load()["requests"]
    return tuple(RequestClass(**entry) for entry in known[choose(name, known, "requests")]["classes"])


def by_hour(name: str) -> np.ndarray:
    """Return the arrivals by hour of day of a source relative to their mean, shape (24,)."""
    known = load()["arrivals"]
    return np.array(known[choose(name, known, "pattern")]["by_hour"])


def _head(source: sources.Source) -> dict[str, str]:
    return {"source": source.file, "terms": source.terms}


def _machines(folder: Folder, name: str) -> dict[str, Any]:
    types = sources.machine_types(folder, name)
    return _head(sources.MACHINES[name]) | {
        "machines": sum(item.count for item in types),
        "types": [
            {"name": t.name, "cpu": t.cpu, "memory": t.memory, "gpu": t.gpu, "count": t.count}
            for t in types
            if t.count >= LEAST
        ],
    }


def _requests(folder: Folder, name: str) -> dict[str, Any]:
    classes = sources.requests(folder, name).classes
    return _head(sources.REQUESTS[name]) | {
        "requests": sum(item.count for item in classes),
        "classes": [
            {"cpu": c.cpu, "memory": c.memory, "gpu": c.gpu, "count": c.count}
            for c in classes
            if c.count >= LEAST
        ],
    }


def _events(folder: Folder, name: str) -> dict[str, Any]:
    found = sources.events(folder, name)
    return _head(sources.EVENTS[name]) | _rates(found.time, found.count)


def _request_arrivals(folder: Folder, name: str) -> dict[str, Any]:
    times = sources.requests(folder, name).time
    late = times[times >= np.quantile(times, 0.05)]  # both clocks start with a few stragglers
    return _head(sources.REQUESTS[name]) | _rates(late, np.ones(len(late)))


def _rates(time: np.ndarray, count: np.ndarray) -> dict[str, Any]:
    """Return counts per hour: mean, Fano factor, and the shape over the day (medians over the days)."""
    hours = (time // 3600).astype(np.int64)
    per_hour = np.bincount(hours - hours.min(), weights=count)
    of_day = (np.arange(len(per_hour)) + hours.min()) % 24
    shape = np.array([np.median(per_hour[of_day == h]) if (of_day == h).any() else 0.0 for h in range(24)])
    mean = float(per_hour.mean())
    return {
        "hours": len(per_hour),
        "mean_per_hour": round(mean, 4),
        "fano_per_hour": round(float(per_hour.var()) / mean, 4),
        "by_hour": [round(float(v), 4) for v in shape / shape.mean()],
    }


def main(arguments: Sequence[str]) -> int:
    """Renew the built-in profile, or another file, from a folder of traces."""
    if len(arguments) not in (1, 2):
        print("usage: python -m clairvoyant.models.allocation.profile FOLDER [FILE]", file=sys.stderr)
        return 2
    try:
        target = Path(arguments[1]) if len(arguments) == 2 else FILE
        write_whole(target, text(facts(arguments[0])).encode())
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
