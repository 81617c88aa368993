// The chips that narrow what is searched: one for each value of a metadata field that has few.

import { at, button, element } from "./dom.js";
import { readable } from "./strings.js";

const FIELDS = 2;
const VALUES = 8;
let offered = [];
let chosen = {};

/** What is chosen, as a request takes it: `{ field: [values] }`. */
export const filters = () => chosen;

/** Offer chips for `fields`, of which each is `{ field, values }`. */
export function offer(fields) {
  offered = fields.filter(({ values }) => values.length <= VALUES).slice(0, FIELDS);
  choose(chosen);
}

/** Let `filters` be what is chosen. */
export function choose(filters = {}) {
  chosen = filters;
  at("filters").hidden = !offered.length;
  at("filters").replaceChildren(...offered.map(({ field, values }) => {
    const chips = values.map((value) => button(readable(value), ({ target }) => toggle(target, field, value), "tag", { "aria-pressed": String(within(field).includes(value)) }));
    return element("div", { role: "group", "aria-label": readable(field) }, ...chips);
  }));
}

function within(field) {
  return chosen[field] || [];
}

function toggle(chip, field, value) {
  const others = within(field).filter((one) => one !== value);
  const values = others.length < within(field).length ? others : [...others, value];
  const { [field]: before, ...rest } = chosen;
  chosen = values.length ? { ...rest, [field]: values } : rest;
  chip.setAttribute("aria-pressed", String(values.includes(value)));
  if (!chip.offsetParent) at("question").focus(); // in a conversation what is not chosen is not shown
}
