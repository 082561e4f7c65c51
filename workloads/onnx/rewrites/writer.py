"""The nodes that take the place of another one, written one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..graph import WRITTEN_FOR, called_in_file
from .edits import GraphEdit

if TYPE_CHECKING:
    import numpy as np
    import onnx


class NodeWriter:
    """Writes nodes in the place of one node of a graph; their names begin with its name.

    nodes  those so far
    """

    def __init__(self, edit: GraphEdit, node: onnx.NodeProto) -> None:
        self.edit, self.node = edit, node
        self.nodes: list[onnx.NodeProto] = []

    def made(self, op: str, what: str, *given: str, **options: Any) -> str:
        """A node; the name of what it makes."""
        base = f"{self.node.name}.{what}"
        return self._added(op, self.edit.new_name(base), self.edit.new_name(f"{base}.{op}"), given, options)

    def product(self, op: str, *given: str, part: str = "", **options: Any) -> str:
        """A node that multiplies, under the name of the one that it stands for: with a part of it, where there are
        several."""
        name = f"{self.node.name}.{part}" if part else self.node.name
        return self._added(op, self.edit.new_name(f"{name}.product"), name, given, options)

    def end(self, op: str, *given: str, output: int = 0, **options: Any) -> str:
        """The node that makes what the other one made, under its name, if no product has that."""
        taken = any(node.name == self.node.name for node in self.nodes)
        name = self.edit.new_name(f"{self.node.name}.{op}") if taken else self.node.name
        return self._added(op, self.node.output[output], name, given, options)

    def _added(self, op: str, made: str, name: str, given: tuple[str, ...], options: dict[str, Any]) -> str:
        from onnx import helper

        while given and not given[-1]:
            given = given[:-1]
        self._append(helper.make_node(op, list(given), [made], name=name, **options))
        return made

    def _append(self, node: onnx.NodeProto) -> None:
        """Add a node that messages call by the one that the file has."""
        node.metadata_props.add(key=WRITTEN_FOR, value=called_in_file(self.node))
        self.nodes.append(node)

    def several(self, op: str, what: str, given: tuple[str, ...], results: list[str]) -> None:
        """A node that makes several tensors, under names that are new."""
        from onnx import helper

        name = self.edit.new_name(f"{self.node.name}.{what}")
        self._append(helper.make_node(op, list(given), results, name=name))

    def shape(self, *sizes: int) -> str:
        """A stored list of whole numbers."""
        import numpy as np

        return self.edit.stored(f"{self.node.name}.sizes", np.array(sizes, np.int64))

    def place(self, index: int) -> str:
        """A stored whole number."""
        import numpy as np

        return self.edit.stored(f"{self.node.name}.place", np.array(index, np.int64))

    def byte(self, value: int) -> str:
        """A stored byte."""
        import numpy as np

        return self.edit.stored(f"{self.node.name}.byte", np.array(value, np.uint8))

    def number(self, value: np.ndarray[Any, Any] | float, *, like: str) -> str:
        """Stored numbers of the type of a tensor, or of single precision."""
        import numpy as np
        from onnx import helper

        dtype = helper.tensor_dtype_to_np_dtype(self.edit.element_type(like) or 1)
        return self.edit.stored(f"{self.node.name}.number", np.asarray(value).astype(dtype))
