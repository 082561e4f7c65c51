"""The kinds of elements that emitted programs may have."""

from __future__ import annotations

from typing import Literal, get_args

from ....ir import MappingError, did_you_mean
from ....ir.errors import shown

Element = Literal["float", "double", "int32"]

BITS: dict[str, int] = {"float": 24, "double": 53, "int32": 31}
"""Of each kind of element, the bits of whole numbers that it holds exactly."""


def check_element(element: object) -> None:
    """MappingError, with the nearest known one, for another kind."""
    known = get_args(Element)
    if not isinstance(element, str) or element not in known:
        message = f"unknown kind of element {shown(element)}, expected {' or '.join(known)}"
        raise MappingError(message, hint=did_you_mean(str(element), known))
