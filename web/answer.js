// The first section of a card: an answer while it comes, and when it is there.

import { element } from "./dom.js";
import { MEANING, children, update } from "./rendered.js";
import { Chips } from "./sources.js";

const STAGES = { searching: "Searching the documents …", writing: "Writing …", checking: "Checking …" };
const BROKE_OFF = {
  length: "The answer was cut off here: time or length ran out.",
  interrupted: "The answer broke off here: the model stopped answering.",
  stopped: "You stopped the answer here.",
};
const TITLES = 3;
const PATIENCE = 100; // ms: words are shown as they are written when no patch comes with them

export class Answer {
  constructor(question) {
    this.chips = new Chips(question);
    this.blocks = []; // the nodes of each
    this.text = ""; // Markdown, for programs
    this.plain = null; // the element of what comes as text alone
    this.heading = element("h3", { text: "Answer" });
    this.stage = element("span", { class: "stage", text: STAGES.searching });
    this.body = element("div", { class: "answer arriving" });
    this.section = element("section", {}, element("div", { class: "heading" }, this.heading, this.stage), this.body);
  }

  /** Whether some of the answer has come. */
  get begun() {
    return this.text !== "" || this.blocks.some((nodes) => nodes.length);
  }

  /** An event of the stream; others than these are not shown. */
  on(name, data) {
    if (name === "status") this.say(data.stage);
    if (name === "sources") this.reading(data.references);
    if (name === "delta") this.delta(data.text);
    if (name === "patch") this.patch(data);
  }

  say(stage) {
    const { length } = this.chips.references;
    const reading = length ? `Reading ${length} passage${length === 1 ? "" : "s"} …` : "Reading the passages …";
    this.stage.textContent = stage === "reading" ? reading : STAGES[stage] || "";
    this.stage.dataset.stage = stage;
  }

  reading(references) {
    this.chips.references = references;
    if (this.stage.dataset.stage === "reading") this.say("reading");
    const titles = [...new Set(references.map(({ title }) => title).filter(Boolean))];
    const more = titles.length > TITLES ? ` and ${titles.length - TITLES} more` : "";
    if (this.begun || !titles.length) return;
    this.body.replaceChildren(element("p", { class: "quiet", text: `${titles.slice(0, TITLES).join(", ")}${more}` }));
  }

  delta(piece) {
    this.text += piece;
    this.chips.answer = this.text;
    if (this.plain) this.plain.append(piece);
    else if (!this.blocks.length) this.waiting ??= setTimeout(() => this.write(), PATIENCE);
  }

  /** Show what came as it is written. */
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
  }

  show(blocks) {
    clearTimeout(this.waiting);
    if (!this.blocks.flat().length && blocks.flat().length) this.body.replaceChildren();
    update(this.body, this.blocks.flat(), blocks.flat(), this.chips.make);
    this.plain = null;
    this.blocks = blocks;
  }

  /** What was shown as a reply: where no service says any more what it is. */
  part(brokeOff, finishReason) {
    this.write();
    const shown = this.blocks.flat();
    const cited = new Map(cites(shown).map(({ n, chunkId }) => [n, { n, chunkId, title: "Passage", ...this.chips.reference(n, chunkId) }]));
    const references = [...cited.values()].sort((a, b) => a.n - b.n);
    const answer = this.text || this.body.textContent;
    return { answer, partial: true, brokeOff, references, metadata: { finishReason }, ...(shown.length ? { rendered: shown } : {}) };
  }

  /** It is there: say what there is to say about `reply`; `again` asks once more. */
  finish(reply, heading, again) {
    this.chips.answer = reply.answer;
    this.chips.references = reply.references || [];
    const nodes = reply.rendered || [{ tag: "p", children: [reply.answer] }];
    this.show(nodes.map((node) => [node]));
    this.body.classList.toggle("as-written", !reply.rendered);
    for (const chip of this.body.querySelectorAll(".chip")) this.chips.label(chip);
    this.body.classList.remove("arriving");
    this.heading.textContent = heading;
    this.stage.remove();
    this.section.append(...[broke(reply, again), legend(this.body)].filter(Boolean));
  }
}

function cites(nodes) {
  return nodes.flatMap((node) => (node.tag === "cite" ? [node] : typeof node === "string" ? [] : cites(children(node))));
}

/** Where the answer breaks off, in words; empty where it does not. */
export function brokeOff({ partial, brokeOff: said, metadata }) {
  return partial ? said || BROKE_OFF[metadata?.finishReason] || BROKE_OFF.interrupted : "";
}

function broke(reply, again) {
  const said = brokeOff(reply);
  const button = element("button", { type: "button", class: "plain", text: "Ask again", onclick: again });
  return said ? element("div", { class: "broke" }, element("span", { text: said }), button) : null;
}

function legend(body) {
  const found = Object.keys(MEANING).filter((support) => body.querySelector(`.statement.${support}`));
  const samples = found.map((support) => element("span", { class: `statement ${support}`, text: MEANING[support] }));
  return samples.length ? element("p", { class: "quiet legend" }, ...samples) : null;
}
