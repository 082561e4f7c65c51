// The dialog of one row, bar or dot: figures, parts, picture, and the command that finds it again.

/** Show a detail: a title, a sentence of figures, parts with headings, and a command. */
function openDetails({ title, figures = "", parts = [], command = null }) {
  byId("details-title").textContent = title;
  byId("details-figures").textContent = figures;
  const shown = parts.flatMap((part) => [element("h3", {}, part.head), detailPart(part)]);
  if (command) {
    shown.push(element("h3", {}, "Find it again"),
      element("p", { class: "command" }, element("code", {}, command), copyButton(command)));
  }
  byId("details-body").replaceChildren(...shown);
  byId("details").showModal();
  byId("details").scrollTop = 0;
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
