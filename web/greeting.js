// Who answers, what can be asked, and the key that the service may want first.

import { at, element, tell } from "./dom.js";
import { followAddress } from "./passage.js";
import { key, read } from "./service.js";

let next = null; // what needs the key

at("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  key.set(at("key").value.trim());
  at("key").value = "";
  at("key-form").hidden = true;
  at("forget").hidden = false;
  tell("");
  at("question").focus();
  const waiting = next;
  next = null;
  waiting?.();
  if (waiting !== greet) greet();
});
at("forget").addEventListener("click", () => {
  key.forget();
  at("forget").hidden = true;
  askForKey(greet);
});

/** Ask for a key, and do `then` with it. */
export function askForKey(then) {
  next = then;
  at("key-form").hidden = false;
  at("key").focus();
}

/** Say who answers, offer sample questions, and open the passage that the address names. */
export async function greet() {
  let told;
  try {
    told = await read("api/suggestions");
  } catch (error) {
    if (error.needsKey) askForKey(greet);
    else tell(error.message, { shown: true });
    return;
  }
  const { documents, model, questions, name, greeting, disclaimer } = told;
  const writer = model === "extractive" ? "in the documents' own words" : `written by ${model}`;
  at("about").textContent = `${documents} document${documents === 1 ? "" : "s"}, answers ${writer}`;
  if (name) {
    at("name").textContent = name;
    document.title = `${name} – ask the documents`;
  }
  if (greeting) at("welcome-title").textContent = greeting;
  at("disclaimer").textContent = disclaimer;
  at("disclaimer").hidden = !disclaimer;
  at("suggestions").replaceChildren(...questions.map((text) => element("li", {}, element("button", { type: "button", text }))));
  at("suggestions").hidden = !questions.length;
  followAddress();
}
