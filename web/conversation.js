// Questions and what comes of them: one turn each, and one at a time.

import { begins, leave, name } from "./address.js";
import { Answer, brokeOff } from "./answer.js";
import { below, closest, heading, inOwnWords, next } from "./card.js";
import { at, button, element, tell, titled } from "./dom.js";
import { explain } from "./errors.js";
import { choose, filters } from "./filters.js";
import { askForKey } from "./greeting.js";
import { forget, keep, session, turns } from "./history.js";
import { openPassage } from "./passage.js";
import { LOST, ask, key } from "./service.js";
import { say } from "./strings.js";
import { trust } from "./trust.js";

const TRIES = 3; // when the service is busy
let running = null;
let kept = []; // the turns, as they are kept: { text, filters, reply, failed, vote }

/** Ask `text` and show what comes, unless another question waits for its answer: then false. */
export function put(text, tries = 0) {
  if (running) {
    tell(say("coming"), { shown: true });
    return false;
  }
  const turn = { text, filters: filters() };
  leave();
  kept.push(turn);
  keep(kept);
  answered(begun(turn), tries);
  return true;
}

export function stop() {
  running?.abort();
}

/** Begin a new conversation; `way` as in `begins`. */
export function begin(way = "pushState") {
  forget();
  clear();
  begins(way);
  scrollTo(0, 0);
}

function clear() {
  stop();
  kept = [];
  choose();
  at("turns").replaceChildren();
  document.body.classList.add("first");
  at("fresh").hidden = true;
  tell("");
}

/** Show the turns of this tab's conversation. */
export function restore() {
  clear();
  kept = turns();
  choose(kept.at(-1)?.filters);
  for (const turn of kept) {
    if (turn.reply) complete(begun(turn));
    else failed(begun(turn), { code: "left", ...turn.failed });
  }
}

async function answered(turn, tries) {
  turn.card.setAttribute("aria-busy", "true");
  tell(say("looking"));
  busy(new AbortController());
  let failure = null;
  try {
    const on = (event, data) => turn.answer.on(event, data);
    turn.kept.reply = inOwnWords(await ask({ query: turn.kept.text, filters: turn.kept.filters, sessionId: session(), rendered: true }, { signal: running.signal, on }));
  } catch (error) {
    failure = error.name === "AbortError" ? { code: "stopped" } : error;
    if (turn.answer.begun) turn.kept.reply = turn.answer.part(...whyNot(failure));
  } finally {
    turn.card.removeAttribute("aria-busy");
    busy(null);
  }
  if (turn.kept.reply) finish(turn);
  else if (turn.article.isConnected) lost(turn, failure, tries);
}

/** Why there is no more of the answer: in words for its end, and as `finishReason`. */
function whyNot({ code, status }) {
  if (code === "stopped") return ["", "stopped"];
  return [code === LOST ? say("lostHere") : explain({ code, status }).sentence, "interrupted"];
}

/** The place of a turn that asks. */
function begun(turn) {
  document.body.classList.remove("first");
  at("fresh").hidden = false;
  document.querySelector(".next")?.remove();
  const answer = new Answer(turn.text);
  const card = element("div", { class: "card" }, answer.section);
  const asked = element("h2", {}, element("span", { class: "hidden", text: say("asked") }), turn.text);
  const article = element("article", { class: "turn" }, element("div", { class: "asked" }, asked), card);
  at("turns").append(article);
  article.scrollIntoView({ block: "start" });
  return { kept: turn, answer, card, article };
}

function finish(turn) {
  complete(turn);
  if (!turn.article.isConnected) return; // a new conversation has begun
  keep(kept);
  const { reply } = turn.kept;
  name(reply.responseId);
  tell(reply.refused ? `${heading(reply)}. ${reply.answer}` : brokeOff(reply) || say("answered", { trust: trust(reply) }));
}

function complete({ kept: turn, answer, card, article }) {
  const { reply } = turn;
  const vote = (given) => {
    turn.vote = given;
    keep(kept);
  };
  answer.finish(reply, heading(reply), () => put(turn.text));
  card.append(...below({ ...turn, keep: vote }, answer.chips));
  card.classList.toggle("declined", Boolean(reply.refused && reply.closest?.length));
  card.classList.toggle("doubted", answer.section.classList.contains("low"));
  const more = next(reply, put);
  if (more) article.append(more);
}

/** Keep that there is no answer, and say why. */
function lost(turn, error, tries) {
  turn.kept.failed = { code: error.code, status: error.status };
  keep(kept);
  const retry = () => retried(turn, tries + 1);
  const said = failed(turn, error, retry);
  tell(said.textContent);
  const question = at("question");
  const { next: step } = explain(error);
  if (step === "edit" && !question.value) {
    question.value = turn.kept.text;
    question.dispatchEvent(new Event("input"));
  }
  turn.card.scrollIntoView({ block: "nearest" });
  if (error.needsKey) askForKey(retry, { wrong: Boolean(key.get()) });
  if (step === "wait" && tries < TRIES) wait(turn, said, error.wait || 5 * 2 ** tries, retry);
}

/** Ask the question of `turn` again, in its place. */
function retried(turn, tries = 0) {
  if (running || !turn.article.isConnected) return;
  kept = kept.filter((one) => one !== turn.kept);
  turn.article.remove();
  put(turn.kept.text, tries);
}

function failed(turn, error, retry = () => retried(turn)) {
  const { next: step, sentence } = explain(error);
  const { references } = turn.answer.chips;
  const readable = step === "read" && references.length > 0;
  const said = element("p", { text: readable ? say("modelDown") : sentence });
  const again = button(say("again"), retry);
  const title = say(error.code === "stopped" ? "stopped" : "noAnswer");
  turn.card.replaceChildren(titled(title, said, ["edit", ""].includes(step) ? null : element("p", {}, again)));
  if (readable) turn.card.append(closest(references, (id) => openPassage({ id, question: turn.kept.text })));
  return said;
}

/** Count down where `said` says that the service is busy, then do `retry`. */
function wait(turn, said, seconds, retry) {
  const sentence = said.textContent;
  let left = Math.ceil(seconds);
  const count = () => {
    if (!said.isConnected) return clearInterval(timer);
    said.textContent = `${sentence} ${say("waits", { n: left })}`;
    if (left <= 0) {
      clearInterval(timer);
      retry();
    }
    left -= 1;
    return undefined;
  };
  const timer = setInterval(count, 1000);
  count();
}

function busy(controller) {
  running = controller;
  const leaves = document.activeElement === at("stop");
  at("send").hidden = controller !== null;
  at("stop").hidden = controller === null;
  if (leaves) at("question").focus();
}
