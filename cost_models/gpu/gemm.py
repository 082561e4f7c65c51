"""The matrix product C[M, N] = A[M, K] B[K, N] as it lies in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from ...ir import ProblemError, did_you_mean

Order = Literal["row", "column"]
ORDERS: tuple[str, ...] = get_args(Order)

DIMENSIONS = ("M", "N", "K")


@dataclass(frozen=True)
class DataType:
    """Bytes of an operand's element, and of a result's."""

    operand_bytes: int
    result_bytes: int


DTYPES: Mapping[str, DataType] = {
    "fp16": DataType(2, 2),
    "bf16": DataType(2, 2),
    "tf32": DataType(4, 4),
    "int8": DataType(1, 4),
    "fp8": DataType(1, 2),
}
"""Element types of tensor cores. Sums are kept in 4 bytes; a product of 8-bit integers is handed out so as well."""

SUM_BYTES = 4
"""Bytes of a partial sum, in all of these types."""


@dataclass(frozen=True)
class Gemm:
    """C[M, N] = A[M, K] B[K, N], `batch` times over. C is row-major.

    a, b   how A and B lie in memory: `row` has elements of a row next to each other, `column` those of a column

    Raises ProblemError for sizes below 1, unknown types and unknown orders.
    """

    m: int
    n: int
    k: int
    batch: int = 1
    dtype: str = "fp16"
    a: Order = "row"
    b: Order = "row"

    def __post_init__(self) -> None:
        for name in ("m", "n", "k", "batch"):
            if getattr(self, name) < 1:
                raise ProblemError(f"{name} is {getattr(self, name)}, expected 1 or more", where="GEMM")
        if self.dtype not in DTYPES:
            expected = ", ".join(DTYPES)
            hint = did_you_mean(self.dtype, DTYPES)
            raise ProblemError(
                f"unknown element type {self.dtype!r}, expected one of {expected}", where="dtype", hint=hint
            )
        for operand in ("a", "b"):
            if getattr(self, operand) not in ORDERS:
                found = getattr(self, operand)
                raise ProblemError(f"found {found!r} for the layout of {operand.upper()}, expected row or column")

    @property
    def flop(self) -> int:
        """Useful operations, two to a multiply-add."""
        return 2 * self.batch * self.m * self.n * self.k

    @property
    def operand_bytes(self) -> int:
        """Bytes of an element of A or B."""
        return DTYPES[self.dtype].operand_bytes

    @property
    def result_bytes(self) -> int:
        """Bytes of an element of C."""
        return DTYPES[self.dtype].result_bytes

    @property
    def a_leading(self) -> int:
        """Elements from one row (or column) of A to the next."""
        return self.k if self.a == "row" else self.m

    @property
    def b_leading(self) -> int:
        """Elements from one row (or column) of B to the next."""
        return self.n if self.b == "row" else self.k

    @property
    def c_leading(self) -> int:
        """Elements from one row of C to the next."""
        return self.n

    @property
    def compulsory_bytes(self) -> int:
        """Bytes that must cross the memory's pins: each operand read once, the result written once."""
        operands = self.operand_bytes * self.k * (self.m + self.n)
        return self.batch * (operands + self.result_bytes * self.m * self.n)

    def resized(self, sizes: Mapping[str, int]) -> Gemm:
        """The same product with other sizes; `sizes` is by M, N, K."""
        return replace(self, m=sizes.get("M", self.m), n=sizes.get("N", self.n), k=sizes.get("K", self.k))

    def sizes(self) -> dict[str, int]:
        """Sizes by M, N, K."""
        return {"M": self.m, "N": self.n, "K": self.k}
