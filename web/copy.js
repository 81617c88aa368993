// What a person takes along.

import { say } from "./strings.js";

/** Put `text` where a person can paste it; `said` tells how that went. */
export async function copy(text, said) {
  try {
    await navigator.clipboard.writeText(text);
    said.textContent = say("copied");
  } catch {
    said.textContent = say("copyNot");
  }
}
