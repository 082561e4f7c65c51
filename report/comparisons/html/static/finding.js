// The finding in one picture: what every fixed dataflow costs over the free choice, for each network and architecture.

const MARK = 12, LINE = 14, MOST_FACTOR = 10; // pixels for a mark of a line, and for a line of a label
const FAR = 4; // times as far from 1 as six in seven of all factors: what is farther is drawn at the end of the scale

/** One line for each network and architecture; marks of a line stand above one another, so that equal ones are all seen. */
function drawFinding(summaries) {
  const priced = summaries.some((s) => s.dataflow !== "free" && s.penalty != null);
  const shown = priced ? summaries.filter((s) => s.dataflow !== "free") : overBest(summaries);
  const known = priced || data.objective.compares; // else values count cycles of different clocks
  const found = shown.filter((s) => known && s.penalty != null), names = [...new Set(shown.map((s) => s.dataflow))];
  byId("finding-section").hidden = !found.length;
  if (!found.length) return;
  const places = grouped(shown, (s) => `${s.network} on ${s.arch}`), wide = plotWidth(), left = Math.min(220, 0.4 * wide);
  const labels = new Map([...places].map(([place, [s]]) => [place, fitting([s.network, `on ${s.arch}`], left)]));
  const tallest = Math.max(...[...labels.values()].map((lines) => lines.length));
  const row = Math.max(MARK * Math.max(names.length, 2) + 4, LINE * tallest + 4), high = row * places.size + 28;
  const most = cap(found.map((s) => s.penalty));
  const x = most > MOST_FACTOR ? logScale(0.9, 1.15 * most, left, wide - 16) : linearScale(1 - 0.05 * (most - 1), 1 + 1.08 * (most - 1), left + 16, wide - 16);
  const svg = shape("svg", { viewBox: `0 0 ${wide} ${high}`, role: "group", "aria-label": "Price of every dataflow over the free choice" });
  for (const tick of factorTicks(most, (wide - left) / 72)) {
    svg.append(shape("line", { class: tick === 1 ? "roof" : "axis", x1: x(tick), x2: x(tick), y1: 4, y2: high - 22 }),
      shape("text", { x: x(tick), y: high - 6, "text-anchor": "middle" }, `${significant(tick, 3)}×`));
  }
  let beyond = 0;
  [...places].forEach(([place, group], line) => {
    const y = 4 + row * (line + 0.5);
    svg.append(shape("line", { class: "axis", x1: 0, x2: wide, y1: y + row / 2, y2: y + row / 2 }),
      ...labels.get(place).map((text, i, lines) =>
        shape("text", { x: 0, y: y + 4 + LINE * (i - (lines.length - 1) / 2) }, text, shape("title", {}, place))));
    for (const s of group) {
      const lane = MARK * (names.indexOf(s.dataflow) - (names.length - 1) / 2);
      const label = `${place}, ${s.dataflow}: ${s.penalty == null ? "no mapping for every layer" : factor(s.penalty)}`;
      if (s.penalty == null) svg.append(shape("text", { x: left + 6, y: y + 4 + lane, fill: "currentColor" }, "–", shape("title", {}, label)));
      else svg.append(dot(x(Math.min(s.penalty, most)), y + lane, data.dataflows.indexOf(s.dataflow), label, () => showPlace(s), 4.5));
      if (s.penalty > most) {
        beyond += 1;
        svg.append(shape("text", { x: x(most) - 9, y: y + lane + 4, "text-anchor": "end" }, `${significant(s.penalty, 3)}× ▸`));
      }
    }
  });
  const over = priced ? "free choice of mapping" : "best architecture of the network";
  const capped = beyond ? ` The scale ends at ${significant(most, 3)}×: ${beyond} beyond it ${beyond > 1 ? "stand" : "stands"} at its end, with ${beyond > 1 ? "their figures" : "its figure"}.` : "";
  const note = `${data.objective.name} of whole networks over that of the ${over}; –: no mapping for some layer.${capped}`;
  byId("finding").replaceChildren(dataflowLegend(names), svg, element("p", { class: "quiet" }, note));
}

/** The same summaries, priced over the best of their network: where no dataflow is fixed, architectures are compared. */
function overBest(summaries) {
  const least = (network) => Math.min(...summaries.filter((s) => s.network === network && s.value != null).map((s) => s.value));
  return summaries.map((s) => ({ ...s, penalty: s.value == null ? null : s.value / least(s.network) }));
}

/** Where a scale of factors ends: at the greatest, unless a few of them, up to one in seven, would squeeze all others. */
function cap(factors) {
  const sorted = [...factors].sort((a, b) => a - b), most = Math.max(sorted[sorted.length - 1], 1.05);
  const usual = Math.max(sorted[Math.floor(0.85 * (sorted.length - 1))], 1.05);
  return sorted.length >= 5 && most - 1 > FAR * (usual - 1) ? 1 + 1.25 * (usual - 1) : most;
}

/** Round factors from 1 on: few enough to be read side by side. */
function factorTicks(most, room) {
  if (most > MOST_FACTOR) {
    const decades = [1, 10, 100, 1000, 1e4, 1e5, 1e6].filter((tick) => tick <= 1.15 * most);
    return most > 1000 || room < 5 ? decades : [1, 3, 10, 30, 100, 300, 1000].filter((tick) => tick <= 1.15 * most);
  }
  const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2].find((one) => (most - 1) / one < Math.min(room, 6) - 1) ?? 5;
  return Array.from({ length: Math.floor((most - 1) / step) + 1 }, (_, i) => 1 + i * step);
}

/** The words of a label in one line, or where they do not fit so many pixels, each in a line of its own. */
function fitting(words, pixels) {
  const line = words.join(" ");
  return shortened(line, pixels) === line ? [line] : words.map((word) => shortened(word, pixels));
}

/** A text that fits so many pixels, at about seven for a letter. */
function shortened(text, pixels) {
  const most = Math.floor(pixels / 7) - 1;
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}
