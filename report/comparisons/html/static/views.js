// What is shown: filters, the chosen network and architecture, and drawing it all anew when they change.

const archNames = data.archs.map((arch) => arch.name);
const chosen = { network: new Set(data.networks), arch: new Set(archNames), dataflow: new Set(data.dataflows) };
const place = { network: data.networks[0], arch: archNames[0], measure: Object.keys(MEASURES)[0] };

function filterGroup(title, kind, names) {
  const boxes = names.map((name) => {
    const box = element("input", { type: "checkbox", name: kind, value: name, checked: true });
    box.addEventListener("change", () => { chosen[kind][box.checked ? "add" : "delete"](name); draw(); });
    return element("label", {}, box, ` ${name}`);
  });
  return element("fieldset", {}, element("legend", {}, title), ...boxes);
}

function chooser(title, kind, names) {
  const select = element("select", { name: kind }, ...names.map((name) => element("option", { value: name, selected: name === place[kind] }, name)));
  select.addEventListener("change", () => { place[kind] = select.value; drawPlace(); });
  return element("label", {}, `${title} `, select);
}

const passes = (s) => chosen.network.has(s.network) && chosen.arch.has(s.arch) && chosen.dataflow.has(s.dataflow);

function showPlace(summary) {
  Object.assign(place, { network: summary.network, arch: summary.arch });
  drawPlace();
  byId("layers").scrollIntoView({ behavior: "smooth" });
  byId("bars").querySelector(".bar")?.focus({ preventScroll: true });
}

/** The layers of the chosen network on the chosen architecture; if a filter hides these, of the first one shown. */
function drawPlace() {
  const networks = data.networks.filter((name) => chosen.network.has(name)), archs = archNames.filter((name) => chosen.arch.has(name));
  if (!chosen.network.has(place.network)) place.network = networks[0];
  if (!chosen.arch.has(place.arch)) place.arch = archs[0];
  byId("place").replaceChildren(chooser("Network", "network", networks), chooser("Architecture", "arch", archs),
    chooser("Show", "measure", Object.keys(MEASURES)));
  const rows = data.rows.filter((row) => row.network === place.network && row.arch === place.arch && chosen.dataflow.has(row.dataflow));
  const byLayer = grouped(rows, (row) => row.layer);
  drawBars([...byLayer.values()].flat(), place.measure);
  const machine = data.archs.find((arch) => arch.name === place.arch);
  if (machine) drawRoofline(rows, machine);
  drawBest(byLayer);
  oneStopEach();
}

function draw() {
  const summaries = data.summaries.filter(passes);
  byId("shown").textContent = `${summaries.length} of ${data.summaries.length} combinations shown`;
  drawFinding(summaries);
  drawSummary(summaries);
  drawScatter(summaries);
  drawPlace();
  drawKinds(archNames.filter((name) => chosen.arch.has(name)), data.dataflows.filter((name) => chosen.dataflow.has(name)));
  drawHybrids(data.networks.filter((name) => chosen.network.has(name)), archNames.filter((name) => chosen.arch.has(name)));
}

byId("filters").append(filterGroup("Networks", "network", data.networks), filterGroup("Architectures", "arch", archNames),
  filterGroup("Dataflows", "dataflow", data.dataflows));
drawings.push(draw);
