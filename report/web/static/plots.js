// Dots and lines in a frame with axes: as wide as the page, so that texts are as large as all others.

const HIGH = 420, RIGHT = 20, TOP = 14, BOTTOM = 46, LETTER = 6.8;
const NEAR = 16; // spots for a name that need no line to its dot
const MARKS = ["circle", "square", "diamond", "triangle", "down", "cross"];
const COLOURS = 8, LEAST_TICKS = 3;
const colour = (index) => `var(--c${Math.min(index, COLOURS - 1)})`; // the first seven have their own, all others are grey
const plotWidth = () => Math.min(1100, Math.max(300, document.querySelector("main").clientWidth));

/** A logarithmic axis from `low` to `high`, onto pixels. */
function logScale(low, high, from, to) {
  const a = Math.log10(low), b = Math.log10(high);
  return (value) => from + ((Math.log10(value) - a) / (b - a || 1)) * (to - from);
}

const linearScale = (low, high, from, to) => (value) => from + ((value - low) / (high - low || 1)) * (to - from);

/** Round numbers within a logarithmic axis, three or more: powers of ten, parts of them, or where the axis is short, even steps. */
function ticks(low, high) {
  const found = (steps) => {
    const within = [];
    for (let e = Math.floor(Math.log10(low)); 10 ** e <= high; e += 1) {
      within.push(...steps.map((step) => Number((step * 10 ** e).toPrecision(6))).filter((tick) => tick >= low && tick <= high));
    }
    return within;
  };
  return [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 5, 7]].map(found).find((one) => one.length >= LEAST_TICKS) ?? evenTicks(low, high, 5);
}

/** Round numbers in even steps, about as many as asked for and never fewer than three. */
function evenTicks(low, high, about) {
  const rough = (high - low) / Math.max(about, LEAST_TICKS), power = 10 ** Math.floor(Math.log10(rough || 1));
  const at = (step) => {
    const first = Math.ceil(low / step - 1e-9);
    return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
  };
  const steps = [5, 2.5, 2, 1, 0.5, 0.25, 0.2, 0.1].map((part) => at(part * power));
  return steps.find((one) => one.length >= Math.max(about - 1, LEAST_TICKS)) ?? steps[steps.length - 1];
}

/** An axis: where values lie in pixels, its ends, and its ticks with words. */
function axis(values, isLog, text, from, to, about) {
  const least = Math.min(...values), most = Math.max(...values);
  if (isLog) {
    const low = least / 1.4, high = most * 1.4;
    return { at: logScale(low, high, from, to), low, high, ticks: ticks(low, high), text };
  }
  const room = 0.08 * (most - least) || 0.1 * Math.abs(most) || 1;
  const low = least - room, high = most + room;
  return { at: linearScale(low, high, from, to), low, high, ticks: evenTicks(low, high, about), text: inOneUnit(text, low, high) };
}

/** The frame of a plot: axes with ticks, and the two scales. An axis is `{ values, title, text, log }`. */
function frame(label, across, up) {
  const wide = plotWidth(), y = axis(up.values, up.log, up.text, HIGH - BOTTOM, TOP, 6);
  const left = 30 + LETTER * Math.max(...y.ticks.map((tick) => y.text(tick).length));
  const x = axis(across.values, across.log, across.text, left, wide - RIGHT, Math.max(3, Math.floor((wide - left) / 130)));
  const svg = shape("svg", { viewBox: `0 0 ${wide} ${HIGH}`, role: "group", "aria-label": `${label}; arrow keys go from dot to dot` });
  let free = 0; // where the next text may begin: on narrow pages some lines have none
  for (const tick of x.ticks) {
    svg.append(shape("line", { class: "axis", x1: x.at(tick), x2: x.at(tick), y1: TOP, y2: HIGH - BOTTOM }));
    const words = x.text(tick), half = (LETTER / 2) * words.length;
    if (x.at(tick) - half < free) continue;
    svg.append(shape("text", { x: Math.min(x.at(tick), wide - half - 4), y: HIGH - BOTTOM + 16, "text-anchor": "middle" }, words));
    free = x.at(tick) + half + 8;
  }
  for (const tick of y.ticks) {
    svg.append(shape("line", { class: "axis", x1: left, x2: wide - RIGHT, y1: y.at(tick), y2: y.at(tick) }),
      shape("text", { x: left - 6, y: y.at(tick) + 4, "text-anchor": "end" }, y.text(tick)));
  }
  svg.append(shape("text", { x: (left + wide) / 2, y: HIGH - 8, "text-anchor": "middle" }, across.title),
    shape("text", { x: -(HIGH - BOTTOM) / 2, y: 14, transform: "rotate(-90)", "text-anchor": "middle" }, up.title));
  return { svg, x: x.at, y: y.at, x0: x.low, x1: x.high, left, wide };
}

/** Places for dots that would hide one another: each that comes later moves aside, to where it is free; none above a
 * roof, which is a height in pixels for each place across. A point is `[x, y, radius]`. */
function dodged(points, apart, roof = null) {
  const taken = [], under = ([x, y]) => [x, roof ? Math.max(y, roof(x)) : y];
  return points.map(([x, y, r = apart / 2]) => {
    let place = under([x, y]);
    const hides = ([a, b, other]) => Math.hypot(a - place[0], b - place[1]) < 0.9 * (r + other);
    for (let step = 1; taken.some(hides) && step < 90; step += 1) {
      const angle = step * 2.4, away = 0.45 * apart * Math.sqrt(step);
      place = under([x + away * Math.cos(angle), y + away * Math.sin(angle)]);
    }
    taken.push([...place, r]);
    return place;
  });
}

/** Names beside dots, first ones first, where there is room: right, left, above or below, with a line to those farther
 * away; those for which there is none are left out. */
function nameDots(svg, named, dots, left, wide) {
  const boxes = dots.map(([x, y, r = 6]) => [x - r, y - r, x + r, y + r]), dotted = boxes.length;
  const crosses = (x, y, [a, b, c]) => boxes.slice(dotted).some((o) => [0.2, 0.4, 0.6, 0.8].some((t) => {
    const at = x + t * (Math.min(Math.max(x, a), c) - x), up = y + t * (b + 6 - y);
    return o[0] < at && at < o[2] && o[1] < up && up < o[3];
  }));
  for (const [[x, y, r = 6], text, kind] of named) {
    const w = LETTER * text.length;
    const spots = [3, 10, 20, 34, 52, 70].map((far) => far + r).flatMap((far) => [[x + far, y + 4], [x - far - w, y + 4], [x - w / 2, y - far - 1],
      [x - w / 2, y + far + 9], [x + far, y - far], [x + far, y + far + 8], [x - far - w, y - far], [x - far - w, y + far + 8]]);
    const found = spots.map(([a, b]) => [a, b - 10, a + w, b + 3]).findIndex((box, i) => box[0] > left && box[2] < wide
      && box[1] > 0 && box[3] < HIGH - BOTTOM && !boxes.some((o) => box[0] < o[2] && o[0] < box[2] && box[1] < o[3] && o[1] < box[3])
      && !(i >= NEAR && crosses(x, y, box)));
    if (found < 0) continue;
    const [a, b] = spots[found];
    boxes.push([a, b - 10, a + w, b + 3]);
    if (found >= NEAR) svg.append(shape("line", { class: "leader", x1: x, y1: y, x2: Math.min(Math.max(x, a), a + w), y2: b - 4 }));
    const before = a + w <= x; // it ends at its dot, however wide its letters are
    svg.append(shape("text", { class: `mark ${kind ?? ""}`, x: before ? a + w : a, y: b, "text-anchor": before ? "end" : "start" }, text));
  }
}

/** The outline of a mark around a place. */
function outline(kind, x, y, r) {
  return {
    circle: `M${x - r},${y}a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0`,
    square: `M${x - r},${y - r}h${2 * r}v${2 * r}h${-2 * r}z`,
    diamond: `M${x},${y - r - 1}l${r + 1},${r + 1}l${-r - 1},${r + 1}l${-r - 1},${-r - 1}z`,
    triangle: `M${x},${y - r}l${r},${2 * r}h${-2 * r}z`,
    down: `M${x},${y + r}l${r},${-2 * r}h${-2 * r}z`,
    cross: `M${x - r},${y - 2}h4v-4h4v4h4v4h-4v4h-4v-4h-4z`,
  }[kind];
}

/** A dot that is a button: mark and colour both tell what it is of. */
function dot(x, y, index, label, action, r = 6) {
  return shape("path", {
    class: "dot", d: outline(MARKS[index % MARKS.length], x, y, r), fill: colour(index), tabindex: 0, role: "button", "aria-label": label,
    onclick: action, onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); action(); } },
  }, shape("title", {}, label));
}

/** Marks with the names of what they are of; entries are [number of the mark, name, whether it is a line]. */
function legend(entries) {
  return element("div", { class: "legend" }, ...entries.map(([index, name, isLine]) => {
    const icon = shape("svg", { width: 16, height: 16, "aria-hidden": "true" });
    if (isLine) icon.append(shape("line", { x1: 0, x2: 16, y1: 8, y2: 8, stroke: colour(index), "stroke-width": 2, "stroke-dasharray": "4 3" }));
    else icon.append(shape("path", { d: outline(MARKS[index % MARKS.length], 8, 8, 6), fill: colour(index) }));
    return element("span", {}, icon, ` ${name}`);
  }));
}

/** A plot that is described by values alone: axes with units, lines, and dots of several kinds with their dialogs. */
function drawPlot(place, plot) {
  const points = plot.dots.concat(plot.lines.flatMap((line) => line.points.map(([x, y]) => ({ x, y }))));
  if (!points.length) return place.replaceChildren(element("p", {}, "Nothing to show."));
  const along = (name) => ({ values: points.map((one) => one[name]), title: plot[name].title, text: UNITS[plot[name].unit], log: plot[name].log });
  const { svg, x, y, left, wide } = frame(plot.label, along("x"), along("y"));
  for (const line of plot.lines) {
    const style = line.series == null ? "" : `stroke:${colour(line.series)}`;
    svg.append(shape("polyline", { class: line.kind, style, points: line.points.map(([a, b]) => `${x(a)},${y(b)}`).join(" ") },
      shape("title", {}, line.name)));
  }
  const dots = [...plot.dots].sort((a, b) => (a.rank ?? 0) - (b.rank ?? 0)); // what matters most keeps its place
  const at = dots.map((one) => [x(one.x), y(one.y), (one.r ?? 6) + (one.best ? 3 : 0)]), places = plot.dodge ? dodged(at, 11) : at.map(([a, b]) => [a, b]);
  dots.forEach((one, i) => {
    if (one.best) svg.append(shape("circle", { class: "halo", cx: places[i][0], cy: places[i][1], r: (one.r ?? 6) + 5 }));
    const made = dot(...places[i], one.series, one.label, () => one.detail && choose(one.detail), one.r ?? 6);
    if (one.detail) made.dataset.of = one.detail;
    svg.append(made);
  });
  const sized = places.map(([a, b], i) => [a, b, (dots[i].r ?? 6) + (dots[i].best ? 5 : 0)]);
  const named = dots.map((one, i) => [sized[i], one.name, one.best ? "best" : "", one.rank ?? 0]).filter(([, name]) => name);
  nameDots(svg, named.sort((a, b) => a[3] - b[3]), sized, left, wide);
  place.replaceChildren(legend(plot.series.map(({ name, number, line }) => [number, name, line])), svg);
}
