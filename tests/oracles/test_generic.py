"""A declared program is enough for an oracle: the problems' own oracles judge it, and it judges programs."""

import importlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ortools.sat.python import cp_model
from scipy.optimize import linprog
from scipy.sparse import csc_array

import clairvoyant as cv
from clairvoyant.models.admission.instance import AdmissionInstance
from clairvoyant.models.admission.program import compact_program
from clairvoyant.models.admission.schedule import Schedule
from clairvoyant.models.allocation.instance import AllocationInstance
from clairvoyant.models.allocation.program import stationary_program
from clairvoyant.models.base import DecisionError, InputError, Instance, Origin, Outcome, Violation
from clairvoyant.models.duality import Linear, all_limits, proven
from clairvoyant.models.placement.instance import PlacementInstance
from clairvoyant.models.placement.program import placement_program
from clairvoyant.models.program import CvxpyProgram, Program, PyomoProgram, Solved, SolverError
from clairvoyant.models.selection.instance import SelectionInstance
from clairvoyant.models.selection.program import slot_program
from clairvoyant.online.play import Replay, play
from clairvoyant.oracles import cp_sat, generic
from clairvoyant.oracles.base import NoOptimumError, Optimum, OracleError, WhyStopped
from clairvoyant.oracles.generic import METHODS, declared, oracles
from clairvoyant.oracles.placement.exact import _program_rows, _simulated

Values = Mapping[str, np.ndarray]


class Shop(Instance):
    """Pick goods, one by one, of at most so much weight in all: a knapsack, or with ``minimised`` a cover."""

    problem: ClassVar[str] = "shop"

    def __init__(self, worth: Sequence[float], weight: Sequence[float], limit: float, **how: Any) -> None:
        self.worth, self.weight, self.limit = list(worth), list(weight), limit
        usual = {"library": "pyomo", "whole": True, "factor": 1.0, "sense": -1 if not self.minimised else 1}
        self.how: dict[str, Any] = usual | {"coming": 5.0} | how
        self.setting, self.origin = limit, Origin("test")

    def episode(self, sees: frozenset[str]) -> Any:
        return Counter(self)

    def violations(self, decision: Any) -> list[Violation]:
        excess = float(np.dot(decision, self.weight[: len(decision)])) - self.limit
        excess *= -1.0 if self.minimised and len(decision) == len(self.weight) else not self.minimised
        return [Violation("limit", (), excess)] if excess > 1e-6 else []

    def program(self) -> Program:
        return self.by_pyomo() if self.how["library"] == "pyomo" else self.by_cvxpy()

    def by_pyomo(self) -> PyomoProgram:
        import pyomo.environ as pyo

        m, n = pyo.ConcreteModel(), range(len(self.worth))
        m.x = pyo.Var(n, domain=pyo.Binary if self.how["whole"] else pyo.NonNegativeReals, bounds=(0, 1))
        m.unused = pyo.Var(domain=pyo.Integers)
        total = sum(self.weight[i] * m.x[i] for i in n)
        m.limit = pyo.Constraint(expr=total >= self.limit if self.minimised else total <= self.limit)
        if "count" in self.how:
            m.count = pyo.Constraint(expr=sum(m.x.values()) == self.how["count"])
        worth = sum(self.how["factor"] * self.worth[i] * m.x[i] ** self.how.get("power", 1) for i in n)
        m.total = pyo.Objective(expr=worth + self.how["coming"], sense=self.how["sense"])
        shapes = {"x": (len(n),), "unused": ()}
        return PyomoProgram(m, shapes, title="Shop", equations=(), decisions=self.how.get("read", read))

    def by_cvxpy(self) -> CvxpyProgram:
        import cvxpy as cp

        whole = self.how["whole"]
        x = cp.Variable(len(self.worth), name="x", boolean=whole, nonneg=not whole)
        rows = {"limit": self.weight @ x <= self.limit, "one": x <= 1}
        problem = cp.Problem(cp.Maximize(self.worth @ x + self.how["coming"]), list(rows.values()))
        return CvxpyProgram(problem, {"x": x}, rows, title="Shop", equations=(), decisions=read)

    def facts(self) -> dict[str, float]:
        return {}

    def content(self) -> Iterator[tuple[str, Any]]:
        yield "worth", self.worth

    def to_dict(self) -> dict[str, Any]:
        return {"worth": self.worth}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Shop":
        return cls(**data)


class Cover(Shop):
    minimised: ClassVar[bool] = True


class Counter:
    """Pays for every good when it is picked, and 5, or what is said, for coming."""

    def __init__(self, shop: Shop) -> None:
        self.shop, self.picked = shop, list[float]()

    def __iter__(self) -> Iterator[int]:
        yield from range(len(self.shop.worth))

    def apply(self, decision: Any, *, enforce: bool = True) -> Outcome:
        self.picked.append(float(decision))
        broken = self.shop.violations(self.picked)
        if broken:
            raise DecisionError(f"too much: {broken[0]}", broken)
        reward = (
            self.shop.how.get("reward", 0.0)
            + decision * self.shop.worth[len(self.picked) - 1]
            + self.shop.how["coming"] * (len(self.picked) == 1)
        )
        return Outcome(reward, True, None)


def read(values: Values) -> list[float]:
    assert values.get("unused", 0.0) == 0.0
    return [float(x) for x in values["x"]]


WORTH, WEIGHT = [6.0, 5.0, 8.0, 9.0, 6.0, 7.0, 3.0], [2.0, 3.0, 6.0, 7.0, 5.0, 9.0, 4.0]


def best(shop: Shop) -> float:
    """The optimum, by enumeration."""
    count = len(shop.worth)
    sets = [[float(bits >> i & 1) for i in range(count)] for bits in range(2**count)]
    sets = [x for x in sets if not shop.violations(x) and shop.how.get("count", sum(x)) == sum(x)]
    sums = [float(shop.how["coming"] + np.dot(x, shop.worth)) for x in sets]
    return min(sums) if shop.minimised else max(sums)


@pytest.mark.parametrize("kind", [Shop, Cover])
@pytest.mark.parametrize("method", ["auto", "cp-sat", "highs"])
@pytest.mark.parametrize("unit", [1.0, 0.1, 1e7 / 3.0])
def test_the_optimum_is_that_of_enumeration(kind: type[Shop], method: str, unit: float) -> None:
    shop = kind([unit * worth for worth in WORTH], WEIGHT, 15.0)
    found = declared(shop, method=method)
    assert found.value == pytest.approx(best(shop), rel=1e-12)
    assert found.bound is not None
    assert (found.bound <= found.value) if kind.minimised else (found.bound >= found.value)
    assert found.bound == pytest.approx(found.value, rel=1e-8)
    proved = WhyStopped.PROVED if method == "cp-sat" else WhyStopped.GAP_REACHED
    assert found.why_stopped is proved
    assert (found.status == f"proved by {found.method}, not certified") == (proved is WhyStopped.PROVED)
    assert ("HiGHS" in found.method) == (method != "cp-sat")
    assert play(Replay(found.decision, "shop"), shop).total == pytest.approx(found.value, rel=1e-15)


@pytest.mark.parametrize(("kind", "library"), [(Shop, "pyomo"), (Cover, "pyomo"), (Shop, "cvxpy")])
@pytest.mark.parametrize("unit", [1e-4, 1e-8, 1e-12, 1e9])
def test_rewards_may_be_counted_in_any_unit(kind: type[Shop], library: str, unit: float) -> None:
    """The tolerances of HiGHS are no part of them."""
    shop = kind([unit * worth for worth in WORTH], WEIGHT, 15.0, library=library, coming=5.0 * unit)
    found = declared(shop)
    assert found.value == pytest.approx(best(shop), rel=1e-12, abs=0.0)
    assert found.bound == pytest.approx(found.value, rel=1e-8, abs=0.0)
    assert found.why_stopped is WhyStopped.GAP_REACHED


@pytest.mark.parametrize(
    "how", [{"library": "cvxpy"}, {"library": "cvxpy", "whole": False}, {"whole": False}]
)
@pytest.mark.parametrize("limit", [15.0, 3.7])
def test_other_programs_go_to_highs_and_are_not_called_proved(how: dict[str, Any], limit: float) -> None:
    shop = Shop(WORTH, WEIGHT, limit, **how)
    found = declared(shop)
    filled, left = 5.0, limit
    for worth, weight in sorted(zip(WORTH, WEIGHT, strict=True), key=lambda good: -good[0] / good[1]):
        filled, left = filled + worth * min(1.0, left / weight), max(0.0, left - weight)
    assert found.value == pytest.approx(best(shop) if how.get("whole", True) else filled, rel=1e-8)
    assert found.bound is not None
    assert found.value < found.bound < found.value * (1 + 1e-7)
    assert found.why_stopped is WhyStopped.GAP_REACHED
    assert found.method.startswith("HiGHS through")
    if how.get("library") == "cvxpy" and not shop.how["whole"]:
        conic = declared(shop, method="clarabel")
        assert conic.value == pytest.approx(found.value, rel=1e-6)
        assert conic.method.startswith("Clarabel")


@pytest.mark.parametrize("method", ["cp-sat", "highs"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_an_equation_is_kept(method: str, count: int) -> None:
    shop = Shop(WORTH, WEIGHT, 15.0, count=count)
    found = declared(shop, method=method)
    assert sum(found.decision) == count
    assert found.value == pytest.approx(best(shop), rel=1e-12)
    assert found.gap is not None
    assert found.gap <= 1e-8


def test_a_bound_that_rests_on_tolerances_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    value = best(Shop(WORTH, WEIGHT, 15.0))
    taken = {"x": np.array(declared(Shop(WORTH, WEIGHT, 15.0)).decision), "unused": np.array(np.nan)}
    near = Solved("convergenceCriteriaSatisfied", value, taken)
    monkeypatch.setattr(PyomoProgram, "solve", lambda *_, **__: near)
    monkeypatch.setattr(generic, "bound_of", lambda *_: value * (1.0 - 1e-9 - 1e-15))
    found = declared(Shop(WORTH, WEIGHT, 15.0), gap=0.0)
    assert (found.value, found.bound, found.why_stopped) == (value, value, WhyStopped.GAP_REACHED)


def test_a_program_says_which_variables_are_whole() -> None:
    for library, whole in product(("pyomo", "cvxpy"), (True, False)):
        told = Shop(WORTH, WEIGHT, 15.0, library=library, whole=whole).program().whole()
        assert told["x"].tolist() == [whole] * len(WORTH)
        assert library == "cvxpy" or told["unused"].tolist() is True


# The four problems: each oracle of theirs judges the generic one.


def declares(instance: Instance, program: Callable[[], Program], read: Callable[[Values], Any]) -> Any:
    """The same instance, which now says what its optimum is."""

    def declared_program() -> Program:
        made = program()
        made.decisions = read
        return made

    vars(instance)["program"] = declared_program
    return instance


def allocation(seed: int) -> Any:
    made: AllocationInstance = cv.generate("allocation", "tiny", seed, slots=6)
    setting = made.setting

    def hold(values: Values) -> list[np.ndarray]:
        y = np.clip(values["y"], 0.0, setting.edge_demand)
        share = np.minimum(1.0, setting.capacity / np.maximum(setting.server_sums(y), 1e-300))
        return [y * share[setting.server]] * setting.slots

    return declares(made, lambda: stationary_program(made), hold)


def selection(seed: int) -> Any:
    made: SelectionInstance = cv.generate("selection", "tiny", seed, slots=1)
    one = made.arrivals[0]
    return declares(made, lambda: slot_program(made.setting, made.mean, one), lambda v: [v["x"] > 0.5])


def admission(seed: int) -> Any:
    made: AdmissionInstance = cv.generate("admission", "tiny", seed)

    def deploy(values: Values) -> Any:
        sides = []
        for name in ("y", "z"):
            counts = values[name].astype(np.int64)
            i, h, t = np.nonzero(counts)
            sides.append(np.column_stack([t + 1, i, h, counts[i, h, t]]))
        return Schedule(*sides).deployments(made.setting.horizon)

    return declares(made, lambda: compact_program(made), deploy)


def placement(seed: int) -> Any:
    made: PlacementInstance = cv.generate("placement", "tiny", seed, jobs=4, contention=0.0)
    return declares(
        made,
        lambda: placement_program(made),
        lambda values: made.decisions(_simulated(made, *_program_rows(values))),
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("make", [allocation, selection, admission, placement])
def test_the_declared_programs_of_the_four_problems_have_the_optimum_of_their_own_oracles(
    make: Callable[[int], Instance], seed: int
) -> None:
    instance = make(seed)
    own, found = cv.solve(instance, gap=1e-8), declared(instance, gap=1e-7)
    sign = -1.0 if instance.minimised else 1.0
    assert found.value == pytest.approx(own.value, rel=1e-6)
    assert found.bound is not None
    assert own.bound is not None
    assert sign * found.bound >= sign * own.value * (1 - sign * 1e-9)  # no bound cuts off the other's value
    assert sign * own.bound >= sign * found.value * (1 - sign * 1e-9)
    assert found.gap is not None
    assert found.gap <= 1e-6
    del vars(instance)["program"]
    assert play(Replay(found.decision, instance.problem), instance).total == pytest.approx(found.value)


# What it refuses, and what it says when time is short.


@pytest.mark.parametrize(
    ("shop", "method", "message"),
    [
        (Shop(WORTH, WEIGHT, 9.0, whole=False), "cp-sat", r"variable x\[0\] is not whole"),
        (Shop(WORTH, [w / 10.0 for w in WEIGHT], 0.9), "cp-sat", "constraint limit has numbers that are not"),
        (Shop(WORTH, [2.0**45 * w for w in WEIGHT], 2.0**49), "cp-sat", "constraint limit has numbers"),
        (Shop(WORTH, WEIGHT, 9.0, power=2), "cp-sat", "nonlinear"),
        (
            Shop(WORTH, WEIGHT, 9.0, power=0.5),
            "auto",
            r"model: .*objective \(total\) contains nonlinear terms",
        ),
        (
            Shop(WORTH, WEIGHT, 9.0, whole=False, power=0.5),
            "highs",
            r"objective \(total\) contains nonlinear",
        ),
        (Shop(WORTH, WEIGHT, 9.0, library="cvxpy"), "cp-sat", "it is not declared in Pyomo"),
        (Shop(WORTH, WEIGHT, 9.0), "clarabel", "it is not declared in CVXPY"),
        (allocation(0), "highs", "utilities are not linear"),
        (
            Shop(WORTH, WEIGHT, 9.0),
            "simplex",
            "method: 'simplex' is not one of auto, highs, cp-sat, clarabel",
        ),
        (Shop(WORTH, WEIGHT, 9.0, read=None), "auto", "has no `decisions`"),
        (cv.generate("admission", "tiny"), "auto", "'admission' declares no program"),
    ],
)
def test_what_a_method_cannot_take_is_refused_by_name(shop: Instance, method: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        declared(shop, method=method)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"factor": 0.9}, "the program is not that of the instance"),
        ({"read": lambda values: 1 - values["x"]}, r"HiGHS.*event \d: too much: limit exceeded"),
        ({"read": lambda _: [0.0]}, "the program has 1 decisions"),
    ],
)
def test_a_program_that_is_not_that_of_the_instance_is_an_error(how: dict[str, Any], message: str) -> None:
    with pytest.raises(OracleError, match=message):
        declared(Shop(WORTH, WEIGHT, 15.0, **how))


@pytest.mark.parametrize("whole", [False, True])
def test_a_program_in_pyomo_is_linear(whole: bool) -> None:
    with pytest.raises(InputError, match=r"model: Model objective \(total\) contains nonlinear terms"):
        declared(Shop(WORTH, WEIGHT, 15.0, whole=whole, power=2))


@pytest.mark.parametrize(("kind", "does"), [(Shop, "minimises"), (Cover, "maximises")])
def test_a_program_of_the_other_sense_is_refused(kind: type[Shop], does: str) -> None:
    wrong = kind(WORTH, WEIGHT, 15.0, sense=1 if kind is Shop else -1)
    with pytest.raises(InputError, match=f"its program {does}, and its rewards are to be"):
        declared(wrong)


@pytest.mark.parametrize("reward", [math.nan, math.inf])
def test_an_episode_that_does_not_pay_a_finite_number_is_an_error(reward: float) -> None:
    with pytest.raises(OracleError, match=r"event 0: the instance pays (nan|inf), which is no finite number"):
        declared(Shop(WORTH, WEIGHT, 15.0, reward=reward))


def test_an_error_of_an_episode_is_not_taken_for_a_wrong_number_of_decisions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Counter, "apply", lambda *_, **__: Outcome("much", True, None))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="could not convert string to float: 'much'"):
        declared(Shop(WORTH, WEIGHT, 15.0))


def test_a_program_without_variables_is_worth_its_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    import pyomo.environ as pyo

    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(0))
    m.total = pyo.Objective(expr=0.0, sense=pyo.maximize)
    program = PyomoProgram(m, {"x": (0,)}, title="Nothing", equations=(), decisions=read)
    monkeypatch.setattr(Shop, "program", lambda _: program)
    found = declared(Shop([], [], 1.0))
    assert (found.value, found.decision, found.bound) == (0.0, [], 0.0)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(("kind", "library"), [(Shop, "pyomo"), (Cover, "pyomo"), (Shop, "cvxpy")])
def test_what_no_decision_changes_has_no_gap(kind: type[Shop], library: str, whole: bool) -> None:
    found = declared(kind([0.0] * 4, WEIGHT[:4], 3.0, library=library, whole=whole, coming=0.0))
    assert (found.value, str(found.bound), found.gap) == (0.0, "0.0", 0.0)


def hand(make: Callable[[], CvxpyProgram], worth: Sequence[float]) -> Any:
    """An instance that pays so much for each entry of its one decision."""

    class Hand:
        problem, minimised = "hand", False

        def program(self) -> CvxpyProgram:
            return make()

        def episode(self, sees: frozenset[str]) -> Any:
            return self

        def __iter__(self) -> Iterator[int]:
            yield 0

        def apply(self, decision: Any, *, enforce: bool = True) -> Outcome:
            return Outcome(math.fsum(map(math.prod, zip(worth, decision, strict=True))), True, None)

    return Hand()


def test_only_the_whole_entries_of_a_variable_are_rounded() -> None:
    import cvxpy as cp

    def program() -> CvxpyProgram:
        x, y = cp.Variable(2, boolean=[(0,)], name="x"), cp.Variable(integer=True, name="y")
        problem = cp.Problem(cp.Maximize(x[0] + x[1] + y), [x <= 1, x[1] <= 0.4, x >= 0, y <= 2.5])
        return CvxpyProgram(problem, {"x": x, "y": y}, {}, title="", equations=(), decisions=each)

    def each(values: Values) -> list[list[float]]:
        return [[*values["x"].tolist(), float(values["y"])]]

    assert {name: of.tolist() for name, of in program().whole().items()} == {"x": [True, False], "y": True}
    found = declared(hand(program, [1.0, 1.0, 1.0]))
    assert found.decision == [[1.0, pytest.approx(0.4), 2.0]]
    assert found.value == pytest.approx(3.4)


def squares(**options: Any) -> Callable[[], CvxpyProgram]:
    """Return what declares the distance of x from (1.3, 2.6), squared."""
    cp: Any = importlib.import_module("cvxpy")

    def program() -> CvxpyProgram:
        x = cp.Variable(2, name="x", **options)
        problem = cp.Problem(cp.Maximize(-cp.sum_squares(x - np.array([1.3, 2.6]))), [x >= 0, x <= 2])
        return CvxpyProgram(
            problem, {"x": x}, {}, title="", equations=(), decisions=lambda v: [v["x"].tolist()]
        )

    return program


def test_what_is_not_linear_is_seen_without_being_told() -> None:
    found = squares()().solve()
    assert found.value == pytest.approx(-0.36)
    assert found.bound == pytest.approx(-0.36)
    with pytest.raises(InputError, match="'highs' does not take the program: it is not linear"):
        declared(hand(squares(), [1.0, 1.0]), method="highs")


@pytest.mark.parametrize("method", ["auto", "highs", "clarabel"])
def test_whole_variables_in_what_is_not_linear_are_refused(method: str) -> None:
    with pytest.raises(InputError, match="it has whole variables, and it is not linear"):
        declared(hand(squares(integer=True), [1.0, 1.0]), method=method)


def test_what_is_not_convex_is_refused() -> None:
    cp: Any = importlib.import_module("cvxpy")

    x = cp.Variable(name="x")
    problem = cp.Problem(cp.Maximize(cp.square(x)), [x >= 0, x <= 1])
    with pytest.raises(InputError, match="problem: it is not convex"):
        CvxpyProgram(problem, {"x": x}, {}, title="", equations=())


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_no_bound_of_cones_is_below_what_another_solver_reaches(seed: int) -> None:
    """Linear programs whose variables have ranges from 1 to 1e9."""
    import cvxpy as cp

    rng = np.random.default_rng(seed)
    n, m = rng.integers(2, 6), rng.integers(1, 4)
    most = 10.0 ** rng.integers(0, 10, n)
    cost = rng.random(n) / most * rng.choice([1.0, 1.0, 1e-3, 0.0], n)
    rows = rng.random((m, n)) / most * rng.choice([0.0, 1.0, 1.0], (m, n))
    limit = rng.random(m) * rng.choice([1.0, 2.0], m)

    def program() -> CvxpyProgram:
        x = cp.Variable(int(n), name="x", nonneg=True)
        problem = cp.Problem(cp.Maximize(cost @ x), [rows @ x <= limit, x <= most])
        return CvxpyProgram(
            problem, {"x": x}, {}, title="", equations=(), decisions=lambda v: [v["x"].tolist()]
        )

    scaled = linprog(-cost * most, rows * most, limit, bounds=(0.0, 1.0), method="highs")
    try:
        bound = program().solve(solver="clarabel").bound
    except SolverError:  # where Clarabel fails nothing is said
        return
    assert bound is None or bound >= -scaled.fun * (1.0 - 1e-7) - 1e-9


@pytest.mark.parametrize("most", [1e3, 1e6, 1e9, 2e11 + 1 / 3, 1e12, 1e14])
def test_costs_that_a_best_solution_does_not_have_make_no_wrong_bound_of_cp_sat(most: float) -> None:
    import pyomo.environ as pyo

    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(4), domain=pyo.Integers, bounds=lambda _, i: ((-1, 3), (0, 2), (0, 0), (-3, 1))[i])
    rows = [((4, 1, -1, -3), 1), ((-4, -4, -1, 1), 2), ((-3, -1, 5, 3), -1), ((2, -3, 2, -6), 0)]
    m.rows = pyo.ConstraintList()
    for numbers, limit in rows:
        m.rows.add(sum(number * m.x[i] for i, number in enumerate(numbers)) <= limit)
    cost = (most, 1.0, 0.0, 0.0)
    m.total = pyo.Objective(expr=sum(c * m.x[i] for i, c in enumerate(cost)), sense=pyo.maximize)
    every = product(*(range(low, high + 1) for low, high in ((-1, 3), (0, 2), (0, 0), (-3, 1))))
    kept = [x for x in every if all(sum(map(math.prod, zip(r, x, strict=True))) <= b for r, b in rows)]
    best = max(sum(map(math.prod, zip(cost, x, strict=True))) for x in kept)
    program = PyomoProgram(m, {"x": (4,)}, title="", equations=(), decisions=lambda v: [v["x"].tolist()])
    found = declared(hand(lambda: program, cost), method="cp-sat")  # type: ignore[arg-type,return-value]
    assert found.value == best
    assert found.bound is not None
    assert found.bound >= best


def lone(cost: float, limits: tuple[float, float], offset: float = 0.0) -> Shop:
    """A shop whose program has two whole variables: one that is 0, and one within these limits."""
    import pyomo.environ as pyo

    m = pyo.ConcreteModel()
    m.nil = pyo.Var(domain=pyo.Integers, bounds=(0, 0))
    m.x = pyo.Var(domain=pyo.Integers, bounds=limits)
    m.row = pyo.Constraint(expr=1e30 * m.nil + m.x <= 7)
    m.total = pyo.Objective(expr=1e6 * m.nil + cost * m.x + offset, sense=pyo.maximize)
    shapes: dict[str, tuple[int, ...]] = {"x": ()}
    program = PyomoProgram(m, shapes, title="One", equations=(), decisions=lambda x: [float(x["x"])])
    shop = Shop([cost], [1.0], 7.0, reward=offset - 5.0)
    shop.program = lambda: program  # type: ignore[method-assign]
    return shop


def test_a_variable_that_is_0_has_no_say_in_what_cp_sat_can_take() -> None:
    found = declared(lone(0.03, (0, 3)), method="cp-sat")
    assert found.value == pytest.approx(0.09)
    assert found.why_stopped is WhyStopped.PROVED


def test_a_variable_without_a_whole_number_is_named() -> None:
    with pytest.raises(InputError, match="variable x has no whole number within its limits"):
        declared(lone(1.0, (0.2, 0.8)), method="cp-sat")


def test_limits_that_cp_sat_cannot_hold_are_named() -> None:
    for limits in ((-(2.0**63), 3.0), (0.0, 2.0**63), (0.0, 1e30)):
        with pytest.raises(InputError, match=r"variable x has limits beyond 2\^62"):
            declared(lone(1.0, limits), method="cp-sat")


@pytest.mark.parametrize(("library", "whole"), [*product(("pyomo", "cvxpy"), (True, False))])
@pytest.mark.parametrize(("limits", "wanted"), [((1.5, 4.5), 1.5), ((-4.5, -1.5), -1.5), ((-3.0, 3.0), 0.0)])
def test_a_variable_that_occurs_nowhere_keeps_its_limits(
    library: str, whole: bool, limits: tuple[float, float], wanted: float
) -> None:
    """In a solution, and where there was no time for one."""
    wanted = math.copysign(math.ceil(abs(wanted)), wanted) if whole else wanted
    seen: list[np.ndarray] = []
    for time_limit in (None, 0.0):
        declared(beside(library, limits, whole, seen.append), time_limit=time_limit)
    assert [one.tolist() for one in seen] == [[wanted, wanted]] * 2


@pytest.mark.parametrize("library", ["pyomo", "cvxpy"])
def test_nothing_is_between_such_limits(library: str) -> None:
    shop = beside(library, (0.2, 0.8), True, lambda _: None)
    with pytest.raises(InputError, match=r"variable other\[0\]: no whole number lies between 0\.2 and 0\.8"):
        declared(shop)


def beside(library: str, limits: tuple[float, float], whole: bool, see: Callable[[np.ndarray], None]) -> Shop:
    """A shop whose program has two more variables that occur nowhere."""
    import cvxpy as cp
    import pyomo.environ as pyo

    def reading(values: Values) -> list[float]:
        see(values["other"])
        return read(values)

    shop = Shop(WORTH, WEIGHT, 15.0, library=library, read=reading)
    program: Any = shop.by_pyomo() if library == "pyomo" else shop.by_cvxpy()
    if library == "pyomo":
        program.model.other = pyo.Var(range(2), bounds=limits, domain=pyo.Integers if whole else pyo.Reals)
        program.variables["other"] = (2,)
    else:
        program.variables["other"] = cp.Variable(2, integer=whole, bounds=list(limits))
        program.decisions = reading
    shop.program = lambda: program  # type: ignore[method-assign]
    return shop


def test_a_model_has_one_objective_and_the_variables_that_are_named() -> None:
    import pyomo.environ as pyo

    shop = Shop(WORTH, WEIGHT, 15.0)
    program = shop.by_pyomo()
    with pytest.raises(InputError, match="variables: 'y' is no component of the model"):
        PyomoProgram(program.model, {"y": (7,)}, title="", equations=())
    shop.program = lambda: program  # type: ignore[method-assign]
    program.model.other = pyo.Objective(expr=0.0)
    with pytest.raises(InputError, match="model: it has 2 active objectives, not one: total, other"):
        declared(shop)
    program.model.total.deactivate()
    program.model.other.deactivate()
    for solve in (lambda: declared(shop), program.solve):
        with pytest.raises(InputError, match="model: it has 0 active objectives, not one"):
            solve()


def test_an_index_beyond_the_shape_is_named() -> None:
    import pyomo.environ as pyo

    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(range(3)), pyo.Var(["a"])
    for name, shape, index in (("x", (2,), "2"), ("x", (), "0"), ("x", (3, 1), "0"), ("y", (1,), "'a'")):
        with pytest.raises(InputError, match=rf"variables: {name}: its index {index} is none of the shape"):
            PyomoProgram(model, {name: shape}, title="", equations=())


@pytest.mark.parametrize("number", [math.nan, math.inf])
@pytest.mark.parametrize("method", ["auto", "cp-sat"])
def test_a_number_that_is_not_finite_is_refused_with_its_row(number: float, method: str) -> None:
    """HiGHS drops it, and solves another program."""
    import pyomo.environ as pyo

    for where in ("row", "limit", "cost"):
        what = "its objective" if where == "cost" else "constraint extra"
        shop = Shop(WORTH, WEIGHT, 15.0)
        program = shop.by_pyomo()
        x = program.model.x
        if where == "cost":
            program.model.total.set_value(number * x[0] + x[1])
        elif where == "row":
            program.model.extra = pyo.Constraint(expr=number * x[0] + x[1] <= 9.0)
        elif math.isnan(number):  # no limit is one
            program.model.extra = pyo.Constraint(expr=x[0] + x[1] <= number)
        else:
            continue
        shop.program = lambda made=program: made  # type: ignore[method-assign, misc]
        with pytest.raises(InputError, match=f"model: {what} has a number that is not finite"):
            declared(shop, method=method)


@pytest.mark.parametrize("method", ["auto", "cp-sat"])
def test_what_pyomo_cannot_make_linear_is_refused_in_one_line(method: str) -> None:
    import pyomo.environ as pyo

    extras: tuple[Any, ...] = (
        lambda m: pyo.SOSConstraint(var=m.x, sos=1),
        lambda m: pyo.LogicalConstraint(expr=m.flag.implies(m.flag)),
        lambda m: pyo.Constraint(expr=m.x[0] * m.x[1] <= 1.0),
    )
    for extra in extras:
        shop = Shop(WORTH, WEIGHT, 15.0)
        program = shop.by_pyomo()
        program.model.flag = pyo.BooleanVar()
        program.model.extra = extra(program.model)
        shop.program = lambda made=program: made  # type: ignore[method-assign, misc]
        with pytest.raises(InputError, match=r"model: .*(extra|components)") as refused:
            declared(shop, method=method)
        assert "\n" not in str(refused.value)


def test_the_bound_of_cp_sat_holds_for_an_offset_that_is_lost_in_the_sum() -> None:
    found = declared(lone(4.0, (0, 1000), 1e-16), method="cp-sat")
    assert found.bound is not None
    assert Fraction(found.bound) >= 28 + Fraction(1e-16)


def pennies(library: str, most: float) -> Shop:
    """A shop with 1e9 goods of one kind, each worth 1e-10: a number that HiGHS takes for 0."""
    import cvxpy as cp
    import pyomo.environ as pyo

    model, x = pyo.ConcreteModel(), cp.Variable(1, name="x")
    model.x = pyo.Var(range(1), bounds=(0, None if math.isinf(most) else most))
    model.row = pyo.Constraint(expr=model.x[0] <= 1e9)
    model.total = pyo.Objective(expr=1e-10 * model.x[0] + 5.0, sense=pyo.maximize)
    rows = [x >= 0, x <= 1e9]
    about: dict[str, Any] = {"title": "Pennies", "equations": (), "decisions": lambda _: [0.0]}
    by_cvxpy = CvxpyProgram(cp.Problem(cp.Maximize(1e-10 * x[0] + 5.0), rows), {"x": x}, {}, **about)
    by_pyomo = PyomoProgram(model, {"x": (1,)}, **about)
    shop = Shop([1e-10], [1.0], 1e9)
    shop.program = lambda: by_pyomo if library == "pyomo" else by_cvxpy  # type: ignore[method-assign]
    return shop


@pytest.mark.parametrize(
    ("library", "most"), [("pyomo", 1e9), ("pyomo", 2e9), ("pyomo", math.inf), ("cvxpy", 1e9)]
)
def test_a_bound_that_the_multipliers_do_not_bear_is_none(library: str, most: float) -> None:
    found = declared(pennies(library, most), method="highs")
    assert found.bound is None or found.bound >= 5.1


def test_a_bound_of_clarabel_is_widened_by_what_its_multipliers_leave() -> None:
    import cvxpy as cp

    x = cp.Variable(2, name="x", nonneg=True)
    problem = cp.Problem(cp.Maximize(1e-10 * x[0] + 2e-10 * x[1]), [x[0] + x[1] <= 1e9])
    program = CvxpyProgram(problem, {"x": x}, {}, title="Pennies", equations=())
    bound = program.solve(solver="clarabel").bound
    assert bound is not None
    assert bound >= 0.2


@pytest.mark.parametrize("library", ["pyomo", "cvxpy"])
@pytest.mark.parametrize("seed", range(20, 35))
def test_limits_of_variables_may_be_rows(library: str, seed: int) -> None:
    """Multipliers that are off by a rounding prove nothing of a variable without limits."""
    import cvxpy as cp
    import pyomo.environ as pyo

    rng = np.random.default_rng(seed)
    count, rows = int(rng.integers(3, 40)), int(rng.integers(2, 30))
    matrix, most = 10.0 * rng.random((rows, count)), 50.0 * rng.random(rows) + 5.0
    cost = 7.0 * rng.random(count)
    program: Program
    if library == "cvxpy":
        x = cp.Variable(count, name="x")
        parts = {"rows": matrix @ x <= most, "most": x / 7.0 <= 3.0 / 7.0, "least": x >= 0.0}
        problem = cp.Problem(cp.Maximize(cost @ x), list(parts.values()))
        program = CvxpyProgram(problem, {"x": x}, parts, title="", equations=())
    else:
        m = pyo.ConcreteModel()
        m.x = pyo.Var(range(count))
        m.rows = pyo.Constraint(range(rows), rule=lambda m, r: sum(matrix[r] * list(m.x.values())) <= most[r])
        m.most = pyo.Constraint(range(count), rule=lambda m, n: m.x[n] / 7.0 <= 3.0 / 7.0)
        m.least = pyo.Constraint(range(count), rule=lambda m, n: -m.x[n] <= 0.0)
        m.total = pyo.Objective(expr=sum(cost * list(m.x.values())), sense=pyo.maximize)
        program = PyomoProgram(m, {"x": (count,)}, title="", equations=())
    found = program.solve(solver="highs")
    assert found.bound is not None
    assert found.value is not None
    assert found.bound == pytest.approx(found.value, rel=1e-7)
    exact = linprog(-cost, matrix, most, bounds=(0.0, 3.0))
    assert found.bound >= -exact.fun * (1.0 - 1e-12)


def test_rows_limit_a_variable_only_where_some_number_keeps_them_all() -> None:
    matrix = csc_array([[2.0, 0.0], [-3.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    rows = np.array([-np.inf, -np.inf, 0.0, -np.inf]), np.array([1.0, 6.0, 9.0, np.inf])
    columns = np.full(2, -np.inf), np.array([np.inf, 5.0])
    linear = Linear(np.zeros(2), matrix, rows, columns, np.zeros(2, dtype=bool), 0.0)
    low, high = all_limits(linear)
    assert low.tolist() == [pytest.approx(-2.0), -np.inf]
    assert high.tolist() == [pytest.approx(0.5), 5.0]
    assert low[0] <= -2.0
    assert high[0] >= 0.5
    crossed = linear._replace(
        rows=(np.array([2.0, -np.inf, 0.0, -np.inf]), np.array([np.inf, -6.0, 9.0, 1.0]))
    )
    assert all_limits(crossed)[0].tolist() == [pytest.approx(2.0), -np.inf]
    never = linear._replace(rows=(np.array([8.0, 3.0, 0.0, 0.0]), np.array([9.0, 3.0, 9.0, 1.0])))
    assert all_limits(never) is columns


def test_weak_duality_proves_what_multipliers_bear_whatever_the_range() -> None:
    def bears(dual: float, top: float, cost: float = -2.0) -> float:
        columns = np.array([0.0]), np.array([top])
        rows, matrix = (np.array([-math.inf]), np.array([3.0])), csc_array(np.array([[1.0]]))
        linear = Linear(np.array([cost]), matrix, rows, columns, np.zeros(1, dtype=bool), 0.0)
        return proven(linear, columns, np.array([dual]))

    near = partial(pytest.approx, rel=1e-12)
    assert bears(-2.0, math.inf) == near(-6.0)
    assert bears(0.0, 4.0) == near(-8.0)
    assert bears(1.0, 4.0) == near(-8.0)  # a multiplier for a limit that is not there
    assert bears(-1.0, math.inf) == -math.inf
    # a reduced cost that is nearly 0 counts, however wide the range is
    assert bears(-2.0 + 2.0**-50, 2.0**60) <= -6.0 - 2.0**10


def test_what_is_no_program_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Shop, "program", lambda _: "maximise worth")
    with pytest.raises(InputError, match="its program is str, not one of Pyomo or CVXPY"):
        declared(Shop(WORTH, WEIGHT, 15.0))


def test_a_convex_program_that_is_cut_off_has_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    cut_off = Solved("user_limit", None, {})
    monkeypatch.setattr(CvxpyProgram, "solve", lambda *_, **__: cut_off)
    found = declared(
        Shop(WORTH, WEIGHT, 15.0, library="cvxpy", whole=False), method="clarabel", time_limit=60.0
    )
    assert (found.value, found.bound, found.why_stopped) == (5.0, None, WhyStopped.TIME_LIMIT)


@pytest.mark.parametrize(
    ("program", "status", "method"),
    [
        (Shop.by_pyomo, "provenInfeasible", "highs"),
        (Shop.by_cvxpy, "infeasible", "highs"),
        (Shop.by_cvxpy, "infeasible", "clarabel"),
        (Shop.by_cvxpy, "infeasible_inaccurate", "clarabel"),
    ],
)
def test_no_solver_is_believed_that_there_is_no_solution(
    monkeypatch: pytest.MonkeyPatch, program: Callable[[Shop], Any], status: str, method: str
) -> None:
    for whole in (True, False):
        shop = Shop(WORTH, WEIGHT, 15.0, whole=whole and method == "highs")
        known = program(shop)
        monkeypatch.setattr(known, "solve", lambda **_: Solved(status, None, {}))
        monkeypatch.setattr(shop, "program", lambda known=known: known)
        with pytest.raises(OracleError, match="status 'infeasible, which its multipliers do not prove'"):
            declared(shop, method=method)


def test_how_far_a_curved_program_is_proved_infeasible_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    import cvxpy

    cp: Any = cvxpy  # its types are incomplete
    for within, says in (
        (math.inf, "'infeasible': it is infeasible"),
        (1835786116.0, "'infeasible, if no variable without limits is beyond 1e9': it is infeasible"),
        (0.0, "'infeasible, which its multipliers do not prove'"),
    ):
        x = cp.Variable(7, name="x")
        curved = cp.Problem(cp.Maximize(cp.sum(cp.sqrt(x))), [x >= 0.0])
        program = CvxpyProgram(curved, {"x": x}, {}, title="", equations=(), decisions=read)
        unsolved = Solved("infeasible", None, {}, empty=within)
        monkeypatch.setattr(program, "solve", lambda unsolved=unsolved, **_: unsolved)
        shop = Shop(WORTH, WEIGHT, 15.0)
        monkeypatch.setattr(shop, "program", lambda program=program: program)
        with pytest.raises(OracleError, match=says):
            declared(shop)


def test_cp_sat_is_not_believed_that_there_is_no_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    def lies(*_: Any, **__: Any) -> Any:
        raise NoOptimumError("CP-SAT", "INFEASIBLE")

    monkeypatch.setattr(cp_sat, "run", lies)
    with pytest.raises(OracleError, match="status 'infeasible, which its multipliers do not prove'"):
        declared(Shop(WORTH, WEIGHT, 15.0), method="cp-sat")
    with pytest.raises(OracleError, match="it is infeasible: no decisions"):
        declared(Cover(WORTH, WEIGHT, 99.0), method="cp-sat")


def test_a_program_without_a_solution_is_an_error() -> None:
    for whole in (True, False):
        with pytest.raises(OracleError, match="it is infeasible: no decisions"):
            declared(Cover(WORTH, WEIGHT, 99.0, whole=whole))
        with pytest.raises(OracleError, match="status 'infeasible': it is infeasible: no decisions"):
            declared(Shop(WORTH, WEIGHT, -1.0, whole=whole, library="cvxpy"))
    for method in ("cp-sat", "highs"):
        with pytest.raises(
            OracleError, match=r"^the program of 'shop' is not solved, .*: it is infeasible: no"
        ):
            declared(Cover(WORTH, WEIGHT, 99.0), method=method)


def endless(library: str, whole: bool) -> Shop:
    """A shop whose program forgets that there is only one of each good."""
    import cvxpy as cp
    import pyomo.environ as pyo

    model, x = pyo.ConcreteModel(), cp.Variable(7, name="x", integer=whole)
    model.x = pyo.Var(range(7), domain=pyo.NonNegativeIntegers if whole else pyo.NonNegativeReals)
    model.total = pyo.Objective(expr=sum(model.x.values()), sense=pyo.maximize)
    about: dict[str, Any] = {"title": "Endless", "equations": (), "decisions": read}
    by_pyomo = PyomoProgram(model, {"x": (7,)}, **about)
    by_cvxpy = CvxpyProgram(cp.Problem(cp.Maximize(np.ones(7) @ x), [x >= 0]), {"x": x}, {}, **about)
    shop = Shop(WORTH, WEIGHT, 15.0)
    shop.program = lambda: by_pyomo if library == "pyomo" else by_cvxpy  # type: ignore[method-assign]
    return shop


@pytest.mark.parametrize(
    ("library", "whole", "method"),
    [(*one, "highs") for one in product(("pyomo", "cvxpy"), (True, False))] + [("cvxpy", False, "clarabel")],
)
def test_a_program_without_a_limit_is_an_error_that_says_so(library: str, whole: bool, method: str) -> None:
    with pytest.raises(
        OracleError, match=r"^the program of 'shop' .*'unbounded': the solver says that .* limits$"
    ):
        declared(endless(library, whole), method=method)


@pytest.mark.parametrize(
    ("status", "says"),
    [
        ("unbounded_inaccurate", "the solver says that its objective improves without end"),
        ("infeasibleOrUnbounded", "no decisions .*, or the solver says that"),
        ("infeasible_or_unbounded", "no decisions .*, or the solver says that"),
        ("error", "the solver does not say why"),
    ],
)
def test_every_status_without_an_optimum_is_explained(
    monkeypatch: pytest.MonkeyPatch, status: str, says: str
) -> None:
    monkeypatch.setattr(PyomoProgram, "solve", lambda *_, **__: Solved(status, None, {}))
    with pytest.raises(OracleError, match=f"'shop' .*status '{status}': {says}"):
        declared(Shop(WORTH, WEIGHT, 15.0))
    if "nfeasible" in status:  # which holds, and multipliers prove it
        with pytest.raises(OracleError, match="status 'infeasible': it is infeasible"):
            declared(Cover(WORTH, WEIGHT, 99.0))


def test_that_a_program_in_whole_variables_is_infeasible_is_no_matter_of_a_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(PyomoProgram, "solve", lambda *_, **__: Solved("provenInfeasible", None, {}))
    with pytest.raises(OracleError, match="infeasible, which its multipliers do not prove"):
        declared(Shop(WORTH, WEIGHT, 15.0))
    with pytest.raises(OracleError, match="'infeasible': it is infeasible"):
        declared(Cover(WORTH, WEIGHT, 99.0))


def test_without_time_nothing_is_done_and_nothing_is_claimed() -> None:
    told: list[tuple[float, str]] = []
    found = declared(Shop(WORTH, WEIGHT, 15.0), time_limit=0.0, progress=lambda *one: told.append(one))
    assert (found.value, found.bound, found.gap) == (5.0, None, None)
    assert found.why_stopped is WhyStopped.TIME_LIMIT
    assert "all variables 0" in found.method
    assert told == [(0.0, "declared: Shop"), (1.0, "incumbent 5, dual bound none")]
    with pytest.raises(OracleError, match="all variables 0 or at their limit next to it are no decision"):
        declared(Cover(WORTH, WEIGHT, 15.0), time_limit=0.0)


def limited(monkeypatch: pytest.MonkeyPatch, bound: float | None) -> Optimum:
    """What comes of a HiGHS whose time is up before it has a solution."""
    monkeypatch.setattr(PyomoProgram, "solve", lambda *_, **__: Solved("maxTimeLimit", None, {}))
    monkeypatch.setattr(generic, "bound_of", lambda *_: bound)
    return declared(Shop(WORTH, WEIGHT, 15.0), method="highs", time_limit=60.0)


def test_a_solver_out_of_time_leaves_an_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    found = limited(monkeypatch, 44.0)
    assert (found.value, found.why_stopped) == (5.0, WhyStopped.TIME_LIMIT)
    assert found.bound == pytest.approx(44.0, rel=1e-8)
    assert limited(monkeypatch, None).bound is None
    monkeypatch.setattr(cp_model.CpSolver, "solve", lambda *_: cp_model.UNKNOWN)
    found = declared(Shop(WORTH, WEIGHT, 15.0), time_limit=60.0, method="cp-sat")
    assert (found.value, found.bound, found.why_stopped) == (5.0, None, WhyStopped.TIME_LIMIT)


def test_a_larger_shop_is_stopped_at_a_gap() -> None:
    rng = np.random.default_rng(1)
    shop = Shop(rng.uniform(1.0, 2.0, 60).tolist(), rng.integers(5, 50, 60).tolist(), 400.0)
    loose, tight = declared(shop, gap=0.2), declared(shop, method="cp-sat")
    assert loose.gap is not None
    assert tight.gap is not None
    assert tight.gap <= 1e-12
    assert 0.0 <= loose.gap <= 0.2
    assert loose.value <= tight.value
    assert math.isclose(tight.value, declared(shop, method="highs").value, rel_tol=1e-9)


def test_the_entry_says_what_its_bound_rests_on() -> None:
    (entry,) = oracles("shop").values()
    assert (entry.problem, entry.methods) == ("shop", METHODS)
    assert "multipliers of the solver" in entry.guarantee
