"""Programs of plans for several devices: they compute the network, and what passes their links is what plans say."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sharded_plans import PlanInOrder, random_plan
from small_networks import SMALL, attention, convolved, pooled

from longer import blocks
from tilewright.arch import load_arch
from tilewright.arch.system import KINDS, MeshAxis, System
from tilewright.ir import MappingError
from tilewright.mapper.emit.sharded import sharded_program, verify_sharded
from tilewright.mapper.emit.sharded.runtime_mesh import DealtNetwork, by_expert, from_experts, last_of, newest
from tilewright.mapper.sharding import ShardedAnswer
from tilewright.workloads import load_network
from tilewright.workloads.graph import NetworkGraph

DEVICE = load_arch("three_level")


def graph_of(text: str, folder: Path) -> NetworkGraph:
    file = folder / "network.yaml"
    file.write_text(text, encoding="utf-8")
    return load_network(str(file)).wiring


def random_network(rng: random.Random) -> str:
    """Products, additions, norms and softmax one after the other, over rows of any length; or convolutions and
    pooling."""
    entries, rows = [], []
    if rng.random() < 0.4:
        c, h, w = rng.randint(1, 3), rng.randint(5, 9), rng.randint(5, 9)
        entries.append(f"{{name: image, op: outside, shape: [{c}, {h}, {w}]}}")
        for i in range(rng.randint(1, 4)):
            r, stride, pad, k = rng.randint(1, 3), rng.randint(1, 2), rng.randint(0, 1), rng.randint(1, 5)
            pad = min(pad, r - 1)
            p, q = ((n + 2 * pad - r) // stride + 1 for n in (h, w))
            if min(p, q) < 2:
                break
            sizes = f"K: {k}, C: {c}, P: {p}, Q: {q}, R: {r}, S: {r}, stride: {stride}, pad: {pad}, H: {h}, W: {w}"
            rows.append(f"{{name: conv{i}, op: conv, {sizes}}}")
            entries.append(f"conv{i}")
            c, h, w = k, p, q
            if rng.random() < 0.3 and min(h, w) > 3:
                kind, size, stride = rng.choice(["maxpool", "avgpool"]), rng.randint(2, 3), rng.randint(1, 2)
                entries.append(f"{{name: pool{i}, op: {kind}, window: {size}, stride: {stride}}}")
                h, w = ((n - size) // stride + 1 for n in (h, w))
    else:
        m, n = rng.randint(2, 9), rng.randint(2, 9)
        entries.append(f"{{name: rows, op: outside, shape: [{m}, {n}]}}")
        made = {"rows": n}
        for i in range(rng.randint(2, 6)):
            last = rng.choice(list(made)[-2:])
            kind = rng.choice(["gemm", "gemm", "add", "mul", "softmax", "layernorm", "rmsnorm"])
            others = [name for name, size in made.items() if size == made[last] and name != last]
            if kind == "gemm":
                size = rng.choice([made["rows"], rng.randint(2, 12)])
                rows.append(f"{{name: op{i}, op: gemm, M: {m}, N: {size}, K: {made[last]}, weight: true}}")
                entries.append(f"{{name: op{i}, reads: {last}}}")
                made[f"op{i}"] = size
            elif kind not in ("add", "mul") or others:
                reads = f"[{last}, {rng.choice(others)}]" if kind in ("add", "mul") else last
                entries.append(f"{{name: op{i}, op: {kind}, reads: {reads}}}")
                made[f"op{i}"] = made[last]
        rows.append(f"{{name: end, op: gemm, M: {m}, N: 3, K: {made[last]}, weight: true}}")
        entries.append(f"{{name: end, reads: {last}}}")
    listed = "".join(f"  - {one}\n" for one in entries), "".join(f"  - {one}\n" for one in rows)
    return f"network: random\ngraph:\n{listed[0]}layers:\n{listed[1]}"


def random_system(rng: random.Random) -> System:
    """One axis or two, of any kind."""
    axes = []
    for number in range(rng.randint(1, 2)):
        kind, shared = rng.choice(KINDS), number > 0 and rng.random() < 0.3
        more: dict[str, Any] = {"reduces": kind == "switch" and rng.random() < 0.5, "shared": shared}
        more |= {"multicast": shared and rng.random() < 0.5, "links": rng.choice([1, 2])}
        axes.append(MeshAxis("xy"[number], kind, rng.randint(2, 5), 1e9, latency=rng.choice([0, 1e-8]), **more))
    device = DEVICE.model_copy(update={"word_bits": rng.choice([8, 16, 32])})
    return System("mesh", device, tuple(axes))


@pytest.mark.parametrize("tried", blocks(60, 6))
def test_random_plans_compute_the_network_and_move_what_they_promise(tried: range, tmp_path: Path) -> None:
    for seed in tried:
        rng = random.Random(seed)
        text = rng.choice([*SMALL.values(), *(random_network(rng) for _ in range(6))])
        found = verify_sharded(random_plan(rng, graph_of(text, tmp_path), random_system(rng)), seed)
        assert found, (seed, found.wrong)
        assert all(moved == promised for *_, moved, promised in found.moved)


def plan_of(name: str, folder: Path, seed: int = 1) -> ShardedAnswer:
    """A plan on a ring of four behind a switch, in which words move."""
    system = System("mesh", DEVICE, (MeshAxis("x", "ring", 4, 1e9), MeshAxis("y", "switch", 2, 1e9)))
    return random_plan(random.Random(seed), graph_of(SMALL[name], folder), system)


def executed(text: str) -> dict[str, Any]:
    program: dict[str, Any] = {"__name__": __name__}
    exec(compile(text, "<program>", "exec"), program)
    return program


def wrong_of(text: str) -> list[str]:
    program = executed(text)
    return list(program["checked"](program["network"](), program["plan"](), program["TOLERANCE"]).wrong)


def test_another_plan_than_the_text_promises_is_found_out(tmp_path: Path) -> None:
    """Other bytes on a link; words dealt in other blocks than are read; a device with another parameter."""
    text = sharded_program(plan_of("words", tmp_path))
    assert not wrong_of(text)
    link = re.search(r"\(0, 1\): (\d+)", text)
    assert link is not None
    other = text[: link.start(1)] + str(int(link[1]) + 1) + text[link.end(1) :]
    assert any("hops" in line for line in wrong_of(other))
    assert wrong_of(text.replace("if there is None else own + words", "").replace("own + words", "own + 2 * words"))
    assert wrong_of(
        text.replace("np.exp((X - Y))", "np.exp((X - Y)) + blocks_seen()").replace(
            "# ---- main",
            "SEEN = []\n\n\ndef blocks_seen():\n    SEEN.append(0)\n    return len(SEEN)\n\n\n# ---- main",
        )
    )


def test_a_program_runs_on_its_own(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(sharded_program(plan_of("images", tmp_path)), encoding="utf-8")
    done = subprocess.run([sys.executable, str(file), "3"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].startswith("OK: ")


def words_of(program: dict[str, Any], network: DealtNetwork, name: str, operand: int = 1) -> Any:
    """A parameter as the program draws it."""
    work = network.works[name]
    whole = {dim: (0, size) for dim, size in work.dims.items()}
    return program["Parameters"](network, name, 0).read(work.parts[0].operands[operand], whole)


def test_the_network_at_once_is_what_it_means(tmp_path: Path) -> None:
    program = executed(sharded_program(plan_of("queries", tmp_path)))
    network = program["network"]()
    x = program["drawn"](network, "input", 0).reshape(3, 5)
    q, k, v = (x @ words_of(program, network, name) for name in ("q_proj", "k_proj", "v_proj"))
    expected = attention(q, k, v, heads=4, shared=2) @ words_of(program, network, "o_proj")
    np.testing.assert_allclose(program["at_once"](network, 0)["o_proj"], expected.ravel(), rtol=1e-12)

    program = executed(sharded_program(plan_of("images", tmp_path)))
    network = program["network"]()
    image = program["drawn"](network, "input", 0).reshape(2, 11, 11)
    stem = convolved(image, words_of(program, network, "stem"), stride=2, pad=(1, 1))
    found = program["at_once"](network._replace(outputs={"pool": ()}), 0)["pool"]
    np.testing.assert_allclose(found, pooled(stem, 3, 2, 1).max(axis=(-2, -1)).ravel(), rtol=1e-12)


CACHED = """
network: cached
dims: {batch: 2, new: 2, seq: 6}
graph:
  - {name: hidden, op: outside, shape: [batch*new, 4]}
  - k_proj
  - {name: q_proj, reads: hidden}
  - {name: cache, op: outside, role: cache, reads: k_proj, shape: [batch, seq, 4]}
  - {name: qk, reads: [q_proj as b q d, cache as b k d]}
  - {name: softmax, op: softmax}
  - {name: av, reads: [softmax, cache as b k d], writes: b q d}
  - {name: last, op: outside, role: view, reads: av, shape: [batch, 4]}
  - head
layers:
  - {name: k_proj, op: gemm, M: batch*new, N: 4, K: 4, weight: true}
  - {name: q_proj, op: gemm, M: batch*new, N: 4, K: 4, weight: true}
  - {name: qk, op: einsum, spec: 'bqd,bkd->bqk', sizes: {b: batch, q: new, k: seq, d: 4}, weight: false}
  - {name: av, op: einsum, spec: 'bqk,bkd->bqd', sizes: {b: batch, q: new, k: seq, d: 4}, weight: false}
  - {name: head, op: gemm, M: batch, N: 5, K: 4, weight: true}
"""
EXPERTS = """
network: experts
graph:
  - {name: hidden, op: outside, shape: [6, 4]}
  - router
  - {name: chosen, op: outside, reads: router, shape: [6, 2]}
  - {name: weights, op: softmax}
  - {name: dealt, op: outside, role: view, reads: [hidden, chosen], shape: [12, 4]}
  - up
  - {name: returned, op: outside, role: view, reads: [up, chosen], shape: [6, 2, 4]}
  - {name: combine, reads: [returned, weights]}
layers:
  - {name: router, op: gemm, M: 6, N: 3, K: 4, weight: true}
  - {name: up, op: gemm, M: 6, N: 4, K: 4, weight: true, experts: 3, top_k: 2}
  - {name: combine, op: einsum, spec: 'tkd,tk->td', sizes: {t: 6, k: 2, d: 4}, weight: false}
"""


def in_known_order(rng: random.Random, graph: NetworkGraph, system: System) -> ShardedAnswer:
    """A plan without words that lie in an order that it does not know."""
    return PlanInOrder(graph, system, lambda _, splits: rng.choice([s for s in splits if "a" not in s])).answer


@pytest.mark.parametrize("tried", blocks(20, 2))
@pytest.mark.parametrize("text", [CACHED, EXPERTS], ids=["cached", "experts"])
def test_rows_under_other_names(text: str, tried: range, tmp_path: Path) -> None:
    """Caches begin with given words; the last rows of a batch, those of each expert and of each row are found where
    they lie, also where axes of both are as long by chance."""
    for seed in tried:
        rng = random.Random(seed)
        text = text.replace("seq: 6", f"seq: {rng.choice([2, 4, 7])}").replace("new: 2", f"new: {rng.choice([1, 2])}")
        found = verify_sharded(in_known_order(rng, graph_of(text, tmp_path), random_system(rng)), seed)
        assert found, (seed, found.wrong)


def test_rows_of_experts_come_back() -> None:
    rows = np.arange(6)
    dealt = rows[by_expert(6, 2, 3)]
    assert all(len(set(dealt[4 * e : 4 * e + 4])) == 4 for e in range(3))
    assert (dealt[from_experts(6, 2, 3)].reshape(6, 2) == rows[:, None]).all()
    assert newest(2, 3, 1).tolist() == [-1, -1, 0, -1, -1, 1]
    assert last_of(2, 3).tolist() == [2, 5]


def test_what_no_program_has_is_refused(tmp_path: Path) -> None:
    system = System("pair", DEVICE, (MeshAxis("x", "full", 2, 1e9),))
    spread = PlanInOrder(graph_of(EXPERTS, tmp_path), system, lambda _, splits: splits[-1]).answer
    with pytest.raises(MappingError, match="which device has which"):
        sharded_program(spread)
    narrow = System("pair", DEVICE.model_copy(update={"word_bits": 4}), system.axes)
    with pytest.raises(MappingError, match="words have 4 bits"):
        sharded_program(random_plan(random.Random(0), graph_of(SMALL["words"], tmp_path), narrow))
