// The page: a conversation with the documents.

import "./theme.js";
import { answerNamed, showFirst, leave, name, passageNamed, questionNamed } from "./address.js";
import { begin, submit, restore, stop } from "./conversation.js";
import { at, button, element, tell } from "./dom.js";
import { greet } from "./greeting.js";
import { erase, forget, reopen, resume, session, talks, turns } from "./history.js";
import { followAddress } from "./passage.js";
import { key } from "./service.js";
import { say } from "./strings.js";

const NEAR = 0.8; // share of the longest question from which the length is shown
const question = at("question");

at("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = question.value;
  if (!text.trim() || tooLong() || !submit(text)) return;
  question.value = "";
  grow();
});
question.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  at("ask").requestSubmit();
});
question.addEventListener("input", grow);
at("suggestions").addEventListener("click", ({ target }) => target.matches("button") && submit(target.textContent));
at("stop").addEventListener("click", stop);
at("fresh").addEventListener("click", () => {
  begin();
  listTalks();
  question.focus();
});
at("erase").addEventListener("click", () => eraseTalk());
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

/** Show the stored answer in the address, with its conversation. */
function openKept() {
  const before = session();
  if (!reopen(answerNamed())) tell(say("notHere"), { shown: true });
  else if (session() !== before) restore();
}

/** List earlier conversations, to open or erase them. */
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
      button(say("erase"), () => eraseTalk(id), "plain", { "aria-label": `${say("erase")}: ${text}` }),
    );
  }));
}

function eraseTalk(id) {
  erase(id);
  listTalks();
  question.focus();
}

const asked = questionNamed();
if (asked) forget();
if (asked || !(answerNamed() || passageNamed() || turns().length)) showFirst("replaceState");
const there = !answerNamed() || reopen(answerNamed());
if (there && answerNamed()) name(answerNamed());
restore();
if (!there) tell(say("notHere"), { shown: true });
listTalks();
if (asked && document.documentElement.dataset.asks) submit(asked);
else if (asked) {
  question.value = asked; // the link is another site's, so the reader decides whether to ask
  grow();
}
at("forget").hidden = !key.get();
question.focus();
greet();
