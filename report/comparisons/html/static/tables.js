// Tables: networks (sortable), kinds of layers, hybrids.

const SUMMARY_COLUMNS = [
  { head: "network", text: true, key: (s) => s.network },
  { head: "architecture", text: true, key: (s) => s.arch },
  { head: "dataflow", text: true, key: (s) => s.dataflow },
  { head: "energy", key: (s) => s.energy, show: (s) => energy(s.energy) },
  { head: "latency", key: (s) => s.seconds, show: (s) => seconds(s.seconds) },
  { head: `${data.objective.name} (${data.objective.unit})`, key: (s) => s.value, show: (s) => significant(s.value) },
  { head: "proof", text: true, key: (s) => (s.value == null ? null : s.proof) },
  { head: "utilization", key: (s) => s.utilization, show: (s) => percent(s.utilization) },
  { head: "waits for", text: true, key: (s) => waitsFor(s), show: (s) => waitsFor(s) },
  { head: "× free", key: (s) => s.penalty, show: (s) => factor(s.penalty) },
  { head: "× free, layers", key: (s) => s.layerPenalty, show: (s) => factor(s.layerPenalty), partial: true },
];

const NOTABLE = 1.005; // factors below this are called equal

let sorting = { column: null, down: false };

/** What most of a network's time waits for. */
function waitsFor(summary) {
  const found = Object.entries(summary.limits).sort((a, b) => b[1] - a[1]);
  const total = found.reduce((sum, [, amount]) => sum + amount, 0);
  return found.length ? `${found[0][0]} ${percent(found[0][1] / total)}` : "";
}

function drawSummary(summaries, choose) {
  const rows = sorting.column == null ? summaries : [...summaries].sort(order(SUMMARY_COLUMNS[sorting.column]));
  const heads = SUMMARY_COLUMNS.map((column, i) => {
    const state = sorting.column === i ? (sorting.down ? "descending" : "ascending") : "none";
    const sort = () => {
      sorting = { column: i, down: sorting.column === i && !sorting.down };
      drawSummary(summaries, choose);
      byId("summary-table").querySelectorAll("th button")[i].focus();
    };
    return element("th", { class: column.text ? "text" : "", scope: "col", "aria-sort": state },
      element("button", { type: "button", onclick: sort }, column.head));
  });
  byId("summary-table").replaceChildren(element("thead", {}, element("tr", {}, ...heads)),
    element("tbody", {}, ...rows.map((s) => element("tr", {}, ...SUMMARY_COLUMNS.map((column, i) => summaryCell(s, column, i, choose))))));
}

function order(column) {
  const sign = sorting.down ? -1 : 1;
  return (a, b) => {
    const [x, y] = [column.key(a), column.key(b)];
    if (x == null || y == null) return (x == null) - (y == null); // what is missing comes last
    return sign * (typeof x === "string" ? x.localeCompare(y) : x - y);
  };
}

function summaryCell(s, column, index, choose) {
  if (index === 0) {
    const label = `Show the layers of ${s.network} on ${s.arch}`;
    return element("td", { class: "text" }, element("button", { type: "button", "aria-label": label, onclick: () => choose(s) }, s.network));
  }
  if (column.key(s) == null) return element("td", {}, index === 3 && s.missing ? `${s.missing} without mapping` : "");
  return element("td", { class: column.text ? "text" : "" }, column.show ? column.show(s) : column.key(s));
}

function drawKinds(archs, dataflows) {
  const fixed = dataflows.filter((name) => data.winners.some((w) => w.dataflow === name));
  const found = data.winners.filter((w) => archs.includes(w.arch) && fixed.includes(w.dataflow));
  const rows = grouped(found, (w) => `${w.arch}\n${w.kind}`);
  const titles = ["architecture", "kind of layer", "layers", ...fixed, "best"];
  const head = titles.map((name, i) => element("th", { class: i < 2 || i === titles.length - 1 ? "text" : "", scope: "col" }, name));
  byId("kinds-table").replaceChildren(element("thead", {}, element("tr", {}, ...head)),
    element("tbody", {}, ...[...rows.values()].map((group) => kindRow(group, fixed))));
}

function kindRow(group, fixed) {
  const complete = group.filter((w) => w.mapped === w.layers && w.penalty != null);
  const least = Math.min(...complete.map((w) => w.penalty));
  const ties = complete.filter((w) => w.penalty <= least * NOTABLE);
  const same = complete.length > 1 && ties.length === group.length;
  const cells = fixed.map((name) => {
    const w = complete.find((one) => one.dataflow === name);
    return element("td", { class: !same && ties.includes(w) ? "best" : "" }, w ? factor(w.penalty) : "-");
  });
  cells.push(element("td", { class: "text" }, bestText(ties.map((w) => w.dataflow), fixed)));
  const [first] = group;
  return element("tr", {}, element("td", { class: "text" }, first.arch), element("td", { class: "text" }, first.kind),
    element("td", {}, first.layers), ...cells);
}

/** As `best_text` in Python: a name, those that tie, or that there is nothing to choose. */
function bestText(ties, compared) {
  const others = compared.filter((name) => !ties.includes(name));
  if (compared.length > 1 && !others.length) return "makes no difference";
  return others.length === 1 && ties.length > 1 ? `all but ${others[0]}` : ties.join(" = ");
}

function drawHybrids(networks, archs) {
  const heads = ["network", "architecture", "best single dataflow", "single / best for each", "best for each / free", "layers by dataflow"];
  const rows = data.hybrids.filter((h) => networks.includes(h.network) && archs.includes(h.arch));
  const words = (h) => Object.entries(h.choice).map(([name, n]) => `${name} ${n}`).join(", ");
  byId("hybrids-table").replaceChildren(
    element("thead", {}, element("tr", {}, ...heads.map((name, i) => element("th", { class: i < 3 || i > 4 ? "text" : "", scope: "col" }, name)))),
    element("tbody", {}, ...rows.map((h) => element("tr", {},
      element("td", { class: "text" }, h.network), element("td", { class: "text" }, h.arch),
      element("td", { class: "text" }, h.single ?? "none maps all layers"),
      element("td", {}, h.gain ? factor(h.gain) : "-"), element("td", {}, h.overFree ? factor(h.overFree) : "-"),
      element("td", { class: "text" }, words(h))))));
}
