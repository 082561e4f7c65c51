"""What is said of words before a program runs holds for words that expressions make; and types hold what is said."""

from __future__ import annotations

import math
import random

import numpy as np

import longer
from tilewright.ir import Call, Expression, Number, Operand
from tilewright.mapper.emit.network.words.known_words import KnownWords, known_words, whole
from tilewright.mapper.emit.network.words.stored import DTYPES, WordType, stored_as, stored_of

GIVEN = {"I": whole(-5, 9), "S": KnownWords(is_single=True), "D": KnownWords(), "B": whole(0, 255)}
CALLS = {"add": 2, "sub": 2, "mul": 2, "max": 2, "min": 2, "div": 2, "neg": 1, "relu": 1, "rint": 1, "floor": 1}
CALLS |= {"ceil": 1, "trunc": 1, "single": 1, "less": 2, "not": 1, "select": 3, "abs": 1}


def expression(rng: random.Random, depth: int) -> Expression:
    if depth == 0 or rng.random() < 0.15:
        return rng.choice([Operand(rng.choice(list(GIVEN))), Number(rng.choice([0, -128, 127, 2.5, 255, 3e38]))])
    function = rng.choice(list(CALLS))
    return Call(function, tuple(expression(rng, depth - 1) for _ in range(CALLS[function])))


def larger(left: float, right: float) -> float:
    return left if left > right else right


def rounded(way: object, x: float) -> float:
    return float(way(x)) if math.isfinite(x) else x  # type: ignore[operator]


def value(one: Expression, words: dict[str, float]) -> float:
    """As C computes it."""
    if isinstance(one, Operand):
        return words[one.tensor]
    if isinstance(one, Number):
        return float(one.value)
    x, *others = (np.float64(value(part, words)) for part in one.arguments)
    y = others[0] if others else x
    found = {
        **{"add": lambda: x + y, "sub": lambda: x - y, "mul": lambda: x * y, "div": lambda: x / y, "neg": lambda: -x},
        **{"max": lambda: larger(x, y), "min": lambda: x if x < y else y, "relu": lambda: larger(x, 0.0)},
        **{"rint": lambda: np.rint(x), "floor": lambda: np.floor(x), "ceil": lambda: np.ceil(x), "abs": lambda: abs(x)},
        **{"trunc": lambda: np.trunc(x), "single": lambda: np.float64(np.float32(x)), "less": lambda: float(x < y)},
        **{"not": lambda: float(x == 0), "select": lambda: others[0] if x != 0 else others[1]},
    }
    return float(found[one.function]())


def test_what_is_known_of_words_holds() -> None:
    rng = random.Random(0)
    exact = 0
    for _ in longer.seeds(3000):
        made = expression(rng, rng.randint(1, 5))
        known = known_words(made, GIVEN)
        exact += known.is_exact
        stored = stored_of(known)
        for _ in range(4):
            words = {
                "I": rng.randint(-5, 9),
                "B": rng.randint(0, 255),
                "D": rng.choice([math.nan, math.inf, 0.1, -1e300]),
            }
            words["S"] = float(np.float32(rng.choice([math.nan, -math.inf, 0.1, -7.0, 3e38])))
            with np.errstate(all="ignore"):
                found = value(made, words)
                assert math.isnan(found) <= known.may_be_none
                if math.isnan(found):
                    continue
                assert known.low <= found <= known.high, (str(made), words)
                assert math.isinf(found) or not known.is_whole or found == math.floor(found)
                assert not known.is_single or found == np.float32(found)
                kept = np.array(found + stored.bias).astype(DTYPES[stored.type])
                assert float(kept) - stored.bias == found
    assert longer.occurs(exact > 100)


def test_types_are_as_narrow_as_may_be() -> None:
    ends = [(-128, 127), (0, 255), (-117, 138), (-131, 124), (-129, 255), (0, 65535), (-(2**31), 2**31 - 1), (0, 2**31)]
    kinds = [stored_of(whole(*each)) for each in ends]
    assert kinds[2:4] == [WordType("uint8_t", 117), WordType("uint8_t", 131)]
    assert [kind.type for kind in kinds] == [
        "int8_t",
        "uint8_t",
        "uint8_t",
        "uint8_t",
        "int16_t",
        "uint16_t",
        "int32_t",
        "double",
    ]
    assert stored_of(whole(5, 9)) == WordType("int8_t")  # with 0
    assert stored_as("UINT8", whole(0, 7)) == WordType("uint8_t")
    assert stored_as("INT32", KnownWords(is_whole=True)) == WordType("double")
    assert stored_as("FLOAT", KnownWords(is_single=True)) == WordType("float")
    assert stored_as("INT64", whole(0, 7)) == WordType("double")
