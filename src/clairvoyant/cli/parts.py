"""The common part of the commands: options, completion of names, and exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from . import output as out
from .interrupt import INTERRUPTED

DONE, FAILED, BAD_INPUT, BUG, NO_READER = 0, 1, 2, 3, 141
"""Exit statuses."""

COMPLETE = "_CLAIRVOYANT_COMPLETE"
"""The variable by which a shell asks for completion."""


class Command(click.Command):
    """A command whose help ends with an example."""

    def __init__(self, *args: Any, example: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.example = example

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the example, never wrapped: it is there to be copied."""
        with formatter.section("Example"):
            formatter.write(f"  clairvoyant {self.example}\n")


def completes(names: Callable[[], Iterable[str]]) -> Callable[..., list[Any]]:
    """Return a shell completion from the names that a function lists."""

    def complete(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[Any]:
        return [CompletionItem(name) for name in names() if name.startswith(begun)]

    return complete


def problem_names() -> Iterable[str]:
    """Return the names of all problems."""
    from ..problems import problems

    return problems()


def format_names() -> Iterable[str]:
    """Return the names of the published formats."""
    from ..models.formats import FORMATS

    return FORMATS


def policy_names() -> Iterable[str]:
    """Return the names of all policies."""
    from ..problems import policies

    return policies()


def oracle_names() -> Iterable[str]:
    """Return the names of all oracles."""
    from ..api import list_oracles

    return list_oracles()


class Choice(click.Choice[str]):
    """One of a few names; refuses any other with the likest of them."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name."""
        from ..models.base import did_you_mean

        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            self.fail(error.message.rstrip(".") + did_you_mean(value, map(str, self.choices)), param, ctx)


FILE = click.Path(path_type=Path)
SEED = click.IntRange(0, 2**53 - 1)  # up to here whole numbers are exact


def one_or_more(_context: click.Context, _parameter: click.Parameter, text: str | None) -> Any:
    """Read one number or several with commas between them; what is no number stays the text it is."""
    if text is None:
        return None
    value = read_value(text)
    return [read_value(part) for part in text.split(",")] if isinstance(value, str) and "," in text else value


def read_value(text: str) -> Any:
    """Read a value: JSON, or else a text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
verbosely = click.option("-v", "--verbose", is_flag=True, help="Print all that there is to tell.")
of_problem = click.option("--problem", shell_complete=completes(problem_names), help="Only of this problem.")
of_problems = click.option(
    "--problem",
    "problems",
    multiple=True,
    shell_complete=completes(problem_names),
    help="Only of this problem.",
)
instance_file = click.argument("file", type=FILE)
policy_specs = click.option(
    "--policy",
    "specs",
    shell_complete=completes(policy_names),
    metavar="NAME[:KEY=VALUE,...]",
    multiple=True,
    required=True,
    help="A policy and its settings; may be given several times. See `clairvoyant policies`. "
    "Your own is MODULE:CLASS or FILE.py:CLASS.",
)
run_seeds = click.option(
    "--seeds", type=click.IntRange(1, 10**6), default=1, show_default=True, help="Runs per randomised policy."
)
optimum_limit = click.option(
    "--time-limit",
    type=float,
    help="Seconds for an optimum, whose bound counts; by default as long as its oracle takes.",
)
first_seed = click.option("--seed", type=SEED, default=0, show_default=True, help="The first of the seeds.")
store_file = click.option(
    "--store", type=FILE, help="File of results; by default CLAIRVOYANT_STORE, or one in the user's cache."
)


def stopped(text: str, as_json: bool, **told: Any) -> int:
    """Say that a command was interrupted, and what remains; return the exit status."""
    out.log(f"interrupted{text}")
    if as_json:
        out.print_json({"interrupted": True, **told})
    return INTERRUPTED


def interrupted(described: dict[str, Any], report: out.Reporter, as_json: bool, advice: str) -> int:
    """Report the progress of an interrupted command, and what was saved, or how to get something."""
    reached = f" at {report.fraction:.0%} ({report.note})" if report.note else ""
    out.log(f"interrupted{reached}: {advice}")
    if as_json:
        reached_json = {"fraction": report.fraction, "note": report.note}
        out.print_json(described | {"interrupted": True, "progress": reached_json})
    return INTERRUPTED


def chosen_options(named: dict[str, Any], options: Sequence[str], taken: set[str]) -> dict[str, Any]:
    """Join the options given by their own name and by KEY=VALUE, where a value that is no JSON is a text."""
    chosen = {key: value for key, value in named.items() if value is not None}
    for option in options:
        key, equals, value = option.partition("=")
        key = key.replace("-", "_")
        if not (key and equals):
            raise click.UsageError(f"--option {option}: is not of the form KEY=VALUE")
        if key in taken or key in named:
            other = f", but as --{key.replace('_', '-')}" if key in named else ""
            raise click.UsageError(f"--option {option}: {key} is not given in this way{other}")
        chosen[key] = read_value(value)
    return chosen
