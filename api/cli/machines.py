"""The architecture that `--arch` names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..ir import TilewrightError

if TYPE_CHECKING:
    from ..arch import Architecture


def architecture_named(name: str | None, settings: Iterable[str] | None = None) -> Architecture:
    """The architecture that an option names, with fields set; TilewrightError lists the library when it is missing."""
    from ..arch import list_archs, load_arch

    chosen = settings_named(settings or ())
    if name is None:
        hint = f"write --arch {list_archs()[0]}; the library has {', '.join(list_archs())}, and a YAML file will do too"
        raise TilewrightError("no architecture is given", where="--arch", hint=hint)
    return load_arch(name, chosen)


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
