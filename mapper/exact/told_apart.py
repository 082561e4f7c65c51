"""Rows by the room that they take in memories which are still to hold something: those that take more are bounded
better (`bounds/rooms.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from .batch import Batch
from .context import SearchContext


def told_apart(context: SearchContext, batch: Batch) -> Iterator[Batch]:
    """The rows of a batch, in batches of which each has a state that says how much room its rows take."""
    rooms = context.bounds.rooms
    states, which = rooms.of_rows(batch.state, batch.path, batch.rows)
    for number, state in enumerate(states):
        rows = batch if len(states) == 1 else batch.take(np.flatnonzero(which == number))
        yield replace(rows, state=state, told=len(rooms.parts))
