"""Networks on several devices: how long their plans take to find, what they are worth, and what is proven.

    python benchmarks/chips.py --out results/chips                 # everything, nine minutes
    python benchmarks/chips.py --only llama3_8b                    # rows whose names have this in them

Every question is asked by a process of its own: cold, with an empty result store, then once more from that store with
`STORED` seconds. Seconds are of the whole process from its start on, those of processors with all of its workers; MiB
are of the largest process. Programs of small plans are run besides: whether they make what the network done at once
makes, and move the bytes of the plan. Last, blocks of a model on devices that cost what no mapping is below (a
roofline), beside the figures of the prototype of this search.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

STORED = 3.0
"""Seconds that a plan is given whose divided operations are in the result store."""

BYTECODE = tempfile.TemporaryDirectory()
ENVIRONMENT = {**os.environ, "PYTHONPYCACHEPREFIX": BYTECODE.name, "PYTHONDONTWRITEBYTECODE": ""}
"""Of the processes: compiled modules are kept from one to the next, as an installation keeps them."""

SMALL = Path(__file__).parent / "ablation_networks"


@dataclass(frozen=True)
class Asked:
    """A question about several devices.

    options   of `compile`, the time for all searches among them
    changed   of the system
    goal      seconds on the wall
    verified  whether the plan's program is run
    """

    network: str
    system: str
    options: Mapping[str, Any] = field(default_factory=dict)
    changed: Mapping[str, str] = field(default_factory=dict)
    goal: float | None = None
    verified: bool = False

    @property
    def name(self) -> str:
        """As it is asked, without the time."""
        options = (
            f"{key} {value if isinstance(value, str | int) else _listed(value)}"
            for key, value in self.options.items()
            if key != "total_limit"
        )
        changed = (f"{key}={value}" for key, value in self.changed.items())
        return " ".join([Path(self.network).stem, *options, "on", self.system, *changed])


def _listed(value: Any) -> str:
    pairs = value.items() if isinstance(value, Mapping) else [(one,) for one in value]
    return ",".join("=".join(map(str, pair)) for pair in pairs)


def questions() -> Iterator[Asked]:
    """All of the table."""
    prefill, decode = {"phase": "prefill", "total_limit": 25.0}, {"phase": "decode", "batch": 8, "total_limit": 25.0}
    yield Asked("gpt3_6_7b_block", "h100x8", prefill, goal=30)
    yield Asked("llama3_8b", "h100x8", prefill, goal=30)
    yield Asked("llama3_8b", "h100x8", decode, goal=30)
    yield Asked("llama3_8b_block", "a100x8x4", {"total_limit": 80.0}, goal=120)
    cut = {"phase": "prefill", "batch": 8, "tiling": "perfect", "total_limit": 20.0}
    yield Asked("gpt3_6_7b", "h100x8", {**cut, "stages": "node", "microbatches": [8]})
    many = {"stages": "cluster", "microbatches": [1, 2, 4, 8], "total_limit": 50.0}
    yield Asked("gpt3_6_7b", "a100x8x4", {**cut, **many})
    yield Asked("bert_base", "a100x8", {"total_limit": 25.0})
    yield Asked("resnet50", "a100x8", {"total_limit": 25.0})
    yield Asked("resnet50", "simba_6x6", {"total_limit": 40.0})
    at_once = {"node.latency": "0 s"}  # else so little work is best done by every device
    for network in ("encoder", "inverted"):
        yield Asked(str(SMALL / f"{network}.yaml"), "a100x8", {"total_limit": 8.0}, at_once, verified=True)
    yield Asked("bert_base", "a100x8", {"dims": {"seq": 32}, "total_limit": 15.0}, at_once, verified=True)


# ---- one process -----------------------------------------------------------------------------------------------------


def planned(asked: Asked, store: str) -> Any:
    """The plan."""
    import tilewright as tw

    system = tw.load_system(asked.system, set=asked.changed)
    return tw.compile(asked.network, system=system, store=store, **asked.options)


def answered(asked: Asked, store: str) -> dict[str, Any]:
    """What a process finds."""
    import tilewright as tw

    try:
        found = planned(asked, store)
    except tw.TilewrightError as error:
        return {"why": str(error).splitlines()[0]}
    row: dict[str, Any] = {
        "seconds": found.latency,
        "gap": found.certificate.gap,
        "proven": found.certificate.proven,
        "searched": found.answer.searched,
        "compared": {one.name: one.seconds if one.seconds is not None else one.why for one in found.compared},
        "memory_mib": found.memory.used / 2**20,
    }
    if found.pipeline is not None:
        row |= {"stages": len(found.pipeline.stages), "microbatches": found.pipeline.microbatches}
    return row


def verified(asked: Asked, store: str) -> dict[str, Any]:
    """Whether the program of the plan agrees, and how many steps of it move words."""
    found = planned(asked, store).verify()
    said = "; ".join(found.wrong) if found.wrong else "agrees"
    return {"verified": f"program {said}, {len(found.moved)} steps move words"}


def measured(call: Sequence[str]) -> tuple[dict[str, float], str]:
    """What a command takes from start to end, and what it prints."""
    started = time.perf_counter()
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(call, stdout=out, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
        _, status, use = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        said = out.read()
    taken = {"cpu_s": use.ru_utime + use.ru_stime, "wall_s": time.perf_counter() - started, "mib": use.ru_maxrss / 1024}
    return taken, said if process.returncode == 0 else ""


def row_of(asked: Asked, run: str, store: str) -> dict[str, Any]:
    """A question in a process of its own; `run` is cold, from the store, or program."""
    call = [sys.executable, __file__, "--child", json.dumps(asdict(asked)), "--run", run, "--store", store]
    taken, said = measured(call)
    row = {"name": asked.name, "run": run, "goal_s": asked.goal, "limit_s": asked.options["total_limit"], **taken}
    return row | (json.loads(said) if said else {"why": "the process ended with an error"})


def rows(only: str) -> Iterator[dict[str, Any]]:
    """Of every question: cold, from the store, and its program where it is small."""
    command = [sys.executable, "-m", "tilewright", "collective", "all-reduce", "1 GB", "--system", "a100x8", "--json"]
    measured(command)  # compiles the modules
    for _ in range(3 if only in "collective" else 0):
        taken, said = measured(command)
        yield {"name": "collective all-reduce of 1 GB on a100x8", "run": "cold", "goal_s": 0.5, **taken} | (
            {"seconds": json.loads(said)["time_s"]} if said else {"why": "the process ended with an error"}
        )
    for asked in questions():
        if only not in asked.name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            store = str(Path(folder) / "store")
            yield row_of(asked, "cold", store)
            soon = replace(asked, options={**asked.options, "total_limit": STORED}, goal=asked.goal and STORED)
            yield row_of(soon, "from the store", store)
            if asked.verified:
                yield row_of(asked, "program", store)
    if only in "roofline":
        yield from roofline_rows()


# ---- beside the prototype --------------------------------------------------------------------------------------------

PROTOTYPE = {
    25: {"best": 10.73, "Megatron": 23.79, "one device": 16.14},
    225: {"best": 4.43, "Megatron": 5.04, "one device": 16.14},
}
"""Milliseconds by GB/s of a link: 32 blocks of an 8B model, 1,024 tokens, batch 1, eight devices."""


def roofline_rows() -> Iterator[dict[str, Any]]:
    """32 blocks of Llama 3 8B, without its head, on eight H100 as a ring, each at its roofline."""
    import yaml

    import tilewright as tw
    from tilewright import workloads
    from tilewright.cost_models import LATENCY
    from tilewright.mapper.fusing import answer_below
    from tilewright.mapper.means import UNLIMITED
    from tilewright.mapper.segmentation.searching import OneAfterTheOther
    from tilewright.mapper.sharding import DeviceCosts, ShardingQuestion
    from tilewright.mapper.sharding.search import PlanSearch

    class RooflineCosts(DeviceCosts):
        """Devices that take what no mapping is below."""

        def cost(self, name: str, split: Any) -> Any:
            found = super().cost(name, split)
            return replace(found, value=found.bound, seconds=found.bound, energy_pj=0.0)

    table = yaml.safe_load((Path(workloads.__file__).parent / "networks/llama3_8b.yaml").read_text(encoding="utf-8"))
    table |= {"network": "blocks", "graph": table["graph"][:2], "layers": table["layers"][:-1]}
    del table["published"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "blocks.yaml"
        path.write_text(yaml.safe_dump(table), encoding="utf-8")
        graph = tw.load_network(path, {"seq": 1024}, phase="prefill").wiring
        assert graph is not None
        for bandwidth, other in PROTOTYPE.items():
            ring = {"name": "x", "kind": "ring", "size": 8, "bandwidth": f"{bandwidth} GB/s"}
            path.write_text(yaml.safe_dump({"system": "ring", "device": "h100", "fabric": [ring]}), encoding="utf-8")
            question = ShardingQuestion(graph, tw.load_system(path), LATENCY, "ragged")
            began = time.process_time()
            costs = RooflineCosts(question, OneAfterTheOther(answer_below), UNLIMITED)
            search = PlanSearch(question, costs)
            found = search.run()
            taken = time.process_time() - began
            compared = {one.name: one.seconds for one in search.compared()}
            yield {
                "name": f"roofline: 32 blocks of llama3_8b on a ring of 8 with {bandwidth} GB/s a link",
                "run": "in this process",
                "cpu_s": taken,
                "seconds": found.seconds,
                "gap": found.certificate.gap,
                "proven": found.certificate.proven,
                "compared": compared,
                "prototype_ms": other,
            }


# ---- the table -------------------------------------------------------------------------------------------------------

USUAL = ("one device", "data parallel", "Megatron")
COLUMNS = ("question", "run", "goal s", "limit s", "CPU s", "wall s", "MiB", "ms", "gap", "searched", *USUAL, "")


def table(every: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line for each row."""
    for line in (COLUMNS, ["---"] * len(COLUMNS), *map(_cells, every)):
        yield f"| {' | '.join(line)} |"


def _cells(row: Mapping[str, Any]) -> list[str]:
    compared = {} if "stages" in row else row.get("compared", {})  # else of one microbatch
    gap = "" if "gap" not in row else "proven" if row["proven"] else f"{100 * row['gap']:.1f}%"
    notes = [row.get("why", ""), row.get("verified", "")]
    if "stages" in row:
        notes.append(f"{row['stages']} stages, {row['microbatches']} microbatches")
    if "prototype_ms" in row:
        notes.append("prototype: " + ", ".join(f"{name} {value:g}" for name, value in row["prototype_ms"].items()))
    return [
        row["name"],
        row["run"],
        *(f"{row[key]:g}" if row.get(key) else "" for key in ("goal_s", "limit_s")),
        *(f"{row[key]:.{digits}f}" if key in row else "" for key, digits in (("cpu_s", 2), ("wall_s", 2), ("mib", 0))),
        f"{1e3 * row['seconds']:.4g}" if "seconds" in row else "",
        gap,
        str(row.get("searched", "")),
        *(f"{1e3 * compared[one]:.4g}" if isinstance(compared.get(one), float) else "" for one in USUAL),
        "; ".join(filter(None, notes)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="rows whose names have this in them")
    parser.add_argument("--out", type=Path, help="a folder for rows.jsonl and table.md")
    for name in ("child", "run", "store"):
        parser.add_argument(f"--{name}", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        asked = Asked(**json.loads(chosen.child))
        print(json.dumps((verified if chosen.run == "program" else answered)(asked, chosen.store)))
        return
    every = []
    for row in rows(chosen.only):
        every.append(row)
        print(" | ".join(_cells(row)), flush=True)
    if chosen.out:
        chosen.out.mkdir(parents=True, exist_ok=True)
        (chosen.out / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in every), encoding="utf-8")
        (chosen.out / "table.md").write_text("".join(f"{line}\n" for line in table(every)), encoding="utf-8")


if __name__ == "__main__":
    main()
