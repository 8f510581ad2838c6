"""``clairvoyant generate``, ``clairvoyant solve`` and ``clairvoyant verify``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import output as out
from . import parts, rendering
from .interrupt import INTERRUPTED
from .parts import DONE, FAILED, FILE, SEED, Command, as_json, completes

if TYPE_CHECKING:
    from ..oracles.base import Optimum


class Generate(Command):
    """The command ``generate``, whose options are those of the problems."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the options that are always there, and those that the problems offer by name."""
        params = super().get_params(ctx)
        return [*params[:4], *_offered(), *params[4:]]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the problems there are, and then the options."""
        from ..problems import problems

        with formatter.section("Problems"):
            formatter.write_dl([(name, problem.summary) for name, problem in problems().items()])
        super().format_options(ctx, formatter)


@cache
def _offered() -> list[click.Parameter]:
    """Return the options that the problems offer, with what each means for which."""
    from ..problems import problems

    meanings: dict[str, dict[str, list[str]]] = {}
    kinds: dict[str, type] = {}
    for problem in problems().values():
        for name, option in problem.options.items():
            kinds.setdefault(name, option.kind)
            meanings.setdefault(name, {}).setdefault(option.help, []).append(problem.name)
    return [_option(name, kinds[name], meanings[name]) for name in meanings]


def _option(name: str, kind: type, meanings: dict[str, list[str]]) -> click.Parameter:
    text = " ".join(f"{', '.join(where)}: {meaning}" for meaning, where in meanings.items())
    flag = f"--{name.replace('_', '-')}"
    if kind is list:
        return click.Option([flag], callback=parts.one_or_more, metavar="NUMBER[,NUMBER...]", help=text)
    return click.Option([flag], type=kind, help=text)


@click.command(
    cls=Generate,
    short_help="Make an instance and write it to a file.",
    example="generate allocation --size default --seed 1 --slots 500 --out instance.json.gz",
)
@click.argument("problem", shell_complete=completes(parts.problem_names))
@click.option("--size", help="tiny, default or large.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of all draws.")
@click.option("--trace", type=FILE, help="Folder of traces to make the instance from.")
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="KEY=VALUE",
    help="Any other option, by name, lists as [1,10]; a wrong one lists all.",
)
@click.option("--out", "target", type=FILE, required=True, help="File to write; gzipped if it ends in .gz.")
@as_json
def generate(
    problem: str,
    seed: int,
    trace: Path | None,
    options: Sequence[str],
    target: Path,
    as_json: bool,
    **named: Any,
) -> int:
    """Make an instance of a PROBLEM and write it to a file.

    The instance is synthetic or, with --trace, made from a folder of traces. What is real in it and what is
    filled in is stored in the file and printed with every result.
    """
    from .. import api

    out.check_writable(target)
    chosen = parts.chosen_options(named, options, {"problem", "folder", "seed"})
    try:
        if trace is None:
            instance = api.generate(problem, seed=seed, **chosen)
        else:
            instance = api.from_trace(problem, trace, seed=seed, **chosen)
        instance.save(target)
    except KeyboardInterrupt:
        out.log(f"interrupted: {target} was not written")
        return INTERRUPTED
    described = rendering.instance_facts(target, instance)
    rendering.remarks(instance)
    if as_json:
        out.print_json(described)
    else:
        out.line(f"written to {target}")
        out.line()
        rendering.print_instance(described)
    return DONE


@click.command(
    cls=Command,
    short_help="Compute the offline optimum.",
    example="solve instance.json.gz --oracle stationary --gap 1e-8",
)
@parts.instance_file
@click.option(
    "--oracle",
    metavar="NAME",
    shell_complete=completes(parts.oracle_names),
    help="See `clairvoyant oracles`.",
)
@click.option("--gap", type=float, help="Relative gap between value and bound to stop at.")
@click.option(
    "--time-limit", type=float, help="Seconds after which to stop, with the incumbent and its bound."
)
@click.option("--method", help="Solver or method, where the oracle has several.")
@click.option("--option", "options", multiple=True, metavar="KEY=VALUE", help="Any other option, by name.")
@click.option("--out", "target", type=FILE, help="File to write the decision to, as JSON.")
@click.option(
    "--certificate", type=FILE, help="File to write the proof to, for `clairvoyant verify`; .gz packs it."
)
@click.option("--vipr", type=FILE, help="Folder to write the proofs of 0/1 programs to, in the VIPR format.")
@parts.verbosely
@as_json
def solve(
    file: Path,
    oracle: str | None,
    options: Sequence[str],
    target: Path | None,
    certificate: Path | None,
    vipr: Path | None,
    verbose: bool,
    as_json: bool,
    **named: Any,
) -> int:
    """Compute the offline optimum of the instance in FILE, with a certified bound."""
    from .. import api
    from ..oracles.base import certificate_writer, vipr_writer

    for path in (target, certificate):
        if path is not None:
            out.check_writable(path, read=[file])
    chosen = parts.chosen_options(named, options, {"instance", "oracle", "progress"})
    instance = api.load(file)
    name = api.oracle_name(instance.problem, oracle)
    entry = api.list_oracles(instance.problem)[name]
    if certificate is not None:  # refused before all work
        certificate_writer(instance.problem, name, entry.writer)
    if vipr is not None:
        vipr_writer(instance.problem, name, entry.vipr)
    described = rendering.instance_facts(file, instance) | {"oracle": name}
    rendering.remarks(instance)
    with out.progress(name) as report:
        saved, advice = list[str](), "with --time-limit you get the incumbent"
        if named["time_limit"] is not None:
            advice = "with a shorter --time-limit you get the incumbent sooner"
        try:
            optimum = api.solve(instance, name, progress=report, **chosen)
            found = rendering.decision_facts(instance, optimum)
            described |= optimum.facts | found
            if target is not None:  # before what may take long, too
                _write_decision(target, described, optimum)
                saved.append(f"the decision is in {target}")
            if certificate is not None:
                advice = "no certificate was written; without --certificate you get the optimum"
                report.begins("making the certificate")
                optimum = optimum.save_certificate(certificate)
                saved.append(f"the proof is in {certificate}")
            if vipr is not None:
                advice = f"the proofs in {vipr} are not complete"
                report.begins("making the proofs in the VIPR format")
                described["vipr"] = [str(path) for path in optimum.save_vipr(vipr)]
        except KeyboardInterrupt:
            advice = f"{', '.join(saved) or 'nothing was saved'}; {advice}"
            return parts.interrupted(described, report, as_json, advice)
    described |= optimum.facts
    if optimum.statement is not None:
        described["certificate"] = {"file": str(certificate), **optimum.statement.claims}
    if target is not None:
        _write_decision(target, described, optimum)
    if as_json:
        out.print_json(described)
    else:
        rendering.print_optimum(name, described, described["unit"])
        rendering.print_decision(found)
        if target is not None:
            out.line(f"the decision is in {target}")
        if certificate is not None:
            out.line(f"certificate: {optimum.told()[1]['certificate']}")
            out.line(f"the proof is in {certificate}; see `clairvoyant verify --help`")
        if vipr is not None:
            out.line(f"{len(described['vipr'])} proofs in the VIPR format are in {vipr}")
        out.line()
        rendering.print_instance(described, verbose)
    return DONE


@click.command(
    cls=Command,
    short_help="Check the proof of an optimum, without a solver.",
    example="verify instance.json.gz certificate.json.gz",
)
@parts.instance_file
@click.argument("certificate", type=FILE)
@as_json
def verify(file: Path, certificate: Path, as_json: bool) -> int:
    """Check the CERTIFICATE of an optimum of the instance in FILE, in exact arithmetic.

    Nothing is trusted but this check, one file, `verify.py`, that needs Python's standard library alone. Exit
    status: 0 accepted, 1 rejected, 2 not a certificate or not an instance.
    """
    from .. import api
    from ..models.base import InputError
    from ..verify import RejectedError, UnreadableError, check, read_object

    try:
        statement = check(read_object(str(file)), read_object(str(certificate)))
    except UnreadableError as error:
        if error.__cause__ is not None:  # if it is the instance that is malformed, this names the field
            api.load(file)
        raise InputError(str(error)) from error
    except RejectedError as error:
        if as_json:
            out.print_json({"accepted": False, "reason": str(error)})
        else:
            out.line(f"rejected: {error}")
        return FAILED
    if as_json:
        out.print_json({"accepted": True, **statement._asdict()})
    else:
        for text in statement.lines:
            out.line(text)
    return DONE


def _write_decision(target: Path, described: dict[str, Any], optimum: Optimum) -> None:
    from ..models.base import write_whole

    text = json.dumps(out.plain(described | {"decision": optimum.decision}), allow_nan=False)
    write_whole(target, text.encode() + b"\n")
