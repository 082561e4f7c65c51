"""The architecture that `--arch` names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..ir import TilewrightError, Work
from .options import ArchOption, SetOption

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

    given: dict[str, str] = {}
    for text in texts:
        key, equals, layout = (part.strip() for part in text.partition("="))
        if key in ("any", "row-major", "column-major") and not equals:
            key, layout = "all", key
        if not key or not layout:
            message = f"found {text!r}, expected TENSOR=LAYOUT; or any, row-major or column-major for all tensors"
            raise TilewrightError(message, where="--layout", hint="write O=NHWC")
        if key in given:
            message = f"the layout of {key} is given twice, {given[key]!r} and {layout!r}"
            raise TilewrightError(message, where="--layout")
        given[key] = layout
    try:
        return with_texts(arch, work, given)
    except TilewrightError as error:
        raise error.located("--layout") from None


def settings_named(texts: Iterable[str]) -> dict[str, str]:
    """Path -> value of every `--set PATH=VALUE`."""
    chosen: dict[str, str] = {}
    for text in texts:
        path, equals, value = (part.strip() for part in text.partition("="))
        if not path or not equals:
            raise TilewrightError(f"found {text!r}, expected FIELD=VALUE", where="--set", hint="write array.x=128")
        if path in chosen:
            raise TilewrightError(f"{path} is set twice, to {chosen[path]!r} and {value!r}", where="--set")
        chosen[path] = value
    return chosen
