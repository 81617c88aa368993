// The welcome: who answers, sample questions, and the form for the API key.

import { at, button, element, link, tell } from "./dom.js";
import { explain } from "./errors.js";
import { offer } from "./filters.js";
import { followAddress } from "./passage.js";
import { key, read } from "./service.js";
import { asQuestion, say } from "./strings.js";

let waiting = null; // called after the key is entered

at("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  key.set(at("key").value.trim());
  at("key").value = "";
  at("key-form").hidden = true;
  at("forget").hidden = false;
  tell("");
  at("question").focus();
  const then = waiting;
  waiting = null;
  then?.();
  if (then !== greet) greet();
});
at("forget").addEventListener("click", () => {
  key.forget();
  at("forget").hidden = true;
  askForKey(greet);
});

/** Ask for a key, then call `then`; `wrong`: the last key was rejected. */
export function askForKey(then, { wrong = false } = {}) {
  waiting = then;
  at("key-form").hidden = false;
  at("key-said").textContent = say(wrong ? "keyWrong" : "keyStays");
  at("key").focus();
}

/** Show who answers and sample questions, and open the passage in the address. */
export async function greet() {
  let told;
  try {
    told = await read("api/suggestions");
  } catch (error) {
    if (error.needsKey) askForKey(greet, { wrong: Boolean(key.get()) });
    else tell(explain(error).sentence, { shown: true });
    return;
  }
  const { documents, titles = [], model, questions, name, greeting, disclaimer, contact, longest = 1000, filters = [] } = told;
  const writer = model === "extractive" ? say("quoting") : say("writing", { model });
  const count = say(documents === 1 ? "document" : "documents", { n: documents });
  at("about").textContent = `${count}, ${writer}`;
  const some = titles.slice(0, 3);
  reveal(at("holds"), some.length, `${count}: ${some.join(" · ")}${documents > some.length ? " …" : ""}`);
  if (name) {
    at("name").textContent = name;
    document.title = `${name} – ${say("title")}`;
  }
  if (greeting) at("welcome-title").textContent = greeting;
  at("question").dataset.longest = longest;
  at("question").dispatchEvent(new Event("input")); // counts text that was typed before
  reveal(at("disclaimer"), disclaimer, disclaimer);
  reveal(at("contact"), contact, ...parts(contact || ""));
  const buttons = questions.map((text) => element("li", {}, button(asQuestion(text), null, "")));
  at("suggestions").replaceChildren(...buttons);
  at("suggestions").hidden = !questions.length;
  offer(filters);
  followAddress();
}

function reveal(place, whether, ...content) {
  place.replaceChildren(...content.filter(Boolean));
  place.hidden = !whether;
}

/** Return the sentence about whom to ask, with a link if the contact is an address. */
function parts(contact) {
  const mail = /^[^\s@:]+@[^\s@]+$/.test(contact) ? `mailto:${contact}` : contact;
  const [before, after] = say("contact", { contact: "\n" }).split("\n");
  return [before, link(mail, contact), after];
}
