"""Claims about DAS's networks that need no training: kernels, the Gaussian process, densities, losses."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np

from ....models.placement.generate import generate
from ....models.placement.instance import PlacementInstance
from ....models.placement.placing import place
from ....online.placement import FifoConsolidate, FifoFirstFit
from ...claim import Context, Figure, Finding, Register, Table, Verdict, amended_if, holds_if
from ...experiments import curves, seeds, track
from ...plots import name_axes, new_figure, plot_bands, to_svg
from ..formulas import (
    Fusion,
    adjacency,
    distances,
    fused,
    geometric_partial_sums,
    geometric_walk_kernel,
    gram,
    graph_features,
    matern,
    matern_bessel,
    node_features,
    position_encoding,
    posterior,
    printed_matern,
    smallest_eigenvalue,
    walk_gram,
    walk_kernel,
    walk_kernel_literal,
)
from .theory import cluster

claim = Register("placement")

CLUSTERS = {"Small": 8, "Medium": 16, "Large": 32}
"""Machines of the clusters (Sec. 5.1.3)."""

PENDING = 24
"""N, the jobs that the network sees; the paper does not say how many."""

HIDDEN = 64
"""e (Sec. 5.1.3)."""

JOB_FEATURES, MACHINE_FEATURES = 5, 5
"""u: instances, CPU, GPU, memory, wait; v: free CPU, GPU, memory, bandwidth, utilisation (Sec. 3)."""

LENGTHS = (4, 6, 8, 10)
"""The lengths tau of the history in Figure 5(c, d)."""

ROUNDING = 1e-12
"""An eigenvalue below -ROUNDING times the largest modulus of one is negative."""

STATE_SIZE = 4
"""Numbers in the random machine states of the checks, each between 0 and 1."""


def machine_states(rng: np.random.Generator, machines: int) -> np.ndarray:
    """Return random states of machines, shape (M, 4): shares, such as those of what is free."""
    return rng.random((machines, STATE_SIZE))


def random_graphs(
    rng: np.random.Generator, count: int, machines: int = 8, *, printed: bool = False
) -> list[np.ndarray]:
    """Return graphs (11) of random machine states with random lengthscales from 0.3 to 3, over M."""
    return [
        adjacency(machine_states(rng, machines), float(np.exp(rng.uniform(-1.2, 1.1))), printed=printed)
        for _ in range(count)
    ]


def is_psd(matrix: np.ndarray) -> bool:
    """Return whether a symmetric matrix has no eigenvalue below zero, but for rounding."""
    return smallest_eigenvalue(matrix) >= -ROUNDING


def draws_of(context: Context, salt: int) -> np.random.Generator:
    """Return the random numbers of one check."""
    return np.random.default_rng((context.seed, salt))


# Sec. 4.2.1: the job-aware states


@claim(
    "kronecker-shape",
    "Sec. 4.2.1",
    Verdict.REFUTED,
    says="The Kronecker product of the job states and the machine states has the shape N x M x M.",
    how="Entries of the product on the three clusters, beside those of N x M x M.",
)
def kronecker_shape(_context: Context) -> Finding:
    lines, entries = [], []
    for name, m in CLUSTERS.items():
        S_j, S_c = np.ones((PENDING, HIDDEN)), np.ones((m, HIDDEN))
        shapes = [
            np.kron(S_j, S_c).shape,
            (S_j[:, None] * S_c).shape,
            np.einsum("ke,ie,le->ikl", S_c, S_j, S_c).shape,
        ]
        lines.append((name, f"{PENDING} x {m} x {m}", *(" x ".join(map(str, s)) for s in shapes)))
        entries.append((PENDING * m * m, int(np.prod(shapes[0]))))
    return Finding(
        holds_if(all(printed == product for printed, product in entries), Verdict.REFUTED),
        "The Kronecker product is a matrix of N M x e^2 numbers: as many as printed only if M is e^2.",
        {
            "Small: numbers as printed": entries[0][0],
            "Small: numbers of the Kronecker product": entries[0][1],
            "M at which the numbers agree": HIDDEN**2,
        },
        tables=(
            Table(
                f"Shapes of the job-aware states, N = {PENDING}, e = {HIDDEN}",
                ("cluster", "printed", "Kronecker", "entry by entry", "S^c diag(s_i) S^c'"),
                tuple(lines),
            ),
        ),
        assumes=f"N = {PENDING} is ours, as N is not given; the shapes do not depend on it.",
        proof="See the table: on no cluster has the product as many numbers as N x M x M, whatever N is.",
        remark="(11) needs one vector per job and machine. The product entry by entry, N x M x e, is one; "
        "S^c diag(s_i) S^c' for each job has the printed shape.",
    )


# (11)


def three_points() -> tuple[float, float]:
    """Return the spacing of three points on a line at which (11) as printed is worst, and the eigenvalue."""
    found = []
    for step in np.linspace(0.01, 2.0, 200).tolist():
        x = np.array([[0.0], [step], [2.0 * step]])
        found.append((float(np.linalg.eigvalsh(printed_matern(x[:, None], x[None]))[0]), step))
    value, step = min(found)
    return step, value


@claim(
    "matern-psd",
    "(11), Proposition 1",
    Verdict.HOLDS_AMENDED,
    says="The Matern kernel (11) is positive semi-definite.",
    how="Three points on a line, and random sets of states. Amended: g is the distance, not its square.",
)
def matern_psd(context: Context) -> Finding:
    rng = draws_of(context, 2)
    sets, scales = context.pick(20, 100, 200), np.geomspace(0.1, 10.0, context.pick(5, 13, 21))
    names = ("distance", "squared distance")
    found = {name: np.empty((sets, len(scales))) for name in names}
    for row in track(context, range(sets)):
        x = machine_states(rng, 8)
        for c, scale in enumerate(scales.tolist()):
            found["distance"][row, c] = 8 * np.linalg.eigvalsh(adjacency(x, scale))[0]
            found["squared distance"][row, c] = 8 * np.linalg.eigvalsh(adjacency(x, scale, printed=True))[0]
    unit = int(np.abs(scales - 1.0).argmin())
    negative = {name: (table < -8 * ROUNDING).sum(axis=0) for name, table in found.items()}
    indefinite, least = negative["squared distance"], found["squared distance"].min(axis=0)
    step, three = three_points()
    two = min(1.0 - float(printed_matern([0.0], [d])) for d in np.linspace(0.0, 3.0, 301).tolist())
    return Finding(
        amended_if(three >= 0.0 and not indefinite.any(), not negative["distance"].any(), Verdict.REFUTED),
        "With the squared distance, as printed, three points already have a negative eigenvalue; with the "
        "distance none do.",
        {
            "smallest number of points": 3,
            "three points: spacing (lengthscales)": step,
            "three points: smallest eigenvalue": three,
            "two points: smallest eigenvalue": two,
            "sets of 8 states": sets,
            "squared distance, lengthscale 1: not PSD": int(indefinite[unit]),
            "squared distance, lengthscale 1: smallest eigenvalue": float(least[unit]),
            "distance: not PSD, all lengthscales": int(negative["distance"].sum()),
        },
        figures=(
            curves(
                "matern-psd",
                "Smallest eigenvalue of the matrix of (11) by the lengthscale.",
                scales,
                {"smallest eigenvalue": {f"g the {name}": table for name, table in found.items()}},
                "lengthscale (states in the unit cube)",
                log="x",
                problem="placement",
                note=f"8 random states, mean over {sets} sets",
            ),
        ),
        assumes="States in the unit cube, lengthscales from 0.1 to 10.",
        proof="Near 0 the printed kernel is 1 - 5/6 r^4, and a positive semi-definite function whose second "
        "derivative there is 0 is constant.",
    )


def one_sided(polynomial: list[Fraction], order: int) -> list[Fraction]:
    """Return the derivatives of p(s) exp(-s) at 0, from the right, of order 0 to ``order``."""
    p, result = list(polynomial), []
    for _ in range(order + 1):
        result.append(p[0])
        slope = [*(k * c for k, c in enumerate(p) if k), Fraction(0)]
        p = [d - c for d, c in zip(slope, p, strict=True)]
    return result


def times_differentiable(right: list[Fraction]) -> int:
    """Return how often an even function is differentiable at 0: until an odd derivative does not vanish."""
    return next(k for k in range(1, len(right), 2) if right[k]) - 1


@claim(
    "matern-smooth",
    "Sec. 4.2.2",
    Verdict.HOLDS,
    says="The Matern kernel with nu = 5/2 can be differentiated twice.",
    how="Its one-sided derivatives at 0 in exact fractions, and by differences.",
)
def matern_smooth(_context: Context) -> Finding:
    one, third = Fraction(1), Fraction(1, 3)
    kinds = {"1/2": [one], "3/2": [one, one], "5/2": [one, one, third]}
    right = {nu: one_sided(p, 6) for nu, p in kinds.items()}
    lines = [(nu, times_differentiable(d), times_differentiable(d) // 2) for nu, d in right.items()]
    h = 1e-3
    second = {
        "distance": float(2.0 * (matern(h) - 1.0) / h**2),
        "squared distance": float(2.0 * (matern_bessel(h**2) - 1.0) / h**2),
    }
    return Finding(
        holds_if(
            times_differentiable(right["5/2"]) >= 2 and abs(second["distance"] + 5.0 / 3.0) < 1e-4,
            Verdict.REFUTED,
        ),
        "The kernel with nu = 5/2 is four times differentiable at 0, so its processes are twice, in mean "
        "square.",
        {
            "nu = 5/2: kernel differentiable (times)": lines[2][1],
            "nu = 5/2: process differentiable (times)": lines[2][2],
            "second derivative at 0, distance": second["distance"],
            "second derivative at 0, squared distance": second["squared distance"],
        },
        tables=(
            Table(
                "Differentiability at 0, exactly",
                ("nu", "kernel (times)", "process (times, mean square)"),
                tuple(lines),
            ),
        ),
        assumes="g is the distance. With its square the second derivative at 0 is 0, which no covariance "
        "has.",
        proof="" if times_differentiable(right["5/2"]) >= 2 else "See the table.",
    )


# (12)


@claim(
    "walk-series",
    "(12)",
    Verdict.HOLDS_AMENDED,
    says="The series of (12) is a kernel for a positive weight lambda.",
    how="Spectral radii of the printed graphs; partial sums and the closed form on random graphs. Amended: "
    "for lambda below one over the spectral radius.",
)
def walk_series(context: Context) -> Finding:
    rng = draws_of(context, 4)
    machines = context.pick(4, 8, 8)
    lines, sound = [], []
    for name, m in CLUSTERS.items():
        kinds = {
            "all alike": np.zeros((m, STATE_SIZE)),
            "random": machine_states(rng, m),
            "far apart": 1e3 * np.arange(m, dtype=np.float64)[:, None],
        }
        for kind, x in kinds.items():
            rho = float(np.linalg.eigvalsh(m * adjacency(x))[-1]) ** 2
            lines.append((f"{name}, {kind}", rho, 1.0 / rho))
    for P1 in track(context, random_graphs(rng, context.pick(3, 10, 40), machines)):
        (P2,) = random_graphs(rng, 1, machines)
        rho = _radius(P1) * _radius(P2)
        for share in (0.3, 0.9):
            limit = geometric_walk_kernel(P1, P2, share / rho)
            summed = geometric_partial_sums(P1, P2, share / rho, 400)[-1]
            sound.append(abs(summed / limit - 1.0) < 1e-9)
        terms = np.diff(geometric_partial_sums(P1, P2, 1.05 / rho, 400))
        sound.append(geometric_walk_kernel(P1, P2, 1.05 / rho) == np.inf and bool(terms[-1] > terms[-2] > 0))
    least = min(line[1] for line in lines)
    return Finding(
        amended_if(least < 1.0 - 1e-9, all(sound), Verdict.REFUTED),
        "It converges only for weights below one over the spectral radius: never from a weight of 1 on, as "
        "printed.",
        {
            "smallest rho of P1 (x) P2, 1 on the diagonal": least,
            "largest rho, 32 machines": lines[6][1],
            "cases": len(sound),
            "cases that agree": sum(sound),
        },
        tables=(
            Table(
                "Spectral radius of P (x) P as printed, lengthscale 1",
                ("machines", "rho", "lambda must be below"),
                tuple(lines),
            ),
        ),
        figures=(_figure_series(rng, machines),),
        assumes="The diagonal of P is 1, as printed. Over M, as we take P, the radius is at most 1.",
        proof="P1 (x) P2 has entries >= 0, so the series converges exactly below 1 / rho. The diagonal alone "
        "makes rho at least 1, and machines that are alike make it M^2.",
    )


def _radius(P: np.ndarray) -> float:
    """Return the spectral radius of a symmetric matrix."""
    return float(np.abs(np.linalg.eigvalsh(P)).max())


def _figure_series(rng: np.random.Generator, machines: int) -> Figure:
    """Return a figure of partial sums of (12), and of the exponential, by the weight."""
    (P,) = random_graphs(rng, 1, machines)
    rho, shares = _radius(P) ** 2, np.linspace(0.0, 1.3, 27)
    none = np.full(len(shares), np.nan)
    lines = {}
    for terms in (10, 100, 1000):
        values = [geometric_partial_sums(P, P, s / rho, terms)[-1] for s in shares.tolist()]
        lines[f"{terms} terms"] = (np.array(values) / machines**2, none, none)
    values = [walk_kernel(P, P, s / rho) for s in shares.tolist()]
    lines["exponential"] = (np.array(values) / machines**2, none, none)
    figure, ax = new_figure()
    plot_bands(ax, shares, lines)
    ax.set_ylim(0.8, 1e6)
    name_axes(ax, "weight x spectral radius", "kernel / M^2", log="y")
    caption = (
        f"Partial sums of (12) on a random graph of {machines} machines with itself: from 1 on they grow "
        f"without end. The exponential with the same weight has a value everywhere."
    )
    return Figure("placement-walk-series", caption, to_svg(figure))


class Grams(NamedTuple):
    """Kernel matrices of random graphs.

    Attributes
    ----------
    smallest
        Smallest relative eigenvalue of each.
    deviation
        Largest relative difference from that of the features, and from its own transpose.
    indefinite
        Graphs whose own adjacency matrix has a negative eigenvalue.
    """

    smallest: list[float]
    deviation: float
    indefinite: int


def graph_grams(rng: np.random.Generator, sets: int, count: int, *, printed: bool) -> Grams:
    """Return kernel matrices of sets of graphs of (11), with weights beta^l / l! and with lambda^l."""
    smallest, deviation, indefinite = [], 0.0, 0
    for _ in range(sets):
        graphs = random_graphs(rng, count, int(rng.integers(2, 9)), printed=printed)
        indefinite += sum(not is_psd(P) for P in graphs)
        beta, lam = float(rng.uniform(0.2, 4.0)), 0.95 / max(map(_radius, graphs)) ** 2
        walks = walk_gram(graphs, graphs, beta)
        series = gram(graphs, graphs, partial(geometric_walk_kernel, lam=lam))
        smallest += [smallest_eigenvalue(walks), smallest_eigenvalue(series)]
        features = np.array([graph_features(P, beta, 60) for P in graphs])
        deviation = max(
            deviation, *(float((np.abs(walks - o) / walks).max()) for o in (walks.T, features @ features.T))
        )
    return Grams(smallest, deviation, indefinite)


@claim(
    "proposition-1",
    "Proposition 1, Sec. 4.2.3",
    Verdict.HOLDS,
    says="The random walk kernel on graphs of (11) is symmetric and positive semi-definite.",
    how="Kernel matrices of random graphs, for both weights and both forms of (11), where (12) converges; "
    "the same matrices from features.",
)
def proposition_1(context: Context) -> Finding:
    rng = draws_of(context, 5)
    sets, count = context.pick((3, 5), (12, 6), (100, 8))
    forms = {"distance": False, "squared distance": True}
    found = {}
    for name, printed in track(context, forms.items()):
        found[name] = graph_grams(rng, sets, count, printed=printed)
    least = {name: min(g.smallest) for name, g in found.items()}
    deviation = max(g.deviation for g in found.values())
    return Finding(
        holds_if(min(least.values()) >= -ROUNDING and deviation < 1e-10, Verdict.REFUTED),
        "It is an inner product of features, so it is a kernel for any symmetric graphs where (12) "
        "converges.",
        {
            "kernel matrices": 4 * sets,
            "smallest eigenvalue / largest": min(least.values()),
            "from the features, relative": deviation,
            "graphs of the squared distance": sets * count,
            "of these indefinite": found["squared distance"].indefinite,
        },
        assumes="Both weights, and both forms of (11): that (11) as printed is indefinite does not matter.",
        proof="The features are sqrt(beta^l / l!) 1'P^l 1, or with lambda^l in place of beta^l / l!. The "
        "numbers compare their inner products with the kernel.",
    )


@claim(
    "proposition-1-proof",
    "Appendix B.1",
    Verdict.REFUTED,
    says="Powers of P1 (x) P2 are positive semi-definite, and this proves Proposition 1.",
    how="The powers for three machines by (11) as printed; a function of P1 (x) P2 that is positive definite "
    "for every pair and no kernel on graphs.",
)
def proposition_1_proof(_context: Context) -> Finding:
    from scipy.linalg import expm

    step, _ = three_points()
    x = np.array([[0.0], [step], [2.0 * step]])
    P = adjacency(x, printed=True)
    powers = {k: np.linalg.eigvalsh(np.linalg.matrix_power(np.kron(P, P), k))[0] for k in (1, 3)}
    alike, apart = np.full((2, 2), 0.5), 0.5 * np.eye(2)
    graphs = [alike, apart]
    inner = min(float(np.linalg.eigvalsh(expm(np.kron(-p, q)))[0]) for p in graphs for q in graphs)
    table = gram(graphs, graphs, lambda p, q: float(expm(np.kron(-p, q)).sum()))
    outer = smallest_eigenvalue(table)
    return Finding(
        holds_if(powers[1] >= 0.0 and (inner <= 0.0 or outer >= 0.0), Verdict.REFUTED),
        "The proof is about one pair of graphs; functions that pass it are no kernels on graphs.",
        {
            "P (x) P, three machines, (11) as printed: smallest eigenvalue": float(powers[1]),
            "its cube: smallest eigenvalue": float(powers[3]),
            "exp(-P1 (x) P2): smallest eigenvalue of all pairs": inner,
            "matrix of its sums: smallest eigenvalue / largest": outer,
        },
        tables=(
            Table(
                "1' exp(-P1 (x) P2) 1 of two machines",
                ("", "alike", "far apart"),
                tuple((name, *row) for name, row in zip(("alike", "far apart"), table.tolist(), strict=True)),
            ),
        ),
        assumes="(11) as printed for the powers; two machines for the other part.",
        proof="For three machines P (x) P has a negative eigenvalue, as have all its odd powers.\n\nAnd the "
        "step to a kernel on graphs is missing: exp(-P1 (x) P2) is positive definite for every pair, but the "
        "matrix of the sums of its entries has a negative eigenvalue.",
    )


def matching_beta(delta: float, lam: float) -> float:
    """Return the beta with exp(beta delta) = 1 / (1 - lam delta): on regular graphs (12) is then its sum."""
    return float(-np.log1p(-lam * delta) / delta)


@claim(
    "proposition-2",
    "Proposition 2, Appendix B.2",
    Verdict.REFUTED,
    says="(12) can be turned into exp(beta P1 (x) P2), calculated entry by entry.",
    how="Both on graphs of two machines, with the weights that make them equal: it holds if one pair of "
    "weights does on two graphs.",
)
def proposition_2(context: Context) -> Finding:
    alike, apart = np.full((2, 2), 0.5), 0.5 * np.eye(2)
    lam, lines = 0.5, []
    for name, P in (("alike", alike), ("far apart", apart)):
        delta = float(np.kron(P, P).sum() / 4.0)
        beta = matching_beta(delta, lam)
        gap = abs(geometric_walk_kernel(P, P, lam) / walk_kernel_literal(P, P, beta) - 1.0)
        if gap > 1e-12:
            raise RuntimeError(f"two machines {name}: beta = {beta} does not match, by {gap}")
        entries = float(np.exp(beta * np.kron(P, P)).sum())
        lines.append((name, delta, geometric_walk_kernel(P, P, lam), beta, entries))
    rng = draws_of(context, 7)
    increasing, trials = 0, context.pick(50, 500, 5000)
    for _ in range(trials):
        deltas = np.sort(rng.uniform(0.01, 1.0, 2))
        weight = float(rng.uniform(0.01, 0.99))
        increasing += matching_beta(deltas[1], weight) > matching_beta(deltas[0], weight)
    one, two = lines[0][3], lines[1][3]
    gap = best_gap([alike, apart], lam, (two, one))
    return Finding(
        holds_if(abs(one - two) < 1e-6, Verdict.REFUTED),
        "No weight beta makes the exponential equal to (12) on two graphs: the one that matches depends on "
        "the graph.",
        {
            "beta for two machines alike": one,
            "beta for two machines far apart": two,
            "draws": trials,
            "draws in which beta increases": increasing,
            "lambda = 0.5, best beta: larger relative difference of the two graphs": gap,
        },
        tables=(
            Table(
                "(12) with lambda = 0.5 on two machines, each graph with itself",
                ("machines", "delta", "(12)", "beta that matches", "sum of exp, entry by entry"),
                tuple(lines),
            ),
        ),
        assumes="Sums over the entries are compared, as (12) is a number and exp(beta P1 (x) P2) a matrix.",
        proof="Where all rows of P1 (x) P2 have the sum delta, beta must be -log(1 - lambda delta) / delta, "
        "which increases with delta. Two machines alike and two far apart have different "
        "deltas.\n\nExponentials entry by entry, which the printed proof ends with, are a third thing (last "
        "column).",
    )


def best_gap(graphs: list[np.ndarray], lam: float, between: tuple[float, float]) -> float:
    """Return how far 1' exp(beta P (x) P) 1 is from (12) on the worst graph, for the best beta in between."""
    printed = np.array([geometric_walk_kernel(P, P, lam) for P in graphs])
    ours = np.array([[walk_kernel(P, P, b) for P in graphs] for b in np.linspace(*between, 201).tolist()])
    return float(np.abs(ours / printed - 1.0).max(axis=1).min())


@claim(
    "walk-eigenvalues",
    "Instead of Proposition 2",
    Verdict.HOLDS,
    says="1' exp(beta P1 (x) P2) 1 is a sum over pairs of eigenvalues of the two graphs.",
    how="Against the matrix exponential of the Kronecker product on random graphs; operations counted.",
    ours=True,
)
def walk_eigenvalues(context: Context) -> Finding:
    rng = draws_of(context, 8)
    worst, pairs = 0.0, context.pick(10, 60, 400)
    for number in track(context, range(pairs)):
        sizes = rng.integers(1, 8, 2).tolist()
        P1, P2 = (random_graphs(rng, 1, m, printed=number % 2 == 1)[0] for m in sizes)
        beta = float(rng.uniform(0.0, 5.0))
        literal = walk_kernel_literal(P1, P2, beta)
        worst = max(worst, abs(walk_kernel(P1, P2, beta) / literal - 1.0))
    lines = [(name, m, 2 * m**6, 2 * 9 * m**3 + 4 * m**2) for name, m in CLUSTERS.items()]
    factors = [line[2] / line[3] for line in lines]
    return Finding(
        holds_if(worst < 1e-11, Verdict.REFUTED),
        f"The sum over pairs of eigenvalues is the kernel, at {min(factors):.0f} to {max(factors):.0f} times "
        f"fewer operations.",
        {
            "pairs of graphs": pairs,
            "largest relative difference": worst,
            **{f"{line[0]}: fewer operations by": f for line, f in zip(lines, factors, strict=True)},
        },
        tables=(
            Table(
                "Operations for one pair of graphs",
                ("cluster", "M", "one product of M^2 rows", "by eigenvalues"),
                tuple(lines),
            ),
        ),
        proof="The sum is that of (U1'1)^2 (U2'1)^2 exp(beta l1 l2).",
        remark="A product of matrices with M^2 rows takes 2 M^6 operations; two decompositions of M rows "
        "take about 18 M^3, the sum 4 M^2. Each graph is decomposed once for all its pairs.",
    )


# (13): the process


class History(NamedTuple):
    """States of the machines over time, shape (T, M, 4), and their graphs."""

    states: np.ndarray
    graphs: list[np.ndarray]

    @classmethod
    def of(cls, states: np.ndarray) -> History:
        """Return the graphs of states."""
        return cls(states, [adjacency(x) for x in states])

    def swapped(self, a: int, b: int) -> History:
        """Return the same past, with the last states of two machines exchanged."""
        states = self.states.copy()
        states[-1, [a, b]] = states[-1, [b, a]]
        return History.of(states)


def graph_posterior(history: History, y: np.ndarray, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Return (13) and (14) as printed for the last graph given y, shape (T - 1, M), of those before it."""
    graphs, m = history.graphs, len(history.graphs[0])
    K = walk_gram(graphs, graphs, 1.0) / m**2
    return posterior(K[:-1, :-1], K[-1:, :-1], K[-1:, -1:], y, noise)


def node_gram(history: History) -> np.ndarray:
    """Return the kernel Matern(x, x') <psi, psi'> of all (time, machine), by time, shape (T M, T M)."""
    psi = np.concatenate([node_features(P, 1.0, 30) for P in history.graphs])
    return matern(distances(history.states.reshape(-1, STATE_SIZE))) * (psi @ psi.T)


def node_posterior(history: History, y: np.ndarray, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and covariance of the last machines by the process over (time, machine)."""
    K, old = node_gram(history), y.size
    return posterior(K[:old, :old], K[old:, :old], K[old:, old:], y.reshape(-1), noise)


def busy_and_empty(rng: np.random.Generator, length: int, machines: int) -> History:
    """Return random states over time; at the end machine 0 is empty and machine 1 full."""
    states = rng.random((length + 1, machines, STATE_SIZE))
    states[-1, 0], states[-1, 1] = 1.0, 0.0
    return History.of(states)


@claim(
    "machines-apart",
    "(12), (13), Sec. 4.2.4",
    Verdict.REFUTED,
    says="The posterior gives every machine an affinity by its state.",
    how="Random histories; an empty and a full machine change places, or have the same past affinities.",
)
def machines_apart(context: Context) -> Finding:
    rng = draws_of(context, 9)
    moved, equal, kernel, node = [], [], [], []
    for _ in track(context, range(context.pick(4, 20, 100))):
        history = busy_and_empty(rng, 8, 8)
        other = history.swapped(0, 1)
        y = rng.normal(size=(8, 8))
        before, after = (graph_posterior(h, y, 0.1)[0][0] for h in (history, other))
        moved.append(float(np.abs(after - before).max()))
        y[:, 1] = y[:, 0]
        scores = graph_posterior(history, y, 0.1)[0][0]
        equal.append(float(abs(scores[1] - scores[0])))
        order = rng.permutation(8)
        P, Q = history.graphs[-1], history.graphs[0]
        kernel.append(abs(walk_kernel(P[np.ix_(order, order)], Q, 1.0) / walk_kernel(P, Q, 1.0) - 1.0))
        ours = node_posterior(history, y, 0.1)[0]
        node.append(float(abs(ours[1] - ours[0])))
    return Finding(
        holds_if(max(moved) > 1e-9 or max(equal) > 1e-9, Verdict.REFUTED),
        "One number per pair of graphs gives every machine the same weights: which machine is empty does not "
        "matter.",
        {
            "histories": len(moved),
            "scalar kernel: most that a renumbering changes, relative": max(kernel),
            "scalar kernel: most that exchanging two states moves an affinity": max(moved),
            "scalar kernel: largest difference of an empty and a full machine": max(equal),
            "over machines: difference of an empty and a full machine, least": min(node),
            "over machines: the same, median": float(np.median(node)),
        },
        assumes="Prior mean 0, as printed, and one kernel value per pair of graphs, as (12) is.",
        proof="Exchanging the states of an empty and a full machine renumbers the graph, and the kernel is "
        "the same for renumbered graphs. So (13) does not change, and two machines with the same past "
        "affinities get the same one; the variance (14) is one number for all.",
    )


@claim(
    "node-level",
    "Instead of (12)",
    Verdict.HOLDS,
    says="A positive semi-definite kernel over (history, machine), one factor of which sums to the random "
    "walk kernel over the machines.",
    how="Random histories.",
    ours=True,
)
def node_level(context: Context) -> Finding:
    rng = draws_of(context, 10)
    deviation, smallest = 0.0, np.inf
    for _ in track(context, range(context.pick(3, 15, 80))):
        history = History.of(rng.random((6, int(rng.integers(2, 9)), STATE_SIZE)))
        m, beta = history.states.shape[1], float(rng.uniform(0.2, 3.0))
        psi = [node_features(P, beta, 60) for P in history.graphs]
        for a, P1 in enumerate(history.graphs):
            for b, P2 in enumerate(history.graphs):
                summed = float((psi[a] @ psi[b].T).sum())
                deviation = max(deviation, abs(summed / walk_kernel(P1, P2, beta) - 1.0))
        K = node_gram(history)
        if K.shape != (6 * m, 6 * m) or not np.allclose(K, K.T):
            raise RuntimeError(f"the kernel over (time, machine) has shape {K.shape}, or is not symmetric")
        smallest = min(smallest, smallest_eigenvalue(K))
    return Finding(
        holds_if(deviation < 1e-10 and smallest >= -ROUNDING, Verdict.REFUTED),
        "Matern(x, x') <psi, psi'> is a kernel over (time, machine), and psi sums to the random walk kernel.",
        {
            "smallest eigenvalue / largest": smallest,
            "sum over machines: largest relative difference": deviation,
        },
        proof="It is a product of two kernels, psi_k = [sqrt(beta^l / l!) (P^l 1)_k].",
    )


# (9), (10): the history


def two_in_turn() -> PlacementInstance:
    """Return two jobs for one GPU: the first row of the window is one, and then the other."""
    return cluster(1, 1, [(0.0, 1.0, 1, 1), (0.0, 1.0, 1, 1)], origin="two jobs for one GPU")


def windows(instance: PlacementInstance) -> list[list[int]]:
    """Return the oldest N pending jobs at every epoch of FIFO-Consolidate."""
    policy, episode = FifoConsolidate(), instance.episode(frozenset())
    policy.start(instance.setting, np.random.default_rng(0))
    found = []
    for observation in episode:
        found.append(observation.jobs[:PENDING].tolist())
        episode.apply(policy.decide(observation))
    return found


class Rows(NamedTuple):
    """Rows of the windows that hold a job and have one ``lag`` epochs before."""

    rows: int
    same: int
    known: int


def rows_back(seen: list[list[int]], lag: int) -> Rows:
    """Count the rows of all windows from epoch ``lag`` on: all, with the same job, with a job seen then."""
    rows = same = known = 0
    for now, then in zip(seen[lag:], seen, strict=False):
        rows += len(now)
        same += sum(a == b for a, b in zip(now, then, strict=False))
        known += len(set(now) & set(then))
    return Rows(rows, same, known)


@claim(
    "history-rows",
    "(9), (10)",
    Verdict.UNDETERMINED,
    says="Past affinities, N x M, are values of the function whose values for the pending jobs are wanted.",
    how="Which jobs the rows of the window hold one and eight epochs later: two jobs for one GPU, and "
    "generated workloads under FIFO-Consolidate.",
    choices=("whether a row is a place in the pending list, or what is known of the job in it",),
)
def history_rows(context: Context) -> Finding:
    lines = []
    for rho in track(context, (0.8, 2.0)):
        samples = [
            windows(generate("default", seed, jobs=context.pick(80, 300, 1000), rho=rho))
            for seed in seeds(context, 2, 5, 20)
        ]
        for lag in (1, 8):
            parts = [rows_back(seen, lag) for seen in samples]
            total = Rows(*(sum(column) for column in zip(*parts, strict=True)))
            shares = [100.0 * n / total.rows for n in (total.same, total.known)]
            lines.append((rho, lag, total.rows, *shares))
    tiny = windows(two_in_turn())
    one = rows_back(tiny, 1)
    return Finding(
        holds_if(one.same == one.rows and min(line[3] for line in lines) == 100.0, Verdict.UNDETERMINED),
        "Rows of the window are other jobs an epoch later: jobs leave when they start, and those behind move "
        "up.",
        {
            "two jobs: rows with the same job one epoch before": one.same,
            **{
                f"rho {rho:g}: {what}, {lag} epochs before (%)": share
                for rho, lag, _, *shares in lines
                for what, share in zip(("same row", "any row"), shares, strict=True)
            },
        },
        tables=(
            Table(
                "Rows of the window and their past",
                ("rho", "epochs before", "rows", "same job in the row (%)", "job in any row (%)"),
                tuple(lines),
            ),
        ),
        counterexample=two_in_turn(),
        assumes=f"The rows are those of the pending list, in its order, under FIFO-Consolidate; N = "
        f"{PENDING}.",
        remark="What is left in the window are the jobs that were not placed.",
    )


# (1), (13): the prior mean


def process_actions(
    K: np.ndarray, length: int, noise: float, draws: np.ndarray, means: np.ndarray
) -> np.ndarray:
    """Return the actions of a process that regresses on its own last ``length`` actions, shape (T, M).

    Parameters
    ----------
    K
        Kernel of all graphs, shape (T, T).
    length
        tau, the length of the history.
    noise
        sigma^2.
    draws
        Standard normal numbers, shape (T, M); zeros take the means as actions.
    means
        The prior means, shape (T, M).
    """
    actions = np.zeros_like(means)
    for t in range(len(K)):
        past = slice(max(0, t - length), t)
        mean, covariance = posterior(
            K[past, past],
            K[t : t + 1, past],
            K[t : t + 1, t : t + 1],
            actions[past],
            noise,
            means[past],
            means[t],
        )
        actions[t] = mean[0] + np.sqrt(max(float(covariance[0, 0]), 0.0)) * draws[t]
    return actions


def _graph_kernel(rng: np.random.Generator, epochs: int) -> np.ndarray:
    """Return the kernel (over M^2) of graphs of 8 random machines."""
    graphs = random_graphs(rng, epochs)
    return walk_gram(graphs, graphs, 1.0) / 64.0


def _first_fit_epochs(instance: PlacementInstance) -> tuple[int, int]:
    """Count the epochs of FIFO-FirstFit, and those at which equal affinities place the same."""
    policy, episode = FifoFirstFit(), instance.episode(frozenset())
    policy.start(instance.setting, np.random.default_rng(0))
    epochs = same = 0
    for observation in episode:
        decision = policy.decide(observation)
        w, m = len(observation.jobs), len(observation.free)
        epochs += 1
        same += np.array_equal(place(observation, -np.arange(w), np.zeros((w, m))), decision)
        episode.apply(decision)
    return epochs, same


@claim(
    "zero-mean",
    "(1), (13), Algorithm 1",
    Verdict.REFUTED,
    says="Regressing on its own past affinities, the process predicts affinities.",
    how="The process as printed on random graphs, without noise, and with noise and its negative; its "
    "placements without noise against FirstFit.",
)
def zero_mean(context: Context) -> Finding:
    rng = draws_of(context, 12)
    still = odd = 0.0
    runs, epochs = context.pick((3, 20), (10, 40), (40, 80))
    for _ in track(context, range(runs)):
        K, zeros = _graph_kernel(rng, epochs), np.zeros((epochs, 8))
        still = max(still, float(np.abs(process_actions(K, 8, 0.1, zeros, zeros)).max()))
        draws = rng.normal(size=(epochs, 8))
        there = process_actions(K, 8, 0.1, draws, zeros)
        back = process_actions(K, 8, 0.1, -draws, zeros)
        odd = max(odd, float(np.abs(there + back).max()))
    played, same = _first_fit_epochs(generate("default", context.seed, jobs=context.pick(60, 200, 1000)))
    return Finding(
        holds_if(still > 0.0 or odd > 1e-9, Verdict.REFUTED),
        "The mean is a combination of past actions: 0 for ever without noise, and with noise it regresses on "
        "that noise.",
        {
            "sequences": runs,
            "largest affinity without noise": still,
            "action and action of the negated noise: largest sum": odd,
            "epochs": played,
            "epochs placed as FirstFit does": same,
        },
        assumes="Prior mean 0, as (1) and (13) are printed, on any sequence of states.",
        proof="Before the first action the mean is 0; if means are taken it stays 0, all machines are equal, "
        "and placing by index is FirstFit.\n\nIf actions are sampled on a given sequence of states, negating "
        "the noise negates every action: then every affinity has mean 0, and a machine is as likely first as "
        "last.",
    )


@claim(
    "mean-actions",
    "(13), Figure 5(c, d)",
    Verdict.HOLDS,
    says="If means are taken as actions, neither the history nor the kernel changes a decision.",
    how="The process with random prior means, four lengths of the history, and random kernels.",
    ours=True,
)
def mean_actions(context: Context) -> Finding:
    rng = draws_of(context, 13)
    differ, sampled, runs = 0.0, [], context.pick(2, 8, 30)
    for _ in track(context, range(runs)):
        epochs = 30
        means, zeros = rng.normal(size=(epochs, 8)), np.zeros((epochs, 8))
        draws = rng.normal(size=(epochs, 8))
        kernels = [_graph_kernel(rng, epochs) for _ in range(2)]
        for K in kernels:
            played = [process_actions(K, tau, 0.1, zeros, means) for tau in LENGTHS]
            differ = max(differ, *(float(np.abs(a - means).max()) for a in played))
            noisy = [process_actions(K, tau, 0.1, draws, means) for tau in LENGTHS]
            sampled.append(float(np.abs(noisy[-1] - noisy[0]).max()))
    return Finding(
        holds_if(differ == 0.0 and min(sampled) > 0.0, Verdict.REFUTED),
        "With learned means as actions nothing is left for the process to say: neither kernel nor tau "
        "changes a decision.",
        {
            "sequences": runs,
            "means as actions: largest difference from the learned mean": differ,
            "sampled actions: largest difference between tau 4 and 10, median": float(np.median(sampled)),
        },
        assumes="Means are taken as actions, as in evaluation.",
        proof="Past actions less their prior means are 0, so the posterior mean is the prior mean.",
        remark="A dependence on tau, as in Figure 5(c, d), comes from training, or from sampled actions.",
    )


# (4), (5), (15): sizes, the gate, positions


def random_fusion(rng: np.random.Generator) -> Fusion:
    """Return random weights of (4) and (5)."""
    e = HIDDEN
    shapes = ((JOB_FEATURES, e), (e,), (MACHINE_FEATURES, e), (e,), (2 * e, e), (e,))
    return Fusion(*(rng.normal(size=shape) / np.sqrt(shape[0]) for shape in shapes))


@claim(
    "scalable",
    "Sec. 4.1.1, (15)",
    Verdict.HOLDS,
    says="The squeeze-and-communicate mechanism is scalable: the same weights serve any number of machines.",
    how="Sizes of what the networks take and give on the clusters. Beside it, the critic.",
)
def scalable(context: Context) -> Finding:
    rng = draws_of(context, 19)
    weights, lines = random_fusion(rng), []
    for name, m in CLUSTERS.items():
        jobs, machines = rng.random((PENDING, JOB_FEATURES)), rng.random((m, MACHINE_FEATURES))
        out, _, message = fused(jobs, machines, weights)
        parts = (jobs, machines, np.zeros(PENDING), np.zeros((PENDING, m)))
        lines.append((name, m, len(message), " x ".join(map(str, out.shape)), sum(p.size for p in parts)))
    agents = len({line[2:4] for line in lines}) == 1
    return Finding(
        holds_if(agents, Verdict.REFUTED),
        "The same weights of (4) and (5) take 8, 16 and 32 machines; only the critic (15) is tied to one "
        "cluster.",
        {
            "numbers in the message": HIDDEN,
            **{f"{line[0]}: inputs of the critic": line[4] for line in lines},
        },
        tables=(
            Table(
                f"What depends on the number of machines, N = {PENDING}",
                ("cluster", "M", "message", "fused job states", "inputs of the critic"),
                tuple(lines),
            ),
        ),
        assumes="The critic is a perceptron over everything side by side; it is needed in training alone.",
    )


@claim(
    "gate",
    "(5)",
    Verdict.HOLDS,
    says="The adaptive gate brings the state of the cluster into the job states.",
    how="Random weights: fused numbers are between the two, and change with the machines.",
)
def gate_claim(context: Context) -> Finding:
    rng = draws_of(context, 20)
    outside, moved, trials = 0, np.inf, context.pick(20, 100, 1000)
    for _ in track(context, range(trials)):
        weights = random_fusion(rng)
        jobs = rng.random((PENDING, JOB_FEATURES))
        free, full = (np.full((8, MACHINE_FEATURES), share) for share in (1.0, 0.0))
        out, own, message = fused(jobs, free, weights)
        low, high = np.minimum(own, message), np.maximum(own, message)
        outside += int(((out < low - 1e-12) | (out > high + 1e-12)).sum())
        moved = min(moved, float(np.abs(out - fused(jobs, full, weights)[0]).max()))
    return Finding(
        holds_if(outside == 0 and moved > 0.0, Verdict.REFUTED),
        "Every fused number is between the job's own and the message, and the state of the cluster gets "
        "through.",
        {"weights": trials, "numbers outside": outside, "least change from empty to full": moved},
        assumes="Random weights; all machines empty, and all full.",
    )


@claim(
    "positions",
    "Sec. 4.1.2",
    Verdict.HOLDS,
    says="The position encoding tells the ordering agent the order of submission.",
    how="Distances of the encodings of all positions up to 1000, and up to 20,000.",
)
def positions_claim(_context: Context) -> Finding:
    lines = []
    for count in (PENDING, 64, 1000, 20_000):
        away = np.linalg.norm(
            position_encoding(np.arange(1, count), HIDDEN) - position_encoding([0], HIDDEN), axis=1
        )
        lines.append((count, float(away.min()), int(away.argmin()) + 1))
    some = position_encoding(np.arange(200), HIDDEN)
    table = distances(some)
    steady = max(float(np.ptp(np.diagonal(table, k))) for k in range(1, 200))
    least = lines[-1][1]
    return Finding(
        holds_if(least > 0.1 and steady < 1e-6, Verdict.REFUTED),
        "Any two of the first 20,000 positions have different encodings, and distances depend on the "
        "difference alone.",
        {
            **{f"least distance of {count} positions": value for count, value, _ in lines},
            "most that equal differences differ": steady,
        },
        tables=(
            Table(
                f"Distances of position encodings, e = {HIDDEN}",
                ("positions", "least distance", "of positions apart by"),
                tuple(lines),
            ),
        ),
        assumes=f"e = {HIDDEN}. Which position is meant, in the pending list or in the trace, is not said.",
    )


CLAIMS = claim.claims
