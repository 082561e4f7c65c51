"""The colours of all pictures and pages: eight, apart for readers with any kind of colour vision, each with an ink that
can be read on it."""

from __future__ import annotations

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#9a4c95", "#f0e442", "#8c5a2b", "#767676")
"""In the order in which they are used: the first seven things have their own, all others are grey. The first four and
the sixth are of Okabe and Ito, "Color Universal Design"."""

BLUE, ORANGE, GREEN, VERMILION, PURPLE, YELLOW, BROWN, GREY = COLOURS
BLACK = "#000000"
_DARK, _LIGHT = "#101418", "#ffffff"


def place(number: int) -> int:
    """The place in `COLOURS` of what is drawn of the thing with a number."""
    return min(number, len(COLOURS) - 1)


def colour(number: int) -> str:
    """The colour of the thing with a number."""
    return COLOURS[place(number)]


def ink_on(ground: str) -> str:
    """What is written in on a colour: dark or light, whichever has more contrast (WCAG 2, relative luminance)."""
    bright = _luminance(ground) + 0.05
    return _LIGHT if (1.0 + 0.05) / bright > bright / (_luminance(_DARK) + 0.05) else _DARK


def colour_classes(ground: str, ink: str) -> str:
    """Rules of a style sheet: a class for each colour, and one for the ink on it."""
    fills = (f".{ground}{i} {{ fill: {one} }}" for i, one in enumerate(COLOURS))
    inks = (f".{ink}{i} {{ fill: {ink_on(one)} }}" for i, one in enumerate(COLOURS))
    return "\n".join([*fills, *inks])


def colour_variables() -> str:
    """The same as variables of a style sheet: --c0 and --i0 to --c7 and --i7."""
    pairs = (f"--c{i}: {one}; --i{i}: {ink_on(one)};" for i, one in enumerate(COLOURS))
    return f":root {{ {' '.join(pairs)} }}"


def _luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
