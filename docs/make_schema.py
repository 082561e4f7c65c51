"""Writes the schemas (run/documents/schema/: mapping-6.json, network-plan-6.json, sharded-plan-1.json) from the models
that read mapping.json and plan.json of networks, on one device and on several.

    python docs/make_schema.py

The models say which keys, types and ranges there are, the docstrings what they mean. What a pydantic model asks for and
does not put into its schema is added here: the keys by which it tells one kind of object from another must be there.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from interface import entries_of, split_docstring
from tilewright.arch import Fanout, Memory
from tilewright.arch import keys as architecture_keys
from tilewright.arch.keys import ArchitectureKeys, AxisKeys, EstimateKeys, FanoutKeys, Keys, MacKeys, MemoryKeys, OpKeys
from tilewright.arch.spec import ArrayAxis, Keeps, Mac, Op
from tilewright.cost_models import Held, MemoryUse, NetworkUse, PortUse, TensorTraffic
from tilewright.cost_models.layouts import Lines
from tilewright.cost_models.zeros import Operations, TensorZeros, Zeros
from tilewright.mapper.answer import TriedForm, Unfused
from tilewright.mapper.certificate import Certificate, OpenPart, PartProof
from tilewright.run.documents import costs as document_costs
from tilewright.run.documents import mappings as documents
from tilewright.run.documents import network_plans as network_plan_document
from tilewright.run.documents import parts as document_parts
from tilewright.run.documents import sharded_plans as sharded_plan_document
from tilewright.run.documents import shifts as document_shifts
from tilewright.run.documents.files import (
    SCHEMA_VERSION,
    network_plan_schema_path,
    schema_path,
    sharded_plan_schema_path,
)
from tilewright.run.documents.mappings import MappingDocument
from tilewright.run.documents.network_plans import NETWORK_PLAN_VERSION, NetworkPlanDocument
from tilewright.run.documents.sharded_plans import SHARDED_PLAN_VERSION, ShardedPlanDocument

_COSTS = (
    *(Held, MemoryUse, PortUse, NetworkUse, TensorTraffic, Lines, Zeros, Operations, TensorZeros),
    *(Certificate, OpenPart, PartProof, Unfused, TriedForm),
)
_RECORDS = (Memory, Fanout, ArrayAxis, Keeps, Mac, Op, *_COSTS)
_MODULES = (
    *(documents, document_costs, document_parts, document_shifts),
    *(network_plan_document, sharded_plan_document, architecture_keys),
)


def mapping_schema() -> dict[str, Any]:
    """The schema of the present version of mapping.json."""
    return _schema(MappingDocument, f"mapping:{SCHEMA_VERSION}", "mapping.json of tilewright")


def network_plan_schema() -> dict[str, Any]:
    """The schema of plan.json of a network."""
    return _schema(NetworkPlanDocument, f"network-plan:{NETWORK_PLAN_VERSION}", "plan.json of a network, of tilewright")


def sharded_plan_schema() -> dict[str, Any]:
    """The schema of plan.json of a network on a system."""
    title = "plan.json of a network on a system, of tilewright"
    return _schema(ShardedPlanDocument, f"sharded-plan:{SHARDED_PLAN_VERSION}", title)


def architecture_schema_file() -> str:
    """The text of the schema of architecture files, for editors."""
    return _text(_without_null(_schema(ArchitectureKeys, "architecture", "An architecture file of tilewright")))


def _without_null(value: Any) -> Any:
    """A key that may be left out has no null in a file."""
    if isinstance(value, list):
        return [_without_null(one) for one in value if one != {"type": "null"}]
    if not isinstance(value, dict):
        return value
    kept = {key: _without_null(one) for key, one in value.items() if not (key == "default" and one is None)}
    if len(kept.get("anyOf", ())) == 1:
        kept |= kept.pop("anyOf")[0]
    return kept


def architecture_keys_page() -> str:
    """docs/architecture-keys.md."""
    parts = ["# Keys of an architecture file\n", _ABOUT_KEYS]
    for kind in (ArchitectureKeys, MemoryKeys, FanoutKeys, AxisKeys, MacKeys, OpKeys, EstimateKeys):
        paragraphs = [
            one for one in split_docstring(kind.__doc__ or "", list(kind.model_fields)) if isinstance(one, str)
        ]
        parts.append(f"## {_TITLES[kind]}\n\n{' '.join(paragraphs[0].split())}\n")
        rows = ["| key | what | such as |", "|---|---|---|"]
        texts = entries_of(kind)
        for name, field in kind.model_fields.items():
            must = " (must be there)" if field.is_required() else ""
            examples = ", ".join(f"`{one}`" for one in _examples(kind, name))
            rows.append(f"| `{name}` | {texts[name]}{must} | {examples} |")
        parts.append("\n".join(rows) + "\n")
    return "\n".join(parts)


def _examples(kind: type[Keys], name: str) -> list[str]:
    """Words or quantities that a key may have."""
    schema = kind.model_json_schema()["properties"][name]
    found = [schema, *schema.get("anyOf", ())]
    words = [word for one in found for word in (*one.get("enum", ()), *one.get("examples", ()))]
    shown = [json.dumps(word).replace('"', "") if isinstance(word, dict | list) else str(word) for word in words]
    return list(dict.fromkeys(shown))


_ABOUT_KEYS = """Made by `docs/make_schema.py` from the models in [arch/keys.py](../arch/keys.py). For editors there is
a [JSON Schema](../arch/architecture.schema.json), which `tilewright show architecture-schema` prints; a file that
begins with `# yaml-language-server: $schema=architecture.schema.json` is checked while it is written. A quantity may be
a formula in other fields ([docs/scaling.md](scaling.md)). `tilewright show eyeriss --yaml` prints a whole file.
"""
_TITLES: dict[type[Keys], str] = {
    ArchitectureKeys: "The file",
    MemoryKeys: "`memory`, a level",
    FanoutKeys: "`fanout`, a level",
    AxisKeys: "`x` and `y` of a fanout",
    MacKeys: "`mac`",
    OpKeys: "`ops` of the MAC",
    EstimateKeys: "`estimate`",
}


def _schema(model: type[BaseModel], name: str, title: str) -> dict[str, Any]:
    found = model.model_json_schema(ref_template="#/$defs/{model}")
    definitions = found.pop("$defs")
    named = [value for module in _MODULES for value in vars(module).values()]
    kinds = {kind.__name__: kind for kind in (*_RECORDS, *named) if isinstance(kind, type)}
    body = _cleaned(_described(found, model))
    parts = {_short(name): _cleaned(_described(part, kinds[name])) for name, part in sorted(definitions.items())}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:tilewright:{name}",
        "title": title,
        **body,
        "$defs": parts,
    }


def schema_file() -> str:
    """The text of the file of mapping.json."""
    return _text(mapping_schema())


def sharded_plan_schema_file() -> str:
    """The text of the file of plan.json of a system."""
    return _text(sharded_plan_schema())


def network_plan_schema_file() -> str:
    """The text of the file of plan.json."""
    return _text(network_plan_schema())


def _text(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


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


_RANGES = {"ge": "minimum", "le": "maximum", "gt": "exclusiveMinimum", "lt": "exclusiveMaximum"}
"""The standard's names of ranges that pydantic writes by its own where something else checks the value as well."""


def _cleaned(value: Any) -> Any:
    """Without titles that only repeat names, tags of another standard, and defaults of what must be there."""
    if isinstance(value, list):
        return [_cleaned(element) for element in value]
    if not isinstance(value, dict):
        return value
    dropped = {"title", "discriminator", *(["default"] if "const" in value else [])}
    named = {key: _RANGES.get(key, key) if isinstance(value[key], int | float) else key for key in value}
    kept = {named[key]: _cleaned(member) for key, member in value.items() if key not in dropped}
    if "$ref" in kept:
        kept["$ref"] = f"#/$defs/{_short(kept['$ref'].rpartition('/')[2])}"
    return kept


def _short(name: str) -> str:
    return name.removeprefix("_").removesuffix("Part")


if __name__ == "__main__":
    schema_path(SCHEMA_VERSION).write_text(schema_file(), encoding="utf-8")
    network_plan_schema_path(NETWORK_PLAN_VERSION).write_text(network_plan_schema_file(), encoding="utf-8")
    sharded_plan_schema_path(SHARDED_PLAN_VERSION).write_text(sharded_plan_schema_file(), encoding="utf-8")
    architecture_keys.SCHEMA.write_text(architecture_schema_file(), encoding="utf-8")
    (Path(__file__).parent / "architecture-keys.md").write_text(architecture_keys_page(), encoding="utf-8")
