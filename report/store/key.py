"""The key that an answer is stored under: that of its question, and of the figures that an answer has."""

from __future__ import annotations

import hashlib
from dataclasses import fields
from typing import Final

from ...cost_models import Cost, MemoryUse, NetworkUse, TensorTraffic
from ...mapper.certificate import Certificate
from ...mapper.question import Question, canonical_json
from ..document_files import SCHEMA_VERSION

_PARTS = (Cost, MemoryUse, NetworkUse, TensorTraffic, Certificate)
FORMAT: Final = hashlib.sha256(
    canonical_json([SCHEMA_VERSION, *([field.name for field in fields(part)] for part in _PARTS)]).encode()
).hexdigest()[:12]
"""Of stored answers: it changes with the figures that a mapping.json has, so that none is read with some missing."""


def stored_key(question: Question) -> str:
    """SHA-256, in hexadecimal digits, of the key of the question and `FORMAT`."""
    return hashlib.sha256(f"{FORMAT} {question.key}".encode()).hexdigest()
