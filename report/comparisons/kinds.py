"""What kind of layer a layer is, for reports that say which dataflow suits which."""

from __future__ import annotations

from ...workloads import NetworkLayer

_WINDOW = ("P", "Q", "R", "S")


def layer_kind(layer: NetworkLayer) -> str:
    """A few words, such as "3x3 convolution", "depthwise convolution" or "matrix product".

    A matrix product with one row or column is a matrix-vector product; one without stored weights multiplies
    activations, as attention does.
    """
    sizes = layer.problem.sizes
    if all(dim in sizes for dim in _WINDOW):
        if sizes.get("G", 1) > 1:
            return "depthwise convolution" if sizes["K"] == sizes["C"] == 1 else "grouped convolution"
        return f"{sizes['R']}x{sizes['S']} convolution"
    if not all(dim in sizes for dim in ("M", "N", "K")):
        return "einsum"
    if not layer.is_weight:
        return "product of activations"
    return "matrix-vector product" if 1 in (sizes["M"], sizes["N"]) else "matrix product"
