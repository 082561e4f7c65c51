// One tab stop for many buttons of a plot, a table, or a list of bars: arrow keys go from one to the next.

const ROVING = ".plot > svg, .lanes > svg, tbody, #bars", STOPS = "[role=button], button";

/** The buttons of a place that are shown; not those of what has unfolded inside it, which are stops of their own. */
const stopsOf = (place) => [...place.querySelectorAll(STOPS)].filter((one) => !one.closest("[hidden], .unfolded"));

/** Let the tab key stop at one of a place's buttons alone: where it was, else at the first. */
function oneStop(place, wanted = null) {
  const stops = stopsOf(place), stop = wanted ?? stops.find((one) => one.tabIndex === 0) ?? stops[0];
  for (const one of stops) one.tabIndex = one === stop ? 0 : -1;
}

const oneStopEach = (within = document) => within.querySelectorAll(ROVING).forEach((place) => oneStop(place));

/** Where a key leads from a button: in a table with one button in a row, left and right are left to scrolling. */
function next(key, at, stops) {
  const row = stops[at].closest("tr"), beside = row ? row.querySelectorAll(STOPS).length : 0;
  const across = beside === 1 ? {} : { ArrowLeft: at - 1, ArrowRight: at + 1 };
  return { Home: 0, End: stops.length - 1, ArrowUp: at - (beside || 1), ArrowDown: at + (beside || 1), ...across }[key];
}

document.addEventListener("keydown", (event) => {
  const place = event.target.closest(ROVING), stops = place ? stopsOf(place) : [], at = stops.indexOf(event.target);
  const found = at < 0 || event.ctrlKey || event.altKey || event.metaKey ? null : stops[next(event.key, at, stops)];
  if (!found) return;
  event.preventDefault();
  found.focus();
});

document.addEventListener("focusin", (event) => {
  const place = event.target.closest(ROVING);
  if (place && stopsOf(place).includes(event.target)) oneStop(place, event.target);
});
