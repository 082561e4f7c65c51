"""Whether arrays get tables in a few large groups first (`arrays/fanouts.py`), which leave most of them aside."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass
class RoughGroups:
    """What rough groups of arrays have been worth: of how many groups how many were left to make tables for."""

    _groups: int = 0
    _left: int = 0

    def pay(self, rough: int, groups: int, at_once: int) -> bool:
        """Whether tables are made fewer times with some rough groups before others, going by those so far.

        at_once  groups whose tables are made together
        """
        left = self._left / self._groups if self._groups else 0.5
        return math.ceil(rough / at_once) + math.ceil(left * groups / at_once) < math.ceil(groups / at_once)

    def note(self, groups: int, left: int) -> None:
        """Note that tables for rough groups have left so many of some groups."""
        self._groups, self._left = self._groups + groups, self._left + left
