// The conversation of this tab: its session, and its turns, so that a reload shows what the service still remembers.

const profile = document.documentElement.dataset.profile;
const SESSION = `session-${profile}`;
const TURNS = `turns-${profile}`;
const MOST = 20;

/** The session's id, unguessable; made when it is first asked for. */
export function session() {
  const known = sessionStorage.getItem(SESSION);
  if (known) return known;
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const made = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  sessionStorage.setItem(SESSION, made);
  return made;
}

/** The last turns, `{ text, reply }`, oldest first. */
export function turns() {
  try {
    return JSON.parse(sessionStorage.getItem(TURNS)).filter(({ text, reply }) => text && reply);
  } catch {
    return [];
  }
}

/** Keep that `text` was answered by `reply`. */
export function remember(text, reply) {
  try {
    sessionStorage.setItem(TURNS, JSON.stringify([...turns(), { text, reply }].slice(-MOST)));
  } catch {
    sessionStorage.removeItem(TURNS); // the browser gives a page so much room and no more
  }
}

/** Begin anew. */
export function forget() {
  sessionStorage.removeItem(SESSION);
  sessionStorage.removeItem(TURNS);
}
