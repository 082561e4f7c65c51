"""`problem:` of Timeloop v0.4: dimensions, data spaces with projections, and their sizes."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from ...arch.document import Field
from ...arch.units import shown
from ...ir import Problem, Rank, Role, Tensor, did_you_mean

_PROJECTION = "a list of ranks, each a list of terms such as [P] or [P, Wstride]"


def read_problem(part: Field, notes: list[str]) -> Problem:
    """The problem. Raises TilewrightError with the place of what cannot be expressed."""
    members = part.members({"shape": "a shape", "instance": "sizes"}, ("version",))
    shape = members["shape"].members(
        {"dimensions": "a list of dimensions", "data_spaces": "a list of data spaces"},
        ("name", "coefficients", "flatten"),
    )
    if "flatten" in shape and shape["flatten"].value:
        raise shape["flatten"].error("flatten has no equal here: dimensions that are tiled as one", hint=_FLATTEN)
    dims = [field.text("a dimension such as P") for field in shape["dimensions"].elements("a list of dimensions")]
    coefficients = _coefficients(shape.get("coefficients"))
    sizes, given = _instance(members["instance"], dims, coefficients, notes)
    coefficients |= given
    spaces = shape["data_spaces"].elements("a list of data spaces")
    tensors = [_tensor(space, sizes, coefficients, notes) for space in spaces]
    name = shape["name"].text() if "name" in shape and shape["name"].value else "problem"
    return Problem(name, tuple((dim, sizes[dim]) for dim in dims), _in_order(_with_roles(tensors), part))


_FLATTEN = "list the flattened dimension alone, with the product of the sizes"


def _coefficients(field: Field | None) -> dict[str, int]:
    found: dict[str, int] = {}
    for element in field.value if field is not None and isinstance(field.value, tuple) else ():
        members = element.members({"name": "a name such as Wstride"}, ("default",))
        found[members["name"].text()] = members["default"].whole("a whole number") if "default" in members else 1
    return found


def _instance(
    field: Field, dims: list[str], coefficients: Mapping[str, int], notes: list[str]
) -> tuple[dict[str, int], dict[str, int]]:
    members = field.mapping("sizes by dimension")
    for dim in dims:
        if dim not in members:
            raise field.error("missing, expected the size of this dimension", key=dim)
    for key in ("densities", "commonDensity"):
        if key in members and members[key].value:
            value = members[key].value
            known = ", ".join(value) if isinstance(value, Mapping) else "all"
            notes.append(f"{key} ({known}) is left out: a row of network.yaml may say density: {{TENSOR: 0.5}}")
    rest = [key for key in members if key not in (*dims, *coefficients, "densities", "commonDensity", "name")]
    for key in rest:
        if near := get_close_matches(key, coefficients, 1, 0.9):
            raise members[key].error(f"unknown key {shown(key)}", hint=f"did you mean {near[0]!r}?")
    if rest:
        notes.append(f"{', '.join(rest)} of the instance is left out: no dimension or coefficient is called so")
    sizes = {dim: members[dim].whole("a whole number") for dim in dims}
    return sizes, {name: members[name].whole("a whole number") for name in coefficients if name in members}


def _tensor(space: Field, sizes: Mapping[str, int], coefficients: Mapping[str, int], notes: list[str]) -> Tensor:
    members = space.members({"name": "a name such as Weights", "projection": _PROJECTION}, ("read_write", "ranks"))
    writes = "read_write" in members and members["read_write"].text().lower() in ("true", "1")
    name = members["name"].text()
    if "ranks" in members and members["ranks"].value:
        notes.append(f"ranks of {name} is left out: it names axes for layouts")
    given = members["projection"].elements(_PROJECTION)
    return Tensor(name, tuple(_rank(rank, sizes, coefficients) for rank in given), "output" if writes else "input")


def _rank(rank: Field, sizes: Mapping[str, int], coefficients: Mapping[str, int]) -> Rank:
    terms = []
    plain = isinstance(rank.value, str)  # one dimension alone
    for term in (rank,) if plain else rank.elements("a list of terms such as [P, Wstride]"):
        parts = (term,) if isinstance(term.value, str) else term.elements("a dimension, and perhaps its coefficient")
        dim = parts[0].text("a dimension such as P")
        if dim not in sizes:
            raise parts[0].error(f"unknown dimension {dim!r}", hint=did_you_mean(dim, sizes))
        factor = 1
        for part in parts[1:]:
            factor *= _coefficient(part, coefficients)
        terms.append((dim, factor))
    return tuple(terms)


def _coefficient(part: Field, coefficients: Mapping[str, int]) -> int:
    name = part.text("a coefficient such as Wstride")
    if name.isdigit():
        return part.whole("a whole number")
    if name not in coefficients:
        raise part.error(f"unknown coefficient {name!r}", hint=did_you_mean(name, coefficients))
    return coefficients[name]


def _with_roles(tensors: list[Tensor]) -> list[Tensor]:
    """Timeloop's data spaces have no roles: an operand named after weights is the weight, or else the second one."""
    operands = [t.name for t in tensors if not t.is_output]
    named = [name for name in operands if "weight" in name.lower() or name.lower() in ("w", "filter")]
    weights = named or operands[1:2]

    def role(tensor: Tensor) -> Role:
        return "output" if tensor.is_output else "weight" if tensor.name in weights else "input"

    return [Tensor(t.name, t.ranks, role(t)) for t in tensors]


def _in_order(tensors: list[Tensor], part: Field) -> tuple[Tensor, ...]:
    """Operands first, the output last."""
    outputs = [t for t in tensors if t.is_output]
    if len(outputs) != 1:
        raise part.error(f"found {len(outputs)} data spaces with read_write, expected one")
    return (*(t for t in tensors if not t.is_output), *outputs)
