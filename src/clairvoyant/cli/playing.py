"""``clairvoyant play`` and ``clairvoyant worst-case``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import output as out
from . import rendering
from .interrupt import INTERRUPTED
from .parts import (
    DONE,
    FILE,
    SEED,
    Command,
    as_json,
    completes,
    first_seed,
    instance_file,
    interrupted,
    optimum_limit,
    policy_names,
    policy_specs,
    run_seeds,
    verbosely,
)

if TYPE_CHECKING:
    from ..models.base import Instance
    from ..online.play import Run
    from ..oracles.base import Optimum


@click.command(
    cls=Command,
    short_help="Play policies on an instance.",
    example="play instance.json.gz --policy ogasched --policy spreading:quota=0.5",
)
@instance_file
@policy_specs
@run_seeds
@first_seed
@click.option("--no-optimum", is_flag=True, help="Do not compute the optimum, and so no regret or ratio.")
@optimum_limit
@click.option("--isolated", is_flag=True, help="Play every policy in a separate process.")
@verbosely
@click.option(
    "--out",
    "target",
    type=FILE,
    help="File for the runs with the reward of every event: .json, .csv or .parquet.",
)
@as_json
def play(
    file: Path,
    specs: Sequence[str],
    seeds: int,
    seed: int,
    no_optimum: bool,
    time_limit: float | None,
    isolated: bool,
    verbose: bool,
    target: Path | None,
    as_json: bool,
) -> int:
    """Play policies on the instance in FILE and compare them with the optimum.

    Every decision is checked. On one machine the same seed gives the same run; a policy that draws nothing at
    random is played once, whatever --seeds. In the selection problem totals are expected net utilities; what
    such a policy earns still depends on the one sample path of the instance, and other instances have others.
    The comparison is the regret or, for a problem that has a ratio, the optimum divided by the total (where
    totals are costs, the total divided by the optimum).
    """
    from .. import api
    from ..online.play import episode_for
    from ..problems import find
    from ..problems import rival as default_rival

    _check_options(specs, no_optimum, time_limit)
    if target is not None:
        _check_target(target, file)
    instance = api.load(file)
    players = {spec: api.make_policy(spec, instance.problem) for spec in specs}
    described = rendering.instance_facts(file, instance) | {"seeds": list(range(seed, seed + seeds))}
    rendering.remarks(instance)
    problem = find(instance.problem)
    rival = None if no_optimum else default_rival(problem.name)

    optimum: Optimum | None = None
    bounds: dict[str, float] | None = None
    runs: dict[str, list[Run]] = {spec: [] for spec in specs}
    measured: dict[str, list[dict[str, float]]] = {spec: [] for spec in specs}
    interrupted = False
    with out.progress("play") as report:
        try:
            for player in players.values():  # what the instance cannot show is refused before all work
                episode_for(player, instance)
            if rival is not None:

                def solving(_fraction: float, note: str) -> None:
                    report(0.0, f"optimum: {note}")

                optimum = api.solve(instance, rival, time_limit=time_limit, progress=solving)
                bounds = _bounds(instance)
            _play_all(instance, players, described["seeds"], runs, measured, report, isolated)
        except KeyboardInterrupt:
            interrupted = True
            finished = _finished(runs, players, described["seeds"])
            out.log(f"interrupted: finished and printed are the runs of {finished or 'no policy'}")
    if optimum is not None and not problem.has("oracles"):  # what own oracles optimise may be less than all
        for spec in _beyond(runs, optimum):
            out.log(f"warning: {spec} is beyond the bound: the program is not that of the instance")
    described |= {
        "interrupted": interrupted,
        "optimum": None if optimum is None else {"oracle": rival} | optimum.facts,
        "bounds": bounds,
        "policies": {
            spec: rendering.policy_scores(players[spec], finished, optimum, bounds, measured[spec])
            for spec, finished in runs.items()
            if finished
        },
    }
    if target is not None:
        _save(target, described, runs, measured, optimum)
    if as_json:
        out.print_json(described)
    else:
        rendering.print_scores(described, problem.has("ratio"))
        if target is not None:
            out.line(f"all rewards are in {target}")
        rendering.print_instance(described, verbose)
    return INTERRUPTED if interrupted else DONE


def _beyond(runs: Mapping[str, Sequence[Run]], optimum: Optimum) -> list[str]:
    """Return the policies that did better, by feasible decisions alone, than an oracle's bound allows."""
    sign, bound = -1.0 if optimum.minimised else 1.0, optimum.bound
    if bound is None:
        return []
    slack = 1e-9 * abs(bound)
    done = {spec: [run.total for run in of if not run.infeasible] for spec, of in runs.items()}
    return [spec for spec, totals in done.items() if any(sign * (one - bound) > slack for one in totals)]


def _check_options(specs: Sequence[str], no_optimum: bool, time_limit: float | None) -> None:
    if twice := [spec for i, spec in enumerate(specs) if spec in specs[:i]]:
        raise click.UsageError(f"--policy {twice[0]} is given twice")
    if no_optimum and time_limit is not None:
        raise click.UsageError("--time-limit: without an optimum there is nothing to limit")


def _check_target(target: Path, file: Path) -> None:
    """Raise before any work is done if the runs could not be written to a file of this name."""
    from ..models.base import InputError
    from ..tables import check_table

    if target.suffix not in {".json", ".csv", ".parquet"}:
        raise InputError(f"{target}: cannot be written: runs end in .json, .csv or .parquet")
    if target.suffix != ".json":
        check_table(target)
    out.check_writable(target, read=[file])


def _save(
    target: Path,
    described: Mapping[str, Any],
    runs: Mapping[str, Sequence[Run]],
    measured: Mapping[str, Sequence[Mapping[str, float]]],
    optimum: Optimum | None,
) -> None:
    """Write what is told of the runs, with all rewards: one object, or a table with one row per event.

    Its columns are those of :meth:`clairvoyant.Comparison.to_frame`, with ``event`` and ``reward``.
    """
    from ..models.base import write_whole
    from ..tables import write_table

    if target.suffix == ".json":
        policies = {
            spec: scores | {"rewards": [run.rewards for run in runs[spec]]}
            for spec, scores in described["policies"].items()
        }
        write_whole(target, f"{out.json_text({**described, 'policies': policies})}\n".encode())
        return
    import pandas as pd

    from ..analysis.engine.identity import told_of_optimum, told_of_run
    from ..comparing import row_of

    best = None if optimum is None else told_of_optimum(optimum)
    parts = [
        pd.DataFrame(
            {"instance": described["file"], "policy": spec, "digest": run.digest, "seed": run.seed}
            | row_of(run.problem, told_of_run(run, found), best)
            | {"event": range(len(run.rewards)), "reward": run.rewards}
        )
        for spec, done in runs.items()
        for run, found in zip(done, measured[spec] or [{}] * len(done), strict=False)
    ]
    write_table(pd.concat(parts) if parts else pd.DataFrame(), target)


def _finished(runs: Mapping[str, Sequence[Run]], players: Mapping[str, Any], seeds: Sequence[int]) -> str:
    """Say how many runs of which policies are finished."""
    needed = {spec: len(_needed(player, seeds)) for spec, player in players.items()}
    return ", ".join(f"{spec} ({len(done)} of {needed[spec]})" for spec, done in runs.items() if done)


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
    from ..online.play import play as play_one
    from ..problems import find

    problem = find(instance.problem)
    measures = problem.part("measures") if problem.has("measures") else None
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
    from ..problems import find

    problem = find(instance.problem)
    return problem.part("bounds")(instance) if problem.has("bounds") else None


@click.command(
    cls=Command,
    short_help="Search for the arrivals on which a policy has the largest regret.",
    example="worst-case tiny.json --policy ogasched --evaluations 5000 --out worst.json",
)
@instance_file
@click.option(
    "--policy",
    "spec",
    shell_complete=completes(policy_names),
    metavar="NAME[:KEY=VALUE,...]",
    required=True,
    help="A policy and its settings. See `clairvoyant policies`.",
)
@click.option(
    "--evaluations", type=click.IntRange(min=1), default=4096, show_default=True, help="Sequences to try."
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the policy and of the search.")
@click.option("--out", "target", type=FILE, help="File to write the worst instance to.")
@verbosely
@as_json
def worst_case(
    file: Path, spec: str, evaluations: int, seed: int, target: Path | None, verbose: bool, as_json: bool
) -> int:
    """Search for the arrivals on which a policy has the largest regret, for a problem that has such a search.

    The instance in FILE gives the setting and the length. All sequences of 0 and 1 are tried if there are no
    more than --evaluations of them; otherwise a search starts from a few patterns.
    """
    from .. import api
    from ..models.base import InputError, things
    from ..problems import find, problems

    if target is not None:
        out.check_writable(target)
    instance = api.load(file)
    problem = find(instance.problem)
    if not problem.has("worst_case"):
        there = ", ".join(name for name, one in problems().items() if one.has("worst_case"))
        raise InputError(f"{file}: problem: no worst case is searched for {problem.name!r}, but for {there}")
    search = problem.part("worst_case")
    policy = api.make_policy(spec, instance.problem)
    described = rendering.instance_facts(file, instance) | {"policy": spec, "seed": seed}
    with out.progress("worst-case") as report:
        try:
            worst = search(lambda: policy, instance, seed=seed, evaluations=evaluations, progress=report)
        except KeyboardInterrupt:
            return interrupted(
                described, report, as_json, "nothing was saved; with fewer --evaluations it ends earlier"
            )
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
    tried = f"{worst.evaluations:,} {things(worst.evaluations, 'sequences')}"
    found = "the largest there is" if worst.exhaustive else "the largest found"
    out.line(f"{spec}: regret {out.number(worst.regret)}, {found} in {tried}")
    out.line(f"bound on the regret of ogasched, theorem 1: {out.number(worst.bound)}")
    if target is not None:
        out.line(f"the instance with these arrivals is in {target}")
    out.line()
    rendering.print_instance(described, verbose)
    return DONE
