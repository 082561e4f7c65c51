"""The keys of architecture files: their page, and the schema that editors check files with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from make_schema import architecture_keys_page, architecture_schema_file
from tilewright.arch import list_archs
from tilewright.arch.keys import SCHEMA
from tilewright.arch.loader import arch_file

ROOT = Path(__file__).parents[2]


def test_page_and_schema_are_those_of_the_models() -> None:
    assert SCHEMA.read_text(encoding="utf-8") == architecture_schema_file(), "run python docs/make_schema.py"
    assert (ROOT / "docs" / "architecture-keys.md").read_text(encoding="utf-8") == architecture_keys_page()


@pytest.mark.parametrize("name", list_archs())
def test_the_schema_accepts_what_the_reader_accepts(name: str) -> None:
    schema = Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    found = yaml.load(arch_file(name)[0], yaml.CSafeLoader)
    assert [error.message for error in schema.iter_errors(found)] == []
    found["levels"][0]["bandwith"] = "1 B/cycle"
    assert not schema.is_valid(found)
