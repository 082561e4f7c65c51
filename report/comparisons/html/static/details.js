// The dialog of one mapping: figures, loop nest, certificate, and the command that finds it again.

function showDetails(row) {
  byId("details-title").textContent = `${row.layer} of ${row.network} on ${row.arch}, ${row.dataflow}`;
  const times = row.repeat > 1 ? `; it occurs ${row.repeat} times` : "";
  byId("details-figures").textContent = row.energy == null
    ? (row.status === "failed" ? "The search could not be run to its end." : "There is no mapping.")
    : `${energy(row.energy)}, ${seconds(row.seconds)}, ${percent(row.utilization)} of the MACs busy, `
      + `limited by ${row.limit}${row.penalty ? `, ${factor(row.penalty)} the free choice` : ""}${times}.`;
  byId("details-body").replaceChildren(...(row.energy == null ? reason(row) : mappingOf(row)), ...commandOf(row));
  byId("details").showModal();
}

const reason = (row) => [element("h3", {}, "Why"), element("pre", {}, data.texts[row.diagnosis])];

function mappingOf(row) {
  const waits = Object.entries(row.waits).map(([name, cycles]) => `${name} ${significant(cycles)}`).join(", ");
  return [
    element("h3", {}, "Loop nest"), element("pre", { tabindex: 0, id: "details-nest" }, data.texts[row.nest]),
    element("h3", {}, "Certificate"), list(row.certificate),
    element("h3", {}, "Energy"), list(row.parts.map(([place, tensor, pj]) =>
      [`${place} ${tensor}`.trim(), `${energy(pj)}, ${percent(pj / row.energy)}`])),
    element("h3", {}, "Cycles needed"), element("p", {}, waits),
  ];
}

const list = (pairs) => element("dl", {}, ...pairs.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));

function commandOf(row) {
  const text = data.texts[row.command];
  return [element("h3", {}, "Find it again"), element("p", { class: "command" }, element("code", {}, text), copyButton(text))];
}

byId("details").addEventListener("click", (event) => {
  if (event.target === byId("details")) byId("details").close(); // a click beside it
});
