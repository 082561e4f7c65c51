// Tables: networks, the best dataflow of each layer, kinds of layers, hybrids.

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
  { head: "× free, layers", key: (s) => s.layerPenalty, show: (s) => factor(s.layerPenalty) },
];

const NOTABLE = 1.005; // factors below this are called equal

/** What most of a network's time waits for. */
function waitsFor(summary) {
  const found = Object.entries(summary.limits).sort((a, b) => b[1] - a[1]);
  const total = found.reduce((sum, [, amount]) => sum + amount, 0);
  return found.length ? `${found[0][0]} ${percent(found[0][1] / total)}` : "";
}

/** Fill a table, whose headings sort it; columns are { head, text, key, show }, and a cell without key is empty. */
function fillTable(id, columns, rows, cellOf = tableCell) {
  const heads = columns.map((column) => element("th", { class: column.text ? "text" : "", scope: "col" }, column.head));
  byId(id).replaceChildren(element("thead", {}, element("tr", {}, ...heads)),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...columns.map((column, i) => cellOf(row, column, i))))));
  sortable(byId(id));
}

function tableCell(row, column) {
  const key = column.key(row);
  const attributes = { class: [column.text ? "text" : "", column.mark?.(row) ? "best" : ""].join(" ").trim(), "data-key": key ?? "" };
  return element("td", attributes, key == null ? "" : column.show ? column.show(row) : key);
}

function drawSummary(summaries) {
  fillTable("summary-table", SUMMARY_COLUMNS, summaries, (s, column, index) => {
    if (index === 0) {
      const label = `Show the layers of ${s.network} on ${s.arch}`;
      return element("td", { class: "text", "data-key": s.network },
        element("button", { type: "button", "aria-label": label, onclick: () => showPlace(s) }, s.network));
    }
    return index === 3 && s.missing ? element("td", { "data-key": "" }, `${s.missing} without mapping`) : tableCell(s, column);
  });
}

/** For each layer of the chosen place its best fixed dataflow, and what every dataflow costs over the free choice. */
function drawBest(byLayer) {
  const groups = [...byLayer.values()], fixed = data.dataflows.filter((name) => groups.some((group) => group.some((row) => row.dataflow === name)));
  const of = (group, name) => group.find((row) => row.dataflow === name && row.energy != null);
  const rows = groups.map((group) => {
    const named = group.filter((row) => row.dataflow !== "free"), solved = (named.length ? named : group).filter((row) => row.energy != null);
    const least = Math.min(...solved.map((row) => row.value)), ties = solved.filter((row) => row.value <= least * NOTABLE);
    return { group, first: group[0], best: ties[0], ties, words: solved.length ? bestText(ties.map((row) => row.dataflow), [...new Set((named.length ? named : group).map((row) => row.dataflow))]) : "none maps it" };
  });
  const columns = [
    { head: "layer", text: true, key: ({ first }) => first.layer, show: ({ first, best }) => (best
      ? element("button", { type: "button", "data-detail": best.detail }, first.layer) : first.layer) },
    { head: "kind", text: true, key: ({ first }) => first.kind },
    { head: "times", key: ({ first }) => first.repeat },
    { head: "best dataflow", text: true, key: (row) => row.words },
    { head: "energy", key: ({ best }) => best?.energy, show: ({ best }) => energy(best.energy) },
    { head: "latency", key: ({ best }) => best?.seconds, show: ({ best }) => seconds(best.seconds) },
    { head: "waits for", text: true, key: ({ best }) => best?.limit },
    ...fixed.filter((name) => name !== "free").map((name) => ({
      head: `${name}, × free`, key: ({ group }) => of(group, name)?.penalty, show: ({ group }) => factor(of(group, name).penalty),
      mark: ({ ties, group }) => ties.length < group.filter((row) => row.dataflow !== "free").length && ties.some((row) => row.dataflow === name),
    })),
  ];
  byId("best-layers-note").textContent = `${place.network} on ${place.arch}, figures of one occurrence with its best dataflow; select a layer to see that mapping.`;
  fillTable("best-table", columns, rows);
}

function drawKinds(archs, dataflows) {
  const fixed = dataflows.filter((name) => data.winners.some((w) => w.dataflow === name));
  const found = data.winners.filter((w) => archs.includes(w.arch) && fixed.includes(w.dataflow));
  const rows = grouped(found, (w) => `${w.arch}\n${w.kind}`);
  const titles = ["architecture", "kind of layer", "layers", ...fixed, "best"];
  const head = titles.map((name, i) => element("th", { class: i < 2 || i === titles.length - 1 ? "text" : "", scope: "col" }, name));
  byId("kinds-table").replaceChildren(element("thead", {}, element("tr", {}, ...head)),
    element("tbody", {}, ...[...rows.values()].map((group) => kindRow(group, fixed))));
  sortable(byId("kinds-table"));
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
  sortable(byId("hybrids-table"));
}
