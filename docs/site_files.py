"""What `mkdocs build` does beyond MkDocs: pages may link to any file of the repository, and the site has that file.

MkDocs knows the files of docs/ alone. Here every file is named from the root of the repository (`docs/gpu.md`,
`arch/loader.py`), so that links resolve as they do in a checkout, and whatever a page links to is added, and what the
added pages link to, and so on:

    Markdown             a page like any other
    notebooks            a page with their cells and outputs
    pictures, HTML       as they are
    other text, folders  a page of their own, with the text or the list of files

A link that leads nowhere is left to MkDocs, which refuses it.
"""

from __future__ import annotations

import base64
import html
import json
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound

from make_api import reference

AS_THEY_ARE = {".svg", ".png", ".html"}

_LINK = re.compile(r"\]\(([^()\s]+)\)")
_NOTEBOOK = ".ipynb"


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """The files of docs/ under their names in the repository, those of the theme, and all that pages link to."""
    root, docs = Path(config.config_file_path).parent, Path(config.docs_dir)
    scripts = {file for file in files if file.src_uri.endswith(".py")}  # like all code, shown where it is linked
    renamed = [
        _renamed(file, docs, root) if file.src_dir == config.docs_dir else file for file in files if file not in scripts
    ]
    found = Files(renamed)
    pages = [file for file in renamed if file.is_documentation_page()] + list(_in_nav(config, found, root))
    while pages:
        page = pages.pop()
        for name in _links(page):
            added = f"{name}.md" if name.endswith(_NOTEBOOK) else name
            if found.get_file_from_path(added) is None and (root / name).exists():
                for file in _files(name, root, config):
                    found.append(file)
                    pages += [file] if file.is_documentation_page() else []
    return found


def _renamed(file: File, docs: Path, root: Path) -> File:
    name = f"{docs.relative_to(root).as_posix()}/{file.src_uri}"
    return File(
        name, str(root), file.dest_dir, file.use_directory_urls, dest_uri=file.dest_uri, inclusion=file.inclusion
    )


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Links to notebooks lead to their pages; the page of the interface has its reference."""
    text = f"{markdown}\n\n{reference()}" if page.file.src_uri == "docs/api.md" else markdown
    return text.replace(f"{_NOTEBOOK})", f"{_NOTEBOOK}.md)")


def _in_nav(config: MkDocsConfig, found: Files, root: Path) -> Iterator[File]:
    """Pages outside docs/ that have a place in the navigation."""
    for entry in re.findall(r"[\w./-]+\.md", str(config.nav)):
        name = entry.removesuffix(".md") if entry.endswith(f"{_NOTEBOOK}.md") else entry
        if found.get_file_from_path(name) is None and (root / name).exists():
            for file in _files(name, root, config):
                file.inclusion = InclusionLevel.INCLUDED
                found.append(file)
                yield file


def _links(page: File) -> Iterator[str]:
    """Names of the files that a page links to; what is no link, or leads nowhere, does no harm here."""
    for link in _LINK.findall(page.content_string):
        parts = urlsplit(link)
        if parts.path and not parts.scheme:
            yield posixpath.normpath(posixpath.join(posixpath.dirname(page.src_uri), unquote(parts.path)))


def _files(name: str, root: Path, config: MkDocsConfig) -> Iterator[File]:
    """The file of the site for a file of the repository; for a folder, also those of all its files."""
    path = root / name
    if path.is_dir():
        inside = sorted(one.name for one in path.iterdir() if one.is_file())
        yield _shown(name, f"{name}/index.html", _list(name, inside), config)
        for one in inside:
            yield from _files(f"{name}/{one}", root, config)
    elif path.suffix == ".md":
        # the page of a README is its folder's index; that of the root belongs to docs/index.md
        uri = "README.html" if name == "README.md" else None
        yield File(name, str(root), config.site_dir, False, dest_uri=uri, inclusion=InclusionLevel.NOT_IN_NAV)
    elif path.suffix == _NOTEBOOK:
        yield File.generated(config, f"{name}.md", content=_notebook(path), inclusion=InclusionLevel.NOT_IN_NAV)
    elif path.suffix in AS_THEY_ARE:
        yield File(name, str(root), config.site_dir, False)
    else:
        yield _shown(name, f"{name}.html", _source(name, path.read_text(encoding="utf-8")), config)


def _shown(name: str, uri: str, text: str, config: MkDocsConfig) -> File:
    file = File.generated(config, name, content=text, inclusion=InclusionLevel.NOT_IN_NAV)
    file.dest_uri = uri
    return file


def _list(name: str, inside: list[str]) -> str:
    rows = "".join(f'<li><a href="{_address(one)}">{html.escape(one)}</a></li>' for one in inside)
    return f'<!doctype html><meta charset="utf-8"><title>{name}</title><h2>{name}</h2><ul>{rows}</ul>'


def _address(name: str) -> str:
    """Where a file of a folder is, from the list of that folder."""
    if name == "README.md":
        return "README.html"
    return name if Path(name).suffix in AS_THEY_ARE else f"{name}.html"


def _source(name: str, text: str) -> str:
    try:
        lexer = get_lexer_for_filename(name)
    except ClassNotFound:
        lexer = TextLexer()
    return highlight(text, lexer, HtmlFormatter(full=True, title=name, linenos="inline", lineanchors="line"))


def _notebook(path: Path) -> str:
    """A notebook as Markdown: texts, code, and what was printed and drawn."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        parts += [_output(output) for output in cell.get("outputs", ())]
    return "\n\n".join(parts) + "\n"


def _output(output: dict[str, Any]) -> str:
    if "text" in output:
        return f"```text\n{''.join(output['text']).rstrip()}\n```"
    data = output["data"]
    if "image/png" in data:
        return f'<img alt="what the cell draws" src="data:image/png;base64,{data["image/png"].strip()}">'
    if "image/svg+xml" in data:
        drawn = base64.b64encode("".join(data["image/svg+xml"]).encode()).decode()
        return f'<img alt="what the cell draws" src="data:image/svg+xml;base64,{drawn}">'
    return f"```text\n{''.join(data['text/plain']).rstrip()}\n```"
