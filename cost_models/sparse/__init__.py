"""Sparse operands: densities of tensors, formats, what gating and skipping save (docs/sparse.md)."""
