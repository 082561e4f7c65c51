"""mapping.json of cascades: every tree comes back, the schema knows it, and what is wrong is said in one message."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from trees import random_cascade, random_tree

from generators import random_architecture
from longer import blocks
from tilewright.arch import Architecture
from tilewright.cost_models import Cost, evaluate
from tilewright.cost_models.cascades import (
    cost_of_counts,
    count_tree,
    occupancy,
    ways_of,
)
from tilewright.ir import Mapping, MappingError
from tilewright.run.documents.files import SCHEMA_VERSION, schema_path
from tilewright.run.documents.mappings import dump_mapping, load_mapping, parse_mapping

GOLDEN = Path(__file__).parents[2] / "golden"
Change = Callable[[dict[str, Any]], object]


@cache
def case(seed: int) -> tuple[Mapping, Architecture, Cost]:
    rng = random.Random(seed)
    whole, arch = random_cascade(rng), random_architecture(rng)
    fused = random_tree(rng, whole, arch)
    ways = ways_of(fused, arch)
    return fused, arch, cost_of_counts(fused, arch, ways, count_tree(fused, arch), occupancy(fused, arch, ways))


@cache
def validator() -> Draft202012Validator:
    schema = json.loads(schema_path(SCHEMA_VERSION).read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@pytest.mark.parametrize("seeds", blocks(40, 20))
def test_random_trees_come_back_whole(seeds: range) -> None:
    for seed in seeds:
        fused, arch, cost = case(seed)
        text = dump_mapping(fused, arch, cost)
        loaded = load_mapping(text)
        assert (loaded.mapping, loaded.arch, loaded.recorded.cost) == (fused, arch, cost)
        assert loaded.recorded.certificate is None
        assert loaded.recorded.unfused is None
        validator().validate(json.loads(text))


def _tree_without_end() -> dict[str, Any]:
    leaf: dict[str, Any] = {"items": [], "branches": [], "operation": "x"}
    tree = leaf
    for _ in range(60):
        tree = {"items": [], "branches": [leaf, tree], "operation": ""}
    return tree


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda d: d.update(schema_version=1), "unknown key"),
        (lambda d: d.update(schema_version=7), "written by a newer tilewright"),
        (lambda d: d["tree"].update(branch=[]), "tree.branch: unknown key\nhint: did you mean 'branches'"),
        (lambda d: d["tree"]["items"].append({"kind": "leaf"}), "kind: found 'leaf', expected 'loop', 'node'"),
        (lambda d: d["tree"].update(items=[]), "some.json: tree: "),
        (lambda d: d["tree"].update(_tree_without_end()), "some.json: tree: splits inside more than 50 others"),
        (lambda d: d["cascade"]["operations"].pop(), "some.json: "),
        (lambda d: d["cascade"]["operations"][0].update(expression="A +"), "operations[0].expression: cannot read"),
        (lambda d: d["cascade"]["operations"][0].update(expression="A + Z"), "differ in"),
        (lambda d: d["cascade"]["operations"][0]["problem"]["dims"][0].append(3), "problem.dims"),
        (lambda d: d["cost"].pop("occupancy"), "cost.occupancy: missing"),
    ],
)
def test_malformed_documents_name_file_and_field(change: Change, expected: str) -> None:
    data = json.loads(dump_mapping(*case(1)))
    change(data)
    with pytest.raises(MappingError) as caught:
        parse_mapping(json.dumps(data), "some.json")
    assert expected in str(caught.value)
    assert str(caught.value).startswith("some.json")


TREES = sorted(path for path in GOLDEN.glob("mapping-[!1]*/*.json") if not path.stem.startswith("layer"))


@pytest.mark.parametrize("path", TREES, ids=lambda path: path.parent.name)
def test_documents_of_all_versions_are_read(path: Path) -> None:
    """They are never written again."""
    loaded = load_mapping(path)
    arch, mapping = loaded.arch, loaded.mapping
    assert json.loads(path.read_text(encoding="utf-8"))["schema_version"] == int(path.parent.name[-1])
    assert loaded.recorded.cost.energy_pj == evaluate(mapping, arch).energy_pj


def test_a_bound_of_a_part_of_the_space_is_none_of_all_of_it() -> None:
    """Up to version 3, certificates said as a constraint that they are of a part."""
    data = json.loads(dump_mapping(*case(1)))
    told = "no shared loops along windows: a tree with them is 10 % better at most"
    proof = {"objective": "energy", "tiling": "perfect", "value": 100.0, "lower_bound": 100.0, "constraints": [told]}
    proof |= {"space_size": None, "placements": 0, "evaluated": 1, "pruned": {}, "seconds": 1.0}
    loaded = parse_mapping(json.dumps(data | {"schema_version": 3, "certificate": proof}), "some.json")
    assert loaded.recorded.certificate is not None
    assert 89 < loaded.recorded.certificate.lower_bound < 90
