// The citation chips of an answer, which open its passages, and the list of its sources.

import { at, button, element, link, titled } from "./dom.js";
import { openPassage } from "./passage.js";
import { say } from "./strings.js";

const SUPPORT = { supported: say("says"), partial: say("saysPartly"), unsupported: say("saysNot") };
const quote = at("quote");

/** The chips of one answer to `question`; `references` may arrive after the chips, which are then labelled anew. */
export class Chips {
  constructor(question) {
    this.question = question;
    this.answer = "";
    this.references = [];
  }

  /** Render a citation node: a button, or the number if its passage is unknown. */
  make = ({ n, chunkId }) => {
    const chunk = chunkId || this.reference(n)?.chunkId;
    if (!chunk) return element("span", { text: `[${n}]` });
    const chip = button(String(n), () => this.open(chip), "chip", { "data-n": n, "data-chunk": chunk });
    this.label(chip);
    return chip;
  };

  reference(n, chunkId) {
    return this.references.find((one) => one.n === Number(n)) || this.references.find((one) => one.chunkId === chunkId);
  }

  /** Open the passage of `chip`; the arrow keys lead to the passages of the chips beside it. */
  open(chip) {
    hideQuote();
    const chips = [...(chip.closest(".answer") || chip.closest(".sources") || chip.parentNode).querySelectorAll(".chip")];
    const first = chips.filter((one, index) => one === chip || !chips.slice(0, index).concat(chip).some(({ dataset }) => dataset.chunk === one.dataset.chunk));
    const row = first.map((one) => this.passage(one.dataset.chunk, one.dataset.n, one));
    openPassage(row[first.indexOf(chip)], row);
  }

  passage(id, n, chip) {
    return { id, question: this.question, answer: this.answer, quote: this.reference(n, id)?.quote, chip };
  }

  /** Label `chip` with its source and whether that supports the claim before or around the chip. */
  label(chip) {
    const { n, chunk } = chip.dataset;
    const reference = this.reference(n, chunk);
    const support = statementOf(chip) || reference?.support;
    const words = Object.hasOwn(SUPPORT, support || "") ? ` (${SUPPORT[support]})` : "";
    const name = reference ? [reference.title, reference.section].filter(Boolean).join(", ") : say("passage");
    chip.className = words ? `chip ${support}` : "chip";
    chip.setAttribute("aria-label", say("source", { n, name }) + words);
    chip.dataset.quote = reference?.quote || "";
  }
}

function statementOf(chip) {
  let before = chip.previousSibling;
  while (before && (before.nodeType === Node.TEXT_NODE ? !before.data.trim() : before.matches(".chip, .note"))) before = before.previousSibling;
  const statement = chip.closest(".statement") || (before?.matches?.(".statement") ? before : null);
  return Object.keys(SUPPORT).find((support) => statement?.classList.contains(support));
}

/** Return the section of the sources, passages by document; null without references. */
export function sources(references, chips) {
  if (!references.length) return null;
  const documents = new Map();
  for (const one of references) {
    const id = one.docId || one.url || one.title;
    documents.set(id, [...(documents.get(id) || []), one]);
  }
  const items = [...documents.values()].map((passages) => element("li", {}, ...entry(passages, chips)));
  return titled(say("sources"), element("ul", { class: "sources" }, ...items));
}

function entry(passages, chips) {
  const { title, url, chunkId, n } = passages[0];
  const lines = passages.map((one) => {
    const section = one.section ? element("span", { text: one.section }) : null;
    const words = one.quote ? element("span", { class: "quote", text: one.quote }) : null;
    return element("li", {}, chips.make(one), element("div", { class: "quiet" }, section, words));
  });
  const name = button(title, () => openPassage(chips.passage(chunkId, n)), "as-link title");
  const where = url ? site(url, title) : element("span", { class: "quiet", text: ` · ${say("internal")}` });
  return [element("div", {}, name, where), element("ol", {}, ...lines)];
}

function site(url, title) {
  const made = link(url, "↗", "site");
  if (made.href) made.setAttribute("aria-label", say("site", { title }));
  return made.href ? made : null;
}

for (const begins of ["mouseover", "focusin"]) addEventListener(begins, ({ target }) => target.matches?.(".chip") && showQuote(target));
for (const ends of ["mouseout", "focusout", "scroll"]) addEventListener(ends, hideQuote, { passive: true });
addEventListener("keydown", ({ key }) => key === "Escape" && hideQuote());

/** Show the quote of a chip beside it. */
function showQuote(chip) {
  quote.replaceChildren(element("b", { text: chip.getAttribute("aria-label") }), chip.dataset.quote);
  quote.hidden = false;
  chip.setAttribute("aria-describedby", "quote");
  const { left, top, bottom } = chip.getBoundingClientRect();
  const below = bottom + quote.offsetHeight + 8 < innerHeight;
  quote.style.left = `${Math.max(8, Math.min(left, innerWidth - quote.offsetWidth - 8))}px`;
  quote.style.top = `${below ? bottom + 8 : Math.max(8, top - quote.offsetHeight - 8)}px`;
}

function hideQuote() {
  quote.hidden = true;
  for (const chip of document.querySelectorAll("[aria-describedby=quote]")) chip.removeAttribute("aria-describedby");
}
