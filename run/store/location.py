"""Where the result store is: as asked for, or in the user's cache folder."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "TILEWRIGHT_STORE"
"""The environment variable that names the store where nothing else does."""


def store_path(asked: str | os.PathLike[str] | None = None) -> Path:
    """The path that is asked for, else that of `TILEWRIGHT_STORE`, else one in the cache folder of the user, as the
    platform has it (on Linux `$XDG_CACHE_HOME` or `.cache` in the home folder)."""
    named = asked if asked is not None else os.environ.get(VARIABLE)
    if named:
        return Path(named)
    from platformdirs import user_cache_path

    return user_cache_path("tilewright", appauthor=False) / "results.sqlite3"


def is_default(asked: str | os.PathLike[str] | None = None) -> bool:
    """Whether nobody chose the place: then it is a convenience, and no reason to fail."""
    return asked is None and not os.environ.get(VARIABLE)
