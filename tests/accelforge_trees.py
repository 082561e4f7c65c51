"""AccelForge's fused mappings, as it prints them, as trees of ours; `golden/fused/accelforge.jsonl` has them."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from tilewright.arch import Architecture, parse_arch
from tilewright.ir import Axis, Cascade, Loop, Mapping, Node, Tree
from tilewright.workloads import cascade

FOLDER = Path(__file__).parent / "golden" / "fused"


@cache
def cases() -> tuple[dict[str, Any], ...]:
    """The golden's lines."""
    lines = (FOLDER / "accelforge.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(json.loads(line) for line in lines)


def fused_cases() -> list[dict[str, Any]]:
    """Those of which AccelForge searched its whole space."""
    return [case for case in cases() if case["mode"] == "fused"]


def machine_of(case: dict[str, Any]) -> Architecture:
    """F2 or F3 with the GLB of the case, under AccelForge's rule of reuse."""
    text = (FOLDER / f"{case['machine']}.yaml").read_text(encoding="utf-8")
    return parse_arch(text, case["machine"], {"GLB.size": f"{case['glb_words']} B", "reuse": "at_node"})


def cascade_of(case: dict[str, Any]) -> Cascade:
    """The einsums of a case as operations."""
    return cascade([_operation(*einsum) for einsum in case["einsums"]], case["sizes"], name=case["case"])


def _operation(name: str, accesses: list[tuple[str, str, int]]) -> str:
    texts = [(tensor + _ranks(ranks), is_output) for tensor, ranks, is_output in accesses]
    operands = [text for text, is_output in texts if not is_output]
    (output,) = (text for text, is_output in texts if is_output)
    reduced = set(re.findall(r"\b[a-z]\w*", " ".join(re.findall(r"\[.*?\]", " ".join(operands))))) - set(
        re.findall(r"\b[a-z]\w*", output[output.index("[") :])
    )
    return f"{name}: {output} {'+=' if reduced else '='} {' * '.join(operands)}"


def _ranks(text: str) -> str:
    """`{K: k, P: x + u}` is `[k, x + u]`: the golden names a tensor's ranks in one order everywhere."""
    return f"[{re.sub(r'[A-Z]: ', '', text.strip('{}'))}]" if text.startswith("{") else text


def tree_of(case: dict[str, Any], text: list[str]) -> Mapping:
    """The tree in the lines of a printed mapping."""
    return Mapping(cascade_of(case), _tree(text))


def _tree(lines: list[str]) -> Tree:
    items: list[Loop | Node] = []
    for number, line in enumerate(lines):
        stripped = line.strip()
        if match := re.fullmatch(r"\[(\w+) keeps (.*)\]", stripped):
            nodes = [Node(match[1], tensor.strip()) for tensor in match[2].split(",")]
            items += [node for node in nodes if not _is_lowered(lines[number + 1 :], node)]
        elif match := re.fullmatch(r"\(reserve (\w+): (.*)\)", stripped):
            nodes = [Node(match[1], tensor.strip()) for tensor in match[2].split(",")]
            items += [node for node in nodes if _is_kept(lines[:number], node) and node not in items]
        elif match := re.fullmatch(r"for (\w+) tile \d+ x(\d+)", stripped):
            items.append(Loop(match[1].upper(), int(match[2])))
        elif match := re.fullmatch(r"par\[PE\.([XY])\] (\w+) tile \d+ x(\d+)", stripped):
            items.append(Loop(match[2].upper(), int(match[3]), Axis("array", "XY".index(match[1]))))
        elif match := re.fullmatch(r"compute (\w+)", stripped):
            return Tree(tuple(items), (), match[1])
        elif stripped == "Sequential:":
            return Tree(tuple(items), tuple(_tree(branch) for branch in _branches(lines[number + 1 :])))
        else:
            raise AssertionError(line)
    raise AssertionError(lines)


def _is_lowered(lines: list[str], node: Node) -> bool:
    """Whether a tile takes less room than its place says: it slides along the loop below, and is reserved there."""
    for number, line in enumerate(lines):
        if line.strip() == "Sequential:":
            return False
        match = re.fullmatch(rf"\(reserve {node.memory}: (.*)\)", line.strip())
        if match and node.tensor in re.split(r",\s*", match[1]):
            return any(above.strip().startswith(("for ", "par[")) for above in lines[:number])
    return False


def _is_kept(lines: list[str], node: Node) -> bool:
    """Whether the lines of this branch keep a tensor that is reserved after them."""
    kept = (re.fullmatch(rf"\[{node.memory} keeps (.*)\]", line.strip()) for line in lines)
    return any(match and node.tensor in re.split(r",\s*", match[1]) for match in kept)


def _branches(lines: list[str]) -> list[list[str]]:
    """The lines of each branch, without those that begin it."""
    indent = len(lines[0]) - len(lines[0].lstrip())
    branches: list[list[str]] = []
    for line in lines:
        if len(line) - len(line.lstrip()) == indent and line.strip().startswith("- branch"):
            branches.append([])
        else:
            branches[-1].append(line)
    return branches
