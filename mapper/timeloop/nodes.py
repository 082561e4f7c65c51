"""`nodes:` of Timeloop v0.4: memories, arrays and the compute unit from the outside in, with their attributes.

A container's attributes hold for all that follows; numbers may be calculated from attributes and from `variables`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ...arch.document import Field
from ...arch.expression import Number, Quantity, evaluate
from ...arch.units import shown
from ...ir import ArchitectureError

Kind = Literal["container", "storage", "compute", "nothing"]
Branch = tuple[str, int]
"""A branch of a `!Parallel`: where that is in the file, and which of its branches."""

# A class is of the first kind of which it holds a word.
_CLASSES: tuple[tuple[Kind | Literal["network"], tuple[str, ...]], ...] = (
    ("storage", ("DRAM", "SRAM", "regfile", "smartbuffer", "storage")),
    ("compute", ("mac", "compute")),
    ("network", ("XY_NoC", "Legacy", "ReductionTree", "SimpleMulticast")),
    ("nothing", ("nothing",)),
)
_KNOWN_CLASSES = "expected storage (DRAM, SRAM, regfile, smartbuffer, storage) or compute (intmac, fpmac, mac, compute)"
_LEAF = ("attributes", "spatial", "constraints", "sparse_optimizations", "enabled")
_COMPONENT = (*_LEAF, "subclass", "required_actions", "area_scale", "energy_scale")


@dataclass(frozen=True)
class Attributes:
    """The attributes of a node.

    own        what the node states
    inherited  what containers around it state
    variables  of all files
    """

    own: Mapping[str, Field]
    inherited: Mapping[str, Field] = field(default_factory=dict)
    variables: Mapping[str, Field] = field(default_factory=dict)

    def get(self, *names: str) -> Field | None:
        """The attribute that has one of these names; what the node states wins."""
        for given in (self.own, self.inherited):
            if found := {name: given[name] for name in names if name in given}:
                first, *others = found.items()
                for name, other in others:
                    if other.value != first[1].value:
                        raise other.error(f"{name} and {first[0]} are one thing, expected one of them")
                return first[1]
        return None

    def number(self, given: Field) -> float:
        """A number of 0 or more."""
        value = self._value(given, frozenset())
        if value < 0:
            raise given.error(f"found {shown(given.text())}, expected a number of 0 or more")
        return float(value)

    def whole(self, given: Field, expected: str) -> int:
        """A whole number of 1 or more."""
        value = self._value(given, frozenset())
        if value != int(value) or not 1 <= value <= 999_999_999:
            raise given.error(f"found {shown(given.text(expected))}, expected {expected}")
        return int(value)

    def _value(self, given: Field, inside: frozenset[str]) -> Number:
        text = given.text("a number")
        known = {**self.variables, **self.inherited, **self.own}

        def lookup(name: str) -> Quantity | None:
            if name not in known or name in inside:
                return None
            return Quantity(self._value(known[name], inside | {name}))

        try:
            value = evaluate(text, lookup)
        except ArchitectureError as error:
            raise given.error(f"found {shown(text)}, expected a number", hint=error.message) from None
        if any(value.powers):
            raise given.error(f"found {shown(text)}, expected a number without a unit")
        return value.number


@dataclass(frozen=True)
class TimeloopNode:
    """A container, a memory, the compute unit, or a branch for what passes by.

    members   what the node states
    branches  of `!Parallel` that it stands in, the outermost first
    """

    field: Field
    name: str
    kind: Kind
    members: Mapping[str, Field]
    attributes: Attributes
    branches: tuple[Branch, ...] = ()

    @property
    def mesh(self) -> tuple[int, int]:
        """Instances along X and Y."""
        if "spatial" not in self.members:
            return 1, 1
        given = self.members["spatial"].members({}, ("meshX", "meshY"))
        expected = "a number of instances"
        x, y = (self.attributes.whole(given[key], expected) if key in given else 1 for key in ("meshX", "meshY"))
        return x, y


def read_leaves(nodes: Field, variables: Mapping[str, Field], notes: list[str]) -> tuple[TimeloopNode, ...]:
    """The nodes from the outside in, those of branches after each other; disabled ones are left out.

    Raises ArchitectureError with the place of what has no equal.
    """
    return tuple(_leaves(nodes, (), {}, variables, notes))


def _leaves(
    nodes: Field,
    branches: tuple[Branch, ...],
    inherited: dict[str, Field],
    variables: Mapping[str, Field],
    notes: list[str],
) -> Iterator[TimeloopNode]:
    """`inherited` is added to, as what a container states holds for all that follows."""
    for number, node in enumerate(nodes.elements("a list of !Container and !Component")):
        if node.tag == "!Parallel":
            inner = node.members({"nodes": "a list of nodes"})["nodes"]
            for branch, each in enumerate(inner.elements("a list of branches")):
                one = Field((each,), each.file, each.line, each.path)
                yield from _leaves(one, (*branches, (node.where, branch)), inherited, variables, notes)
        elif node.tag == "!Hierarchical":
            yield from _leaves(
                node.members({"nodes": "a list of nodes"})["nodes"], branches, inherited, variables, notes
            )
        elif node.tag in ("!Container", "!Component", "!Nothing"):
            leaf = _leaf(node, branches, inherited, variables)
            if "enabled" in leaf.members and leaf.members["enabled"].text().lower() == "false":
                notes.append(f"{leaf.name} is left out: enabled is false")
                continue
            if branches and leaf.mesh != (1, 1):
                raise leaf.members["spatial"].error("an array inside a !Parallel has no equal, there or here")
            if leaf.kind == "container":
                inherited |= leaf.attributes.own
            yield leaf
        else:
            tag = node.tag or f"node {number + 1} without a tag"
            raise node.error(f"{tag} has no equal here, expected !Container, !Component, !Parallel or !Hierarchical")


def _leaf(
    node: Field, branches: tuple[Branch, ...], inherited: Mapping[str, Field], variables: Mapping[str, Field]
) -> TimeloopNode:
    named = {"name": "a name such as PE"}
    if node.tag == "!Nothing":
        members = node.members({}, ("name", "class", *_COMPONENT)) if node.value else {}
        return TimeloopNode(node, "nothing", "nothing", members, Attributes({}), branches)
    if node.tag == "!Container":
        members = node.members(named, (*_LEAF, "networks"))
        kind: Kind = "container"
    else:
        members = node.members({**named, "class": "a class such as SRAM or intmac"}, _COMPONENT)
        kind = _kind(members["class"])
    if "networks" in members and members["networks"].value:
        raise members["networks"].error("networks of a container have no equal here")
    if "sparse_optimizations" in members and members["sparse_optimizations"].value:
        raise members["sparse_optimizations"].error(NO_SPARSE)
    own = members["attributes"].mapping("attributes by name") if members.get("attributes", _NOTHING).value else {}
    attributes = Attributes({key.replace("-", "_"): each for key, each in own.items()}, dict(inherited), variables)
    return TimeloopNode(node, members["name"].text(), kind, members, attributes, branches)


NO_SPARSE = "sparse_optimizations have no equal here: formats, gating and skipping are fields of an architecture file"
_NOTHING = Field("", "", 0, "")


def _kind(given: Field) -> Kind:
    name = given.text("a class such as SRAM or intmac")
    found = next((kind for kind, words in _CLASSES if any(word in name for word in words)), None)
    if found == "network":
        raise given.error(f"a network, of class {name}, has no equal here")
    if found is None:
        raise given.error(f"found the class {shown(name)}, {_KNOWN_CLASSES}")
    return found
