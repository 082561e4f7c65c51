"""The JSON Schema of mapping.json, as it is published: `schema/mapping-6.json`, one file for each version.

`python docs/make_schema.py` writes the file of the present version from the models of `mappings.py`. What a schema
can say, it says: keys, types, ranges. The reader refuses more: nests that do not cover their problem, names of nothing,
keys given twice, 16.0 where a whole number belongs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

SCHEMA_NAME: Final = "mapping-schema"
"""What `tilewright show` calls it."""


def schema_path(version: int) -> Path:
    """The file of a version."""
    return Path(__file__).parent / "schema" / f"mapping-{version}.json"


def network_plan_schema_path(version: int) -> Path:
    """The file of a version of plan.json of a network."""
    return Path(__file__).parent / "schema" / f"network-plan-{version}.json"


def schema_text() -> str:
    """The schema of the present version: JSON Schema, draft 2020-12."""
    from .files import SCHEMA_VERSION

    return schema_path(SCHEMA_VERSION).read_text(encoding="utf-8")
