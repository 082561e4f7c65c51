"""`tilewright space`: how many mappings there are to choose from, and by what; of a cascade, which trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from ..ir import Problem, ProblemError, Work
from .groups import grouped
from .machines import MachineOptions
from .options import JsonOption, KindOptions
from .problems import WorkOptions
from .terminal import show_document, show_page

if TYPE_CHECKING:
    from ..arch import Architecture
    from ..mapper.space import Space
    from ..mapper.tilings import Tiling
    from ..report.pages.space import Counts


@grouped
def space_size(
    context: typer.Context,
    work: WorkOptions,
    machine: MachineOptions,
    kinds: KindOptions,
    json: JsonOption = False,
) -> None:
    """Count the mappings of a layer exactly, and show what texts on accelerators would estimate.

    Capacities and constraints are not looked at. The factors multiply to the total. Of a cascade of operations it says
    which trees are searched beside it; of operands with zeros, how many formats there are to choose from.

    \b
    tilewright space resnet50:layer1.0.conv2 --arch eyeriss
    tilewright space resnet50:conv1 --arch eyeriss --tiling ragged --space uneven
    tilewright space gpt2_small:qk+softmax+av --arch tpu_v4i
    tilewright space --gemm M=512,N=512,K=512 --density W=2:4 --arch sparse_tensor_core
    """
    from ..arguments import tiling_or_default, tilings_of
    from ..mapper.tilings import TILINGS

    tiling, place = kinds.checked()
    asked, chip = work.named(context), machine.named()
    known = tilings_of(asked) if tiling is None and isinstance(asked, Problem) else TILINGS
    kind = tiling_or_default(tiling, known)
    from ..report.pages.space import space_data, space_page

    what = (asked, chip, f"{place}, {kind} tilings", _counted(asked, chip, kind, place))
    if json:
        show_document(space_data(*what))
    else:
        show_page(space_page(*what))


def _counted(work: Work, machine: Architecture, kind: Tiling, place: Space) -> Counts:
    """The mappings of every operation; ProblemError for a layer that has too many to be counted."""
    from ..mapper.means import OutOfMeans
    from ..mapper.space.size import space_size as size_of
    from ..mapper.space.textbook import textbook_estimate
    from ..report.pages.space import Counted

    found: dict[str, Counted | None] = {}
    for problem in [work] if isinstance(work, Problem) else [operation.problem for operation in work]:
        try:
            size = size_of(problem, machine, kind, place)
            found[problem.name] = Counted(size, textbook_estimate(problem, machine, kind))
        except OutOfMeans:
            if isinstance(work, Problem):
                message, hint = "its space is too large to be counted", "give a part of the layer, or --tiling perfect"
                raise ProblemError(message, where=problem.name, hint=hint) from None
            found[problem.name] = None
    return found
