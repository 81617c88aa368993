// The page's address: `#/r/ID` is a stored answer, `#id_42` a passage, `?q=` a question to ask.

let shown = "";

/** Return the address with `hash`, by default the hash of the shown answer. */
export const here = (hash = shown) => location.pathname + hash;

/** Return the id of the passage in the address. */
export const passageNamed = () => /^#(id_[0-9]+)$/.exec(location.hash)?.[1];

/** Return the id of the answer in the address. */
export function answerNamed() {
  const [, id] = /^#\/r\/([\w.~-]{1,64})$/.exec(location.hash) || [];
  return id;
}

/** Return the question in the address. */
export const questionNamed = () => new URLSearchParams(location.search).get("q")?.trim();

/** Return a link that asks `question`. */
export const linkTo = (question) => `${location.origin}${here("")}?${new URLSearchParams({ q: question })}`;

/** Put the answer `id` into the address. */
export function name(id) {
  shown = id ? `#/r/${encodeURIComponent(id)}` : "";
  if (!passageNamed()) history.replaceState(history.state, "", here());
}

/** Add a history entry, so that Back leads from the next question to the first page. */
export function leave() {
  if (history.state?.start) history.pushState(null, "", here(""));
}

/** Set the first page's address; `way` is "pushState" (Back leads to the shown page), "replaceState", or "" if it is set already. */
export function showFirst(way) {
  shown = "";
  if (way) history[way]({ start: true }, "", here());
}
