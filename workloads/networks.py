"""Networks as tables of layers: the shipped ones, and files in the same form (networks/README.md)."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite, prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..inputs import checks
from ..ir import Problem, ProblemError, did_you_mean
from .arguments import check_keys, pair, whole
from .cascades import cascade
from .einsum import einsum
from .files import read_yaml
from .layers import batched_gemm, conv2d, gemm, padded
from .network import BATCH, ONNX, PHASE, WIDTHS, Experts, Network, NetworkLayer, Sizes, Widths, sizes_asked

if TYPE_CHECKING:
    from .graph import NetworkGraph

_SHIPPED = Path(__file__).parent / "networks"

_NETWORK_KEYS = (("network", "layers"), ("source", "batch", "dims", "phases", "published", "blocks", "graph"))
_WORDS = (
    *("name", "op", "spec", "text", "note", "density"),
    *("layer", "reads", "writes", "role", "block", "names", "rows"),
)
"""Keys of rows and entries under which no sizes stand."""
_PUBLISHED_KEYS = (("what", "value", "source"), ("minus", "within", "kind", "select", "scale"))
# By op: the keys that a row must have, those it may have, and of these the arguments of the layer's function.
_ROW_REQUIRED = {
    "conv": ("K", "C", "P", "Q", "R", "S"),
    "gemm": ("M", "N", "K", "weight"),
    "einsum": ("spec", "sizes", "weight"),
    "operation": ("text", "sizes", "weight"),
}
_ROW_OPTIONAL = {
    "conv": ("N", "groups", "stride", "dilation", "pad", "H", "W"),
    "gemm": ("B", "experts", "top_k"),
    "einsum": (),
    "operation": (),
}
_CONV_ARGUMENTS = ("K", "C", "P", "Q", "R", "S", "N", "groups", "stride", "dilation")
_KINDS: dict[type, str] = {str: "a text", list: "a list", bool: "true or false", dict: "keys with values"}


def list_networks() -> tuple[str, ...]:
    """Names of the shipped networks, sorted."""
    return tuple(sorted(path.stem for path in _SHIPPED.glob("*.yaml")))


def load_network(
    name_or_path: str | os.PathLike[str],
    dims: Mapping[str, int] | None = None,
    widths: Widths = "file",
    inputs: Mapping[str, object] | None = None,
    *,
    phase: str | None = None,
    batch: int | None = None,
) -> Network:
    """A shipped network by name ("resnet50"), or any by the path of its file ("nets/mine.yaml", "nets/mine.onnx").

    name_or_path  which one
    dims    the sizes of its symbolic dimensions: {"batch": 1}; a table has its own where none are given
    widths  of an ONNX file, whether words are as wide as its element types, "file", or as the architecture's, "arch"
            (a table's always are)
    inputs  of an ONNX file, values that inputs have in every run: {"sr": 16000}
    phase   of a table that has some, which one: "prefill", "decode"; without it, the first
    batch   the same as a size of `batch` among `dims`

    Raises ProblemError for an unknown name, an unreadable file, keys that are unknown, missing or of a wrong type,
    symbols of an ONNX file that are unknown or missing, a phase that the network lacks, and a batch where a table
    fixes it.
    """
    return network_at(name_or_path, sizes_asked(dims, phase, batch), widths, inputs)


def network_at(
    name_or_path: str | os.PathLike[str],
    sizes: Sizes,
    widths: Widths = "file",
    inputs: Mapping[str, object] | None = None,
) -> Network:
    """The same, with its phase and its batch among the sizes."""
    path = checks.path(name_or_path, "the network", "a network's name or the path of its file", ProblemError)
    check_widths(widths, path)
    if inputs is not None:
        checks.mapping(inputs, "inputs", 'a dict such as {"sr": 16000}', ProblemError)
    if is_onnx(path):
        from .onnx import FixedInput, load_onnx

        dims = without_phase(sizes, path)
        fixed = {name: FixedInput(value) for name, value in (inputs or {}).items()}
        return load_onnx(Path(path), {**dims, **fixed}, widths)
    if inputs:
        raise ProblemError(f"{next(iter(inputs))} is given, but a table has no inputs of fixed values", where=path)
    if widths != "file":
        raise ProblemError("the words of a table are the architecture's: widths belong to ONNX files", where=path)
    file, where = _table_at(name_or_path)
    return _network_of(_read_table(file, where), sizes, where)


def without_phase(sizes: Sizes, path: str) -> dict[str, int]:
    """Sizes of an ONNX file; ProblemError for a phase, which it has not."""
    if PHASE in sizes:
        hint = "give sizes of its symbols instead: --dim seq=1"
        raise ProblemError(f"phase is {sizes[PHASE]!r}, and an ONNX file has no phases", where=path, hint=hint)
    return {symbol: size for symbol, size in sizes.items() if not isinstance(size, str)}


def edited_table(name_or_path: str | os.PathLike[str], dims: Sizes, settings: Mapping[str, str]) -> tuple[Network, str]:
    """A network of a table, and the text of its file, to start one of your own from.

    dims      sizes of its symbolic dimensions, its phase among them: then the text has no phases
    settings  of keys of its rows, by "LAYER.KEY": {"conv1.K": "96"}

    Raises ProblemError as `load_network` does, and where what is set makes no table.
    """
    import yaml

    file, where = _table_at(name_or_path)
    data = _read_table(file, where)
    if not dims and not settings:
        return _network_of(data, {}, where), file.read_text(encoding="utf-8")
    if dims:
        data["dims"] = _sizes_of(data, dims, where)
        data.pop("phases", None)
    _network_of(data, {}, where)
    rows = {row["name"]: row for row in data["layers"]}
    for field, value in settings.items():
        layer, _, key = field.rpartition(".")
        if layer not in rows:
            hint = did_you_mean(layer or field, rows)
            raise ProblemError(f"no layer {layer or field!r}, expected LAYER.KEY=VALUE", where=where, hint=hint)
        rows[layer][key] = yaml.safe_load(value)
    return _network_of(data, {}, where), "".join(line for key, each in data.items() for line in _lines_of(key, each))


def _lines_of(key: str, value: Any, indent: str = "") -> Iterator[str]:
    """A key as the shipped tables have it: a line for each row and entry."""
    import yaml

    def flow(each: Any) -> str:
        return yaml.safe_dump(each, default_flow_style=True, sort_keys=False, width=10**6).removesuffix("...\n").strip()

    if isinstance(value, list) and any(isinstance(row, dict) for row in value):
        yield f"{indent}{key}:\n"
        yield from (f"{indent}  - {flow(row)}\n" for row in value)
    elif isinstance(value, dict) and any(isinstance(each, list) for each in value.values()):
        yield f"{indent}{key}:\n"
        for name, each in value.items():
            yield from _lines_of(name, each, f"{indent}  ")
    else:
        yield f"{indent}{key}: {flow(value)}\n"


def _table_at(name_or_path: str | os.PathLike[str]) -> tuple[Path, str]:
    """The file of a table, and how messages call it."""
    path = os.fspath(name_or_path)
    if not isinstance(name_or_path, str) or path.endswith((".yaml", ".yml")) or Path(path).name != path:
        return Path(path), path
    known = list_networks()
    if path not in known:
        hint = f"{did_you_mean(path, known)} A file of your own must end in .yaml or .onnx"
        raise ProblemError(f"unknown network {path!r}", hint=hint)
    return _SHIPPED / f"{path}.yaml", f"{path}.yaml"


def check_widths(widths: object, where: str | None = None) -> None:
    """ProblemError for what is no source of widths."""
    if not isinstance(widths, str) or widths not in WIDTHS:
        raise ProblemError(f"widths is {checks.shown(widths)}, expected {' or '.join(WIDTHS)}", where=where)


def is_onnx(name_or_path: str | os.PathLike[str]) -> bool:
    """Whether a network is given by the path of an ONNX file."""
    path = checks.path(name_or_path, "the network", "a network's name or the path of its file", ProblemError)
    return path.lower().endswith(ONNX)


def dims_by_network(networks: Sequence[str | os.PathLike[str]], dims: Sizes) -> dict[str, dict[str, int | str]]:
    """For each of these networks, the sizes and values of the names that it knows.

    Raises ProblemError for a size that none of them knows, and for symbols of ONNX files without one, all at once.
    """
    known = {os.fspath(network): _open_names(network) for network in networks}
    every = list(dict.fromkeys(name for symbols, names in known.values() for name in (*symbols, *sorted(names))))
    where = ", ".join(known)
    for symbol in dims:
        if symbol not in every:
            hint = did_you_mean(symbol, every) if every else "they have no symbols"
            message = f"unknown dimension {symbol!r}" if symbol != PHASE else "none of the networks has phases"
            raise ProblemError(message, where=where, hint=hint)
    missing = {
        symbol: list[str]()
        for network, (symbols, _) in known.items()
        for symbol, axes in symbols.items()
        if is_onnx(network) and symbol not in dims and any(axis not in dims for axis in axes)
    }
    if missing:
        from .onnx.files import missing_sizes

        raise missing_sizes(missing, where)
    return {path: {name: one for name, one in dims.items() if name in names} for path, (_, names) in known.items()}


def _open_names(network: str | os.PathLike[str]) -> tuple[Mapping[str, list[str]], set[str]]:
    """The symbols of a network, of an ONNX file with the axes at which each stands; and all names by which sizes and
    values may be given."""
    if is_onnx(network):
        from .onnx.files import open_names

        return open_names(Path(network))
    file, where = _table_at(network)
    data = _read_table(file, where)
    symbols = {symbol: list[str]() for symbol in _symbols(data, where)}
    return symbols, {*symbols, *([PHASE] if "phases" in data else [])}


def load_layer(
    reference: str,
    dims: Mapping[str, int] | None = None,
    widths: Widths = "file",
    *,
    phase: str | None = None,
    batch: int | None = None,
) -> Problem:
    """The problem of one layer of a network.

    reference  network and layer, "resnet50:layer1.0.conv2"; the network may be a path, "nets/mine.yaml:conv1"
    dims, widths, phase, batch  as for `load_network`

    Raises ProblemError for an unknown network or layer, for a network alone, and as `load_network` does.
    """
    return layer_at(reference, sizes_asked(dims, phase, batch), widths)


def layer_at(reference: str, sizes: Sizes, widths: Widths = "file") -> Problem:
    """The same, with its phase and its batch among the sizes."""
    checks.text(reference, "the layer", "a name such as resnet50:conv1", ProblemError)
    network_name, layer_name = split_reference(reference)
    if network_name and layer_name:
        network = network_at(network_name, sizes, widths)
        try:
            return network.layer(layer_name).problem
        except ProblemError as error:
            if network.wiring is None or not ("+" in layer_name or ".." in layer_name):
                raise
            message = f"{layer_name} names several operations, expected one layer"
            hint = f"commands that take a cascade take it; in Python, tw.cascade_of({network_name!r}, {layer_name!r})"
            raise ProblemError(message, where=f"network {network.name}", hint=hint) from error
    alone = reference.strip(":")
    network = network_at(alone, sizes, widths)
    if not network.layers:
        raise ProblemError(f"{reference!r} is a network without a dense operation, expected a layer")
    raise ProblemError(
        f"{reference!r} is a whole network, expected one layer, network:layer",
        hint=f"write {alone}:{network.layers[0].name}; it has {len(network.layers)} layers",
    )


def split_reference(reference: str) -> tuple[str, str]:
    """Network and layer of "network:layer"."""
    before, onnx_file, node = reference.partition(f"{ONNX}:")
    if onnx_file:
        return f"{before}{ONNX}", node  # the names of nodes may have colons
    # From the right, since a path may have a colon and the layers of tables have none.
    network, _, layer = reference.rpartition(":")
    return network, layer


def _read_table(file: Path, where: str) -> dict[str, Any]:
    """What the file of a table says; its rows are not looked at."""
    text = read_yaml(file, where, "a table of layers", f"shipped networks: {', '.join(list_networks())}")
    if isinstance(text, dict) and "operations" in text:
        hint = "search, bound, space, evaluate, verify, explain and emit take it; networks are tables of layers"
        raise ProblemError("found a cascade of operations, expected a network", where=where, hint=hint)
    return _table(text, where, *_NETWORK_KEYS)


def _network_of(data: dict[str, Any], dims: Sizes, where: str) -> Network:
    """The network of a table. Raises ProblemError where it is none."""
    sizes = _sizes_of(data, dims, where)
    data = data | {key: _with_sizes(data[key], sizes) for key in ("layers", "graph") if key in data}
    blocks = _typed(data, "blocks", dict, where, {})
    data["blocks"] = {name: _with_sizes(entries, sizes) for name, entries in blocks.items()}
    name = _typed(data, "network", str, where)
    whole("batch", data.get("batch", 1), where)
    for number, figure in enumerate(_typed(data, "published", list, where, []), 1):
        _check_figure(figure, f"{where}: published figure {number}")
    rows = _typed(data, "layers", list, where)
    if not rows:
        raise ProblemError("no layers, expected one or more", where=where)
    layers = tuple(_read_row(row, name, where, number) for number, row in enumerate(rows, 1))
    names = [layer.name for layer in layers]
    name_of, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise ProblemError(f"two layers are named {name_of!r}", where=where, hint="use repeat for equal layers")
    graph = _graph(data, layers, name, where)
    occurs = Counter(occurrence.layer for occurrence in graph)
    layers = tuple(replace(layer, repeat=occurs[layer.name]) for layer in layers)
    source, phase = _typed(data, "source", str, where, ""), _phase(data, dims)
    of_phase = (phase, tuple(sizes.items())) if phase else None
    return Network(name, source, layers, phase=of_phase, wiring=graph)


def _graph(data: dict[str, Any], layers: Sequence[NetworkLayer], network: str, where: str) -> NetworkGraph:
    """The graph that a table states; one that states none is a chain."""
    from .graph.tables import TableRow, chain_of, read_graph

    pads = [pair("pad", row.get("pad", 0), where, minimum=0) for row in data["layers"]]
    rows = {layer.name: TableRow(layer, pad) for layer, pad in zip(layers, pads, strict=True)}
    if "graph" not in data:
        return chain_of(rows, network, where)
    return read_graph(data["graph"], data["blocks"], rows, network, where)


def _sizes_of(data: dict[str, Any], given: Sizes, where: str) -> dict[str, int]:
    """The sizes of the symbols of a table: as given, as the phase has them, or its own."""
    stated, of_phase = _typed(data, "dims", dict, where, {}), _phase_of(data, given, where)
    asked = {symbol: size for symbol, size in given.items() if symbol != PHASE}
    known = _symbols(data, where)
    for symbol in asked:
        if symbol in known:
            continue
        if symbol == BATCH:
            message = f"unknown dimension {BATCH!r}: the table fixes the batch, at {data.get('batch', 1)}"
            hint = "write 'dims: {batch: 1}' in a copy of the table, and batch where the size stands: 'M: batch*seq'"
            raise ProblemError(message, where=where, hint=hint)
        hint = did_you_mean(symbol, known) if known else "write 'dims: {kv: 2048}' in the table, and kv where it stands"
        raise ProblemError(f"unknown dimension {symbol!r}", where=where, hint=hint)
    fixed = {**stated, **asked}
    found = fixed | {symbol: _product(size, fixed) for symbol, size in of_phase.items() if symbol not in asked}
    phase = _phase(data, given)
    for symbol in known:
        if found.get(symbol) is None:
            here = f"phase {phase} leaves {symbol} unset" if phase else f"the size of {symbol} is not set"
            hint = f"write it there, or under 'dims', or give --dim {symbol}=SIZE"
            raise ProblemError(f"{here}, expected a size", where=where, hint=hint)
    return {symbol: whole(f"dims: {symbol}", size, where) for symbol, size in found.items()}


def _phase(data: dict[str, Any], given: Sizes) -> str | None:
    """The name of the phase that is asked for, or of the first; None where a table has none."""
    return str(given.get(PHASE, next(iter(data.get("phases", {})), ""))) or None


def _phase_of(data: dict[str, Any], given: Sizes, where: str) -> dict[str, Any]:
    """What the phase that is asked for says."""
    phases, name = _typed(data, "phases", dict, where, {}), _phase(data, given)
    if name is None:
        return {}
    if name not in phases:
        message = f"the network has no phase {name!r}" if phases else f"phase is {name!r}, and the table has no phases"
        hint = did_you_mean(name, phases) if phases else "write 'phases: {prefill: {new: 2048}, decode: {new: 1}}'"
        raise ProblemError(message, where=where, hint=hint)
    sizes: dict[str, Any] = _typed(phases, name, dict, f"{where}: phases")
    return sizes


def _symbols(data: dict[str, Any], where: str) -> dict[str, None]:
    """Names that sizes have, in `dims` or in a phase."""
    phases = _typed(data, "phases", dict, where, {})
    every = [_typed(data, "dims", dict, where, {}), *(_typed(phases, one, dict, f"{where}: phases") for one in phases)]
    return dict.fromkeys(symbol for each in every for symbol in each)


def _product(value: Any, sizes: Mapping[str, Any]) -> Any:
    """The size that a text means: a symbol, or a product such as `batch*seq`; anything else as it stands."""
    if not isinstance(value, str):
        return value
    factors = [sizes.get(one, int(one) if one.isdecimal() else None) for one in map(str.strip, value.split("*"))]
    return prod(factors) if all(isinstance(one, int) for one in factors) else value


def _with_sizes(value: Any, sizes: Mapping[str, int]) -> Any:
    """Rows or entries with sizes in place of their symbols."""
    if isinstance(value, dict):
        return {key: each if key in _WORDS else _with_sizes(each, sizes) for key, each in value.items()}
    if isinstance(value, list):
        return [_with_sizes(each, sizes) for each in value]
    return _product(value, sizes)


def _table(data: object, where: str, required: Collection[str], optional: Collection[str]) -> dict[str, Any]:
    if not isinstance(data, dict):
        if data is None:
            raise ProblemError(
                "the file is empty, expected a table of layers", where=where, hint="start with 'network:'"
            )
        raise ProblemError(f"found {_kind_of(data)}, expected {_KINDS[dict]}", where=where)
    check_keys(data, where, required, optional)
    return data


def _kind_of(value: object) -> str:
    """What stands in a file, in words."""
    return next((words for kind, words in _KINDS.items() if type(value) is kind), "a number")


def _check_figure(figure: object, where: str) -> None:
    """Figures are for readers and tests; here only their keys and types are checked."""
    data = _table(figure, where, *_PUBLISHED_KEYS)
    for key, value in data.items():
        if key not in ("value", "minus", "within"):
            _typed(data, key, str, where)
        elif isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
            raise ProblemError(f"key {key} is {value!r}, expected a number", where=where)


def _typed(data: dict[str, Any], key: str, kind: type, where: str, default: object = None) -> Any:
    value = data.get(key, default)
    if not isinstance(value, kind):
        hint = "put it in quotes" if kind is str else None
        raise ProblemError(f"key {key} is {value!r}, expected {_KINDS[kind]}", where=where, hint=hint)
    return value


def _read_row(row: object, network: str, file: str, number: int) -> NetworkLayer:
    """One layer; errors carry the file and the layer's name, or its number where it has none yet."""
    where = f"{file}: layer {number}"
    if not isinstance(row, dict):
        raise ProblemError(f"found {row!r}, expected {_KINDS[dict]}", where=where)
    check_keys({key: row[key] for key in row if key in ("name", "op")}, where, ("name", "op"), ())
    name = _typed(row, "name", str, where)
    where = f"{file}: layer {name}"
    if not name or ":" in name:
        raise ProblemError("a layer's name must not be empty or hold a colon", where=where)
    op = _typed(row, "op", str, where)
    if op not in _ROW_REQUIRED:
        raise ProblemError(f"key op is {op!r}, unknown", where=where, hint=did_you_mean(op, _ROW_REQUIRED))
    if op == "conv":
        _refuse_input_sizes(row, where)
    check_keys(row, where, ("name", "op", *_ROW_REQUIRED[op]), (*_ROW_OPTIONAL[op], "repeat", "note", "density"))
    repeat = whole("repeat", row.get("repeat", 1), where)
    _typed(row, "note", str, where, "")
    is_weight = _typed(row, "weight", bool, where, True)
    experts = _experts(row, where)
    try:
        problem = _with_densities(_BUILDERS[op](row, f"{network}:{name}"), row)
    except ProblemError as error:
        raise error.located(file) from None
    return NetworkLayer(problem, repeat, is_weight, name, experts=experts)


def _refuse_input_sizes(row: dict[str, Any], where: str) -> None:
    """ProblemError for a convolution that states the sizes of its input alone: the hint says what they come to."""
    missing = [output for output, given in (("P", "H"), ("Q", "W")) if output not in row and given in row]
    if not missing or not {"R", "S"} <= row.keys():
        return
    steps = (("pad", 0), ("stride", 1), ("dilation", 1))
    pads, strides, dilations = (pair(key, row.get(key, least), where, minimum=least) for key, least in steps)
    sizes = []
    for axis, (output, given, taps) in enumerate((("P", "H", "R"), ("Q", "W", "S"))):
        if output in missing:
            reach = dilations[axis] * (whole(taps, row[taps], where) - 1) + 1
            last = whole(given, row[given], where) + 2 * pads[axis] - reach
            sizes.append(f"{output}: {last // strides[axis] + 1}")
    pad = "" if "pad" in row else " without pad"
    hint = f"P and Q are the sizes of the output; H and W come to {', '.join(sizes)}{pad}"
    raise ProblemError(f"missing {', '.join(missing)}", where=where, hint=hint)


def _with_densities(problem: Problem, row: dict[str, Any]) -> Problem:
    """The problem with the densities that a row states, by tensor; what they say is read where they count."""
    given = _typed(row, "density", dict, problem.name, {})
    names = [tensor.name for tensor in problem.operands]
    for name, text in given.items():
        if name not in names:
            raise ProblemError(f"no operand {name!r}", where=f"{problem.name}: density", hint=did_you_mean(name, names))
        if isinstance(text, bool) or not isinstance(text, str | int | float):
            found = _kind_of(text)
            raise ProblemError(f"found {found}, expected a density such as 2:4@K", where=f"{problem.name}: density")
    tensors = tuple(
        replace(tensor, density=str(given[tensor.name])) if tensor.name in given else tensor
        for tensor in problem.tensors
    )
    return replace(problem, tensors=tensors) if given else problem


def _conv(row: dict[str, Any], title: str) -> Problem:
    """H and W say how many zeros of the pad the last filters reach."""
    problem = conv2d(**{key: row[key] for key in _CONV_ARGUMENTS if key in row}, name=title)
    image = [whole(key, row[key], title) for key in ("H", "W") if key in row]
    return padded(problem, pair("pad", row.get("pad", 0), title, minimum=0), image if len(image) == 2 else None)


def _experts(row: dict[str, Any], where: str) -> Experts | None:
    """The experts of a row, which deals its M tokens out to them; None where it has none."""
    if "experts" not in row and "top_k" not in row:
        return None
    if "B" in row or not {"experts", "top_k"} <= row.keys():
        raise ProblemError("expected experts and top_k, both, and no B", where=where, hint="experts: 8, top_k: 2")
    every, top_k = whole("experts", row["experts"], where), whole("top_k", row["top_k"], where)
    if top_k > every:
        message = f"top_k is {top_k}, and there are {every} experts; expected as many at most"
        raise ProblemError(message, where=where, hint=f"each token goes to top_k of the experts: 1 to {every}")
    tokens = whole("M", row["M"], where) * top_k
    if tokens > every and tokens % every:
        message = f"{row['M']:,} tokens of {top_k} experts each are not dealt out evenly to {every} experts"
        hint = f"give a batch or a length for which tokens * {top_k} is a multiple of {every}, or not above {every}"
        raise ProblemError(message, where=where, hint=hint)
    return Experts(every, top_k, min(every, tokens))


def _gemm(row: dict[str, Any], title: str) -> Problem:
    batch = whole("B", row.get("B", 1), title)
    shape = {key: row[key] for key in ("M", "N", "K")}
    experts = _experts(row, title)
    if experts is not None:
        batch, shape["M"] = experts.at_work, row["M"] * experts.top_k // experts.at_work
    return gemm(**shape, name=title) if batch == 1 else batched_gemm(batch, **shape, name=title)


def _einsum(row: dict[str, Any], title: str) -> Problem:
    spec, sizes = _typed(row, "spec", str, title), _typed(row, "sizes", dict, title)
    try:
        return einsum(spec, sizes, name=title)
    except ProblemError as error:
        raise error.located(title) from None


def _operation(row: dict[str, Any], title: str) -> Problem:
    """A sum of products in the words of a cascade's operations."""
    text, sizes = _typed(row, "text", str, title), _typed(row, "sizes", dict, title)
    try:
        found = cascade(text, {str(index): size for index, size in sizes.items()})
    except ProblemError as error:
        raise error.located(title) from None
    (operation,) = found.operations
    if not operation.multiplies or operation.pads or operation.generations or found.others:
        hint = "write 'O[k,p] += I[c,2*p+r] * W[k,c,r]'"
        raise ProblemError(f"text is {text!r}, expected a sum of products without pads", where=title, hint=hint)
    return replace(operation.problem, name=title)


_BUILDERS = {"conv": _conv, "gemm": _gemm, "einsum": _einsum, "operation": _operation}
