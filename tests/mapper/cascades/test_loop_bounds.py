"""Bounds of shared loops, for all trips at once, beside those of the nodes that are chosen for one of them."""

from __future__ import annotations

from tilewright.mapper.cascades.relaxations.loop_choices import Choices, KnownChoices, Least


def test_choices_are_kept_as_far_as_there_is_memory_for_them() -> None:
    known, made = KnownChoices(left=140), []

    def choices() -> Choices:
        made.append(len(made))
        return Choices(Least.nothing(1, 1, 1, 2), (), ())  # 64 bytes

    for key in (1, 2, 3, 1, 2, 3):
        known.of((key,), choices)
    assert len(made) == 4  # the third is made again
