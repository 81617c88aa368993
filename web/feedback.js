// A vote on an answer, with a comment where somebody has one; the same button again takes it back.

import { element } from "./dom.js";
import { post } from "./service.js";

/** The two buttons; `said` is where the outcome is told. */
export function feedback({ responseId }, said) {
  let vote = null;
  const up = button("Helpful", true);
  const down = button("Not helpful", false);
  return [up, down];

  function button(label, helpful) {
    return element("button", {
      type: "button", class: "plain vote", text: label, "aria-pressed": "false",
      onclick: () => cast(vote === helpful ? null : helpful),
    });
  }

  async function cast(helpful, comment) {
    try {
      await post("api/feedback", { responseId, helpful, ...(comment ? { comment } : {}) });
    } catch (error) {
      said.textContent = error.message;
      return;
    }
    vote = helpful;
    up.setAttribute("aria-pressed", String(vote === true));
    down.setAttribute("aria-pressed", String(vote === false));
    said.textContent = vote === null ? "Taken back" : "Thank you";
    const card = up.closest(".card");
    card.querySelector(".comment")?.remove();
    if (comment) (vote ? up : down).focus(); // the form that had it is gone
    else if (vote !== null) {
      card.append(commentForm());
      card.querySelector(".comment").scrollIntoView({ block: "nearest" });
    }
  }

  function commentForm() {
    const words = element("textarea", { rows: 2, maxlength: 2000, "aria-label": "Comment on this answer", placeholder: "What was good or wrong? (optional)" });
    return element(
      "form", { class: "comment", onsubmit: (event) => { event.preventDefault(); if (words.value.trim()) cast(vote, words.value.trim()); } },
      words, element("div", { class: "line" }, element("button", { type: "submit", class: "plain", text: "Send comment" })),
    );
  }
}
