"""The savings from zeros in a cost: means over all positions that the zeros may have (docs/sparse.md)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Operations:
    """The multiply-accumulates of a problem, divided into done, gated and skipped.

    done     those without a zero, or whose zeros nothing finds
    gated    left out without energy, and not without time
    skipped  left out without time as well
    """

    done: float
    gated: float
    skipped: float


@dataclass(frozen=True)
class TensorZeros:
    """The accesses of one tensor at one memory that remain when zeros are left out.

    format         how it is held there; "uncompressed": every word
    stored_words   of its tile in one instance that are held
    stored_metadata_bits  that say where these are
    gated, skipped words, read or written, that would pass but have no effect: without energy; without time as well
    metadata_bits  that pass with the words of all instances
    """

    format: str
    stored_words: float
    stored_metadata_bits: float
    gated: float
    skipped: float
    metadata_bits: float


@dataclass(frozen=True)
class Zeros:
    """The savings from zeros over a whole run.

    operations      multiply-accumulates that are done, gated and skipped
    dense_energy_pj, dense_latency_cycles  of the same mapping without zeros, whose tiles may be too large for its
                    memories
    """

    operations: Operations
    dense_energy_pj: float
    dense_latency_cycles: float
