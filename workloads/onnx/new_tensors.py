"""A model that is being changed: new tensors under names that no other has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import onnx


class NewTensors:
    """Gives a model new tensors.

    taken  names of tensors
    """

    def __init__(self, model: onnx.ModelProto) -> None:
        self.model, graph = model, model.graph
        self.taken = {name for node in graph.node for name in (*node.input, *node.output)}
        self.taken |= {tensor.name for tensor in graph.initializer} | {value.name for value in graph.input}

    @property
    def version(self) -> int:
        """Of the standard operators."""
        return max((one.version for one in self.model.opset_import if one.domain in ("", "ai.onnx")), default=1)

    def new_name(self, base: str) -> str:
        """A name that no tensor has."""
        found, number = base, 2
        while found in self.taken:
            found, number = f"{base}_{number}", number + 1
        self.taken.add(found)
        return found

    def stored(self, base: str, values: np.ndarray[Any, Any]) -> str:
        """A new parameter; its name."""
        from onnx import numpy_helper

        name = self.new_name(base)
        self.model.graph.initializer.append(numpy_helper.from_array(values, name))
        return name
