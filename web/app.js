// The page: a conversation with the documents.

import "./theme.js";
import { begin, put, restore, stop } from "./conversation.js";
import { at, tell } from "./dom.js";
import { greet } from "./greeting.js";
import { followAddress } from "./passage.js";
import { key } from "./service.js";

const question = at("question");

at("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = question.value;
  if (!text.trim() || !put(text)) return;
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
  question.focus();
});
addEventListener("online", () => tell(""));
addEventListener("offline", () => tell("You are offline.", { shown: true }));
addEventListener("hashchange", followAddress);

function grow() {
  question.style.height = "auto";
  question.style.height = `${question.scrollHeight + question.offsetHeight - question.clientHeight}px`;
}

restore();
at("forget").hidden = !key.get();
question.focus();
greet();
