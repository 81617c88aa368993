// The first section of a card: an answer, while it streams and when it is complete.

import { copy } from "./copy.js";
import { at, button, element } from "./dom.js";
import { MEANING, children, allowFocus, update } from "./rendered.js";
import { Chips } from "./sources.js";
import { say } from "./strings.js";
import { isQuoted, level, pill, sentence } from "./trust.js";

const STAGES = { searching: say("searching"), writing: say("writingStage"), checking: say("checking") };
const BROKE_OFF = { length: say("length"), interrupted: say("interrupted"), stopped: say("stoppedHere") };
const TITLES = 3;
const LETTER = /[\p{L}\p{N}]/gu;
const PATIENCE = 100; // ms: without a patch by then, the text is shown without formatting

export class Answer {
  constructor(question) {
    this.chips = new Chips(question);
    this.blocks = []; // the nodes of each block
    this.text = ""; // Markdown, for programs
    this.plain = null; // the element of unformatted text
    this.spoken = 0; // number of blocks announced to screen readers
    this.heading = element("h3", { text: say("answer") });
    this.head = element("div", { class: "heading" }, this.heading);
    this.stage = element("p", { class: "stage", text: STAGES.searching }); // later replaced by the sentence about trust
    this.body = element("div", { class: "answer arriving" });
    this.section = element("section", {}, this.head, this.stage, this.body);
    at("spoken").replaceChildren();
  }

  /** Whether a part of the answer has arrived. */
  get begun() {
    return this.text !== "" || this.blocks.some((nodes) => nodes.length);
  }

  /** Handle an event of the stream; other events are ignored. */
  on(name, data) {
    if (name === "status") this.say(data.stage);
    if (name === "sources") this.reading(data.references);
    if (name === "delta") this.delta(data.text);
    if (name === "patch") this.patch(data);
  }

  say(stage) {
    const { length } = this.chips.references;
    const reading = length ? say(length === 1 ? "reads1" : "reads", { n: length }) : say("reading");
    this.stage.textContent = stage === "reading" ? reading : STAGES[stage] || "";
    this.stage.dataset.stage = stage;
  }

  reading(references) {
    this.chips.references = references;
    if (this.stage.dataset.stage === "reading") this.say("reading");
    const titles = [...new Set(references.map(({ title }) => title).filter(Boolean))];
    const more = titles.length > TITLES ? say("andMore", { n: titles.length - TITLES }) : "";
    if (this.begun || !titles.length) return;
    this.body.replaceChildren(element("p", { class: "quiet", text: `${titles.slice(0, TITLES).join(", ")}${more}` }));
  }

  delta(piece) {
    this.text += piece;
    this.chips.answer = this.text;
    if (this.plain) this.plain.append(piece);
    else if (!this.blocks.length) this.waiting ??= setTimeout(() => this.write(), PATIENCE);
  }

  /** Show the text without formatting. */
  write() {
    if (this.blocks.length || this.plain || !this.text) return;
    this.plain = element("p", { class: "as-written", text: this.text });
    this.body.replaceChildren(this.plain);
  }

  patch({ block, nodes }) {
    const blocks = [...this.blocks];
    while (blocks.length < block) blocks.push([]);
    blocks[block] = nodes;
    this.show(blocks);
    this.speak(block);
  }

  /** Announce the new blocks before `end` to screen readers, block by block rather than word by word. */
  speak(end) {
    const told = this.blocks.slice(this.spoken, end).map((nodes) => toText(nodes));
    this.spoken = Math.max(this.spoken, end);
    at("spoken").append(...told.map((text) => element("p", { text })));
  }

  show(blocks) {
    clearTimeout(this.waiting);
    if (!this.blocks.flat().length && blocks.flat().length) this.body.replaceChildren();
    update(this.body, this.blocks.flat(), blocks.flat(), this.chips.make);
    this.plain = null;
    this.blocks = blocks;
  }

  /** Return the shown part as a reply, after the stream ended early. */
  part(brokeOff, finishReason) {
    this.write();
    const shown = this.blocks.flat();
    const cited = new Map(cites(shown).map(({ n, chunkId }) => [n, { n, chunkId, title: say("passage"), ...this.chips.reference(n, chunkId) }]));
    const references = [...cited.values()].sort((a, b) => a.n - b.n);
    const answer = this.text || this.body.textContent;
    return { answer, partial: true, brokeOff, references, metadata: { finishReason }, ...(shown.length ? { rendered: shown } : {}) };
  }

  /** Show the complete `reply`; `again` repeats the question. */
  finish(reply, heading, again) {
    const came = this.spoken;
    if (reply.modelText) this.spoken = 0; // quotes replaced the model's text
    this.chips.answer = reply.answer;
    this.chips.references = reply.references || [];
    const nodes = reply.rendered || [{ tag: "p", children: [reply.answer] }];
    this.show(nodes.map((node) => [node]));
    this.body.classList.toggle("as-written", !reply.rendered);
    for (const chip of this.body.querySelectorAll(".chip")) this.chips.label(chip);
    this.body.classList.remove("arriving");
    this.heading.textContent = heading;
    this.head.append(...[pill(reply)].filter(Boolean));
    if (reply.refused) this.stage.remove();
    else this.stage.replaceWith(sentence(reply));
    this.section.classList.toggle("low", level(reply) === "Low");
    if (came) this.speak(this.blocks.length);
    if (isQuoted(reply)) highlight(this.body, this.chips.references);
    allowCopy(this.body);
    allowFocus(this.body);
    this.section.append(...[notice(reply, again), legend(this.body), modelDetails(reply)].filter(Boolean));
  }
}

function toText(nodes) {
  return nodes.map((node) => (typeof node === "string" ? node : node.tag === "cite" ? "" : toText(children(node)))).join("");
}

/** Highlight the words in `body` that `references` quote, unless these are all its words. */
function highlight(body, references) {
  if (!globalThis.CSS?.highlights) return;
  const letters = []; // without blanks and marks, which differ between page and source
  const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.parentElement.closest(".chip")) continue;
    for (const { 0: letter, index } of node.data.matchAll(LETTER)) for (let at = 0; at < letter.length; at += 1) letters.push({ letter: letter[at], node, at: index + at });
  }
  const shown = letters.map(({ letter }) => letter).join("");
  const runs = references.map(({ quote = "" }) => (quote.match(LETTER) || []).join("")).filter(Boolean);
  if (runs.join("").length >= shown.length) return;
  if (!CSS.highlights.has("quoted")) CSS.highlights.set("quoted", new Highlight());
  for (const run of runs.filter((one) => shown.includes(one))) {
    const [first, last] = [letters[shown.indexOf(run)], letters[shown.indexOf(run) + run.length - 1]];
    const range = new Range();
    range.setStart(first.node, first.at);
    range.setEnd(last.node, last.at + 1);
    CSS.highlights.get("quoted").add(range);
  }
}

/** Add a copy button to code blocks and tables. */
function allowCopy(body) {
  for (const block of body.querySelectorAll("pre, .scroll")) {
    block.append(button("", () => copy(words(block), at("status")), "take", { "aria-label": say("copyBlock") }));
  }
}

function words(block) {
  const rows = [...block.querySelectorAll("tr")].map((row) => [...row.cells].map((cell) => cell.innerText.trim()).join("\t"));
  return rows.length ? rows.join("\n") : block.textContent;
}

function cites(nodes) {
  return nodes.flatMap((node) => (node.tag === "cite" ? [node] : typeof node === "string" ? [] : cites(children(node))));
}

/** Return the sentence about an incomplete answer, "" for a complete one. */
export function breakText({ partial, brokeOff: said, metadata }) {
  return partial ? said || BROKE_OFF[metadata?.finishReason] || BROKE_OFF.interrupted : "";
}

function notice(reply, again) {
  const said = breakText(reply);
  return said ? element("div", { class: "broke" }, element("span", { text: said }), button(say("again"), again)) : null;
}

/** Return the model's text if quotes replaced it as the answer. */
function modelDetails({ modelText }) {
  return modelText ? element("details", {}, element("summary", { text: say("modelWrote") }), element("p", { class: "as-written", text: modelText })) : null;
}

function legend(body) {
  const found = Object.keys(MEANING).filter((support) => body.querySelector(`.statement.${support}`));
  const samples = found.map((support) => element("span", { class: `statement ${support}`, text: MEANING[support] }));
  return samples.length ? element("p", { class: "quiet legend" }, ...samples) : null;
}
