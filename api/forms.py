"""A mapping as a text in the form that is asked for: a program, a page for people, or a file for another tool."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from .arch import Architecture
from .ir import Mapping, TilewrightError, did_you_mean

if TYPE_CHECKING:
    from .cost_models import Cost
    from .mapper.certificate import Certificate
    from .mapper.emit import Element

Format: TypeAlias = Literal["numpy", "nest", "json", "yaml", "timeloop", "c", "mlir", "tvm"]

FORMS: tuple[Format, ...] = get_args(Format)


def _nest(mapping: Mapping, arch: Architecture) -> str:
    from .report.nest import nest_document

    return nest_document(mapping, arch)


def _yaml(mapping: Mapping, arch: Architecture) -> str:
    from .mapper.emit import emit_mapping_yaml

    return emit_mapping_yaml(mapping, arch.name)


def _timeloop(mapping: Mapping, arch: Architecture) -> str:
    from .mapper.emit import emit_timeloop

    return emit_timeloop(mapping, arch)


_EMITTERS: dict[str, Callable[[Mapping, Architecture], str]] = {
    "nest": _nest,
    "yaml": _yaml,
    "timeloop": _timeloop,
}
"""The forms that need the mapping and its machine alone."""


def check_form(form: str) -> None:
    """TilewrightError, with the nearest known one, for an unknown form."""
    if form not in FORMS:
        raise TilewrightError(f"unknown form {form!r}", hint=did_you_mean(str(form), FORMS))


def emit_mapping(
    mapping: Mapping,
    arch: Architecture,
    form: str,
    cost: Cost,
    certificate: Certificate | None = None,
    element: Element | None = None,
    copied: Collection[str] | None = None,
    fast: bool | None = None,
) -> str:
    """A mapping in one of the forms; `element` and `copied` are for C, MLIR and TVM, as `emit_c` has them, and `fast`
    for numpy, as `emit_numpy` has it."""
    check_form(form)
    if form != "numpy" and fast is not None:
        raise TilewrightError(f"steps can be run at once or one by one in numpy, and not in {form}")
    if form in ("c", "mlir", "tvm"):
        from .mapper import emit

        program = {"c": emit.emit_c, "mlir": emit.emit_mlir, "tvm": emit.emit_tvm}[form]
        return program(mapping, arch, element or "float", copied)
    if element is not None or copied is not None:
        raise TilewrightError(f"kinds of elements and copies can be chosen for c, mlir and tvm, and not for {form}")
    if form == "numpy":
        from .mapper.emit import emit_numpy

        return emit_numpy(mapping, arch, fast)
    if form == "json":
        # The document's models take longer to build than a small search takes to run.
        from .report.documents import dump_mapping

        return dump_mapping(mapping, arch, cost, certificate)
    return _EMITTERS[form](mapping, arch)
