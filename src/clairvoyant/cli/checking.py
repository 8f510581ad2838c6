"""``clairvoyant check`` and ``clairvoyant new-policy``."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from . import output as out
from .parts import DONE, FAILED, FILE, Command, as_json, completes, interrupted, policy_names, problem_names


@click.command(
    cls=Command,
    short_help="Check that a policy keeps its contract.",
    example="check my_policy.py:MyPolicy --problem selection",
)
@click.argument("policy", metavar="MODULE:CLASS", shell_complete=completes(policy_names))
@click.option("--problem", shell_complete=completes(problem_names), help="The problem it has to play.")
@as_json
def check(policy: str, problem: str | None, as_json: bool) -> int:
    """Check that a policy keeps its contract: one line per check, and why it fails.

    The policy is a class of your own, MODULE:CLASS or FILE.py:CLASS, whose module is imported, or the name of
    one that is there; settings stand after it, as for `clairvoyant play`. The checks are those of
    clairvoyant.testing.check_policy. The exit status is 1 if one fails.
    """
    from .. import api, locating
    from ..models.base import InputError, things

    own = locating.own(policy) is not None

    def make() -> Any:
        return api.make_policy(policy, None if own else problem)

    plays = getattr(getattr(make(), "traits", None), "problem", problem)
    if problem is not None and plays != problem:
        raise InputError(f"policy: {policy} plays {plays!r}, not {problem!r}")
    rows: list[dict[str, Any]] = []
    with out.progress("check") as report:
        try:
            rows.extend(_rows(make, report))
        except KeyboardInterrupt:
            return interrupted(
                {"policy": policy}, report, as_json, "nothing was saved; the same command begins again"
            )
    failed = sum(not row["passed"] for row in rows)
    if as_json:
        out.print_json({"policy": policy, "passed": not failed, "checks": rows})
        return FAILED if failed else DONE
    out.print_pairs({row["check"]: ": ".join(filter(None, (_verdict(row), row["reason"]))) for row in rows})
    out.line()
    out.line(f"{policy}: {failed or 'none'} of {len(rows)} {things(len(rows), 'checks')} failed")
    return FAILED if failed else DONE


def _verdict(row: Mapping[str, Any]) -> str:
    return "FAIL" if not row["passed"] else "pass in part" if row["reason"] else "pass"


def _rows(make: Callable[[], Any], report: out.Reporter) -> Iterator[dict[str, Any]]:
    """Yield what each check finds; a policy of which nothing can be checked fails the first one alone."""
    from ..testing import CHECKS, PolicyCheckError, UncheckedWarning, policy_checks

    try:
        checks = list(policy_checks(make))
    except PolicyCheckError as error:
        yield {"check": "members", "passed": False, "reason": str(error).removeprefix("members: ")}
        return
    for place, (name, run) in enumerate(checks):
        report(place / len(CHECKS), name)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UncheckedWarning)
            try:
                run()
            except PolicyCheckError as error:
                yield {"check": name, "passed": False, "reason": _reason(name, error)}
                continue
        missing = [str(one.message) for one in caught if issubclass(one.category, UncheckedWarning)]
        yield {"check": name, "passed": True, "reason": "; ".join(missing)}


def _reason(name: str, error: BaseException) -> str:
    """Return why a check failed and, if the policy raised an error, the place."""
    from ..locating import with_place

    text = with_place(error)
    return text.partition(f" fails {name}: ")[2] or text


@click.command(
    cls=Command,
    short_help="Write a policy of your own to start from, and its tests.",
    example="new-policy selection my-policy --out policies",
)
@click.argument("problem", shell_complete=completes(problem_names))
@click.argument("name")
@click.option("--out", "folder", type=FILE, default=".", show_default=True, help="Folder of the files.")
def new_policy(problem: str, name: str, folder: Path) -> int:
    """Write a policy of PROBLEM that plays as it stands, and a test file that checks it.

    NAME is made of words, such as my-policy: the files are my_policy.py and test_my_policy.py, the class is
    MyPolicy. No file is overwritten.
    """
    from ..templates import new_policy as write

    new = write(problem, name, folder)
    out.line(f"{new.policy}: the policy {new.kind}")
    out.line(f"{new.test}: its checks, for pytest")
    out.line(f"next: clairvoyant check {new.policy}:{new.kind}")
    return DONE
