// The page: a conversation with the documents.

import "./theme.js";
import { answerNamed, begins, leave, name, passageNamed, questionNamed } from "./address.js";
import { begin, put, restore, stop } from "./conversation.js";
import { at, button, element, tell } from "./dom.js";
import { greet } from "./greeting.js";
import { erase, forget, reopen, resume, session, talks, turns } from "./history.js";
import { followAddress } from "./passage.js";
import { key } from "./service.js";
import { say } from "./strings.js";

const NEAR = 0.8; // of the longest question: from there the length is shown
const question = at("question");

at("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = question.value;
  if (!text.trim() || tooLong() || !put(text)) return;
  question.value = "";
  grow();
});
question.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  at("ask").requestSubmit();
});
question.addEventListener("input", grow);
at("suggestions").addEventListener("click", ({ target }) => target.matches("button") && put(target.textContent));
at("stop").addEventListener("click", stop);
at("fresh").addEventListener("click", () => {
  begin();
  listTalks();
  question.focus();
});
at("erase").addEventListener("click", () => erased());
addEventListener("online", () => tell(""));
addEventListener("offline", () => tell(say("offlineNow"), { shown: true }));
addEventListener("popstate", () => {
  if (!history.state?.start || document.body.classList.contains("first")) return;
  begin("");
  listTalks();
});
addEventListener("hashchange", () => {
  followAddress();
  if (answerNamed()) openKept();
});

function length() {
  return [...question.value.trim()].length;
}

function longest() {
  return Number(question.dataset.longest || Infinity);
}

function tooLong() {
  return length() > longest();
}

function grow() {
  question.style.height = "auto";
  question.style.height = `${question.scrollHeight + question.offsetHeight - question.clientHeight}px`;
  const most = longest();
  at("count").hidden = length() < NEAR * most;
  at("count").classList.toggle("over", tooLong());
  at("count").textContent = at("count").hidden ? "" : say(tooLong() ? "tooLong" : "counted", { n: length(), most });
}

/** Show the kept answer that the address names, with its conversation. */
function openKept() {
  const before = session();
  if (!reopen(answerNamed())) tell(say("notHere"), { shown: true });
  else if (session() !== before) restore();
}

/** The conversations of before that can be opened or erased. */
function listTalks() {
  const others = talks().filter(({ id }) => id !== session());
  at("earlier").hidden = !others.length;
  at("talks").replaceChildren(...others.map(({ id, at: when, turns: [{ text }] }) => {
    const open = () => {
      leave();
      resume(id);
      restore();
      name(turns().at(-1).reply?.responseId);
    };
    return element(
      "li", {}, button(text, open, "as-link"),
      element("time", { class: "quiet", text: new Date(when).toLocaleDateString(document.documentElement.lang) }),
      button(say("erase"), () => erased(id), "plain", { "aria-label": `${say("erase")}: ${text}` }),
    );
  }));
}

function erased(id) {
  erase(id);
  listTalks();
  question.focus();
}

const asked = questionNamed();
if (asked) forget();
if (asked || !(answerNamed() || passageNamed() || turns().length)) begins("replaceState");
const there = !answerNamed() || reopen(answerNamed());
if (there && answerNamed()) name(answerNamed());
restore();
if (!there) tell(say("notHere"), { shown: true });
listTalks();
if (asked && document.documentElement.dataset.asks) put(asked);
else if (asked) {
  question.value = asked; // another site sent the reader, who may not want to ask
  grow();
}
at("forget").hidden = !key.get();
question.focus();
greet();
