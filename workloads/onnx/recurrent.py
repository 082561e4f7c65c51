"""LSTM, GRU and RNN: the products of their gates.

All gates of all steps read the input at once, as one product; the last state is read step by step, a product each.
"""

from __future__ import annotations

from ...ir import ProblemError
from ..layers import gemm
from .nodes import Dense, OnnxNode, Repeated, widths

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
# Operations of one element of a state beside the products: sums of both products, activations, updates.
_ELEMENTWISE = {"LSTM": 4 + 5 + 4, "GRU": 3 + 3 + 4, "RNN": 1 + 1}


def recurrent(node: OnnxNode) -> Dense:
    """Inputs X (steps x batch x features), W, R (directions x gates * hidden x ..) and optionally biases, lengths, ...

    Sequences are taken to be as long as X; lengths that differ by batch (input 5) are data.
    """
    first, second, features = _three_axes(node, 0)
    batch, steps = (first, second) if node.integer("layout", 0) else (second, first)
    directions, rows, hidden = _three_axes(node, 2)
    if rows != GATES[node.op] * hidden:
        raise ProblemError(f"{rows} rows of gates for {hidden} states", where=node.where)
    others = {
        f"{node.op} bias": directions * steps * batch * 2 * rows * node.has(3),
        f"{node.op} gates": directions * steps * batch * hidden * _ELEMENTWISE[node.op],
    }
    if 0 in (batch, steps, features, hidden):
        return Dense((), others)
    parts = []
    for weights, problem_rows, read, times in ((1, steps * batch, features, 1), (2, batch, hidden, steps)):
        kept = node.input(weights)
        problem = gemm(problem_rows, rows, read, bits=widths(node.input(0), kept, node.output))
        parts.append(Repeated(problem, kept.parameter, directions * times, times))
    return Dense(tuple(parts), others)


def _three_axes(node: OnnxNode, position: int) -> tuple[int, int, int]:
    shape = node.shape(position)
    if len(shape) != 3:
        raise ProblemError(f"input {position + 1} has {len(shape)} axes, expected 3", where=node.where)
    return shape[0], shape[1], shape[2]
