// How far to trust an answer: its level, and a sentence for the reader.

import { element } from "./dom.js";
import { say } from "./strings.js";

const LEVELS = ["High", "Medium", "Low"];

/** Return the level, "" for a decline. */
export function level({ refused, confidence }) {
  return !refused && LEVELS.includes(confidence?.level) ? confidence.level : "";
}

/** Return whether the answer of `reply` is quotes instead of a model's text. */
export function isQuoted({ metadata = {} }) {
  return Boolean(metadata.degraded) || metadata.model === "extractive";
}

/** Return one sentence about how far the answer of `reply` can be trusted. */
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

/** Return the level as a badge; null without a level. */
export function pill(reply) {
  const name = level(reply);
  return name ? element("span", { class: `pill ${name}`, text: say(name) }) : null;
}

/** Return the sentence as a paragraph; a Low level sends the reader to the source. */
export function sentence(reply) {
  const first = level(reply) === "Low" ? element("b", { text: say("first") }) : null;
  return element("p", { class: "trust" }, first, trust(reply));
}
