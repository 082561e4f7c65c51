// The dialog of one mapping: figures, picture, loop nest, certificate, and the command that finds it again.

function showMapping(row) {
  const times = row.repeat > 1 ? `; it occurs ${row.repeat} times` : "";
  const figures = row.energy == null
    ? (row.status === "failed" ? "The search could not be run to its end." : "There is no mapping.")
    : `${energy(row.energy)}, ${seconds(row.seconds)}, ${percent(row.utilization)} of the MACs busy, `
      + `limited by ${row.limit}${row.penalty ? `, ${factor(row.penalty)} the free choice` : ""}${times}.`;
  openDetails({
    title: `${row.layer} of ${row.network} on ${row.arch}, ${row.dataflow}`,
    figures, parts: row.energy == null ? [{ head: "Why", text: data.texts[row.diagnosis] }] : mappingParts(row),
    command: data.texts[row.command],
  });
}

function mappingParts(row) {
  const waits = Object.entries(row.waits).map(([name, cycles]) => [name, significant(cycles)]);
  const shares = row.parts.map(([place, tensor, pj]) => [`${place} ${tensor}`.trim(), energy(pj), percent(pj / row.energy)]);
  const drawn = row.picture == null ? [] : [{ head: "Mapping", picture: row.picture, about: `The loop nest of ${row.layer} with tiles and marks` }];
  return [
    { head: "Certificate", pairs: row.certificate }, ...drawn, { head: "Loop nest", text: data.texts[row.nest], id: "details-nest" },
    { head: "Energy", columns: [["place", true], ["energy", false], ["share", false]], rows: shares },
    { head: "Cycles needed", pairs: waits },
  ];
}
