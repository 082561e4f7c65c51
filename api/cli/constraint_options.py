"""What `--dataflow`, `--constraints` and `--constraint` ask for, together."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..mapper.constraints.files import ConstraintSource


def constraint_sources(dataflow: str | None, file: Path | None, lines: Iterable[str]) -> list[ConstraintSource]:
    """The sources that the options name, still to be resolved for a layer and an architecture.

    Raises ConstraintError for a dataflow that does not exist and a line that cannot be read.
    """
    from ..mapper.constraints.files import dataflow_text
    from ..mapper.constraints.inline import parse_inline

    sources: list[ConstraintSource] = []
    if dataflow is not None:
        dataflow_text(dataflow)
        sources.append(dataflow)
    if file is not None:
        sources.append(file)
    return [*sources, *map(parse_inline, lines)]
