// Copying to the clipboard.

import { say } from "./strings.js";

/** Copy `text` to the clipboard and show the outcome in the element `said`. */
export async function copy(text, said) {
  try {
    await navigator.clipboard.writeText(text);
    said.textContent = say("copied");
  } catch {
    said.textContent = say("copyNot");
  }
}
