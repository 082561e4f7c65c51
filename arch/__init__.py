"""The architecture specification, its reader, and the library of machines."""

from .loader import list_archs, load_arch, parse_arch
from .spec import Architecture, ArrayAxis, Fanout, Footprint, Halo, Keep, Keeps, Mac, Memory, Op, Overlap, Reuse

__all__ = [
    "Architecture",
    "ArrayAxis",
    "Fanout",
    "Footprint",
    "Halo",
    "Keep",
    "Keeps",
    "Mac",
    "Memory",
    "Op",
    "Overlap",
    "Reuse",
    "list_archs",
    "load_arch",
    "parse_arch",
]
