"""Pages that a reader follows with a terminal beside them: everything on them is run, and prints what they say."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from pages import ROOT, walk

NEEDED = {"compilers": ("tvm", "xdsl")}
"""Packages without which a page is not followed."""


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        "tutorial",
        "coming-from",
        "commands",
        "explain",
        "compilers",
        "c",
        "scaling",
        "sparse",
        "layouts",
        "importing",
        "cascades",
        "memory",
        "chips",
        "networks",
    ],
)
def test_the_page_is_followed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = [package for package in NEEDED.get(name, ()) if find_spec(package) is None]
    if missing:
        pytest.skip(f"{missing[0]} is not installed")
    monkeypatch.chdir(tmp_path)
    walk(ROOT / "docs" / f"{name}.md")
