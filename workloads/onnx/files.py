"""ONNX files: reading, and all that has to be done to a model before its shapes can be known.

Stored parameters are not looked at: large ones are dropped, and those in files of their own need not be there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...ir import ProblemError, did_you_mean, need_package
from ...ir.files import missing_file

if TYPE_CHECKING:
    import onnx

SMALL = 4096
"""Elements up to which a stored parameter is kept: shapes and indices are far below, weights far above."""

STANDARD = ("", "ai.onnx")

MOST_NODES = 200_000
"""Of a model when its functions are written out; the largest exports have some ten thousand."""


def read_model(path: Path, dims: Mapping[str, int], *, with_weights: bool = False) -> onnx.ModelProto:
    """The model, its functions inlined and its symbolic dimensions replaced by `dims`; large parameters without their
    data, unless asked for.

    Raises ProblemError: a file that cannot be read or is no ONNX model, an operator set that the installed onnx does
    not know, symbols that are missing or unknown.
    """
    check_installed()
    from onnx import checker, inliner

    model = _parsed(path)
    _check_operator_sets(model, str(path))
    if not with_weights:
        _drop_weights(model)
    if model.functions:
        _check_expansion(model, str(path))
        try:
            model = inliner.inline_local_functions(model)
        except (RuntimeError, ValueError, checker.ValidationError) as error:
            message = f"onnx cannot inline its functions: {' '.join(str(error).split())}"
            raise ProblemError(message, where=str(path)) from None
    set_symbols(model, dims, str(path))
    return model


def symbols_of(path: Path) -> tuple[str, ...]:
    """The symbolic dimensions of the inputs of a file, each once. Raises ProblemError as `read_model` does."""
    check_installed()
    return tuple(dict.fromkeys(symbol for value in _open_inputs(_parsed(path)) for symbol in _symbols_of(value)))


def check_installed() -> None:
    """TilewrightError unless the packages of the extra `onnx` are there."""
    for package in ("onnx", "networkx"):
        need_package(package, "onnx", "onnx")


def _parsed(path: Path) -> onnx.ModelProto:
    import onnx
    from google.protobuf.message import DecodeError

    try:
        model = onnx.load(str(path), format="protobuf", load_external_data=False)
    except FileNotFoundError:
        raise ProblemError(missing_file(path), where=str(path)) from None
    except OSError as error:
        raise ProblemError(f"cannot be read: {error.strerror or error}", where=str(path)) from None
    except DecodeError:
        hint = "expected a protobuf file as exporters write it; was it cut short, or is it a text or a Git LFS pointer?"
        raise ProblemError("not an ONNX model", where=str(path), hint=hint) from None
    if any(isinstance(text, bytes) for text in _texts(model)):
        raise ProblemError("a name in it is not UTF-8", where=str(path), hint="the file is damaged")
    if not model.ir_version or not model.graph.node:
        hint = "expected a protobuf file as exporters write it, with at least one node"
        raise ProblemError("not an ONNX model, or an empty one", where=str(path), hint=hint)
    return model


def _texts(model: onnx.ModelProto) -> Iterator[object]:
    """All names that matter; protobuf hands over what is not UTF-8 as bytes."""
    for node in model.graph.node:
        yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
        yield from (attribute.name for attribute in node.attribute)
    for value in (*model.graph.input, *model.graph.value_info, *model.graph.output):
        yield from (value.name, *(dim.dim_param for dim in value.type.tensor_type.shape.dim))
    yield from (tensor.name for tensor in model.graph.initializer)
    yield from (model.producer_name, model.producer_version, *(entry.domain for entry in model.opset_import))


def _check_expansion(model: onnx.ModelProto, where: str) -> None:
    """ProblemError for functions that call themselves, or that are more than MOST_NODES nodes when written out: counted
    before anything is, each function once."""
    bodies = {(f.domain, f.name, f.overload): list(_all_nodes(f.node)) for f in model.functions}
    sizes: dict[tuple[str, str, str], int] = {}
    main = list(_all_nodes(model.graph.node))
    for name in bodies:
        waiting = [name]
        while waiting:
            called = [key for node in bodies[waiting[-1]] if (key := _called(node)) in bodies]
            unknown = next((key for key in called if key not in sizes), None)
            if unknown is None:
                done = waiting.pop()
                sizes[done] = len(bodies[done]) + sum(sizes[key] for key in called)
            elif unknown in waiting:
                raise ProblemError(f"the function {unknown[1]} calls itself", where=where)
            else:
                waiting.append(unknown)
    total = len(main) + sum(sizes.get(_called(node), 0) for node in main)
    if total > MOST_NODES:
        message = f"its functions are {total:,} nodes when they are written out, expected {MOST_NODES:,} at most"
        raise ProblemError(message, where=where)


def _called(node: onnx.NodeProto) -> tuple[str, str, str]:
    """By which key a node's function would be known."""
    return node.domain, node.op_type, node.overload


def _all_nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """Nodes, and those of the graphs that they hold."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield node
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                waiting += graph.node


def _check_operator_sets(model: onnx.ModelProto, where: str) -> None:
    from onnx.defs import onnx_opset_version

    versions = [entry.version for entry in model.opset_import if entry.domain in STANDARD]
    newest = onnx_opset_version()
    if not versions and all(node.domain not in STANDARD for node in model.graph.node):
        return
    if not versions:
        raise ProblemError("no version of the standard operators is stated", where=where)
    if not 1 <= versions[0] <= newest:
        message = f"operator set {versions[0]}, expected 1 to {newest}"
        raise ProblemError(message, where=where, hint="install a newer onnx, or export for an older operator set")


def _drop_weights(model: onnx.ModelProto) -> None:
    for tensor in model.graph.initializer:
        if math.prod(tensor.dims) > SMALL:
            for kept in ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data"):
                tensor.ClearField(kept)


def set_symbols(model: onnx.ModelProto, dims: Mapping[str, int], where: str) -> None:
    """Replace symbols in all shapes that the file states; those of the inputs must all be given.

    An axis of an input that has neither size nor symbol is called `input.axis`, such as data.0.
    """
    for symbol, size in dims.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ProblemError(f"{symbol} is {size!r}, expected a whole number, 1 or more", where=f"{where}: dims")
    symbols = [symbol for value in _open_inputs(model) for symbol in _symbols_of(value)]
    for symbol in dims:
        if symbol not in symbols:
            known = did_you_mean(symbol, dict.fromkeys(symbols)) if symbols else "its inputs have no symbols"
            raise ProblemError(f"unknown dimension {symbol!r}", where=where, hint=known)
    missing = [symbol for symbol in dict.fromkeys(symbols) if symbol not in dims]
    if missing:
        raise missing_sizes(missing, where)
    for value in (*model.graph.input, *model.graph.value_info, *model.graph.output):
        _replace(value, dims)


def missing_sizes(symbols: Sequence[str], where: str) -> ProblemError:
    """The error for symbols without a size, with all that has to be written."""
    options = " ".join(f"--dim {symbol}=1" for symbol in symbols)
    members = ", ".join(f'"{symbol}": 1' for symbol in symbols)
    message = f"the size of {', '.join(symbols)} is not given"
    return ProblemError(message, where=where, hint=f"{options}, or dims={{{members}}}")


def _open_inputs(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    """The inputs that are no stored parameters."""
    stored = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in stored]


def _symbols_of(value: onnx.ValueInfoProto) -> list[str]:
    """Symbols of an input in order, after axes without a size were given one."""
    found = []
    for axis, dim in enumerate(value.type.tensor_type.shape.dim):
        if not dim.dim_param and dim.dim_value < 1:
            dim.dim_param = f"{value.name}.{axis}"
        if dim.dim_param:
            found.append(dim.dim_param)
    return found


def _replace(value: onnx.ValueInfoProto, dims: Mapping[str, int]) -> None:
    """Sizes for symbols. Others (`2*batch`) are forgotten, for shape inference to find out."""
    for dim in value.type.tensor_type.shape.dim:
        if dim.dim_param in dims:
            dim.dim_value = dims[dim.dim_param]
        elif dim.dim_param:
            dim.Clear()
