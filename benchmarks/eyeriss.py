"""The Eyeriss chip and its energy study, from our model: tables for results/eyeriss/README.md.

    python benchmarks/eyeriss.py results/eyeriss

The chip runs published row-stationary mappings, which are evaluated; the energy study had a search of its own, next to
which stand proven optima.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import tilewright as tw
from tilewright.arch import Keeps
from tilewright.cost_models import Cost
from tilewright.cost_models.intensity import compulsory_words
from tilewright.ir import LoopNest, Mapping, Problem, ceil_div, digits_by_dimension

BATCH = 4
WORD_BYTES = 2
CLOCK_HZ = 200e6
ROWS, COLUMNS = 12, 14
ISCA_MACHINE = Path(__file__).parent.parent / "results" / "eyeriss" / "isca_2016.yaml"


# ---- the chip: Chen et al., JSSC 52(1), 2017 -------------------------------------------------------------------


@dataclass(frozen=True)
class RowStationary:
    """A row of Table III. Sizes of the layer (C per group, M in total), then of its mapping:

    m  output channels in the buffer    n  images in the buffer    e  output rows at a time
    p  filters in a PE                  q  channels in a PE
    r  groups of q channels and t groups of p filters side by side on the array
    """

    H: int
    R: int
    E: int
    C: int
    M: int
    U: int
    groups: int
    m: int
    n: int
    e: int
    p: int
    q: int
    r: int
    t: int

    @property
    def layer(self) -> Problem:
        sizes = {"N": BATCH, "K": self.M, "C": self.C * self.groups, "P": self.E, "Q": self.E, "R": self.R, "S": self.R}
        return tw.conv2d(**sizes, stride=self.U, groups=self.groups)

    @property
    def mapping(self) -> Mapping:
        """The published parameters as a nest; a set of PEs wider than the array is folded over its rows."""
        fold = ceil_div(self.e, COLUMNS)
        rows = self.R * fold * self.r
        t_axis = "y" if rows * self.t <= ROWS else "x"
        lines = [
            "DRAM keeps I W O",
            f"for G in {self.groups}" if self.groups > 1 else "",
            f"for P in {ceil_div(self.E, self.e)}",
            f"for N in {BATCH // self.n}",
            f"for K in {self.M // self.groups // self.m}",
            "GLB keeps O",
            f"for C in {ceil_div(self.C, self.q * self.r)}",
            "GLB keeps I",
            f"for K in {self.m // (self.p * self.t)}",
            f"parallel R in {self.R} on array.y",
            f"parallel P in {fold} on array.y",
            f"parallel C in {self.r} on array.y",
            f"parallel K in {self.t} on array.{t_axis}",
            f"parallel P in {ceil_div(self.e, fold)} on array.x",
            "spad keeps W",
            f"for N in {self.n}",
            f"for Q in {self.E}",
            "spad keeps I O",
            f"for C in {self.q}",
            f"for K in {self.p}",
            f"for S in {self.R}",
        ]
        return Mapping(self.layer, LoopNest.parse("\n".join(lines)))

    @cached_property
    def cost(self) -> Cost:
        return tw.evaluate(self.mapping, tw.load_arch("eyeriss"))

    @property
    def active_pes(self) -> int:
        """PEs that have work in the first step: places of the parallel loops that lie inside the layer."""
        inside = 1
        for dim, digits in digits_by_dimension(self.layer, self.mapping.nest).items():
            starts = [0]
            for digit in digits:
                if digit.spatial:
                    starts = [start + value * digit.tile for start in starts for value in range(digit.trips)]
            inside *= sum(start < self.layer.sizes[dim] for start in starts)
        return inside

    def tile(self, memory: str, tensor: str) -> int:
        """Words of a tile in one instance."""
        return next(t.tile_words for t in self.cost.traffic if (t.memory, t.tensor) == (memory, tensor))

    def kib(self, memory: str, tensor: str) -> float:
        return self.tile(memory, tensor) * WORD_BYTES / 1024

    @property
    def buffer_megabytes(self) -> float:
        """Inputs read by the PEs, and partial sums written and read: 10^6 bytes. Inputs that come in from DRAM are not
        in the published figures."""
        words = sum(t.reads + (t.writes if t.tensor == "O" else 0) for t in self.cost.traffic if t.memory == "GLB")
        return words * WORD_BYTES / 1e6

    @property
    def buffer_megabytes_by_formula(self) -> float:
        """The same by a formula of the parameters alone, which the paper does not state."""
        slices = [min(self.e, self.E - start) for start in range(0, self.E, self.e)]
        rows = sum((e - 1) * self.U + self.R for e in slices)
        inputs = BATCH * self.C * ceil_div(self.M, self.p * self.t) * rows * self.H
        sums = 2 * BATCH * self.M * self.E**2 * ceil_div(self.C, self.q * self.r)
        return (inputs + sums) * WORD_BYTES / 1e6

    @property
    def bound_ms(self) -> float:
        """MACs / active PEs: no schedule on so many PEs is faster."""
        return self.cost.macs / self.active_pes / CLOCK_HZ * 1e3

    @property
    def compute_ms(self) -> float:
        """Steps of the mapping, short last slices included."""
        return self.cost.compute_cycles / CLOCK_HZ * 1e3

    @property
    def compulsory_megabytes(self) -> float:
        """All tensors once; inputs as they lie in DRAM, without padding."""
        padding = 0 if self.U > 1 else self.R - 1
        stored = BATCH * self.C * self.groups * (self.H - padding) ** 2
        return sum(compulsory_words(self.layer, {"I": stored}).values()) * WORD_BYTES / 1e6


TABLE_III = {
    "CONV1": RowStationary(H=227, R=11, E=55, C=3, M=96, U=4, groups=1, m=96, n=1, e=7, p=16, q=1, r=1, t=2),
    "CONV2": RowStationary(H=31, R=5, E=27, C=48, M=256, U=1, groups=2, m=64, n=1, e=27, p=16, q=2, r=1, t=1),
    "CONV3": RowStationary(H=15, R=3, E=13, C=256, M=384, U=1, groups=1, m=64, n=4, e=13, p=16, q=4, r=1, t=4),
    "CONV4": RowStationary(H=15, R=3, E=13, C=192, M=384, U=1, groups=2, m=64, n=4, e=13, p=16, q=3, r=2, t=2),
    "CONV5": RowStationary(H=15, R=3, E=13, C=192, M=256, U=1, groups=2, m=64, n=4, e=13, p=16, q=3, r=2, t=2),
}
CONV3_AS_CONV4 = RowStationary(H=15, R=3, E=13, C=256, M=384, U=1, groups=1, m=64, n=4, e=13, p=16, q=3, r=2, t=2)
"""CONV3 with q, r, t of CONV4; its 256 channels are 42 groups of 6, and one of 4."""


@dataclass(frozen=True)
class Measured:
    """A row of Table V (batch 4, 200 MHz), and the buffer contents of Table III."""

    active_pes: int
    buffer_megabytes: float
    processing_ms: float
    dram_megabytes: float
    inputs_kib: float
    sums_kib: float


TABLE_V = {
    "CONV1": Measured(154, 18.5, 16.5, 5.0, 15.5, 72.1),
    "CONV2": Measured(135, 77.6, 39.2, 4.0, 3.8, 91.1),
    "CONV3": Measured(156, 50.2, 21.8, 3.0, 7.0, 84.5),
    "CONV4": Measured(156, 37.4, 16.0, 2.1, 10.5, 84.5),
    "CONV5": Measured(156, 24.9, 10.0, 1.3, 10.5, 84.5),
}


# ---- the energy study: Chen et al., ISCA 2016, Figure 10 -------------------------------------------------------

ISCA_BATCH = 16
ISCA_2016 = {
    "conv1": (1.69, 2.46, 6.75),
    "conv2": (3.58, 2.27, 14.33),
    "conv3": (2.39, 2.02, 9.57),
    "conv4": (1.79, 1.57, 7.18),
    "conv5": (1.20, 1.05, 4.78),
    "fc1": (0.60, 7.78, 2.42),
    "fc2": (0.27, 3.39, 1.07),
    "fc3": (0.07, 0.84, 0.26),
}
"""ALU, DRAM and register-file energy in 10^9 MACs' worth, as nn_dataflow reproduces the figure (to 0.1)."""


def isca_layer(name: str) -> Problem:
    """A layer of AlexNet in its two-group form at batch 16."""
    convs = {
        "conv1": {"K": 96, "C": 3, "P": 55, "Q": 55, "R": 11, "S": 11, "stride": 4},
        "conv2": {"K": 256, "C": 96, "P": 27, "Q": 27, "R": 5, "S": 5, "groups": 2},
        "conv3": {"K": 384, "C": 256, "P": 13, "Q": 13, "R": 3, "S": 3},
        "conv4": {"K": 384, "C": 384, "P": 13, "Q": 13, "R": 3, "S": 3, "groups": 2},
        "conv5": {"K": 256, "C": 384, "P": 13, "Q": 13, "R": 3, "S": 3, "groups": 2},
    }
    if name in convs:
        return tw.conv2d(N=ISCA_BATCH, **convs[name])
    outputs, inputs = {"fc1": (4096, 9216), "fc2": (4096, 4096), "fc3": (1000, 4096)}[name]
    return tw.gemm(M=ISCA_BATCH, N=outputs, K=inputs)


@dataclass(frozen=True)
class Energies:
    """A proven optimum of total energy, in 10^9 MACs' worth.

    registers       four accesses for every MAC: two operands, and a partial sum that is read and written
    registers_all   with those of filling and draining, and without the reading of sums that are not there yet
    """

    result: tw.SearchResult

    def _sum(self, memory: str) -> float:
        return sum(t.energy_pj for t in self.result.cost.traffic if t.memory == memory) / 1e9

    @property
    def alu(self) -> float:
        return self.result.cost.mac_energy_pj / 1e9

    @property
    def dram(self) -> float:
        return self._sum("DRAM")

    @property
    def registers(self) -> float:
        """Reads of operands are counted by the model; each MAC updates its sum, a read and a write."""
        operands = [t for t in self.result.cost.traffic if t.memory == "RF" and t.tensor != "O"]
        return (sum(t.reads for t in operands) + 2 * self.result.cost.macs) / 1e9

    @property
    def registers_all(self) -> float:
        return self._sum("RF")

    @property
    def compulsory(self) -> float:
        return 200 * sum(compulsory_words(self.result.problem).values()) / 1e9

    @property
    def excess(self) -> dict[str, float]:
        """How many times each tensor crosses the chip's edge."""
        least = compulsory_words(self.result.problem)
        return {
            t.tensor: (t.reads + t.writes) / least[t.tensor] for t in self.result.cost.traffic if t.memory == "DRAM"
        }


@cache
def isca_energies(name: str, bypass: bool = True) -> Energies:
    """The mapping of least energy, proven, perfect tilings of the even space; with or without bypass of the buffer."""
    machine = tw.load_arch(ISCA_MACHINE)
    if not bypass:
        levels = [
            level.model_copy(update={"keeps": Keeps()}) if level.name == "GLB" else level for level in machine.levels
        ]
        machine = machine.model_copy(update={"levels": tuple(levels)})
    return Energies(tw.search(isca_layer(name), machine, objective="energy", tiling="perfect"))


# ---- the report ------------------------------------------------------------------------------------------------


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table, all columns but the first to the right."""
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)


def chip_tables() -> tuple[str, str, str]:
    """Active PEs and occupancy; buffer traffic; time."""
    occupancy = table(
        ["layer", "active PEs", "published", "spad I W O", "inputs KiB", "published", "psums KiB", "published"],
        [
            (
                name,
                row.active_pes,
                TABLE_V[name].active_pes,
                " ".join(str(row.tile("spad", tensor)) for tensor in "IWO"),
                f"{row.kib('GLB', 'I'):.2f}",
                TABLE_V[name].inputs_kib,
                f"{row.kib('GLB', 'O'):.2f}",
                TABLE_V[name].sums_kib,
            )
            for name, row in TABLE_III.items()
        ],
    )
    traffic = table(
        ["layer", "evaluated MB", "formula MB", "published MB", "evaluated / published"],
        [
            (
                name,
                f"{row.buffer_megabytes:.2f}",
                f"{row.buffer_megabytes_by_formula:.2f}",
                TABLE_V[name.split()[0]].buffer_megabytes,
                f"{row.buffer_megabytes / TABLE_V[name.split()[0]].buffer_megabytes:.3f}",
            )
            for name, row in {**TABLE_III, "CONV3 with q, r, t of CONV4": CONV3_AS_CONV4}.items()
        ],
    )
    time = table(
        ["layer", "MACs / PEs ms", "steps ms", "measured ms", "bound / measured", "compulsory DRAM MB", "measured MB"],
        [
            (
                name,
                f"{row.bound_ms:.2f}",
                f"{row.compute_ms:.2f}",
                TABLE_V[name].processing_ms,
                f"{row.bound_ms / TABLE_V[name].processing_ms:.0%}",
                f"{row.compulsory_megabytes:.2f}",
                TABLE_V[name].dram_megabytes,
            )
            for name, row in TABLE_III.items()
        ],
    )
    return occupancy, traffic, time


def isca_table() -> str:
    rows = []
    for name, (alu, dram, registers) in ISCA_2016.items():
        found, through = isca_energies(name), isca_energies(name, bypass=False)
        assert found.result.certificate.proven
        assert through.result.certificate.proven
        times = ", ".join(f"{tensor} {ratio:.3g}" for tensor, ratio in found.excess.items())
        rows.append(
            (
                name,
                f"{found.alu:.2f}",
                alu,
                f"{found.registers:.2f}",
                registers,
                f"{found.registers_all:.2f}",
                f"{found.dram:.2f}",
                f"{through.dram:.2f}",
                dram,
                f"{found.compulsory:.2f}",
                times,
            )
        )
    head = ["layer", "ALU", "there", "RF", "there", "RF in all", "DRAM", "without bypass", "there", "compulsory"]
    return table([*head, "times each tensor"], rows)


def report() -> str:
    """The whole README.md of the folder."""
    template = Path(__file__).with_name("eyeriss.md").read_text(encoding="utf-8")
    occupancy, traffic, time = chip_tables()
    return template.format(occupancy=occupancy, traffic=traffic, time=time, isca=isca_table())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where README.md goes")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text(report(), encoding="utf-8")
    print(folder / "README.md")


if __name__ == "__main__":
    main()
