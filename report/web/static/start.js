// What static pages ask for by attributes: tables, plots, dialogs; and drawing anew when the width changes.

function detailOf(name) {
  const found = data.details[name];
  return { ...found, parts: found.parts.map((part) => (part.shared == null ? part : data.shared[part.shared])) };
}

let lastChosen = null;

function markChosen() {
  for (const one of document.querySelectorAll("[data-detail], [data-of]")) {
    one.classList.toggle("chosen", (one.dataset.detail ?? one.dataset.of) === lastChosen);
  }
}

/** Show a detail: in the table that it unfolds in, or in a dialog; the row or dot that was chosen stays marked. */
function choose(name) {
  lastChosen = name;
  markChosen();
  const row = document.querySelector(`table.unfolds tr[data-of="${name}"]`);
  if (!row) return openDetails(detailOf(name));
  row.hidden = false;
  unfold(row, true);
  row.closest(".wide").scrollLeft = 0;
  row.cells[0].scrollIntoView({ block: "start" });
  row.querySelector("button").focus({ preventScroll: true });
}

document.addEventListener("click", (event) => {
  const found = event.target.closest("[data-detail]"), row = found?.closest("table.unfolds tr");
  if (row && unfolded(row)) unfold(row, false);
  else if (found) choose(found.dataset.detail);
});

function drawAll() {
  for (const place of document.querySelectorAll("[data-plot]")) drawPlot(place, data.plots[place.dataset.plot]);
  for (const place of document.querySelectorAll("[data-timeline]")) drawTimeline(place, data.timelines[place.dataset.timeline]);
  markChosen();
}

for (const table of document.querySelectorAll("table.sorts")) {
  sortable(table);
  filterable(table);
  for (const button of table.querySelectorAll(".unfolds tr[data-of] button")) button.setAttribute("aria-expanded", "false");
}
for (const button of document.querySelectorAll("[data-copy]")) button.addEventListener("click", () => copy(button.dataset.copy, button));
drawings.push(drawAll, () => document.querySelectorAll(".wide").forEach(scrolling), () => oneStopEach());
const drawEverything = () => drawings.forEach((draw) => draw());
drawEverything();
let drawnFor = plotWidth();
addEventListener("resize", () => {
  if (plotWidth() === drawnFor) return;
  drawnFor = plotWidth();
  drawEverything();
});
document.documentElement.dataset.ready = "yes";
