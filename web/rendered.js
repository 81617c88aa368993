// Markdown, which comes as a tree of nodes, as elements. What is not on the list becomes its text.

import { element, link } from "./dom.js";

const PLAIN = new Set([
  "p", "ul", "ol", "li", "strong", "em", "s", "code", "pre", "blockquote", "hr", "br",
  "thead", "tbody", "tr", "th", "td",
]);
const HEADING = { h1: "h4", h2: "h4", h3: "h4", h4: "h5", h5: "h6", h6: "h6" };

/** `nodes` as elements; `chip(n)` makes what stands for the n-th citation, `words(text)` the nodes of a run of text. */
export function elements(nodes, { chip = () => "", words = (text) => [document.createTextNode(text)] } = {}) {
  return nodes.flatMap((node) => (typeof node === "string" ? words(node) : [one(node, { chip, words })]));
}

function one(node, made_of) {
  const { tag } = node;
  if (tag === "cite") return made_of.chip(Number(node.n));
  const children = elements(Array.isArray(node.children) ? node.children : [], made_of);
  if (tag === "unsupported") return element("span", { class: "unsupported" }, ...children);
  if (tag === "a") {
    const made = link(node.href, "");
    made.append(...children);
    return made;
  }
  if (tag === "table") return element("div", { class: "scroll" }, element("table", {}, ...children));
  if (HEADING[tag]) return element(HEADING[tag], {}, ...children);
  if (!PLAIN.has(tag)) return element("span", {}, ...children);
  const made = element(tag, {}, ...children);
  if (tag === "ol" && Number.isInteger(node.start)) made.start = node.start;
  if (["right", "center"].includes(node.align)) made.classList.add(`to-${node.align}`);
  return made;
}
