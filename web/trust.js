// How far to trust an answer: its level, and a sentence in the reader's words.

import { element } from "./dom.js";
import { say } from "./strings.js";

const LEVELS = ["High", "Medium", "Low"];

/** The level, where there is one to show: a decline has none. */
export function level({ refused, confidence }) {
  return !refused && LEVELS.includes(confidence?.level) ? confidence.level : "";
}

/** Whether no model wrote the answer of `reply`. */
export function isQuoted({ metadata = {} }) {
  return Boolean(metadata.degraded) || metadata.model === "extractive";
}

/** Why to trust the answer of `reply`, in one sentence. */
export function trust(reply) {
  const { partial, references = [], metadata = {} } = reply;
  const documents = new Set(references.map((one) => one.docId || one.title)).size;
  const of = (one, several) => say(documents === 1 ? one : several, { n: documents });
  if (partial) return say("part");
  if (!references.length) return say("unsourced");
  if (isQuoted(reply)) return (reply.modelText ? say("weak") : metadata.degraded ? say("degraded") : "") + (level(reply) === "Low" ? say("quotedLow") : of("quoted", "quotedOf"));
  const found = supports(reply.rendered || []);
  if (found.has("unsupported")) return say("unsupportedOnes");
  if (level(reply) === "Low") return say("noWords");
  if (found.has("partial")) return say("inOtherWords");
  return found.has("supported") ? of("found", "foundIn") : of("written", "writtenOf");
}

function supports(nodes) {
  const within = nodes.flatMap((node) => (typeof node === "string" ? [] : [node.support, ...supports(node.children || [])]));
  return new Set(within.filter(Boolean));
}

/** The level as a pill; null where there is none. */
export function pill(reply) {
  const name = level(reply);
  return name ? element("span", { class: `pill ${name}`, text: say(name) }) : null;
}

/** The sentence; where the level is Low it sends the reader to the source. */
export function sentence(reply) {
  const first = level(reply) === "Low" ? element("b", { text: say("first") }) : null;
  return element("p", { class: "trust" }, first, trust(reply));
}
