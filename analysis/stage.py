"""What a leaderboard is played on: a fixed public set of instances, kept as recipes with their digests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Family:
    """Instances of one kind.

    Attributes
    ----------
    name
        What tables call it.
    options
        What ``generate`` takes, or ``from_trace``, for all of them.
    digests
        How the digest of each instance begins: whose generator makes other instances plays another game.
    each
        The option in which they differ, and its value for each; by default seeds 0, 1, and so on.
    trace
        Whether ``from_trace`` makes them.
    """

    name: str
    options: Mapping[str, Any]
    digests: Sequence[str]
    each: tuple[str, Sequence[Any]] | None = None
    trace: bool = False

    def recipes(self) -> Iterator[tuple[str, dict[str, Any], str]]:
        """Yield the name, the options and the beginning of the digest of each instance."""
        varied, values = self.each or ("seed", range(len(self.digests)))
        for value, digest in zip(values, self.digests, strict=True):
            yield f"{self.name}, {varied} {value}", {**self.options, varied: value}, digest


@dataclass(frozen=True)
class Stage:
    """The families of a problem, and who plays on them.

    Attributes
    ----------
    families
        The instances; each family counts alike if they are of one size.
    also
        Policies with settings that play besides every policy of the problem by its defaults.
    without
        Policies that do not play, each with the reason.
    only
        Policies that play in one family alone, each with its name and the reason.
    time_limit
        Seconds for each optimum; ``None`` where all are proved.
    total
        What a total is, in words; names in braces are fields of the file of an instance.
    fixed
        Whether the optimum is held in every slot, so that policies may earn more.
    """

    families: Sequence[Family]
    also: Sequence[str] = ()
    without: Mapping[str, str] = field(default_factory=dict)
    only: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    time_limit: float | None = None
    total: str = ""
    fixed: bool = False
