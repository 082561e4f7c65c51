"""The architecture specification, its reader, and the library of machines."""

from .spec import Architecture, ArrayAxis, Fanout, Halo, Keep, Keeps, Mac, Memory

__all__ = ["Architecture", "ArrayAxis", "Fanout", "Halo", "Keep", "Keeps", "Mac", "Memory"]
