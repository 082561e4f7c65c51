"""Products between DequantizeLinear and QuantizeLinear, as operations on integers.

    Quantize(Conv(Dequantize(x), Dequantize(w), Dequantize(b)))      QLinearConv(x, w, b)
    Quantize(MatMul(Dequantize(a), Dequantize(b)))                   QLinearMatMul(a, b)
    Quantize(Gemm(Dequantize(a), Dequantize(b), Dequantize(c)))      MatMulInteger(a, b) + c, scaled and rounded

A Relu or Clip before QuantizeLinear becomes one of integers: quantizing keeps order. What is not quantized again is
ConvInteger or MatMulInteger, scaled once. Sums of integers are exact, where floats of single precision round each of
their steps: results may differ from those of the floats in the last place, wherever these stood close to a tie.
Additions, products and functions of dequantized tensors need no pass: they are done word by word, in single precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .edits import GraphEdit, attributes

if TYPE_CHECKING:
    import onnx

_PRODUCTS = ("Conv", "Gemm", "MatMul")
_RANGES = {"INT8": (-128, 127), "UINT8": (0, 255)}


@dataclass(frozen=True)
class _Quantized:
    """A tensor of integers, its scale and zero point; an empty name: there is none."""

    name: str
    scale: str
    zero: str


@dataclass
class _Product:
    """A product with quantized factors, and what follows it.

    bias   integers, if there is one
    bound  a Relu or Clip
    last   QuantizeLinear
    """

    node: onnx.NodeProto
    factors: tuple[_Quantized, _Quantized]
    bias: str = ""
    bound: onnx.NodeProto | None = None
    last: onnx.NodeProto | None = None
    nodes: list[Any] = field(default_factory=list)

    @property
    def place(self) -> str:
        """The node whose place the new ones take."""
        return (self.last or self.node).name


def quantized_to_integers(edit: GraphEdit) -> int:
    """Replace all such products; how many."""
    finder = _Finder(edit)
    found = [product for node in edit.nodes for product in [finder.product(node)] if product is not None]
    changes: dict[str, Sequence[onnx.NodeProto]] = {}
    for product in found:
        for node in (product.node, product.bound, product.last):
            if node is not None:
                changes[node.name] = ()
        changes[product.place] = _Rewriting(edit, product).nodes()
    edit.replace(changes)
    return len(found)


class _Finder:
    """Looks for products with quantized factors."""

    def __init__(self, edit: GraphEdit) -> None:
        self.edit = edit
        self.makers, self.readers, self.constants = edit.makers(), edit.readers(), edit.constants()

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
        self._follow(found)
        return found

    def dequantized(self, name: str, types: Sequence[str] = tuple(_RANGES)) -> _Quantized | None:
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
        return shape is not None and axis == (0 if by_rows else rank - 1) and self._zeros_are_one(right, node)

    def _is_one(self, one: _Quantized) -> bool:
        shapes = [self.edit.shape(name) for name in (one.scale, one.zero) if name]
        return all(shape is not None and all(size == 1 for size in shape) for shape in shapes)

    def _zeros_are_one(self, right: _Quantized, node: onnx.NodeProto) -> bool:
        """Matrices have one zero point: ONNX leaves open what several mean to its reference."""
        if node.op_type == "Conv" or not right.zero:
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

    def _follow(self, found: _Product) -> None:
        """What follows a product: a Relu or Clip, and QuantizeLinear, each the only reader."""
        from ..shapes import type_name

        bound, after = None, self._only_reader(found.node)
        if after is not None and after.op_type in ("Relu", "Clip") and not after.domain:
            is_bounded = self.constants.issuperset(filter(None, after.input[1:])) and not attributes(after)
            bound, after = (after, self._only_reader(after)) if is_bounded else (None, None)
        if after is None or after.op_type != "QuantizeLinear" or len(after.input) < 3 or after.domain:
            return
        kind = type_name(self.edit.element_type(after.input[2]))
        one = self._is_one(_Quantized("", after.input[1], after.input[2]))
        if kind in _RANGES and one and self.constants.issuperset(after.input[1:]):
            found.bound, found.last = bound, after

    def _only_reader(self, node: onnx.NodeProto) -> onnx.NodeProto | None:
        readers = self.readers.get(node.output[0], [])
        return readers[0] if len(readers) == 1 and node.output[0] not in self.edit.results else None


class _Rewriting:
    """The nodes of one product."""

    def __init__(self, edit: GraphEdit, product: _Product) -> None:
        self.edit, self.product, self.found = edit, product, list[Any]()

    def nodes(self) -> list[onnx.NodeProto]:
        """In order; the last one makes what was made before."""
        product = self.product
        left, right = (self._with_zero(one) for one in product.factors)
        weights = right.name
        if product.node.op_type == "Gemm" and attributes(product.node).get("transB"):
            weights = self._made("Transpose", "columns", weights, perm=[1, 0])
        if product.last is None:
            self._scaled_once(left, right, weights)
            return self.found
        quantized = self._quantized(left, right, weights, "" if product.bound is not None else product.last.output[0])
        if product.bound is not None:
            self._bounded(quantized, product.bound, product.last)
        return self.found

    def _quantized(self, left: _Quantized, right: _Quantized, weights: str, output: str) -> str:
        last = self.product.last
        assert last is not None
        given = [left.name, left.scale, left.zero, weights, right.scale, right.zero, last.input[1], last.input[2]]
        if self.product.node.op_type == "Conv":
            bias = [self.product.bias] if self.product.bias else []
            return self._product("QLinearConv", [*given, *bias], output)
        if not self.product.bias:
            return self._product("QLinearMatMul", given, output)
        summed = self._summed(left, right, weights)
        joined = self._made("Div", "scale", self._made("Mul", "scales", left.scale, right.scale), last.input[1])
        scaled = self._made("Mul", "scaled", self._double(summed, "sums"), self._double(joined, "double_scale"))
        placed = self._made("Add", "placed", scaled, self._double(last.input[2], "double_zero"))
        kind = self.edit.element_type(last.input[2])
        rounded = self._made("Round", "rounded", self._made("Clip", "clipped", placed, *self._range(kind)))
        return self._made("Cast", "integers", rounded, output=output, to=kind)

    def _range(self, kind: int) -> list[str]:
        import numpy as np

        from ..shapes import type_name

        bounds = zip(("low", "high"), _RANGES[type_name(kind)], strict=True)
        return [self.edit.stored(f"{self.product.node.name}.{name}", np.array(float(end))) for name, end in bounds]

    def _double(self, name: str, what: str) -> str:
        from onnx import TensorProto

        return self._made("Cast", what, name, to=TensorProto.DOUBLE)

    def _summed(self, left: _Quantized, right: _Quantized, weights: str) -> str:
        """The product as integers of 32 bits, with the bias."""
        op = "ConvInteger" if self.product.node.op_type == "Conv" else "MatMulInteger"
        summed = self._product(op, [left.name, weights, left.zero, right.zero], "")
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

    def _scaled_once(self, left: _Quantized, right: _Quantized, weights: str) -> None:
        """Floats of the integers that are summed up."""
        from onnx import TensorProto

        node = self.product.node
        scale = self._made("Mul", "scale", left.scale, right.scale)
        if node.op_type == "Conv" and self.edit.shape(right.scale) not in ((), (1,)):
            scale = self._made("Unsqueeze", "scales", scale, self._axes_behind())
        floats = self._made("Cast", "floats", self._summed(left, right, weights), to=TensorProto.FLOAT)
        self._made("Mul", "scaled", floats, scale, output=node.output[0])

    def _bounded(self, quantized: str, bound: onnx.NodeProto, last: onnx.NodeProto) -> None:
        scale, zero = last.input[1:3]
        if bound.op_type == "Relu":
            self._made("Max", "relu", quantized, zero, output=last.output[0])
            return
        ends = [self._made("QuantizeLinear", "end", end, scale, zero) if end else "" for end in bound.input[1:]]
        self._made("Clip", "clip", quantized, *ends, output=last.output[0])

    def _with_zero(self, one: _Quantized) -> _Quantized:
        """With a zero point, which the operators ask for."""
        import numpy as np
        from onnx import helper

        if one.zero:
            return one
        kind = helper.tensor_dtype_to_np_dtype(self.edit.element_type(one.name))
        return _Quantized(one.name, one.scale, self.edit.stored(f"{one.name}.zero", np.zeros((), kind)))

    def _product(self, op: str, given: Sequence[str], output: str) -> str:
        """The node that takes the product's place, under its name, with the windows of a convolution."""
        from onnx import helper

        node = self.product.node
        name = output or self.edit.new_name(f"{node.name}.{op}")
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
