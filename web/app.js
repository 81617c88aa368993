// The page: a conversation with the documents.

import "./theme.js";
import { card, heading } from "./card.js";
import { element } from "./dom.js";
import { forget, remember, session, turns } from "./history.js";
import { Failed, ask, key, read } from "./service.js";

const NAMES = { waypoint: "Waypoint", gacounts: "GaCounts", clockify: "Clockify help" };
const at = (id) => document.getElementById(id);
const question = at("question");
let asking = null;
let again = null;

at("name").textContent = NAMES[document.documentElement.dataset.profile] || "Ask the documents";
document.title = `${at("name").textContent} – ask the documents`;

at("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = question.value;
  if (!text.trim() || asking) return;
  question.value = "";
  grow();
  put(text);
});
question.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  at("ask").requestSubmit();
});
question.addEventListener("input", grow);
at("stop").addEventListener("click", () => asking?.abort());
at("fresh").addEventListener("click", () => {
  forget();
  asking?.abort();
  at("turns").replaceChildren();
  at("welcome").hidden = false;
  at("fresh").hidden = true;
  tell("");
  question.focus();
});
at("forget").addEventListener("click", () => {
  key.forget();
  at("forget").hidden = true;
  askForKey(() => greet());
});
at("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  key.set(at("key").value.trim());
  at("key").value = "";
  at("key-form").hidden = true;
  at("forget").hidden = false;
  tell("");
  question.focus();
  const next = again;
  again = null;
  next?.();
  if (next !== greet) greet();
});
addEventListener("online", () => tell(""));
addEventListener("offline", () => tell("You are offline.", { shown: true }));

/** Ask `text` and show what comes. */
async function put(text) {
  const arriving = element("div", { class: "answer arriving" });
  const { turn, shown } = begun(text, element("section", {}, element("h3", { text: "Answer" }), arriving));
  shown.setAttribute("aria-busy", "true");
  tell("Looking it up …");
  busy(new AbortController());
  try {
    const reply = await ask({ query: text, sessionId: session(), rendered: true }, {
      signal: asking.signal,
      onText: (piece) => arriving.append(piece),
    });
    show(shown, reply, text);
    remember(text, reply);
    tell(reply.refused ? `${heading(reply)}. ${reply.answer}` : `Answered, confidence ${reply.confidence.level}.`);
  } catch (error) {
    failed(error, turn, shown, text);
  } finally {
    shown.removeAttribute("aria-busy");
    busy(null);
  }
}

/** A turn that asks `text`, with `content` in its card. */
function begun(text, ...content) {
  at("welcome").hidden = true;
  at("fresh").hidden = false;
  const shown = element("div", { class: "card" }, ...content);
  const asked = element("h2", {}, element("span", { class: "hidden", text: "You asked: " }), text);
  const turn = element("article", { class: "turn" }, element("div", { class: "asked" }, asked), shown);
  at("turns").append(turn);
  turn.scrollIntoView({ block: "start" });
  return { turn, shown };
}

function show(shown, reply, text) {
  shown.replaceChildren(...card(reply, text));
  shown.classList.toggle("declined", heading(reply) === "No answer");
}

function failed(error, turn, shown, text) {
  const retry = () => {
    turn.remove();
    put(text);
  };
  const stopped = error.name === "AbortError";
  const sentence = stopped ? "Stopped." : error instanceof Failed ? error.message : "Something went wrong on this page.";
  shown.replaceChildren(
    element(
      "section", {}, element("h3", { text: stopped ? "Stopped" : "No answer" }), element("p", { text: sentence }),
      error.needsChange ? null : element("p", {}, element("button", { type: "button", class: "plain", text: "Ask again", onclick: retry })),
    ),
  );
  tell(sentence);
  if (error.needsChange && !question.value) {
    question.value = text;
    grow();
  }
  shown.scrollIntoView({ block: "nearest" });
  if (error.needsKey) askForKey(retry);
}

function askForKey(next) {
  again = next;
  at("key-form").hidden = false;
  at("key").focus();
}

/** Say who answers, and offer sample questions. */
async function greet() {
  try {
    const health = await read("api/health");
    const { documents } = health.index;
    const writer = health.llm.engine === "extractive" ? "in the documents' own words" : `written by ${health.llm.model}`;
    at("about").textContent = `${documents} document${documents === 1 ? "" : "s"}, answers ${writer}`;
  } catch (error) {
    if (error.needsKey) askForKey(greet);
    else tell(error.message, { shown: true });
    return;
  }
  try {
    const { questions } = await read("api/suggestions");
    at("suggestions").replaceChildren(...questions.map((text) =>
      element("li", {}, element("button", { type: "button", text, onclick: () => asking || put(text) }))));
    at("suggestions").hidden = !questions.length;
  } catch {
    at("suggestions").hidden = true;
  }
}

function busy(controller) {
  asking = controller;
  at("send").hidden = controller !== null;
  at("stop").hidden = controller === null;
}

/** For screen readers; on the page too where it is `shown`. */
function tell(text, { shown = false } = {}) {
  at("status").textContent = text;
  at("status").classList.toggle("shown", shown && text !== "");
}

function grow() {
  question.style.height = "auto";
  question.style.height = `${question.scrollHeight + question.offsetHeight - question.clientHeight}px`;
}

for (const { text, reply } of turns()) show(begun(text).shown, reply, text);
at("forget").hidden = !key.get();
question.focus();
greet();
