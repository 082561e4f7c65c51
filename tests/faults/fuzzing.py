"""How long the readers are fed with wrong input, in the measure of `longer.py`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import yaml
from hypothesis import settings

import longer
from tilewright import TilewrightError


def some(examples: int) -> settings:
    """Settings of a property that is tried on so many examples, or on a part of them by default."""
    return settings(max_examples=len(longer.seeds(examples)), deadline=10_000 if longer.TIMES == 1 else None)


def read_or_refused(read: Callable[[], Any]) -> Any:
    """What a reader makes of its input; None where it refuses it, in a message that can be printed. All else that
    it raises is a fault."""
    try:
        return read()
    except TilewrightError as error:
        refused = error
    assert refused.message
    assert len(str(refused)) < 5000, str(refused)[:200]
    return None


class _Tagged(yaml.CSafeLoader):
    """A loader that keeps Timeloop's tags as first members."""


_Tagged.add_multi_constructor("!", lambda loader, tag, node: {"TAG": tag} | loader.construct_mapping(node, deep=True))


def from_tagged(text: str) -> Any:
    """The tree of a YAML file, tags as first members of what they mark."""
    return yaml.load(text, Loader=_Tagged)


def to_tagged(text: str) -> str:
    """The file again: members that stand for tags as tags."""
    return re.sub(r"\bTAG: (\w+)$", r"!\1", text, flags=re.MULTILINE)


_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def as_yaml(data: Any) -> str:
    """A tree as a YAML file; texts that YAML would take for something else are quoted."""
    try:
        return str(yaml.dump(data, Dumper=_DUMPER, sort_keys=False, allow_unicode=True))
    except (yaml.YAMLError, ValueError):
        return repr(data)
