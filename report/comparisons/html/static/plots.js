// Dots on logarithmic axes: energy against latency, and the roofline.

const HIGH = 420, LEFT = 104, RIGHT = 20, TOP = 14, BOTTOM = 46;

/** Plots are drawn as wide as the page, so that their texts are as large as all others. */
const plotWidth = () => Math.min(1100, Math.max(320, document.querySelector("main").clientWidth));
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
  const WIDE = plotWidth();
  const x = logScale(x0, x1, LEFT, WIDE - RIGHT), y = logScale(y0, y1, HIGH - BOTTOM, TOP);
  const svg = shape("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "group", "aria-label": label });
  let free = 0; // where the next text may begin: on narrow pages some lines have none
  for (const tick of ticks(x0, x1)) {
    svg.append(shape("line", { class: "axis", x1: x(tick), x2: x(tick), y1: TOP, y2: HIGH - BOTTOM }));
    const words = xText(tick), half = 3.5 * words.length;
    if (x(tick) - half < free) continue;
    svg.append(shape("text", { x: x(tick), y: HIGH - BOTTOM + 16, "text-anchor": "middle" }, words));
    free = x(tick) + half + 8;
  }
  for (const tick of ticks(y0, y1)) {
    svg.append(shape("line", { class: "axis", x1: LEFT, x2: WIDE - RIGHT, y1: y(tick), y2: y(tick) }),
      shape("text", { x: LEFT - 6, y: y(tick) + 4, "text-anchor": "end" }, yText(tick)));
  }
  svg.append(shape("text", { x: (LEFT + WIDE) / 2, y: HIGH - 8, "text-anchor": "middle" }, xTitle),
    shape("text", { x: -(HIGH - BOTTOM) / 2, y: 14, transform: "rotate(-90)", "text-anchor": "middle" }, yTitle));
  return { svg, x, y, x0, x1, wide: WIDE };
}

/** Places for dots that would hide one another: each that comes later moves aside, to where it is free; under a roof
 * only sideways and down, for nothing is above it. */
function dodged(points, apart, underRoof) {
  const taken = [];
  return points.map(([x, y]) => {
    let place = [x, y];
    for (let step = 1; taken.some(([a, b]) => Math.hypot(a - place[0], b - place[1]) < apart) && step < 60; step += 1) {
      const angle = step * 2.4, away = 0.45 * apart * Math.sqrt(step);
      place = [x + away * Math.cos(angle), y + away * (underRoof ? Math.abs(Math.sin(angle)) : Math.sin(angle))];
    }
    taken.push(place);
    return place;
  });
}

/** Names beside dots, where there is room: right, left, above or below; those for which there is none are left out. */
function nameDots(svg, named, dots, wide) {
  const boxes = dots.map(([x, y]) => [x - 6, y - 6, x + 6, y + 6]);
  for (const [[x, y], text] of named) {
    const w = 6.6 * text.length;
    const spots = [9, 16, 24, 32].flatMap((far) => [[x + far, y + 4], [x - far - w, y + 4], [x - w / 2, y - far - 1], [x - w / 2, y + far + 9]]);
    const found = spots.map(([a, b]) => [a, b - 10, a + w, b + 3]).findIndex((box) => box[0] > LEFT && box[2] < wide
      && box[1] > 0 && box[3] < HIGH - BOTTOM && !boxes.some((o) => box[0] < o[2] && o[0] < box[2] && box[1] < o[3] && o[1] < box[3]));
    if (found < 0) continue;
    const [a, b] = spots[found];
    boxes.push([a, b - 10, a + w, b + 3]);
    svg.append(shape("text", { class: "mark", x: a, y: b }, text));
  }
}

/** A dot that is a button: mark and colour both tell the dataflow. */
function dot(x, y, index, label, action, r = 6) {
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
  const { svg, x, y, wide } = frame("Energy against latency of whole networks", found.map((s) => s.seconds),
    found.map((s) => s.energy), "latency", "energy", seconds, energy);
  for (const network of new Set(found.map((s) => s.network))) {
    const points = front(found.filter((s) => s.network === network));
    svg.append(shape("polyline", { class: "front", points: points.map((s) => `${x(s.seconds)},${y(s.energy)}`).join(" ") }));
  }
  const places = dodged(found.map((s) => [x(s.seconds), y(s.energy)]), 11, false);
  found.forEach((s, i) => {
    const label = `${s.network} on ${s.arch}, ${s.dataflow}: ${energy(s.energy)}, ${seconds(s.seconds)}`;
    svg.append(dot(...places[i], data.dataflows.indexOf(s.dataflow), label, () => choose(s)));
  });
  const several = new Set(found.map((s) => s.network)).size > 1;
  const named = new Map(found.map((s, i) => [`${s.network} ${s.arch}`, [places[i], several ? `${s.arch}, ${s.network}` : s.arch]]).reverse());
  nameDots(svg, [...named.values()], places, wide);
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
    + "layer's mapping reaches; dots at one place stand side by side. Select a dot to see its mapping.";
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
  const places = dodged(found.map((row) => [x(row.intensity), y(reached(row))]), 8, true);
  found.forEach((row, i) => {
    const label = `${row.layer}, ${row.dataflow}: ${significant(row.intensity)} MAC per byte, ${rate(reached(row))}`;
    svg.append(dot(...places[i], data.dataflows.indexOf(row.dataflow), label, () => showDetails(row), 4.5));
  });
  byId("roofline").replaceChildren(dataflowLegend([...new Set(found.map((row) => row.dataflow))]), svg);
}
