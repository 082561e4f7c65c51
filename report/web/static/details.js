// The detail of one row, bar or dot, in a dialog or below its row: parts, picture, and the command that finds it again.

/** Show a detail in the dialog: a title, a sentence of figures, parts with headings, and a command. */
function openDetails(detail) {
  byId("details-title").textContent = detail.title;
  byId("details-figures").textContent = detail.figures;
  byId("details-body").replaceChildren(...detailParts(detail));
  byId("details").showModal();
  byId("details").scrollTop = 0;
}

function detailParts({ parts, command }) {
  const shown = parts.flatMap((part) => [element("h3", {}, part.head), detailPart(part)]);
  if (command) {
    shown.push(element("h3", {}, "Find it again"),
      element("p", { class: "command" }, element("code", {}, command), copyButton(command)));
  }
  return shown;
}

/** The row below a row that has unfolded. */
const unfolded = (row) => (row.nextElementSibling?.classList.contains("unfolded") ? row.nextElementSibling : null);

/** Show the detail of a row in a row below it, or take it away. */
function unfold(row, isOpen) {
  row.querySelector("button").setAttribute("aria-expanded", isOpen);
  if (!isOpen) return unfolded(row)?.remove();
  if (unfolded(row)) return;
  const parts = element("div", { class: "parts" }, ...detailParts(detailOf(row.dataset.of)));
  const place = document.querySelector(`.lanes [data-detail="${row.dataset.of}"]`);
  if (place) parts.prepend(element("p", {}, element("button", { type: "button", onclick: () => seek(row.dataset.of) }, "Show in the timeline")));
  row.after(element("tr", { class: "unfolded" }, element("td", { class: "text", colspan: row.cells.length }, parts)));
}

/** To what is drawn of a detail. */
function seek(name) {
  const place = document.querySelector(`.lanes [data-detail="${name}"]`);
  place.scrollIntoView({ block: "center", inline: "center" });
  place.focus();
}

/** A part is pairs of name and value, a table, a text with its lines as they are, a picture, or sentences. */
function detailPart(part) {
  if (part.pairs) return pairList(part.pairs);
  if (part.rows) return element("div", { class: "wide" }, plainTable(part.columns, part.rows));
  if (part.text != null) return element("pre", { tabindex: 0, id: part.id }, part.text);
  if (part.picture != null) return drawing(part.picture, part.about ?? part.head);
  return element("ul", {}, ...part.sentences.map((text) => element("li", {}, text)));
}

const pairList = (pairs) => element("dl", {}, ...pairs.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));

/** A table of texts; columns are [title, whether its cells are words]. */
function plainTable(columns, rows) {
  const kind = (i) => (columns[i][1] ? "text" : "");
  return element("table", {},
    element("thead", {}, element("tr", {}, ...columns.map(([name], i) => element("th", { class: kind(i), scope: "col" }, name)))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((cell, i) => element("td", { class: kind(i) }, cell))))));
}

let unpacked = null;

/** All pictures of the page, which are kept compressed. */
function pictures() {
  unpacked ??= (async () => {
    const bytes = Uint8Array.from(atob(data.pictures), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  })();
  return unpacked;
}

/** A picture by its number, in a shadow, so that its style holds for nothing else; a narrow page scrolls it. */
function drawing(number, about) {
  const place = element("div", { class: "drawing", tabindex: 0, role: "img", "aria-label": about });
  const fill = async () => {
    place.attachShadow({ mode: "open" }).innerHTML = (await pictures())[number];
  };
  if (typeof DecompressionStream === "undefined") place.textContent = "This browser is too old to unpack the picture.";
  else fill();
  return place;
}

byId("details").addEventListener("click", (event) => {
  if (event.target === byId("details")) byId("details").close(); // a click beside it
});
