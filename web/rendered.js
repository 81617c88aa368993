// Rendering of the service's Markdown nodes as elements; unknown nodes become their text.

import { element, link } from "./dom.js";
import { say } from "./strings.js";

const PLAIN = new Set([
  "p", "ul", "ol", "li", "strong", "em", "s", "code", "pre", "blockquote", "hr", "br",
  "thead", "tbody", "tr", "th", "td",
]);
const HEADING = { h1: "h4", h2: "h4", h3: "h4", h4: "h5", h5: "h6", h6: "h6" };
const ATTRIBUTES = ["tag", "n", "chunkId", "href", "start", "align", "support"];

/** The meaning of a claim's style, in words. */
export const MEANING = { unsupported: say("unsupported"), partial: say("partial"), uncited: say("uncited") };

/** Render `nodes` as elements; `chip(node)` renders a citation, `words(text)` a run of text. */
export function elements(nodes, { chip = () => "", words = (text) => [text] } = {}) {
  return nodes.flatMap((node) => (typeof node === "string" ? words(node) : [toElement(node, { chip, words })]));
}

/**
 * Change the content of `parent` from `before` to `after`, which mostly is longer or has marked claims.
 *
 * Unchanged nodes keep their elements, so that nothing moves and tables keep their scroll position. A chip keeps its
 * button even if its text moves, so that it keeps the focus.
 */
export function update(parent, before, after, chip) {
  const shown = [...parent.childNodes]; // one for each node
  let same = 0;
  for (; same < Math.min(before.length, after.length) && isSame(before[same], after[same]); same += 1) {
    const [old, node] = [before[same], after[same]];
    if (old === node) continue;
    if (typeof node === "string") shown[same].data = node;
    else if (node.tag !== "cite") update(node.tag === "table" ? shown[same].firstChild : shown[same], children(old), children(node), chip);
  }
  const focused = document.activeElement;
  const rest = shown.slice(same);
  const chips = rest.flatMap((one) => (one.matches?.(".chip") ? [one] : [...(one.querySelectorAll?.(".chip") || [])]));
  for (const one of rest) one.remove();
  parent.append(...elements(after.slice(same), { chip: (node) => takeChip(chips, node) || chip(node) }));
  if (focused !== document.activeElement && parent.contains(focused)) focused.focus({ preventScroll: true });
}

function takeChip(chips, { n, chunkId }) {
  const found = chips.findIndex(({ dataset }) => dataset.n === String(n) && dataset.chunk === chunkId);
  return found < 0 ? null : chips.splice(found, 1)[0];
}

function isSame(old, node) {
  if (typeof old === "string" || typeof node === "string") return typeof old === typeof node;
  return ATTRIBUTES.every((name) => old[name] === node[name]);
}

/** Let the keyboard focus the parts of `parent` that scroll sideways. */
export function allowFocus(parent) {
  for (const one of parent.querySelectorAll("pre, .scroll")) if (one.scrollWidth > one.clientWidth) one.tabIndex = 0;
}

/** Return the child nodes of `node`. */
export function children(node) {
  return Array.isArray(node.children) ? node.children : [];
}

function toElement(node, made_of) {
  const { tag } = node;
  if (tag === "cite") return made_of.chip(node);
  const inner = elements(children(node), made_of);
  if (tag === "statement") return statement(node, inner);
  if (tag === "note") return element("span", { class: "note hidden" }, ...inner);
  if (tag === "a") {
    const made = link(node.href, "");
    made.append(...inner);
    return made;
  }
  if (tag === "table") return element("div", { class: "scroll" }, element("table", {}, ...inner));
  if (HEADING[tag]) return element(HEADING[tag], {}, ...inner);
  if (!PLAIN.has(tag)) return element("span", {}, ...inner);
  const made = element(tag, {}, ...inner);
  if (tag === "ol" && Number.isInteger(node.start)) made.start = node.start;
  if (["right", "center"].includes(node.align)) made.classList.add(`to-${node.align}`);
  return made;
}

/** Render a claim; a code block is a block element, and without a check it has no style. */
function statement({ support }, inner) {
  const block = inner.some((child) => child.nodeName === "PRE");
  const known = ["supported", "partial", "unsupported", ...(block ? [] : ["uncited"])].includes(support) ? support : "";
  return element(block ? "div" : "span", { class: `statement ${known}`, title: MEANING[known] }, ...inner);
}
