// The sections below an answer in its card: sources, related documents, confidence and actions.

import { linkTo } from "./address.js";
import { copy } from "./copy.js";
import { at, button, element, link, titled } from "./dom.js";
import { feedback } from "./feedback.js";
import { openPassage } from "./passage.js";
import { sources } from "./sources.js";
import { asQuestion, readable, say } from "./strings.js";
import { level } from "./trust.js";

const CLOSE = 0.4; // least score of a listed passage; 3 % of questions about other subjects have one
const DECLINED = "No relevant sources found";
const NEXT = 3;

/** Return all sections of the card of a stored turn except the first; `chips` are the answer's. */
export function sections(turn, chips) {
  const { reply, text } = turn;
  const open = (id) => openPassage({ id, question: text });
  return [
    reply.refused ? closest((reply.closest || []).filter(({ score }) => score >= CLOSE), open) : sources(reply.references || [], chips),
    reply.refused ? null : related(reply, open),
    level(reply) ? confidence(reply.confidence, reply.routing) : null,
    reply.confidence ? details(reply, open) : null, // none after the reader's Stop
    actions(turn),
  ].filter(Boolean);
}

/** Return the heading of the first section; "Reply" is for greetings, which need no search. */
export function heading(reply) {
  if (!reply.refused) return say("answer");
  return say((reply.closest || []).length ? "noAnswer" : "reply");
}

/** Return `reply`, with the service's own English decline in the page's language. */
export function localise(reply) {
  const language = /^The documents are in (\w+),/.exec(reply.answer)?.[1];
  const isDecline = reply.refused && !reply.metadata?.model && (language || reply.confidence?.reason === DECLINED);
  const said = isDecline ? say(language ? "foreign" : "declined", { language }) : "";
  const answer = language ? said : `${said} ${at("contact").textContent}`.trim();
  return said ? { ...reply, answer, rendered: null } : reply;
}

/** List passages to read if there is no answer, one for each document; null without passages. */
export function closest(passages, open) {
  const one = new Map([...passages].reverse().map((passage) => [`${passage.title} ${passage.url}`, passage]));
  const items = [...one.values()].reverse().map(({ chunkId, title, section }) =>
    element("li", {}, button(title, () => open(chunkId), "as-link"), element("span", { class: "quiet", text: section || "" })));
  return items.length ? titled(say("closest"), element("ul", { class: "closest" }, ...items)) : null;
}

/** List documents that are not cited; each opens its best passage. */
function related({ relatedDocs = [], references = [], found = [] }, open) {
  const groups = new Map();
  for (const one of relatedDocs.filter(({ docId }) => !references.some((cited) => cited.docId === docId))) {
    const best = found.find(({ docId }) => docId === one.docId);
    const made = best ? button(one.title, () => open(best.chunkId), "tag") : link(one.url, one.title, "tag");
    groups.set(one.category, [...(groups.get(one.category) || []), made]);
  }
  const list = element("dl", { class: "related" });
  for (const [category, members] of groups) {
    list.append(element("dt", { text: readable(category || say("other")) }), element("dd", {}, ...members));
  }
  return groups.size ? titled(say("related"), list) : null;
}

function confidence(given, routing) {
  const value = Math.floor(given.score); // rounded down: 49.9 is Low
  const label = say("ofHundred", { n: value });
  return titled(
    say("confidence"),
    element(
      "div", { class: "confidence" },
      // Coloured as its level: green, yellow, red.
      element("meter", { max: 100, low: given.level === "Low" ? 99 : 0, high: given.level === "High" ? 0 : 99, optimum: 100, value, "aria-label": label }), element("span", { text: `${value} / 100` }),
    ),
    routing?.action === "escalate" ? element("p", { class: "escalated", text: say("person") }) : null,
  );
}

function details({ metadata = {}, routing, confidence: given, found = [], references = [], refused }, open) {
  const times = Object.entries(metadata.timings || {}).map(([name, ms]) => [name.replace(/Ms$/, ""), `${ms.toFixed(1)} ms`]);
  return element(
    "details", {}, element("summary", { text: say("how_came") }),
    found.length ? passages(found, references, open) : null,
    facts([
      ...(metadata.trail || []).map((step) => [say("note"), step]),
      [say("by"), metadata.model || say("nobody")],
      [say("confidence"), refused ? "" : given.reason],
      [say("step"), routing ? `${routing.action}: ${routing.reason}` : ""],
      ...(metadata.skipped || []).map((stage) => [say("left"), stage]),
    ]),
    element("details", {}, element("summary", { text: say("times") }), facts(times)),
  );
}

function passages(found, references, open) {
  const items = found.map((one) => {
    const n = references.find(({ chunkId }) => chunkId === one.chunkId)?.n;
    const fate = n ? say("cited", { n }) : say(one.read ? "read" : "unread");
    const name = [one.title, one.section].filter(Boolean).join(" > ");
    return element("li", {}, button(name, () => open(one.chunkId), "as-link"), element("span", { class: "quiet", text: ` ${one.score.toFixed(2)} · ${fate}` }));
  });
  return element("div", {}, element("h4", { text: say("passages") }), element("ol", { class: "passages" }, ...items));
}

function facts(all) {
  const list = element("dl", { class: "facts" });
  for (const [name, value] of all.filter(([, value]) => value)) list.append(element("dt", { text: name }), element("dd", { text: value }));
  return list;
}

function actions({ reply, text, vote, keep }) {
  const said = element("span", { class: "said quiet", role: "status" });
  const copied = [reply.answer, reply.citationsMarkdown].filter(Boolean).join("\n\n");
  return element(
    "div", { class: "actions" }, ...(reply.responseId ? feedback(reply, said, { vote, keep }) : []),
    button(say("copy"), () => copy(copied, said)), button(say("linkTo"), () => copy(linkTo(text), said)), said,
  );
}

/** List questions to ask next, made of headings near the cited passages; null without any. */
export function next({ found = [], references = [] }, ask) {
  const cited = new Set(references.map(({ docId }) => docId));
  const last = ({ section }) => (section || "").split(" > ").pop();
  const known = new Set(references.map(last));
  const near = [...found].sort((a, b) => cited.has(b.docId) - cited.has(a.docId));
  const headings = [...new Set(near.map(last))].filter((one) => one && !known.has(one)).slice(0, NEXT);
  const items = headings.map(asQuestion).map((text) => element("li", {}, button(text, () => ask(text), "")));
  return items.length ? element("ul", { class: "suggestions next", "aria-label": say("next") }, ...items) : null;
}
