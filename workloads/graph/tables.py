"""The `graph:` of a network file, as workloads/networks/README.md has it: entries in order, blocks stated once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from ...ir import ProblemError, did_you_mean
from ..arguments import check_keys, pair, whole
from ..network import NetworkLayer
from .between import BETWEEN
from .occurrences import LAYER, OUTSIDE, NetworkGraph, Occurrence, OutsideRole, Source

BEFORE = "before"
"""What stands before a block: the last entry before it, or of the one before it."""
INPUT = "input"
"""What the first entry reads, if it does not say."""

_ENTRY_KEYS = ("op", "layer", "reads", "writes", "shape", "role", "window", "stride", "pad")
_BLOCK_KEYS = ("rows", "reads", "names", "blocks")
_ROLES: tuple[OutsideRole, ...] = ("cache", "view")
_READ = re.compile(r"(\S+)(?:\s+as\s+((?:\w+\s*)+))?")


@dataclass(frozen=True)
class TableRow:
    """A row of the table.

    layer  of the network
    pads   zeros before its input, (height, width)
    """

    layer: NetworkLayer
    pads: tuple[int, int] = (0, 0)


def read_graph(
    entries: object,
    blocks: Mapping[str, object],
    rows: Mapping[str, TableRow],
    network: str,
    where: str,
    inputs: Sequence[str] = (INPUT,),
) -> NetworkGraph:
    """The graph that a network file states.

    entries, blocks  what stands there under `graph` and `blocks`
    rows             of the table, by name
    network          its name
    where            how messages call the file
    inputs           names of what is read from outside

    Raises ProblemError for keys and names that are unknown, and rows that occur more or less often than they say.
    """
    if not isinstance(entries, list):
        raise ProblemError("graph is no list of entries", where=where, hint="networks/README.md has the form")
    reader = _TableReader(rows, blocks, where)
    reader.known |= dict.fromkeys(inputs)
    reader.read_all(entries)
    for name, row in rows.items():
        if reader.occurs[name] != row.layer.repeat:
            message = f"{name} occurs {reader.occurs[name]} times in the graph, and its repeat is {row.layer.repeat}"
            raise ProblemError(message, where=where)
    try:
        graph = NetworkGraph(network, tuple(reader.found))
    except ProblemError as error:
        raise error.located(where) from None
    for occurrence in graph:
        if BETWEEN.get(occurrence.kind) == 2:
            _check_fits(graph, occurrence, where)
        elif occurrence.role == "cache":
            _check_holds(graph, occurrence, where)
    return graph


def chain_of(rows: Mapping[str, TableRow], network: str, where: str) -> NetworkGraph:
    """The graph of a table that states none: every layer reads what the one before makes, or, where that has another
    size, an input of its own."""
    entries: list[object] = []
    outside = [INPUT]
    last = ""
    made: tuple[int, ...] = (0,)
    for name, row in rows.items():
        problem = row.layer.problem
        for number in range(1, row.layer.repeat + 1):
            local = f"{name}.{number}" if row.layer.repeat > 1 else name
            before = [last] if last and _fits(row, made) else []
            count = (1 if row.layer.is_weight else len(problem.operands)) - len(before)
            inputs = [f"{local}.input{i or ''}" for i in range(count)] if last or count > 1 else []
            outside += inputs
            entries.append({"name": local, "layer": name, "reads": [*before, *inputs] or INPUT})
            last, made = local, tuple(problem.sizes[rank[0][0]] for rank in problem.output.ranks)
    return replace(read_graph(entries, {}, rows, network, where, outside), is_assumed=True)


def _fits(row: TableRow, made: tuple[int, ...]) -> bool:
    """Whether a layer can read a tensor of that shape as its first operand: windows with zeros before it and what a
    stride leaves over; without windows, as many words in any shape."""
    sizes, ranks = row.layer.problem.sizes, row.layer.problem.operands[0].ranks
    needs = [1 + sum(step * (sizes[dim] - 1) for dim, step in rank) for rank in ranks]
    if all(len(rank) == 1 for rank in ranks):
        return prod(needs) == prod(made)
    across = zip(needs[-2:], made[-2:], row.pads, (rank[0][1] for rank in ranks[-2:]), strict=False)
    inside = all(need <= size + 2 * pad < need + step for need, size, pad, step in across)
    return len(made) > 2 and prod(needs[:-2]) == prod(made[:-2]) and inside


def _check_fits(graph: NetworkGraph, occurrence: Occurrence, where: str) -> None:
    """ProblemError for an addition or a product of two tensors whose sizes are neither equal nor 1."""
    shapes = [shape for source in occurrence.sources if (shape := graph.shape(source.name)) is not None]
    for sizes in zip(*map(reversed, shapes), strict=False) if len(shapes) == 2 else ():
        if 1 not in sizes and sizes[0] != sizes[1]:
            one, two = (" x ".join(map(str, shape)) for shape in shapes)
            names = " and ".join(source.name for source in occurrence.sources)
            message = f"{occurrence.kind} of {names}, which are {one} and {two}; expected equal sizes"
            raise ProblemError(message, where=f"{where}: graph: {occurrence.name}")


def _check_holds(graph: NetworkGraph, cache: Occurrence, where: str) -> None:
    """ProblemError for a cache with less room than what is written into it in one run."""
    for name in cache.reads:
        written, room = (shape and prod(shape) for shape in (graph.shape(name), cache.shape))
        if written and room and written > room:
            message = f"a cache of {room:,} words, and {name} writes {written:,} into it; expected as many at most"
            hint = "its shape has the tokens before this run as well as those of it"
            raise ProblemError(message, where=f"{where}: graph: {cache.name}", hint=hint)


class _TableReader:
    """One use for one file.

    found   all occurrences
    occurs  how often each row does, in one of the blocks that `blocks: 32` repeats
    """

    def __init__(self, rows: Mapping[str, TableRow], blocks: Mapping[str, Any], where: str) -> None:
        self.rows, self.blocks, self.where = rows, blocks, where
        self.found: list[Occurrence] = []
        self.occurs = Counter[str]()
        self.known: dict[str, None] = {INPUT: None}
        self.last = INPUT
        self.entry = 0

    def read_all(self, entries: list[object]) -> None:
        for number, entry in enumerate(entries, 1):
            self.entry = number
            if isinstance(entry, dict) and "block" in entry:
                self._block(entry, f"{self.where}: graph entry {number}")
            else:
                self._add(entry, _Scope("", {}, self.last), f"{self.where}: graph entry {number}")

    def _block(self, entry: dict[str, Any], where: str) -> None:
        check_keys(entry, where, ("block",), _BLOCK_KEYS)
        block = entry["block"]
        if not isinstance(block, str) or block not in self.blocks:
            raise ProblemError(f"unknown block {block!r}", where=where, hint=did_you_mean(str(block), self.blocks))
        if ("names" in entry) == ("blocks" in entry):
            hint = "write blocks: 32, or names: [first, second]"
            raise ProblemError("expected either names or blocks", where=where, hint=hint)
        repeats = "blocks" in entry
        names = [f"{block}.{i}" for i in range(whole("blocks", entry["blocks"], where))] if repeats else entry["names"]
        if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
            raise ProblemError(f"names is {names!r}, expected a list of texts", where=where)
        inner = self.blocks[block]
        if not isinstance(inner, list) or not inner:
            raise ProblemError(f"block {block} is {inner!r}, expected a list of entries", where=self.where)
        rows = entry.get("rows", {})
        self._check_rows(rows, inner, f"{where}: rows")
        if "reads" in entry:
            self.last = self._source_named(_text(entry["reads"], f"{where}: reads"), _Scope("", {}, self.last), where)
        for number, name in enumerate(names):
            scope, counted = _Scope(name, rows, self.last), self.occurs.copy()
            for each in inner:
                self._add(each, scope, f"{where}: block {block}")
            if repeats and number:
                self.occurs = counted

    def _check_rows(self, rows: object, inner: list[object], where: str) -> None:
        """ProblemError for rows of entries that the block does not have, or of rows that the table does not."""
        if not isinstance(rows, dict):
            _text(rows, where)
            return
        names = [str(entry.get("name")) if isinstance(entry, dict) else str(entry) for entry in inner]
        for name, row in rows.items():
            if name not in names:
                message = f"the block has no entry {name!r}"
                raise ProblemError(message, where=where, hint=did_you_mean(str(name), names))
            if _text(row, f"{where}: {name}") not in self.rows:
                raise ProblemError(f"no row {row!r}", where=f"{where}: {name}", hint=did_you_mean(str(row), self.rows))

    def _add(self, entry: object, scope: _Scope, where: str) -> None:
        given = {"name": entry} if isinstance(entry, str) else entry
        if not isinstance(given, dict):
            raise ProblemError(f"found {entry!r}, expected a name or keys with values", where=where)
        check_keys(given, where, ("name",), _ENTRY_KEYS)
        local = given["name"]
        if not isinstance(local, str) or not local or ":" in local:
            raise ProblemError(f"name is {local!r}, expected a text without colons", where=where)
        where = f"{where}: {local}"
        op = _text(given.get("op", LAYER), f"{where}: op")
        sources = tuple(self._sources(given, scope, where))
        name = scope.full(local)
        if op == LAYER:
            occurrence = self._layer(given, scope, sources, where)
        elif op == OUTSIDE:
            occurrence = Occurrence(
                name, OUTSIDE, sources, local=local, shape=_shape(given, where), role=_role(given, where)
            )
        elif op in BETWEEN:
            occurrence = self._between(given, scope, sources, where)
        else:
            hint = did_you_mean(str(op), [*BETWEEN, OUTSIDE])
            raise ProblemError(f"op is {op!r}, unknown", where=where, hint=hint)
        scope.names[local] = name
        self.occurs[occurrence.layer] += 1
        self.found.append(replace(occurrence, entry=self.entry))
        self.known[name] = None
        self.last = name

    def _sources(self, given: Mapping[str, Any], scope: _Scope, where: str) -> Iterator[Source]:
        reads = given.get("reads", [self.last] if given.get("op") != OUTSIDE else [])
        for text in [reads] if isinstance(reads, str) else reads if isinstance(reads, list) else [None]:
            match = _READ.fullmatch(text.strip()) if isinstance(text, str) else None
            if match is None:
                hint = "write a name, or how its axes are read: 'q_proj as m b k'"
                raise ProblemError(f"reads is {reads!r}, expected names", where=where, hint=hint)
            name = self._source_named(match[1], scope, where)
            yield Source(name, tuple(match[2].split()) if match[2] else None)

    def _source_named(self, name: str, scope: _Scope, where: str) -> str:
        if name == BEFORE and scope.name:
            return scope.before
        if name in scope.names:
            return scope.names[name]
        if name not in self.known:
            raise ProblemError(f"reads {name!r}, unknown so far", where=where, hint=did_you_mean(name, self.known))
        return name

    def _layer(self, given: Mapping[str, Any], scope: _Scope, sources: tuple[Source, ...], where: str) -> Occurrence:
        local = given["name"]
        if "layer" in given:
            _text(given["layer"], f"{where}: layer")
        row = self.rows.get(scope.row(local, given.get("layer"), self.rows))
        if row is None:
            known = did_you_mean(given.get("layer") or scope.full(local), self.rows)
            raise ProblemError("no row has that name", where=where, hint=known)
        problem = row.layer.problem
        read = 1 if row.layer.is_weight else len(problem.operands)
        if len(sources) != read:
            raise ProblemError(f"reads {len(sources)} tensors, expected {read}", where=where)
        pads = tuple(zip(("p", "q"), row.pads, strict=True)) if any(row.pads) else ()
        padded = []
        for source, operand in zip(sources, problem.operands, strict=False):
            letters = [rank[0][0].lower() for rank in operand.ranks]
            if source.order is not None and sorted(map(str, source.order)) != sorted(letters):
                found = " ".join(map(str, source.order))
                raise ProblemError(f"reads as {found}, expected all of {' '.join(letters)}", where=where)
            padded.append(Source(source.name, source.order, pads))
        writes = given.get("writes")
        letters = [rank[0][0].lower() for rank in problem.output.ranks]
        if writes is not None and (not isinstance(writes, str) or sorted(writes.split()) != sorted(letters)):
            raise ProblemError(f"writes is {writes!r}, expected all of {' '.join(letters)}", where=where)
        return Occurrence(
            scope.full(local),
            LAYER,
            tuple(padded),
            problem=problem,
            layer=row.layer.name,
            local=local,
            writes=tuple(writes.split()) if writes else None,
            experts=row.layer.experts.every if row.layer.experts else 0,
        )

    def _between(self, given: Mapping[str, Any], scope: _Scope, sources: tuple[Source, ...], where: str) -> Occurrence:
        op = given["op"]
        if len(sources) != BETWEEN[op] or any(source.order for source in sources):
            raise ProblemError(f"{op} reads {len(sources)} tensors, expected {BETWEEN[op]} names", where=where)
        window = None
        if "window" in given:
            size = pair("window", given["window"], where)
            stride = pair("stride", given.get("stride", size), where)
            window = size, stride, pair("pad", given.get("pad", 0), where, minimum=0)
        elif op == "maxpool":
            raise ProblemError("a maximum over windows without a window", where=where, hint="write window: 3")
        return Occurrence(scope.full(given["name"]), op, sources, local=given["name"], window=window)


class _Scope:
    """What names mean inside one occurrence of a block.

    name    of the occurrence; entries are called NAME.ENTRY
    rows    which row an entry is: by entry, or what stands before the entry's name in the table
    before  what the block comes after
    """

    def __init__(self, name: str, rows: Any, before: str) -> None:
        self.name, self.before = name, before
        self.prefix = rows if isinstance(rows, str) else None
        self.by_entry: Mapping[str, str] = rows if isinstance(rows, dict) else {}
        self.names: dict[str, str] = {}

    def full(self, local: str) -> str:
        """The name of an entry in the network."""
        return f"{self.name}.{local}" if self.name else local

    def row(self, local: str, stated: object, rows: Mapping[str, TableRow]) -> str:
        """Return the name of the table row that an entry uses: the stated one, else the one of its name in the block,
        else the one of its own name."""
        if isinstance(stated, str):
            return stated
        if local in self.by_entry:
            return self.by_entry[local]
        known = [self.full(local) if self.prefix is None else f"{self.prefix}.{local}", local]
        return next((name for name in known if name in rows), "")


def _text(value: object, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise ProblemError(f"found {value!r}, expected a name", where=where)
    return value


def _role(given: Mapping[str, Any], where: str) -> OutsideRole | None:
    """What an entry that is made outside is, as far as it says."""
    role = given.get("role")
    if role is not None and role not in _ROLES:
        raise ProblemError(f"role is {role!r}, unknown", where=where, hint=did_you_mean(str(role), _ROLES))
    if role is not None and "shape" not in given:
        raise ProblemError(f"a {role} without a shape", where=where, hint="write shape: [kv, 1024]")
    return role


def _shape(given: Mapping[str, Any], where: str) -> tuple[int, ...] | None:
    shape = given.get("shape")
    if shape is None:
        return None
    if not isinstance(shape, list):
        raise ProblemError(f"shape is {shape!r}, expected a list of sizes", where=where)
    return tuple(whole("shape", size, where) for size in shape)
