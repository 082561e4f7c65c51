// Numbers as people read them, and elements made in one line.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const drawings = []; // functions that draw something as wide as the page: called at first, and when the width changes

const ENERGY = [[1e12, "J"], [1e9, "mJ"], [1e6, "uJ"], [1e3, "nJ"], [1, "pJ"]];
const TIME = [[1, "s"], [1e-3, "ms"], [1e-6, "us"], [1e-9, "ns"]];

function significant(value, digits = 4) {
  if (value === 0) return "0";
  if (Math.abs(value) >= 1000 && Math.abs(value) < 1e9) return Math.round(value).toLocaleString("en-US");
  const short = Math.abs(value) < 1e9 && Math.abs(value) >= 1e-3 ? value.toPrecision(digits) : value.toExponential(digits - 1);
  const [mantissa, exponent] = short.split("e");
  const plain = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
  return exponent === undefined ? plain : `${plain}e${exponent.replace("+", "")}`;
}

function scaled(value, units) {
  const [scale, unit] = units.find(([s]) => Math.abs(value) >= s) ?? units[units.length - 1];
  return `${significant(value / scale)} ${unit}`;
}

const energy = (pj) => scaled(pj, ENERGY);
const seconds = (s) => scaled(s, TIME);
const percent = (share) => `${(100 * share).toFixed(1)}%`;
const factor = (value) => (value == null ? "" : `${value.toFixed(value < 10 ? 3 : 1)}×`);
const RATE = [[1e15, "PMAC/s"], [1e12, "TMAC/s"], [1e9, "GMAC/s"], [1e6, "MMAC/s"], [1, "MAC/s"]];
const rate = (perSecond) => scaled(perSecond, RATE);
const COUNT = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
const BYTES = [[1024 ** 3, "GiB"], [1024 ** 2, "MiB"], [1024, "KiB"], [1, "B"]];
const amount = (value) => scaled(value, COUNT).trim();
const bytes = (value) => scaled(value, BYTES);

const FLOPS = RATE.map(([scale, unit]) => [scale, unit.replace("MAC/s", "FLOP/s")]);

/** How numbers of an axis are written, by the unit that they are in. */
const UNITS = { "FLOP/s": (value) => scaled(value, FLOPS), pJ: energy, s: seconds, "MAC/s": rate, B: bytes, count: amount, plain: (value) => significant(value), "%": percent };
const SCALES = new Map([[energy, ENERGY], [seconds, TIME], [rate, RATE], [bytes, BYTES], [amount, COUNT]]);

/** The same for a short axis: one unit, and as many digits as tell neighbours apart. */
function inOneUnit(text, low, high) {
  const units = SCALES.get(text);
  if (!units) return text;
  const most = Math.max(Math.abs(low), Math.abs(high));
  const [scale, unit] = units.find(([one]) => most >= one) ?? units[units.length - 1];
  return (value) => `${Number((value / scale).toPrecision(6))} ${unit}`.trim();
}

/** An element with attributes (`on...` are listeners) and children, which are elements or texts. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value != null) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/** The same for SVG; a `title` child names a shape for screen readers and shows when it is pointed at. */
function shape(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/** A button that puts a text on the clipboard, and says so. */
function copyButton(text) {
  const button = element("button", { type: "button" }, "Copy");
  button.addEventListener("click", () => copy(text, button));
  return button;
}

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // pages opened as files may have no clipboard
    const area = element("textarea", {}, text);
    button.after(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}

/** Things by what they have in common, in the order in which each is seen first. */
function grouped(things, key) {
  const found = new Map();
  for (const one of things) {
    if (!found.has(key(one))) found.set(key(one), []);
    found.get(key(one)).push(one);
  }
  return found;
}
