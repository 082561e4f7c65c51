"""Run the program of a plan for several devices, and report whether outputs and bytes by link are as they should be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...sharding import ShardedAnswer
from .program import sharded_program


@dataclass(frozen=True)
class ShardedVerification:
    """What came of running a program.

    wrong    what is not as it should be: outputs, bytes by link, words of devices that should have the same
    apart    by output, how far it is from that of the network done at once, as a part of the largest word
    moved    of every step that moves words: tensor, move, axis, bytes over all links as the program counted them, and
             as the plan has them
    seconds  of all devices, and of the network at once
    text     what the program prints
    """

    wrong: tuple[str, ...]
    apart: dict[str, float]
    moved: tuple[tuple[str, str, str, int, int], ...]
    seconds: tuple[float, float]
    text: str

    def __bool__(self) -> bool:
        """Whether all agrees."""
        return not self.wrong

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        keys = ("tensor", "move", "axis", "bytes", "expected")
        return {
            "agrees": bool(self),
            "wrong": list(self.wrong),
            "apart": self.apart,
            "moved": [dict(zip(keys, row, strict=True)) for row in self.moved],
            "seconds": list(self.seconds),
        }


def verify_sharded(answer: ShardedAnswer, seed: int = 0) -> ShardedVerification:
    """Emit the program of a plan, run it on random words, and compare.

    The text is executed in a namespace of its own, inside this process. Nothing in it comes from users but numbers and
    escaped names.

    Raises MappingError where no program can be written for the plan.
    """
    program: dict[str, Any] = {"__name__": __name__}
    exec(compile(sharded_program(answer), "<program of devices>", "exec"), program)
    network = program["network"]()
    found = program["checked"](network, program["plan"](), program["TOLERANCE"], seed)
    moved = [
        (one.step.tensor, one.step.move, network.axes[one.step.axis].name, one.moved, one.step.passed.moved)
        for one in found.counted
        if one.step.passed is not None
    ]
    text = "\n".join(program["table"](found, network))
    return ShardedVerification(tuple(found.wrong), found.apart, tuple(moved), found.seconds, text)
