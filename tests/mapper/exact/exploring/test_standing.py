"""Where a search stands that ends before its proof is complete."""

from __future__ import annotations

import math
import random

import pytest

import longer
import tilewright as tw
from generators import random_architecture, random_problem
from tilewright.arch import Memory
from tilewright.cost_models import parse_objective
from tilewright.ir import TilewrightError
from tilewright.mapper import means
from tilewright.mapper.certificate import OpenPart
from tilewright.mapper.exact.search import ExactSearch
from tilewright.mapper.means import Means
from tilewright.report.pages.result import certificate_rows
from tilewright.run.documents.mappings import dump_mapping, parse_mapping


class Ticking:
    """A clock by which every look takes a second."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        self.now += 1.0
        return self.now

    process_time = perf_counter


def ended_after(looks: int, monkeypatch: pytest.MonkeyPatch, **asked: object) -> tw.SearchResult:
    monkeypatch.setattr(means, "time", Ticking())
    return tw.search(tw.conv2d(K=64, C=64, P=28, Q=28, R=3, S=3), tw.load_arch("h100"), time_limit=looks, **asked)


def test_a_complete_proof_leaves_nothing_open() -> None:
    found = tw.search(tw.gemm(8, 8, 8), tw.load_arch("three_level"))
    assert found.certificate.proven
    assert found.certificate.open_part is None


@pytest.mark.some(1)
@pytest.mark.parametrize("looks", [40, 150, 400, 1000])
def test_what_is_open_is_told(looks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = ended_after(looks, monkeypatch, tiling="ragged").certificate
    assert not certificate.proven
    part = certificate.open_part
    assert part is not None
    assert part.ended == "time"
    assert part.bound == pytest.approx(certificate.lower_bound / certificate.value)
    assert part.memories[1] == 3
    assert part.arrays[1] == 4
    assert part.tiles[0] <= part.tiles[1]
    if part.energy is not None and part.latency is not None and part.charged is not None:
        assert part.charged <= part.energy
        assert part.energy > 0
        assert part.latency > 0


@pytest.mark.long
def test_memory_that_ran_out_is_told() -> None:
    problem, arch = tw.gemm(60, 36, 50), tw.load_arch("eyeriss_v2_like")
    search = ExactSearch(problem, arch, parse_objective("edp"), "ragged", means=Means(memory_limit=300_000))
    _, _, certificate = search.run()
    assert not certificate.proven
    assert certificate.open_part is not None
    assert certificate.open_part.ended == "memory"
    assert certificate.open_part.bound == pytest.approx(certificate.lower_bound / certificate.value)


@pytest.mark.parametrize("seed", longer.seeds(12))
def test_the_part_told_has_the_lowest_bound(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever a search ends, and whatever it works on then."""
    rng = random.Random(seed)
    problem, arch = random_problem(rng), random_architecture(rng)
    monkeypatch.setattr(means, "time", Ticking())
    try:
        asked = {"tiling": rng.choice(["perfect", "ragged"]), "space": rng.choice(["even", "uneven"])}
        certificate = tw.search(problem, arch, time_limit=rng.choice([2, 5, 10, 20, 50]), **asked).certificate
    except TilewrightError:
        return
    part = certificate.open_part
    assert certificate.proven <= (part is None)
    if part is not None:
        assert part.bound == pytest.approx(certificate.lower_bound / certificate.value)
        assert math.isfinite(part.bound)
        assert part.bound < 1


@pytest.mark.long
def test_latency_where_nothing_costs_energy(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is open was told as a part of no energy: a Python error ended the search."""
    arch = tw.load_arch("h100")
    free = {"read_energy_pj": 0.0, "write_energy_pj": 0.0, "leakage_pj_per_cycle": 0.0}
    levels = [
        level.model_copy(update=free if isinstance(level, Memory) else {"hop_pj_per_bit": 0.0}) for level in arch.levels
    ]
    mac = arch.mac.model_copy(update={"energy_pj": 0.0})
    arch = arch.model_copy(update={"levels": tuple(levels), "mac": mac, "leakage_pj_per_cycle": 0.0})
    problem = tw.conv2d(K=64, C=64, P=28, Q=28, R=3, S=3)
    for looks in (150, 400, 1000):
        monkeypatch.setattr(means, "time", Ticking())
        found = tw.search(problem, arch, "latency", "ragged", time_limit=looks)
        assert found.cost.energy_pj == 0
        assert found.certificate.open_part is None or found.certificate.open_part.energy is None


@pytest.mark.long
def test_documents_and_pages_tell_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = ended_after(400, monkeypatch)
    part = found.certificate.open_part
    assert part is not None
    assert ("Open", str(part)) in certificate_rows(found.certificate)
    arch = tw.load_arch("h100")
    recorded = parse_mapping(dump_mapping(found.mapping, arch, found.cost, found.certificate), "here").recorded
    assert recorded.certificate is not None
    assert recorded.certificate.open_part == part


def test_one_line() -> None:
    part = OpenPart("memory", 0.912, (3, 3), (2, 2), (1, 6), 0.97, 0.8, 0.82, 45678)
    assert str(part) == (
        "memory ran out; lowest bound 91.2% of the best: 1 of 6 tiles chosen, all arrays; "
        "energy 97.0% (80.0% charged), latency 82.0% at least; 45,678 open below 99 %"
    )
    assert "arrays of 1 of 2 fanouts" in str(OpenPart("time", 0.9, (3, 3), (1, 2), (0, 0), None, None, None, 1))
    assert "memories of 0 of 3 tensors" in str(OpenPart("time", 0.9, (0, 3), (0, 2), (0, 0), None, None, None, 1))
