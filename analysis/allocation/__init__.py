"""Claims of the OGASched paper: the projection, the regret, gangs, and every table and figure."""

from __future__ import annotations

from ...models.allocation.generate import generate
from ...models.allocation.instance import AllocationInstance
from ..claim import Table
from .claims import CLAIMS as CLAIMS


def describe(instance: AllocationInstance) -> tuple[object, ...]:
    """Return one row of facts about an instance: sizes, density, contention, horizon, origin."""
    s = instance.setting
    binding = float((s.server_demand > s.capacity).mean())
    sizes = (s.ports, s.servers, s.kinds, len(s.edges), round(s.density, 2))
    return (*sizes, round(100 * binding, 1), s.slots, instance.digest(), str(instance.origin))


def facts(mode: str, seed: int) -> list[Table]:
    """Return the facts about the instances that the claims start from."""
    sizes = ("tiny", "default") if mode == "quick" else ("tiny", "default", "large")
    shape = ("size", "ports", "servers", "kinds", "edges", "ports per server")
    columns = (*shape, "rows where capacity can bind (%)", "slots", "digest", "origin")
    rows = tuple((size, *describe(generate(size, seed))) for size in sizes)
    return [Table("Generated allocation instances", columns, rows)]
