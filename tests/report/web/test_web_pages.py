"""What all pages of reports share: complete in themselves, readable without scripts, with tables that sort."""

from __future__ import annotations

import base64
import gzip
import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from rich.console import Group

from tilewright.report.parts.palette import COLOURS, colour, ink_on
from tilewright.report.parts.svg import tensor_classes
from tilewright.report.parts.text import columns, pairs, section
from tilewright.report.web import (
    Column,
    Detail,
    Details,
    Page,
    TableCell,
    page_html,
    rendered,
    sorting_table,
    text_part,
)

VOID = {"meta", "link", "input", "br", "img"}


class Elements(HTMLParser):
    """Elements with their attributes, each closed as it should be, and the words between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def page(**given: Any) -> str:
    return page_html(Page("A title", **given))


def data_of(text: str) -> Any:
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert match
    return json.loads(match[1])


def test_a_page_has_its_parts_in_order_and_loads_nothing() -> None:
    text = page(asked=[("Objective", "edp")], findings=["Found.", "Why."], command="tilewright x 'y'")
    elements = Elements(text)
    words = " ".join(elements.words)
    assert words.index("A title") < words.index("edp") < words.index("Found.") < words.index("tilewright x 'y'")
    assert not any(attributes.get("src") for _, attributes in elements.found)
    assert [link["href"] for link in elements.of("link")] == ["data:,"]
    assert set(re.findall(r"https?://[^\s\"'`<]+", text)) == {"http://www.w3.org/2000/svg"}
    assert elements.of("html") == [{"lang": "en"}]
    assert [one["content"] for one in elements.of("meta") if one.get("name") == "color-scheme"] == ["light dark"]


def test_rows_open_their_dialogs_and_sort_by_their_keys() -> None:
    details = Details()
    names = [details.add(f"row-{i}", Detail(f"Row {i}", "", [text_part("Same", "a text")], "run it")) for i in range(2)]
    rows = [[TableCell("3.72 ms", 0.00372), "b"], [TableCell("912 us", 0.000912), "a"]]
    table = sorting_table("times", [Column("time"), Column("name", True)], rows, names, best=1)
    text = page(sections=[table], data=details.data())
    elements = Elements(text)
    assert [one["data-key"] for one in elements.of("td") if "data-key" in one] == ["0.00372", "0.000912"]
    buttons = [one["data-detail"] for one in elements.of("button") if "data-detail" in one]
    data = data_of(text)
    assert buttons == list(data["details"]) == ["row-0", "row-1"]
    assert [one.get("class") for one in elements.of("tr") if "data-of" in one] == [None, "best"]
    assert len(data["shared"]) == 1  # what both show stands once


def test_pictures_are_packed_once_and_come_back() -> None:
    details = Details()
    assert [details.picture(key, f"<svg>{key}</svg>".format) for key in "aba"] == [0, 1, 0]
    unpacked = json.loads(gzip.decompress(base64.b64decode(details.data()["pictures"])))
    assert unpacked == ["<svg>a</svg>", "<svg>b</svg>"]
    assert details.data() == details.data()


def test_words_that_stand_once_for_several_rows_are_filled_in_where_rows_sort() -> None:
    table = columns(("network", "arch"), ("energy",))
    for row in (("one", "a", "1 pJ"), ("", "b", "2 pJ"), ("", "", "3 pJ"), ("two", "a", "")):
        table.add_row(*row)
    text = rendered(Group(pairs([("Name", "x")]), section("Table", table)))
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", text)
    assert cells == ["Name", "x", "one", "a", "1 pJ", "one", "b", "2 pJ", "one", "b", "3 pJ", "two", "a", ""]
    assert text.count('class="sorts"') == 1
    assert "<h2>Table</h2>" in text


def contrast(one: str, other: str) -> float:
    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("ground", COLOURS)
def test_what_is_written_on_a_colour_can_be_read(ground: str) -> None:
    assert contrast(ground, ink_on(ground)) >= 4.5


def test_eight_tensors_have_eight_colours() -> None:
    assert len(set(COLOURS)) == 8
    roles = {
        "A": "input",
        "B": "input",
        "W": "weight",
        "C": "input",
        "V": "weight",
        "D": "input",
        "E": "input",
        "O": "output",
    }
    found = tensor_classes(roles)
    assert len(set(found.values())) == 8
    assert (found["A"], found["W"], found["O"]) == ("input", "weight", "output")
    more = tensor_classes(roles | {"X": "input", "Y": "weight"})
    assert (more["X"], more["Y"], colour(8)) == ("more4", "more4", COLOURS[7])  # grey, and not the first ones again
