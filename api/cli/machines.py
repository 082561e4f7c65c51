"""The architecture that `--arch` names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..ir import TilewrightError, Work
from .options import ArchOption, SetOption, by_name

if TYPE_CHECKING:
    from ..arch import Architecture


@dataclass(frozen=True)
class MachineOptions:
    """The architecture."""

    arch: ArchOption = None
    set_fields: SetOption = None

    def named(self) -> Architecture:
        """The architecture, with fields set; TilewrightError lists the library when it is missing."""
        return architecture_named(self.arch, self.set_fields)


def architecture_named(name: str | None, settings: Iterable[str] | None = None) -> Architecture:
    """The architecture that an option names, with fields set; TilewrightError lists the library when it is missing."""
    from ..arch import list_archs, load_arch

    chosen = settings_named(settings or ())
    if name is None:
        hint = f"write --arch {list_archs()[0]}; the library has {', '.join(list_archs())}, and a YAML file will do too"
        raise TilewrightError("no architecture is given", where="--arch", hint=hint)
    return load_arch(name, chosen)


def laid_out(arch: Architecture, work: Work, texts: Iterable[str] | None) -> Architecture:
    """The architecture with the layouts of `--layout TENSOR=LAYOUT`."""
    if not texts:
        return arch
    from ..arguments import laid_out as with_texts

    expected = "TENSOR=LAYOUT; or any, row-major or column-major for all tensors"
    every = (f"all={text}" if text in ("any", "row-major", "column-major") else text for text in texts)
    given = by_name(every, "--layout", expected, "write O=NHWC")
    try:
        return with_texts(arch, work, {tensor: layout or "" for tensor, layout in given.items()})
    except TilewrightError as error:
        raise error.located("--layout") from None


def settings_named(texts: Iterable[str]) -> dict[str, str]:
    """Path -> value of every `--set PATH=VALUE`."""
    return {path: value or "" for path, value in by_name(texts, "--set", "FIELD=VALUE", "write array.x=128").items()}
