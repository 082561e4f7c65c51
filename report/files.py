"""Writing files of reports: whole or not at all, and every failure is one clear message."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from ..ir import TilewrightError


def write_bytes(path: Path, data: bytes) -> Path:
    """Write a file, replacing one of that name only when all of it is written; folders are made if need be.

    Raises TilewrightError when it cannot be written, a full disk included.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.chmod(name, 0o666 & ~_umask())
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except (FileExistsError, NotADirectoryError):
        raise TilewrightError("its folder cannot be made: a file is in the way", where=str(path)) from None
    except OSError as error:
        raise TilewrightError(f"cannot be written: {error.strerror}", where=str(path)) from None
    return path


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
