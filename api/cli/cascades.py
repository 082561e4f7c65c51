"""Cascades on the command line: which one the arguments name, and what a tree of it costs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from math import isclose
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..ir import Cascade, FusedMapping, TilewrightError
from .machines import architecture_named, laid_out, settings_named
from .options import widths_named
from .problems import sizes_of_symbols
from .sources import MappingSource
from .terminal import say, show_document, show_page

if TYPE_CHECKING:
    from ..arch import Architecture
    from ..cost_models.cascades import FusedCost
    from ..mapper.answer import TriedForm, Unfused
    from ..mapper.certificate import Certificate


def is_cascade(source: str | None, op: list[str] | None, dims: Iterable[str] | None = None) -> bool:
    """Whether the arguments name a cascade: operations, a file of them, or several layers of a network.

    dims  the --dim options
    """
    if op or source is None:
        return bool(op)
    if source.endswith((".yaml", ".yml")) and not os.path.exists(source):
        return True
    from ..workloads import names_cascade

    return names_cascade(source, sizes_of_symbols(dims))


def cascade_named(
    source: str | None, op: list[str] | None, dims: Iterable[str] | None = None, widths: str = "file"
) -> Cascade:
    """The cascade of the --op options and their sizes, of a file, or of layers of a network; TilewrightError where
    one is missing.

    dims, widths  of layers of an ONNX file; all others state theirs
    """
    from ..workloads import ONNX, cascade_from_texts, resolve_cascade

    if op or f"{ONNX}:" not in (source or ""):
        if dims:
            hint = "the sizes of other cascades stand beside --op, or in the file"
            raise TilewrightError("symbols belong to layers of an ONNX file", where="--dim", hint=hint)
        if widths_named(widths) != "file":
            raise TilewrightError("only layers of an ONNX file have widths of their own", where="--widths")

    if source is None:
        hint = "write m=64,k=64,n=64 beside --op, or name layers such as gpt2_small:qk+softmax+av, or a YAML file"
        raise TilewrightError("the sizes of the cascade are missing", where="--op", hint=hint)
    if op:
        return cascade_from_texts(op, source)
    return resolve_cascade(source, sizes_of_symbols(dims), widths_named(widths))


class FusedToShow(NamedTuple):
    """A tree, its machine, what it costs there; and, where it was searched for there, what was proven."""

    mapping: FusedMapping
    arch: Architecture
    cost: FusedCost
    certificate: Certificate | None = None
    unfused: Unfused | None = None
    forms: tuple[TriedForm, ...] = ()


def fused_named(
    source: MappingSource, op: list[str] | None, tree: Path | None, arch: str | None, set_fields: list[str] | None
) -> FusedToShow:
    """The tree of a mapping.json, or one that was written by hand for a cascade, and what it costs."""
    if source.is_fused:
        if op or tree:
            hint = "leave --op and --mapping out"
            raise TilewrightError("the file holds a cascade and its tree already", where=source.place, hint=hint)
        return _loaded(source, arch, set_fields)
    from ..arch.document import read_text
    from ..results import evaluate

    whole = cascade_named(source.given, op)
    if tree is None:
        raise TilewrightError("the tree of the cascade is missing", hint="write it to a file, and name it by --mapping")
    if arch is None:
        raise TilewrightError("no architecture is given", hint="name one by --arch, such as --arch eyeriss")
    machine = architecture_named(arch, set_fields)
    text = read_text(tree, str(tree), "the tree of a cascade")
    try:
        fused = FusedMapping.parse(whole, text)
        return FusedToShow(fused, machine, evaluate(fused, machine))
    except TilewrightError as error:
        raise error.located(str(tree)) from None


def _loaded(source: MappingSource, arch: str | None, set_fields: list[str] | None) -> FusedToShow:
    """The tree of a mapping.json, on its own machine or on another one."""
    from ..mapping_sources import changed_architecture
    from ..results import evaluate
    from ..run.documents.cascades import parse_fused

    loaded = parse_fused(source.text or "", source.place)
    machine = loaded.arch
    if arch is not None:
        machine = architecture_named(arch, set_fields)
    elif set_fields:
        machine = changed_architecture(machine, settings_named(set_fields), source.place)
    try:
        cost = evaluate(loaded.mapping, machine)
    except TilewrightError as error:
        raise error.located(source.place) from None
    if machine.cost_text != loaded.arch.cost_text:
        return FusedToShow(loaded.mapping, machine, cost)
    recorded = loaded.recorded
    if not (isclose(cost.energy_pj, recorded.cost.energy_pj) and isclose(cost.edp, recorded.cost.edp)):
        claimed = f"{recorded.cost.energy_pj:,.10g} pJ and {recorded.cost.latency_cycles:,.10g} cycles"
        found = f"{cost.energy_pj:,.10g} pJ and {cost.latency_cycles:,.10g} cycles"
        say(f"note: {source.place} records {claimed}, and the mapping in it costs {found}")
    return FusedToShow(loaded.mapping, machine, cost, recorded.certificate, recorded.unfused, recorded.forms)


def evaluate_cascade(
    source: MappingSource,
    op: list[str] | None,
    tree: Path | None,
    arch: str | None,
    set_fields: list[str] | None,
    json: bool,
    layout: Iterable[str] | None = None,
) -> None:
    """Print what a tree costs."""
    from ..forms import emit_mapping
    from ..report.pages.result import evaluated_page

    found = fused_named(source, op, tree, arch, set_fields)
    if layout:
        from ..cost_models.cascades import with_best_layouts
        from ..results import evaluate

        machine = with_best_layouts(found.mapping, laid_out(found.arch, found.mapping.cascade, layout))
        found = FusedToShow(found.mapping, machine, evaluate(found.mapping, machine))
    if json:
        show_document(emit_mapping(found._replace(certificate=None, unfused=None), "json"))
    else:
        show_page(evaluated_page(found.mapping, found.arch, found.cost))
