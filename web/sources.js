// The chips of an answer, each of which opens the passage that it stands for, and the list of its sources.

import { element, link } from "./dom.js";
import { openPassage } from "./passage.js";

const SUPPORT = { supported: "says this, word for word", partial: "says this in other words", unsupported: "does not support this" };

/** The chips of one answer to `question`. What they say follows `references`, which may come after them. */
export class Chips {
  constructor(question) {
    this.question = question;
    this.answer = "";
    this.references = [];
  }

  /** What stands for the node of a citation: a button, or the number where no passage is known. */
  make = ({ n, chunkId }) => {
    const chunk = chunkId || this.reference(n)?.chunkId;
    if (!chunk) return element("span", { text: `[${n}]` });
    const chip = element("button", {
      type: "button", class: "chip", text: String(n), "data-n": n, "data-chunk": chunk, onclick: () => this.open(chip),
    });
    this.label(chip);
    return chip;
  };

  reference(n, chunkId) {
    return this.references.find((one) => one.n === Number(n)) || this.references.find((one) => one.chunkId === chunkId);
  }

  open({ dataset }) {
    return openPassage(dataset.chunk, this.question, this.answer, this.reference(dataset.n, dataset.chunk)?.quote);
  }

  /** Let `chip` say its source and whether that supports the statement it stands in or behind. */
  label(chip) {
    const { n, chunk } = chip.dataset;
    const reference = this.reference(n, chunk);
    const support = statementOf(chip) || reference?.support;
    const words = Object.hasOwn(SUPPORT, support || "") ? ` (${SUPPORT[support]})` : "";
    const label = `Source ${n}: ${reference ? named(reference) : "passage"}${words}`;
    chip.className = words ? `chip ${support}` : "chip";
    chip.title = label;
    chip.setAttribute("aria-label", label);
  }
}

function statementOf(chip) {
  let before = chip.previousSibling;
  while (before && (before.nodeType === Node.TEXT_NODE ? !before.data.trim() : before.matches(".chip, .note"))) before = before.previousSibling;
  const statement = chip.closest(".statement") || (before?.matches?.(".statement") ? before : null);
  return ["supported", "partial", "unsupported"].find((support) => statement?.classList.contains(support));
}

function named({ title, section }) {
  return [title, section].filter(Boolean).join(", ");
}

/** The section of the sources: the passages by document. Null where there are none. */
export function sources(references, chips) {
  if (!references.length) return null;
  const documents = new Map();
  for (const one of references) {
    const id = one.docId || one.url || one.title;
    documents.set(id, [...(documents.get(id) || []), one]);
  }
  const items = [...documents.values()].map((passages) => element("li", {}, ...entry(passages, chips)));
  return element("section", {}, element("h3", { text: "Sources" }), element("ul", { class: "sources" }, ...items));
}

function entry(passages, chips) {
  const { title, url } = passages[0];
  const lines = passages.map((one) => {
    const section = one.section ? element("span", { text: one.section }) : null;
    const quote = one.quote ? element("span", { class: "quote", text: one.quote }) : null;
    return element("li", {}, chips.make(one), element("div", { class: "quiet" }, section, quote));
  });
  const where = url ? null : element("span", { class: "quiet", text: " · internal document" });
  return [element("div", {}, link(url, title, "title"), where), element("ol", {}, ...lines)];
}
