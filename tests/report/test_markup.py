"""Markup in every name of every kind of document: in each page and picture it is text, and makes no element."""

from __future__ import annotations

import base64
import csv
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from tilewright.cli import app
from tilewright.report.parts.files import path_component

POISON = "\"'></title></script><script>alert(1)</script><img/src=x/onerror=alert(2)>$^{&"
NETWORK = f"""
network: '{POISON.replace("'", "''")}'
source: '{POISON.replace("'", "''")}'
layers:
  - {{name: '1{POISON.replace("'", "''")}', op: gemm, M: 4, N: 4, K: 4, weight: true}}
  - {{name: '=2{POISON.replace("'", "''")}', op: gemm, M: 4, N: 4, K: 4, weight: true}}
graph:
  - '1{POISON.replace("'", "''")}'
  - {{name: '=2{POISON.replace("'", "''")}'}}
"""
MACHINE = f"""
name: '{POISON.replace("'", "''")}'
description: '{POISON.replace("'", "''")}'
technology: '{POISON.replace("'", "''")}'
source: '{POISON.replace("'", "''")}'
clock: 100 MHz
word: 16 bit
levels:
  - {{memory: DRAM, access: 16 bit, read: 10 pJ, write: 10 pJ, bandwidth: 16 B/cycle}}
  - {{memory: GLB, size: 4 KiB, access: 16 bit, read: 1 pJ, write: 1 pJ, bandwidth: unbounded}}
mac: {{energy: 1 pJ}}
"""
BUFFERS = f'id,lower,upper,size\n"{POISON.replace(chr(34), chr(34) * 2)}",0,1,64\n'
BATCH = "--no-cache --workers 1 --out OUT"
COMMANDS = {
    "compare": f"compare --networks net.yaml --archs arch.yaml --dataflows free,weight-stationary {BATCH}",
    "fuse": f"compare --networks net.yaml --archs arch.yaml --fuse {BATCH}",
    "explore": f"explore --network net.yaml --arch arch.yaml --sweep GLB.size=2KiB,4KiB {BATCH}",
    "compile": f"compile net.yaml --arch arch.yaml {BATCH}",
    "bound": "bound net.yaml:LAYER --sizes 4 --out OUT --html OUT/page.html",
    "roofline": "roofline --network net.yaml --arch arch.yaml --svg OUT/roofline.svg --html OUT/page.html",
    "search": "search net.yaml:LAYER --arch arch.yaml --no-cache --html OUT/page.html",
    "layouts": "layouts net.yaml --arch arch.yaml --set DRAM.line=32B --html OUT/page.html",
    "explain": "explain --layer net.yaml:LAYER --arch arch.yaml --no-cache --html OUT/page.html --svg OUT/nest.svg",
    "show": "show arch.yaml --svg OUT/arch.svg",
    "plan": "plan buffers.csv --svg OUT/plan.svg --html OUT/page.html",
}
IMAGE = "data:image/svg+xml;base64,"


class Page(HTMLParser):
    """The elements of a page, its texts, and the pictures in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def check(self, scripts: int) -> None:
        assert sum(tag == "script" for tag, _ in self.elements) == scripts
        for tag, attributes in self.elements:
            assert not any(name.startswith("on") for name in attributes)
            if tag == "img":
                source = attributes["src"] or ""
                assert source.startswith(IMAGE)
                check_picture(base64.b64decode(source.removeprefix(IMAGE)).decode())


def check_picture(text: str) -> None:
    assert "mathdefault" not in text
    for element in ElementTree.fromstring(text.encode()).iter():
        assert element.tag.rpartition("}")[2] not in ("script", "img", "image", "foreignObject")
        assert not any(name.startswith("on") for name in element.attrib)


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (("net.yaml", NETWORK), ("arch.yaml", MACHINE), ("buffers.csv", BUFFERS)):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.some(2)
@pytest.mark.parametrize("command", COMMANDS)
def test_names_are_text_in_pages_and_pictures(command: str, inputs: Path) -> None:
    words = [word.replace("OUT", "out").replace("LAYER", f"1{POISON}") for word in COMMANDS[command].split()]
    ran = CliRunner().invoke(app, words)
    assert ran.exit_code == 0, ran.output
    pages = sorted(inputs.glob("out/**/*.html"))
    pictures = sorted(inputs.glob("out/**/*.svg"))
    assert pages or pictures
    for path in pages:
        page = Page(path.read_text())
        page.check(scripts=2)
        assert any(POISON in text for text in page.texts)
    for path in pictures:
        check_picture(path.read_text())
    for path in inputs.glob("out/**/*.md"):
        assert not [line for line in path.read_text().splitlines() if "<" in line and line[0] not in " `"]
    for path in inputs.glob("out/**/*.csv"):
        for row in csv.reader(path.read_text().splitlines()):
            assert not any(cell.startswith("=") for cell in row)


@pytest.mark.parametrize("name", ["../../escape", "/escape", "..", "a/b", ""])
def test_a_network_writes_in_one_folder_beside_it(name: str, inputs: Path) -> None:
    inside = inputs / "one" / "two"
    inside.mkdir(parents=True)
    (inside / "net.yaml").write_text(NETWORK.replace(POISON.replace("'", "''"), name or "x"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(inside)
        ran = CliRunner().invoke(app, ["compile", "net.yaml", "--arch", "three_level", "--no-cache", "--emit", "c"])
    assert ran.exit_code == 0, ran.output
    assert sorted(path.name for path in inputs.rglob("network.c")) == ["network.c"]
    assert next(inside.glob("*/network.c")).is_file()
    assert path_component(name) not in ("", ".", "..")
