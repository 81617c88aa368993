// The view of a passage with the answering parts marked: beside the answer, or as a dialog above it.

import { here, passageNamed } from "./address.js";
import { at, element, link } from "./dom.js";
import { explain } from "./errors.js";
import { elements, allowFocus } from "./rendered.js";
import { read } from "./service.js";
import { say } from "./strings.js";

const LEAST_WEIGHT = 0.3; // least weight of a marked word: 1.3 % of these are function words, of all that the service returns 4.8 %
const ENDS = 5; // words at the beginning and at the end of a text fragment's address
const dialog = at("passage");
const text = at("passage-text");
const wide = matchMedia("(min-width: 1100px)");
let opened = 0;
let row = [];
let place = 0;

at("passage-close").addEventListener("click", close);
at("passage-previous").addEventListener("click", () => step(-1));
at("passage-next").addEventListener("click", () => step(1));
dialog.addEventListener("click", ({ target }) => target === dialog && close());
dialog.addEventListener("close", tidy);
addEventListener("keydown", (event) => {
  if (!dialog.open || event.target.closest("textarea, input, .scroll, pre")) return;
  if (event.key === "Escape") close();
  if (event.key === "ArrowLeft") step(-1);
  if (event.key === "ArrowRight") step(1);
});

/** Open the passage `{ id, question, answer, quote, chip }`; the arrow keys lead through `among`. */
export function openPassage(passage, among = [passage]) {
  const { chip, ...kept } = passage;
  const way = dialog.open || history.state?.spent ? "replaceState" : "pushState"; // one Back closes the passage
  history[way]({ passage: kept }, "", here(`#${passage.id}`));
  show(passage, among);
}

/** Open the passage in the address (`#id_42`), or close the passage if there is none. */
export function followAddress() {
  const id = passageNamed();
  const known = history.state?.passage;
  if (id) show(known?.id === id ? known : { id });
  else if (dialog.open) close();
}

function close() {
  dialog.close();
  tidy(); // without waiting for the event
}

function tidy() {
  document.body.classList.remove("beside");
  row[place]?.chip?.removeAttribute("aria-current");
  if (passageNamed()) history.replaceState({ spent: true }, "", here());
}

function step(by) {
  const next = row[place + by];
  if (next) openPassage(next, row);
}

async function show(passage, among = [passage]) {
  opened += 1;
  const mine = opened;
  row[place]?.chip?.removeAttribute("aria-current");
  [row, place] = [among, Math.max(0, among.indexOf(passage))];
  passage.chip?.setAttribute("aria-current", "true");
  at("passage-steps").hidden = row.length < 2;
  at("passage-place").textContent = say("ofAll", { n: place + 1, all: row.length });
  at("passage-previous").disabled = !place;
  at("passage-next").disabled = place === row.length - 1;
  fill({ title: say("loading") }, passage);
  if (!dialog.open) {
    document.body.classList.toggle("beside", wide.matches);
    dialog[wide.matches ? "show" : "showModal"]();
  }
  const { id, question = "" } = passage;
  let told;
  try {
    told = await read(`api/chunks/${encodeURIComponent(id)}`, { ...(question && { question: question.slice(0, 2000) }), rendered: true });
  } catch (error) {
    told = { title: say("notShown"), rendered: [explain(error).sentence] };
  }
  if (mine === opened) fill(told, passage);
}

function fill({ title, section = "", url = "", text: source = "", rendered = [], before = [], after = [], units = [], matches = [] }, { answer, quote }) {
  at("passage-title").textContent = title;
  at("passage-section").textContent = section || "";
  const points = Array.from(source);
  const marked = findUnits(units, points, answer, quote);
  const sought = quote || marked.map(({ start, end }) => points.slice(start, end).join("")).join(" ");
  at("passage-link").replaceChildren(...(url ? [link(linkAt(url, sought), say("atPlace"))] : []));
  const above = toWords(`${title} ${section || ""}`);
  const below = rendered.findIndex((node) => !/^h[1-6]$/.test(node.tag) || !above.includes(toWords(elements([node])[0].textContent)));
  const shown = matches.filter(({ weight }) => weight >= LEAST_WEIGHT);
  text.replaceChildren(
    ...around(before),
    ...elements(below < 0 ? [] : rendered.slice(below), { words: marker(source, marked, shown) }),
    ...around(after),
  );
  allowFocus(text);
  at("passage-legend").hidden = !marked.length;
  text.scrollTop = 0;
  const first = text.querySelector("mark.unit") || text.querySelector(".around + *");
  if (first) text.scrollTop = first.offsetTop - text.offsetTop - text.clientHeight / 3;
}

function around(told) {
  const nodes = told.map((node) => (/^h[1-6]$/.test(node.tag) ? { tag: "p", children: [{ tag: "strong", children: node.children }] } : node));
  return nodes.length ? [element("div", { class: "around quiet", role: "group", "aria-label": say("around") }, ...elements(nodes))] : [];
}

/** Return `url` with a text fragment, so that browsers scroll to `quote`. */
function linkAt(url, quote) {
  const words = quote.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word));
  const ends = words.length > 2 * ENDS ? [words.slice(0, ENDS), words.slice(-ENDS)] : [words];
  const coded = ends.map((some) => encodeURIComponent(some.join(" ")).replaceAll("-", "%2D"));
  return words.length ? `${url}${url.includes("#") ? "" : "#"}:~:text=${coded.join(",")}` : url;
}

/** Return the units that overlap `quote`, or else those that `answer` quotes, or else the one with the best score. */
function findUnits(units, points, answer = "", quote = "") {
  const [told, said] = [toWords(quote), toWords(answer)];
  const words = (unit) => toWords(points.slice(unit.start, unit.end).join(""));
  const shown = units.filter((unit) => words(unit).trim());
  const meant = quote ? shown.filter((unit) => told.includes(words(unit)) || words(unit).includes(told)) : [];
  if (meant.length) return meant;
  const quoted = shown.filter((unit) => said.includes(words(unit)));
  if (quoted.length) return quoted;
  const best = Math.max(...units.map((unit) => unit.score));
  return units.filter(({ score }) => score > 0 && score === best);
}

/** Return the words of `text` without markup, separated by single blanks. */
function toWords(text) {
  return ` ${(text.match(/[\p{L}\p{N}]+/gu) || []).join(" ")} `;
}

/** Return a function that turns the passage's text runs, in order, into text with marks; it finds each run in `source`. */
function marker(source, units, matches) {
  const [points, places] = [Array.from(source), []]; // offsets count characters as the service does, strings do not
  let flat = ""; // without what escapes: of four AWS guides 60 % of the words would not be found with it, so 4 %
  points.forEach((point, index) => {
    places.push(flat.length);
    if (point !== "\\" || /[\w\s]/.test(points[index + 1])) flat += point;
  });
  places.push(flat.length);
  const [answers, met] = [units, matches].map((spans) => spans.map(({ start, end }) => [places[start], places[end]]));
  let from = 0;
  return (run) => {
    const start = flat.indexOf(run, from);
    if (start < 0) return [run]; // the source writes it otherwise, as with &amp;
    from = start + run.length;
    return pieces(flat, start, from, answers, met);
  };
}

function pieces(source, start, end, answers, met) {
  const bounds = [...answers, ...met].flat().filter((at) => at > start && at < end);
  const cuts = [...new Set([start, ...bounds, end])].sort((a, b) => a - b);
  return cuts.slice(0, -1).map((at, index) => {
    const within = ([first, last]) => first <= at && at < last;
    const names = [answers.some(within) && "unit", met.some(within) && "word"].filter(Boolean);
    const piece = source.slice(at, cuts[index + 1]);
    return names.length ? element("mark", { class: names.join(" "), text: piece }) : piece;
  });
}
