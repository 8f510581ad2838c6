"""Claims about DAS's networks that need no training: kernels, the Gaussian process, densities, losses."""

from __future__ import annotations

from itertools import count

import numpy as np
from numpy.polynomial import Polynomial

from ....models.placement.generate import generate
from ....models.placement.placing import place
from ....online.placement import FifoConsolidate, FifoFirstFit
from ...claim import Context, Finding, Register, Verdict, amended_if, finding, holds_if, table
from ...experiments import seeds, track
from .. import formulas
from ..formulas import adjacency, geometric_walk_kernel, matern, smallest_eigenvalue, walk_gram, walk_kernel
from .theory import cluster, moves

claim = Register("placement")

CLUSTERS = {"Small": 8, "Medium": 16, "Large": 32}  # machines (Sec. 5.1.3)
PENDING, HIDDEN = 24, 64  # N, the jobs that the network sees, which is ours, and e (Sec. 5.1.3)
JOB_FEATURES, MACHINE_FEATURES = 5, 5  # u: instances, CPU, GPU, memory, wait; v is free or used (Sec. 3)
STATE_SIZE = 4  # numbers in the random machine states of the checks, shares between 0 and 1
ROUNDING = 1e-12  # an eigenvalue below -ROUNDING times the largest modulus of one is negative
TWO = {"alike": np.full((2, 2), 0.5), "far apart": 0.5 * np.eye(2)}  # graphs of two machines


def random_graphs(
    rng: np.random.Generator, number: int, machines: int = 8, *, printed: bool = False
) -> list[np.ndarray]:
    """Return graphs (11) of random machine states with random lengthscales from 0.3 to 3, over M."""
    return [
        adjacency(rng.random((machines, STATE_SIZE)), float(np.exp(rng.uniform(-1.2, 1.1))), printed=printed)
        for _ in range(number)
    ]


@claim("kronecker-shape", "Sec. 4.2.1", Verdict.REFUTED)
def kronecker_shape(_context: Context) -> Finding:
    """The Kronecker product of the job states and the machine states has the shape N x M x M.

    Entries of the product on the three clusters, beside those of N x M x M.
    """
    shapes = {m: np.kron(np.ones((PENDING, HIDDEN)), np.ones((m, HIDDEN))).shape for m in CLUSTERS.values()}
    rows = [(name, f"{PENDING} x {m} x {m}", " x ".join(map(str, shapes[m]))) for name, m in CLUSTERS.items()]
    return finding(
        holds_if(all(n * e == PENDING * m * m for m, (n, e) in shapes.items())),
        "The Kronecker product is a matrix of N M x e^2 numbers: as many as printed only if M is e^2.",
        {"M at which the numbers agree": HIDDEN**2},
        table(f"Shapes of the states, N = {PENDING}, e = {HIDDEN}", "cluster | printed | Kronecker", rows),
        assumes=f"N = {PENDING} is ours, as N is not given; the shapes do not depend on it.",
        proof="See the table: on no cluster has the product as many numbers as N x M x M, whatever N is.",
    )


def three_points() -> tuple[float, np.ndarray]:
    """Return the spacing of three points on a line at which (11) as printed is worst, and their graph."""
    line = np.arange(3.0)[:, None]
    spacings = np.linspace(0.01, 2.0, 200).tolist()
    step = min(spacings, key=lambda one: np.linalg.eigvalsh(adjacency(one * line, printed=True))[0])
    return step, adjacency(step * line, printed=True)


@claim("matern-psd", "(11), Proposition 1", Verdict.HOLDS_AMENDED)
def matern_psd(context: Context) -> Finding:
    """The Matern kernel (11) is positive semi-definite.

    Three points on a line, and random sets of states. Amended: g is the distance, not its square.
    """
    sets, scales = context.pick(20, 40, 200), np.geomspace(0.1, 10.0, context.pick(5, 13, 21)).tolist()
    states, rows = context.rng(2).random((sets, 8, STATE_SIZE)), []
    for scale in track(context, scales):
        graphs = [np.array([adjacency(x, scale, printed=g) for x in states]) for g in (False, True)]
        rows.append((scale, *(int((np.linalg.eigvalsh(some)[:, 0] < -ROUNDING).sum()) for some in graphs)))
    (step, worst), (_, sound, printed) = three_points(), np.sum(rows, axis=0)
    three = 3.0 * float(np.linalg.eigvalsh(worst)[0])
    heads = "lengthscale | g the distance | g the squared distance"
    return finding(
        amended_if(three >= 0.0 and not printed, not sound),
        "With the squared distance, as printed, three points already have a negative eigenvalue; with the "
        "distance none do.",
        {"three points: spacing (lengthscales)": step, "three points: smallest eigenvalue": three},
        table(f"Of {sets} sets of 8 random states: how many have a negative eigenvalue", heads, rows),
        proof="Near 0 the printed is 1 - 5/6 r^4; a kernel whose second derivative there is 0 is constant.",
    )


def times_differentiable(polynomial: Polynomial) -> int:
    """Return how often p(|s|) exp(-|s|) is: until an odd derivative at 0, from the right, does not vanish."""
    for order in count():
        if order % 2 and polynomial(0.0):
            break
        polynomial = polynomial.deriv() - polynomial
    return order - 1


@claim("matern-smooth", "Sec. 4.2.2", Verdict.HOLDS)
def matern_smooth(_context: Context) -> Finding:
    """The Matern kernel with nu = 5/2 can be differentiated twice.

    Its one-sided derivatives at 0 in whole numbers, and by differences.
    """
    kinds, h = {"1/2": [1], "3/2": [1, 1], "5/2": [3, 3, 1]}, 1e-3
    times = {nu: times_differentiable(Polynomial(p)) for nu, p in kinds.items()}
    rows = [(nu, often, often // 2) for nu, often in times.items()]
    distance, squared = (float(2.0 * (matern(g) - 1.0) / h**2) for g in (h, h**2))
    return finding(
        holds_if(times["5/2"] >= 2 and abs(distance + 5.0 / 3.0) < 1e-4),
        "The kernel with nu = 5/2 is four times differentiable at 0, its processes twice, in mean square.",
        {"second derivative at 0, distance": distance, "second derivative at 0, squared distance": squared},
        table("Differentiability at 0, exactly", "nu | kernel (times) | process (times, mean square)", rows),
        assumes="g is the distance: with its square the second derivative at 0 is 0, as of no covariance.",
    )


@claim("walk-series", "(12)", Verdict.HOLDS_AMENDED)
def walk_series(context: Context) -> Finding:
    """The series of (12) is a kernel for a positive weight lambda.

    Spectral radii; partial sums and limits on random graphs. Amended: for lambda below 1 / radius.
    """
    rng = context.rng(4)
    rows, sound = [], []
    for name, m in CLUSTERS.items():
        alike, random = np.zeros((m, STATE_SIZE)), rng.random((m, STATE_SIZE))
        apart = 1e3 * np.arange(m, dtype=np.float64)[:, None]
        for kind, x in (("all alike", alike), ("random", random), ("far apart", apart)):
            rho = float(np.linalg.norm(m * adjacency(x), 2)) ** 2
            rows.append((f"{name}, {kind}", rho, 1.0 / rho))
    for _ in track(context, range(context.pick(3, 10, 40))):
        P1, P2 = random_graphs(rng, 2)
        for share in (0.3, 0.9, 1.05):
            weight = share / float(np.linalg.norm(P1, 2) * np.linalg.norm(P2, 2))
            sums = formulas.geometric_partial_sums(P1, P2, weight, 400)
            limit, grows = geometric_walk_kernel(P1, P2, weight), np.diff(sums, 2)[-1] > 0.0
            sound.append(abs(sums[-1] / limit - 1.0) < 1e-9 if share < 1.0 else limit == np.inf and grows)
    least = min(row[1] for row in rows)
    heads = "machines | rho | lambda must be below"
    return finding(
        amended_if(least < 1.0 - 1e-9, all(sound)),
        "It converges only for weights below one over the spectral radius, as printed never from 1 on.",
        {"smallest rho, 1 on the diagonal": least, "cases": len(sound), "cases that agree": int(sum(sound))},
        table("Spectral radius of P (x) P as printed, lengthscale 1", heads, rows),
        assumes="The diagonal of P is 1, as printed. Over M, as we take P, the radius is at most 1.",
        proof="P1 (x) P2 has entries >= 0, so the series converges exactly below 1 / rho; rho is at least 1.",
    )


@claim("proposition-1", "Proposition 1, Sec. 4.2.3", Verdict.HOLDS)
def proposition_1(context: Context) -> Finding:
    """The random walk kernel on graphs of (11) is symmetric and positive semi-definite.

    Kernel matrices of random graphs, with both weights and forms of (11), and those from features.
    """
    rng = context.rng(5)
    sets, number = context.pick((3, 5), (12, 6), (100, 8))
    least, deviation = np.inf, 0.0
    for place_ in track(context, range(2 * sets)):
        graphs = random_graphs(rng, number, int(rng.integers(2, 9)), printed=place_ >= sets)
        beta, lam = float(rng.uniform(0.2, 4.0)), 0.95 / np.linalg.norm(graphs, 2, (1, 2)).max() ** 2
        walks = walk_gram(graphs, beta)
        series = np.array([[geometric_walk_kernel(P, Q, lam) for Q in graphs] for P in graphs])
        least = min(least, smallest_eigenvalue(walks), smallest_eigenvalue(series))
        features = np.array([formulas.node_features(P, beta, 60).sum(axis=0) for P in graphs])
        for other in (walks.T, features @ features.T):
            deviation = max(deviation, float((np.abs(walks - other) / walks).max()))
    return finding(
        holds_if(least >= -ROUNDING and deviation < 1e-10),
        "It is an inner product of features: a kernel for any symmetric graphs where (12) converges.",
        {"smallest eigenvalue / largest": least, "largest difference from the features": deviation},
        assumes="Both weights, and both forms of (11): that (11) as printed is indefinite does not matter.",
        proof="The features are sqrt(beta^l / l!) 1'P^l 1, or with lambda^l in place of beta^l / l!.",
    )


@claim("proposition-1-proof", "Appendix B.1", Verdict.REFUTED)
def proposition_1_proof(_context: Context) -> Finding:
    """Powers of P1 (x) P2 are positive semi-definite, and this proves Proposition 1.

    Powers for three machines; a positive definite function of P1 (x) P2 that is no kernel on graphs.
    """
    from scipy.linalg import expm

    step, P = three_points()
    product, graphs = np.kron(P, P), list(TWO.values())
    first, third = (float(np.linalg.eigvalsh(np.linalg.matrix_power(product, k))[0]) for k in (1, 3))
    inner = min(float(np.linalg.eigvalsh(expm(np.kron(-p, q)))[0]) for p in graphs for q in graphs)
    sums = np.array([[formulas.walk_kernel_literal(-p, q, 1.0) for q in graphs] for p in graphs])
    outer, rows = smallest_eigenvalue(sums), zip(TWO, *sums.T.tolist(), strict=True)
    return finding(
        holds_if(first >= 0.0 and (inner <= 0.0 or outer >= 0.0)),
        "The proof is about one pair of graphs; functions that pass it are no kernels on graphs.",
        {"least eigenvalue: P (x) P": first, "its cube": third, "exp(-P1 (x) P2)": inner, "its sums": outer},
        table("1' exp(-P1 (x) P2) 1 of two machines", " | alike | far apart", rows),
        proof=f"For three machines {step:g} lengthscales apart, by (11) as printed, P (x) P has a negative "
        "eigenvalue, as have all its odd powers; with g the distance (see matern-psd) no power has.\n\n"
        "But the step to a kernel on graphs is missing too: see exp(-P1 (x) P2), and the matrix of its sums.",
    )


@claim("proposition-2", "Proposition 2, Appendix B.2", Verdict.REFUTED)
def proposition_2(_context: Context) -> Finding:
    """(12) can be turned into exp(beta P1 (x) P2), calculated entry by entry.

    The weights that make both equal on graphs of two machines: it holds if two graphs have the same.
    """
    lam, rows = 0.5, []
    for name, P in TWO.items():
        product, printed = np.kron(P, P), geometric_walk_kernel(P, P, lam)
        delta = float(product.sum() / 4.0)
        beta = float(-np.log1p(-lam * delta) / delta)
        if abs(printed / formulas.walk_kernel_literal(P, P, beta) - 1.0) > 1e-12:
            raise RuntimeError(f"two machines {name}: beta = {beta} does not match")
        rows.append((name, delta, printed, beta, float(np.exp(beta * product).sum())))
    one, two = (row[3] for row in rows)
    heads = "machines | delta | (12) | beta that matches | sum of exp, entry by entry"
    return finding(
        holds_if(abs(one - two) < 1e-6),
        "No beta makes the exponential equal to (12) on two graphs: what matches depends on the graph.",
        table("(12) with lambda = 0.5 on two machines, each graph with itself", heads, rows),
        assumes="Sums over the entries are compared, as (12) is a number and exp(beta P1 (x) P2) a matrix. "
        "Graphs are divided by M; their two machines are apart (half the identity) or alike (all one half).",
        proof="Where all rows of P1 (x) P2 have the sum delta, beta must be -log(1 - lambda delta) / delta, "
        "which increases with delta: see the table.",
    )


@claim("walk-eigenvalues", "Instead of Proposition 2", Verdict.HOLDS, ours=True)
def walk_eigenvalues(context: Context) -> Finding:
    """1' exp(beta P1 (x) P2) 1 is a sum over pairs of eigenvalues of the two graphs.

    Against the matrix exponential of the Kronecker product on random graphs; operations counted.
    """
    rng = context.rng(8)
    worst, pairs = 0.0, context.pick(10, 60, 400)
    for number in track(context, range(pairs)):
        sizes = rng.integers(1, 8, 2).tolist()
        P1, P2 = (random_graphs(rng, 1, m, printed=number % 2 == 1)[0] for m in sizes)
        beta = float(rng.uniform(0.0, 5.0))
        worst = max(worst, abs(walk_kernel(P1, P2, beta) / formulas.walk_kernel_literal(P1, P2, beta) - 1.0))
    factors = [2 * m**6 / (18 * m**3 + 4 * m**2) for m in CLUSTERS.values()]
    return finding(
        holds_if(worst < 1e-11),
        f"The sum is the kernel, at {min(factors):.0f} to {max(factors):.0f} times fewer operations.",
        {"pairs of graphs": pairs, "largest relative difference": worst},
        proof="The sum is that of (U1'1)^2 (U2'1)^2 exp(beta l1 l2).",
        remark="By counts of 2 M^6 operations for a product of matrices of M^2 rows, and 18 M^3 + 4 M^2.",
    )


def graph_posterior(history: np.ndarray, y: np.ndarray, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Return (13) and (14) for the last of the states (T, M, 4), given y, shape (T - 1, M), of the others."""
    K = walk_gram([adjacency(x) for x in history], 1.0) / history.shape[1] ** 2
    return formulas.posterior(K[:-1, :-1], K[-1:, :-1], K[-1:, -1:], y, noise)


def node_gram(history: np.ndarray) -> np.ndarray:
    """Return the kernel Matern(x, x') <psi, psi'> of all (time, machine), by time, shape (T M, T M)."""
    psi = np.concatenate([formulas.node_features(adjacency(x), 1.0, 30) for x in history])
    return matern(formulas.distances(history.reshape(-1, STATE_SIZE))) * (psi @ psi.T)


def node_posterior(history: np.ndarray, y: np.ndarray, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and covariance of the last machines by the process over (time, machine)."""
    K, old = node_gram(history), y.size
    return formulas.posterior(K[:old, :old], K[old:, :old], K[old:, old:], y.reshape(-1), noise)


def busy_and_empty(rng: np.random.Generator, length: int, machines: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a random history at the end of which machine 0 is empty and machine 1 full, and the reverse."""
    states = rng.random((length + 1, machines, STATE_SIZE))
    states[-1, 0], states[-1, 1] = 1.0, 0.0
    swapped = states.copy()
    swapped[-1, [0, 1]] = states[-1, [1, 0]]
    return states, swapped


@claim("machines-apart", "(12), (13), Sec. 4.2.4", Verdict.REFUTED)
def machines_apart(context: Context) -> Finding:
    """The posterior gives every machine an affinity by its state.

    Random histories; an empty and a full machine change places, or have the same past affinities.
    """
    rng, rows = context.rng(9), []
    for _ in track(context, range(context.pick(4, 20, 100))):
        (history, swapped), y = busy_and_empty(rng, 8, 8), rng.normal(size=(8, 8))
        before, after = (graph_posterior(h, y, 0.1)[0][0] for h in (history, swapped))
        y[:, 1] = y[:, 0]
        scores, ours = graph_posterior(history, y, 0.1)[0][0], node_posterior(history, y, 0.1)[0]
        rows.append((np.abs(after - before).max(), abs(scores[1] - scores[0]), abs(ours[1] - ours[0])))
    (moved, equal, _), (*_, least) = (of(rows, axis=0).tolist() for of in (np.max, np.min))
    return finding(
        holds_if(moved > 1e-9 or equal > 1e-9),
        "One number per pair of graphs gives all machines the same weights: which one is empty is no matter.",
        {"exchange: most moved": moved, "empty and full: most apart": equal, "over machines: least": least},
        assumes="Prior mean 0, as printed, and one kernel value per pair of graphs, as (12) is.",
        proof="Exchanging the states of two machines renumbers the graph, and the kernel is the same for "
        "renumbered graphs: (13) does not change. The variance (14) is one number for all.",
    )


@claim("node-level", "Instead of (12)", Verdict.HOLDS, ours=True)
def node_level(context: Context) -> Finding:
    """A kernel over (history, machine), one factor of which sums to the random walk kernel.

    Random histories.
    """
    rng = context.rng(10)
    deviation, smallest = 0.0, np.inf
    for _ in track(context, range(context.pick(3, 15, 80))):
        history = rng.random((6, int(rng.integers(2, 9)), STATE_SIZE))
        beta, graphs = float(rng.uniform(0.2, 3.0)), [adjacency(x) for x in history]
        psi = np.array([formulas.node_features(P, beta, 60).sum(axis=0) for P in graphs])
        deviation = max(deviation, float(np.abs(psi @ psi.T / walk_gram(graphs, beta) - 1.0).max()))
        K = node_gram(history)
        deviation = max(deviation, float(np.abs(K - K.T).max()))
        smallest = min(smallest, smallest_eigenvalue(K))
    return finding(
        holds_if(deviation < 1e-10 and smallest >= -ROUNDING),
        "Matern(x, x') <psi, psi'> is a kernel over (time, machine), and psi sums to the random walk kernel.",
        {"smallest eigenvalue / largest": smallest, "sum over machines: largest difference": deviation},
        proof="It is a product of two kernels, psi_k = [sqrt(beta^l / l!) (P^l 1)_k].",
    )


def rows_back(seen: list[list[int]], lag: int) -> np.ndarray:
    """Count the rows of all windows from epoch ``lag`` on: all, with the same job, with a job seen then."""
    counts = [
        (len(now), sum(a == b for a, b in zip(now, then, strict=False)), len(set(now) & set(then)))
        for now, then in zip(seen[lag:], seen, strict=False)
    ]
    return np.array(counts, dtype=np.int64).reshape(-1, 3).sum(axis=0)


@claim(
    "history-rows",
    "(9), (10)",
    turns=("what is known of a job", "a place in the list"),
    choices=("whether a row is a place in the pending list, or what is known of the job in it",),
)
def history_rows(context: Context) -> Finding:
    """Past affinities, N x M, are values of the function whose values for the pending jobs are wanted.

    Which jobs the rows of the window hold epochs later, under FIFO-Consolidate.
    """
    two = cluster(1, 1, [(0, 1, 1, 1), (0, 1, 1, 1)], origin="two jobs for one GPU")
    jobs, sampled = context.pick(80, 300, 1000), seeds(context, 2, 5, 20)
    cases = {
        "two jobs": [two],
        **{f"rho = {r}": [generate("default", s, jobs=jobs, rho=r) for s in sampled] for r in (0.8, 2.0)},
    }
    rows = []
    for name, instances in track(context, cases.items()):
        played = [[o.jobs[:PENDING].tolist() for o, _ in moves(FifoConsolidate(), i)] for i in instances]
        for lag in (1,) if len(played) == 1 else (1, 8):
            total, *parts = np.sum([rows_back(seen, lag) for seen in played], axis=0).tolist()
            rows.append((name, lag, total, *(100.0 * part / total for part in parts)))
    heads = "workload | epochs before | rows | same job in the row (%) | job in any row (%)"
    same = {"a place in the list": min(row[3] for row in rows) == 100.0, "what is known of a job": True}
    return finding(
        holds_if(all(same.values()), Verdict.UNDETERMINED),
        "Many rows of the window are other jobs an epoch later: jobs that start leave, and those behind move "
        "up.",
        table("Rows of the window and their past", heads, rows),
        counterexample=two,
        signs={"a row is of one job": same},
        assumes=f"The rows are those of the pending list, in its order; N = {PENDING}.",
    )


def process_actions(
    K: np.ndarray, length: int, noise: float, draws: np.ndarray, means: np.ndarray
) -> np.ndarray:
    """Return the actions of a process that regresses on its own last ``length`` actions, shape (T, M).

    Of this shape are the prior means, and standard normal draws; zeros take the means as actions.
    """
    actions = np.zeros_like(means)
    for t in range(len(K)):
        past, now = slice(max(0, t - length), t), slice(t, t + 1)
        known = K[past, past], K[now, past], K[now, now], actions[past]
        mean, covariance = formulas.posterior(*known, noise, means[past], means[t])
        actions[t] = mean[0] + np.sqrt(max(float(covariance[0, 0]), 0.0)) * draws[t]
    return actions


@claim("zero-mean", "(1), (13), Algorithm 1", Verdict.REFUTED)
def zero_mean(context: Context) -> Finding:
    """Regressing on its own past affinities, the process predicts affinities.

    The process on random graphs, without noise, with noise and its negative; placements of FirstFit.
    """
    rng, still, odd, same = context.rng(12), 0.0, 0.0, []
    runs, epochs = context.pick((3, 20), (10, 40), (40, 80))
    for _ in track(context, range(runs)):
        K, draws = walk_gram(random_graphs(rng, epochs), 1.0) / 64.0, rng.normal(size=(epochs, 8))
        none, there, back = (
            process_actions(K, 8, 0.1, sign * draws, np.zeros((epochs, 8))) for sign in (0.0, 1.0, -1.0)
        )
        still, odd = max(still, float(np.abs(none).max())), max(odd, float(np.abs(there + back).max()))
    instance = generate("default", context.seed, jobs=context.pick(60, 200, 1000))
    for seen, decision in moves(FifoFirstFit(), instance):
        w, m = len(seen.jobs), len(seen.free)
        same.append(np.array_equal(place(seen, -np.arange(w), np.zeros((w, m))), decision))
    return finding(
        holds_if(still > 0.0 or odd > 1e-9),
        "The mean combines past actions: without noise it is 0 for ever, with noise it regresses on that.",
        {"without noise": still, "with its negative": odd, "epochs": len(same), "as FirstFit": sum(same)},
        assumes="Prior mean 0, as (1) and (13) are printed, on any sequence of states.",
        proof="Before the first action the mean is 0; if means are taken it stays 0, all machines are equal, "
        "and placing by index is FirstFit.\n\nIf actions are sampled on a given sequence of states, negating "
        "the noise negates every action: every affinity has mean 0.",
    )


@claim("mean-actions", "(13), Figure 5(c, d)", Verdict.HOLDS, ours=True)
def mean_actions(context: Context) -> Finding:
    """If means are taken as actions, neither the history nor the kernel changes a decision.

    The process with random prior means, four lengths of the history, and random kernels.
    """
    rng, differ, sampled, epochs = context.rng(13), 0.0, [], 30
    for _ in track(context, range(context.pick(4, 8, 60))):
        means, draws = rng.normal(size=(2, epochs, 8))
        K = walk_gram(random_graphs(rng, epochs), 1.0) / 64.0
        played, noisy = (
            np.array([process_actions(K, tau, 0.1, of, means) for tau in (4, 6, 8, 10)])
            for of in (0.0 * draws, draws)
        )
        differ = max(differ, float(np.abs(played - means).max()))
        sampled.append(float(np.abs(noisy[-1] - noisy[0]).max()))
    return finding(
        holds_if(differ == 0.0 and min(sampled) > 0.0),
        "With learned means as actions neither kernel nor tau changes a decision.",
        {"largest difference from the means": differ, "if sampled, tau 4 and 10 at least": min(sampled)},
        proof="Past actions less their prior means are 0, so the posterior mean is the prior mean.",
    )


def random_fusion(rng: np.random.Generator) -> formulas.Fusion:
    """Return random weights of (4) and (5)."""
    e = HIDDEN
    shapes = ((JOB_FEATURES, e), (e,), (MACHINE_FEATURES, e), (e,), (2 * e, e), (e,))
    return formulas.Fusion(*(rng.normal(size=shape) / np.sqrt(shape[0]) for shape in shapes))


@claim("scalable", "Sec. 4.1.1, (15)", Verdict.HOLDS)
def scalable(context: Context) -> Finding:
    """The squeeze-and-communicate mechanism is scalable: the same weights serve any number of machines.

    Sizes of what the networks take and give on the clusters. Beside it, the critic.
    """
    rng, rows = context.rng(19), []
    weights = random_fusion(rng)
    for name, m in CLUSTERS.items():
        jobs, machines = rng.random((PENDING, JOB_FEATURES)), rng.random((m, MACHINE_FEATURES))
        out, _, message = formulas.fused(jobs, machines, weights)
        inputs = jobs.size + machines.size + PENDING + PENDING * m
        rows.append((name, m, len(message), " x ".join(map(str, out.shape)), inputs))
    heads = "cluster | M | message | fused job states | inputs of the critic"
    return finding(
        holds_if(len({row[2:4] for row in rows}) == 1),
        "The same weights of (4) and (5) take 8, 16 and 32 machines; only the critic (15) needs one cluster.",
        table(f"What depends on the number of machines, N = {PENDING}", heads, rows),
        assumes="The critic is a perceptron over everything side by side; it is needed in training alone.",
    )


@claim("gate", "(5)", Verdict.HOLDS)
def gate_claim(context: Context) -> Finding:
    """The adaptive gate brings the state of the cluster into the job states.

    Random weights: fused numbers are between the two, and differ for empty and full machines.
    """
    rng, outside, moved, trials = context.rng(20), 0, np.inf, context.pick(20, 100, 1000)
    for _ in track(context, range(trials)):
        weights, jobs = random_fusion(rng), rng.random((PENDING, JOB_FEATURES))
        (out, own, message), (full, *_) = (
            formulas.fused(jobs, np.full((8, MACHINE_FEATURES), share), weights) for share in (1.0, 0.0)
        )
        low, high = np.minimum(own, message), np.maximum(own, message)
        outside += int(((out < low - 1e-12) | (out > high + 1e-12)).sum())
        moved = min(moved, float(np.abs(out - full).max()))
    return finding(
        holds_if(outside == 0 and moved > 0.0),
        "Every fused number is between the job's own and the message: the state of the cluster gets through.",
        {"weights": trials, "numbers outside": outside, "least change from empty to full": moved},
    )


@claim("positions", "Sec. 4.1.2", Verdict.HOLDS)
def positions_claim(_context: Context) -> Finding:
    """The position encoding tells the ordering agent the order of submission.

    Distances of the encodings of all positions up to 1000, and up to 20,000.
    """
    codes = formulas.position_encoding(np.arange(20_000), HIDDEN)
    away, apart = np.linalg.norm(codes - codes[0], axis=1)[1:], formulas.distances(codes[:200])
    rows = [(n, float(away[: n - 1].min()), int(away[: n - 1].argmin()) + 1) for n in (64, 1000, 20_000)]
    steady = max(float(np.ptp(np.diagonal(apart, k))) for k in range(1, 200))
    heads = "positions | least distance | of positions apart by"
    return finding(
        holds_if(rows[-1][1] > 0.1 and steady < 1e-6),
        "Any two of 20,000 positions have different encodings; distances depend on the difference alone.",
        {"most that equal differences differ": steady},
        table(f"Distances of position encodings, e = {HIDDEN}", heads, rows),
        assumes=f"e = {HIDDEN}. Which position is meant, in the pending list or in the trace, is not said.",
    )
