"""Cascades from lines of text and from files.

operations:
  - T[m,n] += A[m,k] * B[k,n]
  - O[m,p] += T[m,n] * C[n,p]
sizes: {m: 1024, k: 128, n: 1024, p: 128}  # i:j: 1024, in the place of i and j: all ways to cut 1024 into i blocks of j
bits: {T: 16}                              # optional: widths of tensors
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from ..inputs import checks
from ..ir import Cascade, Generation, Operation, Problem, ProblemError, Rank, Role, Tensor
from ..ir.expression import is_product
from ..ir.limits import check_countable
from .arguments import check_keys, title_of, whole
from .einsum import dimension_names, merged_sizes
from .files import read_yaml
from .inline import parse_sizes
from .operations import LAST, NEXT, Statement, read_statement


def cascade(
    operations: Iterable[str],
    sizes: Mapping[str, int] | None = None,
    *,
    name: str | None = None,
    bits: Mapping[str, int] | None = None,
    **size_of_index: int,
) -> Cascade:
    """The cascade of some operations: cascade(["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"], m=8, ...).

    operations  lines such as these, in an order in which they can be done: `=` assigns, `+=` sums over the indices that
                the left side has not, `max=` takes their maximum; an equal tensor name is one tensor
    sizes       elements of every index, as a mapping or as keywords; equal letters have equal sizes. {"i:j": 256} says
                that i blocks of j have 256 elements together: the cascade has a form for every such i and j, of which
                a search takes the best
    name        of the whole; by default the operations' names, joined by +
    bits        widths of words by tensor; the others have the architecture's
    size_of_index  sizes as keywords

    Dimensions are the indices in upper case (where the operations use "a" and "A", they stay as they are). The first
    factor of a sum of products has role input, the others are weights; all operands of other operations are inputs.

    Raises ProblemError for a line that cannot be read, sizes that are missing, unknown or disagree, a tensor with two
    producers, a cycle, and operations that do not connect.
    """
    given = [operations] if isinstance(operations, str) else _lines(operations)
    counts = {} if sizes is None else checks.mapping(sizes, "the sizes", "a dict such as {'m': 64}", ProblemError)
    statements = [read_statement(text) for text in given]
    widths = {} if bits is None else checks.mapping(bits, "bits", 'a dict such as {"T": 16}', ProblemError)
    title = title_of(name, "+".join(statement.name for statement in statements))
    return _all_forms(statements, merged_sizes(dict(counts), size_of_index, "cascade"), title, widths)


def _lines(operations: Iterable[str]) -> list[str]:
    expected = "lines such as 'T[m,n] += A[m,k] * B[k,n]'"
    lines = checks.items(operations, "the operations", expected, ProblemError)
    return [checks.text(line, "an operation", f"a text, {expected}", ProblemError) for line in lines]


def cascade_from_texts(operations: Iterable[str], sizes: str, *, name: str | None = None) -> Cascade:
    """The cascade of some operations and of sizes in one line, "m=64,k=64,n=64"; ProblemError as of `cascade`."""
    return cascade(operations, parse_sizes(sizes), name=name)


def load_cascade(path: str | Path) -> Cascade:
    """The cascade of a YAML file with `operations:` and `sizes:`; ProblemError says what cannot be read, and where."""
    where = str(path)
    document = read_yaml(Path(path), where, "a cascade: operations and sizes")
    if not isinstance(document, dict):
        raise ProblemError(f"found {type(document).__name__}, expected a cascade: operations and sizes", where=where)
    check_keys(document, where, ("operations", "sizes"), ("name", "bits"))
    lines = _strings(document["operations"], where)
    sizes, bits = (_table(document.get(key) or {}, key, where) for key in ("sizes", "bits"))
    statements = [read_statement(line, f"{where}: operation {i}") for i, line in enumerate(lines, 1)]
    try:
        return _all_forms(statements, sizes, str(document.get("name") or Path(path).stem), bits)
    except ProblemError as error:
        raise error.located(where) from None


def _strings(value: Any, where: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(line, str) for line in value):
        hint = "write each as a line: '- T[m,n] += A[m,k] * B[k,n]'; quote lines with ': '"
        raise ProblemError("operations, expected a list of texts", where=where, hint=hint)
    return value


def _table(value: Any, key: str, where: str) -> dict[str, int]:
    if not isinstance(value, dict):
        raise ProblemError(f"{key} is {value!r}, expected names and numbers", where=where)
    return {str(name): number for name, number in value.items()}


def _all_forms(statements: list[Statement], sizes: Mapping[str, int], title: str, bits: Mapping[str, int]) -> Cascade:
    """The cascade; with all its forms, where the sizes of blocks are to be chosen."""
    chosen = [key for key in sizes if ":" in str(key)]
    if not chosen:
        return _cascade(statements, sizes, title, bits)
    plain = {key: size for key, size in sizes.items() if key not in chosen}
    options = [_blocks(key, whole(key, sizes[key], f"{title}: sizes"), plain, title) for key in chosen]
    forms = []
    for blocks in itertools.product(*options):
        own = dict(pair for each in blocks for pair in each.items())
        form = _cascade(statements, plain | own, title, bits)
        forms.append(replace(form, form=", ".join(f"{index}={size}" for index, size in own.items())))
    return replace(forms[0], others=tuple(forms[1:]))


def _blocks(key: str, size: int, sizes: Mapping[str, int], title: str) -> list[dict[str, int]]:
    """All ways to cut elements into two blocks or more of equally many, smaller blocks first."""
    indices = [index.strip() for index in key.split(":")]
    if len(indices) != 2 or not all(indices) or indices[0] == indices[1] or any(index in sizes for index in indices):
        hint = "write 'i:j=256' for i blocks of j, and no sizes of i and j besides"
        raise ProblemError(f"cannot read the size of {key!r}", where=f"{title}: sizes", hint=hint)
    if size == 1:
        raise ProblemError(f"{key} has 1 element, expected 2 or more", where=f"{title}: sizes")
    outer, inner = indices
    return [{outer: n, inner: size // n} for n in range(size, 1, -1) if size % n == 0]


def _cascade(statements: list[Statement], sizes: Mapping[str, int], title: str, bits: Mapping[str, int]) -> Cascade:
    indices = list(dict.fromkeys(index for statement in statements for index in statement.indices()))
    check_keys(sizes, f"{title}: sizes", indices, ())
    for index in indices:
        whole(index, sizes[index], f"{title}: sizes")
    tensors = {tensor for s in statements for tensor in (s.output[0], *s.operands)}
    check_keys(bits, f"{title}: bits", (), tensors)
    dims = dimension_names(indices)
    axes = {s.output[0]: axis for s in statements for axis, shift in s.shifts[s.output[0]] if shift == NEXT}
    operations = tuple(_operation(statement, sizes, dims, bits, axes) for statement in statements)
    for operation in operations:
        check_countable(operation.problem)
    return Cascade(title, operations)


def _operation(
    statement: Statement,
    sizes: Mapping[str, int],
    dims: Mapping[str, str],
    bits: Mapping[str, int],
    axes: Mapping[str, int],
) -> Operation:
    """The operation of a statement.

    dims  names of dimensions by index
    axes  by tensor that is iterated, the axis that counts its generations
    """
    multiplies = statement.reduction == "sum" and is_product(statement.expression)
    tensors, generations = [], []
    output, written = statement.output
    roles = ["weight" if multiplies and i else "input" for i in range(len(statement.operands))]
    for (name, ranks), role in zip((*statement.operands.items(), (output, written)), (*roles, "output"), strict=True):
        projection = [tuple((dims[index], c or _block(rank, sizes)) for index, c in rank) for rank in ranks]
        axis = axes.get(name, len(ranks))
        _check_shifts(statement, name, axis)
        if axis < len(ranks):
            counted = projection.pop(axis)
            dim = counted[0][0] if len(counted) == 1 and counted[0][1] == 1 else None
            if dim is None and counted:
                raise ProblemError(f"reads a generation of {name} that is no i, i+1 or -1", where=statement.name)
            after = (axis, NEXT) in statement.shifts[name] or dim is None
            generations.append(Generation(name, axis, dim, after))
        tensors.append(Tensor(name, tuple(projection), cast(Role, role), bits.get(name)))
    problem = Problem(statement.name, tuple((dims[i], sizes[i]) for i in statement.indices()), tuple(tensors))
    return Operation(
        problem,
        statement.expression,
        statement.reduction,
        tuple(statement.pads.items()),
        tuple(generations),
        statement.start,
    )


def _block(rank: Rank, sizes: Mapping[str, int]) -> int:
    """The coefficient of i in i:j."""
    return sizes[rank[-1][0]]


def _check_shifts(statement: Statement, tensor: str, axis: int) -> None:
    """An axis that is i+1 or -1 counts generations."""
    for at, shift in statement.shifts[tensor]:
        if at != axis:
            shown = "the last index, -1" if shift == LAST else "an index + 1"
            message = f"{tensor} has {shown}, and no operation writes its generations"
            hint = "an iteration is written as R[m,i+1] = max(R[m,i], L[m,i]) start -inf"
            raise ProblemError(message, where=f"operation {statement.name}", hint=hint)
