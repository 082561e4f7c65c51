"""A mapping as a numpy program that runs on its own, moves tiles through buffers, counts words, and checks itself.

program.py         the whole text
plan.py            what the program has to do at every step, and with which buffers
schedule.py        buffers, and how they are filled and drained, as text
loops.py           the nest as text
contraction.py     one step, or many, as one contraction
passes.py          what repeats in a large layer, and is run at once
meters.py          counting the words that move, as text
runtime.py         what every program has in common: pasted, as are the next ones
runtime_meters.py  meters
runtime_passes.py  passes
runtime_packed.py the part that packs operands with zeros
runtime_check.py   the comparison with the direct computation
"""

from .program import emit_numpy, program_steps

__all__ = ["emit_numpy", "program_steps"]
