"""The table of SRAMs that estimates are interpolated in: `arch/estimates/sram.csv`, written by CACTI 7.

    git clone https://github.com/HewlettPackard/cacti && make -C cacti     # commit 1ffd8df
    python benchmarks/cacti_table.py cacti > arch/estimates/sram.csv

CACTI is asked for plain RAM (no tags) of one bank at 300 K, cells and periphery of low standby power (itrs-lstp), the
organization of least energy x delay^2, and as many read-write ports as the table says. Sizes that it has no
organization for are left out.
"""

from __future__ import annotations

import csv
import itertools
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

NODES_NM = (22, 32, 45, 65, 90)
PORTS = (1, 2)
WIDTHS_BITS = (32, 64, 128, 256, 512, 1024)
CAPACITIES_B = tuple(256 * 4**i for i in range(10))  # 256 B to 64 MiB
COLUMNS = ("node_nm", "ports", "width_bits", "capacity_B", "read_pJ", "write_pJ", "leakage_mW", "area_mm2")

_CELLS = "itrs-lstp"
_OPTIONS = {
    "associativity": "1",
    "exclusive read port": "0",
    "exclusive write port": "0",
    "single ended read ports": "0",
    "UCA bank count": "1",
    "cache type": '"ram"',
    "tag size (b)": '"default"',
    "page size (bits)": "8192",
    "burst length": "8",
    "internal prefetch width": "8",
    "Data array cell type -": f'"{_CELLS}"',
    "Data array peripheral type -": f'"{_CELLS}"',
    "Tag array cell type -": f'"{_CELLS}"',
    "Tag array peripheral type -": f'"{_CELLS}"',
    "operating temperature (K)": "300",
    "access mode (normal, sequential, fast) -": '"normal"',
    "design objective (weight delay, dynamic power, leakage power, cycle time, area)": "0:0:0:100:0",
    "deviate (delay, dynamic power, leakage power, cycle time, area)": "20:100000:100000:100000:100000",
    "NUCAdesign objective (weight delay, dynamic power, leakage power, cycle time, area)": "100:100:0:0:100",
    "NUCAdeviate (delay, dynamic power, leakage power, cycle time, area)": "10:10000:10000:10000:10000",
    "Optimize ED or ED^2 (ED, ED^2, NONE):": '"ED^2"',
    "Cache model (NUCA, UCA)  -": '"UCA"',
    "NUCA bank count": "0",
    "Wire signaling (fullswing, lowswing, default) -": '"Global_30"',
    "Wire inside mat -": '"semi-global"',
    "Wire outside mat -": '"semi-global"',
    "Interconnect projection -": '"conservative"',
    "Core count": "1",
    "Cache level (L2/L3) -": '"L2"',
    "Add ECC -": '"false"',
    "Print level (DETAILED, CONCISE) -": '"CONCISE"',
    "Print input parameters -": '"false"',
    "Force cache config -": '"false"',
    # Of a bus to memories beside the chip, which CACTI reads and a RAM does not have.
    "dram_type": '"DDR3"',
    "iostate": '"W"',
    "dram ecc": '"NO_ECC"',
    "addr_timing": "1.0",
    "mem_density": "4 Gb",
    "bus_freq": "800 MHz",
    "duty_cycle": "1.0",
    "activity_dq": "1.0",
    "activity_ca": "0.5",
    "num_dq": "72",
    "num_dqs": "18",
    "num_ca": "25",
    "num_clk": "2",
    "num_mem_dq": "2",
    "mem_data_width": "8",
    "dimm model": '"ALL"',
    "num_bobs": "1",
    "capacity": "80",
    "num_channels_per_bob": "1",
    "first metric": '"Cost"',
    "second metric": '"Bandwidth"',
    "third metric": '"Energy"',
    "mirror_in_bob": '"F"',
    "total_power": '"F"',
}


def row_of(cacti: Path, node: int, ports: int, width: int, capacity: int) -> tuple[str, ...] | None:
    """One row of the table; None where CACTI has no organization."""
    options = _OPTIONS | {
        "size (bytes)": str(capacity),
        "block size (bytes)": str(width // 8),
        "output/input bus width": str(width),
        "read-write port": str(ports),
        "technology (u)": f"{node / 1000:g}",
    }
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "ram.cfg"
        config.write_text("".join(f"-{key} {value}\n" for key, value in options.items()))
        subprocess.run([cacti / "cacti", "-infile", config], cwd=cacti, capture_output=True, check=False, timeout=600)
        found = config.with_name("ram.cfg.out")
        if not found.exists():
            return None
        with found.open() as file:
            cells = {key.strip(): value.strip() for key, value in list(csv.DictReader(file))[-1].items() if key}
    read, write = (float(cells[f"Dynamic {what} energy (nJ)"]) * 1000 for what in ("read", "write"))
    leakage, area = float(cells["Standby leakage per bank(mW)"]), float(cells["Area (mm2)"])
    if not all(0 < figure < 1e12 for figure in (read, write, leakage, area)):
        return None
    return (*map(str, (node, ports, width, capacity)), *(f"{figure:.4g}" for figure in (read, write, leakage, area)))


def rows(cacti: Path) -> Iterator[tuple[str, ...]]:
    """All rows that there are, in order."""
    grid = list(itertools.product(NODES_NM, PORTS, WIDTHS_BITS, CAPACITIES_B))
    with ThreadPoolExecutor() as pool:
        for found in pool.map(lambda place: row_of(cacti, *place), grid):
            if found is not None:
                yield found


def main() -> None:
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / "cacti").exists():
        sys.exit("usage: python benchmarks/cacti_table.py FOLDER-WITH-CACTI > arch/estimates/sram.csv")
    print(
        "# CACTI 7 (HewlettPackard/cacti, commit 1ffd8df), by benchmarks/cacti_table.py, which says with which options"
    )
    print(",".join(COLUMNS))
    for row in rows(Path(sys.argv[1]).resolve()):
        print(",".join(row), flush=True)


if __name__ == "__main__":
    main()
