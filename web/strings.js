// The page's sentences in its language, with {name} as the place of a value.

import WORDS from "./words.json" with { type: "json" };

/** Return the sentence `name` with its values. */
export function say(name, values = {}) {
  return WORDS[name].replace(/\{(\w+)\}/g, (_, value) => values[value]);
}

/** Return a metadata name or value, such as "02_sea_carriers", in words. */
export const readable = (name) => String(name).replace(/^\d+_/, "").replaceAll("_", " ");

/** Return a heading as a question, unchanged if it is one. */
export function asQuestion(heading) {
  if (/\?\s*$/.test(heading)) return heading;
  const how = WORDS.how && /^how to (.+)/i.exec(heading);
  return how ? say("how", { heading: how[1] }) : say("tell", { heading });
}
