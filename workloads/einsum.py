"""Any dense einsum with one output, in numpy's notation."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Iterable, Mapping

from ..inputs import checks
from ..ir import Problem, ProblemError, Rank, Role
from .arguments import Bits, axes, build, check_keys, title_of, whole

# "O" is the output; the names of all operands stay one letter, so 25 of them is the limit.
OPERAND_NAMES = string.ascii_uppercase.replace("O", "")


def einsum(
    spec: str,
    sizes: Mapping[str, int] | None = None,
    *,
    name: str | None = None,
    bits: Bits | None = None,
    **size_of_index: int,
) -> Problem:
    """The problem of an einsum: einsum("bhqd,bhkd->bhqk", b=1, h=12, q=512, k=512, d=64).

    spec    as numpy's, without "..."; a spec without "->" has the indices that appear once, sorted, as its output
    sizes   elements of every index, as a mapping or as keywords
    name    the problem's name; by default the spec without spaces
    bits    widths of words by role, as of `conv2d`: the first operand is the input, the others are weights
    size_of_index  sizes as keywords

    Dimensions are the indices in upper case, those of the output first ("a" and "A" in one spec stay as they are);
    operands are A, B, C, ... in order (O is the output).

    Raises ProblemError for a spec that is malformed, an index that appears twice in one tensor, an output index that
    no operand has, and for sizes that are missing, unknown or not positive whole numbers.
    """
    checks.text(spec, "the spec", 'a text such as "mk,kn->mn"', ProblemError)
    title = title_of(name, "".join(spec.split()))
    operands, output = _read_spec(spec)
    where = f"einsum {''.join(spec.split())!r}"
    given = checks.mapping({} if sizes is None else sizes, f"{where}: sizes", 'a dict such as {"m": 64}', ProblemError)
    size = merged_sizes(dict(given), size_of_index, where)
    indices = list(dict.fromkeys(output + "".join(operands)))
    check_keys(size, f"{where}: sizes", indices, ())
    for index in indices:
        whole(index, size[index], f"{where}: sizes")
    dim = dimension_names(indices)
    tensors: list[tuple[str, Role, tuple[Rank, ...]]] = [
        (OPERAND_NAMES[position], "weight" if position else "input", axes(*(dim[index] for index in operand)))
        for position, operand in enumerate(operands)
    ]
    tensors.append(("O", "output", axes(*(dim[index] for index in output))))
    return build(title, {dim[index]: size[index] for index in indices}, tensors, bits)


def merged_sizes(sizes: dict[str, int], keywords: Mapping[str, int], where: str) -> dict[str, int]:
    """Sizes that are given as a mapping and as keywords; ProblemError for one that is given in both."""
    twice = sorted(sizes.keys() & keywords.keys())
    if twice:
        raise ProblemError(f"the size of {twice[0]!r} is given twice, in the mapping and as a keyword", where=where)
    return {**sizes, **keywords}


def dimension_names(indices: Iterable[str]) -> dict[str, str]:
    """Upper case, except where that would make one name of two indices."""
    known = set(indices)
    return {index: index if index.upper() in known else index.upper() for index in indices}


def _read_spec(spec: str) -> tuple[list[str], str]:
    """Operand and output indices of a spec, checked."""
    text = "".join(spec.split())
    where = f"einsum {text!r}"
    _check_characters(text, where)
    left, arrow, right = text.partition("->")
    operands = left.split(",")
    for position, operand in enumerate(operands, 1):
        if not operand:
            raise ProblemError(f"operand {position} has no indices", where=where, hint="write 'mk,kn->mn'")
        _check_repeats(operand, f"operand {position} {operand!r}", where)
    if len(operands) > len(OPERAND_NAMES):
        raise ProblemError(f"{len(operands)} operands, expected at most {len(OPERAND_NAMES)}", where=where)
    output = right if arrow else _implicit_output(operands)
    _check_repeats(output, f"output {output!r}", where)
    _check_output(output, operands, where)
    return operands, output


def _check_characters(text: str, where: str) -> None:
    if "." in text:
        raise ProblemError("'...' is not supported", where=where, hint="write an index for every axis")
    outputs = text.split("->")
    if len(outputs) > 2 or any(mark in text.replace("->", "") for mark in "->"):
        raise ProblemError("found a stray '-' or '>', expected at most one '->'", where=where, hint="write 'mk,kn->mn'")
    if len(outputs) == 2 and "," in outputs[1]:
        raise ProblemError("more than one output", where=where, hint="a problem has one output: write 'mk,kn->mn'")
    for character in text:
        if character not in string.ascii_letters + ",->":
            raise ProblemError(f"cannot read {character!r}, expected letters, ',' and '->'", where=where)


def _check_repeats(indices: str, what: str, where: str) -> None:
    for index, count in Counter(indices).items():
        if count > 1:
            raise ProblemError(
                f"index {index!r} appears {count} times in {what}",
                where=where,
                hint="a diagonal is not a dense access: extract it first, and give it one index",
            )


def _implicit_output(operands: Iterable[str]) -> str:
    """The indices that appear once in all operands together, sorted: numpy's rule."""
    return "".join(sorted(index for index, count in Counter("".join(operands)).items() if count == 1))


def _check_output(output: str, operands: Iterable[str], where: str) -> None:
    known = dict.fromkeys("".join(operands))
    for index in output:
        if index not in known:
            raise ProblemError(
                f"output index {index!r} is in no operand", where=where, hint=f"indices of operands: {', '.join(known)}"
            )
