// The filter chips: one for each value of metadata fields with few values.

import { at, button, element } from "./dom.js";
import { readable } from "./strings.js";

const FIELDS = 2;
const VALUES = 8;
let offered = [];
let chosen = {};

/** Return the chosen filters in the request's form: `{ field: [values] }`. */
export const filters = () => chosen;

/** Show chips for `fields`, a list of `{ field, values }`. */
export function offer(fields) {
  offered = fields.filter(({ values }) => values.length <= VALUES).slice(0, FIELDS);
  choose(chosen);
}

/** Choose `filters`. */
export function choose(filters = {}) {
  chosen = filters;
  at("filters").hidden = !offered.length;
  at("filters").replaceChildren(...offered.map(({ field, values }) => {
    const chips = values.map((value) => button(readable(value), ({ target }) => toggle(target, field, value), "tag", { "aria-pressed": String(chosenIn(field).includes(value)) }));
    return element("div", { role: "group", "aria-label": readable(field) }, ...chips);
  }));
}

function chosenIn(field) {
  return chosen[field] || [];
}

function toggle(chip, field, value) {
  const others = chosenIn(field).filter((one) => one !== value);
  const values = others.length < chosenIn(field).length ? others : [...others, value];
  const { [field]: before, ...rest } = chosen;
  chosen = values.length ? { ...rest, [field]: values } : rest;
  chip.setAttribute("aria-pressed", String(values.includes(value)));
  if (!chip.offsetParent) at("question").focus(); // a conversation shows only chosen chips
}
