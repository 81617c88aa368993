// Questions and what comes of them: one turn each, and one at a time.

import { Answer, brokeOff } from "./answer.js";
import { below, heading } from "./card.js";
import { at, element, tell } from "./dom.js";
import { askForKey } from "./greeting.js";
import { forget, remember, session, turns } from "./history.js";
import { Failed, LOST, ask } from "./service.js";

let asking = null;

/** Ask `text` and show what comes, unless another question waits for its answer: then false. */
export function put(text) {
  if (asking) return false;
  answered(text);
  return true;
}

export function stop() {
  asking?.abort();
}

/** Forget the conversation. */
export function begin() {
  forget();
  stop();
  at("turns").replaceChildren();
  at("welcome").hidden = false;
  at("fresh").hidden = true;
  tell("");
}

/** Show the turns of before. */
export function restore() {
  for (const { text, reply } of turns()) show(begun(text), reply);
}

async function answered(text) {
  const turn = begun(text);
  turn.card.setAttribute("aria-busy", "true");
  tell("Looking it up …");
  busy(new AbortController());
  let reply = null;
  try {
    const on = (name, data) => turn.answer.on(name, data);
    reply = await ask({ query: text, sessionId: session(), rendered: true }, { signal: asking.signal, on });
  } catch (error) {
    if (turn.answer.begun) reply = turn.answer.part(...whyNot(error));
    else failed(turn, error);
  } finally {
    turn.card.removeAttribute("aria-busy");
    busy(null);
  }
  if (reply) finish(turn, reply);
}

/** Why there is no more of the answer: in words for its end, and as `finishReason`. */
function whyNot(error) {
  if (error.name === "AbortError") return ["Stopped here.", "stopped"];
  return [error instanceof Failed && error.code !== LOST ? error.message : "The connection was lost here.", "interrupted"];
}

/** A turn that asks `text`. */
function begun(text) {
  at("welcome").hidden = true;
  at("fresh").hidden = false;
  const answer = new Answer(text);
  const card = element("div", { class: "card" }, answer.section);
  const asked = element("h2", {}, element("span", { class: "hidden", text: "You asked: " }), text);
  const article = element("article", { class: "turn" }, element("div", { class: "asked" }, asked), card);
  at("turns").append(article);
  article.scrollIntoView({ block: "start" });
  return { text, answer, card, article };
}

function finish(turn, reply) {
  show(turn, reply);
  if (!turn.article.isConnected) return; // a new conversation has begun
  remember(turn.text, reply);
  const said = brokeOff(reply) || `Answered, confidence ${reply.confidence.level}.`;
  tell(reply.refused ? `${heading(reply)}. ${reply.answer}` : said);
}

function show({ text, answer, card }, reply) {
  answer.finish(reply, heading(reply), () => put(text));
  card.append(...below(reply, text, answer.chips));
  card.classList.toggle("declined", heading(reply) === "No answer");
}

function failed({ text, card, article }, error) {
  const retry = () => {
    if (put(text)) article.remove();
  };
  const stopped = error.name === "AbortError";
  const sentence = stopped ? "Stopped." : error instanceof Failed ? error.message : "Something went wrong on this page.";
  const again = element("p", {}, element("button", { type: "button", class: "plain", text: "Ask again", onclick: retry }));
  card.replaceChildren(
    element("section", {}, element("h3", { text: stopped ? "Stopped" : "No answer" }), element("p", { text: sentence }), error.needsChange ? null : again),
  );
  tell(sentence);
  const question = at("question");
  if (error.needsChange && !question.value) {
    question.value = text;
    question.dispatchEvent(new Event("input"));
  }
  card.scrollIntoView({ block: "nearest" });
  if (error.needsKey) askForKey(retry);
}

function busy(controller) {
  asking = controller;
  const leaves = document.activeElement === at("stop");
  at("send").hidden = controller !== null;
  at("stop").hidden = controller === null;
  if (leaves) at("question").focus();
}
