"""The published schema of mapping.json: it is that of the models, and an independent validator agrees with the reader.

`golden/mapping-N` has documents of version N. Every later version must read them: they are never written again.
"""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError
from typer.testing import CliRunner

import longer
import tilewright as tw
from generators import random_architecture, random_mapping, random_problem, with_extras
from make_schema import schema_file
from mutations import HOSTILE, mutated
from tilewright.cli import app
from tilewright.cost_models import cost_of, count_words
from tilewright.ir import MappingError
from tilewright.run.documents.files import SCHEMA_VERSION, schema_path, schema_text
from tilewright.run.documents.mappings import MappingDocument, Recorded, dump_mapping, parse_mapping

GOLDEN = Path(__file__).parents[2] / "golden"
OLD_DOCUMENTS = sorted(GOLDEN.glob("mapping-*/*.json"))
OLD_LAYERS = sorted(GOLDEN.glob("mapping-1/*.json"))
EXTRAS = ("leakage", "block", "hop", "fill", "ports", "roles", "serial", "widths")


@cache
def validator() -> Draft202012Validator:
    schema = json.loads(schema_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@cache
def document(seed: int) -> Any:
    """The document of a random mapping, on a machine with every feature; every fourth one was searched for."""
    rng = random.Random(seed)
    while True:
        problem, arch = random_problem(rng), with_extras(rng, random_architecture(rng), *EXTRAS)
        if seed % 4 == 0:
            found = tw.search(tw.gemm(M=seed % 5 + 1, N=4, K=6), arch, constraints="DRAM.temporal.K<=6", time_limit=0.2)
            return json.loads(found.emit("json"))
        try:
            mapping = random_mapping(rng, problem, arch)
            return json.loads(dump_mapping(mapping, arch, cost_of(mapping, arch, count_words(mapping, arch))))
        except MappingError:
            continue


def test_the_file_is_what_the_models_say() -> None:
    told = "run python docs/make_schema.py; if documents of this version read otherwise now, raise SCHEMA_VERSION first"
    assert schema_path(SCHEMA_VERSION).read_text(encoding="utf-8") == schema_file(), told


def test_the_command_line_prints_it() -> None:
    done = CliRunner().invoke(app, ["show", "mapping-schema"])
    assert done.exit_code == 0
    assert json.loads(done.stdout) == json.loads(schema_text())
    refused = CliRunner().invoke(app, ["show", "mapping-schema", "--set", "clock=1 GHz"])
    assert refused.exit_code == 2
    assert "mapping-schema is no architecture" in refused.stderr


@pytest.mark.parametrize("seed", longer.seeds(24))
def test_documents_of_every_kind_are_valid(seed: int) -> None:
    validator().validate(document(seed))


@pytest.mark.parametrize("name", tw.list_archs())
def test_every_machine_of_the_library_is_valid(name: str) -> None:
    data = document(1) | {"architecture": json.loads(tw.load_arch(name).model_dump_json())}
    validator().validate(data)


def test_a_hand_written_mapping_is_valid() -> None:
    text = "DRAM keeps A W O\nfor M in 2\nfor N in 2\nGLB keeps A O\nfor K in 4\nspad keeps A W O"
    mapping = tw.Mapping(tw.gemm(M=2, N=2, K=4, bits={"input": 8}), tw.LoopNest.parse(text))
    arch = tw.load_arch("eyeriss", set={"clock": "300 MHz"})
    data = json.loads(dump_mapping(mapping, arch, tw.evaluate(mapping, arch)))
    assert data["certificate"] is None
    assert data["architecture"]["settings"] == {"clock": "300 MHz"}
    validator().validate(data)


def complaints(text: str) -> set[str]:
    """Kinds of errors that the models find in a document."""
    try:
        MappingDocument.model_validate_json(text, strict=True)
    except ValidationError as error:
        return {found["type"] for found in error.errors()}
    return set()


def without_whole_floats(data: Any) -> Any:
    """16.0 is a whole number for a schema, and not for the reader."""
    if isinstance(data, dict):
        return {key: without_whole_floats(value) for key, value in data.items()}
    if isinstance(data, list):
        return [without_whole_floats(value) for value in data]
    return data + 0.5 if isinstance(data, float) and data.is_integer() and abs(data) < 2**50 else data


SAID_ALIKE = tuple(value for value in HOSTILE if value != 1e308)


@pytest.mark.long
@given(st.integers(0, 5).flatmap(lambda seed: mutated(document(seed), SAID_ALIKE)))
def test_schema_and_reader_refuse_the_same(data: Any) -> None:
    data = without_whole_floats(data)
    text = json.dumps(data)
    # What single values cannot say, validators of ours do: two levels of one name, a port too many.
    if complaints(text) - {"value_error"}:
        assert not validator().is_valid(data)
    if not validator().is_valid(data):
        with pytest.raises(MappingError):
            parse_mapping(text, "some.json")


def test_whole_numbers_with_a_point_are_for_the_reader_to_refuse() -> None:
    data = json.loads(json.dumps(document(1)))
    data["cascade"]["operations"][0]["problem"]["dims"][0][1] += 0.0
    assert validator().is_valid(data)
    with pytest.raises(MappingError, match="expected a whole number"):
        parse_mapping(json.dumps(data), "some.json")


def test_there_are_old_documents_of_every_version() -> None:
    assert {path.parent.name for path in OLD_DOCUMENTS} == {f"mapping-{v}" for v in range(1, SCHEMA_VERSION + 1)}


@pytest.mark.parametrize("path", OLD_DOCUMENTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_documents_of_all_versions_are_read(path: Path) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    assert data["schema_version"] == int(path.parent.name[-1])
    schema = Draft202012Validator(json.loads(schema_path(data["schema_version"]).read_text(encoding="utf-8")))
    schema.validate(data)
    loaded = tw.load_mapping(path)
    assert [level.name for level in loaded.arch.levels] == [level["name"] for level in data["architecture"]["levels"]]
    assert loaded.recorded.cost.energy_pj == data["summary"]["energy_pj"]
    assert (loaded.recorded.certificate is None) is (data["certificate"] is None)
    again = json.loads(dump_mapping(loaded.mapping, loaded.arch, *astuple_of(loaded.recorded)))
    validator().validate(again)
    assert again["summary"]["energy_pj"] == data["summary"]["energy_pj"]


def astuple_of(recorded: Recorded) -> tuple[Any, ...]:
    """What is recorded, in the order in which it is written down."""
    return recorded.cost, recorded.certificate, recorded.unfused, recorded.forms


@pytest.mark.parametrize("path", OLD_LAYERS, ids=lambda path: path.stem)
def test_layers_of_all_versions_have_their_nests(path: Path) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    loaded = tw.load_mapping(path)
    assert [[*dim] for dim in loaded.mapping.problem.dims] == data["problem"]["dims"]
    assert [tensor.name for tensor in loaded.mapping.problem.tensors] == [t["name"] for t in data["problem"]["tensors"]]
    assert len(loaded.mapping.nest) == len(data["nest"])
    assert tw.evaluate(path).macs == loaded.mapping.problem.macs


def test_a_document_of_a_newer_version_says_so() -> None:
    data = document(1) | {"schema_version": SCHEMA_VERSION + 1, "written_by": "tilewright 9.0.0", "new": [1]}
    with pytest.raises(
        MappingError,
        match=rf"found {SCHEMA_VERSION + 1}, expected 6\nhint: it was written by a newer tilewright: read it",
    ):
        parse_mapping(json.dumps(data), "some.json")
