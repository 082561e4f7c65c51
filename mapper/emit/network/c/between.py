"""Functions of what is done between groups, each different one once, and their calls: the program and its check share
them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..groups.program import ApartCall, NetworkProgram
from ..words.operands import Weight
from .apart import apart_function
from .finish import finish_function

Lines = Callable[[str], Iterator[str]]
"""The lines of a function, by its name."""


class Between:
    """These functions of one network."""

    def __init__(self, program: NetworkProgram) -> None:
        self._texts: dict[tuple[str, bool], list[str]] = {}
        own, check = (self._bodies(program, is_check=is_check) for is_check in (False, True))
        self._own, self._every = own, own | check
        self._numbers = {text: number for number, text in enumerate(self._every)}

    def _bodies(self, program: NetworkProgram, *, is_check: bool) -> dict[str, Lines]:
        """Each different function once, by its text without a name."""
        found: dict[str, Lines] = {}
        for call in program.steps:
            if isinstance(call, ApartCall):
                parts = {"\n".join(one("FUNCTION")): one for one in _apart_parts(call, is_check=is_check)}
                self._texts[call.key, is_check] = list(parts)
                found |= parts
        return found

    def lines(self, *, is_check: bool) -> Iterator[str]:
        """Those of the program, or what only the check has."""
        for text, part in self._every.items():
            if (text in self._own) != is_check:
                yield from part(f"between{self._numbers[text]}")

    def calls(
        self,
        call: ApartCall,
        place: Callable[[str], str],
        weight: Callable[[Weight], str],
        unfinished: str | None = None,
    ) -> Iterator[str]:
        """What is called for it, in the program as in its check: both do the same.

        place       where a tensor begins
        weight      where a parameter does
        unfinished  where words are before anything is done with them, in the program of a network that stores them in
                    types of their own; None: in place, as the check has them
        """
        given = [weight(one) if isinstance(one, Weight) else place(one) for one in call.inputs]
        finishing = [weight(one) for one in call.finished.parameters] if call.finished else []
        is_check = unfinished is None
        apart = not is_check and call.finished is not None and call.kinds is not None
        arguments = [[*given, unfinished if apart else place(call.key)]]
        arguments.append([place(call.key), *([unfinished] if apart else []), *finishing])
        for text, each in zip(self._texts[call.key, is_check], arguments, strict=False):
            yield f"    between{self._numbers[text]}({', '.join(map(str, each))});"


def _apart_parts(call: ApartCall, *, is_check: bool) -> list[Lines]:
    """What is called for it, one after the other; the check has elements alone."""
    kinds = None if is_check else call.kinds
    operation = call.operation if is_check or call.relaid is None else call.relaid
    found: list[Lines] = [lambda name: apart_function(name, operation, kinds)]
    if call.finished is not None:
        finish = call.finished.finish
        found.append(lambda name: finish_function(name, finish, call.operation.shape, kinds))
    return found
