// The last conversations, stored only in this browser: a tab restores its own, and any can be opened or erased.

const profile = document.documentElement.dataset.profile;
const NOW = `session-${profile}`; // the id of this tab's conversation, which is also its session at the service
const TALKS = `talks-${profile}`; // [{ id, at, turns: [{ text, filters, reply, failed, vote }] }], newest first
const MOST_TALKS = 12;
const MOST_TURNS = 20;

/** Return the id of this tab's conversation, a random one created at the first call. */
export function session() {
  const known = sessionStorage.getItem(NOW);
  if (known) return known;
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const made = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  sessionStorage.setItem(NOW, made);
  return made;
}

/** Return the stored conversations, newest first. */
export function talks() {
  try {
    return JSON.parse(localStorage.getItem(TALKS)).filter(({ id, turns }) => id && turns.length);
  } catch {
    return [];
  }
}

/** Return the turns of this tab's conversation, oldest first. */
export function turns() {
  const id = sessionStorage.getItem(NOW);
  return (talks().find((one) => one.id === id)?.turns || []).filter(({ text }) => text);
}

/** Store the turns of this tab's conversation; the oldest conversations are removed if storage is full. */
export function keep(turns) {
  const id = session();
  const made = { id, at: Date.now(), turns: turns.slice(-MOST_TURNS) };
  let all = [...(turns.length ? [made] : []), ...talks().filter((one) => one.id !== id)].slice(0, MOST_TALKS);
  for (;; all = all.slice(0, -1)) {
    try {
      if (all.length) return localStorage.setItem(TALKS, JSON.stringify(all));
      return localStorage.removeItem(TALKS);
    } catch {
      if (!all.length) return undefined; // the browser stores nothing for this page
    }
  }
}

/** Continue the stored conversation with the answer `responseId`; return whether there is one. */
export function reopen(responseId) {
  const now = sessionStorage.getItem(NOW);
  const holding = talks().filter((one) => one.turns.some(({ reply }) => reply?.responseId === responseId));
  const found = holding.find((one) => one.id === now) || holding[0];
  if (found) resume(found.id);
  return Boolean(found);
}

/** Continue the conversation `id` in this tab. */
export function resume(id) {
  sessionStorage.setItem(NOW, id);
}

/** Start a new conversation. */
export function forget() {
  sessionStorage.removeItem(NOW);
}

/** Erase the conversation `id`, or all of them. */
export function erase(id) {
  const left = id ? talks().filter((one) => one.id !== id) : [];
  localStorage.setItem(TALKS, JSON.stringify(left));
  if (!id || id === sessionStorage.getItem(NOW)) forget();
}
