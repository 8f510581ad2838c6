"""The command line: ``clairvoyant COMMAND``.

Results go to standard output, everything else to standard error. Exit status: 0 done, 1 a check or claim
failed that was expected to hold, 2 bad input or usage, 3 a bug of ours, 130 interrupted, 141 the reader went
away.
"""

from __future__ import annotations

import errno
import json
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from . import _output as out
from . import _tell as tell
from ._interrupt import INTERRUPTED, OVER, Interruptible, ctrl_c

if TYPE_CHECKING:
    from .models.base import Instance
    from .online.placement.learned.training import Progress
    from .online.play import Run
    from .oracles.base import Optimum

LONGEST = 2000
"""Most characters of an error message."""

DONE, FAILED, BAD_INPUT, BUG, NO_READER = 0, 1, 2, 3, 141


class Command(click.Command):
    """A command whose help ends with an example."""

    def __init__(self, *args: Any, example: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.example = example

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the example, never wrapped: it is there to be copied."""
        with formatter.section("Example"):
            formatter.write(f"  clairvoyant {self.example}\n")


def _completes(names: Callable[[], Iterable[str]]) -> Callable[..., list[Any]]:
    """Let the shell complete a text from the names that a function lists."""

    def complete(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[Any]:
        return [CompletionItem(name) for name in names() if name.startswith(begun)]

    return complete


def _problems() -> Iterable[str]:
    from ._rooms import INSTANCES

    return INSTANCES


def _policy_names() -> Iterable[str]:
    from ._front import list_policies

    return list_policies()


def _oracle_names() -> Iterable[str]:
    from ._front import list_oracles

    return list_oracles()


FILE = click.Path(path_type=Path)
SEED = click.IntRange(0, 2**53 - 1)  # up to here whole numbers are exact


def _one_or_more(_context: click.Context, _parameter: click.Parameter, text: str | None) -> Any:
    """Read one number or several with commas between them; what is no number stays the text it is."""
    if text is None:
        return None
    value = _read(text)
    return [_read(part) for part in text.split(",")] if isinstance(value, str) and "," in text else value


def _read(text: str) -> Any:
    """Read a value: JSON, or else a text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
of_problem = click.option("--problem", shell_complete=_completes(_problems), help="Only of this problem.")
instance_file = click.argument("file", type=FILE)


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
    """Online cluster scheduling: what was possible, what was done, and how far apart they are."""
    if version:
        from ._front import __version__

        click.echo(f"clairvoyant {__version__}")
        context.exit(DONE)
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(BAD_INPUT)
    return DONE


@cli.command(
    cls=Command,
    short_help="Make an instance and write it to a file.",
    example="generate allocation --size default --seed 1 --slots 500 --out instance.json.gz",
)
@click.argument("problem", shell_complete=_completes(_problems))
@click.option("--size", help="tiny, default or large.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Decides every draw.")
@click.option("--trace", type=FILE, help="Folder of traces to make the instance from.")
@click.option("--slots", type=int, help="Length of the horizon; admission: see --horizon.")
@click.option("--ports", type=int, help="Number of ports, where jobs arrive.")
@click.option("--servers", type=int, help="Number of servers.")
@click.option(
    "--density",
    type=float,
    help="allocation: mean number of ports per server. selection: probability that a port and a server are "
    "joined by a channel.",
)
@click.option("--arrival-probability", type=float, help="Of a job per port and slot.")
@click.option(
    "--capacity",
    callback=_one_or_more,
    metavar="NUMBER[,NUMBER...]",
    help="selection: devices in the cluster, one number for all kinds or one for each. selection-gang: the "
    "fewest and the most on a server.",
)
@click.option("--utility", help="allocation: linear, log, reciprocal, poly or mix.")
@click.option(
    "--contention", type=float, help="allocation: multiplies all demands. placement: eta of the slowdown."
)
@click.option("--jobs", type=int, help="admission, placement: number of jobs.")
@click.option("--horizon", type=int, help="admission: number of slots.")
@click.option(
    "--fit", help="admission: draw every job until it is feasible or short; or any, as drawn first."
)
@click.option("--cluster", help="placement: small, medium or large (8, 16, 32 machines) for the same jobs.")
@click.option("--rho", type=float, help="placement: load on the small cluster.")
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

    A problem is allocation, selection, allocation-gang, selection-gang, admission or placement. The instance
    is synthetic or, with --trace, made from a folder of traces. What is real in it and what is filled in is
    stored in the file and printed with every result.
    """
    from . import _front

    out.check_writable(target)
    chosen = _chosen(named, options, {"problem", "folder", "seed"})
    try:
        if trace is None:
            instance = _front.generate(problem, seed=seed, **chosen)
        else:
            instance = _front.from_trace(problem, trace, seed=seed, **chosen)
        instance.save(target)
    except KeyboardInterrupt:
        out.log(f"interrupted: {target} was not written")
        return INTERRUPTED
    described = tell.instance_facts(target, instance)
    tell.remarks(instance)
    if as_json:
        out.print_json(described)
    else:
        tell.print_instance(described)
    return DONE


@cli.command(
    cls=Command,
    short_help="Compute what was possible.",
    example="solve instance.json.gz --oracle stationary --gap 1e-8",
)
@instance_file
@click.option(
    "--oracle", metavar="NAME", shell_complete=_completes(_oracle_names), help="See `clairvoyant oracles`."
)
@click.option("--gap", type=float, help="Relative gap between value and bound to stop at.")
@click.option("--time-limit", type=float, help="Seconds after which to stop with what is held.")
@click.option("--method", help="Solver or method, where the oracle has several.")
@click.option("--option", "options", multiple=True, metavar="KEY=VALUE", help="Any other option, by name.")
@click.option("--out", "target", type=FILE, help="File to write the decision to, as JSON.")
@as_json
def solve(
    file: Path, oracle: str | None, options: Sequence[str], target: Path | None, as_json: bool, **named: Any
) -> int:
    """Compute the best that was possible for the instance in FILE, with a certified bound."""
    from . import _front

    if target is not None:
        out.check_writable(target)
    chosen = _chosen(named, options, {"instance", "oracle", "progress"})
    instance = _front.load(file)
    name = _front.oracle_name(instance.problem, oracle)
    described = tell.instance_facts(file, instance) | {"oracle": name}
    tell.remarks(instance)
    with out.progress(name) as report:
        try:
            optimum = _front.solve(instance, name, progress=report, **chosen)
        except KeyboardInterrupt:
            return _interrupted(described, report, as_json, "with --time-limit you get what is held by then")
    found = tell.decision_facts(instance, optimum)
    described |= tell.optimum_facts(optimum) | found
    if target is not None:
        _write_decision(target, described, optimum)
    if as_json:
        out.print_json(described)
    else:
        tell.print_instance(described)
        tell.print_optimum(name, described, described["unit"])
        tell.print_decision(found)
    return DONE


@cli.command(
    cls=Command,
    short_help="Play policies on an instance.",
    example="play instance.json.gz --policy ogasched --policy spreading:quota=0.5",
)
@instance_file
@click.option(
    "--policy",
    "specs",
    shell_complete=_completes(_policy_names),
    metavar="NAME[:KEY=VALUE,...]",
    multiple=True,
    required=True,
    help="A policy and its settings; may be given several times. See `clairvoyant policies`.",
)
@click.option(
    "--seeds", type=click.IntRange(1, 10**6), default=1, show_default=True, help="Runs per randomised policy."
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="The first of the seeds.")
@click.option("--no-optimum", is_flag=True, help="Do not compute the optimum, and so no regret or ratio.")
@click.option("--time-limit", type=float, help="Seconds for the optimum; then its bound is what counts.")
@click.option("--isolated", is_flag=True, help="Play every policy in a process of its own.")
@as_json
def play(
    file: Path,
    specs: Sequence[str],
    seeds: int,
    seed: int,
    no_optimum: bool,
    time_limit: float | None,
    isolated: bool,
    as_json: bool,
) -> int:
    """Play policies on the instance in FILE and compare them with what was possible.

    Every decision is checked. On one machine the same seed gives the same run; a policy that draws nothing at
    random is played once, whatever --seeds. In the selection problem totals are expected net utilities; what
    such a policy earns still depends on the luck of the instance's one sample path, and other instances have
    others.
    In the admission problem the comparison is the optimum divided by the total, in the placement problem,
    where totals are costs, the total divided by the optimum, in the others the regret.
    """
    from . import _front, _rooms

    for i, spec in enumerate(specs):
        if spec in specs[:i]:
            raise click.UsageError(f"--policy {spec} stands twice")
    instance = _front.load(file)
    players = {spec: _front.make_policy(spec, instance.problem) for spec in specs}
    described = tell.instance_facts(file, instance) | {"seeds": list(range(seed, seed + seeds))}
    tell.remarks(instance)
    rival = None if no_optimum else _rooms.RIVALS.get(instance.problem)
    by_ratio = instance.problem in _rooms.RATIOS

    optimum: Optimum | None = None
    bounds: dict[str, float] | None = None
    runs: dict[str, list[Run]] = {spec: [] for spec in specs}
    measured: dict[str, list[dict[str, float]]] = {spec: [] for spec in specs}
    interrupted = False
    with out.progress("play") as report:
        try:
            for player in players.values():  # what the instance cannot show is refused before all work
                instance.episode(player.traits.sees)
            if rival is not None:
                solving = partial(_tell_of_optimum, report)
                optimum = _front.solve(instance, rival, time_limit=time_limit, progress=solving)
                bounds = _bounds(instance)
            _play_all(instance, players, described["seeds"], runs, measured, report, isolated)
        except KeyboardInterrupt:
            interrupted = True
            finished = ", ".join(
                f"{spec} ({len(done)} of {len(_needed(players[spec], described['seeds']))})"
                for spec, done in runs.items()
                if done
            )
            out.log(f"interrupted: finished and printed are the runs of {finished or 'no policy'}")
    ratio = _rooms.find(instance.problem, _rooms.RATIOS) if by_ratio else None
    described |= {
        "interrupted": interrupted,
        "optimum": None if optimum is None else {"oracle": rival} | tell.optimum_facts(optimum),
        "bounds": bounds,
        "policies": {
            spec: tell.policy_scores(players[spec], finished, optimum, bounds, ratio, measured[spec])
            for spec, finished in runs.items()
            if finished
        },
    }
    if as_json:
        out.print_json(described)
    else:
        tell.print_instance(described)
        tell.print_scores(described, by_ratio)
    return INTERRUPTED if interrupted else DONE


def _tell_of_optimum(report: out.Reporter, _fraction: float, note: str) -> None:
    report(0.0, f"optimum: {note}")


def _needed(player: Any, seeds: Sequence[int]) -> Sequence[int]:
    """Return the seeds to play with: the first alone where seeds change nothing."""
    return seeds if player.traits.randomised else seeds[:1]


def _play_all(
    instance: Instance,
    players: dict[str, Any],
    seeds: Sequence[int],
    runs: dict[str, list[Run]],
    measured: dict[str, list[dict[str, float]]],
    report: out.Reporter,
    isolated: bool,
) -> None:
    """Play every policy with every seed it needs; append what is finished to ``runs`` and ``measured``."""
    from . import _rooms
    from .online.play import play as play_one

    problem = instance.problem
    measures = _rooms.find(problem, _rooms.MEASURES) if problem in _rooms.MEASURES else None

    cells = [(spec, seed) for spec in players for seed in _needed(players[spec], seeds)]
    # where the instance knows how many there will be
    events = getattr(instance.setting, "slots", getattr(instance.setting, "horizon", None))
    for done, (spec, seed) in enumerate(cells):
        note = f"{spec}, seed {seed}"

        def step(event: int, done: int = done, note: str = note) -> None:
            part = event / events if events else 0.0
            report((done + part) / len(cells), f"{note}, event {event}")

        enforce = players[spec].traits.feasible
        keep = measures is not None
        run = play_one(
            players[spec],
            instance,
            seed,
            keep_decisions=keep,
            enforce=enforce,
            progress=step,
            isolated=isolated,
        )
        if measures is not None:
            measured[spec].append(measures(instance, run.decisions))
        runs[spec].append(replace(run, decisions=None))
        report.finished(f"{note}: total {out.number(run.total)} in {run.seconds:.3g} s")


def _bounds(instance: Instance) -> dict[str, float] | None:
    from . import _rooms

    if instance.problem not in _rooms.BOUNDS:
        return None
    bounds: dict[str, float] = _rooms.find(instance.problem, _rooms.BOUNDS)(instance)
    return bounds


@cli.command(
    cls=Command,
    short_help="Search the arrivals on which a policy regrets most.",
    example="worst-case tiny.json --policy ogasched --evaluations 5000 --out worst.json",
)
@instance_file
@click.option(
    "--policy",
    "spec",
    shell_complete=_completes(_policy_names),
    metavar="NAME[:KEY=VALUE,...]",
    required=True,
    help="A policy and its settings. See `clairvoyant policies`.",
)
@click.option(
    "--evaluations", type=click.IntRange(min=1), default=4096, show_default=True, help="Sequences to try."
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Decides the policy and the search.")
@click.option("--out", "target", type=FILE, help="File to write the worst instance to.")
@as_json
def worst_case(file: Path, spec: str, evaluations: int, seed: int, target: Path | None, as_json: bool) -> int:
    """Search the arrivals on which a policy regrets most; only for allocation.

    The instance in FILE gives the setting and the length. All sequences of 0 and 1 are tried if there are no
    more than --evaluations of them; otherwise a search starts from a few patterns.
    """
    from . import _front, _rooms
    from .models.base import InputError, things

    if target is not None:
        out.check_writable(target)
    instance = _front.load(file)
    if instance.problem not in _rooms.WORST_CASES:
        there = ", ".join(_rooms.WORST_CASES)
        raise InputError(
            f"{file}: problem: no worst case is searched for {instance.problem!r}, but for {there}"
        )
    search = _rooms.find(instance.problem, _rooms.WORST_CASES)
    policy = _front.make_policy(spec, instance.problem)
    described = tell.instance_facts(file, instance) | {"policy": spec, "seed": seed}
    with out.progress("worst-case") as report:
        try:
            worst = search(lambda: policy, instance, seed=seed, evaluations=evaluations, progress=report)
        except KeyboardInterrupt:
            return _interrupted(described, report, as_json, "with fewer --evaluations it ends earlier")
    if target is not None:
        worst.instance.save(target)
    described |= {
        "regret": worst.regret,
        "bound": worst.bound,
        "exhaustive": worst.exhaustive,
        "evaluations": worst.evaluations,
        "worst_digest": worst.instance.digest(),
        "arrivals": worst.instance.arrivals,
    }
    if as_json:
        out.print_json(described)
        return DONE
    tell.print_instance(described)
    tried = f"{worst.evaluations:,} {things(worst.evaluations, 'sequences')}"
    found = "the largest there is" if worst.exhaustive else "the largest found"
    out.line(f"{spec}: regret {out.number(worst.regret)}, {found} in {tried}")
    out.line(f"bound on the regret, theorem 1: {out.number(worst.bound)}")
    if target is not None:
        out.line(f"the instance with these arrivals is in {target}")
    return DONE


@cli.command(
    cls=Command,
    short_help="Check every claim and write the report.",
    example="audit --problem allocation --quick --out reports",
)
@click.option(
    "--problem", "problems", multiple=True, shell_complete=_completes(_problems), help="Only of this problem."
)
@click.option("--claim", "claims", multiple=True, metavar="ID", help="Only this claim.")
@click.option("--quick", is_flag=True, help="A smoke test, on small instances.")
@click.option("--full", is_flag=True, help="The paper's sizes, however long that takes.")
@click.option(
    "--out", "folder", type=FILE, help="Folder; by default reports, or reports/claims with --claim."
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Decides everything random.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes; by default one per core.")
@as_json
def audit(
    problems: Sequence[str],
    claims: Sequence[str],
    quick: bool,
    full: bool,
    folder: Path | None,
    seed: int,
    workers: int | None,
    as_json: bool,
) -> int:
    """Check every claim of the papers, print the verdicts and write index.html into a folder.

    The exit status is 1 if a verdict differs from the expected one. An interrupted audit goes on where it
    stopped when the same command is given again.
    """
    from ._front import list_oracles
    from .analysis.audit import AuditInterrupted, all_claims, choose, instance_facts, run_audit
    from .analysis.report import write_report
    from .online import policy_table

    if quick and full:
        raise click.UsageError("--quick and --full exclude each other")
    choose(problems, claims, all_claims())  # refuses unknown names before a folder is made
    mode = "quick" if quick else "full" if full else "default"
    if folder is None:
        folder = Path("reports/claims" if claims else "reports")
    out.check_folder(folder)
    with out.progress("audit", every_note=True) as report:
        try:
            results = run_audit(
                problems=problems or None,
                claims=claims or None,
                mode=mode,
                out=folder,
                seed=seed,
                workers=workers,
                progress=report,
            )
        except AuditInterrupted as stopped:
            out.log(f"interrupted: {stopped}")
            if as_json:
                out.print_json({"interrupted": True, "saved": stopped.saved, "total": stopped.total})
            return INTERRUPTED
        report(1.0, "writing the report")
        page = write_report(
            folder,
            results,
            mode=mode,
            seed=seed,
            facts=instance_facts(results, mode, seed),
            policies=policy_table(),
            oracles=list_oracles(),
        )
    passed = all(claim.as_expected(finding) for claim, finding in results)
    if as_json:
        out.print_json(
            {
                "passed": passed,
                "mode": mode,
                "seed": seed,
                "report": str(page),
                "claims": tell.claim_facts(results),
            }
        )
    else:
        tell.print_claims(results)
        out.line(f"report: {page}")
    return DONE if passed else FAILED


@cli.command(
    cls=Command,
    short_help="Train the networks of a learned scheduler.",
    example="train plan.toml --seed 1",
)
@click.argument("file", type=FILE, metavar="PLAN")
@click.option("--out", "folder", type=FILE, help="Folder; by default reports/training/NAME-SEED.")
@click.option("--seed", type=SEED, help="Decides every draw, in the place of that of the plan.")
@as_json
def train(file: Path, folder: Path | None, seed: int | None, as_json: bool) -> int:
    """Train the networks of a learned scheduler by the PLAN, a TOML file, and test them.

    docs/training.md describes plans and what is written into the folder. An interrupted training goes on
    where it stopped when the same command is given again; one that is finished is not repeated.
    """
    from . import _front

    plan = _front.read_plan(file, seed)
    from .online.placement.learned import training

    if folder is None:
        folder = Path("reports/training") / f"{file.stem}-{plan.seed}"
    out.check_folder(folder)
    total, done = plan.training.iterations, training.iterations_done(plan, folder)
    if done == total:
        out.log("note: every iteration is done: nothing is trained again")
    elif done:
        out.log(f"note: goes on after iteration {done} of {total} in {folder}")
    with out.progress("train") as report:

        def follow(told: Progress) -> None:
            nonlocal done
            done = told.iteration
            note = tell.training_note(told)
            report(done / total, note)
            if told.validation is not None:
                report.finished(note)

        try:
            result = training.train(plan, folder, follow)
        except KeyboardInterrupt:
            saved = f"after iteration {done} of {total}, saved in {folder}; the same command goes on from it"
            out.log(
                f"interrupted {saved if done else 'before anything was saved; the same command begins anew'}"
            )
            if as_json:
                out.print_json(
                    {"interrupted": True, "folder": str(folder), "iteration": done, "iterations": total}
                )
            return INTERRUPTED
    described = tell.training_facts(folder, result)
    if as_json:
        out.print_json(described)
    else:
        tell.print_training(described)
    return DONE


def _interrupted(described: dict[str, Any], report: out.Reporter, as_json: bool, advice: str) -> int:
    """Say how far a command came that has nothing to print or save yet."""
    reached = f" at {report.fraction:.0%} ({report.note})" if report.note else ""
    out.log(f"interrupted{reached}: nothing was saved; {advice}")
    if as_json:
        reached_json = {"fraction": report.fraction, "note": report.note}
        out.print_json(described | {"interrupted": True, "progress": reached_json})
    return INTERRUPTED


def _chosen(named: dict[str, Any], options: Sequence[str], taken: set[str]) -> dict[str, Any]:
    """Join the options given by their own name and by KEY=VALUE, where a value that is no JSON is a text."""
    chosen = {key: value for key, value in named.items() if value is not None}
    for option in options:
        key, equals, value = option.partition("=")
        key = key.replace("-", "_")
        if not (key and equals):
            raise click.UsageError(f"--option {option}: is not of the form KEY=VALUE")
        if key in taken or key in named:
            raise click.UsageError(f"--option {option}: {key} is not given in this way")
        chosen[key] = _read(value)
    return chosen


def _write_decision(target: Path, described: dict[str, Any], optimum: Optimum) -> None:
    from .models.base import write_whole

    text = json.dumps(out.plain(described | {"decision": optimum.decision}), allow_nan=False)
    write_whole(target, text.encode() + b"\n")


@cli.command(cls=Command, short_help="Compile all kernels, so that nobody waits later.", example="warmup")
@click.option("--workers", type=click.IntRange(min=1), help="Processes; by default one per core.")
@as_json
def warmup(workers: int | None, as_json: bool) -> int:
    """Compile all kernels that this machine has not compiled yet, in several processes.

    Kernels are compiled when they are first used otherwise; no time limit and no measured time counts that.
    """
    from ._warmup import warm_up

    with out.progress("warmup") as report:
        try:
            warmth = warm_up(workers, report)
        except KeyboardInterrupt:
            out.log(f"interrupted ({report.note or 'at the beginning'}): what was compiled is kept")
            if as_json:
                out.print_json({"interrupted": True})
            return INTERRUPTED
    if as_json:
        out.print_json(asdict(warmth))
    else:
        out.line(f"compiled {warmth.compiled} kernels, loaded {warmth.loaded}, in {warmth.seconds:.1f} s")
    return DONE


@cli.command(cls=Command, short_help="List the policies.", example="policies --problem allocation")
@of_problem
@as_json
def policies(problem: str | None, as_json: bool) -> int:
    """List the policies: what each sees before it decides, its guarantee and its settings."""
    from .online import policy_table

    rows = policy_table(problem)
    if as_json:
        out.print_json({"policies": rows})
        return DONE
    out.print_table(
        ["policy", "problem", "sees before deciding", "settings and defaults", "guarantee"],
        [
            (
                row.name,
                row.problem,
                ", ".join(row.sees) or "nothing",
                tell.settings_text(row.settings),
                f"{row.guarantee} ({row.proven})" if row.proven else row.guarantee,
            )
            for row in rows
        ],
    )
    out.line()
    out.print_pairs({row.name: tell.without_markup(row.summary) for row in rows})
    return DONE


@cli.command(cls=Command, short_help="List the oracles.", example="oracles --problem allocation")
@of_problem
@as_json
def oracles(problem: str | None, as_json: bool) -> int:
    """List the oracles: what each computes, by which methods, and what its bound rests on."""
    from ._front import list_oracles

    entries = list_oracles(problem)
    if as_json:
        rows = [
            {
                "name": name,
                "problem": entry.problem,
                "description": entry.description,
                "methods": entry.methods,
                "settings": tell.settings_of(entry.function),
                "guarantee": entry.guarantee,
            }
            for name, entry in entries.items()
        ]
        out.print_json({"oracles": rows})
        return DONE
    out.print_table(
        ["oracle", "problem", "what is optimised", "methods", "settings and defaults"],
        [
            (
                name,
                entry.problem,
                entry.description,
                ", ".join(entry.methods),
                tell.settings_text(tell.settings_of(entry.function)),
            )
            for name, entry in entries.items()
        ],
    )
    out.line()
    out.print_pairs({name: f"the bound: {entry.guarantee}" for name, entry in entries.items()})
    return DONE


@cli.command(
    cls=Command,
    short_help="Print the script for shell completion.",
    example='completion bash > ~/.clairvoyant && echo ". ~/.clairvoyant" >> ~/.bashrc',
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print the script that teaches a SHELL to complete commands, options and names."""
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"click knows no completion for {shell}")
    click.echo(kind(cli, {}, "clairvoyant", "_CLAIRVOYANT_COMPLETE").source())
    return DONE


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    words = sys.argv[1:] if arguments is None else arguments
    with Interruptible():
        try:
            status = cli.main(
                words, prog_name="clairvoyant", complete_var="_CLAIRVOYANT_COMPLETE", standalone_mode=False
            )
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


def _interrupted_somewhere(as_json: bool) -> int:
    """Say that a command was interrupted before it had anything to tell, or while it printed that."""
    ctrl_c.phase = OVER
    out.log("interrupted")
    if as_json:
        out.print_json({"interrupted": True})
    return INTERRUPTED


def _status_of(error: Exception) -> int:
    """Report an exception and return the exit status that belongs to it."""
    from .models.base import ClairvoyantError, InputError

    if isinstance(error, InputError):
        return _refuse(str(error))
    if isinstance(error, MemoryError):
        return _refuse(f"not enough memory: {error}")
    if isinstance(error, ClairvoyantError):
        out.log(f"failed: {_one_line(str(error))}")
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
