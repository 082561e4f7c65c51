"""YAML files of layers and cascades: plain ones, of a size that anybody writes, without keys that are given twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..inputs.plain_yaml import LARGEST_FILE, check_plain
from ..ir import ProblemError
from ..ir.files import bytes_of, missing_file


def read_yaml(file: Path, where: str, what: str, missing: str | None = None) -> object:
    """What a YAML file holds; ProblemError says what cannot be read.

    where    how messages call the file
    what     is expected, in the words of messages
    missing  what to try where there is no such file
    """
    # The parser takes longer to import than most layers take to build.
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        text = _read_text(file, where, what)
        check_plain(text, where, what, ProblemError, loader)
        parser = loader(text)
        try:
            root = parser.get_single_node()
            _refuse_second_keys(root, where)
            return parser.construct_document(root) if root is not None else None
        finally:
            parser.dispose()
    except FileNotFoundError:
        raise ProblemError(missing_file(file), where=where, hint=missing) from None
    except (OSError, ValueError) as error:
        raise ProblemError(f"cannot be read: {error}", where=where) from error
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ProblemError(f"not valid YAML: {error.problem}", where=f"{where}{line}") from error
    except yaml.YAMLError as error:
        raise ProblemError(f"not valid YAML: {error}", where=where) from error


def _read_text(file: Path, where: str, what: str) -> str:
    data = bytes_of(file, LARGEST_FILE)
    if len(data) > LARGEST_FILE:
        raise ProblemError(f"larger than 1 MiB, expected {what}", where=where)
    return data.decode("utf-8").removeprefix("\ufeff")


def _refuse_second_keys(node: Any, where: str) -> None:
    """ProblemError for a key that is given twice, or that would merge other ones in: the parser takes the last one."""
    children = getattr(node, "value", ())
    seen: set[str] = set()
    for child in children if not isinstance(children, str) else ():
        key, value = child if isinstance(child, tuple) else (None, child)
        name = str(key.value) if key is not None else ""
        if key is not None and (name in seen or name == "<<"):
            twice = "is not allowed" if name == "<<" else "is given twice"
            raise ProblemError(f"the key {name[:60]!r} {twice}", where=f"{where}, line {key.start_mark.line + 1}")
        seen.add(name)
        _refuse_second_keys(value, where)
