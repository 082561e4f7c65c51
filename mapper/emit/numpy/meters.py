"""Source text of the meters: one per transfer, with the instances that take part in it."""

from __future__ import annotations

from collections.abc import Iterator

from ....cost_models.boundaries import Boundary
from ....ir import Tensor
from ..parts.names import printable, quoted
from ..parts.steps import Step
from .schedule import ProgramText, place_of


def meter_lines(schedule: ProgramText, name: str = "meters") -> Iterator[str]:
    """A function that makes `Fills` or `PartialSums` for each buffer, and `macs` for what happens at the bottom."""
    names = [*schedule.meter.values(), schedule.macs]
    yield f"def {name}() -> tuple[Any, ...]:"
    yield '    """Fresh meters: they compare what every instance holds with what it wants, and count the difference."""'
    for line in _statements(schedule):
        yield f"    {line}"
    yield f"    return {', '.join(names)}{',' * (len(names) == 1)}"


def _statements(schedule: ProgramText) -> Iterator[str]:
    arch = schedule.arch
    for position, name in schedule.meter.items():
        buffer = schedule.plan.buffers[position]
        boundary = buffer.boundary
        assert boundary is not None
        assert boundary.inner is not None
        outer, inner = _account(boundary.outer.name, buffer.tensor), _account(boundary.inner.name, buffer.tensor)
        if buffer.tensor.is_output:
            switches = f"{arch.inner_drain_read}, {not arch.first_read_elision}"
            yield f"{name} = PartialSums({outer}, {inner}, {switches}, TensorPlace("
        else:
            yield f"{name} = Fills({outer}, {inner}, {quoted(boundary.inner.halo)}, TensorPlace("
        yield from _tensor_lines(schedule, boundary, buffer.below)
        yield "))"
    yield f"{schedule.macs} = Macs(["
    for tensor in schedule.problem.tensors:
        yield from _mac_lines(schedule, tensor)
    yield f"], {not schedule.arch.first_read_elision})"


def _account(memory: str, tensor: Tensor) -> str:
    return f"({quoted(memory)}, {quoted(tensor.name)})"


def _mac_lines(schedule: ProgramText, tensor: Tensor) -> Iterator[str]:
    boundary = next(b for b in schedule.plan.boundaries if b.inner is None and b.tensor is tensor)
    dims = (*place_of(tensor), *_mac_others(schedule, tensor))
    edges = [schedule.edges.index(dim) if dim in schedule.edges else None for dim in dims]
    yield f"    ({_account(boundary.outer.name, tensor)}, TensorPlace("
    yield from ("    " + line for line in _tensor_lines(schedule, boundary, None))
    yield f"    ), {edges}),"


def _mac_others(schedule: ProgramText, tensor: Tensor) -> tuple[str, ...]:
    """Dimensions that do not move the tensor, with loops at the bottom or over instances."""
    inner = {s.dim for s in (*schedule.plan.spatial, *schedule.plan.inner_time)}
    return tuple(dim for dim in schedule.problem.dim_names if dim in inner and dim not in tensor.dims)


def _tensor_lines(schedule: ProgramText, boundary: Boundary, tile: dict[str, int] | None) -> Iterator[str]:
    """Arguments of `TensorPlace`. At the MAC (tile None) the loops of the innermost tile deal out single elements."""
    tensor = boundary.tensor
    place = place_of(tensor)
    remember = tile is not None and not tensor.is_output
    others = schedule.others(tensor, boundary.inner_position) if tile else _mac_others(schedule, tensor)
    yield from _list_lines([(dim, _along(schedule, boundary, dim, tile, remember)) for dim in place])
    yield from _list_lines([(dim, _along(schedule, boundary, dim, None, False)) for dim in others])
    indexes = {dim: i for i, dim in enumerate(place)}
    ranks = [[(indexes[dim], c) for dim, c in rank] for rank in tensor.ranks]
    yield f"    {ranks},"
    if schedule.arch.footprint == "box":
        yield "    box=True,"


def _list_lines(items: list[tuple[str, str]]) -> Iterator[str]:
    """A list argument, one dimension a line."""
    if not items:
        yield "    [],"
        return
    yield "    ["
    for dim, text in items:
        yield f"        {text},  # {printable(dim)}"
    yield "    ],"


def _along(schedule: ProgramText, boundary: Boundary, dim: str, tile: dict[str, int] | None, remember: bool) -> str:
    plan = schedule.plan
    steps = [s for s in plan.spatial if s.position < boundary.inner_position]
    if boundary.inner is None:
        steps = sorted((*steps, *plan.inner_time), key=lambda s: s.position)
    loops = [f"({s.trips}, {s.tile}, {quoted(_kind(boundary, s))})" for s in steps if s.dim == dim]
    arguments = [str(schedule.problem.sizes[dim]), str(tile[dim] if tile else 1)]
    if loops or remember:
        arguments.append(f"({', '.join(loops)}{',' if len(loops) == 1 else ''})")
    if remember:
        arguments.append("remember=True")
    return f"Along({', '.join(arguments)})"


def _kind(boundary: Boundary, step: Step) -> str:
    """How the instances along a loop reach the outer buffer."""
    if not step.spatial:
        return "apart"
    if step.position < boundary.outer_position:
        return "outer"
    joined = boundary.reduced if boundary.tensor.is_output else boundary.multicast
    return "joined" if step.position in joined else "apart"
