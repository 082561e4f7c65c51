"""Wrong cascades, trees, zeros, memory plans and plans of networks: each is read, or refused with a message."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright as tw
from fuzzing import as_yaml, from_tagged, read_or_refused, some
from mutations import mangled, mutated
from tilewright.arguments import limits_of, question_of
from tilewright.cost_models.sparse import parse_densities
from tilewright.mapper.memory_plan.csv_files import buffers_of
from tilewright.mapper.question import TreeQuestion
from tilewright.workloads import resolve_cascade

CASCADE = """\
operations:
- T[m,n] += A[m,k] * B[k,n]
- S[m,n] = exp(T[m,n])
- X[m] max= S[m,n]
- U[m,p] += S[m,n] * D[n,p]
sizes: {m: 4, n: 4, k: 4, p: 4}
"""
PAIR = tw.cascade(["T[m,n] += A[m,k] * B[k,n]", "U[m,p] += T[m,n] * D[n,p]"], m=4, n=4, k=4, p=4)
TREE = """\
DRAM keeps A B D U
GLB keeps T
branch T
  parallel M in 4 on array.y
    for N in 4
      parallel K in 4 on array.x
branch U
  for M in 4
    parallel P in 4 on array.y
      for N in 4
"""
BUFFERS = "id,lower,upper,size,alignment,copies,in_place\na,0,2,8,4,1,\nb,2,3,8,8,1,a\nc,2,5,16,1,2,\n"
NETWORK = """\
network: pair
layers:
  - {name: one, op: gemm, M: 4, N: 4, K: 4, weight: true}
  - {name: two, op: gemm, M: 4, N: 4, K: 4, weight: true}
graph: [{name: one, layer: one}, {name: two, layer: two}]
"""
OPERATIONS = ("T[m,n] += A[m,k] * B[k,n]", "S[m] max= T[m,n]", "S[m,n] = exp(T[m,n]) / max(a[m], b[n])", "pad T[0,1]")
CONSTRAINTS = ("T along M", "T in GLB", "T <= 4 KiB", "only T, U fused", "no loops over K", "T not along M", "T apart")


def constrained(line: str) -> TreeQuestion:
    """A question about trees that satisfy a line."""
    return question_of(PAIR, tw.load_arch("three_level"), "edp", "perfect", "even", (line,), limits_of(5, "1 GiB"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("newer")


@some(60)
@given(mangled(CASCADE) | mutated(from_tagged(CASCADE)).map(as_yaml))
def test_cascade_files(folder: Path, text: str) -> None:
    path = folder / "cascade.yaml"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    read_or_refused(lambda: resolve_cascade(str(path)))


@some(60)
@given(mangled(TREE))
def test_trees(text: str) -> None:
    fused = read_or_refused(lambda: tw.Mapping.parse(PAIR, text))
    if fused is not None:
        read_or_refused(lambda: tw.evaluate(fused, "three_level"))


@some(60)
@given(st.sampled_from(OPERATIONS).flatmap(mangled))
def test_operations(text: str) -> None:
    read_or_refused(lambda: tw.cascade([text], m=4, n=4, k=4))


@some(60)
@given(st.sampled_from(CONSTRAINTS).flatmap(mangled))
def test_constraints_on_trees(text: str) -> None:
    read_or_refused(lambda: constrained(text))


@some(60)
@given(st.sampled_from(("2:4@K", "0.5", "band:3", "2:4")).flatmap(mangled))
def test_densities(text: str) -> None:
    read_or_refused(lambda: parse_densities({"W": text}, tw.gemm(4, 4, 4)))


@some(60)
@given(mangled(BUFFERS))
def test_buffers(text: str) -> None:
    read_or_refused(lambda: buffers_of(text, "buffers.csv"))


@pytest.fixture(scope="module")
def network_plan(folder: Path) -> str:
    (folder / "pair.yaml").write_text(NETWORK, encoding="utf-8")
    found = tw.compile(str(folder / "pair.yaml"), "three_level", store=folder / "store.sqlite3")
    found.save(folder / "compiled")
    return (folder / "compiled" / "plan.json").read_text(encoding="utf-8")


@some(60)
@given(st.data())
def test_plans_of_networks(folder: Path, network_plan: str, data: st.DataObject) -> None:
    text = data.draw(mangled(network_plan) | mutated(json.loads(network_plan)).map(json.dumps))
    path = folder / "changed.json"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    read_or_refused(lambda: tw.load_network_plan(path))
