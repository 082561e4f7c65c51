// Tables that sort by a heading, filter by a text, and say what stands beyond a narrow page.

const LONG = 8, TALL = 40, LONG_TEXT = 36; // rows from which on a table has a filter, or scrolls; letters from which on lines break
const PREFIX = { "": 1, p: 1e-12, n: 1e-9, "µ": 1e-6, u: 1e-6, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, Ki: 1024, Mi: 1024 ** 2, Gi: 1024 ** 3 };

/** What a cell sorts by: its own key, the number with unit that it begins with, or its words; nothing comes last. */
function sortKey(cell) {
  const text = (cell.dataset.key ?? cell.textContent).trim();
  if (text === "" || text === "-" || text === "–") return null;
  const match = /^([-+]?[\d,]*\.?\d+(?:e[-+]?\d+)?)\s*(Ki|Mi|Gi|[pnµumkMGT])?([A-Za-z%×]|$|\s|\()/u.exec(text);
  if (!match) return text;
  const number = Number(match[1].replaceAll(",", ""));
  const unit = match[2] && /[A-Za-z]/.test(match[3]) ? match[2] : "";
  return Number.isNaN(number) ? text : number * PREFIX[unit];
}

function compareKeys(a, b, sign) {
  if (a == null || b == null) return (a == null) - (b == null);
  if (typeof a === "number" && typeof b === "number") return sign * (a - b);
  return sign * String(a).localeCompare(String(b), "en", { numeric: true });
}

/** The rows of a table without what has unfolded below them. */
const rowsOf = (table) => [...table.tBodies[0].rows].filter((row) => !row.classList.contains("unfolded"));

function sortRows(table, column, down) {
  const keys = new Map(rowsOf(table).map((row) => [row, sortKey(row.cells[column])]));
  const sorted = [...keys.keys()].sort((a, b) => compareKeys(keys.get(a), keys.get(b), down ? -1 : 1));
  table.tBodies[0].append(...sorted.flatMap((row) => [row, unfolded(row)].filter(Boolean)));
  oneStop(table.tBodies[0]);
  [...table.tHead.rows[0].cells].forEach((cell, i) => cell.setAttribute("aria-sort", i !== column ? "none" : down ? "descending" : "ascending"));
  Object.assign(table.dataset, { column, down: down ? "yes" : "" });
}

/** Cells with long texts break their lines. */
function breaking(table) {
  for (const cell of table.querySelectorAll("tbody td.text")) cell.classList.toggle("long", cell.textContent.length > LONG_TEXT);
}

/** Make buttons of the headings; a table that was sorted before it was drawn anew is sorted again. */
function sortable(table) {
  if (!table.tHead || !table.tBodies[0]) return;
  breaking(table);
  [...table.tHead.rows[0].cells].forEach((cell, i) => {
    if (!cell.textContent || cell.querySelector("button")) return;
    const button = element("button", { type: "button", onclick: () => sortRows(table, i, cell.getAttribute("aria-sort") === "ascending") });
    button.append(...cell.childNodes);
    cell.replaceChildren(button);
    cell.setAttribute("aria-sort", "none");
  });
  if (table.dataset.column) sortRows(table, Number(table.dataset.column), Boolean(table.dataset.down));
}

/** A line above a long table: rows that contain a text, and all that unfolds. */
function filterable(table) {
  const rows = () => rowsOf(table), unfolds = table.classList.contains("unfolds");
  if (rows().length < LONG && !unfolds) return;
  const count = element("span", { class: "quiet", role: "status" });
  const box = element("input", { type: "search", placeholder: "Filter rows", "aria-label": `Filter rows of ${table.dataset.title ?? "the table"}` });
  box.addEventListener("input", () => {
    const wanted = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows()) row.hidden = !wanted.every((word) => row.textContent.toLowerCase().includes(word));
    count.textContent = wanted.length ? ` ${rows().filter((row) => !row.hidden).length} of ${rows().length} rows` : "";
    oneStop(table.tBodies[0]);
  });
  const all = (text, isOpen) => element("button", { type: "button", onclick: () => rows().filter((row) => row.dataset.of && !row.hidden).forEach((row) => unfold(row, isOpen)) }, text);
  table.closest(".wide").before(element("p", { class: "filter" }, box, ...(unfolds ? [all("Unfold all", true), all("Fold all", false)] : []), count));
  table.closest(".wide").classList.toggle("tall", rows().length > TALL);
}

/** A table or picture that is wider than the page scrolls by keyboard too, and says so. */
function scrolling(wide) {
  const isWide = wide.scrollWidth > wide.clientWidth + 1;
  wide.classList.toggle("more", isWide);
  if (isWide) Object.entries({ tabindex: 0, role: "region", "aria-label": "Wider than the page: scroll sideways" }).forEach(([name, value]) => wide.setAttribute(name, value));
}
