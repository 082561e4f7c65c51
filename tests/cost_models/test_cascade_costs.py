"""Capacity, energy and latency of trees, worked out by hand."""

from __future__ import annotations

import random

import pytest
from tree_simulator import simulate_tree
from trees import random_cascade, random_tree

from generators import memory, random_architecture
from tilewright.arch import Architecture, Fanout, Keeps, Mac, Memory, parse_arch
from tilewright.cost_models import Cost, cost_of, count_words, evaluate
from tilewright.cost_models.cascades import cost_of_counts, count_tree, live_in, occupancy, ways_of
from tilewright.ir import Mapping, MappingError, Node
from tilewright.workloads import cascade

MAY = Keeps(input="may", weight="may", output="may")


def machine(*, size: int | None = None, **changes: object) -> Architecture:
    """DRAM and one buffer of some words, of 8 bits each."""
    buffer: dict[str, object] = {"keeps": MAY}
    buffer |= {key: changes.pop(key) for key in list(changes) if key in Memory.model_fields}
    levels: tuple[Memory | Fanout, ...] = (
        memory("DRAM", shared_bits_per_cycle=8.0),
        memory("GLB", size_bits=None if size is None else 8 * size, **buffer),
    )
    fields: dict[str, object] = {"name": "m", "clock_hz": 1e9, "word_bits": 8, "mac": Mac(energy_pj=0.0)}
    return Architecture.model_validate(fields | changes | {"levels": levels})


THREE = cascade(
    ["T[m,n] += A[m,k] * B[k,n]", "U[m,p] += T[m,n] * C[n,p]", "O[m,q] += U[m,p] * D[p,q]"], m=4, k=4, n=4, p=4, q=4
)
NESTS = {
    "T": ("M", "N", "K"),
    "U": ("M", "N", "P"),
    "O": ("M", "P", "Q"),
}


def leaf(name: str, indent: str, rows: int, nodes: str = "") -> str:
    lines = [f"{indent}branch {name}"]
    lines += [f"{indent}  GLB keeps {nodes}"] if nodes else []
    lines += [f"{indent}  for {dim} in {rows if dim == 'M' else 4}" for dim in NESTS[name]]
    return "\n".join(lines)


def live(fused: Mapping, tensor: str) -> list[str]:
    """The operations during which the tile of a tensor's only node in GLB takes room."""
    places = [
        (address, i)
        for address, tree in fused.tree.walk()
        for i, item in enumerate(tree.items)
        if item == Node("GLB", tensor)
    ]
    (place,) = places
    return live_in(fused, place)


def test_an_intermediate_lives_from_its_writer_to_its_last_reader() -> None:
    text = "\n".join(["DRAM keeps A B C D O", "GLB keeps T U", *(leaf(name, "", 4) for name in "TUO")])
    fused = Mapping.parse(THREE, text)
    assert live(fused, "T") == ["T", "U"]
    assert live(fused, "U") == ["U", "O"]
    cost = evaluate(fused, machine(size=32))
    assert [sum(t.words for t in held if t.memory == "GLB") for held in cost.occupancy.values()] == [16, 32, 16]
    with pytest.raises(MappingError, match="while U works, tiles of T, U need 32 B, capacity is 31 B"):
        evaluate(fused, machine(size=31))


def test_a_loop_below_its_node_keeps_it_alive_in_all_branches() -> None:
    shared = "\n".join(
        ["DRAM keeps A B C D O", "GLB keeps T", "for M in 2", "GLB keeps U", *(leaf(x, "", 2) for x in "TUO")]
    )
    fused = Mapping.parse(THREE, shared)
    assert live(fused, "T") == ["T", "U", "O"]
    assert live(fused, "U") == ["U", "O"]


def test_it_lives_in_the_whole_of_a_tree_that_reads_it_or_steps_inside() -> None:
    for loop, rows, first in (("", 4, ["U", "O"]), ("  for M in 2\n", 2, ["U", "O"])):
        inner = f"branch\n{loop}  GLB keeps U\n" + "\n".join(leaf(x, "  ", rows) for x in "UO")
        fused = Mapping.parse(THREE, f"DRAM keeps A B C D O\nGLB keeps T\n{leaf('T', '', 4)}\n{inner}")
        assert live(fused, "T") == ["T", *first]


def test_it_lives_until_a_reader_outside_all_trees_around_its_writer() -> None:
    whole = cascade(["T[m] = exp(A[m])", "U[m] = exp(T[m])", "V[m] = abs(T[m])", "O[m] = U[m] * V[m]"], m=2)
    loop = "for M in 2"
    inner = f"  branch\n    branch U\n      {loop}\n    branch V\n      {loop}"
    tree = f"DRAM keeps A T V O\nGLB keeps U\nbranch\n  branch T\n    {loop}\n{inner}\nbranch O\n  {loop}"
    assert live(Mapping.parse(whole, tree), "U") == ["U", "V", "O"]


def test_other_nodes_above_a_split_take_room_in_every_branch() -> None:
    text = "\n".join(["DRAM keeps A B C D O", "GLB keeps T U A", *(leaf(name, "", 4) for name in "TUO")])
    held = evaluate(Mapping.parse(THREE, text), machine()).occupancy
    assert all("A" in {tile.tensor for tile in tiles if tile.memory == "GLB"} for tiles in held.values())


def test_double_buffers_hold_two_of_what_moves() -> None:
    text = "\n".join(
        [
            "DRAM keeps A B C D O",
            "GLB keeps B",
            "for M in 2",
            "GLB keeps A T U",
            *(leaf(x, "", 2) for x in "TU"),
            leaf("O", "", 2, "D"),
        ]
    )
    fused = Mapping.parse(THREE, text)
    for overlap, copies in (("within_operations", 1), ("across_operations", 2)):
        arch = machine(double_buffered=True, overlap=overlap)
        held = occupancy(fused, arch, ways_of(fused, arch))
        bits = {
            tile.tensor: tile.bits // 8 // tile.words
            for tiles in held.values()
            for tile in tiles
            if tile.memory == "GLB"
        }
        assert bits == {"B": 1, "A": 2, "T": copies, "U": copies, "D": 2}


def test_partial_sums_are_wide_only_where_they_are_added_up() -> None:
    inside = leaf("T", "", 4).replace("branch T", "branch T")
    text = "\n".join(["DRAM keeps A B C D O U", "GLB keeps T", inside, *(leaf(x, "", 4) for x in "UO")])
    arch = machine(partial_sum_bits=32)
    fused = Mapping.parse(THREE, text)
    held = occupancy(fused, arch, ways_of(fused, arch))
    widths = {name: [t.bits // t.words for t in tiles if t.memory == "GLB"] for name, tiles in held.items()}
    assert widths == {"T": [32], "U": [8], "O": []}


def test_sums_are_wide_while_a_loop_goes_over_them() -> None:
    """O is unfinished from step to step of n, while T works too; where the loop is O's own, it is done at once."""
    lines = ["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]", "R[m,p] = exp(O[m,p])"]
    chain = cascade(lines, m=2, n=4, k=2, p=2)
    text = """DRAM keeps A B C R
GLB keeps O
branch
  for N in {shared}
    GLB keeps T
    branch T
      for N in {own}
        for M in 2
          for K in 2
    branch O
      for N in {own}
        for M in 2
          for P in 2
branch R
  for M in 2
    for P in 2
"""
    for shared, own, widths in ((4, 1, [32, 32, 8]), (1, 4, [32, 8])):
        fused = Mapping.parse(chain, text.format(shared=shared, own=own))
        arch = machine(partial_sum_bits=32)
        held = occupancy(fused, arch, ways_of(fused, arch))
        found = {name: t.bits // t.words for name, tiles in held.items() for t in tiles if t.tensor == "O"}
        assert list(found.values()) == widths


def test_latency_is_a_sum_and_overlap_a_maximum() -> None:
    text = "\n".join(["DRAM keeps A B C D O T U", *(leaf(name, "", 4) for name in "TUO")])
    fused = Mapping.parse(THREE, text)
    cost = evaluate(fused, machine())
    assert cost.latency_cycles == sum(part.latency_cycles for part in cost.operations.values())
    together = evaluate(fused, machine(overlap="across_operations"))
    assert together.latency_cycles == sum(part.memories[0].cycles for part in together.operations.values())
    assert together.energy_pj == cost.energy_pj


def test_kinds_of_operations_cost_as_the_machine_says() -> None:
    text = """
name: x
clock: 1 GHz
word: 8 bit
levels: [{memory: DRAM, access: 8 bit, read: 0 pJ, write: 0 pJ}]
mac: {energy: 1 pJ, per_cycle: 2, ops: {exp: {energy: 4 pJ, per_cycle: 0.25}}}
"""
    whole = cascade(["P[m] = exp(S[m])", "R[m] = P[m] + S[m]"], m=8)
    fused = Mapping.parse(whole, "DRAM keeps S P R\nbranch P\n  for M in 8\nbranch R\n  for M in 8")
    cost = evaluate(fused, parse_arch(text, "x"))
    assert [part.mac_energy_pj for part in cost.operations.values()] == [32.0, 8.0]
    assert [part.latency_cycles for part in cost.operations.values()] == [32.0, 4.0]
    assert cost.utilization == 1.0


def test_one_operation_costs_as_its_mapping() -> None:
    whole = cascade(["T[m,n] += A[m,k] * B[k,n]"], m=4, k=4, n=4)
    fused = Mapping.parse(whole, "DRAM keeps A B T\nfor M in 4\n  GLB keeps A T\n  for N in 4\n    for K in 4")
    arch = machine(size=64)
    mapping = fused.paths["T"].mapping
    assert isinstance(mapping, Mapping)
    assert evaluate(fused, arch).operations["T"] == cost_of(mapping, arch, count_words(mapping, arch))


@pytest.mark.parametrize(
    ("text", "arch", "message"),
    [
        (
            "GLB keeps T\nDRAM keeps A B C D O U",
            machine(keeps=Keeps(input="must", weight="may", output="may")),
            "GLB must keep A",
        ),
        (
            "GLB keeps T\nDRAM keeps A B C D O U",
            machine(keeps=Keeps(input="never", weight="may", output="may")),
            "GLB keeps T, but it must not keep input tensors",
        ),
        ("DRAM keeps A B C D T U\nGLB keeps O", machine(), "DRAM must keep O"),
        (
            "DRAM keeps A B C D O T U",
            machine(latency="with_fill", overlap="across_operations"),
            "no operation waits for another",
        ),
        ("DRAM keeps A B C D O U\nGLB renews T", machine(), "no rows of T are read by two visits"),
    ],
)
def test_what_does_not_stand_there_is_refused(text: str, arch: Architecture, message: str) -> None:
    fused = Mapping.parse(THREE, "\n".join([text, *(leaf(name, "", 4) for name in "TUO")]))
    with pytest.raises(MappingError) as caught:
        evaluate(fused, arch)
    assert message in str(caught.value)


@pytest.mark.some(4)
@pytest.mark.parametrize("seed", range(40))
def test_the_totals_of_a_cascade_are_those_of_its_operations(seed: int) -> None:
    rng = random.Random(seed)
    arch = random_architecture(rng)
    fused = random_tree(rng, random_cascade(rng, largest=4), arch)
    cost = cost_of_tree(fused, arch)
    spent = [*cost.traffic, *cost.networks]
    assert sum(one.energy_pj for one in spent) + cost.mac_energy_pj + cost.leakage_pj == pytest.approx(cost.energy_pj)
    keys = [(one.memory, one.tensor) for one in cost.traffic]
    assert len(set(keys)) == len(keys)
    outer = [one for one in cost.traffic if one.memory == cost.memories[0].name]
    counted = [count.total for count in simulate_tree(fused, arch).values()]
    for one in outer:
        accesses = [table[one.memory, one.tensor] for table in counted if (one.memory, one.tensor) in table]
        assert (one.reads, one.writes) == (sum(a.reads for a in accesses), sum(a.writes for a in accesses))


def cost_of_tree(fused: Mapping, arch: Architecture) -> Cost:
    """What a tree costs, whether it fits or not."""
    ways = ways_of(fused, arch)
    return cost_of_counts(fused, arch, ways, count_tree(fused, arch), occupancy(fused, arch, ways))


def test_the_residual_of_the_design_saves_its_intermediates() -> None:
    """The inverted residual in small: T is exchanged above the inner split, U inside it; neither goes to DRAM."""
    whole = cascade(
        ["T[e,x] += I[c,x] * W[e,c]", "U[e,y] += T[e,y+r] * V[e,r] pad T[0,1]", "O[k,y] += U[e,y] * Z[k,e]"],
        {"e": 4, "c": 2, "x": 6, "y": 6, "r": 3, "k": 2},
    )
    text = """
    DRAM keeps I W V Z O
    GLB keeps I O
    for E in 4
      GLB keeps T
      branch T
        GLB keeps W
        for C in 2
          for X in 6
      branch
        GLB keeps V Z
        for Y in 6
          GLB keeps U
          branch U
            for R in 3
          branch O
            for K in 2
    """
    fused, arch = Mapping.parse(whole, text), machine()
    counts = simulate_tree(fused, arch)
    read = {key: a.reads for part in counts.values() for key, a in part.total.items() if key[0] == "DRAM"}
    written = {key: a.writes for part in counts.values() for key, a in part.total.items() if key[0] == "DRAM"}
    assert read == {("DRAM", "I"): 12, ("DRAM", "W"): 8, ("DRAM", "V"): 12, ("DRAM", "Z"): 8, ("DRAM", "O"): 0}
    assert written[("DRAM", "O")] == 12
    held = evaluate(fused, arch).occupancy["U"]
    assert {tile.tensor: tile.words for tile in held if tile.memory == "GLB"} == {
        **{"I": 12, "O": 12, "T": 8, "V": 3, "Z": 2, "U": 1}
    }
