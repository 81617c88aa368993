// A passage that an answer rests on, with what in it answers the question.

import { at, element, link } from "./dom.js";
import { elements } from "./rendered.js";
import { read } from "./service.js";

const dialog = at("passage");
const text = at("passage-text");
let opened = 0;

at("passage-close").addEventListener("click", () => dialog.close());
dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
dialog.addEventListener("close", () => named() && history.replaceState(null, "", location.pathname + location.search));

/** Open the chunk `id` as somebody reads it who asked `question` and was told `answer`, which rests on `quote` in it. */
export async function openPassage(id, question = "", answer = "", quote = "") {
  opened += 1;
  const mine = opened;
  fill({ title: "Loading …" });
  if (!dialog.open) dialog.showModal();
  let told;
  try {
    told = await read(`api/chunks/${encodeURIComponent(id)}`, { ...(question && { question: question.slice(0, 2000) }), rendered: true });
  } catch (error) {
    told = { title: "The passage cannot be shown", rendered: [error.message] };
  }
  if (mine === opened) fill(told, answer, quote);
}

/** Open the passage that the page's address names (`#id_42`), or close it where that names none any more. */
export function followAddress() {
  const id = named();
  if (id) openPassage(id);
  else dialog.close();
}

function named() {
  return /^#(id_[0-9]+)$/.exec(location.hash)?.[1];
}

function fill({ title, section = "", url = "", text: source = "", rendered = [], units = [], matches = [] }, answer, quote) {
  at("passage-title").textContent = title;
  at("passage-section").textContent = section || "";
  at("passage-link").replaceChildren(...(url ? [link(url, url)] : []));
  const marked = answering(units, Array.from(source), answer, quote);
  const below = rendered.findIndex((node) => !/^h[1-6]$/.test(node.tag)); // title and section stand above
  text.replaceChildren(...elements(below < 0 ? [] : rendered.slice(below), { words: marker(source, marked, matches) }));
  at("passage-legend").hidden = !marked.length;
  text.scrollTop = 0;
  text.querySelector("mark.unit")?.scrollIntoView({ block: "center" });
}

/** The units that hold `quote` or are held by it, or else those that `answer` quotes, or else the one that answers best. */
function answering(units, points, answer = "", quote = "") {
  const [told, said] = [plain(quote), plain(answer)];
  const words = (unit) => plain(points.slice(unit.start, unit.end).join(""));
  const shown = units.filter((unit) => words(unit).trim());
  const meant = quote ? shown.filter((unit) => told.includes(words(unit)) || words(unit).includes(told)) : [];
  if (meant.length) return meant;
  const quoted = shown.filter((unit) => said.includes(words(unit)));
  if (quoted.length) return quoted;
  const best = Math.max(...units.map((unit) => unit.score));
  return units.filter(({ score }) => score > 0 && score === best);
}

/** The words of `text`, whatever its markup and its blanks. */
function plain(text) {
  return ` ${(text.match(/[\p{L}\p{N}]+/gu) || []).join(" ")} `;
}

/** Turns the passage's words, one run after the other, into text with marks: each run is sought in `source`. */
function marker(source, units, matches) {
  const places = [0]; // offsets count characters as the service does, strings do not
  for (const point of source) places.push(places.at(-1) + point.length);
  const placed = (spans) => spans.map(({ start, end }) => ({ start: places[start], end: places[end] }));
  const [answers, met] = [placed(units), placed(matches)];
  let from = 0;
  return (run) => {
    const start = source.indexOf(run, from);
    if (start < 0) return [document.createTextNode(run)]; // the source writes it otherwise, as with &amp;
    from = start + run.length;
    return pieces(source, start, from, answers, met);
  };
}

function pieces(source, start, end, answers, met) {
  const bounds = [...answers, ...met].flatMap((span) => [span.start, span.end]).filter((at) => at > start && at < end);
  const cuts = [...new Set([start, ...bounds, end])].sort((a, b) => a - b);
  return cuts.slice(0, -1).map((at, index) => {
    const within = (span) => span.start <= at && at < span.end;
    const names = [answers.some(within) && "unit", met.some(within) && "word"].filter(Boolean);
    const piece = source.slice(at, cuts[index + 1]);
    return names.length ? element("mark", { class: names.join(" "), text: piece }) : document.createTextNode(piece);
  });
}
