"""A mapping as a text in the form that is asked for: a program, a page for people, or a file for another tool.

`FORMS` is the table of all forms, each with the options and the tilings that it knows; to add one, add a function and
its line there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from .arch import Architecture
from .inputs import checks
from .ir import Mapping, TilewrightError, did_you_mean
from .mapper.tilings import TILINGS, Tiling

if TYPE_CHECKING:
    from .cost_models import Cost
    from .mapper.answer import TriedForm, Unfused
    from .mapper.certificate import Certificate
    from .run.documents.network_plans import NetworkPlanDocument

Format: TypeAlias = Literal["numpy", "nest", "json", "yaml", "timeloop", "c", "mlir", "tvm", "trace"]


class Emittable(Protocol):
    """What there is to write down, such as a `SearchResult`; certificate and unfused are None of what was not searched
    for, and forms are of cascades alone."""

    @property
    def mapping(self) -> Mapping: ...
    @property
    def arch(self) -> Architecture: ...
    @property
    def cost(self) -> Cost: ...
    @property
    def certificate(self) -> Certificate | None: ...
    @property
    def unfused(self) -> Unfused | None: ...
    @property
    def forms(self) -> tuple[TriedForm, ...]: ...


@dataclass(frozen=True)
class Form:
    """A form.

    write    makes the text, from what there is and the options that are given
    options  that it knows
    tilings  that it can express
    knows_trees  whether it can say the mapping of a cascade
    write_plan   makes the text of a whole network's plan.json; None where that takes a program of the network
    """

    write: Callable[..., str]
    options: tuple[str, ...] = ()
    tilings: tuple[Tiling, ...] = TILINGS
    knows_trees: bool = False
    write_plan: Callable[[NetworkPlanDocument, str], str] | None = None


def _numpy(of: Any, fast: bool | None = None) -> str:
    from .mapper.emit import emit_numpy

    if fast is not None:
        checks.flag(fast, "fast")
    return emit_numpy(of.mapping, of.arch, fast)


def _nest(of: Any) -> str:
    from .report.parts.nest import mapping_document

    return mapping_document(of.mapping, of.arch, of.cost)


def _json(of: Any) -> str:
    # The document's models take longer to build than a small search takes to run.
    from .run.documents.mappings import dump_mapping

    return dump_mapping(of.mapping, of.arch, of.cost, of.certificate, of.unfused, of.forms)


def _yaml(of: Any) -> str:
    from .mapper.emit import emit_mapping_yaml

    return emit_mapping_yaml(of.mapping, of.arch.name)


def _timeloop(of: Any) -> str:
    from .mapper.emit import emit_timeloop

    return emit_timeloop(of.mapping, of.arch)


def _c(of: Any, element: Any = None, copied: Collection[str] | None = None) -> str:
    from .mapper.emit import emit_c

    return emit_c(of.mapping, of.arch, element, copied)


def _mlir(of: Any, element: Any = "float", copied: Collection[str] | None = None) -> str:
    from .mapper.emit import emit_mlir

    return emit_mlir(of.mapping, of.arch, element, copied)


def _tvm(of: Any, element: Any = "float", copied: Collection[str] | None = None) -> str:
    from .mapper.emit import emit_tvm

    return emit_tvm(of.mapping, of.arch, element, copied)


def _trace(of: Any) -> str:
    from .report.traces import mapping_trace

    return mapping_trace(of.mapping, of.arch, of.cost)


def _plan_trace(plan: NetworkPlanDocument, where: str) -> str:
    from .report.traces import network_trace

    return network_trace(plan, where)


def _plan_json(plan: NetworkPlanDocument, _where: str) -> str:
    from .run.documents.network_plans import dump_network_plan

    return dump_network_plan(plan)


_OF_PROGRAMS = ("element", "copied")

FORMS: dict[Format, Form] = {
    "numpy": Form(_numpy, ("fast",), knows_trees=True),
    "nest": Form(_nest, knows_trees=True),
    "json": Form(_json, knows_trees=True, write_plan=_plan_json),
    "yaml": Form(_yaml),
    "timeloop": Form(_timeloop, tilings=("perfect",)),
    "c": Form(_c, _OF_PROGRAMS, knows_trees=True),
    "mlir": Form(_mlir, _OF_PROGRAMS),
    "tvm": Form(_tvm, _OF_PROGRAMS),
    "trace": Form(_trace, knows_trees=True, write_plan=_plan_trace),
}
"""Name -> form."""

EXTERN_FILE = "network_extern_stub.c"
"""Functions that a C program of a network leaves to link, without their bodies."""
HEADER_FILE = "network.h"
"""What such a program offers."""
NETWORK_FILES: dict[Format, str] = {"c": "network.c", "numpy": "network.py"}
"""Forms that can say a whole network, and the file that such a program is written to."""

_BY_GROUP = {"json": "mapping.json", "nest": "nest.txt"}
"""Forms that say each group by itself, and the file of a group in the folder of a compiled network."""

_ABOUT = {
    "fast": "steps can be run at once or one by one",
    "element": "kinds of elements can be chosen",
    "copied": "copies can be chosen",
}
"""What the options are for."""


def form_named(name: str) -> Form:
    """The form of that name. Raises TilewrightError, with the nearest known one, for an unknown form."""
    for known, form in FORMS.items():
        if isinstance(name, str) and known == name:
            return form
    raise TilewrightError(f"unknown form {name!r}", hint=did_you_mean(str(name), FORMS))


def check_writes_networks(name: str, where: str) -> None:
    """TilewrightError for a form that is unknown, or cannot say a whole network: with the reason."""
    form_named(name)
    if name in NETWORK_FILES:
        return
    able = " or ".join(NETWORK_FILES)
    if name == "trace":
        hint = "--out writes trace.json, and tilewright emit plan.json --to trace"
        raise TilewrightError("the trace of a network is no program", where=where, hint=hint)
    if name in _BY_GROUP:
        hint = f"ask for {able}; --out writes groups/N/{_BY_GROUP[name]}, and plan.json for the whole"
        raise TilewrightError(f"{name} says one group, not a whole network", where=where, hint=hint)
    hint = f"ask for {able}; a layer of its own: tilewright search NETWORK:LAYER, then emit --to {name}"
    raise TilewrightError(f"{name} says one operation, and a group may have several", where=where, hint=hint)


def emit_plan(plan: NetworkPlanDocument, name: str, where: str) -> str:
    """The plan.json of a network in one of the forms that say one; `where` is what messages call it.

    Raises TilewrightError for a form that does not: a program, which `compile --emit` writes, or what says one group.
    """
    form = form_named(name)
    if form.write_plan is not None:
        return form.write_plan(plan, where)
    if name in NETWORK_FILES:
        hint = f"write it with the plan: tilewright compile {plan.network} --emit {name}"
        raise TilewrightError("a plan has no functions and parameters to write a program of", where=where, hint=hint)
    knowing = [other for other, one in FORMS.items() if one.write_plan is not None]
    hint = f"ask for {' or '.join(knowing)}, or name a group: groups/N/mapping.json beside it"
    raise TilewrightError(f"{name} says one group, not a whole network", where=where, hint=hint)


def emit_mapping(of: Emittable, name: str, **options: Any) -> str:
    """A mapping in one of the forms; options that are None are left at their defaults.

    Raises TilewrightError for an unknown form or one that does not know cascades, and for an option that it has not.
    """
    form = form_named(name)
    given = {option: value for option, value in options.items() if value is not None}
    if of.mapping.is_of_cascade:
        check_knows_trees(name)
    for option in given:
        if option not in form.options:
            having = [other for other, one in FORMS.items() if option in one.options]
            raise TilewrightError(f"{_ABOUT[option]} in {' or '.join(having)}, and not in {name}", where=option)
    return form.write(of, **_checked(given))


def _checked(given: dict[str, Any]) -> dict[str, Any]:
    """Options with a list of names for what is copied."""
    if "copied" not in given:
        return given
    names = checks.items(given["copied"], "copied", 'a list such as ["GLB", "registers.O"]')
    return {**given, "copied": [checks.text(name, "copied", "a name such as GLB or registers.O") for name in names]}


def check_knows_trees(name: str) -> None:
    """TilewrightError for a form that is unknown, or does not know cascades."""
    if not form_named(name).knows_trees:
        knowing = [other for other, form in FORMS.items() if form.knows_trees]
        raise TilewrightError(f"{name} does not know cascades", where="--to", hint=f"ask for {', '.join(knowing)}")
