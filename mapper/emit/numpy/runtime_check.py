"""The part of an emitted numpy program that checks it: operands, the comparison, the table of words."""

from __future__ import annotations

import numpy as np

from .runtime import Arrays
from .runtime_meters import WordTable

# ---- the check -------------------------------------------------------------------------------------------------------


def random_operands(shapes: dict[str, tuple[int, ...]], seed: int, largest: int) -> Arrays:
    """Small integers, up to the largest with which all results are exact and do not depend on the order of sums; where
    there is none, numbers up to 1, of which any function can be taken."""
    rng = np.random.default_rng(seed)
    if largest:
        return {name: rng.integers(-largest, largest + 1, shape) for name, shape in shapes.items()}
    return {name: 1.0 - rng.random(shape) for name, shape in shapes.items()}


def random_floats(shapes: dict[str, tuple[int, ...]], seed: int) -> Arrays:
    """Numbers of single precision, whose sums depend on their order."""
    rng = np.random.default_rng(seed)
    return {name: rng.standard_normal(shape, np.float32) for name, shape in shapes.items()}


def rounding_bound(sizes: np.ndarray, roundings: int) -> np.ndarray:
    """How far outputs of single precision may be from exact ones, in whatever order their products are added.

    sizes      sum of the magnitudes of all products, of every output
    roundings  that a product may go through; with n of them the bound is sizes * n u / (1 - n u), u = 2^-24
               (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1)
    """
    error = roundings * 2.0**-24
    if not error:
        raise ValueError("of other operations than one sum of products, compare whole numbers")
    if error >= 1:
        raise ValueError(f"sums of {roundings} products say nothing in single precision; compare whole numbers")
    return sizes * (error / (1 - error))


def difference(output: np.ndarray, reference: np.ndarray, bound: np.ndarray | int = 0) -> str:
    """What is wrong with the output, where it is further from the reference than a bound; nothing if all is well."""
    if output.shape != reference.shape:
        return f"the output has shape {output.shape}, expected {reference.shape}"
    with np.errstate(invalid="ignore"):
        apart = np.abs(output - reference)
    wrong = np.argwhere(~((apart <= bound) | (output == reference)))  # what is no number is wrong, too
    if not len(wrong):
        return ""
    first = tuple(wrong[0].tolist())
    return f"{len(wrong)} of {output.size} outputs differ; at {first}: {output[first]}, expected {reference[first]}"


def words_table(moved: WordTable, expected: WordTable) -> list[str]:
    """One line per memory and tensor: words moved beside words expected."""
    heads = ("memory", "tensor", "reads", "expected", "writes", "expected")
    rows: list[tuple[str, ...]] = [heads]
    for name in dict.fromkeys((*expected, *moved)):
        got, want = moved.get(name, (0, 0)), expected.get(name, (0, 0))
        labels = (ascii(part)[1:-1] for part in name)
        rows.append(
            (*labels, *(f"{n:,}" for n in (got[0], want[0], got[1], want[1])), "" if got == want else "  <-- differs")
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(heads))]
    return [
        "  ".join(
            [text.ljust(w) if i < 2 else text.rjust(w) for i, (text, w) in enumerate(zip(row, widths, strict=False))]
            + list(row[len(heads) :])
        ).rstrip()
        for row in rows
    ]


def steps_note(steps: int, ran: int) -> str:
    """What is to be said of steps that were not run one by one."""
    if ran == steps:
        return ""
    return f"; {ran:,} of {steps:,} steps were run one by one, the others at once, in passes like one of those"
