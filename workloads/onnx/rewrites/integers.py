"""Products of what DequantizeLinear makes, as sums of integers that are scaled once.

    Conv(Dequantize(x), Dequantize(w), Dequantize(b))      single(scale(x) * scale(w) * (ConvInteger(x, w) + b))
    MatMul(Dequantize(a), Dequantize(b))                   the same with MatMulInteger
    Gemm(Dequantize(a), Dequantize(b), Dequantize(c))      the same

What follows (Relu, Clip, QuantizeLinear) stays, and is done word by word. Sums of integers are exact, where floats of
single precision round each of their steps: results may differ from those of the floats in the last place.
QLinearConv is not used: it rounds when the zero point has been added, QuantizeLinear before, which differs at ties.
Additions and functions of dequantized tensors need no pass: they are done word by word, in single precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..shapes import attributes
from .edits import GraphEdit

if TYPE_CHECKING:
    import onnx

_PRODUCTS = ("Conv", "Gemm", "MatMul")
_TYPES = ("INT8", "UINT8")


@dataclass(frozen=True)
class _Quantized:
    """A tensor of integers, its scale and zero point; an empty name: there is none."""

    name: str
    scale: str
    zero: str


@dataclass
class _Product:
    """A product with quantized factors.

    bias   integers, if there is one
    """

    node: onnx.NodeProto
    factors: tuple[_Quantized, _Quantized]
    bias: str = ""


def quantized_to_integers(edit: GraphEdit) -> int:
    """Replace all such products; how many."""
    finder = _Finder(edit)
    found = [product for node in edit.nodes for product in [finder.product(node)] if product is not None]
    edit.replace({product.node.name: _Rewriting(edit, product).nodes() for product in found})
    return len(found)


class _Finder:
    """Looks for products with quantized factors."""

    def __init__(self, edit: GraphEdit) -> None:
        self.edit = edit
        self.makers, self.constants = edit.makers(), edit.constants()

    def product(self, node: onnx.NodeProto) -> _Product | None:
        """A node as a product of integers, if it is one."""
        if node.op_type not in _PRODUCTS or node.domain:
            return None
        given = attributes(node)
        if node.op_type == "Gemm" and (given.get("transA") or given.get("alpha", 1) != 1 or given.get("beta", 1) != 1):
            return None
        left, right = self.dequantized(node.input[0]), self.dequantized(node.input[1])
        if left is None or right is None or not self._scales_fit(node, left, right):
            return None
        found = _Product(node, (left, right))
        if len(node.input) > 2 and node.input[2]:
            bias = self.dequantized(node.input[2], ("INT32",))
            if bias is None or not self._is_scaled_alike(bias, left, right):
                return None
            found.bias = bias.name
        return found

    def dequantized(self, name: str, types: Sequence[str] = _TYPES) -> _Quantized | None:
        """What DequantizeLinear has made of integers."""
        from ..shapes import type_name

        node = self.makers.get(name)
        if node is None or node.op_type != "DequantizeLinear" or node.domain or attributes(node).get("block_size"):
            return None
        zero = node.input[2] if len(node.input) > 2 else ""
        is_single = type_name(self.edit.element_type(node.input[1])) == "FLOAT"
        if not is_single or not self.constants.issuperset(filter(None, (node.input[1], zero))):
            return None
        kind = type_name(self.edit.element_type(node.input[0]))
        return _Quantized(node.input[0], node.input[1], zero) if kind in types else None

    def _scales_fit(self, node: onnx.NodeProto, left: _Quantized, right: _Quantized) -> bool:
        """Whether the left factor has one scale, and the right one has one, or one for each filter or column."""
        if not self._is_one(left) or self._is_one(right):
            return self._is_one(left)
        if right.name not in self.constants:
            return False
        by_rows = node.op_type == "Conv" or (node.op_type == "Gemm" and bool(attributes(node).get("transB")))
        shape, maker = self.edit.shape(right.name), self.makers[node.input[1]]
        rank = len(shape or ())
        axis = attributes(maker).get("axis", 1) % max(rank, 1)
        return shape is not None and axis == (0 if by_rows else rank - 1) and self._zeros_are_one(right)

    def _is_one(self, one: _Quantized) -> bool:
        shapes = [self.edit.shape(name) for name in (one.scale, one.zero) if name]
        return all(shape is not None and all(size == 1 for size in shape) for shape in shapes)

    def _zeros_are_one(self, right: _Quantized) -> bool:
        """Several zero points are none: ONNX's reference does not read them for each filter or column alike."""
        if not right.zero:
            return True
        values = self.edit.array(right.zero)
        return values is not None and not values.any()

    def _is_scaled_alike(self, bias: _Quantized, left: _Quantized, right: _Quantized) -> bool:
        """Whether a bias has the scale of what it is added to, and no zero point."""
        import numpy as np

        scales = [self.edit.array(one.scale) for one in (bias, left, right)]
        zero = self.edit.array(bias.zero) if bias.zero else np.zeros(1)
        if zero is None or zero.any() or any(one is None for one in scales):
            return False
        own, first, second = (np.asarray(one, np.float64).ravel() for one in scales)
        if own.size not in (1, second.size):
            return False
        return bool(np.allclose(own, first * second, rtol=1e-5, atol=0))


class _Rewriting:
    """The nodes of one product."""

    def __init__(self, edit: GraphEdit, product: _Product) -> None:
        self.edit, self.product, self.found = edit, product, list[Any]()

    def nodes(self) -> list[onnx.NodeProto]:
        """In order; the last one makes what was made before."""
        from onnx import TensorProto

        node, (left, right) = self.product.node, self.product.factors
        weights = right.name
        if node.op_type == "Gemm" and attributes(node).get("transB"):
            weights = self._made("Transpose", "columns", weights, perm=[1, 0])
        scale = self._made("Mul", "scale", self._double(left.scale, "left"), self._double(right.scale, "right"))
        if node.op_type == "Conv" and self.edit.shape(right.scale) not in ((), (1,)):
            scale = self._made("Unsqueeze", "scales", scale, self._axes_behind())
        sums = self._double(self._summed(left, right, weights), "sums")
        scaled = self._made("Mul", "scaled", sums, scale)
        self._made("Cast", "single", scaled, output=node.output[0], to=TensorProto.FLOAT)
        return self.found

    def _double(self, name: str, what: str) -> str:
        from onnx import TensorProto

        return self._made("Cast", what, name, to=TensorProto.DOUBLE)

    def _summed(self, left: _Quantized, right: _Quantized, weights: str) -> str:
        """The product as integers of 32 bits, with the bias."""
        op = "ConvInteger" if self.product.node.op_type == "Conv" else "MatMulInteger"
        given = [left.name, weights, left.zero, right.zero]
        while not given[-1]:
            given.pop()
        summed = self._product(op, given)
        if not self.product.bias:
            return summed
        bias = self.product.bias
        if op == "ConvInteger":
            bias = self._made("Unsqueeze", "bias", bias, self._axes_behind())
        return self._made("Add", "sum", summed, bias)

    def _axes_behind(self) -> str:
        import numpy as np

        rank = len(self.edit.shape(self.product.node.input[1]) or (0,) * 4)
        return self.edit.stored(f"{self.product.node.name}.axes", np.arange(1, rank - 1))

    def _product(self, op: str, given: Sequence[str]) -> str:
        """The node that takes the product's place, under its name, with the windows of a convolution."""
        from onnx import helper

        node = self.product.node
        name = self.edit.new_name(f"{node.name}.{op}")
        made = helper.make_node(op, list(given), [name], name=node.name)
        if node.op_type == "Conv":
            made.attribute.extend(node.attribute)
        self.found.append(made)
        return name

    def _made(self, op: str, what: str, *given: str, output: str = "", **options: Any) -> str:
        from onnx import helper

        base = f"{self.product.node.name}.{what}"
        name = output or self.edit.new_name(base)
        self.found.append(helper.make_node(op, list(given), [name], name=self.edit.new_name(f"{base}.{op}"), **options))
        return name
