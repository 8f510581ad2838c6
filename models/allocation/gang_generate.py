"""Gang instances made as fractional ones are, then split into tasks."""

from __future__ import annotations

import os
from typing import Any, Unpack

from ..draw import real, takes, whole
from .gang import AllocationGangInstance, generate_gang
from .generate import GenerateOptions
from .generate import generate as generate_base
from .instance import AllocationInstance
from .trace import TraceOptions
from .trace import from_trace as base_from_trace


@takes(GenerateOptions)
def generate(
    size: str = "default",
    seed: int = 0,
    *,
    tasks: int = 2,
    floor: float = 0.5,
    minimum: int | None = None,
    **options: Unpack[GenerateOptions],
) -> AllocationGangInstance:
    """Generate a fractional instance and split the demand of its ports; see :func:`.gang.generate_gang`."""
    return _split(generate_base(size, seed, **options), seed, tasks, floor, minimum)


@takes(TraceOptions)
def from_trace(
    folder: str | os.PathLike[str],
    *,
    tasks: int = 2,
    floor: float = 0.5,
    minimum: int | None = None,
    **options: Unpack[TraceOptions],
) -> AllocationGangInstance:
    """Make a fractional instance from a folder of traces and split the demand of its ports."""
    return _split(base_from_trace(folder, **options), options["seed"], tasks, floor, minimum)


def _split(
    base: AllocationInstance, seed: int, tasks: Any, floor: Any, minimum: Any
) -> AllocationGangInstance:
    return generate_gang(
        base,
        seed,
        tasks=whole("tasks", tasks, 1),
        floor=real("floor", floor, 0.0, 1.0),
        minimum=None if minimum is None else whole("minimum", minimum, 0),
    )
