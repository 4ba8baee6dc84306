"""What tests of pages in a browser share: sizes of screens, and what is asked of a page."""

from __future__ import annotations

from typing import Any

import pytest

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE = 600_000  # milliseconds: whether something comes is asked here, not how soon
# What a page makes when a section is opened comes after the click, on a busy machine long after: here always late, so
# that a test that does not wait for it fails every time.
LATE_TOGGLES = """document.addEventListener("toggle", (event) => {
  if (event.late) return;
  event.stopImmediatePropagation();
  const later = Object.assign(new Event("toggle"), { late: true });
  setTimeout(() => event.target.dispatchEvent(later), 150);
}, true);"""
PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1440, "height": 900}

_SEEN = """(selectors) => selectors.filter((selector) => {
  const element = document.querySelector(selector);
  if (!element) return true;
  const box = element.getBoundingClientRect();
  const inside = box.width > 0 && box.top >= 0 && box.left >= 0 &&
    box.bottom <= window.innerHeight && box.right <= document.documentElement.clientWidth;
  const top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
  return !(inside && top && (element.contains(top) || top.contains(element)));
})"""


def unfold(page: Any, selector: str) -> Any:
    """Open a section, wait for what is made then, and return it."""
    page.locator(f"{selector} summary").click()
    page.locator(f"{selector}[open] .body > *").first.wait_for(state="attached")
    return page.locator(selector)


def not_seen(page: Any, selectors: list[str]) -> list[str]:
    """Return which of these are not wholly on the screen as it is, or are covered."""
    return page.evaluate(_SEEN, selectors)


def top_of_board(count: int, *, sure: bool = True) -> list[str]:
    """Return what the first screen must show: the verdict, and of the first so many place, name, score and truth."""
    parts = ("td.place", "th.who bdi", "td.score", *(("td.truly",) if sure else ()))
    rows = (f"#board tbody tr:nth-child({row})" for row in range(1, count + 1))
    return [".headline", *(f"{row} {part}" for row in rows for part in parts)]


_CROWDED = """() => {
  const wrong = [];
  const corners = (text) => {
    const box = text.getBBox(), matrix = text.getScreenCTM();
    const at = (x, y) => new DOMPoint(x, y).matrixTransform(matrix);
    // A tenth of its height above and below a text is empty.
    const [left, right, top, bottom] = [box.x, box.x + box.width, box.y + 0.1 * box.height, box.y + 0.9 * box.height];
    return [at(left, top), at(right, top), at(right, bottom), at(left, bottom)];
  };
  const along = (shape, x, y) => shape.map((corner) => corner.x * x + corner.y * y);
  const parts = (one, two, x, y) => Math.min(Math.max(...along(one, x, y)), Math.max(...along(two, x, y))) -
    Math.max(Math.min(...along(one, x, y)), Math.min(...along(two, x, y))) < 0.5;
  const apart = (one, two) => [one, two].some((shape) => [0, 1].some((side) => {
    const x = shape[side + 1].x - shape[side].x, y = shape[side + 1].y - shape[side].y, length = Math.hypot(x, y) || 1;
    return parts(one, two, x / length, y / length);
  }));
  for (const hidden of document.querySelectorAll("#figures figure[hidden]")) hidden.hidden = false;
  for (const closed of document.querySelectorAll("#pictures details")) closed.open = true;
  for (const svg of document.querySelectorAll(".plot > svg")) {
    const edge = svg.getBoundingClientRect(), where = svg.closest("[id]").id;
    const texts = [...svg.querySelectorAll("text")].filter((text) => text.textContent.trim())
      .map((text) => [text.textContent, corners(text)]);
    texts.forEach(([words, shape], index) => {
      const out = ({ x, y }) => x < edge.left - 2 || x > edge.right + 2 || y < edge.top - 2 || y > edge.bottom + 2;
      if (shape.some(out)) wrong.push(`${where}: ${words} is cut`);
      for (const [other, place] of texts.slice(index + 1)) {
        if (!apart(shape, place)) wrong.push(`${where}: ${words} lies on ${other}`);
      }
    });
  }
  return wrong;
}"""


def crowded(page: Any) -> list[str]:
    """Return which texts of figures and pictures lie upon one another, or reach out of theirs; all are opened."""
    return page.evaluate(_CROWDED)


def cut_columns(page: Any) -> list[str]:
    """Return headings of the leaderboard that stand partly inside it, and partly not."""
    script = """(all) => { const edge = all[0].closest(".scroll").getBoundingClientRect().right;
      return all.filter((head) => head.getBoundingClientRect().right > edge + 1).map((head) => head.innerText); }"""
    return page.locator("#board thead th").evaluate_all(script)


def too_wide(page: Any) -> bool:
    """Return whether a page scrolls sideways."""
    return page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")


def overlapping(page: Any, selector: str) -> list[str]:
    """Return texts of elements that lie upon one another, though neither is inside the other."""
    script = """(all) => {
      const shown = all.map((one) => [one, one.getBoundingClientRect()]).filter(([, box]) => box.width && box.height);
      const wrong = [];
      shown.forEach(([one, a], index) => shown.slice(index + 1).forEach(([two, b]) => {
        const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const along = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        const apart = across <= 1 || along <= 1 || one.contains(two) || two.contains(one);
        if (!apart) wrong.push(`${one.textContent} | ${two.textContent}`);
      }));
      return wrong;
    }"""
    return page.locator(selector).evaluate_all(script)


def names_on(page: Any) -> list[str]:
    """Return the names on the leaderboard, as they are shown."""
    return page.locator("#board tbody tr:visible th[scope=row] bdi").all_inner_texts()


def serious(page: Any) -> list[tuple[str, str, list[str]]]:
    """Return what axe-core holds against a page that is serious or worse."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is not installed")
    violations = axe.Axe().run(page).response["violations"]
    return [
        (rule["id"], rule["impact"], [node["html"][:160] for node in rule["nodes"][:3]])
        for rule in violations
        if rule["impact"] in ("serious", "critical")
    ]
