// The answer, which comes as a tree of nodes, as elements. What is not on the list becomes its text.

import { element, link } from "./dom.js";

const PLAIN = new Set([
  "p", "ul", "ol", "li", "strong", "em", "s", "code", "pre", "blockquote", "hr", "br",
  "thead", "tbody", "tr", "th", "td",
]);
const HEADING = { h1: "h4", h2: "h4", h3: "h4", h4: "h5", h5: "h6", h6: "h6" };

/** `nodes` as elements; `chip(n)` makes what stands for the n-th citation. */
export function elements(nodes, chip) {
  return nodes.map((node) => one(node, chip));
}

function one(node, chip) {
  if (typeof node === "string") return document.createTextNode(node);
  const { tag } = node;
  const children = elements(Array.isArray(node.children) ? node.children : [], chip);
  if (tag === "cite") return chip(Number(node.n));
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
