// A passage that an answer rests on, with what in it answers the question.

import { element, link } from "./dom.js";
import { read } from "./service.js";

const dialog = document.getElementById("passage");
const text = document.getElementById("passage-text");
const legend = document.getElementById("passage-legend");

document.getElementById("passage-close").addEventListener("click", () => dialog.close());
dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());

/** Open the chunk `id` as somebody reads it who asked `question` and was told `answer`. */
export async function openPassage(id, question, answer) {
  fill({ title: "Loading …" });
  dialog.showModal();
  try {
    fill(await read(`api/chunks/${encodeURIComponent(id)}`, { question: question.slice(0, 2000) }), answer);
  } catch (error) {
    fill({ title: "The passage cannot be shown", text: error.message });
  }
}

function fill({ title, section = "", url = "", text: words = "", units = [], matches = [] }, answer = "") {
  document.getElementById("passage-title").textContent = title;
  document.getElementById("passage-section").textContent = section || "";
  document.getElementById("passage-link").replaceChildren(...(url ? [link(url, url)] : []));
  const marked = answering(units, Array.from(words), answer);
  text.replaceChildren(...marks(words, marked, matches));
  legend.hidden = !marked.length;
  text.querySelector("mark.unit")?.scrollIntoView({ block: "center" });
}

/** The units that `answer` quotes, or else the one that answers best. */
function answering(units, points, answer) {
  const said = plain(answer);
  const quoted = units.filter(({ start, end }) => said.includes(plain(points.slice(start, end).join(""))));
  if (quoted.length) return quoted;
  const best = Math.max(...units.map((unit) => unit.score));
  return units.filter(({ score }) => score > 0 && score === best);
}

/** The words of `text`, whatever its markup and its blanks. */
function plain(text) {
  return ` ${(text.match(/[\p{L}\p{N}]+/gu) || []).join(" ")} `;
}

/** `words` in pieces, each marked as what it is part of: offsets count characters as the service does. */
function marks(words, units, matches) {
  const points = Array.from(words);
  const from = Array.from(/^(#+ .*\n+)*/.exec(words)[0]).length; // title and section stand above
  const bounds = new Set([from, points.length]);
  for (const { start, end } of [...units, ...matches]) bounds.add(start).add(end);
  const cuts = [...bounds].filter((at) => at >= from && at <= points.length).sort((a, b) => a - b);
  return cuts.slice(0, -1).map((start, index) => {
    const piece = points.slice(start, cuts[index + 1]).join("");
    const within = (span) => span.start <= start && start < span.end;
    const names = [units.some(within) && "unit", matches.some(within) && "word"].filter(Boolean);
    return names.length ? element("mark", { class: names.join(" "), text: piece }) : document.createTextNode(piece);
  });
}
