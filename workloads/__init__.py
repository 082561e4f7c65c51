"""Layers and networks as problems: convolutions, matrix products, einsums, and tables of whole networks."""

from .cascades import cascade, cascade_from_texts, load_cascade
from .einsum import einsum
from .inline import conv_from_text, einsum_from_text, gemm_from_text, parse_sizes
from .layers import batched_gemm, conv2d, convolution, gemm, padded
from .network import ONNX, Network, NetworkLayer
from .network_cascades import cascade_of, names_cascade, resolve_cascade
from .networks import list_networks, load_layer, load_network
from .operations import read_expression

__all__ = [
    "ONNX",
    "Network",
    "NetworkLayer",
    "batched_gemm",
    "cascade",
    "cascade_from_texts",
    "cascade_of",
    "conv2d",
    "conv_from_text",
    "convolution",
    "einsum",
    "einsum_from_text",
    "gemm",
    "gemm_from_text",
    "list_networks",
    "load_cascade",
    "load_layer",
    "load_network",
    "names_cascade",
    "padded",
    "parse_sizes",
    "read_expression",
    "resolve_cascade",
]
