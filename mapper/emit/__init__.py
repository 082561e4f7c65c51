"""A mapping as text for others: executable programs and other tools' files."""

from .numpy_program import emit_numpy, program_steps
from .verify import Verification, verify_numpy

__all__ = ["Verification", "emit_numpy", "program_steps", "verify_numpy"]
