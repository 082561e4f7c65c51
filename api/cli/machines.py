"""The architecture that `--arch` names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir import TilewrightError

if TYPE_CHECKING:
    from ..arch import Architecture


def architecture_named(name: str | None) -> Architecture:
    """The architecture that an option names; TilewrightError lists the library when it is missing."""
    from ..arch import list_archs, load_arch

    if name is None:
        hint = f"write --arch {list_archs()[0]}; the library has {', '.join(list_archs())}, and a YAML file will do too"
        raise TilewrightError("no architecture is given", where="--arch", hint=hint)
    return load_arch(name)
