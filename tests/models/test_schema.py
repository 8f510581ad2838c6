"""The JSON Schema of every problem against its reader: never stricter, and laxer only where it says so."""

import copy
import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from clairvoyant.models.base import InputError
from clairvoyant.problems import OURS
from clairvoyant.testing.campaigns import TARGETS
from clairvoyant.testing.generic import find_kit

KINDS = {problem.name: problem.part("instance") for problem in OURS}
VALIDATORS = {name: Draft202012Validator(kind.schema()) for name, kind in KINDS.items()}

CANNOT_SAY = {
    "lengths that fit each other": r"not fit|differs from|not a list of \d|expected a list of|has \d",
    "indices": r"out of range for|^(copy_of\[|jobs\[\d+\]\.arrival:).* and at most \d+$",
    "pairs that stand twice": r"\] stands twice",
    "an order": r"must ascend",
    "relations between fields": r"is more than the|no meaning for|clipped-normal needs|as reciprocal needs"
    r"|leaves no work|are all 0|can never run|together|: missing, but|no columns",
    "decimals": r"has more than \d decimals",
    "numbers that floats lose": r"is nearer to 0 than|beyond 1\.8e308|number so long",
    "what is no JSON": r": -?(nan|inf) is not",
    "1.0 where a number alone must be written whole": r": -?\d+\.0 is not a whole number",
}
"""What the reader refuses and a schema cannot, by what errors say."""

ODD: list[Any] = [
    *([], {}, None, True, "x", "", -1, 0, 1, 2, 0.5, 1.5, 1e300, 10**400, 10**20, 1e-320, 1e-60, -0.0, 1.0),
    *([1], [[1]], [[[1]]], [[]], {"a": 1}, 0.1234567, 2**31 + 1, "log", "none", [None], ["a", "a"], [True]),
]
UNKNOWN = ("extra", "kind", "ports", "scale", "path", "cost", "estimate", "intensity", "names", "copy_of")


def refusal(name: str, data: Any) -> str:
    """Return what the reader of files says against a document; empty if it reads it."""
    if data.get("problem") != name or data.get("version") != 1 or isinstance(data["version"], bool):
        return "problem or version"
    try:
        KINDS[name].from_dict(data)
    except InputError as error:
        return str(error)
    return ""


def excused(message: str) -> bool:
    return any(re.search(pattern, message) for pattern in CANNOT_SAY.values())


def places(node: Any, most: int | None = None) -> Iterator[tuple[Any, Any]]:
    """Yield every container and key of a document, of lists so many entries at most."""
    lists = range(len(node))[:most] if isinstance(node, list) else ()
    for key in list(node) if isinstance(node, dict) else lists:
        yield node, key
        yield from places(node[key], most)


@st.composite
def documents(draw: st.DrawFn, name: str) -> Any:
    """Draw the document of an instance, changed in one place or two."""
    data = json.loads(json.dumps(draw(TARGETS[name].instances).to_dict()))
    for _ in range(draw(st.integers(1, 2))):
        node, key = draw(st.sampled_from([*places(data)]))
        match draw(st.sampled_from(["other", "other", "gone", "more"])):
            case "gone":
                del node[key]
            case "more" if isinstance(node, list):
                node.append(copy.deepcopy(node[key]))
            case "more":
                node[draw(st.sampled_from(UNKNOWN))] = copy.deepcopy(draw(st.sampled_from(ODD)))
            case _:
                node[key] = copy.deepcopy(draw(st.sampled_from(ODD)))
    return data


def complete(name: str) -> dict[str, Any]:
    """Return a document with all optional fields, of two slots or jobs where it has several."""
    instance: Any = next(iter(find_kit(name).ordinary().values()))
    data: dict[str, Any] = json.loads(json.dumps(instance.to_dict()))
    if name.startswith("allocation"):
        setting = instance.setting if name == "allocation" else instance.setting.base
        counts = {"ports": setting.ports, "servers": setting.servers, "kinds": setting.kinds}
        data["names"] = {key: [str(i) for i in range(count)] for key, count in counts.items()}
        data["copy_of"] = [0] * setting.ports
    if name.startswith("selection"):
        scale = [0.5] * instance.setting.channels
        data |= {"path": instance.path.tolist(), "ports": instance.setting.ports}
        data["noise"] = {"kind": "clipped-normal", "scale": scale}
    if name == "admission":
        data["announced"] = instance.announced.to_dict()
    if name == "placement":
        data["jobs"] = [job | {"estimate": job["duration"], "intensity": 0.5} for job in data["jobs"]]
    data |= {key: data[key][:2] for key in ("arrivals", "path", "jobs") if key in data}
    assert refusal(name, data) == ""
    return data


def faults(data: Any) -> Iterator[tuple[str, Any]]:
    """Yield a document with a single fault in every place, and its name: of rows in the first of two."""
    for place in range(len([*places(data, 2)])):
        changed = copy.deepcopy(data)
        node, key = [*places(changed, 2)][place]
        if isinstance(node, list) and key:
            continue
        whole = copy.copy(node)
        values = {f"{odd!r:.9}": odd for odd in ODD} | {"low": -1e60, "high": 1e60, "deeper": [node[key]]}
        for fault, value in values.items():
            node[key] = value
            yield f"{key}: {fault}", changed
        if isinstance(node, dict):
            del node[key]
            yield f"{key}: missing", changed
            node |= whole | {"unknown": 1}
            yield f"{key}: unknown beside it", changed


@pytest.mark.parametrize("name", KINDS)
def test_it_is_a_schema(name: str) -> None:
    Draft202012Validator.check_schema(VALIDATORS[name].schema)
    assert set(VALIDATORS[name].schema["properties"]) >= {"problem", "version", "origin"}


@pytest.mark.parametrize("name", KINDS)
def test_what_is_written_is_valid(name: str) -> None:
    @settings(max_examples=40)
    @given(TARGETS[name].instances)
    def check(instance: Any) -> None:
        VALIDATORS[name].validate(json.loads(json.dumps(instance.to_dict())))

    check()
    for kit in (find_kit(name).ordinary(), find_kit(name).degenerate()):
        for instance in kit.values():
            VALIDATORS[name].validate(json.loads(json.dumps(instance.to_dict())))
    VALIDATORS[name].validate(complete(name))


@pytest.mark.parametrize("name", KINDS)
def test_it_is_never_stricter_and_laxer_only_where_it_cannot_say(name: str) -> None:
    @settings(max_examples=100)
    @given(documents(name))
    def check(data: Any) -> None:
        message, valid = refusal(name, data), VALIDATORS[name].is_valid(data)
        assert valid or message, f"refused: {[e.message for e in VALIDATORS[name].iter_errors(data)]}"
        assert not valid or not message or excused(message), f"let through: {message}"

    check()


@cache
def judged(name: str) -> list[tuple[str, str, str, str]]:
    """Return all single faults of a problem, their fields, the documents, and what the reader says."""
    found, whole = [], complete(name)
    for field in whole:
        others = {key: value for key, value in whole.items() if key != field}
        for fault, part in faults({field: whole[field]}):
            text = json.dumps(others | part)
            found.append((fault, field, text, refusal(name, json.loads(text))))
    return found


def differences(name: str, validator: Draft202012Validator, only: str = "") -> Iterator[str]:
    """Yield the single faults of which reader and schema think otherwise, and no reason excuses it.

    With a name only those of this field. Where all is well but one field, the schema of this field decides,
    which takes less time.
    """
    whole = complete(name)
    well, fields = validator.is_valid(whole), validator.schema["properties"]
    for fault, field, text, message in judged(name):
        if only not in ("", field):
            continue
        data = json.loads(text)
        if well and data.keys() == whole.keys():
            valid = validator.evolve(schema=fields[field]).is_valid(data[field])
        else:
            valid = validator.is_valid(data)
        if valid == bool(message) and not (valid and excused(message)):
            yield f"{fault}: {message}"


@pytest.mark.parametrize("name", KINDS)
def test_single_faults_are_refused_by_both(name: str) -> None:
    assert list(differences(name, VALIDATORS[name])) == []


@pytest.mark.parametrize(
    ("name", "path", "change"),
    [
        ("allocation", "properties.overhead.items", {"maximum": 2}),
        ("allocation", "properties.overhead.items", {"anyOf": [{"minimum": -1}]}),
        ("allocation", "properties.overhead.items", {"anyOf": [{"const": 0}, {"minimum": 1}]}),
        ("allocation", "properties.utility.properties.kind.items.items", {"enum": ["linear", "log", "x"]}),
        ("allocation", "properties.copy_of", {"type": "array"}),
        ("allocation-gang", "properties.gang", {"required": ["demand"]}),
        ("selection", "properties", {"cost": None}),
        ("selection", "properties.noise", {"additionalProperties": True}),
        ("selection", "properties.arrivals.items.items", {"type": "number"}),
        ("selection-gang", "properties.capacity.items.items", {"maximum": 2**60}),
        (
            "admission",
            "properties.jobs.items.properties.utility.properties.priority",
            {"exclusiveMinimum": -2},
        ),
        ("admission", "properties.announced.properties.lower_workers", {"type": "number"}),
        ("admission", "properties.resources", {"uniqueItems": False}),
        ("placement", "properties.jobs.items.properties", {"estimate": None}),
        ("placement", "properties.jobs.items.properties.duration", {"minimum": 0}),
        ("placement", "properties.machines", {"minItems": 0}),
    ],
    ids=str,
)
def test_a_planted_fault_in_a_schema_is_found(name: str, path: str, change: dict[str, Any]) -> None:
    schema = copy.deepcopy(VALIDATORS[name].schema)
    node, parts = schema, path.split(".")
    for part in parts:
        node = node[part]
    for key, value in change.items():
        assert node[key] != value
        node[key] = value
        if value is None:
            del node[key]
    assert next(differences(name, Draft202012Validator(schema), "".join(parts[1:2])), None)
