// Stacked bars of layers: energy by memory or by tensor, latency by what it waits for, utilization.

/** A way to cut a layer's figure into parts: `parts(row)` are [name, amount], `figure(row)` is written beside the bar. */
const MEASURES = {
  "energy by memory": {
    parts: (row) => summed(row.parts.map(([place, , pj]) => [place, pj])),
    figure: (row) => energy(row.energy),
  },
  "energy by tensor": {
    parts: (row) => summed(row.parts.map(([place, tensor, pj]) => [tensor || place, pj])),
    figure: (row) => energy(row.energy),
  },
  "latency by what it waits for": {
    parts: (row) => [[row.limit, row.seconds]],
    figure: (row) => seconds(row.seconds),
  },
  utilization: {
    parts: (row) => [["MACs busy", row.utilization]],
    figure: (row) => percent(row.utilization),
    most: 1,
  },
};

function summed(pairs) {
  const found = new Map();
  for (const [name, amount] of pairs) found.set(name, (found.get(name) ?? 0) + amount);
  return [...found];
}

/** Bars of all layers of a network on an architecture; within a layer they share a scale. */
function drawBars(rows, measureName) {
  const measure = MEASURES[measureName];
  const solved = rows.filter((row) => row.energy != null);
  const names = [...new Set(solved.flatMap((row) => measure.parts(row).map(([name]) => name)))];
  byId("legend").replaceChildren(...names.map((name, i) => element("span", {}, swatch(i), name)));
  const layers = grouped(rows, (row) => row.layer);
  byId("bars").replaceChildren(...[...layers.values()].map((group) => layerBars(group, measure, names)));
}

const swatch = (index) => element("span", { class: "swatch", style: `background:${colour(index)}`, "aria-hidden": "true" });

function layerBars(rows, measure, names) {
  const [first] = rows;
  const total = (row) => measure.parts(row).reduce((sum, [, amount]) => sum + amount, 0);
  const most = measure.most ?? Math.max(...rows.filter((row) => row.energy != null).map(total));
  const repeats = first.repeat > 1 ? `, ${first.repeat} times` : "";
  const heading = element("h3", {}, first.layer, element("small", {}, `${first.kind}${repeats}`));
  return element("div", { class: "layer" }, heading, element("div", {}, ...rows.map((row) => bar(row, measure, names, most))));
}

function bar(row, measure, names, most) {
  if (row.energy == null) {
    return element("button", { type: "button", class: "bar none", "data-detail": row.detail },
      element("span", {}, row.dataflow), element("span", { class: "track" }, row.status === "failed" ? "failed" : "no mapping"),
      element("span", { class: "figure", title: row.why }, "-"));
  }
  const parts = measure.parts(row);
  const said = parts.map(([name, amount]) => `${name} ${percent(amount / (measure.most ?? row.energy))}`).join(", ");
  const label = `${row.layer}, ${row.dataflow}: ${measure.figure(row)}${parts.length > 1 ? ` (${said})` : ""}. Show its mapping.`;
  const track = element("span", { class: "track" }, ...parts.map(([name, amount]) =>
    element("span", { style: `width:${(100 * amount) / most}%;background:${colour(names.indexOf(name))}`, title: name })));
  return element("button", { type: "button", class: "bar", "aria-label": label, "data-detail": row.detail },
    element("span", {}, row.dataflow), track, element("span", { class: "figure" }, measure.figure(row)));
}
