"""Tables of what sweeps have found: one row per cell, and a summary for people."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .analysis.engine.cells import Answer, State
from .analysis.engine.store import printable
from .intervals import interval_of
from .models.base import InputError, write_whole
from .oracles.base import Optimum, WhyStopped
from .problems import find, rival

if TYPE_CHECKING:
    from pandas import DataFrame

SWEPT = "clairvoyant.sweeping:"
"""What the functions of a sweep's cells begin with."""

WHO = ("problem", "instance", "digest")
WHAT = {
    **dict.fromkeys(
        ("policy", "oracle", "method", "state", "error", "why_stopped", "unit", "source"), "object"
    ),
    **dict.fromkeys(("policy_seed", "attempts", "events", "infeasible"), "Int64"),
    **dict.fromkeys(
        ("seconds", "total", "value", "bound", "gap", "optimum_value", "optimum_bound"), "float64"
    ),
    **dict.fromkeys(("regret_low", "regret_high", "ratio_low", "ratio_high"), "float64"),
    "minimised": "bool",
}
"""Columns that every table has, between the options of instances and what is measured, and their types."""


class Row(NamedTuple):
    """What a table tells of a cell: what it was asked to do, and what became of it."""

    arguments: Mapping[str, Any]
    answer: Answer


def frame_of(rows: Sequence[Row]) -> DataFrame:
    """Return a table with one row per cell; see :func:`.sweeping.results`."""
    import pandas as pd

    optima: dict[tuple[str, str], Mapping[str, Any]] = {}
    for arguments, answer in rows:
        what = _instance(arguments)
        asked = arguments.get("oracle") == rival(arguments["recipe"]["problem"])
        if asked and answer.result is not None and what is not None:
            optima[what] = min(optima.get(what, answer.result), answer.result, key=_gap)
    told = [_told(row, optima) for row in rows]
    names = dict.fromkeys(name for row in told for name in row)
    options = [name for name in names if name.startswith("option.")]
    measures = [name for name in names if name.startswith("measure.")]
    frame = pd.DataFrame(told, columns=[*WHO, *options, *WHAT, *measures])
    return frame.astype(WHAT)


def _instance(arguments: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return what a total and its optimum have in common: instance, and version of its source, if known."""
    known = "digest" in arguments and "version" in arguments
    return (arguments["digest"], arguments["version"]) if known else None


def _gap(solution: Mapping[str, Any]) -> float:
    return math.inf if solution["gap"] is None else float(solution["gap"])


def _told(row: Row, optima: Mapping[Any, Mapping[str, Any]]) -> dict[str, Any]:
    arguments, answer = row
    recipe, result = arguments["recipe"], answer.result or {}
    kind = find(recipe["problem"]).part("instance")
    found = {"problem": recipe["problem"], "minimised": kind.minimised, "unit": kind.unit}
    found |= {f"option.{name}": value for name, value in recipe["options"].items()}
    found |= {name: value for name, value in arguments.items() if name in {*WHO, *WHAT}}
    found |= {"oracle": arguments["asked"]} if "asked" in arguments else {}
    found |= {"state": answer.state.value, "error": answer.error, "attempts": answer.attempts}
    found |= {"seconds": answer.seconds} | {name: value for name, value in result.items() if name in WHAT}
    found |= {f"measure.{name}": value for name, value in result.get("measures", {}).items()}
    if "total" in result and (what := _instance(arguments)) in optima and not result["infeasible"]:
        found |= compared(recipe["problem"], result["total"], optima[what])
    return {name: printable(value) if isinstance(value, str) else value for name, value in found.items()}


def compared(problem: str, total: float, best: Mapping[str, Any]) -> dict[str, Any]:
    """Return the optimum beside a total that was possible, and the interval of its regret or ratio."""
    record = find(problem)
    minimised = record.part("instance").minimised
    optimum: Optimum = Optimum(
        best["value"],
        best["bound"],
        None,
        WhyStopped.of(best["why_stopped"]),
        best["method"],
        best["seconds"],
        minimised=minimised,
        scale=best["scale"],
    )
    found = {"optimum_value": optimum.value, "optimum_bound": optimum.bound}
    low, high = interval_of(problem, total, optimum)
    measure = "ratio" if record.has("ratio") else "regret"
    return found | {f"{measure}_low": low, f"{measure}_high": high}


def summary(frame: DataFrame) -> dict[str, list[dict[str, Any]]]:
    """Return what people want to know first, in ``policies`` one row per policy and problem.

    Each has ``problem``, ``policy``, ``unit``, the number of ``cells`` that are done and of those that have
    ``failed`` or timed out, the mean ``total``, ``measure`` ("ratio", "regret", or None where there is no
    optimum), the means ``low`` and ``high`` of its ends over ``instances``, the number of ``infeasible``
    decisions, whose runs have no such ends, and ``seconds`` per decision. In ``oracles`` each has
    ``problem``, ``oracle``, ``unit``, ``cells``, ``failed``, the mean ``value``, the largest ``gap`` (None if
    some have none), and the mean ``seconds``.
    """
    is_done = frame["state"] == State.DONE.value
    done, rest = frame[is_done], frame[~is_done]
    failed = {who: rest.groupby(["problem", who]).size().to_dict() for who in ("policy", "oracle")}
    policies, oracles = [], []
    for (problem, policy), part in done.groupby(["problem", "policy"], sort=False):
        measure = next((one for one in ("ratio", "regret") if part[f"{one}_low"].notna().any()), None)
        row = {"problem": problem, "policy": policy, "unit": part["unit"].iloc[0], "cells": len(part)}
        row["failed"] = failed["policy"].get((problem, policy), 0)
        row |= {"total": part["total"].mean(), "measure": measure, "low": None, "high": None, "instances": 0}
        row["minimised"] = bool(part["minimised"].iloc[0])
        if measure is not None:
            ends = part.dropna(subset=[f"{measure}_low"]).groupby("digest")[
                [f"{measure}_low", f"{measure}_high"]
            ]
            low, high = ends.mean().mean()
            row |= {"low": float(low), "high": float(high), "instances": len(ends)}
        row["infeasible"] = int(part["infeasible"].sum())
        row["seconds"] = float(part["seconds"].sum() / max(1, part["events"].sum()))
        policies.append(row)
    for (problem, oracle), part in done.groupby(["problem", "oracle"], sort=False):
        row = {"problem": problem, "oracle": oracle, "unit": part["unit"].iloc[0], "cells": len(part)}
        row["failed"] = failed["oracle"].get((problem, oracle), 0)
        row |= {"value": part["value"].mean(), "gap": None if part["gap"].isna().any() else part["gap"].max()}
        oracles.append(row | {"seconds": part["seconds"].mean()})
    return {"policies": policies, "oracles": oracles}


def check_table(path: Path) -> None:
    """Raise before any work is done if a table could not be written to a file of this name.

    That is one that ends neither in .csv nor in .parquet; and without PyArrow the latter.
    """
    if path.suffix not in {".csv", ".parquet"}:
        raise InputError(f"{path}: cannot be written: tables end in .csv or .parquet")
    if path.suffix == ".parquet":
        try:
            import pyarrow as pa  # noqa: F401
        except ModuleNotFoundError as error:
            message = (
                f'{path}: PyArrow is not installed, and Parquet needs it: pip install "clairvoyant[parquet]"'
            )
            raise InputError(message) from error


def write_table(frame: DataFrame, path: Path) -> None:
    """Write a table whole, as CSV or Parquet by its name; refuse what :func:`check_table` does."""
    check_table(path)
    if path.suffix == ".csv":
        write_whole(path, frame.to_csv(index=False).encode())
        return
    stream = io.BytesIO()
    _of_columns(frame).to_parquet(stream, index=False)
    write_whole(path, stream.getvalue())


def _of_columns(frame: DataFrame) -> DataFrame:
    """Return a table in every column of which all values are of one kind, as Parquet wants it.

    Where options are not, such as 3 and "auto", or are lists, they are texts, as in a CSV file.
    """
    mixed = {}
    for name in frame.columns[frame.dtypes == "object"]:
        values = [None if value is None or value != value else value for value in frame[name]]
        kinds = {type(value) for value in values} - {type(None)}
        if not (kinds <= {str} or kinds <= {bool}):
            values = [value if isinstance(value, str | None) else json.dumps(value) for value in values]
        mixed[name] = values
    return frame.assign(**mixed)
