"""``clairvoyant policies``, ``oracles``, ``warmup`` and ``completion``."""

from __future__ import annotations

from dataclasses import asdict

import click
from click.shell_completion import get_completion_class

from . import output as out
from . import rendering
from .parts import COMPLETE, DONE, Choice, Command, as_json, of_problem, stopped


@click.command(cls=Command, short_help="Compile all kernels in advance.", example="warmup")
@click.option("--workers", type=click.IntRange(min=1), help="Processes; by default one per core.")
@as_json
def warmup(workers: int | None, as_json: bool) -> int:
    """Compile all kernels that this machine has not compiled yet, in several processes.

    Otherwise a kernel is compiled at its first use; compile time counts towards no limit or measurement.
    """
    from .._warmup import warm_up

    with out.progress("warmup") as report:
        try:
            warmth = warm_up(workers, report)
        except KeyboardInterrupt:
            return stopped(f" ({report.note or 'at the beginning'}): what was compiled is kept", as_json)
    if as_json:
        out.print_json(asdict(warmth))
    else:
        out.line(f"compiled {warmth.compiled} kernels, loaded {warmth.loaded}, in {warmth.seconds:.1f} s")
    return DONE


@click.command(cls=Command, short_help="List the policies.", example="policies --problem allocation")
@of_problem
@as_json
def policies(problem: str | None, as_json: bool) -> int:
    """List the policies: what each sees before it decides, its settings, its guarantee and its source."""
    from ..api import policy_table
    from ..problems import also_seen

    rows = policy_table(problem)
    if as_json:
        out.print_json({"policies": rows})
        return DONE
    for row in rows:
        settings = rendering.settings_text(row.settings)
        out.entry(
            f"{row.name} ({row.problem})",
            [
                rendering.without_markup(row.summary),
                f"sees before deciding, besides what all see: {also_seen(row.problem, row.sees)}",
                f"settings: {settings}" if settings else "",
                f"guarantee: {row.guarantee} ({row.proven})" if row.proven else "",
                f"source: {row.source}" if row.source else "",
            ],
        )
    return DONE


@click.command(cls=Command, short_help="List the oracles.", example="oracles --problem allocation")
@of_problem
@as_json
def oracles(problem: str | None, as_json: bool) -> int:
    """List the oracles: what each computes, by which methods, and what its bound rests on."""
    from ..api import list_oracles

    entries = list_oracles(problem)
    if as_json:
        rows = [
            {
                "name": name,
                "problem": entry.problem,
                "description": entry.description,
                "methods": entry.methods,
                "settings": rendering.settings_of(entry.function),
                "guarantee": entry.guarantee,
            }
            for name, entry in entries.items()
        ]
        out.print_json({"oracles": rows})
        return DONE
    for name, entry in entries.items():
        out.entry(
            f"{name} ({entry.problem})",
            [
                entry.description,
                f"methods: {', '.join(entry.methods)}" if entry.methods else "",
                f"settings: {rendering.settings_text(rendering.settings_of(entry.function))}",
                f"the bound: {entry.guarantee}",
            ],
        )
    return DONE


@click.command(
    cls=Command,
    short_help="Print the script for shell completion.",
    example='completion bash > ~/.clairvoyant && echo ". ~/.clairvoyant" >> ~/.bashrc',
)
@click.argument("shell", type=Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print the script that teaches a SHELL to complete commands, options and names."""
    kind, whole = get_completion_class(shell), click.get_current_context().find_root().command
    if kind is None:
        raise click.UsageError(f"click knows no completion for {shell}")
    click.echo(kind(whole, {}, "clairvoyant", COMPLETE).source())
    return DONE
