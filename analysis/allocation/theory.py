"""Claims about the model and the regret: Definition 1, Theorem 1, its proof, and what is said to follow."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...models.allocation import geometry, utility
from ...models.allocation.generate import generate
from ...models.allocation.instance import AllocationInstance
from ...models.allocation.setting import Feedback, Observation
from ...online.allocation.ogasched import Ogasched
from ...online.play import play
from ..claim import Claim, Context, Figure, Finding, Table, Verdict, amended_if, holds_if
from ..experiments import SEEDS_APART
from ..statistics import growth_exponent, mean_interval
from .projection import row
from .regret import plot_regret, regret_curves, theorem_1, theorem_1_tightened
from .worst_case import worst_case


def _check_separable(_context: Context) -> Finding:
    families = [(name, code) for code, name in enumerate(utility.KINDS)]
    one, two = np.array(1.0), np.array(2.0)
    gaps = {}
    for name, code in families:
        kind = np.array(code)
        together = utility.value(kind, one, two)
        separate = 2 * utility.value(kind, one, one)
        gaps[name] = float(separate - together)
    only_linear = gaps["linear"] == 0 and all(gap != 0 for name, gap in gaps.items() if name != "linear")
    return Finding(
        amended_if(all(gap == 0 for gap in gaps.values()), only_linear),
        "Read as an equation, (7) forces linear utilities: one device on each of two servers against two "
        "on one server already differ for the other three families (log: 2 ln 2 and ln 3). The reward is "
        "therefore defined by the right-hand side, a sum over servers.",
        {f"f(1) + f(1) - f(2), {name}": gap for name, gap in gaps.items()},
    )


def _check_convexity(context: Context) -> Finding:
    rng = np.random.default_rng(context.seed)
    instance = generate("default", context.seed, slots=1)
    s = instance.setting
    arrivals = np.ones(s.ports, dtype=np.int64)
    trials = context.pick(20, 200, 2000)
    defect, outside = -np.inf, 0
    for _ in range(trials):
        y, z = (s.project(rng.normal(2, 5, s.shape)) for _ in range(2))
        share = rng.random()
        middle = share * y + (1 - share) * z
        chord = share * s.evaluate(y, arrivals)[0] + (1 - share) * s.evaluate(z, arrivals)[0]
        defect = max(defect, chord - s.evaluate(middle, arrivals)[0])
        outside += bool(s.violations(middle))
    return Finding(
        holds_if(defect <= 1e-9 and outside == 0),
        f"On {trials} random pairs the chord was above the reward by at most {defect:.1e} (negative: never), "
        f"and {outside} mixtures left the feasible set.",
        {"pairs": trials, "largest chord minus reward": defect, "mixtures outside": outside},
    )


def arrival_patterns(
    instance: AllocationInstance, slots: int, rng: np.random.Generator
) -> Iterator[tuple[str, AllocationInstance]]:
    """Yield the instance under named arrivals: random, periodic, in blocks, and an adaptive adversary's."""
    ports = instance.setting.ports
    time, port = np.arange(slots)[:, None], np.arange(ports)[None, :]
    shapes = {
        "random, sparse": rng.random((slots, ports)) < 0.2,
        "random, dense": rng.random((slots, ports)) < 0.8,
        "alternating": (time + port) % 2 == 0,
        "two halves": (time < slots // 2) ^ (port % 2 == 0),
        "every sixth": (time % 6 == 0) == (port == 0),
        "one at a time": port == rng.integers(ports, size=(slots, 1)),
    }
    for name, shape in shapes.items():
        yield name, instance.with_arrivals(shape.astype(np.int64))
    yield "adaptive", instance.with_arrivals(adaptive_arrivals(instance, slots))


def adaptive_arrivals(instance: AllocationInstance, slots: int) -> np.ndarray:
    """Return what an adversary sends who sees y(t) first: jobs at the half of the ports served worst.

    A port is served the worse the less it earns compared with holding all that its servers can give it.
    """
    base = instance.with_arrivals(np.zeros((slots, instance.setting.ports), dtype=np.int64))
    s = base.setting
    policy = Ogasched()
    policy.start(s, np.random.default_rng(0))
    alone = s.port_rewards(np.minimum(s.edge_demand, s.capacity[s.server]))
    arrivals = np.array(base.arrivals)
    for slot in range(slots):
        shortfall = alone - s.port_rewards(policy.decide(Observation(slot, None)))
        arrivals[slot] = shortfall >= np.median(shortfall)
        policy.learn(Feedback(slot, arrivals[slot], 0.0))
    return arrivals


def _settings(count: int, seed: int) -> Iterator[AllocationInstance]:
    """Yield two single rows, then small instances of all families and contention levels."""
    families = (*utility.KINDS, "mix")
    yield row([1.0, 1.0], 1.0)
    yield row([1.0] * 20, 1.0)
    for n in range(count - 2):
        yield generate(
            "tiny",
            seed + n,
            ports=2 + n % 4,
            utility=families[n % len(families)],
            contention=float((1, 3, 10)[n % 3]),
        )


def _check_theorem(context: Context) -> Finding:
    from ...oracles.allocation.optimum import stationary

    rng = np.random.default_rng(context.seed)
    count = context.pick(4, 30, 200)
    lengths = context.pick((10, 100), (10, 100, 1000), (10, 100, 1000, 5000))
    ratios: dict[str, list[float]] = {}
    tight: list[float] = []
    for n, instance in enumerate(_settings(count, SEEDS_APART * context.seed)):
        for slots in lengths:
            for name, played in arrival_patterns(instance, slots, rng):
                bound = stationary(played).bound
                regret = float("inf") if bound is None else bound - play(Ogasched(), played).total
                ratios.setdefault(name, []).append(regret / theorem_1(played))
                tight.append(regret / theorem_1_tightened(played))
        context.progress((n + 1) / count)
    worst = {name: max(values) for name, values in ratios.items()}
    runs = sum(map(len, ratios.values()))
    largest = max(worst.values())
    return Finding(
        holds_if(largest <= 1.0 and max(tight) <= 1.0),
        f"With the constant step D / (G sqrt T), in {runs} runs with adversarial and adaptive arrivals among "
        f"them, the regret was at most {largest:.2f} of the bound and {max(tight):.2f} of its tightened "
        "form.",
        {"runs": runs, "largest regret / bound": largest, "largest regret / tightened bound": max(tight)},
        tables=(
            Table(
                "Largest regret over bound (14), by arrivals",
                ("arrivals", "runs", "largest ratio"),
                tuple((name, len(ratios[name]), value) for name, value in worst.items()),
            ),
        ),
    )


def _check_looseness(context: Context) -> Finding:
    from ...oracles.allocation.optimum import stationary

    lines = []
    count = context.pick(3, 5, 20)
    for n in range(count):
        instance = generate("default", SEEDS_APART * context.seed + n)
        optimum = stationary(instance)
        regret = optimum.value - play(Ogasched(), instance).total
        printed, tight = theorem_1(instance), theorem_1_tightened(instance)
        lines.append(
            (optimum.value, regret, printed, tight, printed / optimum.value, printed / max(regret, 1e-9))
        )
        context.progress((n + 1) / count)
    part = mean_interval([line[4] for line in lines])
    return Finding(
        Verdict.VACUOUS if part.mean >= 1.0 else Verdict.HOLDS,
        f"At the paper's default size the bound is {part} times the stationary optimum (mean and 95 % "
        f"interval), and {np.mean([line[5] for line in lines]):.0f} times the measured regret.",
        {"bound / stationary optimum": part.mean, "low": part.low, "high": part.high},
        tables=(
            Table(
                f"Default instances, T = {instance.setting.slots}",
                ("optimum", "regret", "bound (14)", "tightened", "bound / optimum", "bound / regret"),
                tuple(lines),
            ),
        ),
    )


def six_slot_example(slots: int) -> AllocationInstance:
    """Return the instance on which (26) loses: port 0 alone in every sixth slot, ports 1 to 100 otherwise."""
    alone = np.arange(slots)[:, None] % 6 == 0
    arrivals = np.where(np.arange(101)[None, :] == 0, alone, ~alone)
    return row([1.0] * 101, 1.0, arrivals.astype(int).tolist())


def _check_own_step(context: Context) -> Finding:
    from ...oracles.allocation.optimum import stationary

    lines = []
    for slots in context.pick((300, 1000), (300, 1000, 3000), (300, 1000, 3000, 10000)):
        instance = six_slot_example(slots)
        best = stationary(instance).value
        regrets = [best - play(Ogasched(step=step), instance).total for step in ("per-slot", "constant")]
        lines.append((slots, theorem_1(instance), *regrets))
    at_thousand = next(line for line in lines if line[0] == 1000)
    slope = float(np.polyfit(np.log([x[0] for x in lines]), np.log([x[2] for x in lines]), 1)[0])
    return Finding(
        holds_if(all(line[2] <= line[1] for line in lines)),
        f"With each slot's own gradient norm in (26) the regret is {at_thousand[2]:.0f} against a bound "
        f"of {at_thousand[1]:.0f} at T = 1000 and grows like T to the power {slope:.2f}; where nothing "
        f"arrives (26) is 0/0. The constant step stays at {at_thousand[3]:.0f}.",
        {"regret at T = 1000": at_thousand[2], "bound at T = 1000": at_thousand[1], "growth exponent": slope},
        tables=(
            Table(
                "Port 0 alone every sixth slot, ports 1 to 100 together otherwise",
                ("slots T", "bound (14)", "regret, step (26)", "regret, constant step"),
                tuple(lines),
            ),
        ),
        counterexample=six_slot_example(1000),
    )


def _check_gradient_bound(context: Context) -> Finding:
    demand, varpi = 3.0, 1.0
    steepest = 2 * demand  # |f'| of f(y) = -y^2 at y = a; beta = 0
    rng = np.random.default_rng(context.seed)
    s = generate("default", context.seed, slots=1).setting
    allowed = float(np.sqrt(geometry.gradient_norms(s).sum()))
    points = (s.project(rng.normal(0, 5, s.shape)) for _ in range(context.pick(5, 50, 500)))
    largest = max(float(np.linalg.norm(s.supergradient(y, np.ones(s.ports)))) for y in points)
    return Finding(
        amended_if(steepest <= varpi, largest <= allowed),
        "f(y) = -y^2 starts at zero, is concave and smooth, and has f'(0) = 0 <= varpi, as Definition 1 "
        f"asks; on [0, {demand:g}] its slope reaches {steepest:g} while (22) allows {varpi:g} for varpi = "
        "1, beta = 0. The proof needs monotone utilities with bounded slope. For the families of (27) it "
        f"holds: at most {largest:.4g} of {allowed:.4g} on a default instance.",
        {
            "slope of -y^2 at y = 3": steepest,
            "bound (22) there": varpi,
            "largest gradient on a default instance": largest,
            "bound (22) on it": allowed,
        },
    )


def _check_diameter(context: Context) -> Finding:
    rng = np.random.default_rng(context.seed)
    instance = generate("default", context.seed, slots=1)
    s = instance.setting
    largest = 0.0
    for _ in range(context.pick(20, 100, 1000)):
        y, z = (s.project(rng.normal(0, 50, s.shape)) for _ in range(2))
        largest = max(largest, float(np.linalg.norm(y - z)))
    exact = float(np.sqrt((np.minimum(s.edge_demand, s.capacity[s.server]) ** 2).sum()))
    printed, tight = geometry.diameter(s), geometry.tight_diameter(s)
    return Finding(
        amended_if(min(exact, tight) == printed, largest <= tight <= printed),
        f"The '=' in (24) is '<='. On the default instance (25) gives {printed:.0f}; with min(c, sum a) "
        f"for c and the demands of the server's own ports {tight:.0f}; the farthest pair found is "
        f"{largest:.0f} apart.",
        {"diameter (25)": printed, "tightened": tight, "farthest pair found": largest},
    )


def _check_regular(context: Context) -> Finding:
    lines = []
    for ports, servers, degree in ((2, 6, 1), (4, 4, 2), (6, 2, 3), (10, 128, 2)):
        rng = np.random.default_rng(context.seed)
        edges = [(int(p), r) for r in range(servers) for p in rng.choice(ports, degree, replace=False)]
        lines.append((ports, servers, degree, len(edges), degree * ports, degree * servers))
    return Finding(
        amended_if(all(line[3] == line[4] for line in lines), all(line[3] == line[5] for line in lines)),
        "On a right d-regular graph the sum over ports and their servers has d |R| terms, not d |L|: "
        "every server has d ports. The bound then does not depend on |L| at all.",
        tables=(
            Table(
                "Edges of right d-regular graphs",
                ("|L|", "|R|", "d", "edges", "d |L|", "d |R|"),
                tuple(lines),
            ),
        ),
    )


def _check_growth_in_slots(context: Context) -> Finding:
    from ...oracles.allocation.optimum import stationary

    lengths = np.array(
        context.pick((100, 200, 400), (125, 250, 500, 1000, 2000, 4000), (250, 1000, 4000, 16000))
    )
    seeds = context.pick(5, 5, 20)
    regret = np.empty((seeds, len(lengths)))
    for n in range(seeds):
        whole = generate("default", SEEDS_APART * context.seed + n, slots=int(lengths[-1]))
        for i, slots in enumerate(lengths):
            instance = whole.with_arrivals(whole.arrivals[:slots])
            regret[n, i] = stationary(instance).value - play(Ogasched(), instance).total
        context.progress((n + 1) / seeds)
    slope = growth_exponent(lengths, regret)
    still = row([1.0, 1.0], 2.0, [[1, 1]] * int(lengths[-1]))
    best = stationary(still).value
    none = best - play(Ogasched(start_at="fair"), still).total
    return Finding(
        amended_if(none > 1e-6 * best and slope.low <= 0.5 <= slope.high, slope.high < 1.0),
        f"The regret grows like T to the power {slope.mean:.2f} (95 % interval {slope.low:.2f} to "
        f"{slope.high:.2f}) under random arrivals on default instances. Where all demands fit and y(1) is "
        f"the fair share it is {max(none, 0.0):.1g} for every T: sqrt(T) is an upper bound, not the order "
        "of growth.",
        {"exponent": slope.mean, "low": slope.low, "high": slope.high, "regret without contention": none},
        tables=(
            Table(
                f"Stationary regret, constant step, mean over {seeds} default instances",
                ("slots T", "regret", "regret / sqrt(T)"),
                tuple(
                    (int(t), float(v), float(v / np.sqrt(t)))
                    for t, v in zip(lengths, regret.mean(0), strict=True)
                ),
            ),
        ),
    )


def _check_growth_in_ports(context: Context) -> Finding:
    from ...oracles.allocation.optimum import stationary

    counts = np.array(context.pick((5, 10, 20, 40), (5, 10, 20, 40, 80), (5, 10, 20, 40, 80, 160)))
    seeds = context.pick(5, 8, 20)
    slots = context.pick(100, 500, 2000)
    regret, bound = np.empty((seeds, len(counts))), np.empty((seeds, len(counts)))
    for n in range(seeds):
        for i, ports in enumerate(counts):
            instance = generate(
                "default",
                SEEDS_APART * context.seed + n,
                ports=int(ports),
                density=ports / 4,
                servers=64,
                slots=slots,
            )
            regret[n, i] = stationary(instance).value - play(Ogasched(), instance).total
            bound[n, i] = theorem_1(instance)
        context.progress((n + 1) / seeds)
    slope, of_bound = growth_exponent(counts, regret), growth_exponent(counts, bound)
    return Finding(
        holds_if(slope.high < 1.0),
        f"With every port on 16 servers the regret grows like |L| to the power {slope.mean:.2f} (95 % "
        f"interval {slope.low:.2f} to {slope.high:.2f}), the bound to the power {of_bound.mean:.2f}.",
        {
            "exponent": slope.mean,
            "low": slope.low,
            "high": slope.high,
            "exponent of the bound": of_bound.mean,
        },
        tables=(
            Table(
                f"Stationary regret, T = {slots}, 64 servers, mean over {seeds} instances",
                ("ports |L|", "regret", "bound (14)"),
                tuple(
                    (int(c), float(v), float(b))
                    for c, v, b in zip(counts, regret.mean(0), bound.mean(0), strict=True)
                ),
            ),
        ),
    )


def _check_over_time(context: Context) -> Finding:
    from ..plots import new_figure, to_svg

    slots = context.pick(200, 2000, 8000)
    instances = [
        generate("default", SEEDS_APART * context.seed + n, slots=slots)
        for n in range(context.pick(2, 5, 10))
    ]
    curves = [regret_curves(Ogasched, instances, dynamic=True, progress=context.progress)]
    figure, axes = new_figure()
    plot_regret(curves, axes)
    axes.set_xscale("log")
    axes.set_yscale("log", nonpositive="clip")
    last = curves[0].stationary[:, -1]
    ratio = float((last / curves[0].bound).max())
    dynamic = curves[0].dynamic
    per_slot = float("nan") if dynamic is None else float(dynamic[:, -1].mean())
    rate = curves[0].stationary.mean(0) / curves[0].slots
    middle = len(rate) // 2
    return Finding(
        holds_if(ratio <= 1 and rate[-1] < 0.8 * rate[middle]),
        f"After {slots} slots the regret against the best stationary decision is {last.mean():,.0f}, "
        f"against the per-slot optima {per_slot:,.0f}; per slot the former went from {rate[middle]:.0f} "
        f"after {curves[0].slots[middle]} slots to {rate[-1]:.1f}.",
        {
            "stationary regret": float(last.mean()),
            "dynamic regret": per_slot,
            "bound (14)": float(curves[0].bound.mean()),
            "bound (14), tightened": float(curves[0].tightened.mean()),
        },
        figures=(
            Figure(
                "allocation-regret-over-time",
                "Certified upper end of OGASched's regret (constant step) on default instances, against "
                "the best stationary decision for the first t slots and against the per-slot optima; "
                "mean and 95 % band over instances. Theorem 1 is drawn at the horizon.",
                to_svg(figure),
            ),
        ),
    )


def _check_worst_case(context: Context) -> Finding:
    instance = generate("tiny", context.seed, ports=2, slots=context.pick(3, 5, 7))
    found = worst_case(Ogasched, instance, seed=context.seed, evaluations=2**14)
    longer = instance.with_arrivals(np.zeros((24, 2), dtype=np.int64))
    context.progress(0.5)
    searched = worst_case(Ogasched, longer, seed=context.seed, evaluations=context.pick(100, 1500, 10000))
    lines = tuple(
        (
            w.instance.setting.slots,
            "all 0/1 sequences" if w.exhaustive else "search",
            w.evaluations,
            w.regret,
            w.bound,
            w.regret / w.bound,
        )
        for w in (found, searched)
    )
    return Finding(
        holds_if(all(line[5] <= 1 for line in lines)),
        f"The supremum (6) over all {found.evaluations} 0/1 sequences of {found.instance.setting.slots} "
        f"slots on a tiny instance is {found.regret:.4g}, {found.regret / found.bound:.2f} of the bound; "
        f"a search over 24 slots reaches {searched.regret / searched.bound:.2f}.",
        {"largest ratio": max(line[5] for line in lines)},
        tables=(
            Table(
                "Worst arrivals, tiny instance with 2 ports",
                ("slots T", "how", "sequences played", "regret", "bound (14)", "ratio"),
                lines,
            ),
        ),
    )


def _check_copies(context: Context) -> Finding:
    from ...oracles.allocation.optimum import stationary

    rng = np.random.default_rng(context.seed)
    ratios = []
    for n in range(context.pick(3, 20, 100)):
        base = generate("tiny", SEEDS_APART * context.seed + n, slots=60)
        counts = base.with_arrivals(rng.poisson(1.2, base.arrivals.shape))
        for played in (counts, counts.copies()):
            bound = stationary(played).bound
            regret = float("inf") if bound is None else bound - play(Ogasched(), played).total
            ratios.append(regret / theorem_1(played))
        context.progress((n + 1) / context.pick(3, 20, 100))
    return Finding(
        holds_if(max(ratios) <= 1.0),
        "OGASched runs unchanged on the instance whose ports are the simultaneous jobs; copies start at "
        f"zero and enter the step size when first seen. Largest regret over bound in {len(ratios)} runs: "
        f"{max(ratios):.2f}.",
        {"runs": len(ratios), "largest regret / bound": max(ratios)},
    )


CLAIMS = [
    Claim(
        "allocation/definition-1",
        "Definition 1, (7)",
        "A concave utility of a sum of allocations equals the sum of the utilities per server.",
        "Both sides of (7) for the four families of (27) with one device on each of two servers.",
        Verdict.HOLDS_AMENDED,
        _check_separable,
    ),
    Claim(
        "allocation/proposition-1",
        "Proposition 1",
        "The feasible set is convex and a slot's reward is concave.",
        "Random pairs of feasible decisions on a default instance: chords and mixtures.",
        Verdict.HOLDS,
        _check_convexity,
    ),
    Claim(
        "allocation/theorem-1",
        "Theorem 1, (14)",
        "The stationary regret is at most D G sqrt(T), for every arrival sequence.",
        "OGASched with the constant step on small instances of all families under random, periodic, "
        "one-sided and adaptive arrivals, against the certified bound of the stationary optimum.",
        Verdict.HOLDS,
        _check_theorem,
    ),
    Claim(
        "allocation/theorem-1-looseness",
        "Theorem 1 at the sizes of Sec. 4",
        "The bound says something at the paper's default size.",
        "The bound beside the stationary optimum and the measured regret on default instances.",
        Verdict.HOLDS,
        _check_looseness,
    ),
    Claim(
        "allocation/worst-case",
        "(6)",
        "The supremum of the regret over arrival sequences obeys Theorem 1.",
        "All 0/1 sequences on a tiny instance, and a search over longer ones.",
        Verdict.HOLDS,
        _check_worst_case,
    ),
    Claim(
        "allocation/regret-over-time",
        "Sec. 3.3",
        "The regret is sublinear in the number of slots.",
        "Regret over time on default instances against the best stationary decision and the per-slot optima.",
        Verdict.HOLDS,
        _check_over_time,
    ),
    Claim(
        "allocation/equation-26",
        "(26)",
        "The step D / (norm of the slot's own gradient sqrt(T)) achieves the bound.",
        "One server, 101 ports, linear utilities; regret for growing T under (26) and under the constant "
        "step.",
        Verdict.FAILS,
        _check_own_step,
    ),
    Claim(
        "allocation/equation-22",
        "(22)",
        "Definition 1 bounds the gradient by beta*^2 + K varpi*^2 per edge.",
        "f(y) = -y^2, which meets Definition 1.",
        Verdict.HOLDS_AMENDED,
        _check_gradient_bound,
    ),
    Claim(
        "allocation/equation-24",
        "(24), (25)",
        "The squared distance of two decisions equals the sum with the largest demand of each kind.",
        "(25), its tightened form and the farthest of random feasible pairs on a default instance.",
        Verdict.HOLDS_AMENDED,
        _check_diameter,
    ),
    Claim(
        "allocation/regular-graph",
        "Proof of Theorem 1, after (19)",
        "On a right d-regular graph the sum of beta*^2 over the edges is d |L| beta*^2.",
        "Count the edges of right d-regular graphs.",
        Verdict.HOLDS_AMENDED,
        _check_regular,
    ),
    Claim(
        "allocation/growth-in-slots",
        "Sec. 3.3, after Theorem 1",
        "The regret is of the order Theta(H sqrt(T)).",
        "Growth exponent over T with a confidence interval, and an instance without regret.",
        Verdict.HOLDS_AMENDED,
        _check_growth_in_slots,
    ),
    Claim(
        "allocation/growth-in-ports",
        "Abstract, Sec. 3.3",
        "The regret grows sublinearly with the number of job types.",
        "Growth exponent over |L| with a confidence interval, every port on the same number of servers.",
        Verdict.HOLDS,
        _check_growth_in_ports,
    ),
    Claim(
        "allocation/several-arrivals",
        "Sec. 3.4",
        "OGASched also solves the problem with several jobs per port, after a transformation.",
        "Random counts, as weights of the port and as copies of it: regret against Theorem 1.",
        Verdict.HOLDS,
        _check_copies,
    ),
]
