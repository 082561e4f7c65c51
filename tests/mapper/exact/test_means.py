"""A search keeps to its means, and whatever it hands over when they run out is true."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

import pytest

import longer
from generators import memory, random_architecture, random_problem
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory, load_arch
from tilewright.cost_models import evaluate, parse_objective
from tilewright.ir import InfeasibleError, UndecidedError
from tilewright.mapper import means
from tilewright.mapper.constraints import Constraints
from tilewright.mapper.exact.search import ExactSearch, search_exact
from tilewright.mapper.means import Means, OutOfMeans
from tilewright.mapper.space import SPACES
from tilewright.mapper.space.size import count_mappings
from tilewright.mapper.tilings import TILINGS
from tilewright.workloads import gemm, load_layer

SLACK = 1 + 1e-9


class Clock:
    """A clock that stands still but when it is looked at."""

    def __init__(self, step: float) -> None:
        self.ticks, self.step = 0, step

    def perf_counter(self) -> float:
        self.ticks += 1
        return self.ticks * self.step

    process_time = perf_counter


def test_how_low_it_gets_is_said_as_far_as_it_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Why a limit is not kept takes a search of its own, with means of its own. That none keeps it stands before."""
    problem, arch = gemm(M=6, N=4, K=5), load_arch("eyeriss")
    asked = parse_objective("latency where energy <= 2")
    least = search_exact(problem, arch, "energy")[2].value
    told: Counter[str] = Counter()
    for ticks in (1, 10, 30, 90, 180, 400):
        with monkeypatch.context() as patch:
            patch.setattr(means, "time", Clock(1.0))
            patch.setattr("tilewright.mapper.exact.from_scratch.SECONDS_TO_DIAGNOSE", float(ticks))
            with pytest.raises(InfeasibleError, match="no mapping keeps the limit: ") as caught:
                search_exact(problem, arch, asked)
        figure = caught.value.message.removesuffix(" pJ").rpartition(" is ")[2]
        if figure.startswith("at least "):
            assert 2 < float(figure.removeprefix("at least ")) <= least * SLACK
        else:
            assert figure == f"{least:.10g}"
        told[figure[:8]] += 1
    assert told["at least"]
    assert told[f"{least:.10g}"[:8]]


@pytest.mark.parametrize("seeds", longer.blocks(60, 20))
def test_whenever_the_time_is_up_the_certificate_is_true(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = 0
    for seed in seeds:
        rng = random.Random(seed)
        problem, arch = random_problem(rng, 6), random_architecture(rng, rng.randint(0, 2), capacity=40)
        how = rng.choice(("energy", "latency", "edp")), TILINGS[seed % 2], rng.choice(SPACES)
        try:
            least = search_exact(problem, arch, *how)[2].value
        except InfeasibleError:
            continue
        with monkeypatch.context() as patch:
            patch.setattr(means, "time", Clock(0.01))
            mapping, cost, found = search_exact(problem, arch, *how, time_limit=rng.choice([0.0, 0.05, 0.3, 1.0, 3.0]))
        assert cost == evaluate(mapping, arch)
        assert found.lower_bound <= least * SLACK
        assert found.value * SLACK >= least
        stopped += not found.proven
    assert longer.occurs(stopped > len(seeds) / 5)


@pytest.mark.parametrize("seeds", longer.blocks(60, 20))
def test_however_little_memory_there_is_the_certificate_is_true(seeds: range) -> None:
    """Tables are made again and again, rows grow a thousand at a time, and open mappings are let go of."""
    let_go = 0
    for seed in seeds:
        rng = random.Random(seed)
        problem, arch = random_problem(rng, 8), random_architecture(rng, rng.randint(0, 2), capacity=60)
        objective, tiling, space = rng.choice(("energy", "latency", "edp")), TILINGS[seed % 2], rng.choice(SPACES)
        try:
            least = search_exact(problem, arch, objective, tiling, space)[2].value
        except InfeasibleError:
            continue
        search = ExactSearch(problem, arch, parse_objective(objective), tiling, space, means=Means(memory_limit=3_000))
        _, _, found = search.run()
        assert found.lower_bound <= least * SLACK
        assert found.value * SLACK >= least
        if found.proven:
            assert found.value <= least * SLACK
        let_go += search.frontier.let_go < float("inf")
    assert longer.occurs(let_go > 0)


@pytest.mark.long
def test_placements_taken_for_a_dive_stay_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were chosen to be dived into were in no queue when the time was up while others were decided, and the
    certificate was about the others alone."""
    among = 0
    for seed in (5, 18, 73):
        rng = random.Random(seed)
        problem, arch = random_problem(rng, 6), random_architecture(rng, rng.randint(1, 3), capacity=24)
        least = search_exact(problem, arch, "energy")[2].value
        for looks in range(1, 40):
            left = itertools.count(looks, -1)

            def check(_: Means, left: Iterator[int] = left) -> None:
                if next(left) <= 0:
                    raise OutOfMeans

            with monkeypatch.context() as patch:
                patch.setattr(Means, "check", check)
                search = ExactSearch(problem, arch, parse_objective("energy"), "perfect")
                search.solve()
            if not search.out_of_time:
                assert search.found[0].value <= least * SLACK, (seed, looks)
                break
            assert search.open_bound <= least * SLACK, (seed, looks)
            among += search.frontier.begun
    assert among > 20


def long_machine(arrays: int, memories: int) -> Architecture:
    """Many arrays, and many memories that may keep everything."""
    levels: list[Memory | Fanout] = [memory("DRAM", read_energy_pj=100.0, write_energy_pj=100.0)]
    for i in range(max(arrays, memories)):
        if i < arrays:
            levels.append(Fanout(name=f"array{i}", axes=(ArrayAxis(size=2),), multicast=True, spatial_reduction=True))
        if i < memories:
            every = Keeps(input="may", weight="may", output="may")
            levels.append(memory(f"M{i}", keeps=every, size_bits=8 * max(3_000 // (i + 1), 3)))
    return Architecture(name="long", clock_hz=1e9, word_bits=8, levels=tuple(levels), mac=Mac(energy_pj=0.0))


@pytest.mark.some(4)
@pytest.mark.parametrize(("arrays", "memories"), [(12, 1), (0, 40), (12, 12)])
@pytest.mark.parametrize(("tiling", "space"), list(itertools.product(TILINGS, SPACES)))
def test_many_arrays_and_memories_come_to_an_end(arrays: int, memories: int, tiling: str, space: str) -> None:
    arch = long_machine(arrays, memories)
    mapping, cost, found = search_exact(gemm(8, 8, 8), arch, "edp", tiling, space, time_limit=0.2)  # type: ignore[arg-type]
    assert cost == evaluate(mapping, arch)
    assert 0 <= found.lower_bound <= found.value


def test_counting_the_space_stops() -> None:
    with pytest.raises(OutOfMeans):
        count_mappings(gemm(96, 96, 96), long_machine(12, 12), "ragged", "uneven", Means.from_now(0.05))


def test_the_best_million() -> None:
    search = ExactSearch(
        load_layer("resnet50:conv1"),
        load_arch("eyeriss"),
        parse_objective("edp"),
        "perfect",
        means=Means.from_now(0.3),
        count=1_000_000,
    )
    assert search.solve()
    values = [found.value for found in search.found]
    assert values == sorted(values)
    assert not search.certificate(search.found[0]).proven or len(values) == 1_000_000


def test_out_of_time_before_anything_keeps_the_constraints(monkeypatch: pytest.MonkeyPatch) -> None:
    """The simplest mapping uses no array, and none other was found in time: that is no proof that there is none."""
    monkeypatch.setattr(means, "time", Clock(10.0))
    busy = Constraints(utilization={"array": 0.9})
    with pytest.raises(UndecidedError, match="no mapping was found, and none was ruled out"):
        search_exact(
            load_layer("resnet50:conv1"), load_arch("eyeriss"), "edp", "ragged", "uneven", busy, time_limit=-1.0
        )


WORST = """
import resource, sys
limit = 256 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit + 2**30, limit + 2**30))
from tilewright.arch import load_arch
from tilewright.mapper.effort import EFFORT
from tilewright.mapper.exact.search import search_exact
from tilewright.workloads import load_layer
layer, arch, tiling, space = sys.argv[1:]
_, _, found = search_exact(load_layer(layer), load_arch(arch), "edp", tiling, space, time_limit=3, memory_limit=limit)
# Not ru_maxrss: that begins with what the process which started this one had.
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) * 2**10
assert peak <= limit + 256 * 2**20, f"{peak / 2**20:.0f} MiB"
assert found.lower_bound <= found.value
"""


@pytest.mark.long
@pytest.mark.parametrize(
    "asked",
    [
        ("resnet50:conv1", "h100", "ragged", "even"),
        ("resnet50:layer2.0.conv2", "h100", "ragged", "uneven"),
        ("mobilenet_v2:b5.expand", "cpu", "ragged", "uneven"),
        ("resnet50:layer3.0.conv2", "meta_prototype_like", "ragged", "uneven"),
    ],
)
def test_the_worst_cases_stay_within_their_memory(asked: tuple[str, str, str, str]) -> None:
    """With 1 GiB of addresses over the limit: a MemoryError would end them."""
    done = subprocess.run([sys.executable, "-c", WORST, *asked], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
