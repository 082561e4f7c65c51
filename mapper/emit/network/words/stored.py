"""How the words of a tensor are stored in a C program of a quantized network: in the narrowest type that holds them."""

from __future__ import annotations

from dataclasses import dataclass

from .known_words import KnownWords

_RANGES = {
    "int8_t": (-(2**7), 2**7 - 1),
    "uint8_t": (0, 2**8 - 1),
    "int16_t": (-(2**15), 2**15 - 1),
    "uint16_t": (0, 2**16 - 1),
    "int32_t": (-(2**31), 2**31 - 1),
}
_BYTES = {"int8_t": 1, "uint8_t": 1, "int16_t": 2, "uint16_t": 2, "int32_t": 4, "float": 4, "double": 8, "element": 8}
DTYPES = {
    **{"int8_t": "<i1", "uint8_t": "<u1", "int16_t": "<i2", "uint16_t": "<u2", "int32_t": "<i4"},
    **{"float": "<f4", "double": "<f8", "element": "<f8"},
}
"""Of each type in C what numpy calls it in a file."""

TYPES = tuple(_BYTES)[:-1]
"""All types in which words are stored, in the order in which programs number them."""

_OF_ONNX = {"INT8": "int8_t", "UINT8": "uint8_t", "INT16": "int16_t", "UINT16": "uint16_t", "INT32": "int32_t"}


@dataclass(frozen=True)
class WordType:
    """One word as it lies in memory.

    type  in C; "element": what programs compute in, and all their arrays have that are no quantized ones
    bias  what is added to a word when it is stored: distances of 8-bit words from a zero point need 9 bits otherwise
    """

    type: str
    bias: int = 0

    @property
    def bytes(self) -> int:
        return _BYTES[self.type]

    @property
    def is_whole(self) -> bool:
        """Whether it is a whole number of at most 32 bits."""
        return self.type in _RANGES

    @property
    def pointed(self) -> str:
        """The type that pointers into arenas and files have: wider words begin at any byte there."""
        return self.type if self.bytes == 1 or self.type == "element" else f"{self.type}_anywhere"

    @property
    def lowest(self) -> str:
        """What maxima begin with, as it is stored."""
        low = _RANGES[self.type][0] if self.is_whole else None
        return "LOWEST" if low is None else "INT32_MIN" if low == -(2**31) else str(low)

    def read(self, text: str) -> str:
        """A stored word as an element."""
        found = text if self.type in ("element", "double") else f"(element){text}"
        return f"({found} - {self.bias})" if self.bias else found

    def read_whole(self, text: str) -> str:
        """A stored word as a whole number of 32 bits, or as an element where it is none."""
        if not self.is_whole:
            return self.read(text)
        return f"({text} - {self.bias})" if self.bias else text

    def written(self, value: str) -> str:
        """What is stored of a word."""
        return f"{value} + {self.bias}" if self.bias else value


ELEMENT = WordType("element")
"""How all words are stored where a program has one kind of element."""


def stored_of(words: KnownWords) -> WordType:
    """The narrowest way to store words, and 0."""
    if words.is_whole and not words.may_be_none:
        low, high = min(words.low, 0), max(words.high, 0)
        for kind in ("int8_t", "uint8_t"):
            if _RANGES[kind][0] <= low and high <= _RANGES[kind][1]:
                return WordType(kind)
        if high - low <= 2**8 - 1:
            return WordType("uint8_t", -int(low))
        for kind in ("int16_t", "uint16_t", "int32_t"):
            if _RANGES[kind][0] <= low and high <= _RANGES[kind][1]:
                return WordType(kind)
    return WordType("float" if words.is_single else "double")


def stored_as(onnx_type: str, words: KnownWords) -> WordType:
    """How a tensor of the caller's is stored: in the type that the model states, if its words fit."""
    found, kind = stored_of(words), _OF_ONNX.get(onnx_type)
    if kind is None or not found.is_whole:
        return WordType("double") if kind is not None or onnx_type != "FLOAT" else WordType(found.type)
    low, high = _RANGES[kind]
    return WordType(kind) if low <= words.low and words.high <= high else WordType("double")
