"""The page in a real browser: needs Chromium (`apt install chromium`) and the extra `browser`; skipped without."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tilewright.report import web
from tilewright.report.comparisons import html
from tilewright.report.comparisons.comparison import Comparison
from tilewright.report.comparisons.html import html_page
from tilewright.report.web import Page, page_html

sync_api = pytest.importorskip("playwright.sync_api", reason="the extra `browser` is not installed")
STATIC = {package: Path(package.__file__ or "").parent / "static" for package in (html, web)}
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


def opened(browser: Any, comparison: Comparison, folder: Path, **options: Any) -> tuple[Any, list[str]]:
    """The page, opened offline from a file, and everything that it complained about."""
    path = folder / "index.html"
    path.write_text(html_page(comparison), encoding="utf-8")
    page = browser.new_context(offline=True, **options).new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready=yes]")
    return page, complaints


def test_it_opens_filters_and_sorts(browser: Any, comparison: Comparison, tmp_path: Path) -> None:
    page, complaints = opened(browser, comparison, tmp_path)
    rows = page.locator("#summary-table tbody tr")
    assert rows.count() == 6
    page.get_by_label("tpu_v1", exact=True).uncheck()
    assert rows.count() == 3
    assert page.locator("#shown").inner_text() == "3 of 6 combinations shown"
    page.get_by_label("tpu_v1", exact=True).check()
    page.locator("#summary-table").get_by_role("button", name="energy", exact=True).click()
    heading = page.locator("#summary-table th", has_text="energy")
    assert heading.get_attribute("aria-sort") == "ascending"
    best = min(s.energy_pj or 0.0 for s in comparison.summaries())
    (arch,) = {s.arch for s in comparison.summaries() if s.energy_pj == best}
    assert arch in rows.first.inner_text()
    assert complaints == []


def test_a_bar_opens_its_mapping(browser: Any, comparison: Comparison, tmp_path: Path) -> None:
    page, complaints = opened(browser, comparison, tmp_path)
    row = comparison.of("tiny", "eyeriss", "weight-stationary")[2]
    page.get_by_role("button", name=f"{row.layer}, weight-stationary:").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("dialog h2").inner_text() == f"{row.layer} of tiny on eyeriss, weight-stationary"
    assert page.locator("#details-body pre").first.inner_text() == row.nest
    page.wait_for_function("document.querySelector('dialog .drawing')?.shadowRoot?.querySelector('svg')")
    drawn = page.evaluate("document.querySelector('dialog .drawing').shadowRoot.querySelector('title').textContent")
    assert drawn == f"Mapping of {row.problem.name} on eyeriss"
    assert row.command in page.locator("dialog .command").inner_text()
    assert "proven optimal" in page.locator("dialog dl").first.inner_text()
    page.keyboard.press("Escape")
    assert not page.locator("dialog").is_visible()
    assert complaints == []


def test_layers_have_a_table_of_their_best_dataflows(browser: Any, comparison: Comparison, tmp_path: Path) -> None:
    page, complaints = opened(browser, comparison, tmp_path)
    rows = page.locator("#best-table tbody tr")
    assert rows.count() == len(comparison.of("tiny", "eyeriss", "free"))
    first = comparison.of("tiny", "eyeriss", "weight-stationary")[0]
    rows.first.get_by_role("button").click()
    assert page.locator("dialog h2").inner_text().startswith(f"{first.layer} of tiny on eyeriss, ")
    assert complaints == []


def test_no_dot_is_above_the_roof(browser: Any) -> None:
    corners = "[[0, 100], [50, 20], [200, 20]]"
    scripts = ("format.js", "plots.js"), "scatter.js"
    source = "".join((STATIC[web] / name).read_text(encoding="utf-8") for name in scripts[0])
    source += (STATIC[html] / scripts[1]).read_text(encoding="utf-8")
    page = browser.new_page()
    page.set_content('<main></main><script id="data" type="application/json">{}</script>')
    points = "Array.from({ length: 40 }, () => [30, heightAt(corners, 30)]).concat(Array(40).fill([120, 20]))"
    body = f"const corners = {corners}; const found = dodged({points}, 8, (x) => heightAt(corners, x));"
    body += "return found.map(([x, y]) => y - heightAt(corners, x));"
    below = page.evaluate("source => new Function(source)()", f"{source}\n{body}")
    assert len(below) == 80
    assert min(below) > -1e-9
    assert len({round(one, 3) for one in below}) > 5  # and they have moved apart


@pytest.mark.parametrize(("low", "high"), [(1, 1e6), (3, 80), (2.1, 9.7), (4.01, 4.9), (0.72, 0.73), (1.5e-3, 2e-3)])
def test_an_axis_has_three_ticks_or_more(browser: Any, low: float, high: float) -> None:
    found = evaluated(browser, web, "plots.js", f"[ticks({low}, {high}), evenTicks({low}, {high}, 5)]")
    for ticks in found:
        assert len(ticks) >= 3
        assert all(low * (1 - 1e-6) <= tick <= high * (1 + 1e-6) for tick in ticks)


def test_a_few_far_factors_do_not_squeeze_the_others(browser: Any) -> None:
    usual = [1 + 0.01 * i for i in range(20)]
    ends = evaluated(browser, html, "finding.js", f"[cap({usual}), cap({[*usual, 40.0, 900.0]}), cap({[1, 900.0]})]")
    assert ends[0] == pytest.approx(1.19)
    assert 1.19 < ends[1] < 1.5
    assert ends[2] == 900


def test_what_has_no_mapping_opens_its_reason(browser: Any, with_a_gap: Comparison, tmp_path: Path) -> None:
    page, complaints = opened(browser, with_a_gap, tmp_path)
    page.locator(".bar.none").click()
    assert "no mapping of" in page.locator("dialog pre").inner_text()
    assert complaints == []


def test_dots_are_reached_by_keyboard_and_named(browser: Any, comparison: Comparison, tmp_path: Path) -> None:
    page, complaints = opened(browser, comparison, tmp_path)
    dot = page.locator("#roofline > svg .dot").first
    assert "MAC per byte" in dot.get_attribute("aria-label")
    dot.focus()
    page.keyboard.press("Enter")
    assert page.locator("dialog").is_visible()
    assert complaints == []


def test_the_tab_key_soon_reaches_a_dialog(browser: Any, comparison: Comparison, tmp_path: Path) -> None:
    page, complaints = opened(browser, comparison, tmp_path)
    for place in page.locator(".plot > svg, #bars, #best-table tbody").all():
        stops = place.locator(".dot, button").evaluate_all("dots => dots.map((dot) => dot.tabIndex)")
        assert sorted(stops) == [*[-1] * (len(stops) - 1), 0]
    page.locator("#finding > svg .dot").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")  # to the layers of that dot
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    first, second, *_ = page.locator("#bars .bar").evaluate_all("bars => bars.map((bar) => bar.dataset.detail)")
    assert first != second
    assert page.locator(".chosen").first.get_attribute("data-detail") == second
    assert page.locator("dialog").is_visible()
    assert complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone(browser: Any, comparison: Comparison, tmp_path: Path, scheme: str) -> None:
    size = {"width": 360, "height": 740}
    long = replace(comparison, command=f"tilewright compare --networks {'network,' * 40}")
    page, complaints = opened(browser, long, tmp_path, viewport=size, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    paper, ink = (page.evaluate(f"getComputedStyle(document.body).{name}") for name in ("backgroundColor", "color"))
    assert (brightness(paper) > brightness(ink)) == (scheme == "light")
    assert complaints == []


def evaluated(browser: Any, package: ModuleType, script: str, expression: str) -> Any:
    """What an expression is in one of the page's scripts."""
    source = (STATIC[package] / script).read_text(encoding="utf-8")
    page = browser.new_page()
    page.set_content('<script id="data" type="application/json">{}</script>')
    return page.evaluate("source => new Function(source)()", f"{source}\nreturn {expression};")


def test_names_run_no_scripts(browser: Any, comparison: Comparison, tmp_path: Path) -> None:
    hostile = "</title></script><script>alert(1)</script><img src=x onerror=alert(2)>"
    rows = tuple(replace(row, network=hostile, layer=hostile) for row in comparison.rows)
    page, complaints = opened(browser, replace(comparison, rows=rows), tmp_path)
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    page.reload()
    page.wait_for_selector("html[data-ready=yes]")
    assert hostile in page.locator("#summary-table").inner_text()
    page.set_content(page_html(Page(hostile, findings=[hostile])))
    assert page.locator("h1").inner_text() == hostile
    assert complaints == []


def test_numbers_keep_their_exponents(browser: Any) -> None:
    shown = evaluated(
        browser,
        web,
        "format.js",
        "[8.452e10, 8.01e10, 1e10, 2e20, 12.5, 1e-10, 0.5, 1234].map((one) => significant(one))",
    )
    assert shown == ["8.452e10", "8.01e10", "1e10", "2e20", "12.5", "1e-10", "0.5", "1,234"]


def test_labels_of_a_narrow_picture_are_whole(browser: Any, comparison: Comparison, tmp_path: Path) -> None:
    lines = evaluated(browser, html, "finding.js", "fitting(['mobilenet_v2', 'on nvdla_small'], 148)")
    assert lines == ["mobilenet_v2", "on nvdla_small"]
    page, _ = opened(browser, comparison, tmp_path, viewport={"width": 390, "height": 740})
    assert "…" not in page.locator("#finding").inner_text()


def brightness(colour: str) -> int:
    return sum(int(part) for part in colour.strip("rgb()").split(","))
