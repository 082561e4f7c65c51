"""In which forms the words of each occurrence are read: as they are made, or after functions of them."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field

from ...ir import Operand
from ..graph.meaning import WORD, WordFinish
from .views import TensorView

_PLAIN = WordFinish(Operand(WORD))


@dataclass
class WordForms:
    """Gathers, while nodes are read, which views have readers; `settle` then gives every form its name.

    Where all readers of an occurrence read the same, its words are written so; else each form is a tensor of its own.
    """

    _uses: list[tuple[str, TensorView]] = field(default_factory=list)
    _finished: dict[str, dict[WordFinish, str]] = field(default_factory=dict)
    _names: dict[tuple[str, WordFinish], str] = field(default_factory=dict)

    def note(self, view: TensorView, reader: str) -> None:
        """A reader of an occurrence's words, and what has been done with them by then; empty: outputs of the file."""
        if view.finish is not None:
            self._uses.append((reader, view))
            self._finished.setdefault(view.source, {}).setdefault(view.finish, view.changed)

    def settle(self, outside: Set[str]) -> dict[str, WordFinish]:
        """What is done with words, by the names of tensors: occurrences and, where there are several, forms.

        outside  what the file is given: nothing is done as that is written, so that each form is a tensor
        """
        finishes: dict[str, WordFinish] = {}
        for source, found in self._finished.items():
            several = len(found) > 1 or source in outside
            for finish, changed in found.items():
                if finish.expression != _PLAIN.expression:
                    key = f"{source}:{changed}" if several else source
                    finishes[key] = finish
                    if several:
                        self._names[source, finish] = key
        return finishes

    def name_of(self, view: TensorView) -> str:
        """The tensor that has the words of a view."""
        return self._names.get((view.source, view.finish or _PLAIN), view.source)

    @property
    def apart(self) -> Iterator[tuple[str, str]]:
        """Forms that are tensors of their own, each with its occurrence."""
        return ((source, key) for (source, _), key in self._names.items())

    @property
    def by_source(self) -> dict[str, tuple[str, ...]]:
        """The names of an occurrence's forms, where these are tensors of their own."""
        every = list(self.apart)
        return {source: tuple(key for of, key in every if of == source) for source, _ in every}

    def read(self) -> Iterator[tuple[str, str, str]]:
        """Reader, occurrence, and the tensor that is read of it, for each use."""
        return ((reader, view.source, self.name_of(view)) for reader, view in self._uses)
