"""Cascades on the command line: which one the arguments name, and what a tree of it costs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..ir import Cascade, FusedMapping, TilewrightError
from .machines import architecture_named
from .terminal import show_page

if TYPE_CHECKING:
    from ..arch import Architecture
    from ..cost_models.cascades import FusedCost


def cascade_named(source: str | None, op: list[str] | None) -> Cascade:
    """The cascade of the --op options and their sizes, of a file, or of layers of a network; TilewrightError where
    one is missing."""
    from ..workloads import cascade_from_texts, resolve_cascade

    if source is None:
        hint = "write m=64,k=64,n=64 beside --op, or name layers such as gpt2_small:qk+softmax+av, or a YAML file"
        raise TilewrightError("the sizes of the cascade are missing", where="--op", hint=hint)
    return cascade_from_texts(op, source) if op else resolve_cascade(source)


def fused_named(
    source: str, op: list[str] | None, tree: Path | None, arch: str | None, set_fields: list[str] | None
) -> tuple[FusedMapping, Architecture, FusedCost]:
    """A cascade with its tree, the architecture, and what it costs there."""
    from ..arch.document import read_text
    from ..results import evaluate

    whole = cascade_named(source, op)
    if tree is None:
        raise TilewrightError("the tree of the cascade is missing", hint="write it to a file, and name it by --mapping")
    if arch is None:
        raise TilewrightError("no architecture is given", hint="name one by --arch, such as --arch eyeriss")
    machine = architecture_named(arch, set_fields)
    text = read_text(tree, str(tree), "the tree of a cascade")
    try:
        fused = FusedMapping.parse(whole, text)
        return fused, machine, evaluate(fused, machine)
    except TilewrightError as error:
        raise error.located(str(tree)) from None


def evaluate_cascade(
    source: str, op: list[str] | None, tree: Path | None, arch: str | None, set_fields: list[str] | None, json: bool
) -> None:
    """Print what a tree that was written by hand costs."""
    from ..report.cascade_page import fused_page

    if json:
        raise TilewrightError("no mapping.json is made of cascades yet", where="--json")
    show_page(fused_page(*fused_named(source, op, tree, arch, set_fields)))


def tree_text(
    source: str, op: list[str] | None, tree: Path | None, arch: str | None, set_fields: list[str] | None, form: str
) -> str:
    """A tree as a program or as an annotated text; TilewrightError for forms that do not know cascades."""
    from ..mapper.emit import emit_tree
    from ..report.tree import tree_document

    fused, machine, cost = fused_named(source, op, tree, arch, set_fields)
    if form == "numpy":
        return emit_tree(fused, machine)
    if form == "nest":
        return tree_document(fused, machine, cost.occupancy)
    raise TilewrightError(f"{form} does not know cascades", where="--to", hint="write --to numpy, or --to nest")
