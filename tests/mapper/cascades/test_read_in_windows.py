"""Intermediates that are read through windows and whole: the room that they take is what readers ask for."""

from __future__ import annotations

import pytest

from cascade_cases import Case
from tilewright.arch import Architecture, Mac, Memory
from tilewright.cost_models import ENERGY
from tilewright.ir import Cascade
from tilewright.mapper.cascades import search_cascade
from tilewright.mapper.question import Question
from tilewright.workloads import cascade

ZEROS = cascade(["T[m] = A[m] + B[m]", "O[m] += T[m+r] * C[r] pad T[1:1]"], m=4, r=3)
EVERY_SECOND = cascade(["T[m] += A[m,k] * B[k]", "O[p] += T[2*p] * C[p]"], m=6, k=2, p=3)
BOTH = cascade(["T[m] = A[m] + B[m]", "O[p] = T[2*p] + C[p]", "U[m] = T[m] + D[m]"], m=4, p=2)


def machine(words: int) -> Architecture:
    memories = (("DRAM", None, 100.0), ("GLB", 8 * words, 1.0))
    levels = tuple(
        Memory(name=name, size_bits=bits, access_bits=8, read_energy_pj=energy, write_energy_pj=energy)
        for name, bits, energy in memories
    )
    return Architecture(name="two", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=0.5))


@pytest.mark.some(2)
@pytest.mark.parametrize("words", [3, 4, 5, 6, 7, 8, 9, 12, 40])
@pytest.mark.parametrize("asked", [ZEROS, EVERY_SECOND, BOTH], ids=["zeros", "every second", "both"])
def test_the_best_tree_fits_and_is_the_best_of_all(asked: Cascade, words: int) -> None:
    arch = machine(words)
    best = Case("windows", asked, arch, "perfect", "even", "all").trees.best()
    answer = search_cascade(Question(asked, arch, ENERGY, "perfect", fuse="plain"))
    assert answer.certificate.proven
    assert answer.cost.energy_pj == pytest.approx(best["energy"].value)


def test_what_is_read_in_part_along_other_ranks_passes_the_outermost_memory_below_loops_along_windows() -> None:
    some = cascade(["T[p,q] += A[p,q,k] * B[k]", "O[x,y] += T[x+r,2*y] * C[r]"], p=5, q=4, k=2, x=4, r=2, y=2)
    answer = search_cascade(Question(some, machine(40), ENERGY, "perfect", fuse="all"))
    whole = search_cascade(Question(some, machine(40), ENERGY, "perfect", fuse="plain"))
    assert answer.certificate.value <= whole.certificate.value
