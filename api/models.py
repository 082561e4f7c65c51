"""Networks as calls take them: by name, by path, or a model in memory."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, TypeAlias, Union

from .inputs import checks
from .ir import ProblemError
from .workloads import Network
from .workloads.network import Sizes, Widths
from .workloads.networks import network_at

if TYPE_CHECKING:
    import onnx

NetworkLike: TypeAlias = Union[Network, str, os.PathLike[str], bytes, "onnx.ModelProto"]
"""A network, its name, the path of a table or an ONNX file, or an ONNX model: its bytes, or as onnx has it."""


def as_network(given: NetworkLike, sizes: Sizes, widths: Widths, inputs: Mapping[str, object] | None = None) -> Network:
    """The network that an argument stands for. A model in memory is kept in a file until this process ends, since its
    parameters are read when a program asks for them.

    Raises ProblemError as `load_network` does.
    """
    if isinstance(given, Network):
        for name, one in (("dims", sizes), ("inputs", inputs)):
            if one:
                hint = f"give {name} to load_network, or its file to this call"
                raise ProblemError(f"{name} are given beside a network that has been read", where=name, hint=hint)
        return given
    written = given if isinstance(given, bytes) else _written(given)
    if written is None:
        checked = checks.path(given, "the network", "a network's name or the path of its file", ProblemError)
        return network_at(checked, sizes, widths, inputs)
    path = _folder() / hashlib.sha256(written).hexdigest()[:16] / "model.onnx"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(written)
    try:
        return network_at(path, sizes, widths, inputs)
    except ProblemError as error:
        where = (error.where or "").replace(str(path), "the model")
        raise ProblemError(error.message, where=where, hint=error.hint) from None


def _written(given: object) -> bytes | None:
    """The bytes of a model as onnx has it; None for anything else."""
    if not hasattr(given, "SerializeToString"):
        return None
    try:
        return bytes(given.SerializeToString())
    except ValueError as error:  # of more than protobuf writes
        message = f"onnx cannot write it: {' '.join(str(error).split())}"
        raise ProblemError(message, where="the model", hint="save it with its data in a file of its own") from None


@cache
def _folder() -> Path:
    """Where models in memory are kept until this process ends."""
    folder = mkdtemp(prefix="tilewright-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
