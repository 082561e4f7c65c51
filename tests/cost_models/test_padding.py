"""Zeros of padding: which words a machine with `padding: free` counts, and who refuses to."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from pathlib import Path

import pytest

import longer
import tilewright as tw
from tilewright.arch import Architecture, parse_arch
from tilewright.cost_models import parse_objective
from tilewright.cost_models.intensity import compulsory_words
from tilewright.cost_models.padding import counted, stored_points
from tilewright.cost_models.traffic_bounds import reuse_bound
from tilewright.ir import (
    ArchitectureError,
    LoopNest,
    Mapping,
    MappingError,
    Problem,
    ProblemError,
    Stored,
    TilewrightError,
)
from tilewright.mapper.question import Question
from tilewright.run.documents.parts import layer_of, layer_part
from tilewright.workloads import cascade

LAYER = tw.padded(tw.conv2d(K=2, C=1, P=7, Q=7, R=3, S=3), 1)
NEST = "DRAM keeps I W O\nL1 keeps I W O\nfor K in 2\n for P in 7\n  for Q in 7\n   for R in 3\n    for S in 3"


def machine(padding: str, more: str = "", size: str = "unbounded") -> Architecture:
    return parse_arch(
        f"name: m\nclock: 1 GHz\nword: 8 bit\npadding: {padding}\nlevels:\n"
        f"  - {{memory: DRAM, access: 8 bit, read: 1 pJ, write: 1 pJ{more}}}\n"
        f"  - {{memory: L1, size: {size}, access: 8 bit, read: 1 pJ, write: 1 pJ}}\nmac: {{energy: 1 pJ}}\n"
    )


def reads(arch: Architecture, memory: str) -> int:
    traffic = tw.evaluate(Mapping(LAYER, LoopNest.parse(NEST)), arch).traffic
    return int(next(t.reads for t in traffic if (t.memory, t.tensor) == (memory, "I")))


def test_words_of_seven_rows_under_three() -> None:
    """65 % more words with the zeros; 19 x 19 of 21 x 21 points take a word."""
    assert [reads(machine(padding), "DRAM") for padding in ("read", "free")] == [81, 49]
    assert [reads(machine(padding), "L1") for padding in ("read", "free")] == [2 * 441, 2 * 361]
    free = counted(LAYER, machine("free"))
    assert (compulsory_words(LAYER)["I"], compulsory_words(free)["I"]) == (81, 49)
    assert (reuse_bound(free, 8) or 0) + 16 == pytest.approx(((reuse_bound(LAYER, 8) or 0) + 16) * 361 / 441)
    assert counted(LAYER, machine("read")) is LAYER


def test_room_of_what_is_stored() -> None:
    """Of input, weights and output 49 + 18 + 98 words are held; with zeros 81 of the input."""
    mapping, room = Mapping(LAYER, LoopNest.parse(NEST)), f"{49 + 18 + 98} B"
    assert tw.evaluate(mapping, machine("free", size=room)).memories[1].occupied_bits == 8 * 165
    with pytest.raises(MappingError, match="tiles of I, W, O need 197 B, capacity is 165 B"):
        tw.evaluate(mapping, machine("read", size=room))


def test_what_a_question_depends_on() -> None:
    """Pads are part of it where they count."""
    plain = tw.conv2d(K=2, C=1, P=7, Q=7, R=3, S=3)

    def key(problem: Problem, padding: str) -> str:
        return Question(problem, machine(padding), parse_objective("edp"), "perfect").key

    assert key(LAYER, "read") == key(plain, "read")
    assert key(LAYER, "free") != key(plain, "free")


def test_documents_say_pads() -> None:
    assert layer_of(layer_part(LAYER), "mapping.json") == LAYER
    part = layer_part(LAYER)
    wrong = part.operations[0].model_copy(update={"pads": (("I", ((5, 5),) * 4),)})
    with pytest.raises(MappingError, match="5 and 5 zeros around a rank of 1"):
        layer_of(part.model_copy(update={"operations": (wrong,)}), "mapping.json")


PADDED = cascade(
    ["T[c,p] = exp(I[c,p])", "O[k,p] += T[c,p+r] * W[k,c,r] pad T[0,1:1]"], {"c": 2, "p": 7, "k": 2, "r": 3}
)


def test_trees_count_zeros_as_words_and_say_so() -> None:
    free, read = (tw.search(PADDED, machine(padding), "energy", "perfect") for padding in ("free", "read"))
    assert free.cost.energy_pj == read.cost.energy_pj
    assert free.arch.settings == {"padding": "read"}


ASKED: dict[str, Callable[[Architecture], object]] = {
    "trees of operations": lambda arch: tw.evaluate(
        tw.search(PADDED, machine("read"), "energy", "perfect").mapping, arch
    ),
    "strategy cpsat": lambda arch: tw.search(LAYER, arch, strategy="cpsat", tiling="perfect"),
    "Timeloop's files": lambda arch: tw.search(LAYER, arch, tiling="perfect").emit("timeloop"),
}


@pytest.mark.parametrize("who", ASKED)
def test_refused_where_zeros_would_count(who: str) -> None:
    with pytest.raises(TilewrightError, match=r"m has 'padding: free', and .* is padded: it counts zeros") as error:
        ASKED[who](machine("free"))
    assert error.value.where == who
    assert "set padding=read" in (error.value.hint or "")


def test_the_program_counts_zeros_and_says_so(tmp_path: Path) -> None:
    """Where a memory has room for what is stored alone, too."""
    found = tw.search(LAYER, machine("free", size="165 B"))
    checked = found.verify()
    assert checked
    assert checked.message.endswith("zeros of padding count as words here")
    assert "with 'padding: read'" in found.emit("numpy")
    found.save(tmp_path / "result")
    assert tw.load_mapping(tmp_path / "result" / "mapping.json").mapping == found.mapping


def test_refused_beside_lines_and_densities() -> None:
    with pytest.raises(ArchitectureError, match="DRAM has lines: 'padding: free' knows none"):
        machine("free", ", line: 64 B, layout: row-major")
    with pytest.raises(ArchitectureError, match="padding"):
        machine("sometimes")


def test_pads_of_nothing_but_zeros() -> None:
    with pytest.raises(ProblemError, match="4 and 5 zeros around a rank of 9"):
        tw.padded(tw.conv2d(K=2, C=1, P=7, Q=7, R=3, S=3), 4, (0, 0))
    with pytest.raises(ProblemError, match="expected a number for each of 2 axes"):
        tw.padded(tw.conv2d(K=2, C=1, P=7, Q=7, R=3, S=3), (1, 1, 1))


def test_explained() -> None:
    found = tw.search(LAYER, machine("free"))
    assert "zeros around I are not moved: 49 words of 81" in " ".join(str(tw.explain(found)).split())


def test_a_convolution_as_a_product_reads_what_is_stored() -> None:
    """The image, once, to lay its patches out; the product then has them as words of its own."""
    read, free = (tw.search_im2col(LAYER, machine(padding)).image_words for padding in ("read", "free"))
    assert (read, free) == (81, 49)


def test_points_whose_sum_is_stored() -> None:
    for seed in longer.seeds(200):
        rng = random.Random(seed)
        coefficients, sizes = (tuple(rng.randint(1, 6) for _ in range(1 + seed % 3)) for _ in range(2))
        sums = [
            sum(point)
            for point in itertools.product(*(range(0, c * n, c) for c, n in zip(coefficients, sizes, strict=True)))
        ]
        first = rng.randint(0, max(sums))
        end = rng.randint(first + 1, max(sums) + 1)
        expected = sum(first <= one < end for one in sums)
        assert stored_points(coefficients, sizes, Stored(first, end, end - first)) == expected
