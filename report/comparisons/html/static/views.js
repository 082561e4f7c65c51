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

function choose(summary) {
  Object.assign(place, { network: summary.network, arch: summary.arch });
  drawPlace();
  byId("layers").scrollIntoView({ behavior: "smooth" });
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
}

function draw() {
  const summaries = data.summaries.filter(passes);
  byId("shown").textContent = `${summaries.length} of ${data.summaries.length} combinations shown`;
  drawFinding(summaries);
  drawSummary(summaries, choose);
  drawScatter(summaries, choose);
  drawPlace();
  drawKinds(archNames.filter((name) => chosen.arch.has(name)), data.dataflows.filter((name) => chosen.dataflow.has(name)));
  drawHybrids(data.networks.filter((name) => chosen.network.has(name)), archNames.filter((name) => chosen.arch.has(name)));
}

byId("title").textContent = data.title;
byId("asked").textContent = `${data.asked}; ${data.tool}`;
byId("findings").append(...data.findings.map((text) => element("li", {}, text)));
byId("command").textContent = data.command;
byId("copy-command").addEventListener("click", (event) => copy(data.command, event.currentTarget));
byId("tool").textContent = `Made by ${data.tool} with: ${data.command}`;
byId("filters").append(filterGroup("Networks", "network", data.networks), filterGroup("Architectures", "arch", archNames),
  filterGroup("Dataflows", "dataflow", data.dataflows));
draw();
let drawnFor = plotWidth();
addEventListener("resize", () => { // plots are as wide as the page
  if (plotWidth() === drawnFor) return;
  drawnFor = plotWidth();
  draw();
});
document.documentElement.dataset.ready = "yes";
