"""The part of an emitted numpy program that packs operands with zeros: their nonzero words, and where these are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# ---- packed operands -------------------------------------------------------------------------------------------------


class PackedBlocks(NamedTuple):
    """Of every `block` neighbours along an axis as many words as fit, each with its place among them; words that are
    missing are zeros. The axis stands last in both arrays, as blocks and words in a block."""

    words: np.ndarray
    places: np.ndarray
    axis: int
    block: int
    length: int


class PackedBits(NamedTuple):
    """A bit for every word, and the words whose bit is set, in the order of the array."""

    words: np.ndarray
    bits: np.ndarray
    shape: tuple[int, ...]


class PackedZeros(NamedTuple):
    """Of an operand, how many words are nonzero: `kept` of every `block` along an axis; or, where block is 0, a share
    of all."""

    share: float
    kept: int
    block: int
    axis: int


def with_zeros(array: np.ndarray, zeros: PackedZeros, seed: int) -> np.ndarray:
    """The array with zeros at random places."""
    rng = np.random.default_rng(seed)
    if not zeros.block:
        return np.where(rng.random(array.shape) < zeros.share, array, 0)
    moved = np.moveaxis(array, zeros.axis, -1)
    chosen = np.zeros(moved.shape, dtype=bool)
    for start in range(0, moved.shape[-1], zeros.block):
        part = rng.random(moved[..., start : start + zeros.block].shape)
        chosen[..., start : start + zeros.block] = part.argsort(axis=-1).argsort(axis=-1) < zeros.kept
    return np.moveaxis(np.where(chosen, moved, 0), -1, zeros.axis)


def packed(array: np.ndarray, zeros: PackedZeros) -> PackedBlocks | PackedBits:
    """The words of an array that are not zero, and where they are."""
    if not zeros.block:
        return PackedBits(array[array != 0], np.packbits(array.reshape(-1) != 0), array.shape)
    moved = np.moveaxis(array, zeros.axis, -1)
    length = moved.shape[-1]
    missing = -length % zeros.block
    whole = np.concatenate([moved, np.zeros((*moved.shape[:-1], missing), array.dtype)], axis=-1)
    blocks = whole.reshape(*moved.shape[:-1], -1, zeros.block)
    if ((blocks != 0).sum(axis=-1) > zeros.kept).any():
        raise ValueError(f"more than {zeros.kept} of {zeros.block} neighbours are nonzero")
    places = np.argsort(blocks == 0, axis=-1, kind="stable")[..., : zeros.kept]
    words = np.take_along_axis(blocks, places, axis=-1)
    return PackedBlocks(words, places.astype(np.uint8), zeros.axis, zeros.block, length)


def unpacked(operand: np.ndarray | PackedBlocks | PackedBits) -> np.ndarray:
    """An operand as it comes out of the outermost memory: every word in its place."""
    if isinstance(operand, PackedBits):
        found = np.zeros(operand.shape, operand.words.dtype)
        found.reshape(-1)[np.unpackbits(operand.bits, count=found.size).astype(bool)] = operand.words
        return found
    if isinstance(operand, PackedBlocks):
        blocks = np.zeros((*operand.words.shape[:-1], operand.block), operand.words.dtype)
        np.put_along_axis(blocks, operand.places.astype(np.int64), operand.words, axis=-1)
        lines = blocks.reshape(*blocks.shape[:-2], -1)[..., : operand.length]
        return np.moveaxis(lines, -1, operand.axis)
    return operand
