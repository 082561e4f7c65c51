"""Writes report/schema/mapping-1.json (layers) and mapping-2.json (cascades) from the models that read mapping.json.

    python docs/make_schema.py

The models say which keys, types and ranges there are, the docstrings what they mean. What a pydantic model asks for and
does not put into its schema is added here: the keys by which it tells one kind of object from another must be there.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

from interface import entries_of, split_docstring
from tilewright.arch import Fanout, Memory
from tilewright.arch.spec import ArrayAxis, Keeps, Mac, Op
from tilewright.cost_models import Cost, MemoryUse, NetworkUse, TensorTraffic
from tilewright.cost_models.cascades import FusedCost, Held
from tilewright.mapper.certificate import Certificate
from tilewright.mapper.fusing import Unfused
from tilewright.report import cascade_documents, document_parts, documents
from tilewright.report.cascade_documents import FusedMappingDocument
from tilewright.report.document_files import CASCADE_SCHEMA_VERSION, SCHEMA_VERSION
from tilewright.report.documents import MappingDocument
from tilewright.report.mapping_schema import schema_path

DOCUMENTS: dict[int, type[BaseModel]] = {SCHEMA_VERSION: MappingDocument, CASCADE_SCHEMA_VERSION: FusedMappingDocument}
"""The model of each version: of layers, and of cascades."""

_COSTS = (Cost, FusedCost, Held, MemoryUse, NetworkUse, TensorTraffic, Certificate, Unfused)
_RECORDS = (Memory, Fanout, ArrayAxis, Keeps, Mac, Op, *_COSTS)
_MODULES = (documents, document_parts, cascade_documents)


def mapping_schema(version: int) -> dict[str, Any]:
    """The schema of a version."""
    model = DOCUMENTS[version]
    found = model.model_json_schema(ref_template="#/$defs/{model}")
    definitions = found.pop("$defs")
    named = [value for module in _MODULES for value in vars(module).values()]
    kinds = {kind.__name__: kind for kind in (*_RECORDS, *named) if isinstance(kind, type)}
    body = _cleaned(_described(found, model))
    parts = {_short(name): _cleaned(_described(part, kinds[name])) for name, part in sorted(definitions.items())}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:tilewright:mapping:{version}",
        "title": "mapping.json of tilewright",
        **body,
        "$defs": parts,
    }


def schema_file(version: int) -> str:
    """The text of the file."""
    return json.dumps(mapping_schema(version), indent=2, ensure_ascii=False) + "\n"


def _described(part: dict[str, Any], kind: type) -> dict[str, Any]:
    """An object with the texts of its docstring, and all keys that tell it from others."""
    texts = entries_of(kind)
    properties = part["properties"]
    for name, value in properties.items():
        if name not in texts:
            raise SystemExit(f"{kind.__name__}.{name} has no text: give it a line in the docstring")
        value["description"] = texts[name]
    paragraphs = [text for text in split_docstring(kind.__doc__ or "", list(properties)) if isinstance(text, str)]
    part["description"] = " ".join(paragraphs[0].split())
    tags = [name for name, value in properties.items() if "const" in value]
    required = dict.fromkeys([*tags, *part.get("required", ())])
    return part | {"required": [name for name in properties if name in required]}


def _cleaned(value: Any) -> Any:
    """Without titles that only repeat names, tags of another standard, and defaults of what must be there."""
    if isinstance(value, list):
        return [_cleaned(element) for element in value]
    if not isinstance(value, dict):
        return value
    dropped = {"title", "discriminator", *(["default"] if "const" in value else [])}
    kept = {key: _cleaned(member) for key, member in value.items() if key not in dropped}
    if "$ref" in kept:
        kept["$ref"] = f"#/$defs/{_short(kept['$ref'].rpartition('/')[2])}"
    return kept


def _short(name: str) -> str:
    return name.removeprefix("_").removesuffix("Part")


if __name__ == "__main__":
    for known in DOCUMENTS:
        schema_path(known).parent.mkdir(exist_ok=True)
        schema_path(known).write_text(schema_file(known), encoding="utf-8")
