"""Operators that no mapping has, in C: those that programs write in plain loops, and the functions that are left to
link."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .....workloads.graph import Computed

EXTERN = "network_extern_"
"""What the names of functions begin with that a program declares and does not have."""

_ACTIVATIONS = frozenset(("Relu", "Sigmoid", "Tanh"))
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def extern_name(computed: Computed) -> str:
    """The function that computes an operator."""
    return f"{EXTERN}{computed.name}"


def is_plain(computed: Computed) -> bool:
    """Whether programs have the operator in plain loops; else they declare its function."""
    known = _PLAIN.get(computed.operators[0])
    return known is not None and known(computed)


def activations_of(computed: Computed) -> list[str]:
    """The functions of a recurrent operator, for every direction."""
    usual = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}
    directions = 2 if computed.attributes.get("direction") == "bidirectional" else 1
    stated = computed.attributes.get("activations")
    return (
        [str(getattr(one, "decode", lambda one=one: one)()) for one in stated]
        if stated
        else (usual[computed.operators[0]] * directions)
    )


def _recurrent(computed: Computed) -> bool:
    """Sequences of one length, gates that lie on the stack, functions without parameters, nothing clipped."""
    given = computed.attributes
    if 4 in computed.positions or 4 in computed.numbers or "clip" in given or given.get("input_forget"):
        return False
    states = computed.operands[computed.positions.index(2)].shape[2]
    return _ACTIVATIONS.issuperset(activations_of(computed)) and GATES[computed.operators[0]] * states <= 16_384


def _along_an_axis(computed: Computed) -> bool:
    return computed.attributes.get("reduction", "none") in ("none", b"none")


_PLAIN: Mapping[str, Callable[[Computed], bool]] = {
    "CumSum": lambda computed: 1 in computed.numbers,
    "Einsum": lambda computed: "..." not in str(computed.attributes["equation"]),
    "GRU": _recurrent,
    "GatherElements": _along_an_axis,
    "LSTM": _recurrent,
    "RNN": _recurrent,
    "ScatterElements": _along_an_axis,
    "TopK": lambda _: True,
}
"""By operator, whether one is written in plain loops."""
