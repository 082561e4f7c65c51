"""The house rules: which folder may import which, docstrings, and no paths of anybody's machine."""

from __future__ import annotations

import ast
import gc
import re
import subprocess
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

MAY_IMPORT = {
    "ir": set(),
    "inputs": {"ir"},
    "workloads": {"ir", "inputs"},
    "arch": {"ir", "inputs"},
    "cost_models": {"ir", "arch"},
    "mapper": {"ir", "inputs", "workloads", "arch", "cost_models"},
    "run": {"ir", "inputs", "workloads", "arch", "cost_models", "mapper"},
    "report": {"ir", "inputs", "workloads", "arch", "cost_models", "mapper", "run"},
    "api": {"ir", "inputs", "workloads", "arch", "cost_models", "mapper", "run", "report"},
}
MODULES = sorted(path for folder in MAY_IMPORT for path in (ROOT / folder).rglob("*.py"))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """All that stands in a module. (Walking a tree takes as long as reading it.)"""
    return [*ast.walk(tree_of(path))]


@pytest.fixture(autouse=True, scope="module")
def _no_garbage() -> Iterator[None]:
    """Trees have no circles, and to look for some takes longer than to read them all."""
    gc.disable()
    yield
    gc.enable()
    tree_of.cache_clear()
    nodes_of.cache_clear()


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def import_name(path: Path) -> list[str]:
    """The dotted name under which a module is imported, in parts: `api/` is the package `tilewright` itself."""
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    if parts[0] == "api":
        parts.pop(0)
    if parts[-1:] == ["__init__"]:
        parts.pop()
    return ["tilewright", *parts]


def package_of(path: Path) -> list[str]:
    """What `.` stands for in a module."""
    return import_name(path) if path.name == "__init__.py" else import_name(path)[:-1]


@cache
def imports_of(path: Path) -> list[list[str]]:
    return [*imported_names(nodes_of(path), package_of(path))]


def imported_names(nodes: Iterable[ast.AST], package: list[str]) -> Iterator[list[str]]:
    """Everything that a module imports, anywhere in it, as absolute dotted names; `package` is what `.` stands for."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = node.module.split(".") if node.module else []
            yield from ([*base, *module, alias.name] for alias in node.names)


def folders_of(names: Iterable[list[str]]) -> set[str]:
    """Our folders among imported names; a name of `tilewright` itself that is no folder belongs to `api`."""
    ours = [name for name in names if name[0] == "tilewright"]
    return {name[1] if len(name) > 1 and name[1] in MAY_IMPORT else "api" for name in ours}


def test_imports_point_one_way() -> None:
    unwanted = {}
    for path in MODULES:
        folder = path.relative_to(ROOT).parts[0]
        unwanted[name_of(path)] = folders_of(imports_of(path)) - MAY_IMPORT[folder] - {folder}
    assert not {name: folders for name, folders in unwanted.items() if folders}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from ..ir import Loop", {"ir"}),
        ("from .. import ir, report", {"ir", "report"}),
        ("from ..ir.nest import Loop", {"ir"}),
        ("from .emit import text", {"mapper"}),
        ("from . import orders", {"mapper"}),
        ("import tilewright.report.parts.text as text", {"report"}),
        ("from tilewright import api", {"api"}),
        ("from tilewright import search", {"api"}),
        ("import tilewright", {"api"}),
        ("def late():\n    from ..cli import main", {"api"}),
        ("import numpy\nfrom pathlib import Path", set()),
    ],
)
def test_imports_are_resolved(source: str, expected: set[str]) -> None:
    assert folders_of(imported_names(ast.walk(ast.parse(source)), ["tilewright", "mapper"])) == expected


def modules_imported(path: Path, known: Collection[str]) -> set[str]:
    """Our modules that a module imports, anywhere in it; of a name that is taken from a module, that module."""
    found = set()
    for name in imports_of(path):
        module = next((part for part in (".".join(name), ".".join(name[:-1])) if part in known), None)
        found |= {module} if module else set()
    return found - {".".join(import_name(path))}


def circle(edges: Mapping[str, Collection[str]]) -> list[str]:
    """Nodes of which each leads to the next one, and the last one is the first again; none if there is no circle."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@cache
def module_edges() -> dict[str, set[str]]:
    known = {".".join(import_name(path)) for path in MODULES}
    return {".".join(import_name(path)): modules_imported(path, known) for path in MODULES}


def test_modules_do_not_import_each_other_in_circles() -> None:
    """Imports inside functions and those for types alone count as well: two modules that need each other are one."""
    assert not circle(module_edges())


def test_sub_folders_point_one_way() -> None:
    """Of the folders in a folder, none leads to another one and back."""
    for folder in {path.parent for path in MODULES if path.name == "__init__.py"}:
        inside = [place for place in folder.iterdir() if (place / "__init__.py").exists()]
        homes = {".".join(import_name(place / "__init__.py")): place.name for place in inside}
        edges: dict[str, set[str]] = {short: set() for short in homes.values()}
        for module, others in module_edges().items():
            if (place := home(module, homes)) is not None:
                edges[place] |= {found for other in others if (found := home(other, homes))} - {place}
        assert not circle(edges), folder


@pytest.mark.parametrize("folder", ["mapper/exact", "mapper/cascades"])
def test_rooms_of_a_search_point_one_way(folder: str) -> None:
    """Its files and its folders, each folder as a whole: few, and none leads to another one and back."""
    top = ".".join(["tilewright", *folder.split("/"), ""])
    edges: dict[str, set[str]] = {}
    for module, others in module_edges().items():
        if module.startswith(top):
            room = module.removeprefix(top).split(".")[0]
            found = {other.removeprefix(top).split(".")[0] for other in others if other.startswith(top)}
            edges[room] = edges.get(room, set()) | (found - {room})
    assert not circle(edges)
    assert 5 < len(edges) <= 12


def home(module: str, homes: Mapping[str, str]) -> str | None:
    """The folder that a module lies in, by folders' dotted names."""
    return next((short for name, short in homes.items() if f"{module}.".startswith(f"{name}.")), None)


@pytest.mark.parametrize("path", [path for path in MODULES if path.is_relative_to(ROOT / "report")], ids=name_of)
def test_markup_is_made_of_templates_that_escape(path: Path) -> None:
    """HTML and SVG come from `Markup` templates: a text that is put together otherwise would not be escaped."""
    pieces = [
        part.value
        for node in nodes_of(path)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
        if isinstance(part, ast.Constant)
    ]
    assert not [piece for piece in pieces if re.search(r"</?[a-zA-Z!]\w*[ >]", piece)]


def test_circles_are_found() -> None:
    assert {*circle({"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a", "e"], "e": []})} == {"a", "b", "c"}
    assert circle({"a": ["b", "c"], "b": ["c"], "c": []}) == []


def test_no_function_takes_more_than_twelve_parameters() -> None:
    """Options that calls or commands share are declared together (`api/options.py`, `api/cli/groups.py`)."""
    wide = {}
    for path in MODULES:
        for node in nodes_of(path):
            if isinstance(node, ast.FunctionDef):
                given = node.args
                names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
                wide[f"{name_of(path)}: {node.name}"] = len(names) - (names[:1] in (["self"], ["cls"]))
    assert not [name for name, count in wide.items() if count > 12]


def test_a_class_name_has_one_meaning() -> None:
    """What a reader has learned of a name holds wherever it is met again."""
    places: dict[str, list[str]] = {}
    for path in MODULES:
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(name_of(path))
    assert not {name: found for name, found in places.items() if len(found) > 1}


def test_every_folder_is_a_package() -> None:
    listed = {path.relative_to(ROOT).parent.as_posix() for path in MODULES if path.name == "__init__.py"}
    assert listed == {path.relative_to(ROOT).parent.as_posix() for path in MODULES}
    assert listed >= {*MAY_IMPORT, "mapper/emit"}


def files_listed(package: Path) -> list[str]:
    """Files and folders at the beginning of lines of a package's docstring, each with what it is for."""
    text = ast.get_docstring(tree_of(package)) or ""
    return re.findall(r"^([a-z_0-9]+(?:\.py|/)) +\S", text, re.MULTILINE)


def test_a_package_that_lists_its_files_lists_them_all() -> None:
    listing = [path for path in MODULES if path.name == "__init__.py" and len(files_listed(path)) > 1]
    for path in listing:
        files = {file.name for file in path.parent.glob("*.py")} - {"__init__.py"}
        folders = {f"{folder.name}/" for folder in path.parent.iterdir() if folder.is_dir()} - {"__pycache__/"}
        assert sorted(files_listed(path)) == sorted(files | folders), name_of(path)
    assert len(listing) > 10


def test_every_module_says_what_it_is() -> None:
    assert [name_of(path) for path in MODULES if not ast.get_docstring(tree_of(path))] == []


def test_no_file_names_a_machine_path() -> None:
    """Files that git knows, or would add, must make sense on any machine."""
    roots = "|".join(("home", "Users", "root", "tmp", "work", "mnt", "workspace"))
    absolute = re.compile(rf"""(?:^|[\s"'`(=:<>\[])(/(?:{roots})/[\w.-]+)""", re.MULTILINE)
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        names = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    found = []
    for name in filter(None, names):
        path = ROOT / name
        try:
            text = path.read_text()
        except (FileNotFoundError, UnicodeDecodeError):
            continue  # deleted and not yet committed, or a picture
        found += [f"{name}: {match}" for match in absolute.findall(text)]
    assert not found, found


def test_docstrings_of_classes_name_what_there_is() -> None:
    """Lines such as `name  what it is` in the docstring of a class without bases are about its attributes."""
    found = [(path.name, node.name, name) for path in MODULES for node, name in _named_in_classes(path)]
    assert not found


def _named_in_classes(path: Path) -> Iterator[tuple[ast.ClassDef, str]]:
    """Names in docstrings of classes that nothing in the class has."""
    for node in nodes_of(path):
        if not isinstance(node, ast.ClassDef) or node.bases:
            continue
        lines = re.findall(r"^((?:\w+, )*\w+)  +\S", (ast.get_docstring(node) or "").partition("\n\n")[2], re.M)
        said = {name for line in lines for name in line.split(", ")}
        yield from ((node, name) for name in said - (_names_in(node) if said else set()))


def _names_in(node: ast.ClassDef) -> set[str]:
    names = set[str]()
    for part in ast.walk(node):
        match part:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.FunctionDef(name=name):
                names.add(name)
    return names
