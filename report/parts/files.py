"""Writing files of reports: whole or not at all, and every failure is one clear message."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from ...ir import TilewrightError

replaced: list[Path] = []
"""Files that were there before and said something else: commands say which."""


def write_bytes(path: Path, data: bytes) -> Path:
    """Write a file, replacing one of that name only when all of it is written; folders are made if need be. What is no
    file, such as /dev/stdout, is written into.

    Raises TilewrightError when it cannot be written, a full disk included.
    """
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            path.write_bytes(data)
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.chmod(name, 0o666 & ~_umask())
            if path.is_file() and path.read_bytes() != data:
                replaced.append(path)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except (FileExistsError, NotADirectoryError):
        raise TilewrightError("its folder cannot be made: a file is in the way", where=str(path)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TilewrightError(f"cannot be written: {reason}", where=str(path)) from None
    return path


def path_component(name: str) -> str:
    """A name from a file as one component of a path, which leads nowhere else and suits every file system."""
    return re.sub(r"[^\w.+-]+", "_", name).strip("._")[:80] or "unnamed"


def make_parent(path: Path) -> None:
    """Make the folder of a file, if need be. Raises TilewrightError when it cannot be made."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise TilewrightError("its folder cannot be made: a file is in the way", where=str(path)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TilewrightError(f"its folder cannot be made: {reason}", where=str(path)) from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
