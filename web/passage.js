// A passage that an answer rests on, with what in it answers the question.

import { element, link } from "./dom.js";
import { read } from "./service.js";

const dialog = document.getElementById("passage");
const text = document.getElementById("passage-text");
const legend = document.getElementById("passage-legend");
const ENOUGH = 0.9; // of the best unit's score: units that answer as well are marked too

document.getElementById("passage-close").addEventListener("click", () => dialog.close());
dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());

/** Open the chunk `id` as somebody reads it who asked `question`. */
export async function openPassage(id, question) {
  fill({ title: "Loading …" });
  dialog.showModal();
  try {
    fill(await read(`api/chunks/${encodeURIComponent(id)}`, question ? { question: question.slice(0, 2000) } : {}));
  } catch (error) {
    fill({ title: "The passage cannot be shown", text: error.message });
  }
}

function fill({ title, section = "", url = "", text: words = "", units = [], matches = [] }) {
  document.getElementById("passage-title").textContent = title;
  document.getElementById("passage-section").textContent = section || "";
  document.getElementById("passage-link").replaceChildren(...(url ? [link(url, url)] : []));
  const best = Math.max(0, ...units.map((unit) => unit.score));
  const marked = best > 0 ? units.filter((unit) => unit.score >= ENOUGH * best) : [];
  text.replaceChildren(...marks(words, marked, matches));
  legend.hidden = !marked.length;
  text.querySelector("mark.unit")?.scrollIntoView({ block: "center" });
}

/** `words` in pieces, each marked as what it is part of: offsets count characters as the service does. */
function marks(words, units, matches) {
  const points = Array.from(words);
  const bounds = new Set([0, points.length]);
  for (const { start, end } of [...units, ...matches]) bounds.add(start).add(end);
  const cuts = [...bounds].filter((at) => at >= 0 && at <= points.length).sort((a, b) => a - b);
  return cuts.slice(0, -1).map((start, index) => {
    const piece = points.slice(start, cuts[index + 1]).join("");
    const within = (span) => span.start <= start && start < span.end;
    const names = [units.some(within) && "unit", matches.some(within) && "word"].filter(Boolean);
    return names.length ? element("mark", { class: names.join(" "), text: piece }) : document.createTextNode(piece);
  });
}
