"""Gang instances made as fractional ones are, then split into tasks."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Any

from ..draw import real, whole
from .gang import AllocationGangInstance, generate_gang
from .generate import generate as generate_base
from .instance import AllocationInstance
from .trace import from_trace as base_from_trace

Maker = Callable[..., AllocationGangInstance]


def _also_takes(base: Callable[..., AllocationInstance]) -> Callable[[Maker], Maker]:
    """Say in the signature of a function that its ``**options`` are those of ``base``."""

    def tell(function: Maker) -> Maker:
        own = inspect.signature(function)
        kept = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
        more = [p for p in inspect.signature(base).parameters.values() if p.name not in own.parameters]
        function.__signature__ = own.replace(parameters=[*kept, *more])  # type: ignore[attr-defined]
        return function

    return tell


@_also_takes(generate_base)
def generate(
    size: str = "default",
    seed: int = 0,
    *,
    tasks: int = 2,
    floor: float = 0.5,
    minimum: int | None = None,
    **options: Any,
) -> AllocationGangInstance:
    """Generate a fractional instance and split the demand of its ports; see :func:`.gang.generate_gang`."""
    return _split(generate_base(size, seed, **options), seed, tasks, floor, minimum)


@_also_takes(base_from_trace)
def from_trace(
    folder: str | os.PathLike[str],
    *,
    seed: int = 0,
    tasks: int = 2,
    floor: float = 0.5,
    minimum: int | None = None,
    **options: Any,
) -> AllocationGangInstance:
    """Make a fractional instance from a folder of traces and split the demand of its ports."""
    return _split(base_from_trace(folder, seed=seed, **options), seed, tasks, floor, minimum)


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
