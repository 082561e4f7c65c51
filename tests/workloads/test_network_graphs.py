"""Networks that know their edges, and cascades of their layers: what they compute, cost, and refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_networks import SMALL, attention, convolved, pooled
from tree_simulator import simulate_tree

from tilewright.arch import load_arch
from tilewright.cost_models import evaluate
from tilewright.cost_models.cascades import count_tree
from tilewright.ir import Cascade, Mapping, ProblemError
from tilewright.mapper.emit import emit_numpy, verify_numpy
from tilewright.workloads import (
    Network,
    cascade_of,
    list_networks,
    load_layer,
    load_network,
    names_cascade,
    resolve_cascade,
)
from tilewright.workloads.graph import BETWEEN, OUTSIDE, NetworkGraph, Occurrence, Source, cascade_parameters

ARCH = load_arch("three_level")


def small(tmp_path: Path, name: str) -> Network:
    path = tmp_path / f"{name}.yaml"
    path.write_text(SMALL[name], encoding="utf-8")
    return load_network(path)


def apart(whole: Cascade) -> Mapping:
    """One operation after the other, all tensors in the outermost memory."""
    lines = [f"{ARCH.memories[0].name} keeps {' '.join(whole.tensors)}"]
    for operation in whole:
        lines += [f"branch {operation.name}"] if len(whole.operations) > 1 else []
        lines += [f"  for {dim} in {size}" for dim, size in operation.problem.dims]
    return Mapping.parse(whole, "\n".join(lines))


def computed(whole: Cascade, seed: int = 0) -> dict[str, np.ndarray]:
    """All tensors of a cascade, from random inputs."""
    program: dict[str, Any] = {"__name__": "reference"}
    exec(compile(emit_numpy(apart(whole), ARCH), "<program>", "exec"), program)
    rng = np.random.default_rng(seed)
    inputs = {name: rng.standard_normal(shape) for name, shape in program["OPERANDS"].items()}
    return dict(program["direct"](inputs))


# ---- shipped tables --------------------------------------------------------------------------------------------------


def edges(network: Network) -> list[tuple[str, str]]:
    """Every kind of edge between operations, once."""
    graph = network.wiring
    assert graph is not None
    found: dict[object, tuple[str, str]] = {}
    for reader in graph:
        for source in reader.sources:
            maker = graph.by_name.get(source.name)
            if maker is not None and "outside" not in (reader.kind, maker.kind):
                kind = (reader.kind, reader.layer, reader.local, maker.kind, maker.layer, maker.local)
                found.setdefault(kind, (maker.name, reader.name))
    return list(found.values())


@pytest.mark.some(5)
@pytest.mark.parametrize("name", list_networks())
def test_every_edge_of_a_shipped_network_is_a_cascade(name: str) -> None:
    network = load_network(name)
    assert network.wiring is not None
    assert sum(o.multiplies for o in network.wiring) == sum(layer.repeat for layer in network.layers)
    for maker, reader in edges(network):
        whole = cascade_of(network, f"{maker}+{reader}")
        first, second = (load_or_none(network, part) for part in (maker, reader))
        for macs, place in ((first, 0), (second, -1)):
            assert macs is None or whole.operations[place].problem.macs == macs
        assert whole.intermediates
        evaluate(apart(whole), ARCH)


def load_or_none(network: Network, name: str) -> int | None:
    """Multiply-accumulates of a layer; None of something that does not multiply."""
    assert network.wiring is not None
    occurrence = network.wiring.find(name)
    return network.layer(occurrence.layer).problem.macs if occurrence.multiplies else None


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            "mobilenet_v2:b3.expand+b3.dw+b3.project",
            [
                "b3.expand: b3_expand[k, p, q] += b2_project[c, p, q] * b3_expand_W[k, c]",
                "b3.dw: b3_dw[k, p, q] += b3_expand[k, p+r, q+s] * b3_dw_W[k, r, s] pad b3_expand[0:0, 1:1, 1:1]",
                "b3.project: b3_project[k2, p, q] += b3_dw[k, p, q] * b3_project_W[k2, k]",
            ],
        ),
        (
            "gpt2_small:qk+softmax+av",
            [
                "qk[b, m, n] += q_proj[m, b, k] * k_proj[n, b, k]",
                "softmax.max: softmax_max[b, m] max= qk[b, m, n]",
                "softmax.exp: softmax_exp[b, m, n] = exp(qk[b, m, n] - softmax_max[b, m])",
                "softmax.sum: softmax_sum[b, m] += softmax_exp[b, m, n]",
                "softmax[b, m, n] = softmax_exp[b, m, n] / softmax_sum[b, m]",
                "av[m, b, n2] += softmax[b, m, n] * v_proj[n, b, n2]",
            ],
        ),
        (
            "resnet50:layer2.0.conv1..layer2.0.conv3",
            [
                "layer2.0.conv1: layer2_0_conv1[k, p, q] += layer1_2_add[c, p, q] * layer2_0_conv1_W[k, c]",
                "layer2.0.conv2: layer2_0_conv2[k2, p2, q2] += layer2_0_conv1[k, 2*p2+r, 2*q2+s] * "
                "layer2_0_conv2_W[k2, k, r, s] pad layer2_0_conv1[0:0, 1:0, 1:0]",
                "layer2.0.conv3: layer2_0_conv3[k3, p2, q2] += layer2_0_conv2[k2, p2, q2] * layer2_0_conv3_W[k3, k2]",
            ],
        ),
    ],
)
def test_cascades_as_they_are_written(text: str, lines: list[str]) -> None:
    *found, _ = str(resolve_cascade(text)).splitlines()
    assert found == lines
    assert names_cascade(text)


def test_a_part_of_one_layer_is_that_layer() -> None:
    for text in ("resnet50:layer1.0.conv2", "gpt2_small:o_proj", "vgg16:fc6", "mobilenet_v2:b3.dw"):
        (operation,) = resolve_cascade(text).operations
        sizes = {dim: size for dim, size in load_layer(text).dims if size > 1}
        assert (
            dict(operation.problem.dims).values() == sizes.values() or operation.problem.macs == load_layer(text).macs
        )
        assert not names_cascade(text)


def test_softmax_in_one() -> None:
    qk, softmax, av = cascade_of("gpt3_6_7b_block", "qk+softmax+av", softmax="one")
    assert (qk.kind, softmax.kind, av.kind) == ("mac", "exp", "mac")
    assert softmax.problem.macs == 32 * 2048 * 2048


def test_names() -> None:
    resnet = load_network("resnet50")
    assert resnet.layer("layer1.2.conv1") is resnet.layer("layer1.x.conv1")
    assert names_cascade("resnet50:layer1.2.add")
    assert not names_cascade("resnet50:layer1.2.conv1")
    assert not names_cascade("resnet50")
    text = "layer1.1.conv3+layer1.1.add+layer1.2.conv1"
    assert [o.name for o in cascade_of(resnet, text)] == text.split("+")
    two = cascade_of(resnet, "layer1.0.conv3+layer1.0.downsample+layer1.0.add+layer1.x.conv1")
    assert two.consumers["layer1_0_add"][0].name == "layer1.1.conv1"
    between = cascade_of(resnet, "layer2.0.conv1..layer2.0.add")
    assert [o.name for o in between] == [f"layer2.0.{x}" for x in ("conv1", "conv2", "conv3", "add")]


# ---- what they compute -----------------------------------------------------------------------------------------------


def test_images(tmp_path: Path) -> None:
    whole = cascade_of(small(tmp_path, "images"), "stem..head+b0.downsample")
    t = computed(whole)

    def conv(image: str, name: str, **how: Any) -> np.ndarray:
        weight = t[f"{name}_W"]
        return convolved(t[image], weight if weight.ndim == 4 else weight[..., None, None], **how)

    # The first layer reads an input that has its zeros already.
    np.testing.assert_allclose(t["stem"], convolved(t["input"], t["stem_W"], stride=2))
    np.testing.assert_allclose(t["pool"], pooled(t["stem"], 3, 2, 1).max(axis=(-1, -2)))
    np.testing.assert_allclose(t["b0_conv1"], conv("pool", "b0_conv1", stride=2, pad=(1, 1)))
    down = convolved(t["pool"], t["downsample_W"][..., None, None], stride=2)
    np.testing.assert_allclose(t["b0_add"], conv("b0_conv1", "b0_conv2", pad=(1, 1)) + down)
    np.testing.assert_allclose(t["b2_conv1"], conv("b1_add", "b2_conv1", pad=(1, 1)))
    np.testing.assert_allclose(t["b2_add"], t["b1_add"] + t["b2_conv2"])
    np.testing.assert_allclose(t["dw"], convolved(t["b2_add"], t["dw_W"][:, None], pad=(1, 1), groups=4))
    grouped = convolved(t["dw"], t["grouped_W"].reshape(4, 2, 1, 1), groups=2)
    np.testing.assert_allclose(t["grouped"].reshape(4, 2, 2), grouped)
    np.testing.assert_allclose(t["pw"], convolved(grouped, t["pw_W"].reshape(3, 4, 1, 1), pad=(0, 1)))
    np.testing.assert_allclose(t["pool2"].reshape(3, 1, 2), pooled(t["pw"], 2, 2, 0).mean(axis=(-1, -2)))
    np.testing.assert_allclose(t["fc"], t["pool2"].ravel() @ t["fc_W"].reshape(6, 4))
    np.testing.assert_allclose(t["head"], t["fc"] @ t["head_W"])


def test_words(tmp_path: Path) -> None:
    t = computed(cascade_of(small(tmp_path, "words"), "norm1..add2"))
    x = t["embedding"]
    normed = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(t["norm1"], normed)
    q, k, v = (normed @ t[f"{name}_proj_W"] for name in "qkv")
    attended = attention(q, k, v, heads=2)
    np.testing.assert_allclose(t["av"].reshape(3, 4), attended)
    added = x + attended @ t["o_proj_W"].reshape(4, 4)
    np.testing.assert_allclose(t["add1"], added)
    squares = np.sqrt((added**2).mean(axis=1, keepdims=True) + 1e-5)
    gated = (added / squares @ t["gate_W"]) * (added / squares @ t["up_W"])
    np.testing.assert_allclose(t["add2"], gated @ t["down_W"] + added)


def test_grouped_queries(tmp_path: Path) -> None:
    t = computed(cascade_of(small(tmp_path, "queries"), "q_proj+k_proj+v_proj+qk+softmax+av+o_proj"))
    q, k, v = (t["input"] @ t[f"{name}_proj_W"] for name in "qkv")
    expected = attention(q, k, v, heads=4, shared=2) @ t["o_proj_W"].reshape(8, 5)
    np.testing.assert_allclose(t["o_proj"], expected)


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("name", "layers"),
    [
        ("images", "stem..head+b0.downsample"),
        ("images", "pool+b0.conv1+b0.conv2+b0.downsample+b0.add"),
        ("images", "b1.conv1+b1.conv2+b1.add+b2.conv1"),
        ("words", "norm1..add2"),
        ("words", "h.0.add2+h.1.norm1+h.1.q_proj"),
        ("queries", "q_proj+k_proj+v_proj+qk+softmax+av+o_proj"),
        ("queries", "av+o_proj"),
    ],
)
def test_simulator_closed_form_and_program_agree(tmp_path: Path, name: str, layers: str) -> None:
    fused = apart(cascade_of(small(tmp_path, name), layers))
    assert simulate_tree(fused, ARCH) == count_tree(fused, ARCH)
    verification = verify_numpy(fused, ARCH)
    assert verification, verification.message


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "resnet50:conv1+fc",
            "resnet50:conv1+fc: fc reads avgpool, and does not connect with conv1\nhint: add what lies",
        ),
        ("resnet50:conv1+poll", "network resnet50: unknown layer 'poll'\nhint: did you mean 'pool'?"),
        (
            "resnet50:layer1.0.add..pool",
            "no way leads from layer1.0.add to pool\nhint: did you mean pool..layer1.0.add?",
        ),
        ("gpt2_small:embedding+norm1", "embedding is no operation that a cascade can have\nhint: leave it out"),
        ("alexnet:conv1..conv3", "norm1 lies between them, which is no operation"),
        ("resnet50", "'resnet50' names no cascade"),
        ("resnt50:conv1+pool", "unknown network 'resnt50'\nhint: did you mean 'resnet50'?"),
    ],
)
def test_bad_names(text: str, message: str) -> None:
    with pytest.raises(ProblemError) as error:
        resolve_cascade(text)
    assert message in str(error.value)


def test_what_multiplies_nothing_is_no_layer() -> None:
    with pytest.raises(ProblemError, match=r"softmax \(softmax\) multiplies nothing"):
        load_layer("gpt2_small:softmax")


def test_several_layers_are_no_layer() -> None:
    with pytest.raises(ProblemError, match=r"b3.expand\+b3.dw names several operations, expected one layer"):
        load_layer("mobilenet_v2:b3.expand+b3.dw")


def test_sums_of_one_word(tmp_path: Path) -> None:
    path = tmp_path / "one.yaml"
    rows = "layers:\n  - {name: fc, op: gemm, M: 1, N: 1, K: 3, weight: true}\n"
    entries = "[{name: x, op: outside, shape: [1]}, {name: fc, reads: input}, {name: add, op: add, reads: [fc, %s]}]"
    path.write_text(f"network: one\ngraph: {entries % 'x'}\n{rows}")
    t = computed(cascade_of(path, "fc+add"))
    np.testing.assert_allclose(t["add"], t["fc"] + t["x"])
    path.write_text(f"network: one\ngraph: {entries % 'input'}\n{rows}")
    with pytest.raises(ProblemError, match="fc and add read input in different shapes, and its own is not known"):
        cascade_of(path, "fc+add")


PLAIN = """
network: plain
layers:
  - {name: c1, op: conv, K: 8, C: 3, P: 16, Q: 16, R: 3, S: 3, pad: 1}
  - {name: c2, op: conv, K: 8, C: 8, P: 8, Q: 8, R: 3, S: 3, pad: 1, stride: 2, repeat: 1}
  - {name: dw, op: conv, K: 8, C: 8, P: 8, Q: 8, R: 3, S: 3, pad: 1, groups: 8, repeat: 2}
  - {name: fc, op: gemm, M: 1, N: 10, K: 512, weight: true}
  - {name: odd, op: gemm, M: 1, N: 10, K: 11, weight: true}
  - {name: qk, op: gemm, M: 1, N: 10, K: 10, weight: false}
"""


def test_a_table_without_a_graph_is_a_chain(tmp_path: Path) -> None:
    path = tmp_path / "plain.yaml"
    path.write_text(PLAIN)
    graph = load_network(path).wiring
    assert graph is not None
    assert graph.is_assumed
    assert {one.name: one.reads for one in graph if one.kind == "layer"} == {
        "c1": ("input",),
        "c2": ("c1",),
        "dw.1": ("c2",),
        "dw.2": ("dw.1",),
        "fc": ("dw.2",),
        "odd": ("odd.input",),
        "qk": ("odd", "qk.input"),
    }
    assert len(cascade_of(path, "c2+dw.1").operations) == 2
    assert load_network("alexnet").wiring.is_assumed is False  # type: ignore[union-attr]


ROWS = """
layers:
  - {name: a, op: gemm, M: 2, N: 3, K: 4, weight: true}
  - {name: b, op: gemm, M: 2, N: 3, K: 3, weight: false}
"""


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ("[a]", "b occurs 0 times in the graph, and its repeat is 1"),
        ("[a, a, {name: b, reads: [a, a]}]", "a occurs 2 times in the graph, and its repeat is 1"),
        ("[a, b]", "graph entry 2: b: reads 1 tensors, expected 2"),
        ("[a, {name: b, reads: [a, c]}]", "graph entry 2: b: reads 'c', unknown so far"),
        ("[a, {name: b, reads: [a, input as k m]}]", "reads as k m, expected all of k n"),
        ("[a, {name: b, reads: [a, input], writes: m}]", "writes is 'm', expected all of m n"),
        ("[a, {name: b, op: sofmax}]", "op is 'sofmax', unknown\nhint: did you mean 'softmax'?"),
        ("[a, {name: b, op: add}]", "add reads 1 tensors, expected 2 names"),
        ("[a, {name: p, op: maxpool}]", "a maximum over windows without a window"),
        ("[{name: a, read: input}]", "unknown key 'read'\nhint: did you mean 'reads'?"),
        ("[{block: x, names: [y]}]", "unknown block 'x'"),
        ("[c]", "graph entry 1: c: no row has that name"),
        ("[3]", "graph entry 1: found 3, expected a name or keys"),
        ("3", "graph is no list of entries"),
        ("[{name: x, op: outside, shape: 3}]", "shape is 3, expected a list of sizes"),
    ],
)
def test_bad_graphs(tmp_path: Path, graph: str, message: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(f"network: bad\ngraph: {graph}{ROWS}")
    with pytest.raises(ProblemError) as error:
        load_network(path)
    assert str(error.value).startswith(f"{path}: ")
    assert message in str(error.value)


def test_sizes_that_do_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(
        "network: bad\ngraph: [a, {name: x, op: outside}, {name: b, reads: [x, a]}]"
        + ROWS.replace("N: 3, K: 3", "N: 5, K: 3")
    )
    with pytest.raises(ProblemError, match="b: its sizes do not fit 2 x 3 words, of which it reads"):
        cascade_of(path, "a+b")


def test_all_operations_between_layers_occur() -> None:
    kinds = {
        line.split("op: ")[1].split(",")[0].rstrip("}")
        for text in SMALL.values()
        for line in text.splitlines()
        if "op: " in line
    }
    assert set(BETWEEN) <= kinds


def test_traffic_of_attention_one_after_the_other() -> None:
    """FuseMax's figure of attention that is not fused, 4 LE + 4 L^2 words for each head: products that move every
    operand once, and a softmax whose parts are together on the chip."""
    heads, tokens, features = 12, 1024, 64
    tree = """
    DRAM keeps q_proj k_proj v_proj qk softmax av
    branch qk
      for B in 12
        GLB keeps q_proj k_proj qk
        for M in 1024
          for N in 1024
            for K in 64
    branch
      for B in 12
        for M in 1024
          GLB keeps qk softmax softmax_max softmax_exp softmax_sum
          branch softmax.max
            for N in 1024
          branch softmax.exp
            for N in 1024
          branch softmax.sum
            for N in 1024
          branch softmax
            for N in 1024
    branch av
      for B in 12
        GLB keeps softmax v_proj av
        for M in 1024
          for N in 1024
            for N2 in 64
    """
    arch = load_arch("three_level", {"GLB.size": "16 MiB"})
    cost = evaluate(Mapping.parse(resolve_cascade("gpt2_small:qk+softmax+av"), tree), arch)
    moved = sum(t.reads + t.writes for part in cost.operations.values() for t in part.traffic if t.memory == "DRAM")
    assert moved == heads * (4 * tokens * features + 4 * tokens**2)


SQUARES = """
network: squares
layers:
  - {name: up, op: gemm, M: 3, N: 4, K: 2, weight: true}
  - {name: down, op: gemm, M: 3, N: 2, K: 4, weight: true}
graph: [up, {name: square, op: mul, reads: [up, up]}, down]
"""


def test_a_tensor_that_is_both_operands_is_one(tmp_path: Path) -> None:
    """It was refused, as two tensors that share a name."""
    path = tmp_path / "squares.yaml"
    path.write_text(SQUARES, encoding="utf-8")
    network = load_network(path)
    assert network.wiring is not None
    whole = cascade_of(network, "up..down")
    assert [t.name for t in whole.operation("square").problem.operands] == ["up"]
    found = computed(whole)
    assert np.allclose(found["square"], found["up"] ** 2)
    parameters = cascade_parameters(network.wiring, list(network.wiring), whole)
    assert sorted(one.occurrence for one in parameters.values()) == ["down", "up"]


def test_shapes_at_the_end_of_a_long_chain() -> None:
    """They were looked for along every way through what works element by element: here 2^60 of them."""
    chain = [Occurrence("x", OUTSIDE, shape=(2, 3)), Occurrence("y0", "mul", (Source("x"), Source("x")))]
    for i in range(60):
        chain.append(Occurrence(f"y{i + 1}", "mul", (Source(chain[-1].name), Source(chain[-1].name))))
    assert NetworkGraph("chain", tuple(chain)).shape("y60") == (2, 3)
