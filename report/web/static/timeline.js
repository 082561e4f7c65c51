// Operations, ports and memories along one axis of time: lanes below each other, which scroll together.

const LANE = 26, MEMORY = 130, CLOSEST = 4096, STEP = 2;

/** A timeline in seconds and bytes; lanes are as wide as the page, times how far it is zoomed in. */
function drawTimeline(place, plan) {
  const zoom = Number(place.dataset.zoom ?? 1), wide = Math.round((Math.max(300, place.clientWidth) - 4) * zoom);
  const x = linearScale(0, plan.total, 1, wide - 1);
  const lanes = element("div", { class: "lanes", tabindex: 0, role: "region", "aria-label": "Timeline; scroll sideways" },
    laneTitle("time"), timeAxis(plan, x, wide), laneTitle(plan.each ? `${plan.each}s` : "groups; grey: an operation alone"), groupLane(plan, x, wide), laneTitle("operations"), operationLane(plan, x, wide),
    ...plan.busy.flatMap(([name, shares], i) => [laneTitle(`${name} busy`), busyLane(plan, shares, i, x, wide)]),
    ...(plan.kinds.length ? [tileLegend(plan)] : []), ...plan.memories.flatMap((memory) => [laneTitle(memoryTitle(memory)), memoryLane(plan, memory, x, wide)]));
  const before = place.querySelector(".lanes"), middle = before ? (before.scrollLeft + before.clientWidth / 2) / before.scrollWidth : 0;
  place.replaceChildren(zoomBar(place, plan, zoom), lanes);
  if (before) lanes.scrollLeft = middle * lanes.scrollWidth - lanes.clientWidth / 2;
  oneStopEach(lanes);
  markChosen();
}

function zoomBar(place, plan, zoom) {
  const to = (factor) => () => {
    place.dataset.zoom = Math.min(CLOSEST, Math.max(1, factor));
    drawTimeline(place, plan);
    place.querySelectorAll(".zoom button")[factor > zoom ? 0 : factor > 1 ? 1 : 2].focus();
  };
  const button = (text, label, action, off) => element("button", { type: "button", "aria-label": label, onclick: action, disabled: off }, text);
  return element("div", { class: "zoom" },
    button("+", "Zoom in", to(zoom * STEP), zoom >= CLOSEST), button("−", "Zoom out", to(zoom / STEP), zoom <= 1),
    button("whole run", "Show the whole run", to(1), zoom <= 1),
    element("span", { class: "quiet", role: "status" }, zoom > 1 ? `${zoom}× zoomed in; scroll sideways` : `${seconds(plan.total)} in all`));
}

const tileLegend = (plan) => element("div", { class: "lane-title legend" }, "Addresses: ",
  ...plan.kinds.map(([name, number]) => element("span", {}, element("span", { class: "swatch", style: `background:${colour(number)}` }), name)));
const laneTitle = (text) => element("div", { class: "lane-title" }, text);
const laneSvg = (wide, high, label) => shape("svg", { width: wide, height: high, role: "group", "aria-label": label });

/** What a memory's lane is called: how much of it is used, and its capacity where the scale does not reach it. */
function memoryTitle({ name, capacity, height }) {
  return `${name}: ${bytes(height)} used${capacity ? ` of ${bytes(capacity)}` : ""}`;
}

function timeAxis(plan, x, wide) {
  const svg = laneSvg(wide, 20, "time"), text = inOneUnit(seconds, 0, plan.total);
  for (const tick of evenTicks(0, plan.total, Math.max(3, Math.floor(wide / 120)))) {
    svg.append(shape("line", { class: "axis", x1: x(tick), x2: x(tick), y1: 14, y2: 20 }));
    const anchor = x(tick) < 20 ? "start" : x(tick) > wide - 40 ? "end" : "middle";
    svg.append(shape("text", { x: x(tick), y: 11, "text-anchor": anchor }, text(tick)));
  }
  return svg;
}

function groupLane(plan, x, wide) {
  const each = plan.each ?? "group", svg = laneSvg(wide, LANE, `${each}s; arrow keys go from one to the next`);
  const groups = plan.each ? plan.operations.map((one) => [one[1], [one]]) : grouped(plan.operations, (one) => one[1]);
  for (const [number, found] of groups) {
    const from = found[0][2], to = found[found.length - 1][3], left = x(from), w = Math.max(x(to) - left, 0.6);
    const about = `${each === "group" ? "Group" : "Step"} ${number}: ${found.map(([name]) => name).join(" + ")}, ${seconds(to - from)}`;
    const link = shape("g", { role: "button", tabindex: 0, "data-detail": `${each}-${number}`, "aria-label": about, onkeydown: pressed });
    link.append(shape("rect", { x: left, y: 2, width: w, height: LANE - 4, class: "tile", fill: colour(found.length > 1 ? 0 : 7) }, shape("title", {}, about)));
    if (w > 8 * String(number).length + 4) {
      link.append(shape("text", { x: left + w / 2, y: LANE / 2 + 4, "text-anchor": "middle", style: `fill:var(--i${found.length > 1 ? 0 : 7})` }, String(number)));
    }
    svg.append(link);
  }
  return svg;
}

/** Enter and the space bar select what is drawn as they do buttons. */
function pressed(event) {
  if (event.key !== "Enter" && event.key !== " ") return;
  event.preventDefault();
  choose(event.currentTarget.dataset.detail);
}

function operationLane(plan, x, wide) {
  const svg = laneSvg(wide, LANE, "operations");
  plan.operations.forEach(([name, group, from, to, limit]) => {
    const left = x(from), w = Math.max(x(to) - left, 0.6);
    svg.append(shape("rect", { x: left, y: 2, width: w, height: LANE - 4, class: "tile", fill: "var(--c1)" },
      shape("title", {}, `${name}, ${plan.each ?? "group"} ${group}: ${seconds(to - from)}, waits for ${limit}`)));
    if (w > LETTER * name.length + 6) svg.append(shape("text", { x: left + 4, y: LANE / 2 + 4, style: "fill:var(--i1)" }, name));
  });
  return svg;
}

function busyLane(plan, shares, number, x, wide) {
  const svg = laneSvg(wide, LANE, "busy");
  svg.append(shape("rect", { class: "ground", x: 0, y: 0, width: wide, height: LANE }));
  plan.operations.forEach(([name, , from, to], i) => {
    const high = Math.min(1, shares[i]) * (LANE - 2);
    svg.append(shape("rect", { x: x(from), y: LANE - high, width: Math.max(x(to) - x(from), 0.4), height: high, fill: colour(number ? 2 : 3) },
      shape("title", {}, `${name}: ${percent(shares[i])} busy`)));
  });
  return svg;
}

/** Addresses upwards, scaled to what is used; the capacity is a line, at the top where the scale does not reach it. */
function memoryLane(plan, memory, x, wide) {
  const svg = laneSvg(wide, MEMORY, memory.name), reach = memory.capacity && memory.capacity <= 1.25 * memory.height;
  const most = Math.max(1, reach ? memory.capacity : memory.height), top = memory.capacity && !reach ? 18 : 6;
  const y = linearScale(0, most, MEMORY - 1, top);
  svg.append(shape("rect", { class: "ground", x: 0, y: 0, width: wide, height: MEMORY }));
  for (const [name, from, to, low, high, kind] of memory.tiles) {
    const stays = kind === 0, number = plan.kinds[kind][1];
    const left = x(from), w = Math.max(x(to) - left, 0.6), tall = Math.max(y(low) - y(high), 0.6);
    const about = `${name}: ${bytes(high - low)} at ${low.toLocaleString("en-US")}, ${seconds(to - from)}${stays ? "; stays on chip" : ""}`;
    svg.append(shape("rect", { class: stays ? "stays" : "tile", x: left, y: y(high), width: w, height: tall, fill: colour(number) }, shape("title", {}, about)));
    if (w > LETTER * name.length + 6 && tall > 12) {
      svg.append(shape("text", { x: left + 4, y: y(high) + tall / 2 + 4, style: `fill:var(--i${number})` }, name));
    }
  }
  if (memory.capacity) {
    const line = reach ? y(memory.capacity) : 6;
    svg.append(shape("line", { class: "limit", x1: 0, x2: wide, y1: line, y2: line }, shape("title", {}, `capacity ${bytes(memory.capacity)}`)));
  }
  return svg;
}
