// Helpers to create elements from names and texts; no string ever becomes markup.

/** Return the element of index.html with this id. */
export const at = (id) => document.getElementById(id);

/** Create an element. `attributes` may have `class`, `text`, listeners ("onclick": function) and any attribute. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "text") made.textContent = value;
    else if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** Create a button that calls `onclick`. */
export const button = (text, onclick, name = "plain", more = {}) => element("button", { type: "button", class: name, text, onclick, ...more });

/** Create a section with a heading. */
export const titled = (text, ...children) => element("section", {}, element("h3", { text }), ...children);

/** Create a link that opens a new tab, or plain text for an address that is neither web nor mail. */
export function link(address, text, className = "") {
  if (!/^(https?:\/\/|mailto:)/i.test(address || "")) return element("span", { class: className, text });
  return element("a", { href: address, target: "_blank", rel: "noopener noreferrer", class: className, text });
}

/** Announce `text` to screen readers, and show it if `shown`. */
export function tell(text, { shown = false } = {}) {
  at("status").textContent = text;
  at("status").classList.toggle("shown", shown && text !== "");
}
