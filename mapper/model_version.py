"""The number that says which cost model and which mapping spaces a stored result belongs to."""

from __future__ import annotations

from typing import Final

MODEL_VERSION: Final = 20
"""To be raised whenever a mapping costs something else than before, a space has other mappings, or a search that missed
the best one is mended: results that were stored under another number are not used any more.
`tests/mapper/test_model_version.py` fails when a change of results comes without a new number."""
