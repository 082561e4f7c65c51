"""The page of a legality proof: what was proven, and the tiles as sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group
from rich.table import Table

from ...arch import Architecture
from ...ir import Mapping
from ...ir.units import count
from ...mapper.legality import Claim, TileSet
from ..parts.text import architecture_rows, columns, pairs, section
from ..parts.work import work_rows


def legality_page(mapping: Mapping, arch: Architecture, claims: Sequence[Claim], tiles: Sequence[TileSet]) -> Group:
    """The claims, proven or refuted, and the first two tiles of every storage node."""
    return Group(
        pairs([*work_rows(mapping.problem), *architecture_rows(arch)]),
        section("Proof, by integer sets", claim_rows(claims)),
        section("Tiles, in distinct words", _tile_table(tiles)),
    )


def legality_data(mapping: Mapping, claims: Sequence[Claim], tiles: Sequence[TileSet]) -> dict[str, Any]:
    """The same for programs."""
    return {
        "layer": mapping.problem.name,
        "legal": all(claim.proven for claim in claims),
        "claims": [asdict(claim) for claim in claims],
        "tiles": [asdict(tile) for tile in tiles],
    }


def claim_rows(claims: Sequence[Claim]) -> Table:
    """A row for each claim; refuted ones say so."""
    return pairs([(claim.name, claim.text if claim.proven else f"REFUTED: {claim.text}") for claim in claims])


def _tile_table(tiles: Sequence[TileSet]) -> Table:
    table = columns(("memory", "tensor"), ("first tile", "new in the next"))
    table.add_column("which comes with", no_wrap=True)
    memory = ""
    for tile in tiles:
        new = "-" if tile.next_words is None else count(tile.next_words)
        shown = "" if tile.memory == memory else tile.memory
        table.add_row(shown, tile.tensor, count(tile.words), new, tile.next_loop)
        memory = tile.memory
    return table
