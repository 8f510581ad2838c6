"""The published schemas and tables of fields are those that the instances declare."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from clairvoyant import api
from clairvoyant.problems import OURS

ROOT = Path(__file__).resolve().parents[2]
NAMES = [problem.name for problem in OURS]


def test_the_files_are_those_of_the_declarations(writer: Any) -> None:
    assert {path: path.read_text(encoding="utf-8") for path in writer.FOLDER.iterdir()} == writer.schemas(), (
        "run .ci/schema.py"
    )
    assert sorted(path.stem for path in writer.FOLDER.iterdir()) == sorted(NAMES)


def test_the_tables_are_those_of_the_declarations(writer: Any) -> None:
    text = writer.PAGE.read_text(encoding="utf-8")
    assert set(re.findall(r"<!-- fields: (\S+) -->", text)) >= {*NAMES, "origin"}
    assert writer.page(text) == text, "run .ci/schema.py"


@pytest.mark.parametrize("name", NAMES)
def test_every_declared_field_stands_in_a_table(writer: Any, name: str) -> None:
    text = writer.PAGE.read_text(encoding="utf-8")
    for one in writer.DECLARED[name].declared.fields:
        assert f"| `{one.name}` |" in text


def test_a_table_that_was_edited_is_found(writer: Any) -> None:
    text = writer.PAGE.read_text(encoding="utf-8")
    row = "| `overhead` | [K], 0 or 1e-50 to 1 |"
    assert writer.page(text.replace(row, "| `overhead` | [K], 0 or 1e-50 to 2 |")) == text
    assert row in text


@pytest.mark.parametrize("name", NAMES)
def test_what_is_generated_and_saved_is_valid(name: str, tmp_path: Path) -> None:
    schema = json.loads((ROOT / "docs" / "schema" / f"{name}.json").read_text(encoding="utf-8"))
    api.generate(name, "default", seed=1).save(tmp_path / "instance.json")
    Draft202012Validator(schema).validate(json.loads((tmp_path / "instance.json").read_text("utf-8")))


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_of_the_page_are_valid(writer: Any, name: str) -> None:
    blocks = re.findall(r"```json\n(.*?)```", writer.PAGE.read_text(encoding="utf-8"), re.DOTALL)
    mine = [data for data in map(json.loads, blocks) if data["problem"] == name]
    assert mine
    for data in mine:
        Draft202012Validator(writer.DECLARED[name].schema()).validate(data)
