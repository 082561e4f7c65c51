"""im2col: a convolution as a product with a lowered operand, that has a word for every tap of every output.

Of O[n,k,p,q] += I[n,c,p+r,q+s] * W[k,c,r,s] the lowered operand is L[n,p,q,c,r,s]: each row of C*R*S words is what one
output position needs. It has P*Q*R*S*C words where the image has H*W*C: nine times as many for 3 x 3 at stride 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..ir import Problem, ProblemError, Rank, Tensor

LOWERED = "L"
"""The name of a lowered operand."""


@dataclass(frozen=True)
class Lowered:
    """A convolution, and the product that does the same.

    image    the operand that is read in windows
    product  the same operation, with its lowered operand
    """

    image: Tensor
    product: Problem

    @property
    def operand(self) -> Tensor:
        """The lowered operand."""
        return self.product.tensor(LOWERED)


def lowered(problem: Problem) -> Lowered:
    """The product that a convolution is with a lowered operand; its dimensions stay what they are.

    Raises ProblemError for an operation that reads no operand in windows, or several.
    """
    images = [tensor for tensor in problem.operands if any(map(_is_window, tensor.ranks))]
    if len(images) != 1 or LOWERED in (tensor.name for tensor in problem.tensors):
        raise ProblemError(
            "only what reads one operand in windows can be lowered",
            where=problem.name,
            hint="im2col is of convolutions: --conv K=64,C=64,P=56,Q=56,R=3,S=3",
        )
    (image,) = images
    # Row by row: first what tells outputs apart, then the taps, channels first.
    outer = [dim for rank in problem.output.ranks for dim, _ in rank if dim in image.dims]
    taps = [dim for rank in image.ranks for dim, _ in rank if dim not in outer]
    ranks: tuple[Rank, ...] = tuple(((dim, 1),) for dim in (*outer, *taps))
    tensors = tuple(replace(t, name=LOWERED, ranks=ranks) if t is image else t for t in problem.tensors)
    return Lowered(image, replace(problem, name=f"{problem.name} as a product", tensors=tensors, pads=()))


def _is_window(rank: Rank) -> bool:
    return len(rank) > 1
