"""mapping.json of a cascade: a fused mapping with everything that it needs to be understood, run and checked elsewhere.

    {
      "schema_version": 3,
      "written_by": "tilewright 0.1.0",
      "summary": {"energy_pj": ..., "latency_cycles": ..., "edp": ..., "proven": true, "saves": 0.4, ...},
      "cascade": {"name": ..., "operations": [{"problem": {...}, "expression": "A * B", "reduction": "sum", ...}, ...]},
      "architecture": {...},         the whole specification, in base units
      "tree": {"items": [...], "branches": [{"items": [...], "branches": [], "operation": "T"}, ...], "operation": ""},
      "cost": {...},                 what the mapping costs, by operation, memory and tensor
      "certificate": {...},          what the search proved; null for a mapping that was not searched for
      "unfused": {...}               the best with nothing fused; null where it was not searched for
    }

Problems, loops and nodes are those of version 1, which is of one layer (`mappings.py`). Version 1 remains what layers
are written as. Earlier versions of cascades are read as well: 2 is without `generations` and `start`, and up to 3 a
certificate may be about a part of the space, and says so as a constraint.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, NonNegativeInt

from ...arch import Architecture, Fanout, Memory
from ...cost_models import Cost, MemoryUse, NetworkUse, TensorTraffic
from ...cost_models.cascades import FusedCost, Held
from ...cost_models.layouts import Lines
from ...inputs import checks
from ...ir import (
    Cascade,
    FusedMapping,
    Generation,
    Loop,
    MappingError,
    Node,
    Operation,
    ProblemError,
    Reduction,
    Renews,
    SharedLoop,
    StartValue,
    TilewrightError,
    Tree,
)
from ...ir.expression import unbracketed
from ...ir.limits import check_countable
from ...mapper.answer import TriedForm, Unfused, saved_by_fusing
from ...mapper.certificate import Certificate, OpenPart, PartProof
from ...workloads import read_expression
from .files import CASCADE_SCHEMA_VERSION, Strict, check_version, document_from, members_of, read_text, spread
from .mappings import check_objective, written_by
from .parts import (
    PART_MODELS,
    ArchitecturePart,
    LoopPart,
    NodePart,
    ProblemPart,
    architecture_of,
    architecture_part,
    item_of,
    item_part,
    plain,
    problem_of,
    problem_part,
)

_DEEPEST = 50
"""Splits inside each other, as in the text form of a tree."""


@dataclass(frozen=True)
class RecordedFused:
    """The figures that a document of a cascade carries; recomputing them is `evaluate`.

    cost         what the mapping costs
    certificate  what is proven of it; None for a mapping that was not searched for
    unfused      the best with nothing fused; None where it was not searched for
    forms        of a cascade that can be computed in several ways, what is known of each
    """

    cost: FusedCost
    certificate: Certificate | None
    unfused: Unfused | None
    forms: tuple[TriedForm, ...] = ()


class LoadedFused(NamedTuple):
    """What a document of a cascade holds.

    mapping   with its cascade
    arch      that it is for
    recorded  figures that were written down with it
    """

    mapping: FusedMapping
    arch: Architecture
    recorded: RecordedFused


class FusedSummary(Strict):
    """The figures that most readers want, some of them derived from those in `cost`, `certificate` and `unfused`.

    energy_pj, latency_cycles, utilization  as in `cost`
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
    proven: bool | None
    gap: float | None
    saves: float | None


class GenerationPart(Strict):
    """Which generation of a tensor an operation writes or reads.

    tensor  its name
    axis    where the index of generations is written
    dim     the dimension that counts them; null: the last one is read
    after   whether it is the one that a step makes, and not the one before it
    """

    tensor: str
    axis: NonNegativeInt
    dim: str | None
    after: bool


class OperationPart(Strict):
    """One operation.

    problem     its dimensions and tensors
    expression  what is done at a point, such as "A * B" or "exp(S - L)"
    reduction   how the points of one word of the output are combined; null: each word has one point
    pads        a list of [tensor, [[zeros before, zeros after], one pair for each of its ranks]]
    generations of the tensors that are iterated, which generation is written or read
    start       of an operation that iterates, what its output is before the first step: a number, "inf" or "-inf"
    """

    problem: ProblemPart
    expression: str
    reduction: Reduction | None = None
    pads: tuple[tuple[str, tuple[tuple[NonNegativeInt, NonNegativeInt], ...]], ...] = ()
    generations: tuple[GenerationPart, ...] = ()
    start: int | float | Literal["inf", "-inf"] | None = None


class CascadePart(Strict):
    """Operations in the order in which they can be done; an equal tensor name is one tensor.

    name        of the whole
    operations  in order
    form        which way to compute it this is, where there are several
    """

    name: str
    operations: tuple[OperationPart, ...]
    form: str = ""


class SharedLoopPart(LoopPart):
    """A loop of one operation, or of all operations below a split.

    kind     "loop"
    dim      name of the dimension
    trips    how many steps
    axis     whose instances take a step each; null: they are taken in time
    renamed  a list of [operation, dimension], where operations call the dimension otherwise
    """

    renamed: tuple[tuple[str, str], ...] = ()


class TreeNodePart(NodePart):
    """From here inwards, a memory holds the tile of a tensor that the loops further in touch.

    kind    "node"
    memory, tensor  their names
    renews  whether it keeps no rows that the next visit reads again
    """

    renews: bool = False


class TreePart(Strict):
    """Loops and nodes, and the branches below them, done one after the other at every step.

    items      loops and storage nodes, outermost first
    branches   trees below the split; none in a leaf
    operation  what a leaf does
    """

    items: tuple[Annotated[SharedLoopPart | TreeNodePart, Field(discriminator="kind")], ...]
    branches: tuple[TreePart, ...] = ()
    operation: str = ""


class FusedMappingDocument(Strict):
    """A fused mapping of a cascade on an accelerator, with everything that it needs to be understood, run and checked.

    schema_version  of this document
    written_by      the program and its version
    summary         figures that most readers want
    cascade         the operations
    architecture    the machine
    tree            loops, storage nodes and branches
    cost            what the mapping costs, by operation, memory and tensor
    certificate     what the search proved; null for a mapping that was not searched for
    unfused         the best mapping with nothing fused; null where it was not searched for
    forms           of a cascade that can be computed in several ways, what is known of each
    """

    schema_version: Literal[4] = CASCADE_SCHEMA_VERSION
    written_by: str
    summary: FusedSummary
    cascade: CascadePart
    architecture: ArchitecturePart
    tree: TreePart
    cost: FusedCost
    certificate: Certificate | None
    unfused: Unfused | None = None
    forms: tuple[TriedForm, ...] = ()


def dump_fused(
    mapping: FusedMapping,
    arch: Architecture,
    cost: FusedCost,
    certificate: Certificate | None = None,
    unfused: Unfused | None = None,
    forms: tuple[TriedForm, ...] = (),
) -> str:
    """The mapping.json text of a fused mapping and its cost; without certificate where it was not searched for."""
    return spread(plain(fused_document_of(mapping, arch, cost, certificate, unfused, forms)), 0) + "\n"


def fused_document_of(
    mapping: FusedMapping,
    arch: Architecture,
    cost: FusedCost,
    certificate: Certificate | None = None,
    unfused: Unfused | None = None,
    forms: tuple[TriedForm, ...] = (),
) -> FusedMappingDocument:
    """The document of a fused mapping and its cost."""
    saves = saved_by_fusing(certificate, unfused) if certificate else None
    summary = FusedSummary(
        energy_pj=cost.energy_pj,
        latency_cycles=cost.latency_cycles,
        latency_s=cost.latency_s,
        edp=cost.edp,
        utilization=cost.utilization,
        proven=certificate.proven if certificate else None,
        gap=certificate.gap if certificate else None,
        saves=saves,
    )
    return FusedMappingDocument(
        written_by=written_by(),
        summary=summary,
        cascade=_cascade_part(mapping.cascade),
        architecture=architecture_part(arch),
        tree=_tree_part(mapping.tree),
        cost=cost,
        certificate=certificate,
        unfused=unfused,
        forms=forms,
    )


def load_fused_mapping(text_or_path: str | os.PathLike[str], where: str | None = None) -> LoadedFused:
    """The fused mapping, architecture and recorded figures of a cascade's mapping.json.

    text_or_path  its path, or its text, which starts with `{`
    where  what messages call the document; by default its path

    Raises MappingError, with file and field path, for a document that cannot be read, is of a single layer or of an
    unknown version, or holds a tree that does not execute its cascade.
    """
    if where is not None:
        checks.text(where, "where", "what messages call the document", MappingError)
    if isinstance(text_or_path, str) and text_or_path.lstrip().startswith("{"):
        return parse_fused(text_or_path, where or "<text>")
    path = checks.path(text_or_path, "the mapping", "the path or the text of a mapping.json", MappingError)
    place = where or path
    return parse_fused(read_text(Path(text_or_path), place), place)


def parse_fused(text: str, where: str) -> LoadedFused:
    """As `load_fused_mapping`, of a text; `where` is what messages call it."""
    members = members_of(text, where)
    check_version(members, CASCADE_SCHEMA_VERSION, where)
    if members["schema_version"] != CASCADE_SCHEMA_VERSION:
        text = json.dumps(_as_now(members))
    document = document_from(text, FusedMappingDocument, _known_keys(), where)
    cascade = _cascade_of(document.cascade, where)
    try:
        mapping = FusedMapping(cascade, _tree_of(document.tree))
    except TilewrightError as error:
        raise error.located(f"{where}: tree") from None
    if document.certificate is not None:
        check_objective(document.certificate, f"{where}: certificate")
    if document.unfused is not None:
        check_objective(document.unfused.certificate, f"{where}: unfused.certificate")
    recorded = RecordedFused(document.cost, document.certificate, document.unfused, document.forms)
    return LoadedFused(mapping, architecture_of(document.architecture), recorded)


_OLD_PART = re.compile(
    r"(no shared loops along windows|tiles of shared loops, and all below them, divide): .* ([0-9.e+-]+) % better .*"
)
"""Up to version 3, a constraint that says of which trees the bound is, and how much better others may be."""


def _as_now(members: dict[str, Any]) -> dict[str, Any]:
    """A document of an earlier version, with bounds of the whole space: no higher than what the constraints say, which
    is rounded to two digits."""
    proof = members.get("certificate")
    told = proof.get("constraints") if isinstance(proof, dict) else None
    if isinstance(proof, dict) and isinstance(told, list):
        found = [_OLD_PART.fullmatch(line) for line in told if isinstance(line, str)]
        less = max((1.06 * float(one[2]) / 100 for one in found if one is not None), default=0.0)
        if less and isinstance(proof.get("value"), float) and isinstance(proof.get("lower_bound"), float):
            least = max(0.0, min(proof["lower_bound"], proof["value"] * (1 - less)))
            members = members | {"certificate": proof | {"lower_bound": least}}
    return members | {"schema_version": CASCADE_SCHEMA_VERSION}


def _cascade_part(cascade: Cascade) -> CascadePart:
    operations = tuple(
        OperationPart(
            problem=problem_part(operation.problem),
            expression=unbracketed(str(operation.expression)),
            reduction=operation.reduction,
            pads=operation.pads,
            generations=tuple(GenerationPart(**asdict(one)) for one in operation.generations),
            start=_start_part(operation.start),
        )
        for operation in cascade
    )
    return CascadePart(name=cascade.name, operations=operations, form=cascade.form)


def _start_part(start: StartValue | None) -> StartValue | Literal["inf", "-inf"] | None:
    """A start value; JSON has no infinite numbers."""
    if start is None or isfinite(start):
        return start
    return "inf" if start > 0 else "-inf"


def _cascade_of(part: CascadePart, where: str) -> Cascade:
    place = f"{where}: cascade"
    try:
        operations = []
        for i, one in enumerate(part.operations):
            place = f"{where}: cascade.operations[{i}]"
            problem = problem_of(one.problem)
            check_countable(problem)
            operations.append(
                Operation(
                    problem=problem,
                    expression=read_expression(one.expression, f"{place}.expression"),
                    reduction=one.reduction,
                    pads=one.pads,
                    generations=tuple(Generation(**dict(made)) for made in one.generations),
                    start=float(one.start) if isinstance(one.start, str) else one.start,
                )
            )
        place = f"{where}: cascade"
        return Cascade(part.name, tuple(operations), part.form)
    except ProblemError as error:
        inner = error.where or ""
        at = inner if inner.startswith(place) else f"{place}: {inner}" if inner else place
        raise MappingError(error.message, where=at, hint=error.hint) from None


def _tree_part(tree: Tree) -> TreePart:
    items = tuple(_tree_item_part(item) for item in tree.items)
    return TreePart(items=items, branches=tuple(map(_tree_part, tree.branches)), operation=tree.operation)


def _tree_item_part(item: Loop | Node) -> SharedLoopPart | TreeNodePart:
    if isinstance(item, Node):
        return TreeNodePart(memory=item.memory, tensor=item.tensor, renews=isinstance(item, Renews))
    plain = item_part(Loop(item.dim, item.trips, item.axis))
    assert isinstance(plain, LoopPart)
    renamed = item.renamed if isinstance(item, SharedLoop) else ()
    return SharedLoopPart(dim=plain.dim, trips=plain.trips, axis=plain.axis, renamed=renamed)


def _tree_of(part: TreePart, depth: int = 0) -> Tree:
    if depth > _DEEPEST:
        raise MappingError(f"splits inside more than {_DEEPEST} others")
    branches = tuple(_tree_of(branch, depth + 1) for branch in part.branches)
    return Tree(tuple(map(_tree_item_of, part.items)), branches, part.operation)


def _tree_item_of(part: SharedLoopPart | TreeNodePart) -> Loop | Node:
    if isinstance(part, TreeNodePart):
        return Renews(part.memory, part.tensor) if part.renews else Node(part.memory, part.tensor)
    plain = item_of(part)
    assert isinstance(plain, Loop)
    return SharedLoop(plain.dim, plain.trips, plain.axis, renamed=part.renamed) if part.renamed else plain


def _known_keys() -> Iterator[str]:
    """Every key of a document."""
    models = (
        FusedMappingDocument,
        FusedSummary,
        CascadePart,
        OperationPart,
        GenerationPart,
        SharedLoopPart,
        TreeNodePart,
        TreePart,
    )
    for model in (*models, *PART_MODELS, Architecture, Memory, Fanout):
        yield from model.model_fields
    for record in (
        FusedCost,
        Held,
        Unfused,
        TriedForm,
        Cost,
        MemoryUse,
        NetworkUse,
        TensorTraffic,
        Lines,
        Certificate,
        OpenPart,
        PartProof,
    ):
        yield from (field.name for field in fields(record))
