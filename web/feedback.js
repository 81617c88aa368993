// A vote on an answer with an optional comment; the same button again withdraws it.

import { button, element } from "./dom.js";
import { explain } from "./errors.js";
import { post } from "./service.js";
import { say } from "./strings.js";

/** Return the two buttons; the element `said` shows the outcome, `vote` is the present vote, and `keep` stores a new one. */
export function feedback({ responseId }, said, { vote = null, keep }) {
  const up = choice(say("helpful"), true);
  const down = choice(say("unhelpful"), false);
  return [up, down];

  function choice(label, helpful) {
    return button(label, () => cast(vote === helpful ? null : helpful), "plain vote", { "aria-pressed": String(vote === helpful) });
  }

  async function cast(helpful, comment) {
    try {
      await post("api/feedback", { responseId, helpful, ...(comment ? { comment } : {}) });
    } catch (error) {
      said.textContent = explain(error).sentence;
      return;
    }
    vote = helpful;
    keep(vote);
    up.setAttribute("aria-pressed", String(vote === true));
    down.setAttribute("aria-pressed", String(vote === false));
    said.textContent = say(vote === null ? "takenBack" : "thanks");
    const card = up.closest(".card");
    card.querySelector(".comment")?.remove();
    if (comment) (vote ? up : down).focus(); // the form with the focus is gone
    else if (vote !== null) {
      card.append(commentForm());
      card.querySelector(".comment").scrollIntoView({ block: "nearest" });
    }
  }

  function commentForm() {
    const words = element("textarea", { rows: 2, maxlength: 2000, "aria-label": say("comment"), placeholder: say("commentHint") });
    return element(
      "form", { class: "comment", onsubmit: (event) => { event.preventDefault(); if (words.value.trim()) cast(vote, words.value.trim()); } },
      words, element("div", { class: "line" }, element("button", { type: "submit", class: "plain", text: say("send") })),
    );
  }
}
