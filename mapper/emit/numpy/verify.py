"""Run an emitted program and report whether it computes the layer and moves the words that the cost model counts."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ....arch import Architecture
from ....cost_models.padding import counted_mapping
from ....ir import Mapping
from .program import emit_numpy

if TYPE_CHECKING:
    from ....cost_models.sparse.recount import Recount

WordTable = dict[tuple[str, str], tuple[int, int]]


@dataclass(frozen=True)
class Verification:
    """What came of running a program.

    agrees        the output equals that of the direct computation
    words_agree   the words moved equal those expected, reads and writes of every memory and tensor
    seconds       of the run, the direct computation included
    moved         words (read, written) by (memory, tensor), as the program counted them
    expected      the same, as the cost model has them
    message       one line that says what disagrees, or that all agrees
    steps         of the schedule
    steps_run     of these, one by one; the others at once, in passes like one of those (`passes.py`)
    zeros         what came of the means of operands with zeros (`cost_models/sparse/recount.py`); None: there are none
    """

    agrees: bool
    words_agree: bool
    seconds: float
    moved: WordTable
    expected: WordTable
    message: str
    steps: int = 0
    steps_run: int = 0
    zeros: Recount | None = None

    def as_dict(self) -> dict[str, Any]:
        """For programs: what agrees, and the words moved of every memory and tensor."""
        words = [
            {"memory": memory, "tensor": tensor, "read": moved[0], "written": moved[1], "expected": list(expected)}
            for (memory, tensor), expected in self.expected.items()
            for moved in [self.moved.get((memory, tensor), (0, 0))]
        ]
        figures = {"seconds": self.seconds, "steps": self.steps, "steps_run": self.steps_run}
        return {
            "agrees": self.agrees,
            "words_agree": self.words_agree,
            "message": self.message,
            **figures,
            "words": words,
            **({} if self.zeros is None else {"zeros": asdict(self.zeros)}),
        }

    def __bool__(self) -> bool:
        """Whether output and words agree, and the means of zeros."""
        return self.agrees and self.words_agree and (self.zeros is None or bool(self.zeros))


def verify_numpy(
    mapping: Mapping,
    arch: Architecture,
    seed: int = 0,
    floats: bool = False,
    fast: bool | None = None,
    depths: Collection[int] | None = None,
) -> Verification:
    """Emit the program of a mapping, run it on random operands, and compare.

    floats  operands of single precision, and outputs equal but for rounding (`rounding_bound`), of one sum of products;
            else small whole numbers and outputs that are equal
    fast    as `emit_numpy` has it; so are the depths of the passes

    The text is executed in a namespace of its own, inside this process: a new interpreter would spend longer on
    importing numpy than most programs take to run. Nothing in the text comes from users but numbers and escaped names.

    Raises MappingError when no program can be written for the mapping.
    """
    program: dict[str, Any] = {"__name__": "tilewright_reference"}
    exec(compile(emit_numpy(mapping, arch, fast, depths), "<reference program>", "exec"), program)
    begun = time.perf_counter()
    wrong, moved, (steps, ran) = program["check"](seed, floats)
    seconds = time.perf_counter() - begun
    expected: WordTable = program["EXPECTED"]
    differing = [name for name in {**expected, **moved} if expected.get(name) != moved.get(name)]
    zeros = _recount(mapping, arch, seed) if mapping.work.has_zeros else None
    return Verification(
        agrees=not wrong,
        words_agree=not differing,
        seconds=seconds,
        moved=moved,
        expected=expected,
        message=_message(wrong, differing, moved, expected)
        + program["steps_note"](steps, ran)
        + ("" if counted_mapping(mapping, arch) is mapping else "; zeros of padding count as words here")
        + ("" if zeros is None else f"; {zeros.message}"),
        steps=steps,
        steps_run=ran,
        zeros=zeros,
    )


def _recount(mapping: Mapping, arch: Architecture, seed: int) -> Recount:
    from ....cost_models.sparse.recount import recount

    return recount(mapping, arch, seed)


def _message(wrong: str, differing: list[tuple[str, str]], moved: WordTable, expected: WordTable) -> str:
    parts = [wrong] if wrong else []
    for memory, tensor in differing:
        parts.append(
            f"{memory} reads and writes {moved.get((memory, tensor))} words of {tensor}, "
            f"expected {expected.get((memory, tensor))}"
        )
    return "; ".join(parts) or "output and words moved agree"
