"""Source text of what is done with complete words: those that pass from one branch to another one.

`parts/trees.py` says when they are complete; here it is done for all instances at once. Of a buffer of
which each visit of a branch makes a part, it is that part, and of a ragged part what is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ....ir import Address, Place
from ..parts.names import comment, quoted
from ..parts.trees import TensorFinish, completed
from .plan import Buffer
from .points import point_text
from .schedule import ProgramText
from .schedules import Schedules

Finishes = Mapping[str, TensorFinish]
"""By tensor."""


def parameter_key(tensor: str, name: str) -> str:
    """What programs call a parameter of what is done with a tensor's words."""
    return f"{name} of {tensor}"


def finish_name(finishes: Finishes, tensor: str) -> str:
    """The name of the function that does it."""
    return f"finish{list(finishes).index(tensor)}"


def finish_functions(finishes: Finishes) -> Iterator[str]:
    """A function of words, of where they are in the tensor, and of all parameters, for each tensor."""
    for tensor, finish in finishes.items():
        yield f"def {finish_name(finishes, tensor)}(words: np.ndarray, at: Index, parameters: Arrays) -> np.ndarray:"
        yield from comment(f"What is done with the words of {tensor}.", "    ")
        names = {finish.word: "words"}
        for number, (name, axes, _) in enumerate(finish.parameters):
            places = "".join(f"at[{axis}], " for axis in axes) or "()"
            names[name] = f"p{number}"
            yield f"    p{number} = parameters[{quoted(parameter_key(tensor, name))}][{places.rstrip()}]"
        yield f"    return {point_text(finish.expression, names)}"
        yield from ("", "")


class FinishText:
    """What is done behind the branches of a tree."""

    def __init__(self, schedules: Schedules, finishes: Finishes) -> None:
        self.schedules, self.finishes = schedules, finishes
        self.fused = schedules.fused

    def name(self, tensor: str) -> str | None:
        """The function of what is done with a tensor's words, if anything is."""
        return finish_name(self.finishes, tensor) if tensor in self.finishes else None

    def lines(self, branch: Address) -> Iterator[str]:
        """What is done with the words that are complete behind a branch."""
        for tensor, producer, place in completed(self.fused, branch, self.finishes):
            if producer not in self.schedules.uneven:
                yield from self._tensor_lines(tensor, producer, place, branch)

    def _tensor_lines(self, tensor: str, producer: str, place: Place, branch: Address) -> Iterator[str]:
        schedule, path = self.schedules.of[producer], self.schedules.ways[producer].path
        buffer = schedule.plan.buffers[path.places.index(place)]
        at = sum((len(above), i) < (len(branch), 0) for above, i in path.places)
        visited = ", ".join(self._visited(schedule, buffer, rank[0][0], at) for rank in buffer.tensor.ranks)
        yield from comment(f"words of {tensor} are complete")
        array = schedule.buffer[buffer.position]
        yield f"finish_words({array}, [{visited}], {finish_name(self.finishes, tensor)}, parameters)"

    def _visited(self, schedule: ProgramText, buffer: Buffer, dim: str, at: int) -> str:
        """The positions of a dimension that a visit makes."""
        loops = []
        extent = schedule.plan.nominal[dim]
        for step in schedule.plan.steps:
            if step.dim != dim or step.position >= at:
                continue
            extent = step.tile
            if step.spatial:
                axis = buffer.spatial.index(step) if step in buffer.spatial else None
                loops.append(f"({step.trips}, {step.tile}, {axis})")
            else:
                loops.append(f"({schedule.loop[step]}, {step.tile})")
        base = "0" if buffer.whole else schedule.start(dim, buffer.position)
        size = schedule.problem.sizes[dim]
        listed = f"[{', '.join(loops)}]"
        return f"visited({listed}, {extent}, {size}, {base}, {len(buffer.spatial)})"
