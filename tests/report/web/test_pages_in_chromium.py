"""Pages in a real browser: needs Chromium (`apt install chromium`) and the extra `browser`; skipped without."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tilewright as tw
from tilewright.report.explorations.html_page import exploration_html
from tilewright.report.explorations.page import asked_rows

sync_api = pytest.importorskip("playwright.sync_api", reason="the extra `browser` is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
LAYERS = """
network: tiny
layers:
  - {name: a, op: gemm, M: 8, N: 16, K: 16, weight: true}
  - {name: b, op: gemm, M: 8, N: 8, K: 16, weight: true}
graph:
  - a
  - b
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    (folder / "tiny.yaml").write_text(LAYERS)
    sweeps = ["array=2x2,4x4,8x8", "GLB.size=4 KiB,8 KiB,64 KiB"]
    explored = tw.explore(folder / "tiny.yaml", "three_level", sweeps, tiling="perfect", workers=1, store=None)
    (folder / "explore.html").write_text(exploration_html(explored, asked_rows(explored)), encoding="utf-8")
    tw.compile(folder / "tiny.yaml", "three_level", tiling="perfect", workers=1, store=None).save(folder / "plan")
    return {"explore": folder / "explore.html", "plan": folder / "plan" / "network.html"}


def opened(browser: Any, path: Path, **options: Any) -> tuple[Any, list[str]]:
    """The page, opened offline from a file, and everything that it complained about."""
    page = browser.new_context(offline=True, **options).new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready=yes]")
    return page, complaints


def test_a_dot_and_its_row_are_one_choice(browser: Any, pages: dict[str, Path]) -> None:
    page, complaints = opened(browser, pages["explore"])
    dots = page.locator(".plot .dot")
    assert dots.count() == 9
    page.locator(".plot .dot[aria-label^='array=2x2, GLB.size=4 KiB']").focus()
    page.keyboard.press("Enter")
    assert page.locator("dialog h2").inner_text().startswith("tiny at array=2x2, GLB.size=4 KiB")
    assert "Find it again" in page.locator("dialog").inner_text()
    page.wait_for_function("document.querySelector('dialog .drawing')?.shadowRoot?.querySelector('svg')")
    page.keyboard.press("Escape")
    chosen = page.locator("tr.chosen")
    assert chosen.count() == 1
    assert "4 KiB" in chosen.inner_text()
    assert page.locator(".dot.chosen").count() == 1
    assert complaints == []


def test_tables_sort_by_what_units_mean_and_filter(browser: Any, pages: dict[str, Path]) -> None:
    page, complaints = opened(browser, pages["explore"])
    table = page.locator("table.sorts").first
    table.get_by_role("button", name="on chip", exact=True).click()
    column = [cell.split("\t") for cell in table.locator("tbody tr").all_inner_texts()]
    scale = {"B": 1, "KiB": 1024, "MiB": 1024**2}
    sizes = [float(cells[3].split()[0].replace(",", "")) * scale[cells[3].split()[1]] for cells in column]
    assert sizes == sorted(sizes)
    page.get_by_placeholder("Filter rows").first.fill("8x8")
    assert table.locator("tbody tr:visible").count() == 3
    assert complaints == []


def test_the_timeline_zooms_and_leads_to_the_groups(browser: Any, pages: dict[str, Path]) -> None:
    page, complaints = opened(browser, pages["plan"])
    wide = page.locator(".lanes svg").first
    before = float(wide.get_attribute("width"))
    page.get_by_role("button", name="Zoom in").click()
    assert float(wide.get_attribute("width")) == 2 * before
    page.get_by_role("button", name="Show the whole run").click()
    assert float(wide.get_attribute("width")) == before
    page.locator(".lanes [role=button]").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.locator("tr.chosen + tr.unfolded").count() == 1
    assert page.locator("tr.chosen").inner_text().split()[0] == "2"
    page.wait_for_function("document.querySelector('.unfolded .drawing')?.shadowRoot?.querySelector('svg')")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # "Show in the timeline"
    assert page.evaluate("document.activeElement.dataset.detail") == "group-2"
    assert complaints == []


def test_groups_sort_filter_and_unfold_by_keyboard(browser: Any, pages: dict[str, Path]) -> None:
    page, complaints = opened(browser, pages["plan"])
    table = page.locator("table[data-title=groups]")
    table.get_by_role("button", name="energy", exact=True).click()
    energies = [float(row.split("\t")[3].split()[0]) for row in table.locator("tbody tr").all_inner_texts()]
    assert energies == sorted(energies)
    table.locator("tbody button").first.focus()
    page.keyboard.press("Enter")
    told = table.locator("tr.unfolded").inner_text()
    assert "Certificate" in told
    assert "Words moved" in told
    names = table.locator("tr[data-of]").all_inner_texts()
    table.locator("th[aria-sort=ascending] button").click()
    assert table.locator("tr[data-of]").all_inner_texts() == names[::-1]
    assert (
        table.locator("tr.unfolded").evaluate("row => row.previousElementSibling.cells[0].innerText")
        == names[0].split()[0]
    )
    page.keyboard.press("Tab")
    page.locator("table.unfolds [aria-expanded=true]").focus()
    page.keyboard.press("Enter")
    assert table.locator("tr.unfolded").count() == 0
    page.get_by_role("button", name="Unfold all").click()
    assert table.locator("tr.unfolded").count() == len(names)
    assert page.locator("dialog").is_hidden()
    assert complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["explore", "plan"])
def test_pages_fit_a_phone(browser: Any, pages: dict[str, Path], name: str, scheme: str) -> None:
    size = {"width": 390, "height": 740}
    page, complaints = opened(browser, pages[name], viewport=size, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for wide in page.locator(".wide.more").all():
        assert wide.get_attribute("tabindex") == "0"  # what is hidden is reached by keyboard too
    assert complaints == []
