// The table of failures with the reader's sentence and next step.

import { say } from "./strings.js";

const CODES = {
  query_too_long: ["long", "edit"], unsafe_query: ["unsafe", "edit"],
  llm_unavailable: ["modelGone", "read"], embedder_unavailable: ["modelGone", "again"],
  index_not_ready: ["noIndex", "again"], index_mismatch: ["noIndex", "again"], unknown_chunk: ["noRead", ""], unknown_response: ["noRead", ""],
  offline: ["offline", "again"], unreachable: ["unreachable", "again"], lost: ["lost", "again"], stopped: ["stopped", "again"], left: ["left_page", "again"], too_many_votes: ["votes", ""],
};
const STATUSES = {
  400: ["badFilter", "edit"], 401: ["keyWrong", "key"], 403: ["keyWrong", "key"], 404: ["noRead", ""], 413: ["long", "edit"],
  429: ["busy", "wait"], 503: ["unreachable", "again"], 504: ["tooSlow", "again"],
};
const UNKNOWN = ["failed", "again"];

/** Return `{ sentence, next }` for a failure; `next` is edit, key, read, again, wait or "". */
export function explain({ code, status }) {
  const [name, next] = (Object.hasOwn(CODES, code || "") && CODES[code]) || STATUSES[status] || UNKNOWN;
  return { sentence: say(name), next };
}
