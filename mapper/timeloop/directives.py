"""What Timeloop's files ask for, target by target: the constraints of nodes, of lists of constraints, of a mapping.

    temporal, spatial   factors: [N=1, C<=4, K>=2, M=0]    0 is all of the dimension
                        permutation: [R, S]                innermost first; what it leaves out lies outside
                        permutation: [R, _, C]             or between what stands before and after the _
                        factors_only, no_iteration_over_dataspaces, must_iterate_over_dataspaces, maximize_dims
    dataspace           keep, bypass, keep_only, bypass_only; what neither names is open, except in a `!Parallel`
    utilization         min

A key that Timeloop knows and nothing here equals is an error that names it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...arch.document import Field
from ...arch.units import shown
from ...ir import Problem, did_you_mean
from ..constraints.constraints import ANY
from .nodes import Attributes, TimeloopNode

Span = tuple[int, int | None]
"""The least and the most trips; None is no limit."""

OTHERS = "others"
"""All dimensions that nothing else names."""

_LOOPS = ("factors", "permutation", "factors_only", "no_iteration_over_dataspaces", "must_iterate_over_dataspaces",
          "maximize_dims", "maximize_dims_capacity", "default_max_factor", "default_min_factor",
          "no_reuse")  # fmt: skip
_KEYS = {
    "temporal": (*_LOOPS, "no_temporal_reuse", "rmw_first_update", "remainders"),
    "spatial": (*_LOOPS, "split", "no_multicast_no_reduction", "no_link_transfer", "remainders"),
    "dataspace": ("keep", "bypass", "keep_only", "bypass_only", "no_coalesce"),
    "utilization": ("min",),
    "max_overbooked_proportion": ("proportion",),
}
_OTHER_NAMES = {"datatype": "dataspace", "bypass": "dataspace", "bypassing": "dataspace", "parallelism": "utilization"}
KINDS = (*_KEYS, *_OTHER_NAMES)
# A list that is not empty is refused.
_WITHOUT_EQUAL = {
    "rmw_first_update": "a first update of a partial sum that reads",
    "no_coalesce": "accesses of the same words that stay apart",
    "remainders": "a limit on remainders of factors",
}
_ALL_ALONG_X = "len(spec.problem.instance)"  # more than there are dimensions
EVERY = sys.maxsize
"""A split that puts all dimensions along X."""
_FACTOR = re.compile(r"([A-Za-z_]\w*?)\s*(<=|>=|==|=)?\s*([0-9]{1,15})(?=[\s,]|$)")


@dataclass
class Loops:
    """What is asked of the temporal loops at a memory, or of those spread over an array.

    trips      by dimension; OTHERS, and words such as `relevant(Weights)`, where the problem is not known
    inner      dimensions that are innermost, innermost first; `outer` those that are outermost, innermost first
    split      how many of them run along X
    maximize   groups of dimensions that are made as large as the capacity allows
    apart      data spaces that instances do not share
    """

    place: Field
    trips: dict[str, Span] = field(default_factory=dict)
    inner: list[str] = field(default_factory=list)
    outer: list[str] = field(default_factory=list)
    split: int | None = None
    maximize: list[list[str]] = field(default_factory=list)
    capacity: int | None = None
    apart: list[str] = field(default_factory=list)

    @property
    def order(self) -> tuple[list[str], list[str]]:
        """The permutation: what is innermost, and what is outermost."""
        return self.inner, self.outer

    def exactly(self, dim: str) -> int | None:
        """The trips of a dimension, if they are fixed."""
        least, most = self.trips.get(dim, self.trips.get(OTHERS, ANY))
        return least if least == most else None


@dataclass
class TargetAsks:
    """What is asked of one target."""

    temporal: Loops | None = None
    spatial: Loops | None = None
    keeps: dict[str, bool] = field(default_factory=dict)


@dataclass
class Directives:
    """All that files ask for.

    targets      by the name of a node
    utilization  the least share of the compute units at work
    """

    targets: dict[str, TargetAsks] = field(default_factory=dict)
    utilization: float = 0.0

    def of(self, name: str) -> TargetAsks:
        """What is asked of a target, to be read or added to."""
        return self.targets.setdefault(name, TargetAsks())


@dataclass(frozen=True)
class Names:
    """The names that directives may use: those of the problem, or any, where no file has one."""

    problem: Problem | None
    notes: list[str]

    def dim(self, place: Field, name: str) -> str:
        if self.problem is not None and name not in self.problem.sizes:
            raise place.error(
                f"the problem has no dimension {shown(name)}", hint=did_you_mean(name, self.problem.sizes)
            )
        return name

    def spaces(self, place: Field) -> list[str]:
        """A list of data spaces; * is all of them, and of no problem OTHERS."""
        every = [tensor.name for tensor in self.problem.tensors] if self.problem is not None else None
        found: list[str] = []
        for name in texts_of(place, split_letters=False):
            if name != "*" and every is not None and name not in every:
                raise place.error(f"the problem has no data space {shown(name)}", hint=did_you_mean(name, every))
            found += ([OTHERS] if every is None else every) if name == "*" else [name]
        return list(dict.fromkeys(found))


GIVE_PROBLEM = "give the file with the problem as well"


def texts_of(given: Field, *, split_letters: bool = True) -> list[str]:
    """A list of texts; or a text of them, apart by commas or spaces, or of letters that follow each other."""
    if isinstance(given.value, tuple):
        return [element.text("a name").strip() for element in given.value]
    if given.value == "" or given.value in ("null", "~"):
        return []
    text = given.text("names")
    if re.search(r"[,\s]", text) or not split_letters:
        return [part for part in re.split(r"[,\s]+", text) if part]
    return list(text)


def factors_of(given: Field) -> Iterator[tuple[str, str, int]]:
    """(dimension, comparison, number) of factors: `[K=4, C<=2]`, `K=4 C<=2`, `K4 C2`."""
    elements = given.value if isinstance(given.value, tuple) else ()
    whole = [element.text("a factor such as K=4") for element in elements]
    if not elements and given.value not in ("", (), "null", "~"):
        whole = [given.text("factors such as K=4 C=2")]
    for text in whole:
        at = 0
        while match := _FACTOR.match(text, at):
            yield match[1], (match[2] or "=").replace("==", "="), int(match[3])
            at = match.end()
            at += len(text[at:]) - len(text[at:].lstrip(" ,\t"))
        if text[at:].strip():
            message = (
                f"found {shown(text[at:].strip())}, expected a dimension and its factor, such as K=4, K<=4 or K>=4"
            )
            raise given.error(message)


# ---- reading -----------------------------------------------------------------------------------------------------


def read_directives(
    leaves: Sequence[TimeloopNode], lists: Iterable[Field], mapping: Field | None, names: Names
) -> Directives:
    """What the nodes and lists ask for; a mapping's directives stand above them.

    lists    of constraints: a list of directives, or `{targets: [...]}`
    mapping  the directives of a mapping

    Raises ArchitectureError with the place of what has no equal here.
    """
    found, chosen = Directives(), Directives()
    for leaf in leaves:
        for kind, given in _of_node(leaf).items():
            _add(found, leaf.name, kind, given, given, names)
    for each in lists:
        for directive in _listed(each):
            _read(found, directive, leaves, names)
    if mapping is not None:
        for directive in mapping.elements("a list of directives such as '- target: DRAM'"):
            _read(chosen, directive, leaves, names)
        for name, asked in chosen.targets.items():
            _prefer(found.of(name), asked)
    return found


def _of_node(leaf: TimeloopNode) -> Mapping[str, Field]:
    given = leaf.members.get("constraints")
    if given is None or not given.value:
        return {}
    return {_OTHER_NAMES.get(kind, kind): each for kind, each in given.members({}, KINDS).items() if each.value}


def _listed(part: Field) -> tuple[Field, ...]:
    if not isinstance(part.value, tuple):
        part = part.members({"targets": "a list of constraints"}, ("version",))["targets"]
    return part.elements("a list of constraints") if part.value else ()


def _read(found: Directives, directive: Field, leaves: Sequence[TimeloopNode], names: Names) -> None:
    members = directive.mapping("a directive such as {target: DRAM, type: temporal}")
    for key, expected in (("target", "a level such as DRAM"), ("type", "temporal, spatial or dataspace")):
        if key not in members:
            raise directive.error(f"missing, expected {expected}", key=key)
    kind = members["type"].choice(KINDS)
    known = [leaf.name for leaf in leaves if leaf.kind != "nothing"]
    target = members["target"].text("a level such as DRAM")
    name = target.removeprefix("inter_").removesuffix("_spatial") if target not in known else target
    if name not in known:
        raise members["target"].error(f"the architecture has no {shown(target)}", hint=did_you_mean(target, known))
    rest = Field(
        {key: each for key, each in members.items() if key not in ("target", "type")},
        directive.file, directive.line, directive.path,
    )  # fmt: skip
    _add(found, name, _OTHER_NAMES.get(kind, kind), rest, members["target"], names)


def _add(found: Directives, name: str, kind: str, given: Field, place: Field, names: Names) -> None:
    members = given.members({}, ("type", *_KEYS[kind]))
    for key, what in _WITHOUT_EQUAL.items():
        if key in members and members[key].value not in ((), "", "null", "0"):
            raise members[key].error(f"{key} has no equal here: {what}")
    asked = found.of(name)
    if kind == "dataspace":
        _keeps(asked, members, names)
    elif kind == "utilization":
        share = Attributes({}).number(members["min"]) if "min" in members else 0.0
        found.utilization = max(found.utilization, share)
    elif kind == "max_overbooked_proportion":
        if "proportion" in members and Attributes({}).number(members["proportion"]):
            raise members["proportion"].error("max_overbooked_proportion has no equal here: tiles fit their memory")
    elif kind == "temporal":
        asked.temporal = _joined(asked.temporal, _loops(members, place, kind, name, names))
    else:
        asked.spatial = _joined(asked.spatial, _loops(members, place, kind, name, names))


def _keeps(asked: TargetAsks, members: Mapping[str, Field], names: Names) -> None:
    found: dict[str, bool] = {}
    for key, keep in (("keep", True), ("keep_only", True), ("bypass", False), ("bypass_only", False)):
        if key not in members:
            continue
        listed = names.spaces(members[key])
        found |= dict.fromkeys(listed, keep)
        if key.endswith("_only"):
            every = [t.name for t in names.problem.tensors] if names.problem is not None else [OTHERS]
            found |= {space: not keep for space in every if space not in listed}
    for space, keep in found.items():
        if asked.keeps.setdefault(space, keep) != keep:
            place = next(iter(members.values()))
            raise place.error(f"{space} is to be kept, and is to be bypassed")


def _loops(members: Mapping[str, Field], place: Field, kind: str, name: str, names: Names) -> Loops:
    loops = Loops(place)
    _read_trips(loops, members, names)
    if "permutation" in members:
        given = members["permutation"]
        listed = [dim if dim == "_" else names.dim(given, dim) for dim in _permutation(given, names)]
        if len({*listed}) < len(listed):
            raise given.error("a dimension stands twice, expected each once")
        at = listed.index("_") if "_" in listed else len(listed)
        loops.inner, loops.outer = listed[:at], listed[at + 1 :]
    _read_reuse(loops, members, kind, name, names)
    if "split" in members:
        loops.split = _count(members["split"], "a number of dimensions such as 2")
    if "maximize_dims" in members and members["maximize_dims"].value not in ("", "null", ()):
        loops.maximize = _groups(members["maximize_dims"], names)
        if "maximize_dims_capacity" in members:
            loops.capacity = Attributes({}).whole(members["maximize_dims_capacity"], "a number of trips")
        elif kind == "temporal":
            raise members["maximize_dims"].error("expected maximize_dims_capacity beside it: how much all may come to")
    return loops


def _read_trips(loops: Loops, members: Mapping[str, Field], names: Names) -> None:
    every = names.problem.dim_names if names.problem is not None else (OTHERS,)
    for key in ("factors", "factors_only"):
        for dim, sign, count in factors_of(members[key]) if key in members else ():
            _limit(loops, names.dim(members[key], dim), sign, count, members[key], names)
    for key, moving in (("no_iteration_over_dataspaces", True), ("must_iterate_over_dataspaces", False)):
        for dim in _dims_of(members[key], names, moving=moving) if key in members else ():
            narrow(loops, dim, (1, 1), members[key])
    for key in ("default_max_factor", "default_min_factor"):
        if key in members:
            count = Attributes({}).whole(members[key], "a number of trips")
            for dim in dict.fromkeys((*loops.trips, *every)):
                narrow(loops, dim, (1, count) if key == "default_max_factor" else (count, None), members[key])
    if "factors_only" in members:
        loops.trips = dict.fromkeys(every, (1, 1)) | loops.trips


def _permutation(given: Field, names: Names) -> list[str]:
    """Dimensions; a text is of letters, unless it is the name of a dimension."""
    whole = given.value.strip() if isinstance(given.value, str) else ""
    if names.problem is not None and whole in names.problem.sizes:
        return [whole]
    return texts_of(given)


def _count(given: Field, expected: str) -> int:
    text = given.text(expected)
    if text == _ALL_ALONG_X:
        return EVERY
    if not re.fullmatch("[0-9]{1,9}", text):
        raise given.error(f"found {shown(text)}, expected {expected}")
    return int(text)


def _read_reuse(loops: Loops, members: Mapping[str, Field], kind: str, name: str, names: Names) -> None:
    """Refuse what tensors may not be reused over in time, take apart what is not shared in space."""
    for key in ("no_reuse", "no_temporal_reuse", "no_multicast_no_reduction", "no_link_transfer"):
        listed = names.spaces(members[key]) if key in members and members[key].value else []
        if listed and key == "no_link_transfer":
            names.notes.append(f"no_link_transfer of {name}: no words pass between neighbours here anyway")
        elif listed and kind == "temporal":
            message = f"{key} has no equal here: a tile of {', '.join(listed)} stays until a loop moves it"
            hint = "in a machine of your own, reuse: at_node makes every loop outside a node move its tile"
            raise members[key].error(message, hint=hint)
        else:
            loops.apart += listed


def _dims_of(given: Field, names: Names, *, moving: bool) -> list[str]:
    """The dimensions that one of the data spaces has, or that none of them has."""
    listed = names.spaces(given)
    if names.problem is not None:
        dims = {dim for space in listed for dim in names.problem.tensor(space).dims}
        return [dim for dim in names.problem.dim_names if (dim in dims) == moving]
    if moving and OTHERS not in listed:
        return [f"relevant({space})" for space in listed]
    if len(listed) != 1 or OTHERS in listed:
        raise given.error("which dimensions these data spaces have is in the problem", hint=GIVE_PROBLEM)
    return [f"irrelevant({listed[0]})"]


def _groups(given: Field, names: Names) -> list[list[str]]:
    expected = "a list of lists of dimensions, such as [[R, S], [C, M]]"
    elements = given.elements(expected)
    nested = [element.value for element in elements if isinstance(element.value, tuple)]
    lists = elements if nested else (given,)
    return [[names.dim(each, dim) for dim in texts_of(each)] for each in lists]


# ---- joining -----------------------------------------------------------------------------------------------------


def _limit(loops: Loops, dim: str, sign: str, count: int, place: Field, names: Names) -> None:
    size = names.problem.sizes[dim] if names.problem is not None else None
    if count == 0:
        if sign != "=":
            raise place.error(f"found {dim}{sign}0, expected 1 or more")
        if size is None:
            raise place.error(f"{dim}=0 is all of {dim}, and no file says how large it is", hint=GIVE_PROBLEM)
        count = size
    if sign == "=" and size is not None and count > size:
        words = f"{dim}={count} is left out, as in Timeloop: {dim} has {size} elements"
        names.notes.append(f"{place.path}: {words}")
        return
    narrow(loops, dim, {"=": (count, count), "<=": (1, count), ">=": (count, None)}[sign], place)


def narrow(loops: Loops, dim: str, span: Span, place: Field) -> None:
    """Limit the trips of a dimension further; error where none are left."""
    least, most = loops.trips.get(dim, ANY)
    mosts = [each for each in (most, span[1]) if each is not None]
    both = max(least, span[0]), min(mosts, default=None)
    if both[1] is not None and both[0] > both[1]:
        raise place.error(f"the factors of {dim} contradict each other: {_words(least, most)} and {_words(*span)}")
    loops.trips[dim] = both


def _words(least: int, most: int | None) -> str:
    if least == most:
        return f"{least}"
    return f"at least {least}" if most is None else f"at most {most}" if least == 1 else f"{least} to {most}"


def _joined(one: Loops | None, other: Loops) -> Loops:
    """Both; error where they contradict each other."""
    if one is None:
        return other
    for dim, span in other.trips.items():
        narrow(one, dim, span, other.place)
    for key in ("split", "capacity"):
        if getattr(one, key) is None:
            setattr(one, key, getattr(other, key))
        elif getattr(other, key) not in (None, getattr(one, key)):
            raise other.place.error(f"{key} is given twice, as {getattr(one, key)} and {getattr(other, key)}")
    if (
        (one.inner or one.outer)
        and (other.inner or other.outer)
        and (one.inner, one.outer) != (other.inner, other.outer)
    ):
        raise other.place.error("two permutations are given, expected one")
    if other.inner or other.outer:
        one.inner, one.outer = other.inner, other.outer
    one.maximize += other.maximize
    one.apart += other.apart
    return one


def _prefer(found: TargetAsks, chosen: TargetAsks) -> None:
    """What a mapping says of a target, over what constraints say of it."""
    found.keeps |= chosen.keeps
    for kind in ("temporal", "spatial"):
        mapped, asked = getattr(chosen, kind), getattr(found, kind)
        if mapped is None:
            continue
        if asked is not None:
            mapped.trips = asked.trips | mapped.trips
            mapped.apart += asked.apart
            if mapped.order == ([], []):
                mapped.inner, mapped.outer = asked.order
            mapped.split = asked.split if mapped.split is None else mapped.split
        setattr(found, kind, mapped)
