"""The format of traces: JSON with complete events in microseconds, as the Trace Event Format of Chromium has it."""

from __future__ import annotations

import json
from typing import Any

_FIRST_LANE = 1001
"""No lane has the number of a process: viewers call such a lane its main thread."""


class Trace:
    """Events in cycles of one clock; processes and lanes are numbered as they are first named."""

    def __init__(self, clock_hz: float) -> None:
        self.events: list[dict[str, Any]] = []
        self._nanoseconds = 1e9 / clock_hz
        self._processes: dict[str, int] = {}
        self._lanes: dict[tuple[str, str], int] = {}

    def add(self, process: str, lane: str, name: str, start: float, cycles: float, **about: Any) -> None:
        """Something that takes some cycles from a start on."""
        self.events.append(
            {
                "ph": "X",
                "name": name,
                "pid": self._process(process),
                "tid": self._lane(process, lane),
                "ts": self._time(start),
                "dur": round(self._time(start + cycles) - self._time(start), 3),
                "args": {"cycles": cycles, **about},
            }
        )

    def count(self, process: str, name: str, unit: str, start: float, value: float) -> None:
        """A figure that holds from a moment on; viewers show its name and its unit as one."""
        place = {"pid": self._process(process), "ts": self._time(start)}
        self.events.append({"ph": "C", "name": name, **place, "args": {unit: value}})

    def text(self) -> str:
        """The trace as the text of a JSON file."""
        return json.dumps({"displayTimeUnit": "ns", "traceEvents": self.events}, allow_nan=False) + "\n"

    def _time(self, cycles: float) -> float:
        """Microseconds with whole nanoseconds, as viewers keep them: what begins when another ends does not overlap."""
        return round(cycles * self._nanoseconds) / 1000

    def _process(self, name: str) -> int:
        if name not in self._processes:
            number = self._processes[name] = len(self._processes) + 1
            self.events.append({"ph": "M", "name": "process_name", "pid": number, "args": {"name": name}})
            order = {"ph": "M", "name": "process_sort_index", "pid": number, "args": {"sort_index": number}}
            self.events.append(order)
        return self._processes[name]

    def _lane(self, process: str, name: str) -> int:
        place = process, name
        if place not in self._lanes:
            number = self._lanes[place] = _FIRST_LANE + len(self._lanes)
            where = {"pid": self._process(process), "tid": number}
            self.events.append({"ph": "M", "name": "thread_name", **where, "args": {"name": name}})
            self.events.append({"ph": "M", "name": "thread_sort_index", **where, "args": {"sort_index": number}})
        return self._lanes[place]
