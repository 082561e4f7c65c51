"""Claims: a question that another process has, and how it comes back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tilewright.run.store import Claims

pytest.importorskip("fcntl")

KEY, OTHER = "ab" * 32, "cd" * 32

HOLD = """
import sys
from pathlib import Path
from tilewright.run.store import Claims
claims = Claims(Path(sys.argv[1]))
print(claims.take(sys.argv[2]), flush=True)
sys.stdin.read()
"""


def held_elsewhere(store: Path) -> subprocess.Popen[str]:
    """A process that has claimed KEY, until its input ends."""
    words = [sys.executable, "-c", HOLD, str(store), KEY]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "True\n"
    return process


@pytest.mark.long
def test_a_claim_keeps_other_processes_away_until_its_own_ends(tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite3"
    mine = Claims(store)
    with held_elsewhere(store) as other:
        assert not mine.take(KEY)
        assert mine.take(OTHER)
        other.kill()
        other.wait()
    assert mine.take(KEY)
    mine.release(KEY)
    with held_elsewhere(store) as other:
        assert not mine.take(KEY)
        other.kill()
    mine.close()


def test_without_a_file_every_claim_is_granted(tmp_path: Path) -> None:
    claims = Claims(tmp_path / "no" / "such" / "folder" / "s.sqlite3")
    assert claims.take(KEY)
    claims.release(KEY)
    claims.close()
