"""Runs of trained networks: which trainings there are, how they play, and comparisons over both seeds.

Two things are random: the jobs, and the training. A comparison says what both leave open: it pairs the means
over all trainings by trace, and it has an interval over the training seeds of both designs. What decides is
said at :func:`contest`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import wraps
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from ....models.base import InputError
from ....online.placement import POLICIES
from ....online.placement.learned import checkpoint, policies
from ....online.placement.learned.plan import EVOLUTION, TEST, VALIDATION, Training
from ...claim import Check, Context, Finding, Table, Verdict, finding, table
from ...experiments import SEEDS_APART, seeds
from ...statistics import mean_interval
from ...study import Fact, Judged, Said, Statement, Test, counted, judge, middle, settled, signs_of
from .. import experiments as runs
from ..experiments import FEE, FIFO_C, HEURISTICS, JCT, NOTE, SJF_C, Contender, Setup, excess
from .evaluation import BUDGETS
from .ours import PATIENT

FEWEST = 2
"""Trainings of a design without which nothing is said about it: of one, the spread cannot be seen."""

PAPER = ("da", "da-mc", "da-rwgp", "das", "dl2", "rifling")  # the designs of the paper that learn
ABLATIONS = ("das", "da", "da-mc", "da-rwgp")  # those trained by the settings of Appendix D, too
LITERAL = "das-literal"
SJF_E = Contender("SJF-Estimate-Consolidate", "sjf-estimate-consolidate")
SJF_P = Contender("SJF-Estimate-Patient", "sjf-estimate-patient")
BYLOAD = Contender("DRF-ByLoad", "drf-byload")

RULES = {who.label: who for who in (*HEURISTICS, FIFO_C, PATIENT, BYLOAD, SJF_C, SJF_E, SJF_P, *BUDGETS)}
"""The policies that are not trained; those that search are played in full mode alone."""

MEASURES = {"JCT": JCT, "fee": FEE}
BEST_FIRST = (Verdict.HOLDS, Verdict.UNDETERMINED, Verdict.NOT_REPRODUCED)
BELOW = {True: "below", False: "not below", None: "open"}

PAPER_JOBS = 16_000
"""From how many jobs the networks of the paper learned; how often from each, it does not say."""

PASSES = {60: "long", 150: "hours"}
"""Over as many jobs, of longer trainings by the printed settings, and how these end."""

APPENDIX_D = {"hidden": 64, "discount": 0.98, "entropy": 0.03, "learning_rate": 0.0001, "jobs": 1000}
APPENDIX_D["reward_limit"] = 1_000_000  # that is, none
"""What it prints: hidden units, gamma, weight of the entropy, learning rate, jobs of an episode; no cut."""

RULE = (
    "All comparisons that the statement names are corrected together (Holm). The p of one is that of a t "
    "test whose variance is that over traces and those over the trainings of both (Satterthwaite)."
)

TITLE = (
    "mean difference with its 95 % interval (t) of means over the seeds of the networks, paired over {} "
    "instances; whether it is surely below, if that is judged; the least and the largest mean difference of "
    f"a seed, and how many are below. {NOTE}"
)
HEADS = "policies | " + " | ".join(
    f"{word} {of}" for word in MEASURES for of in ("(%)", "surely", "by seed (%)", "ahead")
)

OUTCOMES = "das outcomes "
"""What the name of DAS with outcomes in its process begins with; their weight follows."""

ESTIMATES = 0.5
"""Standard deviation of the logarithm of the error of the estimates that the networks were trained with."""


@dataclass(frozen=True)
class Group:
    """Networks of one design, one per training seed; or a policy that is not trained, alone."""

    label: str
    members: tuple[Contender, ...]
    files: tuple[Path, ...] = ()

    def __len__(self) -> int:
        return len(self.members)

    @property
    def brief(self) -> bool:
        """Whether any of its networks is on record with no more than one pass over the paper's jobs."""
        known = records() if self.files else {}
        return any(known.get(one.stem, {"jobs": 0})["jobs"] <= PAPER_JOBS for one in self.files)

    def plan(self) -> dict[str, Any]:
        """Return the settings by which its networks were trained, as far as their files tell."""
        told = checkpoint.read(self.files[0]).get("plan") if self.files else None
        if not told:
            return {}
        plan = {**told["design"], **told["jobs"], **asdict(Training(**told["training"]))}
        if "optima" in told:
            plan["optima"] = "{instances} of {jobs} jobs, {machines} machines".format_map(told["optima"])
        return plan


def records() -> dict[str, Any]:
    """Return what is on record of trainings, by the name of the file: jobs learned from, learning curve."""
    file = policies.SHIPPED / "curves.json"
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else {}


def changes(mine: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Return in which settings a plan is another, with what the other one has in brackets."""
    differ = (key for key in other if mine and mine.get(key, "-") != other[key])
    return ", ".join(f"{key.replace('_', ' ')} {mine.get(key, '-')} ({other[key]})" for key in differ)


def told(groups: Iterable[Group]) -> str:
    """Return which networks decide nothing, and which settings differ from Appendix D, as paragraphs."""
    texts = defaultdict(list)
    for one in groups:
        if one.brief:
            why = f"No record of more than the {PAPER_JOBS:,} jobs of the paper, once each, to learn from"
            texts[f"{why}, so that nothing is decided"].append(one)
        plan = one.plan()
        if plan.get("method") == EVOLUTION:
            texts["Found by evolution, which has none of the settings of Appendix D"].append(one)
        elif differ := changes(plan, APPENDIX_D):
            texts[f"Settings unlike those of Appendix D, {differ}"].append(one)
    return "\n\n".join(f"{text}: {', '.join(one.label for one in of)}." for text, of in texts.items())


def group_of(name: str, context: Context) -> Group:
    """Return what a name stands for: a rule, alone; networks before any training; or trained ones."""
    if name in RULES:
        return Group(name, (RULES[name],))
    if name.startswith(OUTCOMES):
        weight = ("outcomes", float(name.removeprefix(OUTCOMES)))
        of = trained("das", context)
        told = (replace(m, label=f"{m.label}, {name}", settings=(*m.settings, weight)) for m in of.members)
        return Group(name, tuple(told), of.files)
    if name.startswith("untrained "):
        return untrained(name.removeprefix("untrained "), context.pick(2, 5, 10))
    return trained(name, context)


def trained(name: str, context: Context) -> Group:
    """Return the trained networks of a name; those without a policy of their own are played as DA+MC."""
    found, files = [], []
    for n in policies.members(name)[: FEWEST if context.quick else None]:
        files.append(policies.SHIPPED / f"{name}-{n}.npz")
        as_file = "da-mc", ("checkpoint", str(files[-1]))
        policy, setting = (name, ("member", n)) if name in POLICIES else as_file
        found.append(Contender(f"{name} {n}", policy, (setting,)))
    return Group(name, tuple(found), tuple(files))


def untrained(design: str, count: int) -> Group:
    """Return networks of a design as they are before training, by so many seeds."""
    label, known = f"untrained {design}", ("design", design)
    seeded = (Contender(f"{label} {n}", "untrained", (known, ("seed", n))) for n in range(count))
    return Group(label, tuple(seeded))


def lacking(groups: Iterable[Group]) -> Finding | None:
    """Return the finding that there are too few trainings, if there are of any of these."""
    few = [f"{one.label} ({len(one)})" for one in groups if len(one) < FEWEST and one.label not in RULES]
    if not few:
        return None
    headline = f"At least {FEWEST} trainings of each design are needed to tell it from its seed."
    return finding(Verdict.NOT_CHECKABLE, headline, remark=f"There are too few networks of {', '.join(few)}.")


def with_networks(*names: str, readings: bool = False) -> Callable[[Callable[..., Finding]], Check]:
    """Hand a check the trained networks of these names, and no instance by which they were chosen or tested.

    With ``readings``, instead of those of a name all of :func:`readings_of` it. Where there are too few
    trainings of a name the finding says so.
    """

    def wrap(check: Callable[..., Finding]) -> Check:
        @wraps(check)
        def run(context: Context) -> Finding:
            every = [of for name in names for of in (readings_of(name) if readings else [name])]
            groups = [trained(name, context) for name in every]
            return lacking(groups) or check(held_out(context), *groups)

        return run

    return wrap


def learned(who: Contender) -> policies.Learned:
    """Return the policy of a contender whose networks decide."""
    policy = who.make()
    if not isinstance(policy, policies.Learned):
        raise InputError(f"{who.label}: {who.policy} has no networks")
    return policy


def values(group: Group, setup: Setup, sampled: Sequence[int], measure: str) -> np.ndarray:
    """Return a measure of each training on each instance, shape (members, seeds)."""
    return np.array([runs.samples(who, setup, sampled, measure) for who in group.members])


@dataclass(frozen=True)
class Versus:
    """Trainings of one design and those of a rival, in per cent above the mean of theirs on each instance.

    Both of shape (members, seeds). One less another is by how much further ours are above theirs.
    """

    ours: np.ndarray
    theirs: np.ndarray

    def __sub__(self, other: Versus) -> Versus:
        return Versus(self.ours - other.ours, self.theirs - other.theirs)

    @property
    def gap(self) -> np.ndarray:
        """How far each training is above the mean of theirs; what is less than 1e-9 is rounding."""
        return np.round(self.ours - self.theirs.mean(0), 9)

    @property
    def p(self) -> float:
        """The p of the mean gap being 0, which varies over the traces and over the trainings of both."""
        trainings = [one.mean(1) for one in (self.ours, self.theirs) if len(one) >= FEWEST]
        return _p_of(float(self.gap.mean()), self.gap.mean(0), *trainings)

    def row(self, sign: str) -> list[str]:
        """Return mean and interval over the traces, a sign, the ends of the trainings, how many are below."""
        mean, low, high = mean_interval(self.gap.mean(0))
        by_seed = self.gap.mean(1)
        ahead = f"{(by_seed < 0.0).sum()} of {len(by_seed)}" if len(by_seed) > 1 else "-"
        return [f"{mean:+.2f} [{low:+.2f}, {high:+.2f}]", sign, ends(by_seed, 2, "+"), ahead]


@dataclass(frozen=True)
class Below(Statement):
    """A statement that one is below another, of how far it is on each trace; the trainings count, too."""

    p: Mapping[str, float] = field(default_factory=dict)
    """That of :attr:`Versus.p`, by reading."""

    def tests(self, scenario: str) -> list[Test]:
        """Return one test; none where all traces are equal, so that nothing is below."""
        lead = self.samples[scenario]
        small = bool(lead.mean() > 0.0)
        return [Test(self.p[scenario], small, None) if lead.any() else Test(None, False, False)]


def compare(ours: np.ndarray, theirs: np.ndarray) -> Versus:
    """Compare values of shape (members, seeds), in per cent of the mean of theirs on each seed."""
    return Versus(*(excess(one, theirs.mean(0)) for one in (ours, theirs)))


def _p_of(mean: float, *effects: np.ndarray) -> float:
    """Return p of a mean being 0 whose variance is the sum of those of several means (Satterthwaite 1946).

    It is 1 if the mean is 0 or there are too few samples of an effect, else 0 if nothing varies.
    """
    from scipy.special import stdtr

    many = np.array([len(one) for one in effects])
    if mean == 0.0 or many.min() < 2:
        return 1.0
    parts = np.array([one.var(ddof=1) for one in effects]) / many
    if not parts.any():
        return 0.0
    freedom = parts.sum() ** 2 / (parts**2 / (many - 1)).sum()
    return float(2.0 * stdtr(freedom, -abs(mean) / parts.sum() ** 0.5))


def by_settings(names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return by which other networks names are to be replaced in each reading of how they were trained.

    By our settings; by those of Appendix D; and by these with more passes over as many jobs as the paper has.
    What is compared among DAS and its ablations has learned from as much: there are such networks of all.
    """
    found: dict[str, dict[str, str]] = {"our settings": {}}
    printed = {name: f"{name}-settings" for name in names if name in ABLATIONS}
    if printed and all(len(policies.members(name)) >= FEWEST for name in printed.values()):
        found["settings of Appendix D"] = printed
        for passes, ending in PASSES.items():
            if len(kept := longer(printed, ending)) == len(printed):
                found[f"settings of Appendix D, {passes} passes"] = kept
    return found


def by_load(names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the readings of the load at which designs of the paper were trained: rho 0.8, and rho 2.

    The latter once more with several times the jobs, if there are such networks of all named designs that are
    DAS or its ablations: what is compared among these has learned from as much.
    """
    loaded = {name: f"{name}-loaded" for name in names if name in PAPER}
    found, kept = {"trained at rho 0.8": {}, "at rho 2": loaded}, longer(loaded)
    fair = kept and {*ABLATIONS} & {*loaded} <= {*kept}
    return found | ({"at rho 2, for longer": loaded | kept} if fair else {})


def by_passes(names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the readings of how many jobs there are to learn from: as in the paper, or ten times as many."""
    kept = longer({name: name for name in names if name == LITERAL})
    return {"16,000 jobs": {}} | ({"160,000 jobs": kept} if kept else {})


def by_jobs(names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the readings of how many jobs networks learned from by our settings: 96,000, or four times that.

    The latter if there are such networks of all that learned.
    """
    learners = {name: name for name in names if name not in RULES}
    kept = longer(learners)
    return {"96,000 jobs": {}} | ({"384,000 jobs": kept} if len(kept) == len(learners) else {})


def readings_of(design: str) -> list[str]:
    """Return the names of networks of a design, by all settings, numbers of jobs and loads of trainings."""
    reads = (of for read in (by_settings, by_jobs, by_load) for of in read([design]).values())
    return [*dict.fromkeys(by.get(design, design) for by in reads)]


def longer(by: Mapping[str, str], ending: str = "long") -> dict[str, str]:
    """Return by which networks of longer trainings names are replaced, where there are enough of these."""
    long = {name: f"{of}-{ending}" for name, of in by.items()}
    return {name: of for name, of in long.items() if len(policies.members(of)) >= FEWEST}


def contest(
    context: Context,
    what: str,
    pairs: Sequence[str],
    places: Callable[[Context], Mapping[str, Setup]] | None = None,
    *,
    beside: Sequence[str] = (),
    settings: Callable[[Iterable[str]], dict[str, dict[str, str]]] | None = None,
    either: bool = False,
    many: int = 5,
    further: Iterable[tuple[str, str, str]] = (),
    most: str = "",
    shown: Callable[[Context], Sequence[Table]] = lambda _context: (),
    remark: str = "",
) -> Finding:
    """Judge whether the first of each pair, "one - other", is below the second, on unseen jobs.

    The statement names these pairs in JCT and fee, or in one: "one - other: fee". All its comparisons, at all
    places and in all readings, are one family, corrected after Holm; the p of each is :attr:`Versus.p`. The
    verdict is that of :func:`...study.settled`: "holds" if all are surely below in every reading, "not
    reproduced" if one is surely not in every reading, else "undetermined". What has networks that are
    :attr:`Group.brief` decides nothing: neither a reading of which all have those, if there is another one,
    nor a comparison; if all have, nothing is judged.

    ``what`` begins the headline. Pairs ``beside`` are shown alone. ``settings`` says by which other networks
    to replace names in each reading of how they were trained. ``further`` has a measure and two places: at
    one the first pair is further below than at the other. Of the measure ``most`` the statement speaks at
    most of the places, an odd number. With ``either`` the verdict is the best of those on each first one.
    """
    context = held_out(context)
    slow = () if context.mode == "full" else [who.label for who in BUDGETS]
    named = [one.partition(": ")[::2] for one in pairs if one.split(" - ")[1] not in slow]
    every = list(dict.fromkeys([*(pair for pair, _only in named), *beside]))
    reads = settings([name for pair in every for name in pair.split(" - ")]) if settings else {"": {}}
    duels = {
        (name, pair): [by.get(one, one) for one in pair.split(" - ")]
        for (name, by), pair in product(reads.items(), every)
    }
    groups = {name: group_of(name, context) for both in duels.values() for name in both}
    if few := lacking(groups.values()):
        return few
    setups = places(context) if places else {"Small, rho 0.8": base_setup(context)}
    sampled = traces(context, many)
    found = _played(context, duels, groups, setups, sampled)
    brief = {name for name, group in groups.items() if group.brief}
    decisive = _decisive(reads, every, brief)

    def say(pair: str, where: str, measure: str, *places: str) -> Said:
        says = f"{where}: {pair}, {measure}"
        if any(one in brief for name in decisive for one in duels[name, pair]):
            return Fact(says, "trained too briefly", None)
        at = {name: [found[name, pair, place, measure] for place in places] for name in decisive}
        gaps = {name: of[0] - of[1] if of[1:] else of[0] for name, of in at.items()}
        lead = {name: -of.gap.mean(0) for name, of in gaps.items()}
        return Below(says, lead, "%", p={name: of.p for name, of in gaps.items()})

    said = [
        say(pair, place, measure, place)
        for place, (pair, only), measure in product(setups, named, MEASURES)
        if only in ("", measure)
    ]
    said += [say(every[0], f"further at {a} than {b}", measure, a, b) for measure, a, b in further]
    judged = judge(said, decisive)
    signs = signs_of(judged, decisive)
    at_places = [f"{place}: {every[0]}, {most}" for place in setups]
    some = [one for one in judged if one.says in at_places]
    final = [*(one for one in judged if one not in some), *([middle(some)] if some else [])]
    none_counts = all(isinstance(one, Fact) for one in said)
    parts = _by_first(judged, every) if either else {"comparisons": judged}
    return finding(
        min(map(settled, parts.values() if either else [final]), key=BEST_FIRST.index),
        f"{what}: {'trained too briefly to decide' if none_counts else _counts(parts)}.",
        {"instances": len(sampled), "jobs": next(iter(setups.values())).jobs, **counted(final)},
        *_tables(duels, found, setups, signs, len(sampled)),
        *shown(context),
        small=context.quick,
        assumes="\n\n".join(filter(None, (RULE, told(groups.values())))),
        remark=remark,
        signs={} if none_counts else signs,
    )


def _by_first(judged: Sequence[Judged], pairs: Iterable[str]) -> dict[str, list[Judged]]:
    """Return what is said of each of the first of the pairs, if anything is, by its name in brackets."""
    names = dict.fromkeys(pair.split(" - ")[0] for pair in pairs)
    parts = {f"({name})": [one for one in judged if f": {name} - " in one.says] for name in names}
    return {name: part for name, part in parts.items() if part}


def _counts(parts: Mapping[str, Sequence[Judged]]) -> str:
    """Return in how many comparisons of each part one is ahead, and in how many not."""
    signs = {name: [sign for one in part for sign in one.signs] for name, part in parts.items()}
    if not any({*of} - {None} for of in signs.values()):
        return f"our samples decide none of {sum(map(len, signs.values()))} comparisons"
    ahead = " and ".join(f"{of.count(True)} of {len(of)} {name}" for name, of in signs.items())
    behind = " and ".join(str(of.count(False)) for of in signs.values())
    return f"surely ahead in {ahead}, surely not in {behind}"


def _played(
    context: Context,
    duels: Mapping[tuple[str, str], Sequence[str]],
    groups: Mapping[str, Group],
    places: Mapping[str, Setup],
    sampled: Sequence[int],
) -> dict[tuple[str, str, str, str], Versus]:
    """Return what each pair in each reading came to at each place, in each measure."""
    players = [who for group in groups.values() for who in group.members]
    runs.play_all(context, product(players, places.values()), sampled)
    return {
        (*duel, place, measure): compare(*(values(groups[one], setup, sampled, of) for one in both))
        for duel, both in duels.items()
        for (place, setup), (measure, of) in product(places.items(), MEASURES.items())
    }


def _decisive(
    reads: Mapping[str, Mapping[str, str]], every: Iterable[str], brief: set[str]
) -> Mapping[str, Mapping[str, str]]:
    """Return the readings of whose networks none is brief, or all if there is no such one."""
    judged = {name for pair in every for name in pair.split(" - ")} & {*ABLATIONS, LITERAL}
    known = {read: by for read, by in reads.items() if not brief & {by.get(one, one) for one in judged}}
    return known or reads


def _tables(
    duels: Mapping[tuple[str, str], Sequence[str]],
    found: Mapping[tuple[str, str, str, str], Versus],
    places: Iterable[str],
    signs: Mapping[str, Mapping[str, bool | None]],
    many: int,
) -> list[Table]:
    """Return a table of each place: how far pairs are apart, and whether the first is surely below."""
    tables = []
    for place in places:
        rows = {}
        for (name, pair), both in duels.items():
            cells = [" - ".join(both)]
            for measure in MEASURES:
                sign = signs.get(f"{place}: {pair}, {measure}")
                known = BELOW[sign[name]] if sign and name in sign else "-"
                cells += found[name, pair, place, measure].row(known)
            rows[cells[0]] = cells
        tables.append(table(f"{place}: {TITLE.format(many)}", HEADS, rows.values()))
    return tables


def base_setup(context: Context) -> Setup:
    """Return Small at rho 0.8, with as many jobs as the mode says."""
    return Setup(context.pick(20, 60, 1000))


def traces(context: Context, many: int = 5) -> range:
    """Return the instance seeds of a comparison, so many in the default mode."""
    return seeds(context, 3, many, 20)


def ends(found: np.ndarray, digits: int, sign: str = "") -> str:
    """Return the least and the largest number of the trainings as text; a dash for one alone."""
    if len(found) == 1:
        return "-"
    return f"{found.min():{sign}.{digits}f} to {found.max():{sign}.{digits}f}"


def held_out(context: Context) -> Context:
    """Return a context whose instances are none of those by which networks were chosen or tested."""
    if SEEDS_APART * (context.seed + 1) <= VALIDATION:
        return context
    return replace(context, seed=context.seed + TEST)
