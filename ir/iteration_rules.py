"""The rules of a tree whose operations iterate: steps in order, shared by all who use the generations."""

from __future__ import annotations

from .errors import MappingError
from .operation import Operation
from .tree_rules import CascadeTree, steps_of


def check_iterations(asked: CascadeTree) -> None:
    """Check that an iterative dimension steps one at a time, in temporal loops that all users of its generations
    share."""
    for producer in asked.cascade:
        made = producer.generation(producer.output.name)
        if made is None:
            continue
        for operation in (producer, *asked.cascade.consumers[made.tensor]):
            # The loops over an operation's iterative dimension stand above a split, and are no arrays.
            tensor = made.tensor
            leaf, generation = asked.tree.leaves()[operation.name], operation.generation(tensor)
            assert generation is not None
            for place, item in steps_of(asked.tree.above(leaf), operation.name, generation.dim):
                if item.is_spatial or place[0] == leaf:
                    where = "on an array" if item.is_spatial else f"in the branch of {operation.name}"
                    message = f"'{item}' stands {where}, and {operation.name} uses {operation.access(tensor)}: "
                    message += f"{generation.dim} steps in order, as a loop in time above a split"
                    hint = f"put it above a split of {producer.name} and all who read its generations"
                    raise MappingError(message, hint=hint)
        for consumer in asked.cascade.consumers[made.tensor]:
            _check_steps_together(asked, producer, consumer)


def _check_steps_together(asked: CascadeTree, producer: Operation, consumer: Operation) -> None:
    """Check that a reader of generations steps with the operation that makes them, and that a reader of the last comes
    after all steps."""
    tensor, dim = producer.output.name, producer.iterates
    read = consumer.generation(tensor)
    assert read is not None
    above = asked.tree.above(asked.tree.split_of(producer.name, consumer.name))
    own = {place for place, _ in steps_of(asked.tree.above(asked.tree.leaves()[producer.name]), producer.name, dim)}
    common = {place for place, _ in steps_of(above, producer.name, dim)}
    if read.dim is None and common:
        item = asked.tree.item(min(common))
        message = f"'{item}' stands above {consumer.name}, which reads {consumer.access(tensor)}, the last generation"
        raise MappingError(message, hint=f"put the branch of {consumer.name} outside the loop over {dim}")
    theirs = {place for place, _ in steps_of(above, consumer.name, read.dim)}
    if read.dim is not None and not own == common == theirs:
        message = f"{consumer.name} reads {consumer.access(tensor)}, and does not step over {read.dim} together with "
        message += producer.name
        hint = f"put the whole loop over {dim} above a split of {producer.name} and {consumer.name}"
        raise MappingError(message, hint=hint)
