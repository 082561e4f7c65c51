"""The key that an answer is stored under: that of its question, and of the figures that an answer has."""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace
from typing import Final, Literal, TypeAlias

from ...cost_models import MemoryUse, NetworkUse, PortUse, TensorTraffic
from ...cost_models.cascades import Held
from ...mapper.answer import TriedForm, Unfused
from ...mapper.certificate import Certificate
from ...mapper.question import AnyQuestion, canonical_json, is_about_cascade
from ..documents.costs import CascadeCostPart, CostPart
from ..documents.files import SCHEMA_VERSION


def _format(version: int, *parts: type) -> str:
    names = [list(part.__annotations__) for part in parts]
    return hashlib.sha256(canonical_json([version, *names]).encode()).hexdigest()[:12]


_PARTS = (CostPart, MemoryUse, PortUse, NetworkUse, TensorTraffic, Certificate)
FORMAT: Final = _format(SCHEMA_VERSION, *_PARTS)
"""Of stored answers: it changes with the figures that a mapping.json has, so that none is read with some missing."""

CASCADE_FORMAT: Final = _format(SCHEMA_VERSION, *_PARTS, CascadeCostPart, Held, Unfused, TriedForm)
"""The same of answers to questions about cascades."""


Part: TypeAlias = Literal["tree", "searches"]
"""Of what is known of a group of a network: the best tree, or what searches for trees came to."""


def stored_key(question: AnyQuestion, part: Part | None = None) -> str:
    """SHA-256, in hexadecimal digits, of the key of the question and the format of its answers.

    part  of what is known of the cascade as a group of networks, whatever was of interest and however long it took
    """
    if is_about_cascade(question):
        apart = "" if part is None else f" {part}"
        anything = question if part is None else replace(question, below=math.inf)
        text = f"{CASCADE_FORMAT}{apart} {anything.key}"
    else:
        text = f"{FORMAT} {question.key}"
    return hashlib.sha256(text.encode()).hexdigest()
