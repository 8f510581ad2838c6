"""What is claimed of the two policies, and how it is checked."""

from pathlib import Path

import clairvoyant as cv
from clairvoyant.analysis.claim import Claim, Context, Finding, Table, Verdict, holds_if

from .instance import JOB, JobAssignment, generate
from .policies import Greedy, Prices, guarantee

PLACES = (1, 4, 16, 64)


def ladder(places: int, steps: int = 40, worth: float = 500.0) -> JobAssignment:
    """Return jobs of one slot whose values rise from 1 to ``worth``, as many of each as there are places."""
    values = [worth ** (step / (steps - 1)) for step in range(steps) for _ in range(places)]
    jobs = [dict(zip(JOB, (0, 1, value, [0]), strict=True)) for value in values]
    return JobAssignment(machines=[places], slots=1, density=1.0, worth=worth, jobs=jobs)


def check_prices(context: Context) -> Finding:
    """Measure optimum / total on random instances and on ladders, the worst that are known."""
    size, seeds = context.pick(("tiny", 3), ("default", 5), ("default", 40))
    rows = []
    for places in PLACES:
        instances = [ladder(places), *(generate(size, context.seed + s, places=places) for s in range(seeds))]
        ratios = [cv.solve(one, gap=1e-3).bound / cv.play(Prices(), one).total for one in instances]
        parts = [ratio / guarantee(one.setting) for ratio, one in zip(ratios, instances, strict=True)]
        rows.append((places, max(ratios), guarantee(instances[0].setting), max(parts)))
        context.progress(len(rows) / len(PLACES))
    table = Table("Optimum / total", ("places", "at most", "promised for ladders", "part of it"), tuple(rows))
    text = "At most {1:.1f} with {0} places on each machine, where {2:.1f} is guaranteed.".format(*rows[-1])
    return Finding(holds_if(all(row[-1] <= 1.0 for row in rows)), text, tables=(table,))


def check_greedy(_: Context) -> Finding:
    """Measure optimum / total on a job worth 1 and then one worth 1000, or any number, for one place."""
    instance = cv.load(Path(__file__).with_name("greedy-trap.json"))
    ratio = cv.solve(instance).value / cv.play(Greedy(), instance).total
    text = f"The optimum is {ratio:.0f} times what greedy earns."
    return Finding(holds_if(ratio <= 100.0), text, counterexample=instance)


CLAIMS = (
    Claim(
        "job-assignment/prices",
        "Awerbuch, Azar and Plotkin 1993",
        "Prices that grow exponentially with the load lose no more than a logarithmic factor.",
        "The bound of the declared program over what is earned, on random jobs and rising ladders.",
        Verdict.HOLDS,
        check_prices,
    ),
    Claim(
        "job-assignment/greedy",
        "folklore",
        "Accepting whatever fits loses no more than a factor of 100.",
        "One instance; it may be any factor.",
        Verdict.REFUTED,
        check_greedy,
    ),
)
