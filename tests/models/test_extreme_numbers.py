"""Numbers at the ends of what floats hold: refused by field and value, or computed with."""

import copy
import math
import warnings
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clairvoyant as cv
from clairvoyant import api
from clairvoyant.models.base import MOST_WHOLE, SMALLEST, InputError, numbers
from clairvoyant.models.draw import real, whole
from clairvoyant.models.traces import number
from clairvoyant.problems import find, read_instance

SMALL: dict[str, dict[str, Any]] = {
    "allocation": {"slots": 3},
    "allocation-gang": {"slots": 2},
    "selection": {"slots": 3},
    "selection-gang": {"slots": 3},
    "admission": {"jobs": 3, "horizon": 8},
    "placement": {"jobs": 4, "estimate_error": 0.5},
}
BEYOND = [2**53, 2**63 - 1, 2**63, -(2**63), 1e30, 1e308, 10**400]
SUBNORMAL = [5e-324, 1e-308, -5e-324, math.nextafter(SMALLEST, 0.0)]

Place = tuple[str | int, ...]


def form(problem: str) -> dict[str, Any]:
    """Return the JSON form of a small instance."""
    return api.generate(problem, size="tiny", seed=1, **SMALL[problem]).to_dict()


def places(node: Any, at: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Yield where numbers stand, one for each field, and what stands there."""
    found: set[Place] = set()
    for place, value in _all_places(node, at):
        field = tuple(part for part in place if isinstance(part, str))
        if field not in found and not set(field) & {"origin", "problem", "version"}:
            found.add(field)
            yield place, value


def _all_places(node: Any, at: Place) -> Iterator[tuple[Place, Any]]:
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield from _all_places(value, (*at, key))
    if isinstance(node, (int, float)):
        yield at, node


def changed(data: dict[str, Any], place: Place, value: Any) -> dict[str, Any]:
    """Return a copy with another number at a place."""
    result = copy.deepcopy(data)
    node: Any = result
    for key in place[:-1]:
        node = node[key]
    node[place[-1]] = value
    return result


def read(data: dict[str, Any]) -> cv.Instance:
    return read_instance(data)


def refused(data: dict[str, Any], place: Place) -> None:
    """Assert that a form is refused in one line that names the field."""
    with pytest.raises(InputError) as caught:
        read(data)
    text = str(caught.value)
    assert "\n" not in text
    assert [part for part in place if isinstance(part, str)][-1] in text


@pytest.mark.parametrize("problem", SMALL)
def test_whole_numbers_beyond_what_is_exact_are_refused_in_every_field(problem: str) -> None:
    data = form(problem)
    tried = 0
    for place, value in places(data):
        if isinstance(value, int):
            for beyond in BEYOND:
                refused(changed(data, place, beyond), place)
            tried += 1
    assert tried >= 2


@pytest.mark.parametrize("problem", SMALL)
def test_subnormal_numbers_are_refused_in_every_field(problem: str) -> None:
    data = form(problem)
    tried = 0
    for place, _ in places(data):
        for tiny in SUBNORMAL:
            refused(changed(data, place, tiny), place)
        tried += 1
    assert tried >= 5


@pytest.mark.parametrize("problem", SMALL)
@pytest.mark.parametrize("value", [0, 2.3e-308, 1e-160, 1e-6, 1, 1e9, 1e50, 1.7e308])
def test_what_is_read_is_solved_and_played(problem: str, value: float) -> None:
    """Quick policies only; what is searched with a budget gets none."""
    data = form(problem)
    quick = {"fifo", "oasis", "drf", "fairness", "ogasched", "greedy", "esdp", "fifo-firstfit"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for place, _ in places(data):
            try:
                instance = read(changed(data, place, value))
            except InputError:
                continue
            if find(problem).has("bounds"):
                bounds = find(problem).part("bounds")(instance)
                assert not any(math.isnan(bound) for bound in bounds.values())
            for name in sorted(quick & set(cv.list_policies(problem))):
                assert math.isfinite(cv.play(name, instance).total)


def test_a_priority_close_to_zero_is_refused_by_name() -> None:
    data = form("admission")
    data["jobs"][1]["utility"]["priority"] = 5e-324
    with pytest.raises(
        InputError, match=r"^jobs\[1\]\.utility\.priority: 5e-324 is nearer to 0 than 2\.2e-308"
    ):
        read(data)


@pytest.mark.parametrize("bandwidth", [2.3e-308, 9e-10, 0])
def test_bandwidths_whose_quotients_no_float_holds_are_refused(bandwidth: float) -> None:
    data = form("admission")
    data["jobs"][0]["worker_bandwidth"] = bandwidth
    with pytest.raises(
        InputError, match=r"^jobs\[0\]\.worker_bandwidth: .* is not at least 1e-09 and at most"
    ):
        read(data)


@given(st.integers(-(2**70), 2**70) | st.sampled_from([MOST_WHOLE, -MOST_WHOLE, MOST_WHOLE + 1, 2**63]))
def test_a_whole_number_is_read_as_it_is_or_refused(value: int) -> None:
    for given_as in ([value], np.array([value], dtype=object)):
        if abs(value) <= MOST_WHOLE:
            assert numbers(given_as, "x", (1,), low=-np.inf, integer=True).tolist() == [value]
        else:
            with pytest.raises(InputError, match=r"^x\[0\]: .* is beyond 9007199254740991"):
                numbers(given_as, "x", (1,), low=-np.inf, integer=True)
    if 0 <= value <= MOST_WHOLE:
        assert whole("x", value, 0) == value
    else:
        with pytest.raises(InputError, match=r"^x: -?\d+ is "):
            whole("x", value, 0)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_read_as_it_is_or_refused(value: float) -> None:
    if value == 0.0 or abs(value) >= SMALLEST:
        assert numbers([value], "x", (1,), low=-np.inf).tolist() == [value]
        assert real("x", value, -math.inf) == value
    else:
        with pytest.raises(InputError, match=r"^x\[0\]: .*e-3\d\d is nearer to 0 than"):
            numbers([value], "x", (1,), low=-np.inf)
        with pytest.raises(InputError, match=r"^x: .*e-3\d\d is nearer to 0 than"):
            real("x", value, -math.inf)


def outcome(values: list[float], low: float, high: float, integer: bool) -> str:
    """Return what becomes of numbers, or why they are refused."""
    try:
        return repr(numbers(values, "x", (None,), low=low, high=high, integer=integer))
    except InputError as error:
        return str(error)


EDGES = [0.0, -0.0, 1.0, -1.0, 2.5, SMALLEST, 5e-324, -5e-324, float(MOST_WHOLE), 2.0**53, -(2.0**53)]


@given(
    st.lists(st.sampled_from([*EDGES, math.nan, math.inf, -math.inf]), max_size=2),
    st.sampled_from([0.0, -math.inf, 1.0, -2.0]),
    st.sampled_from([math.inf, 7.0, float(MOST_WHOLE)]),
    st.booleans(),
)
@settings(max_examples=200)
def test_what_passes_at_a_glance_passes_a_close_look(
    values: list[float], low: float, high: float, integer: bool
) -> None:
    seen = outcome(values, low, high, integer)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clairvoyant.models.checks._sound", lambda *_: False)
        assert outcome(values, low, high, integer) == seen


def test_what_is_masked_is_no_number() -> None:
    values = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], mask=[[False, False], [True, False]])
    with pytest.raises(InputError, match=r"^cost\[1\]\[0\]: 3 is masked$"):
        numbers(values, "cost", (2, 2))
    values.mask = np.ma.nomask
    assert type(numbers(values, "cost", (2, 2))) is np.ndarray


@pytest.mark.parametrize("sign", [1, -1])
def test_numbers_too_long_to_print_are_refused(sign: int) -> None:
    value = sign * 10**5000
    with pytest.raises(InputError, match=r"^seed: a number so long is "):
        whole("seed", value, 0)
    with pytest.raises(InputError, match=r"^rho: a number so long is not a finite number$"):
        real("rho", value, 0.0)


@pytest.mark.parametrize("text", ["5e-324", "1e30", "9007199254740993"])
def test_numbers_of_traces_are_bounded_too(text: str) -> None:
    with pytest.raises(InputError, match=rf"^t\.csv: row 3: cpu: '{text}' is (nearer|beyond)"):
        number({"cpu": text}, "cpu", "t.csv: row 3")


@pytest.mark.parametrize("problem", SMALL)
@pytest.mark.parametrize("seed", [2**53, 2**64, -1, 1.0, True, "1"])
def test_seeds_are_whole_and_bounded(problem: str, seed: Any) -> None:
    with pytest.raises(InputError, match=r"^seed: "):
        api.generate(problem, size="tiny", seed=seed)
    with pytest.raises(InputError, match=r"^seed: "):
        cv.play("fifo", cv.generate("admission", size="tiny", **SMALL["admission"]), seed)


@pytest.mark.parametrize("problem", SMALL)
@settings(max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_no_generator_makes_subnormal_numbers(problem: str, seed: int) -> None:
    data = api.generate(problem, size="tiny", seed=seed, **SMALL[problem]).to_dict()
    values = [abs(Fraction(value)) for _, value in _all_places(data, ())]
    assert min(value for value in values if value) > 1e-12


@pytest.mark.parametrize("field", ["price", "gpu_weight"])
def test_the_sign_of_zero_makes_no_other_instance(field: str) -> None:
    data = cv.generate("placement", "tiny").to_dict()
    one, other = (cv.PlacementInstance.from_dict(data | {field: zero}) for zero in (0.0, -0.0))
    assert one.digest() == other.digest()
