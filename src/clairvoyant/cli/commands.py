"""The command line: ``clairvoyant COMMAND``.

Results go to standard output, everything else to standard error. Exit status: 0 done, 1 a check or claim
failed that was expected to hold, 2 bad input or usage, 3 a bug of ours, 130 interrupted, 141 the reader went
away.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from . import (
    auditing,
    checking,
    comparing,
    importing,
    instances,
    listing,
    playing,
    ranking,
    sweeping,
    training,
)
from . import output as out
from .interrupt import OVER, Interruptible, ctrl_c
from .parts import BAD_INPUT, BUG, COMPLETE, DONE, FAILED, NO_READER, stopped

LONGEST = 2000
"""Most characters of an error message."""


class Commands(click.Group):
    """The commands; if the reader of the output goes away (``| head``), they end quietly."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments, and print the help if they ask for it."""
        with _written(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        with _written(ctx):
            status = super().invoke(ctx)
            sys.stdout.flush()
        return status


@contextmanager
def _written(ctx: click.Context) -> Iterator[None]:
    """End the program where standard output cannot be written."""
    try:
        yield
    except OSError as error:
        if error.errno not in {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}:
            raise
        out.to_nowhere(sys.stdout)
        if error.errno == errno.EPIPE:
            ctx.exit(NO_READER)
        out.log(f"failed: standard output: cannot be written: {error.strerror}")
        ctx.exit(FAILED)


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option("--version", is_flag=True, help="Print the version.")
@click.pass_context
def cli(context: click.Context, version: bool) -> int:
    """Online cluster scheduling: offline optima, online policies, and how far they are from each other."""
    if version:
        from ..api import __version__

        click.echo(f"clairvoyant {__version__}")
        context.exit(DONE)
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(BAD_INPUT)
    return DONE


for _command in (
    *(
        instances.generate,
        instances.solve,
        instances.verify,
        importing.import_table,
        playing.play,
        comparing.compare,
        ranking.leaderboard,
        checking.check,
        checking.new_policy,
        playing.worst_case,
        auditing.audit,
        training.train,
    ),
    *(sweeping.sweep, sweeping.store, listing.warmup, listing.policies, listing.oracles, importing.formats),
    listing.completion,
):
    cli.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    words = sys.argv[1:] if arguments is None else arguments
    with Interruptible(), _quiet_while_completing():
        try:
            status = cli.main(words, prog_name="clairvoyant", complete_var=COMPLETE, standalone_mode=False)
        except (KeyboardInterrupt, click.Abort):
            return _interrupted_somewhere("--json" in words)
        except click.UsageError as error:
            usage = f" (see {error.ctx.command_path} --help)" if error.ctx is not None else ""
            return _refuse(error.format_message() + usage)
        except click.ClickException as error:
            return _refuse(error.format_message())
        except Exception as error:  # noqa: BLE001 - the last resort: report everything, each kind in its own way
            # A library that is interrupted while it loads may say that it is broken.
            return _interrupted_somewhere("--json" in words) if ctrl_c.came else _status_of(error)
    return int(status or DONE)


@contextmanager
def _quiet_while_completing() -> Iterator[None]:
    """Silence warnings while a shell completes: they would appear in the middle of the line being typed."""
    if COMPLETE not in os.environ:
        yield
        return
    import logging

    logger = logging.getLogger("clairvoyant")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def _interrupted_somewhere(as_json: bool) -> int:
    """Report that a command was interrupted before it had any result, or while it printed one."""
    ctrl_c.phase = OVER
    return stopped("", as_json)


def _status_of(error: Exception) -> int:
    """Report an exception and return the exit status that belongs to it."""
    from ..locating import fault
    from ..models.base import ClairvoyantError, InputError
    from ..online.play import ASKED

    asked = vars(error).get(ASKED)
    text = f"{asked}: {error}" if asked else str(error)
    if isinstance(error, InputError):
        return _refuse(text)
    if isinstance(error, MemoryError):
        return _refuse(f"not enough memory: {error}".removesuffix(": "))
    if isinstance(error, ClairvoyantError):
        out.log(f"failed: {_one_line(text)}")
        return FAILED
    if (place := fault(error)) is not None:
        out.log(f"failed: {_one_line(place)}")
        return FAILED
    out.log_lines("".join(traceback.format_exception(error)))
    out.log("error: this is a bug in clairvoyant, not in your input; please report the lines above")
    return BUG


def _refuse(message: str) -> int:
    out.log(f"error: {_one_line(message)}")
    return BAD_INPUT


def _one_line(message: str) -> str:
    """Return a message without line breaks and, where it quotes a long value, without its middle."""
    text = " ".join(message.split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}"
