"""Layouts of a network's tensors for callers: a network, a machine with lines, an objective."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from .arguments import ArchitectureLike, SizeLike, as_architecture, check_choice, limits_of, tiling_or_default
from .cost_models import parse_objective
from .cost_models.objective import ObjectiveLike
from .inputs import checks
from .ir import ProblemError
from .mapper import layout_plan
from .mapper.layout_plan import LayoutPlan
from .mapper.means import DEFAULT_MEMORY_LIMIT, Means
from .mapper.space import SPACES, Space
from .mapper.tilings import Tiling
from .workloads import Network, load_network
from .workloads.network import Widths

LAYER_SECONDS = 10.0
"""For the search of a layer with some layouts, unless stated."""


def plan_layouts(
    network: Network | str | os.PathLike[str],
    arch: ArchitectureLike,
    objective: ObjectiveLike = "energy",
    tiling: Tiling | None = None,
    space: Space = "even",
    *,
    layouts: Iterable[str] = (),
    dims: Mapping[str, int] | None = None,
    widths: Widths = "file",
    time_limit: float | None = LAYER_SECONDS,
    total_limit: float | None = None,
    memory_limit: SizeLike = DEFAULT_MEMORY_LIMIT,
) -> LayoutPlan:
    """The best layout in the outermost memory for each tensor of a network, and the conversions where layers disagree;
    every layer mapped on its own (docs/layouts.md).

    network    a network, its name, or the path of a table or an ONNX file
    arch       an architecture whose outermost memory has lines, one of the library by name, or the path of a file
    objective  of the whole network: "energy", "latency", a weighted sum such as "energy + 100 * latency", "edp", "ed2p"
    tiling, space  of the mappings to choose from, as of `search`
    layouts    that tensors may have, such as ["NCHW", "NHWC", "NCHW32c"]; none: all that are known for them
    dims, widths  of an ONNX file, as of `load_network`
    time_limit seconds for each search of a layer with some layouts; None: no limit
    total_limit  seconds for all searches together, then the best plan of what is known is taken, with the bound that is
               proven by then; None: no limit
    memory_limit  bytes that each search may take, or a text such as "2 GiB"

    Raises TilewrightError where the outermost memory has no lines, for other objectives, and for a network whose edges
    are not known.
    """
    found = network if isinstance(network, Network) else load_network(network, dims, widths)
    if found.wiring is None:
        hint = "add a graph to its table, as workloads/networks/README.md says"
        raise ProblemError("which layer reads which is not known", where=f"network {found.name}", hint=hint)
    limits = limits_of(time_limit, memory_limit)
    total_s = None if total_limit is None else checks.seconds(total_limit, "the limit of the whole")
    machine = as_architecture(arch)
    asked = parse_objective(objective, machine.clock_hz)
    kind = tiling_or_default(tiling)
    check_choice("space", space, SPACES)
    allowed = [
        checks.text(text, "a layout", "a text such as NHWC") for text in checks.items(layouts, "layouts", "a list")
    ]

    search = layout_plan.ExactSearches(kind, space, limits.time_s, limits.memory_bytes)
    return layout_plan.plan_layouts(found.wiring, machine, asked, search, allowed, Means.from_now(total_s))
