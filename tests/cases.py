"""Where small inputs lie that once were misread, miscounted or refused: `tests/golden/cases/`."""

from pathlib import Path

CASES = Path(__file__).parent / "golden" / "cases"
