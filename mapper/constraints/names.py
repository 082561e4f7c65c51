"""What a constraints file may call memories, arrays, dimensions and tensors, and what it means on one machine.

    memories     GLB, innermost, outermost, all
                 innermost(weight)    the innermost memory that may keep the weights
                 outside(weight)      every memory outside that one
                 pe                   every memory inside the innermost array: those of a processing element
    fanouts      array, innermost, outermost, all
    dimensions   K, all
                 relevant(weight)     those that move the weights
                 irrelevant(weight)   those that do not
                 reduction            irrelevant(output)
                 others               those that nothing beside it names
                 not K                in a list: without these; also `not relevant(weight)`
    tensors      W, weight (all of that role), all, others

A name has to exist, unless the file lists it as optional. Words that choose (`pe`, `outside(weight)`, `innermost` of
fanouts) may choose nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ...arch import Architecture, Fanout, Memory
from ...arch.document import Field
from ...arch.units import shown
from ...ir import Problem, Role, did_you_mean
from ...ir.problem import ROLES

_CALL = re.compile(r"([a-z]+)\s*\(\s*([^()\s]+)\s*\)")
_DIM_WORDS = ("all", "reduction", "others", "relevant(weight)", "irrelevant(weight)")
_MEMORY_WORDS = ("innermost", "outermost", "all", "pe", "innermost(weight)", "outside(weight)")
_FANOUT_WORDS = ("innermost", "outermost", "all")


@dataclass(frozen=True)
class KnownNames:
    """The names of one problem and one architecture; `optional` ones may be missing.

    All methods raise the place's error, with the nearest known name, for a name that does not exist.
    """

    problem: Problem
    arch: Architecture
    optional: frozenset[str] = field(default_factory=frozenset)

    def memories(self, place: Field, text: str) -> tuple[Memory, ...]:
        """The memories that a text names, outermost first."""
        memories = self.arch.memories
        by_name = {memory.name: (memory,) for memory in memories}
        words = {"innermost": memories[-1:], "outermost": memories[:1], "all": memories, "pe": self._inside_arrays()}
        call = _CALL.fullmatch(text)
        if call and call[1] in ("innermost", "outside"):
            role = self._role(place, call[2])
            if role is None:
                return ()
            home = self._home(role)
            return (home,) if call[1] == "innermost" else memories[: memories.index(home)]
        known = words | by_name
        if text in known:
            return known[text]
        self._check_optional(place, text, "memory", (*by_name, *_MEMORY_WORDS))
        return ()

    def fanouts(self, place: Field, text: str) -> tuple[Fanout, ...]:
        """The fanouts that a text names, outermost first."""
        fanouts = self.arch.fanouts
        by_name = {fanout.name: (fanout,) for fanout in fanouts}
        known = {"innermost": fanouts[-1:], "outermost": fanouts[:1], "all": fanouts} | by_name
        if text in known:
            return known[text]
        self._check_optional(place, text, "fanout", (*by_name, *_FANOUT_WORDS))
        return ()

    def dims(self, place: Field, terms: Sequence[str], beside: Iterable[str] = ()) -> frozenset[str]:
        """The dimensions that a list of terms names; `beside` are those that `others` leaves out."""
        everything = frozenset(self.problem.dim_names)
        found: set[str] = set()
        for i, term in enumerate(terms):
            if term.startswith("not "):
                found = set(everything) if i == 0 else found
                found -= self._dims_of(place, term.removeprefix("not ").strip(), beside)
            else:
                found |= self._dims_of(place, term, beside)
        return frozenset(found)

    def tensors(self, place: Field, text: str, beside: Iterable[str] = ()) -> tuple[str, ...]:
        """The tensors that a text names, in the problem's order; `beside` are those that `others` leaves out."""
        names = tuple(tensor.name for tensor in self.problem.tensors)
        if text in names:
            return (text,)
        if text in ("all", "others"):
            return tuple(name for name in names if text == "all" or name not in beside)
        found = tuple(tensor.name for tensor in self.problem.tensors if tensor.role == text)
        if not found:
            self._check_optional(place, text, "tensor", (*names, *self._roles(), "all", "others"))
        return found

    def is_optional(self, name: str) -> bool:
        """Whether the file says that the name may be missing."""
        return name in self.optional

    def _dims_of(self, place: Field, term: str, beside: Iterable[str]) -> frozenset[str]:
        everything = frozenset(self.problem.dim_names)
        if term in everything:
            return frozenset([term])
        words = {
            "all": everything,
            "others": everything - frozenset(beside),
            "reduction": everything - self.problem.output.dims,
        }
        if term in words:
            return words[term]
        call = _CALL.fullmatch(term)
        if call and call[1] in ("relevant", "irrelevant"):
            tensors = self.tensors(place, call[2])
            moving = frozenset().union(*(self.problem.tensor(name).dims for name in tensors))
            return moving if call[1] == "relevant" else everything - moving
        self._check_optional(place, term, "dimension", (*self.problem.dim_names, *_DIM_WORDS))
        return frozenset()

    def _inside_arrays(self) -> tuple[Memory, ...]:
        if not self.arch.fanouts:
            return ()
        depth = self.arch.depth
        return tuple(m for m in self.arch.memories if depth[m.name] > depth[self.arch.fanouts[-1].name])

    def _home(self, role: Role) -> Memory:
        """The innermost memory that may keep a role; the outermost one may keep them all."""
        return next(memory for memory in reversed(self.arch.memories) if memory.keeps[role] != "never")

    def _role(self, place: Field, text: str) -> Role | None:
        """The role of that name, or of the tensor of that name; None for an optional tensor that is not there."""
        for role in ROLES:
            if text == role:
                return role
        for tensor in self.problem.tensors:
            if tensor.name == text:
                return tensor.role
        self._check_optional(place, text, "tensor", (*ROLES, *(tensor.name for tensor in self.problem.tensors)))
        return None

    def _roles(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(tensor.role for tensor in self.problem.tensors))

    def _check_optional(self, place: Field, text: str, what: str, known: Iterable[str]) -> None:
        if text not in self.optional:
            owner = self.arch.name if what in ("memory", "fanout") else self.problem.name
            raise place.error(f"{owner} has no {what} {shown(text)}", hint=did_you_mean(text, known))
