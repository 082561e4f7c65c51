"""What happens when, as a trace that Perfetto and chrome://tracing open.

events.py    the format: processes, lanes, events in time
first_tiles.py  loads, computing and drains of the first tiles of one operation, memory by memory
operations.py   operations of a tree or of a network in time, with how busy everything is, and addresses
steps.py     what the devices of a system do, and what moves between them
"""

from __future__ import annotations

from .events import Trace
from .first_tiles import add_first_tiles
from .operations import mapping_trace, network_trace
from .steps import sharded_trace

__all__ = ["Trace", "add_first_tiles", "mapping_trace", "network_trace", "sharded_trace"]
