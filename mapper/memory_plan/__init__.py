"""Memory planning: an offset for each buffer, so that no two that are live together share addresses.

buffers.py   buffers, lifetimes, updates in place
csv_files.py buffers from a file
plan.py      what a planner hands over, and its check
planner.py   the least height, or a plan that fits
in_place.py  which updates are made in place together
sections.py  blocks, and the sections of time that matter
attempts.py  the search, begun again and again
packing.py   the search for addresses below a height
tighten.py   rules on the room that is left
work.py      arrays of the search
compiled.py  functions as machine code
order.py     the order of operations with the least peak
activations.py  the activations of a network as steps and buffers
"""

from .activations import ActivationSteps, activation_buffers, activation_steps
from .buffers import BufferSet, InPlace, LiveBuffer, buffer_set
from .csv_files import read_buffers
from .order import StepOrder, TensorStep, least_peak_order, live_during
from .plan import MemoryPlan
from .planner import plan_memory

__all__ = [
    "ActivationSteps",
    "BufferSet",
    "InPlace",
    "LiveBuffer",
    "MemoryPlan",
    "StepOrder",
    "TensorStep",
    "activation_buffers",
    "activation_steps",
    "buffer_set",
    "least_peak_order",
    "live_during",
    "plan_memory",
    "read_buffers",
]
