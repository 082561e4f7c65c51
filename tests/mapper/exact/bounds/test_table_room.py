from __future__ import annotations

import numpy as np
import pytest

from tilewright.mapper.exact.bounds import table_room
from tilewright.mapper.exact.bounds.table_room import TableRoom


@pytest.mark.parametrize("numbers_at_once", [1, 20, 1_000])
def test_tables_have_room_of_their_own(numbers_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_room, "NUMBERS_AT_ONCE", numbers_at_once)
    room = TableRoom((2, 1, 3))
    given = [np.full((1, 1, 3), float(i)) for i in range(100)]
    kept = [room.kept(table) for table in given]
    for i, table in enumerate(kept):
        table[0] += 1.0
        assert table.tolist() == [[[i + 1.0] * 3], [[float(i)] * 3]]
    assert [table[0, 0, 0] for table in given] == list(range(100))
