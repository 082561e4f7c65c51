"""Orders in which the operations of a cascade can be done."""

from __future__ import annotations

from collections.abc import Iterator

from ....ir import Cascade


def orders(cascade: Cascade) -> Iterator[tuple[str, ...]]:
    """All orders in which each operation is done after those that write what it reads, and before those that put the
    next generation in its place; that of the cascade first."""
    needs: dict[str, set[str]] = {operation.name: set() for operation in cascade}
    for tensor, producer in cascade.producers.items():
        for reader in cascade.consumers[tensor]:
            if reader.reads_before(tensor):
                needs[producer.name].add(reader.name)
            else:
                needs[reader.name].add(producer.name)

    chosen: dict[str, None] = {}

    def ready() -> Iterator[str]:
        return (name for name, needed in needs.items() if name not in chosen and needed <= chosen.keys())

    further = [ready()]  # after as many operations as stand before it
    while further:
        name = next(further[-1], None)
        if name is None:
            further.pop()
            if chosen:
                chosen.popitem()
            continue
        chosen[name] = None
        if len(chosen) < len(needs):
            further.append(ready())
        else:
            yield tuple(chosen)
            chosen.popitem()
