"""ONNX files: reading, and all that has to be done to a model before its shapes can be known.

Stored parameters are not looked at: large ones are dropped, and those in files of their own need not be there.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...ir import ProblemError, did_you_mean, need_package
from ...ir.files import missing_file

if TYPE_CHECKING:
    import onnx

SMALL = 4096
"""Elements up to which a stored parameter is kept: shapes and indices are far below, weights far above."""

STANDARD = ("", "ai.onnx")

_OWN_PARAMETERS = 4
"""The version of the format since which parameters need not be inputs: onnx infers no shapes from others before."""

MOST_NODES = 200_000
"""Of a model when its functions are written out; the largest exports have some ten thousand."""


def read_model(path: Path, dims: Given, *, with_weights: bool = False) -> onnx.ModelProto:
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
    model.ir_version = max(model.ir_version, _OWN_PARAMETERS)
    return model


def open_names(path: Path) -> tuple[dict[str, list[str]], set[str]]:
    """The symbolic dimensions of the inputs of a file with the axes at which each stands; and all names that sizes and
    values may be given by: these, axes and inputs. Raises ProblemError as `read_model` does."""
    check_installed()
    model = _parsed(path)
    places = _places(model)
    axes = {axis for each in places.values() for axis in each}
    return places, {*places, *axes, *(value.name for value in _open_inputs(model))}


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


@dataclass(frozen=True)
class FixedInput:
    """The value that an input has in every run, as the user gives it: a number, or lists of them."""

    value: object

    def __str__(self) -> str:
        return str(self.value)


Given = Mapping[str, "int | FixedInput"]
"""Sizes of symbols, and values of inputs, by name."""


def set_symbols(model: onnx.ModelProto, dims: Given, where: str) -> None:
    """Replace symbols in all shapes that the file states; those of the inputs must all be given. Inputs of given values
    become parameters.

    An axis of an input goes by its symbol, or as `input.axis`, such as data.0: by that alone where it has neither size
    nor symbol, and in place of its symbol where both are given. A number for what is an input is its value.
    """
    inputs = {value.name for value in _open_inputs(model)} - set(_places(model))
    fixed = {name: one for name, one in dims.items() if isinstance(one, FixedInput)}
    fixed |= {name: FixedInput(one) for name, one in dims.items() if name in inputs and name not in fixed}
    _fix_inputs(model, fixed, where)
    sizes = {name: one for name, one in dims.items() if name not in fixed and not isinstance(one, FixedInput)}
    for symbol, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ProblemError(f"{symbol} is {size!r}, expected a whole number, 1 or more", where=f"{where}: dims")
    places = _places(model)
    axes = [axis for each in places.values() for axis in each]
    for symbol in sizes:
        if symbol not in places and symbol not in axes:
            known = did_you_mean(symbol, [*places, *axes]) if places else "its inputs have no symbols"
            raise ProblemError(f"unknown dimension {symbol!r}", where=where, hint=known)
    for value in _open_inputs(model):
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.dim_param and f"{value.name}.{axis}" in sizes:
                dim.dim_value = sizes[f"{value.name}.{axis}"]
    missing = {symbol: at for symbol, at in _places(model).items() if symbol not in sizes}
    if missing:
        raise missing_sizes(missing, where, _size_that_works(model, sizes))
    for value in (*model.graph.input, *model.graph.value_info, *model.graph.output):
        _replace(value, sizes)


def _fix_inputs(model: onnx.ModelProto, fixed: Mapping[str, FixedInput], where: str) -> None:
    import numpy as np
    from onnx import helper, numpy_helper

    inputs = {value.name: value for value in _open_inputs(model)}
    for name, one in fixed.items():
        if name not in inputs:
            raise ProblemError(f"unknown input {name!r}", where=where, hint=did_you_mean(name, inputs))
        tensor = inputs[name].type.tensor_type
        dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        try:
            stated = np.asarray(one.value)
            values = stated.astype(dtype)
        except (TypeError, ValueError):
            raise ProblemError(f"input {name} is {one.value!r}, expected numbers", where=where) from None
        if stated.dtype.kind not in "biuf" or (values != stated).any():
            raise ProblemError(f"input {name} is {one.value!r}, expected words of type {dtype}", where=where)
        sizes = [dim.dim_value if dim.dim_value > 0 else None for dim in tensor.shape.dim]
        if values.size == 1 and all(size in (1, None) for size in sizes):
            values = values.reshape([1] * len(sizes))
        fits = values.ndim == len(sizes) and all(m in (n, None) for n, m in zip(values.shape, sizes, strict=True))
        if not fits:
            stands = " x ".join("?" if size is None else str(size) for size in sizes) or "one number"
            found = " x ".join(map(str, values.shape)) or "one number"
            raise ProblemError(f"input {name} is given as {found}, expected {stands}", where=where)
        model.graph.input.remove(inputs[name])
        model.graph.initializer.append(numpy_helper.from_array(values, name))


def _places(model: onnx.ModelProto) -> dict[str, list[str]]:
    """By symbol the axes of inputs at which it stands, as `input.axis`."""
    found: dict[str, list[str]] = {}
    for value in _open_inputs(model):
        symbols = _symbols_of(value)
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.dim_param in symbols and not dim.dim_value:
                found.setdefault(dim.dim_param, []).append(f"{value.name}.{axis}")
    return found


_TRIED = (64, 32, 48, 96, 128, 160, 224, 256, 512, 640, 1024, 16_000, 16, 8, 4, 2, 1)


def _size_that_works(model: onnx.ModelProto, sizes: Mapping[str, int]) -> int | None:
    """The first of some sizes with which onnx infers shapes, all open symbols that stand at no first axis having it."""
    from onnx import shape_inference

    for size in _TRIED:
        copy = type(model)()
        copy.CopyFrom(model)
        places = _places(copy)
        tried = {symbol: 1 if at[0].endswith(".0") else size for symbol, at in places.items()}
        for value in (*copy.graph.input, *copy.graph.value_info, *copy.graph.output):
            _replace(value, {**tried, **sizes})
        try:
            found = shape_inference.infer_shapes(copy, check_type=False, strict_mode=True, data_prop=True)
        except (shape_inference.InferenceError, RuntimeError, ValueError):
            continue
        made = (dim for value in found.graph.value_info for dim in value.type.tensor_type.shape.dim)
        if all(dim.dim_value > 0 or not dim.HasField("dim_value") for dim in made):
            return size
    return None


def missing_sizes(symbols: Mapping[str, Sequence[str]], where: str, size: int | None = None) -> ProblemError:
    """The error for symbols without a size, with all that has to be written.

    symbols  each with the axes at which it stands
    size     one that works for all that stand at no first axis
    """
    tried = {symbol: 1 if not size or not at or at[0].endswith(".0") else size for symbol, at in symbols.items()}
    options = " ".join(f"--dim {shlex.quote(f'{symbol}={one}')}" for symbol, one in tried.items())
    members = ", ".join(f'"{symbol}": {one}' for symbol, one in tried.items())
    stands = [axes if axes != [symbol] else [] for symbol, axes in symbols.items()]
    at = [f"{s} ({' and '.join(axes)})" if axes else s for s, axes in zip(symbols, stands, strict=True)]
    message = f"the size of {', '.join(at)} is not given"
    several = next((symbol for symbol, axes in symbols.items() if len(axes) > 1), None)
    apart = f"; of axes that differ, {symbols[several][0]}={tried[several]} alone" if several else ""
    return ProblemError(message, where=where, hint=f"{options}, or dims={{{members}}}{apart}")


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
