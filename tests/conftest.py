"""What all tests have in common."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _store_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test is answered by another one, nor by the store of whoever runs it."""
    monkeypatch.setenv("TILEWRIGHT_STORE", str(tmp_path / "store.sqlite3"))
