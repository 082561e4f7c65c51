"""mapping.json: a mapping with everything that it needs to be understood, run and checked elsewhere.

    {
      "schema_version": 6,
      "written_by": "tilewright 0.1.0",
      "summary": {"energy_pj": ..., "latency_cycles": ..., "edp": ..., "proven": true, ...},
      "cascade": {"name": ..., "operations": [{"problem": {...}, "expression": "A * W", "reduction": "sum"}, ...]},
      "architecture": {...},         the whole specification, in base units
      "tree": {"items": [{"kind": "node", "memory": "DRAM", "tensor": "A"}, {"kind": "loop", "dim": "M", "trips": 16},
                         ...], "branches": [{"items": [...], "branches": [], "operation": "T"}, ...], "operation": ""},
      "cost": {...},                 what the mapping costs, by memory and tensor; of several operations, of each
      "certificate": {...},          what the search proved; null for a mapping that was not searched for
      "unfused": {...},              the best with nothing fused, where it was searched for
      "forms": [...]                 of a cascade that can be computed in several ways, what is known of each
    }

A layer is a cascade of one operation, and its nest a tree with one leaf: items are loops and nodes, outermost first; a
loop with an axis is spatial. A tensor's rank is a list of (dimension, coefficient). Unknown keys are refused, so a
reader never overlooks what a newer writer meant. Earlier versions are read as well (`older.py`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from pydantic import Discriminator, Tag

from ...arch import Architecture, Fanout, Memory
from ...cost_models import Cost, MemoryUse, NetworkUse, PortUse, TensorTraffic, parse_objective
from ...cost_models.cascades import Held
from ...cost_models.layouts import Lines
from ...cost_models.zeros import Operations, TensorZeros, Zeros
from ...inputs import checks
from ...ir import LoopNest, Mapping, MappingError, Problem, TilewrightError
from ...mapper.answer import TriedForm, Unfused, saved_by_fusing
from ...mapper.certificate import Certificate, OpenPart, PartProof
from .costs import CascadeCostPart, CostPart, cost_of, cost_part
from .files import KINDS_OF_COSTS, SCHEMA_VERSION, Strict, document_from, members_of, read_text, spread
from .older import as_now, place_in
from .parts import (
    PART_MODELS,
    ArchitecturePart,
    CascadePart,
    TreePart,
    architecture_of,
    architecture_part,
    cascade_of,
    cascade_part,
    layer_of,
    layer_part,
    plain,
    tree_of,
    tree_part,
)

T = TypeVar("T")


@dataclass(frozen=True)
class Recorded:
    """The figures that a document carries; recomputing them is `evaluate`.

    cost         what the mapping costs
    certificate  what is proven of it; None for a mapping that was not searched for
    unfused      of a cascade, the best with nothing fused; None where it was not searched for
    forms        of a cascade that can be computed in several ways, what is known of each
    """

    cost: Cost
    certificate: Certificate | None
    unfused: Unfused | None = None
    forms: tuple[TriedForm, ...] = ()


class LoadedMapping(NamedTuple):
    """What a document holds.

    mapping   with its problem, or its cascade
    arch      that it is for
    recorded  figures that were written down with it
    """

    mapping: Mapping
    arch: Architecture
    recorded: Recorded


class _Summary(Strict):
    """The figures that most readers want, some of them derived from those in `cost`, `certificate` and `unfused`.

    energy_pj, latency_cycles, utilization, limited_by  as in `cost`; null: several operations wait for their own
    latency_s  the whole run, in seconds
    edp        energy x latency, in pJ x cycles
    proven     whether no mapping of the space is better; null: it was not searched for
    gap        how much better another one could be at most, as a fraction of the value; null: it was not searched for
    saves      the part of the objective that fusing saves; null: not compared
    """

    energy_pj: float
    latency_cycles: float
    latency_s: float
    edp: float
    utilization: float
    limited_by: str | None
    proven: bool | None
    gap: float | None
    saves: float | None


def _kind_of(cost: Any) -> str:
    several = isinstance(cost, CascadeCostPart) or (isinstance(cost, dict) and "operations" in cost)
    return _OF_SEVERAL if several else _OF_ONE


_OF_ONE, _OF_SEVERAL = KINDS_OF_COSTS


class MappingDocument(Strict):
    """A mapping of a layer or a cascade on an accelerator, with everything that it needs to be understood and checked.

    schema_version  of this document
    written_by      the program and its version
    summary         figures that most readers want
    cascade         the operations; of a layer, one
    architecture    the machine
    tree            loops, storage nodes and branches; of a layer, a leaf
    cost            what the mapping costs, by memory and tensor; of a cascade, by operation as well
    certificate     what the search proved; null for a mapping that was not searched for
    unfused         the best mapping with nothing fused; null where it was not searched for
    forms           of a cascade that can be computed in several ways, what is known of each
    """

    schema_version: Literal[6] = SCHEMA_VERSION
    written_by: str
    summary: _Summary
    cascade: CascadePart
    architecture: ArchitecturePart
    tree: TreePart
    cost: Annotated[
        Annotated[CostPart, Tag(_OF_ONE)] | Annotated[CascadeCostPart, Tag(_OF_SEVERAL)],
        Discriminator(_kind_of),
    ]
    certificate: Certificate | None
    unfused: Unfused | None = None
    forms: tuple[TriedForm, ...] = ()


def dump_mapping(
    mapping: Mapping,
    arch: Architecture,
    cost: Cost,
    certificate: Certificate | None = None,
    unfused: Unfused | None = None,
    forms: tuple[TriedForm, ...] = (),
) -> str:
    """The mapping.json text of a mapping and its cost; without a certificate for one that was not searched for."""
    return spread(plain(document_of(mapping, arch, cost, certificate, unfused, forms)), 0) + "\n"


def document_of(
    mapping: Mapping,
    arch: Architecture,
    cost: Cost,
    certificate: Certificate | None = None,
    unfused: Unfused | None = None,
    forms: tuple[TriedForm, ...] = (),
) -> MappingDocument:
    """The document of a mapping and its cost."""
    cascade = cascade_part(mapping.cascade) if mapping.is_of_cascade else layer_part(mapping.problem)
    return MappingDocument(
        written_by=written_by(),
        summary=_summary_of(cost, certificate, unfused),
        cascade=cascade,
        architecture=architecture_part(arch),
        tree=tree_part(mapping.tree),
        cost=cost_part(cost),
        certificate=certificate,
        unfused=unfused,
        forms=forms,
    )


@cache
def written_by() -> str:
    """What documents and records say of their writer, such as "tilewright 0.1.0"."""
    return f"tilewright {version('tilewright')}"


def load_mapping(text_or_path: str | os.PathLike[str], where: str | None = None) -> LoadedMapping:
    """The mapping, architecture and recorded figures of a mapping.json, of a layer or of a cascade.

    text_or_path  its path, or its text, which starts with `{`
    where  what messages call it; by default its path

    Raises MappingError, with file and field path, for a document that cannot be read, is of an unknown version, or
    holds loops and nodes that do not execute what it is for.
    """
    if where is not None:
        checks.text(where, "where", "what messages call the document", MappingError)
    if isinstance(text_or_path, str) and text_or_path.lstrip().startswith("{"):
        return parse_mapping(text_or_path, where or "<text>")
    path = checks.path(text_or_path, "the mapping", "the path or the text of a mapping.json", MappingError)
    place = where or path
    return parse_mapping(read_text(Path(text_or_path), place), place)


def parse_mapping(text: str, where: str) -> LoadedMapping:
    """As `load_mapping`, of a text; `where` is what messages call it."""
    members = members_of(text, where)
    try:
        document = _document(text, members, where)
        mapping = _mapping_of(document, where)
        if document.certificate:
            _check_objective(document.certificate, f"{where}: certificate")
        if document.unfused:
            _check_objective(document.unfused.certificate, f"{where}: unfused.certificate")
    except MappingError as error:
        raise _as_it_stands(error, members) from None
    recorded = Recorded(cost_of(document.cost), document.certificate, document.unfused, document.forms)
    return LoadedMapping(mapping, architecture_of(document.architecture), recorded)


def _mapping_of(document: MappingDocument, where: str) -> Mapping:
    """A mapping of one operation where it has the cost of one."""
    if isinstance(document.cost, CostPart):
        work = _problem_and_nest(document, where)
        return _in_tree(lambda: Mapping(*work), where)
    cascade = cascade_of(document.cascade, where)
    return _in_tree(lambda: Mapping(cascade, tree_of(document.tree)), where)


def _in_tree(make: Callable[[], T], where: str) -> T:
    try:
        return make()
    except TilewrightError as error:
        raise error.located(f"{where}: tree") from None


def is_of_cascade(text: str) -> bool:
    """Whether a text is the mapping.json of a cascade, as far as it can be told without reading all of it."""
    if not text.lstrip("\ufeff \t\r\n").startswith("{"):
        return False
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(data, dict) and _kind_of(data.get("cost")) == _OF_SEVERAL


def parse_nest(text: str, where: str) -> tuple[Problem, LoopNest]:
    """As `parse_mapping`, but for the problem and the nest of a layer alone: the nest need not cover the problem."""
    members = members_of(text, where)
    try:
        return _problem_and_nest(_document(text, members, where), where)
    except MappingError as error:
        raise _as_it_stands(error, members) from None


def _problem_and_nest(document: MappingDocument, where: str) -> tuple[Problem, LoopNest]:
    problem, tree = layer_of(document.cascade, where), _in_tree(lambda: tree_of(document.tree), where)
    if tree.branches:
        raise MappingError("found branches, and one operation", where=f"{where}: tree.branches")
    return problem, LoopNest(tree.items)


def _document(text: str, members: dict[str, Any], where: str) -> MappingDocument:
    """The document of a text with such members, of whatever version."""
    if members["schema_version"] != SCHEMA_VERSION:
        text = json.dumps(as_now(members, SCHEMA_VERSION, where))
    return document_from(text, MappingDocument, _known_keys(), where)


def _as_it_stands(error: MappingError, members: dict[str, Any]) -> MappingError:
    """The error with the place that the document itself has, of whatever version it is."""
    place = place_in(members["schema_version"], error.where or "")
    return MappingError(error.message, where=place or None, hint=error.hint)


def _check_objective(certificate: Certificate, where: str) -> None:
    """MappingError for a certificate whose objective cannot be read."""
    try:
        parse_objective(certificate.objective)
    except TilewrightError as error:
        raise MappingError(error.message, where=f"{where}.{error.where}", hint=error.hint) from None


def _summary_of(cost: Cost, certificate: Certificate | None, unfused: Unfused | None) -> _Summary:
    return _Summary(
        energy_pj=cost.energy_pj,
        latency_cycles=cost.latency_cycles,
        latency_s=cost.latency_s,
        edp=cost.edp,
        utilization=cost.utilization,
        limited_by=cost.limited_by or None,
        proven=certificate.proven if certificate else None,
        gap=certificate.gap if certificate else None,
        saves=saved_by_fusing(certificate, unfused) if certificate else None,
    )


def _known_keys() -> Iterator[str]:
    """Every key of a document."""
    for model in (MappingDocument, _Summary, CostPart, CascadeCostPart, *PART_MODELS, Architecture, Memory, Fanout):
        yield from model.model_fields
    costs = (Held, MemoryUse, PortUse, NetworkUse, TensorTraffic, Lines, Zeros, Operations, TensorZeros)
    for record in (*costs, Certificate, OpenPart, PartProof, Unfused, TriedForm):
        yield from (field.name for field in fields(record))
