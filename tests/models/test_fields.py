"""Declared fields: what each kind reads, writes, refuses and says in a schema."""

import inspect
import re
from dataclasses import dataclass
from typing import Any, get_type_hints

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from clairvoyant.models.base import ORIGIN, Declared, InputError, Origin
from clairvoyant.models.fields import Choice, Field, Kind, List, Number, Record, Text, complete
from clairvoyant.problems import OURS, Problem


@dataclass(frozen=True)
class Box:
    """What a record makes."""

    width: float
    labels: tuple[str, ...] = ()


BOX = Record(
    Field("width", Number(low=1, high=3, unit=10), "how wide"),
    Field("labels", Text(listed=True), "what stands on it", optional=True, absent=()),
    make=Box,
)


def read(kind: Kind, value: Any, **sizes: int) -> Any:
    return kind.read(value, "x", dict(sizes))


@pytest.mark.parametrize(
    ("kind", "value", "again"),
    [
        (Number(), 2, 2.0),
        (Number(integer=True, low=1, high="n"), 5, 5),
        (Number(("a", 2)), [[1, 2], [3, 4]], [[1.0, 2.0], [3.0, 4.0]]),
        (Number(("a",), integer=True), [-0.0, 1.0], [0, 1]),
        (Number(unit=1000), 1e308, 1e308),
        (Number(unit=1000), 1e20, 1e20),
        (Number(("a",), unit=1000), [1e308, 1e20, 0.125], [1e308, 1e20, 0.125]),
        (Number(("a", "b", "k"), each="port"), [[[1]], [], [[2], [3]]], [[[1.0]], [], [[2.0], [3.0]]]),
        (Choice(("yes", "no")), "no", "no"),
        (Choice(("yes", "no"), ("a", "k")), [["no"], ["yes"], ["no"]], [["no"], ["yes"], ["no"]]),
        (Text(), "", ""),
        (Text(listed=True), ["", ""], ["", ""]),
        (Text(listed=True, axis="new", names=True), ["p", "q"], ["p", "q"]),
        (List(BOX), [{"width": 1.1}, {"width": 2, "labels": ["a"]}], None),
    ],
    ids=lambda one: "" if isinstance(one, List) else str(one),
)
def test_what_is_read_is_written_and_valid(kind: Kind, value: Any, again: Any) -> None:
    found = read(
        kind,
        value,
        n=5,
        k=1,
        **({"a": 3} if kind not in (Number(("a", 2)), Number(("a",), integer=True)) else {}),
    )
    assert kind.write(found) == (value if again is None else again)
    Draft202012Validator(kind.schema()).validate(value)


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (Number(low=1, high=2), 3, "x: 3 is not at least 1 and at most 2"),
        (Number(low=1, high="n", integer=True), 6, "x: 6 is not a whole number of at least 1 and at most 5"),
        (Number(above=True), 0, "x: 0 is not above 0"),
        (Number(unit=100), 0.125, "x: 0.125 has more than 2 decimals"),
        (Number(("k",), unit=100), [0.125], "x[0]: 0.125 has more than 2 decimals"),
        (Number(("k",), least=0.5), [0.25], "x[0]: 0.25 is neither 0 nor at least 0.5"),
        (Number(least=0.5), 0.25, "x: 0.25 is neither 0 nor at least 0.5"),
        (Number(("n",), above=True, low=1.0), [2, 3, 1, 2, 2], "x[2]: 1 is not above 1"),
        (Number(("a",), some="a thing"), [], "x: empty; an instance needs a thing"),
        (Number(("k", "k")), [[1, 2]], "x: shape 1 x 2 does not fit, expected 1 x 1"),
        (Number(("n", "b", "k"), each="port"), [[]], "x: expected a list of 5 lists, one per port"),
        (Number(("k", "b", "k"), each="a"), [[[-1]]], "x[0][0][0]: -1 is not a finite number of at least 0"),
        (Choice(("yes", "no")), "yess", "x: 'yess' is not one of yes, no; did you mean 'yes'?"),
        (Choice(("yes",), ("k", "n")), [["yes"]], "x[0]: ['yes'] is not a list of 5 names"),
        (Choice(("yes",), ("k", "k")), [[[]]], "x[0][0]: [] is not one of yes"),
        (Choice(("yes",), ("k", "k")), "yes", "x: expected a list of 1 lists of names"),
        (Text(), 1, "x: 1 is not a string"),
        (Text(listed=True), "ab", "x: 'ab' is not a list of strings"),
        (Text(listed=True), ["a", None], "x[1]: None is not a string"),
        (Text(listed=True, axis="k"), [], "x: [] is not a list of 1 name"),
        (Text(listed=True, axis="a", names=True), [], "x: [] is not a list of at least one name"),
        (Text(listed=True, axis="a", names=True), ["a", "a"], "x[1]: 'a' stands twice"),
        (List(BOX, some="box"), [], "x: [] is not a list of at least one box"),
        (List(BOX), [{"width": 1}, 2], "x[1]: 2 is not an object"),
        (List(BOX), [{"width": 4}], "x[0].width: 4 is not at least 1 and at most 3"),
        (BOX, {}, "x.width: missing field"),
        (BOX, {"width": 1, "tall": 2}, "x.tall: unknown field; expected one of labels, width"),
    ],
)  # fmt: skip
def test_what_is_refused_is_named(kind: Kind, value: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(kind, value, n=5, k=1)
    assert str(caught.value) == message


def test_what_may_be_null_is_so_in_the_schema() -> None:
    for kind in (Choice(("yes", "no")), Number(), Text()):
        field = Field("a", kind, "a", optional=True, null=True)
        Draft202012Validator(field.schema()).validate(None)
    schema = Field("a", Choice(("yes", "no")), "a").schema()
    assert not Draft202012Validator(schema).is_valid(None)


@pytest.mark.parametrize("how", [{"low": -1.0}, {"above": True}, {"low": 0.5}])
def test_the_least_is_of_numbers_from_0_on(how: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"^least: 0.1 is for numbers from 0 on"):
        Number(least=0.1, **how)


def test_the_first_list_says_how_long_an_axis_is() -> None:
    sizes: dict[str, int] = {}
    record = Record(Field("a", Number(("n", "k")), "a"), Field("b", Number(("k",)), "b"))
    reader = record.reader(sizes)
    reader("a", [[1, 2, 3], [4, 5, 6]])
    assert sizes == {"n": 2, "k": 3}
    with pytest.raises(InputError, match=r"^b: shape 2 does not fit, expected 3; k is 3 by a$"):
        reader("b", [1, 2])


def test_records_of_a_list_have_lengths_of_their_own() -> None:
    rows = List(Record(Field("a", Number(("own",)), "a"), Field("b", Number(("own", "k")), "b")))
    found = read(rows, [{"a": [1], "b": [[1, 2]]}, {"a": [], "b": []}], k=2)
    assert [row["b"].shape for row in found] == [(1, 2), (0, 2)]
    with pytest.raises(InputError, match=r"^x\[1\]\.b: shape 1 x 2 does not fit, expected 2 x 2$"):
        read(rows, [{"a": [1], "b": [[1, 2]]}, {"a": [1, 2], "b": [[1, 2]]}], k=2)


def test_what_is_at_its_usual_is_left_out_and_null_is_read_as_left_out() -> None:
    assert BOX.write(Box(1.5)) == {"width": 1.5}
    assert BOX.write(Box(1.5, ("a",))) == {"width": 1.5, "labels": ["a"]}
    assert read(BOX, {"width": 1.5}) == Box(1.5)
    maybe = Field("n", Number(("k",)), "numbers", optional=True, null=True)
    assert Record(maybe).reader({})("n", None) is None
    assert Draft202012Validator(Record(maybe).schema()).is_valid({"n": None})
    assert not Draft202012Validator(BOX.schema()).is_valid({"width": 1, "labels": None})


class Shelf(Declared):
    """A problem that is all declaration."""

    problem = "shelf"
    declared = Record(
        Field("boxes", List(BOX), "the boxes", hidden=True),
        Field("wood.kind", Choice(("oak", "pine")), "its wood", argument="wood", hidden=True),
        Field("wood.age", Number(("n",)), "its age", optional=True, null=True, hidden=True),
        ORIGIN,
    )

    def __init__(self, *, boxes: Any, wood: Any, age: Any = None, origin: Origin | None = None) -> None:
        read = self.declared.reader({})
        self.setting = Box(0.0)
        self.__dict__ |= {
            "boxes": read("boxes", boxes),
            "wood": read("wood.kind", wood),
            "age": read("wood.age", age),
        }
        self.origin = origin or Origin("by hand")

    def episode(self, sees: frozenset[str]) -> Any:
        return iter(())

    def violations(self, decision: Any) -> list[Any]:
        return []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"wood": 3}, "wood: 3 is not an object with kind and age"),
        ({"wood": {"age": [1]}}, "wood.kind: missing field"),
        ({"wood": {"kind": "oak", "colour": 1}}, "wood.colour: unknown field; expected one of age, kind"),
        ({"origin": {"source": 1}}, "origin.source: 1 is not a string"),
        ({"high": 1}, "high: unknown field; expected one of boxes, origin, problem, version, wood"),
    ],
)  # fmt: skip
def test_a_declared_instance_is_read_written_and_refused(change: dict[str, Any], message: str) -> None:
    data = {
        "problem": "shelf",
        "version": 1,
        "boxes": [{"width": 2.0}],
        "wood": {"kind": "oak", "age": [1.0]},
    }
    shelf = Shelf.from_dict(data)
    assert shelf.to_dict() == data | {"origin": {"source": "by hand", "real": [], "filled": []}}
    assert [name for name, _ in shelf.content()] == ["boxes", "wood", "age"]
    assert Shelf.from_dict(shelf.to_dict()) == shelf != Shelf(boxes=[], wood="oak")
    Draft202012Validator(Shelf.schema()).validate(shelf.to_dict())
    with pytest.raises(InputError) as caught:
        Shelf.from_dict(data | change)
    assert str(caught.value) == message
    assert not Draft202012Validator(Shelf.schema()).is_valid(data | change)


def test_a_schema_says_what_numbers_may_be() -> None:
    schema = Number(("n", 2), low=-1, high=5.5, some="one").schema()
    one = {"type": "number", "minimum": -1, "maximum": 5.5}
    pair = {"type": "array", "items": one, "minItems": 2, "maxItems": 2}
    assert schema == {"type": "array", "items": pair, "minItems": 1}
    assert Number(low=-np.inf).schema() == {"type": "number"}
    assert Number(integer=True).schema() == {"type": "integer", "minimum": 0, "maximum": 2**53 - 1}
    assert Number(above=True, high="T").schema() == {"type": "number", "exclusiveMinimum": 0}


@pytest.mark.parametrize("problem", OURS, ids=lambda problem: problem.name)
def test_what_fields_mean_stands_once_in_the_docstrings(problem: Problem) -> None:
    kind = problem.part("instance")
    setting = get_type_hints(kind)["setting"]
    for one, section in ((kind, "Parameters"), (setting, "Attributes")):
        texts = [inspect.cleandoc(c.__doc__ or "") for c in one.__mro__]
        (text,) = [text for text in texts if f"\n{section}\n" in text][:1]
        told = re.findall(r"^(\w[\w, ]*)\n    \S", text, re.MULTILINE)
        names = [name for line in told for name in line.split(", ")]
        assert {name: names.count(name) for name in inspect.signature(one).parameters} == dict.fromkeys(
            inspect.signature(one).parameters, 1
        )
        assert max(map(len, text.splitlines())) <= 110
    assert kind.__doc__.count("\nRaises\n") == 1


class Told:
    """A thing.

    Attributes
    ----------
    labels
        As they stand here.

    Raises
    ------
    InputError
        Never.
    """

    def __init__(self, width: float, labels: tuple[str, ...]) -> None:
        self.width, self.labels = width, labels


def test_a_docstring_is_completed_where_it_says_nothing() -> None:
    told = "labels\n    As they stand here."
    complete(Told, BOX)
    assert f"\n----------\nwidth\n    how wide (1 to 3, at most 1 decimals)\n{told}\n\nRaises" in str(
        Told.__doc__
    )
    before = Told.__doc__
    complete(Told, BOX)
    assert before == Told.__doc__
    Told.__doc__ = "A thing.\n\nRaises\n------\nInputError\n    Never."
    complete(Told, BOX, "Parameters")
    assert Told.__doc__.startswith("A thing.\n\nParameters\n----------\nwidth\n    how wide (1 to 3,")
    assert Told.__doc__.endswith("(list of texts, optional)\n\nRaises\n------\nInputError\n    Never.")
    Told.__doc__ = None  # as under python -OO
    complete(Told, BOX)
    assert str(Told.__doc__).strip().startswith("Attributes\n----------\nwidth")
