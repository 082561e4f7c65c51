"""Which cost columns tables have: those that bounds are likely to need.

A table takes room and time by its columns, and the time of a port says nothing where the port is never the slowest.
Leaving one out keeps bounds valid: its cycles count as none, and its sum with the energy as the energy alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ....cost_models.ports import Port
from ..counting.cost_columns import CostColumns
from ..rows import Floats, Ints


@dataclass(frozen=True)
class TableColumns:
    """Columns of tables among those of rows.

    rows    what the costs of rows have
    tables  the same, with some of the ports only
    """

    rows: CostColumns
    tables: CostColumns

    @classmethod
    def of(cls, rows: CostColumns, ports: Sequence[Port] | None = None) -> TableColumns:
        """Tables with the columns of some of the ports; None: of all."""
        chosen = rows.ports if ports is None else tuple(port for port in rows.ports if port in ports)
        tables = replace(rows, ports=chosen, of_bounds=True)
        return cls(rows, rows if tables.count == rows.count else tables)

    @cached_property
    def _ports(self) -> list[int]:
        """The ports that tables have, by their numbers in rows."""
        return [i for i, port in enumerate(self.rows.ports) if port in self.tables.ports]

    @cached_property
    def chosen(self) -> Ints:
        """The columns of rows that tables have."""
        cycles = [1 + i for i in self._ports]
        sums = [] if self.rows.exchange_rate is None else [len(self.rows.ports) + c for c in cycles]
        return np.array([0, *cycles, *sums], dtype=np.int64)

    def in_rows(self, values: Floats) -> Floats:
        """(columns of rows, ...) of (columns of tables, ...): bounds on all of them."""
        if self.tables is self.rows:
            return values
        found = np.zeros((self.rows.count, *values.shape[1:]))
        found[1 + len(self.rows.ports) : self.rows.costing] = values[0]
        found[self.chosen] = values
        return found
