// The sentences of the page in its language; {name} in one stands for a value.

import WORDS from "./words.json" with { type: "json" };

/** The sentence `name` with its values. */
export function say(name, values = {}) {
  return WORDS[name].replace(/\{(\w+)\}/g, (_, value) => values[value]);
}

/** A name or value of the documents' metadata, such as "02_sea_carriers", in words. */
export const readable = (name) => String(name).replace(/^\d+_/, "").replaceAll("_", " ");

/** A heading as a question; one that is a question stays as it is. */
export function asQuestion(heading) {
  if (/\?\s*$/.test(heading)) return heading;
  const how = WORDS.how && /^how to (.+)/i.exec(heading);
  return how ? say("how", { heading: how[1] }) : say("tell", { heading });
}
