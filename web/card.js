// What stands below an answer in its card: sources, related documents, confidence, and what can be done with it.

import { element, link } from "./dom.js";
import { openPassage } from "./passage.js";
import { feedback } from "./feedback.js";
import { sources } from "./sources.js";

/** The sections of the card for `reply` to `question`, but for the first; `chips` are the answer's. */
export function below(reply, question, chips) {
  return [
    reply.refused ? closest(reply.closest || [], (id) => openPassage(id, question)) : sources(reply.references || [], chips),
    related(reply.relatedDocs || []),
    reply.confidence && heading(reply) !== "Reply" ? confidence(reply.confidence, reply.routing) : null,
    reply.confidence ? details(reply.metadata || {}, reply.routing) : null, // else the reader stopped it: nobody says
    actions(reply),
  ].filter(Boolean);
}

/** What the first section is; a "Reply" is one to a greeting, for which nothing was looked up. */
export function heading(reply) {
  if (!reply.refused) return "Answer";
  return (reply.closest || []).length ? "No answer" : "Reply";
}

function closest(chunks, open) {
  if (!chunks.length) return null;
  const items = chunks.map((chunk) =>
    element(
      "li", { class: "where" },
      element("button", { type: "button", class: "as-link", text: chunk.title, onclick: () => open(chunk.chunkId) }),
      element("span", { class: "quiet", text: chunk.section || "" }),
    ));
  return element("section", {}, element("h3", { text: "What came closest" }), element("ul", { class: "closest" }, ...items));
}

function related(documents) {
  if (!documents.length) return null;
  const groups = Map.groupBy ? Map.groupBy(documents, (one) => one.category) : grouped(documents);
  const list = element("dl", { class: "related" });
  for (const [category, members] of groups) {
    list.append(
      element("dt", { text: (category || "documents").replaceAll("_", " ") }),
      element("dd", {}, ...members.map((one) => link(one.url, one.title, "tag"))),
    );
  }
  return element("section", {}, element("h3", { text: "Related documents" }), list);
}

function grouped(documents) {
  const groups = new Map();
  for (const one of documents) groups.set(one.category, [...(groups.get(one.category) || []), one]);
  return groups;
}

function confidence({ level, score, reason }, routing) {
  const value = Math.floor(score); // 49.9 is Low, so it is not shown as 50
  return element(
    "section", {}, element("h3", { text: "Confidence" }),
    element(
      "div", { class: `confidence ${["High", "Medium", "Low"].includes(level) ? level : ""}` },
      element("span", { class: "level", text: level }),
      element("meter", { min: 0, max: 100, low: 50, high: 75, optimum: 100, value, "aria-label": `Confidence ${value} of 100` }),
      element("span", { text: `${value} / 100` }),
      element("span", { class: "reason quiet", text: reason }),
    ),
    routing?.action === "escalate" ? element("p", { class: "escalated", text: "Better ask a person about this." }) : null,
  );
}

function details(metadata, routing) {
  const facts = [
    ...(metadata.trail || []).map((step) => ["Note", step]),
    ["Written by", metadata.model || "nobody"],
    ...Object.entries(metadata.timings || {}).map(([name, ms]) => [name.replace(/Ms$/, ""), `${ms.toFixed(1)} ms`]),
    ["Next step", routing ? `${routing.action}: ${routing.reason}` : ""],
    ...(metadata.skipped || []).map((stage) => ["Left out", stage]),
  ].filter(([, value]) => value);
  const list = element("dl", { class: "facts" });
  for (const [name, value] of facts) list.append(element("dt", { text: name }), element("dd", { text: value }));
  return element("details", {}, element("summary", { text: "How this came about" }), list);
}

function actions(reply) {
  const said = element("span", { class: "said quiet", role: "status" });
  const copied = [reply.answer, reply.citationsMarkdown].filter(Boolean).join("\n\n");
  const copy = element("button", {
    type: "button", class: "plain", text: "Copy",
    onclick: async () => {
      try {
        await navigator.clipboard.writeText(copied);
        said.textContent = "Copied";
      } catch {
        said.textContent = "This browser does not let a page copy";
      }
    },
  });
  return element("div", { class: "actions" }, ...(reply.responseId ? feedback(reply, said) : []), copy, said);
}
