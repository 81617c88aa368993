// The service's HTTP API: JSON and server-sent events, with the key of this session.

const KEY = "key";

/** The code of a broken connection. */
export const LOST = "lost";

/** A failed request: the service's code or the status; `wait` is the service's Retry-After in seconds, or 0. */
export class Failed extends Error {
  constructor(sentence, { code = "", status = 0, wait = 0 } = {}) {
    super(sentence);
    Object.assign(this, { code, status, wait });
  }

  get needsKey() {
    return this.status === 401 || this.status === 403;
  }
}

export const key = {
  get: () => sessionStorage.getItem(KEY),
  set: (value) => sessionStorage.setItem(KEY, value),
  forget: () => sessionStorage.removeItem(KEY),
};

/** Return the JSON of a GET. */
export async function read(path, parameters = {}) {
  const query = new URLSearchParams(parameters).toString();
  const response = await send(query ? `${path}?${query}` : path);
  return response.json();
}

/** Return the JSON of a POST. */
export async function post(path, body) {
  const response = await send(path, { method: "POST", body: JSON.stringify(body) });
  return response.json();
}

/** Ask, pass the stream's events to `on(name, data)`, and return the reply. */
export async function ask(body, { on, signal }) {
  const headers = { Accept: "text/event-stream" };
  const response = await send("api/query", { method: "POST", body: JSON.stringify(body), headers, signal });
  if (!(response.headers.get("content-type") || "").includes("text/event-stream")) return response.json();
  for await (const { name, data } of events(response.body)) {
    if (name === "error") throw new Failed(data.error, { code: data.code });
    if (name === "answer") return data;
    on(name, data);
  }
  throw new Failed("", { code: LOST });
}

/** Yield the events of a stream, `{ name, data }`, wherever the network splits it. */
export async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read().catch(endStream);
      if (done) return; // an incomplete event is ignored
      rest = (rest + value).replace(/\r\n/g, "\n");
      const blocks = rest.split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        const found = toEvent(block);
        if (found) yield found;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** Treat a broken connection as the stream's end, but not the reader's Stop. */
function endStream(error) {
  if (error.name === "AbortError") throw error;
  return { done: true };
}

function toEvent(block) {
  let name = "message";
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  return data.length ? { name, data: JSON.parse(data.join("\n")) } : null;
}

async function send(path, { headers = {}, ...options } = {}) {
  const all = { ...headers };
  if (options.body) all["Content-Type"] = "application/json";
  if (key.get()) all["x-api-key"] = key.get();
  let response;
  try {
    response = await fetch(path, { ...options, headers: all });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failed("", { code: navigator.onLine ? "unreachable" : "offline" });
  }
  if (response.ok) return response;
  throw await readFailure(response);
}

async function readFailure(response) {
  const told = await response.text();
  const known = { status: response.status, wait: Number(response.headers.get("retry-after")) || 0 };
  try {
    const { error, code } = told.startsWith("event:") ? toEvent(told.trim()).data : JSON.parse(told);
    return new Failed(error, { code, ...known });
  } catch {
    return new Failed("", known);
  }
}
