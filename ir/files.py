"""What messages say of files that cannot be read."""

from __future__ import annotations

import os
from pathlib import Path


def missing_file(path: Path) -> str:
    """What to say of a path at which there is no file: a link may lead there, and no further."""
    return f"a link to {os.readlink(path)!r}, where no file is" if path.is_symlink() else "no such file"
