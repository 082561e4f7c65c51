"""The documentation as a site: complete, without broken links, and readable without a network."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import yaml

from pages import ROOT, links_of

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
built_by_mkdocs = pytest.mark.skipif(find_spec("material") is None, reason="the extra `docs` is not installed")

LOADED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("link", "href"), ("source", "src")}
"""What a browser fetches by itself; other links are followed by people."""


def build(config: Path, to: Path) -> subprocess.CompletedProcess[str]:
    """`mkdocs build`, in a process of its own since it changes the logging of the whole process."""
    command = [sys.executable, "-m", "mkdocs", "build", "--config-file", config, "--site-dir", to]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=environment)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT / "mkdocs.yml", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class Document(HTMLParser):
    """The links of a page, what it loads, and the places in it that a link can name."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attributes if value is not None}
        self.places |= {values[name] for name in ("id", "name") if name in values}
        self.links += [values["href"]] if tag == "a" and "href" in values else []
        # `rel=canonical` and `rel=next` only name an address
        if values.get("rel") not in {"canonical", "next", "prev"}:
            self.loaded += [values[name] for name in ("src", "href") if (tag, name) in LOADED and name in values]


@pytest.fixture(scope="module")
def documents(site: Path) -> dict[Path, Document]:
    """All pages; the one of missing pages needs a server."""
    return {path: Document(path) for path in site.rglob("*.html") if path.name != "404.html"}


def pages_in_nav() -> list[str]:
    """Sources of the pages in the navigation, in its order."""

    def leaves(entry: Any) -> Iterator[str]:
        if isinstance(entry, str):
            yield entry
        else:
            for inner in entry.values() if isinstance(entry, dict) else entry:
                yield from leaves(inner)

    return list(leaves(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]))


def test_every_page_has_its_place() -> None:
    named = pages_in_nav()
    assert len(named) == len(set(named))
    assert {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")} <= set(named)


@pytest.mark.parametrize("name", pages_in_nav())
def test_links_of_the_sources_lead_somewhere(name: str) -> None:
    """Also where MkDocs is not installed."""
    page = ROOT / name.replace(".ipynb.md", ".ipynb")  # the page of a notebook is made from it
    local = [unquote(urlsplit(link).path) for link in links_of(page) if not urlsplit(link).scheme]
    assert [link for link in local if link and not (page.parent / link).exists()] == []


@pytest.mark.long
@built_by_mkdocs
def test_links_of_the_site_lead_somewhere(site: Path, documents: dict[Path, Document]) -> None:
    assert {"index.html", "README.html", "cost-model.html"} <= {p.relative_to(site).as_posix() for p in documents}
    broken = []
    for document in documents.values():
        for link in (*document.links, *document.loaded):
            parts = urlsplit(link)
            target = (document.path.parent / unquote(parts.path)).resolve() if parts.path else document.path
            if parts.scheme or "${" in link:  # elsewhere, or made by a script
                continue
            page = documents.get(target)
            if not target.is_file() or (parts.fragment and page and parts.fragment not in page.places | {"__top"}):
                broken.append(f"{document.path.relative_to(site)}: {link}")
    assert broken == []


@pytest.mark.long
@built_by_mkdocs
def test_nothing_is_loaded_from_elsewhere(site: Path, documents: dict[Path, Document]) -> None:
    loaded = [link for document in documents.values() for link in document.loaded]
    assert len(loaded) > len(documents)
    assert [link for link in loaded if urlsplit(link).scheme not in ("", "data") or link.startswith("//")] == []
    for style in site.rglob("*.css"):
        assert "@import" not in style.read_text(encoding="utf-8")
        assert "url(http" not in style.read_text(encoding="utf-8")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A repository with one page, built as ours is."""
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    config["nav"] = ["docs/index.md"]
    (tmp_path / "mkdocs.yml").write_text(yaml.safe_dump(config))
    (tmp_path / "docs").mkdir()
    (tmp_path / "code").mkdir()
    for name in ("site_files.py", "make_api.py", "interface.py"):
        shutil.copy(ROOT / "docs" / name, tmp_path / "docs")
    (tmp_path / "code" / "one.py").write_text('"""One <file>."""\n')
    (tmp_path / "docs" / "index.md").write_text("# Home\n\n[file](../code/one.py), [folder](../code)\n")
    return tmp_path


@built_by_mkdocs
def test_files_outside_docs_are_in_the_site(small: Path) -> None:
    done = build(small / "mkdocs.yml", small / "site")
    assert done.returncode == 0, done.stderr
    assert "One &lt;file&gt;." in (small / "site" / "code" / "one.py.html").read_text()
    assert Document(small / "site" / "code" / "index.html").links == ["one.py.html"]
    assert {"code/one.py.html", "code/index.html"} <= set(Document(small / "site" / "index.html").links)


@built_by_mkdocs
def test_what_is_wrong_fails_the_build(small: Path) -> None:
    """One warning for each: a file that is not there, a place that is not there, a page that nav forgets."""
    (small / "docs" / "index.md").write_text("# Home\n\n[file](../code/two.py), [place](#nowhere)\n")
    (small / "docs" / "other.md").write_text("# Forgotten\n")
    done = build(small / "mkdocs.yml", small / "site")
    assert done.returncode != 0
    warnings = done.stderr.split("WARNING")[1:]
    assert len(warnings) == 3
    assert all(any(text in warning for warning in warnings) for text in ("code/two.py", "#nowhere", "docs/other.md"))


def address(site: Path, name: str) -> str:
    """Where the page of a source is."""
    uri = {"README.md": "README.html", "results/README.md": "results/index.html"}.get(name)
    return (site / (uri or name.removeprefix("docs/").replace(".md", ".html"))).as_uri()


def complaints_of(page: Any) -> list[str]:
    """Everything that a page will complain about, or ask for elsewhere; it grows as the page is used."""
    found: list[str] = []
    page.on("console", lambda message: found.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: found.append(str(error)))
    page.on("request", lambda request: found.append(request.url) if request.url.startswith("http") else None)
    return found


@built_by_mkdocs
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
@pytest.mark.long
def test_it_opens_without_a_network(site: Path) -> None:
    """On a desk and on a phone: no page is wider than the window, and the search finds something."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="the extra `browser` is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_context(offline=True).new_page()
        complaints = complaints_of(page)
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 900})
            for name in pages_in_nav():
                page.goto(address(site, name))
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name} is too wide"
        page.keyboard.press("/")
        page.keyboard.type("stationarity")
        page.wait_for_selector(".md-search-result__item", state="attached")
        browser.close()
    assert complaints == []
