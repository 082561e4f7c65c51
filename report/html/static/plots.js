// Dots on logarithmic axes: energy against latency, and the roofline.

const WIDE = 900, HIGH = 420, LEFT = 96, RIGHT = 20, TOP = 14, BOTTOM = 46;
const MARKS = ["circle", "square", "diamond", "triangle", "down", "cross"];

/** A logarithmic axis from `low` to `high`, onto pixels. */
function logScale(low, high, from, to) {
  const a = Math.log10(low), b = Math.log10(high);
  return (value) => from + ((Math.log10(value) - a) / (b - a || 1)) * (to - from);
}

/** Round numbers within an axis: powers of ten; if these are few, 2 and 5 times them too. */
function ticks(low, high) {
  const found = (steps) => {
    const within = [];
    for (let e = Math.floor(Math.log10(low)); 10 ** e <= high; e += 1) {
      within.push(...steps.map((step) => step * 10 ** e).filter((tick) => tick >= low && tick <= high));
    }
    return within;
  };
  return found([1]).length > 2 ? found([1]) : found([1, 2, 5]);
}

/** The frame of a plot: axes with ticks, and the two scales. */
function frame(label, xs, ys, xTitle, yTitle, xText, yText) {
  const spread = (values, room) => [Math.min(...values) / room, Math.max(...values) * room];
  const [x0, x1] = spread(xs, 1.4), [y0, y1] = spread(ys, 1.4);
  const x = logScale(x0, x1, LEFT, WIDE - RIGHT), y = logScale(y0, y1, HIGH - BOTTOM, TOP);
  const svg = shape("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "group", "aria-label": label });
  for (const tick of ticks(x0, x1)) {
    svg.append(shape("line", { class: "axis", x1: x(tick), x2: x(tick), y1: TOP, y2: HIGH - BOTTOM }),
      shape("text", { x: x(tick), y: HIGH - BOTTOM + 16, "text-anchor": "middle" }, xText(tick)));
  }
  for (const tick of ticks(y0, y1)) {
    svg.append(shape("line", { class: "axis", x1: LEFT, x2: WIDE - RIGHT, y1: y(tick), y2: y(tick) }),
      shape("text", { x: LEFT - 6, y: y(tick) + 4, "text-anchor": "end" }, yText(tick)));
  }
  svg.append(shape("text", { x: (LEFT + WIDE) / 2, y: HIGH - 8, "text-anchor": "middle" }, xTitle),
    shape("text", { x: -(HIGH - BOTTOM) / 2, y: 14, transform: "rotate(-90)", "text-anchor": "middle" }, yTitle));
  return { svg, x, y, x0, x1 };
}

/** A dot that is a button: mark and colour both tell the dataflow. */
function dot(x, y, index, label, action) {
  const r = 6;
  const paths = {
    circle: `M${x - r},${y}a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0`,
    square: `M${x - r},${y - r}h${2 * r}v${2 * r}h${-2 * r}z`,
    diamond: `M${x},${y - r - 1}l${r + 1},${r + 1}l${-r - 1},${r + 1}l${-r - 1},${-r - 1}z`,
    triangle: `M${x},${y - r}l${r},${2 * r}h${-2 * r}z`,
    down: `M${x},${y + r}l${r},${-2 * r}h${-2 * r}z`,
    cross: `M${x - r},${y - 2}h4v-4h4v4h4v4h-4v4h-4v-4h-4z`,
  };
  return shape("path", {
    class: "dot", d: paths[MARKS[index % MARKS.length]], fill: colour(index), tabindex: 0, role: "button", "aria-label": label,
    onclick: action, onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); action(); } },
  }, shape("title", {}, label));
}

function dataflowLegend(names) {
  return element("div", { class: "legend" }, ...names.map((name) => {
    const i = data.dataflows.indexOf(name);
    const icon = shape("svg", { width: 16, height: 16, "aria-hidden": "true" });
    icon.append(dot(8, 8, i, name, () => {}));
    icon.firstChild.removeAttribute("tabindex");
    icon.firstChild.removeAttribute("role");
    return element("span", {}, icon, ` ${name}`);
  }));
}

function drawScatter(summaries, choose) {
  const found = summaries.filter((s) => s.energy != null);
  if (!found.length) return byId("scatter").replaceChildren(element("p", {}, "Nothing to show."));
  const { svg, x, y } = frame("Energy against latency of whole networks", found.map((s) => s.seconds),
    found.map((s) => s.energy), "latency", "energy", seconds, energy);
  for (const network of new Set(found.map((s) => s.network))) {
    const points = front(found.filter((s) => s.network === network));
    svg.append(shape("polyline", { class: "front", points: points.map((s) => `${x(s.seconds)},${y(s.energy)}`).join(" ") }));
    const [last] = points.slice(-1);
    svg.append(shape("text", { x: x(last.seconds) + 9, y: y(last.energy) - 8 }, network));
  }
  for (const s of found) {
    const label = `${s.network} on ${s.arch}, ${s.dataflow}: ${energy(s.energy)}, ${seconds(s.seconds)}`;
    svg.append(dot(x(s.seconds), y(s.energy), data.dataflows.indexOf(s.dataflow), label, () => choose(s)));
  }
  byId("scatter").replaceChildren(dataflowLegend([...new Set(found.map((s) => s.dataflow))]), svg);
}

/** Points that no other one beats in both, fastest first. */
function front(points) {
  const sorted = [...points].sort((a, b) => a.seconds - b.seconds || a.energy - b.energy);
  const kept = [];
  for (const point of sorted) if (!kept.length || point.energy < kept[kept.length - 1].energy) kept.push(point);
  return kept;
}

function drawRoofline(rows, machine) {
  const found = rows.filter((row) => row.energy != null && row.intensity);
  byId("roofline-note").textContent = `${machine.name}: MACs per byte of ${machine.outermost}, against the rate that each `
    + "layer's mapping reaches. Select a dot to see its mapping.";
  if (!found.length) return byId("roofline").replaceChildren(element("p", {}, "Nothing to show."));
  const reached = (row) => row.macs / row.seconds;
  const ridge = machine.bandwidth ? machine.peak / machine.bandwidth : null;
  const xs = found.map((row) => row.intensity).concat(ridge ?? []);
  const { svg, x, y, x0, x1 } = frame(`Roofline of ${machine.name}`, xs, [machine.peak, ...found.map(reached)],
    `MAC per byte of ${machine.outermost}`, "MAC per second", (v) => significant(v, 3), rate);
  const low = ridge && Math.max(x0, Math.min(...found.map(reached)) / 1.4 / machine.bandwidth);
  const roof = ridge
    ? [[low, low * machine.bandwidth], [ridge, machine.peak], [x1, machine.peak]]
    : [[x0, machine.peak], [x1, machine.peak]];
  svg.append(shape("polyline", { class: "roof", points: roof.map(([a, b]) => `${x(a)},${y(b)}`).join(" ") }));
  for (const row of found) {
    const label = `${row.layer}, ${row.dataflow}: ${significant(row.intensity)} MAC per byte, ${rate(reached(row))}`;
    svg.append(dot(x(row.intensity), y(reached(row)), data.dataflows.indexOf(row.dataflow), label, () => showDetails(row)));
  }
  byId("roofline").replaceChildren(dataflowLegend([...new Set(found.map((row) => row.dataflow))]), svg);
}
