"""What it means that a page shows what a command prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from pages import agree, blocks_of, links_of, tilewright_commands, walk

PAGE = """# A page with a [link](other.md) and a ![picture](pictures/x.svg)

<!-- file: answer.py -->
```python
print(6 * 7)  # [no link](nowhere.md)
```

```sh
# the file of above
python answer.py
tilewright show \\
  weight-stationary > shown.txt
```

```text
42
```

<!-- fails -->
```sh
tilewright show nonsense
```

<!-- not run -->
```sh
python -c "raise SystemExit(3)"
```

```python
answer = 42
```

```python
print(answer)
```

```text
42
```
"""


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "page.md"
    path.write_text(PAGE, encoding="utf-8")
    return path


def test_a_page_is_walked(page: Path, tmp_path: Path) -> None:
    walk(page)
    assert (tmp_path / "answer.py").exists()
    assert "weight-stationary" in (tmp_path / "shown.txt").read_text()


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("```text\n42", "```text\n43", "out of date"),
        ("print(answer)", "print(answer + 1)", "out of date"),
        ("<!-- fails -->\n", "", "exit code 2"),
        ("show nonsense", "show eyeriss", "exit code 0"),
        ("<!-- not run -->\n", "", "exit code 3"),
    ],
)
def test_a_page_that_is_wrong_is_found(page: Path, old: str, new: str, complaint: str) -> None:
    page.write_text(PAGE.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(AssertionError, match=complaint):
        walk(page)


def test_blocks_know_their_lines(page: Path) -> None:
    first, second, *_ = blocks_of(page)
    assert (first.file, first.line, second.line) == ("answer.py", 3, 8)
    assert tilewright_commands(blocks_of(page))[0] == ["show", "weight-stationary", ">", "shown.txt"]


def test_links_are_found_outside_code(page: Path) -> None:
    assert list(links_of(page)) == ["other.md", "pictures/x.svg"]


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        ("a\n...\nd\n", "a\nb\nc\nd\n", True),
        ("a\n...\n", "a\n", True),
        ("...\nb\n", "a\nc\n", False),
        ("a\n", "a\nb\n", False),
        ("a\n  Time   1 s\n", "a\n  Time   2 s\n", True),
        ("a.c\n", "abc\n", False),
        ("a ...\nd\n", "a b c\nd\n", True),
        ("a ...\nd\n", "a b\nc\nd\n", False),
    ],
)
def test_dots_stand_for_any_lines(expected: str, printed: str, same: bool) -> None:
    assert agree(expected, printed) is same
