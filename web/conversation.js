// The turns of the conversation: questions with their answers, one request at a time.

import { showFirst, leave, name } from "./address.js";
import { Answer, breakText } from "./answer.js";
import { sections, closest, heading, localise, next } from "./card.js";
import { at, button, element, tell, titled } from "./dom.js";
import { explain } from "./errors.js";
import { choose, filters } from "./filters.js";
import { askForKey } from "./greeting.js";
import { forget, keep, session, turns } from "./history.js";
import { openPassage } from "./passage.js";
import { LOST, ask, key } from "./service.js";
import { say } from "./strings.js";
import { trust } from "./trust.js";

const TRIES = 3; // retries while the service is busy
let running = null;
let kept = []; // the stored turns: { text, filters, reply, failed, vote }

/** Ask `text` in a new turn; return false while another question waits for its answer. */
export function submit(text, tries = 0) {
  if (running) {
    tell(say("coming"), { shown: true });
    return false;
  }
  const turn = { text, filters: filters() };
  leave();
  kept.push(turn);
  keep(kept);
  fetchAnswer(addTurn(turn), tries);
  return true;
}

export function stop() {
  running?.abort();
}

/** Begin a new conversation; `way` as in `showFirst`. */
export function begin(way = "pushState") {
  forget();
  clear();
  showFirst(way);
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
    if (turn.reply) complete(addTurn(turn));
    else showError(addTurn(turn), { code: "left", ...turn.failed });
  }
}

async function fetchAnswer(turn, tries) {
  turn.card.setAttribute("aria-busy", "true");
  tell(say("looking"));
  setBusy(new AbortController());
  let failure = null;
  try {
    const on = (event, data) => turn.answer.on(event, data);
    turn.kept.reply = localise(await ask({ query: turn.kept.text, filters: turn.kept.filters, sessionId: session(), rendered: true }, { signal: running.signal, on }));
  } catch (error) {
    failure = error.name === "AbortError" ? { code: "stopped" } : error;
    if (turn.answer.begun) turn.kept.reply = turn.answer.part(...stopReason(failure));
  } finally {
    turn.card.removeAttribute("aria-busy");
    setBusy(null);
  }
  if (turn.kept.reply) finish(turn);
  else if (turn.article.isConnected) keepFailure(turn, failure, tries);
}

/** Return why the answer ends early: a sentence, and the `finishReason`. */
function stopReason({ code, status }) {
  if (code === "stopped") return ["", "stopped"];
  return [code === LOST ? say("lostHere") : explain({ code, status }).sentence, "interrupted"];
}

/** Add a turn to the page and return its elements. */
function addTurn(turn) {
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
  tell(reply.refused ? `${heading(reply)}. ${reply.answer}` : breakText(reply) || say("answered", { trust: trust(reply) }));
}

function complete({ kept: turn, answer, card, article }) {
  const { reply } = turn;
  const vote = (given) => {
    turn.vote = given;
    keep(kept);
  };
  answer.finish(reply, heading(reply), () => submit(turn.text));
  card.append(...sections({ ...turn, keep: vote }, answer.chips));
  card.classList.toggle("declined", Boolean(reply.refused && reply.closest?.length));
  card.classList.toggle("doubted", answer.section.classList.contains("low"));
  const more = next(reply, submit);
  if (more) article.append(more);
}

/** Store the failure of a turn and show it. */
function keepFailure(turn, error, tries) {
  turn.kept.failed = { code: error.code, status: error.status };
  keep(kept);
  const retry = () => askAgain(turn, tries + 1);
  const said = showError(turn, error, retry);
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

/** Replace `turn` by a new one with the same question. */
function askAgain(turn, tries = 0) {
  if (running || !turn.article.isConnected) return;
  kept = kept.filter((one) => one !== turn.kept);
  turn.article.remove();
  submit(turn.kept.text, tries);
}

function showError(turn, error, retry = () => askAgain(turn)) {
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

/** Count down in the element `said`, then call `retry`. */
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

function setBusy(controller) {
  running = controller;
  const leaves = document.activeElement === at("stop");
  at("send").hidden = controller !== null;
  at("stop").hidden = controller === null;
  if (leaves) at("question").focus();
}
