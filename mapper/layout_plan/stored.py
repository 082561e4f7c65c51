"""Which tensors of a network are one in memory, and which layouts each may have.

What is done between layers (additions, pools, softmax, norms) takes its tensors in any layout, if it is the same for
all: these tensors are one, and so are those that several layers read or add to. An image (N, channels, H, W) may lie
channels first, channels last, or in blocks of channels that fill a line; a matrix by rows or by columns. A tensor that
layers see with different ranks, such as an image that is flattened or a matrix that is split into heads, lies as it is
written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from ...ir import Problem, Tensor, TilewrightError, did_you_mean
from ...workloads.graph import NetworkGraph, Occurrence, Source

AS_WRITTEN = "as written"
IMAGES = ("NCHW", "NHWC")
MATRICES = ("row-major", "column-major")


@dataclass(frozen=True)
class Use:
    """A layer reads or writes a stored tensor.

    order  letters of the layer's dimensions as they lie in the tensor; None: as the layer has them
    """

    occurrence: Occurrence
    tensor: Tensor
    order: tuple[str, ...] | None

    @property
    def problem(self) -> Problem:
        assert self.occurrence.problem is not None
        return self.occurrence.problem

    def text(self, layout: str) -> str:
        """The layout, as one of the layer's tensor."""
        names = [rank[0][0] for rank in self.tensor.ranks]
        if layout == AS_WRITTEN:
            letters = [name.upper() for name in self.order or ()]
            return ",".join(letters) if len(letters) > 1 and set(letters) == set(names) else "row-major"
        if layout in MATRICES:
            return layout
        batch, *channels, high, wide = names
        if layout == "NHWC":
            return ",".join((batch, high, wide, *channels))
        blocks = layout.removeprefix("NCHW").removesuffix("c")
        longest = max(channels, key=lambda name: self.problem.sizes[name])
        return ",".join((*names, *([f"{longest}{blocks}"] if blocks else [])))


@dataclass
class StoredTensor:
    """A tensor in the outermost memory.

    name     of the first that makes it
    writers, readers  the layers that do
    layouts  that it may have
    """

    name: str
    writers: list[Use] = field(default_factory=list)
    readers: list[Use] = field(default_factory=list)
    layouts: tuple[str, ...] = (AS_WRITTEN,)

    @property
    def uses(self) -> list[Use]:
        return [*self.writers, *self.readers]


def stored_tensors(graph: NetworkGraph, room: Callable[[Tensor], int], only: Sequence[str] = ()) -> list[StoredTensor]:
    """The tensors that layers of a network read and write.

    room  words of a tensor that a line has room for
    only  layouts that are allowed; none: all

    Raises TilewrightError for layouts that no tensor may have.
    """
    one = _Joined()
    for occurrence in graph:
        one.join(*([] if occurrence.multiplies else [s.name for s in occurrence.sources]), occurrence.name)
    found: dict[str, StoredTensor] = {}
    for occurrence in graph:
        if occurrence.problem is None or not occurrence.multiplies:
            continue
        for operand, source in zip(occurrence.problem.operands, occurrence.sources, strict=False):
            stored = found.setdefault(one.first(source.name), StoredTensor(one.first(source.name)))
            stored.readers.append(Use(occurrence, operand, _letters(source)))
        stored = found.setdefault(one.first(occurrence.name), StoredTensor(one.first(occurrence.name)))
        stored.writers.append(Use(occurrence, occurrence.problem.output, occurrence.writes))
    known = {name: tuple(_layouts(stored, room)) for name, stored in found.items()}
    _check_known(only, {text for texts in known.values() for text in texts} - {AS_WRITTEN}, graph.network)
    for name, stored in found.items():
        allowed = tuple(text for text in known[name] if not only or text in only or text == AS_WRITTEN)
        stored.layouts = allowed or (AS_WRITTEN,)
    return list(found.values())


def _check_known(only: Sequence[str], known: set[str], network: str) -> None:
    """TilewrightError for layouts that no tensor of a network may have."""
    for text in only:
        if text not in known:
            expected = ", ".join(sorted(known)) or "none: all tensors lie as they are written"
            raise TilewrightError(
                f"no tensor can lie as {text!r}, expected {expected}",
                where=f"layouts of {network}",
                hint=did_you_mean(text, known),
            )


def _letters(source: Source) -> tuple[str, ...] | None:
    if source.order is None:
        return None
    return tuple(part if isinstance(part, str) else part[0] for part in source.order)


def _layouts(stored: StoredTensor, room: Callable[[Tensor], int]) -> Iterator[str]:
    plain = stored.writers and all(use.order is None for use in stored.uses)
    if plain and all(map(_is_image, stored.uses)):
        yield from IMAGES
        channels = {max(use.problem.sizes[rank[0][0]] for rank in use.tensor.ranks[1:-2]) for use in stored.uses}
        words = room(stored.writers[0].tensor)
        if 1 < words < min(channels):
            yield f"NCHW{words}c"
    elif plain and len({len(use.tensor.ranks) for use in stored.uses}) == 1 and not any(map(_is_image, stored.uses)):
        yield from MATRICES
    else:
        yield AS_WRITTEN


def _is_image(use: Use) -> bool:
    """Whether a tensor has the ranks of an image, of which one is of channels."""
    ranks = use.tensor.ranks
    if len(ranks) < 4 or ranks[-2][0][0] != "P" or ranks[-1][0][0] != "Q":
        return False
    return sum(use.problem.sizes[rank[0][0]] > 1 for rank in ranks[1:-2]) <= 1


class _Joined:
    """Names, some of which are one."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def first(self, name: str) -> str:
        """The name that stands for all that are one with it."""
        while (parent := self._parent.setdefault(name, name)) != name:
            name = parent
        return name

    def join(self, *names: str) -> None:
        """These are one; the name that was known first stands for them."""
        roots = {self.first(name) for name in names}
        earliest = next(name for name in self._parent if name in roots)
        for root in roots - {earliest}:
            self._parent[root] = earliest
