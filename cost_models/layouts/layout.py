"""The order in which a memory holds the words of a tensor.

A layout lists ranks, the outermost first: of `NHWC` the channels of one pixel are neighbours. Inner blocks follow them:
in `NCHW16c`, sixteen channels of one pixel are neighbours, and the other channels come as C. The batch N may be left
out, and stands outside the others. Ranks are sums of dimensions; every dimension of a rank names it, and those of a
convolution have the names that frameworks give them: the rank of P is H, that of Q is W, the channels of an output C.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ...arch import Memory
from ...ir import Tensor, TilewrightError

_TOKEN = re.compile(r"([A-Za-z]+?)(\d*)$")
_DIGITS = re.compile(r"\d*$")
# A number belongs to the small letter behind it, else to the letter before it.
_COMPACT = re.compile(r"(\d+)([a-z])|([A-Za-z])(\d+)(?![\da-z])|([A-Za-z])")
_USUAL_NAMES = {"P": "H", "Q": "W"}


@dataclass(frozen=True)
class Layout:
    """The order of a tensor's words.

    order   its ranks, as numbers, outermost first; None: as the tensor has them
    blocks  (rank, words) of inner blocks, outermost first; where one does not divide its rank, the last is padded
    """

    order: tuple[int, ...] | None = None
    blocks: tuple[tuple[int, int], ...] = ()

    def digits(self, tensor: Tensor) -> list[tuple[int, int | None]]:
        """(rank, words) of what neighbours, outermost first; None: as many as the rank has."""
        order = range(len(tensor.ranks)) if self.order is None else self.order
        return [*((rank, None) for rank in order), *self.blocks]

    def address(self, tensor: Tensor, extents: tuple[int, ...], place: tuple[int, ...]) -> int:
        """Words before the one at a place, indices along the ranks, in a tensor of such extents."""
        found = 0
        for rank, words, inside in self._spans(tensor):
            count = -(-extents[rank] // inside) if words is None else words
            found = found * count + place[rank] // inside % count
        return found

    def _spans(self, tensor: Tensor) -> list[tuple[int, int | None, int]]:
        """Digits, and how many indices of their rank one step of each makes."""
        inside, found = dict.fromkeys(range(len(tensor.ranks)), 1), []
        for rank, words in reversed(self.digits(tensor)):
            found.append((rank, words, inside[rank]))
            inside[rank] *= words or 1
        return found[::-1]

    def text(self, tensor: Tensor) -> str:
        """As `parse_layout` reads it."""
        names = [next((name for name in rank if name in ("H", "W")), min(rank, key=len)) for rank in rank_names(tensor)]
        order = range(len(tensor.ranks)) if self.order is None else self.order
        if all(len(name) == 1 for name in names):
            return "".join([*(names[r] for r in order), *(f"{words}{names[r].lower()}" for r, words in self.blocks)])
        return ",".join([*(names[r] for r in order), *(f"{names[r]}{words}" for r, words in self.blocks)])


ANY = "any"
"""Instead of a layout: whichever is best."""

BATCH = "N"
"""The rank that an order of images may leave out: it stands outside the others."""

ROW_MAJOR = Layout()
"""As the tensor has its ranks, the last one innermost."""


def rank_names(tensor: Tensor) -> list[tuple[str, ...]]:
    """What each rank of a tensor may be called."""
    found = []
    taken = {dim for rank in tensor.ranks for dim, _ in rank}
    for rank in tensor.ranks:
        names = [dim for dim, _ in rank]
        names += [usual for dim, usual in _USUAL_NAMES.items() if dim in names and usual not in taken]
        if tensor.is_output and "K" in names and "C" not in taken:
            names.append("C")
        found.append(tuple(names))
    return found


def layout_in(memory: Memory, tensor: Tensor) -> Layout:
    """The layout of a tensor in a memory: the one that the memory states for it, or for its role; or row-major.

    Raises TilewrightError, with the place in the architecture, for one that is not of this tensor.
    """
    key = tensor.name if tensor.name in memory.layouts else tensor.role
    if key not in memory.layouts:
        return ROW_MAJOR
    if memory.layouts[key] == ANY:
        raise TilewrightError(
            f"the layout of {tensor.name} is open",
            where=f"{memory.name}.layout.{key}",
            hint="the exact search finds the best one; others need a layout, such as row-major",
        )
    try:
        return parse_layout(tensor, memory.layouts[key])
    except TilewrightError as error:
        raise error.located(f"{memory.name}.layout.{key}") from None


@lru_cache(maxsize=4096)
def parse_layout(tensor: Tensor, text: str) -> Layout:
    """A layout from text: `row-major`, `column-major`, `NHWC`, `NCHW16c`, `HWC_C4W8`, `K32`, or with commas, where
    ranks have longer names: `row,column,column8`.

    Raises TilewrightError for a rank that the tensor does not have, or has twice, and for an empty block.
    """
    if text == "row-major":
        return ROW_MAJOR
    if text == "column-major":
        return Layout(tuple(reversed(range(len(tensor.ranks)))))
    order: list[int] = []
    blocks: list[tuple[int, int]] = []
    for name, count in _tokens(tensor, text):
        rank = _rank(tensor, name, text)
        if count is None:
            if rank in order:
                raise _refused(tensor, text, f"{name} stands there twice")
            order.append(rank)
        elif count < 1:
            raise _refused(tensor, text, f"a block of {count} words along {name}")
        else:
            blocks.append((rank, count))
    left_out = [rank for rank in range(len(tensor.ranks)) if rank not in order]
    blocked = [rank for rank, _ in blocks]
    for rank in left_out if order else ():
        if rank not in blocked and BATCH not in rank_names(tensor)[rank]:
            raise _refused(tensor, text, f"{' or '.join(rank_names(tensor)[rank])} is left out")
    return Layout((*left_out, *order) if order else None, tuple(blocks))


def _tokens(tensor: Tensor, text: str) -> list[tuple[str, int | None]]:
    if "," in text:
        return [_part(tensor, text, part.strip()) for part in text.split(",")]
    if text and any(text in names for names in rank_names(tensor)):
        return [(text, None)]
    compact = text.replace("_", "")
    if not compact or _COMPACT.sub("", compact):
        raise _refused(tensor, text, f"found {text!r}")
    found: list[tuple[str, int | None]] = []
    for before, name, block, after, single in _COMPACT.findall(compact):
        found.append((name, int(before)) if name else (block, int(after)) if block else (single, None))
    return found


def _part(tensor: Tensor, text: str, part: str) -> tuple[str, int | None]:
    """A rank, whose name may end in digits, or a block of one: the longest name that the part begins with."""
    names = [name for each in rank_names(tensor) for name in each]
    known = max((n for n in names if part.startswith(n) and _DIGITS.match(part[len(n) :])), key=len, default=None)
    if known is not None:
        return known, int(part[len(known) :]) if part != known else None
    match = _TOKEN.match(part)
    if match is None:
        raise _refused(tensor, text, f"found {part!r}")
    return match[1], int(match[2]) if match[2] else None


def _rank(tensor: Tensor, name: str, text: str) -> int:
    """The rank of a name; lower and upper case are told apart only where both are names."""
    names = rank_names(tensor)
    for same in (str, str.upper, str.lower):
        for rank, known in enumerate(names):
            if name in known if same is str else any(same(name) == same(each) for each in known):
                return rank
    raise _refused(tensor, text, f"{tensor.name} has no rank {name}")


def _refused(tensor: Tensor, text: str, found: str) -> TilewrightError:
    ranks = "; ".join(" or ".join(names) for names in rank_names(tensor))
    return TilewrightError(
        f"{found}, expected an order of the ranks of {tensor.name} ({ranks}), with inner blocks such as 16c",
        where=f"layout of {tensor.name}: {text}",
    )
