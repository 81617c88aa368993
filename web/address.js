// The page's address: `#/r/ID` is a kept answer, `#id_42` a passage, `?q=` a question to ask.

let shown = "";

/** The address with `hash`, by default that of the answer that is shown. */
export const here = (hash = shown) => location.pathname + hash;

/** The id of the passage that the address names. */
export const passageNamed = () => /^#(id_[0-9]+)$/.exec(location.hash)?.[1];

/** The id of the answer that the address names. */
export function answerNamed() {
  const [, id] = /^#\/r\/([\w.~-]{1,64})$/.exec(location.hash) || [];
  return id;
}

/** The question that the address asks. */
export const questionNamed = () => new URLSearchParams(location.search).get("q")?.trim();

/** A link that asks `question`. */
export const asking = (question) => `${location.origin}${here("")}?${new URLSearchParams({ q: question })}`;

/** Let the address name the answer `id`. */
export function name(id) {
  shown = id ? `#/r/${encodeURIComponent(id)}` : "";
  if (!passageNamed()) history.replaceState(history.state, "", here());
}

/** Let Back lead from what is asked now to the first page. */
export function leave() {
  if (history.state?.start) history.pushState(null, "", here(""));
}

/** Let the address be that of the first page; `way` is "pushState" where Back leads to what was shown, or "" for there already. */
export function begins(way) {
  shown = "";
  if (way) history[way]({ start: true }, "", here());
}
