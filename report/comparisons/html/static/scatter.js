// Dots of a comparison: energy against latency, and the roofline.

const dataflowLegend = (names) => legend(names.map((name) => [data.dataflows.indexOf(name), name]));

function drawScatter(summaries) {
  const found = summaries.filter((s) => s.energy != null);
  if (!found.length) return byId("scatter").replaceChildren(element("p", {}, "Nothing to show."));
  const { svg, x, y, left, wide } = frame("Energy against latency of whole networks",
    { values: found.map((s) => s.seconds), title: "latency", text: seconds, log: true },
    { values: found.map((s) => s.energy), title: "energy", text: energy, log: true });
  for (const network of new Set(found.map((s) => s.network))) {
    const points = front(found.filter((s) => s.network === network));
    svg.append(shape("polyline", { class: "front", points: points.map((s) => `${x(s.seconds)},${y(s.energy)}`).join(" ") }));
  }
  const places = dodged(found.map((s) => [x(s.seconds), y(s.energy)]), 11);
  found.forEach((s, i) => {
    const label = `${s.network} on ${s.arch}, ${s.dataflow}: ${energy(s.energy)}, ${seconds(s.seconds)}`;
    svg.append(dot(...places[i], data.dataflows.indexOf(s.dataflow), label, () => showPlace(s)));
  });
  const several = new Set(found.map((s) => s.network)).size > 1;
  const named = new Map(found.map((s, i) => [`${s.network} ${s.arch}`, [places[i], several ? `${s.arch}, ${s.network}` : s.arch]]).reverse());
  nameDots(svg, [...named.values()], places, left, wide);
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
  const { svg, x, y, x0, x1 } = frame(`Roofline of ${machine.name}`,
    { values: xs, title: `MAC per byte of ${machine.outermost}`, text: (v) => significant(v, 3), log: true },
    { values: [machine.peak, ...found.map(reached)], title: "MAC per second", text: rate, log: true });
  const low = ridge && Math.max(x0, Math.min(...found.map(reached)) / 1.4 / machine.bandwidth);
  const roof = ridge
    ? [[low, low * machine.bandwidth], [ridge, machine.peak], [x1, machine.peak]]
    : [[x0, machine.peak], [x1, machine.peak]];
  const corners = roof.map(([a, b]) => [x(a), y(b)]);
  svg.append(shape("polyline", { class: "roof", points: corners.map((corner) => corner.join(",")).join(" ") }));
  const places = dodged(found.map((row) => [x(row.intensity), y(reached(row))]), 8, (across) => heightAt(corners, across));
  found.forEach((row, i) => {
    const label = `${row.layer}, ${row.dataflow}: ${significant(row.intensity)} MAC per byte, ${rate(reached(row))}`;
    svg.append(dot(...places[i], data.dataflows.indexOf(row.dataflow), label, () => choose(row.detail), 4.5));
  });
  byId("roofline").replaceChildren(dataflowLegend([...new Set(found.map((row) => row.dataflow))]), svg);
}

/** The height of a line from corner to corner at a place across; before its first corner, of its first part. */
function heightAt(corners, across) {
  const next = corners.findIndex(([a], i) => i > 0 && across <= a);
  if (next < 0) return corners[corners.length - 1][1];
  const [[a, b], [c, d]] = [corners[next - 1], corners[next]];
  return b + ((across - a) / (c - a || 1)) * (d - b);
}
