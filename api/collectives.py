"""Collectives for callers: an operation, a size with its unit, a system."""

from __future__ import annotations

from collections.abc import Sequence

from .arch.system import System, SystemLike, axes_named, load_system
from .arch.units import LARGEST_BITS, size_bits
from .cost_models.collectives import OPERATIONS, Collective, Operation, collective_of
from .inputs import checks
from .ir import TilewrightError
from .ir.errors import entry

_BYTE = 8


def as_system(system: SystemLike) -> System:
    """The system itself, or the one of that name or file."""
    return system if isinstance(system, System) else load_system(system)


def bytes_of_tensor(size: int | str) -> int:
    """A number of bytes, or that of a size such as "1 GB"."""
    if not isinstance(size, str):
        number = checks.whole(size, "the size", 1)
        if number > LARGEST_BITS // _BYTE:
            raise TilewrightError("the size is above 128 PiB, expected less")
        return number
    bits = size_bits(size)
    if bits % _BYTE:
        raise TilewrightError(f"{size} is {bits} bit, expected whole bytes", where="size")
    return bits // _BYTE


def collective(
    operation: str,
    size: int | str,
    system: SystemLike,
    *,
    axes: Sequence[str] | None = None,
    together: bool = False,
) -> Collective:
    """What a collective costs on a system: bytes on every link, hops, time, energy, and the bounds that it meets.

    operation  all_gather, reduce_scatter, all_reduce or all_to_all
    size       of the whole tensor, never of a shard: bytes, or a text such as "1 GB"
    system     a system, its name in the library, or the path of its file
    axes       names of the axes that it takes place over, None: all; devices of the others do the same side by side
    together   cut the tensor into as many parts as axes, each of which takes them in another order; else one axis after
               the other, scattered from the innermost one outwards and gathered on the way back

    Raises ArchitectureError for a system or an axis that there is not, or along which nothing moves; TilewrightError
    for an operation or a size that cannot be understood.
    """
    names: dict[str, Operation] = {name: name for name in OPERATIONS}
    asked = checks.text(operation, "the operation", "a collective such as all_reduce").replace("_", "-")
    found = entry(names, asked, "collective operation")
    chosen = None if axes is None else checks.items(axes, "axes", "a list of names such as ['node']")
    for name in chosen or ():
        checks.text(name, "a name in axes", "a text such as node")
    is_together = checks.flag(together, "together")
    mesh = as_system(system)
    return collective_of(mesh, found, bytes_of_tensor(size), axes_named(mesh, chosen), is_together)
