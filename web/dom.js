// Elements are made by name and text alone: no string ever becomes markup.

/** The element of index.html with this id. */
export const at = (id) => document.getElementById(id);

/** An element. `attributes` may hold `class`, `text`, listeners ("onclick": function) and any attribute. */
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

/** A button that does `onclick`. */
export const button = (text, onclick, name = "plain", more = {}) => element("button", { type: "button", class: name, text, onclick, ...more });

/** A section below a heading. */
export const titled = (text, ...children) => element("section", {}, element("h3", { text }), ...children);

/** A link that opens beside the page; plain text where the address is none that a reader should open. */
export function link(address, text, className = "") {
  if (!/^(https?:\/\/|mailto:)/i.test(address || "")) return element("span", { class: className, text });
  return element("a", { href: address, target: "_blank", rel: "noopener noreferrer", class: className, text });
}

/** Tell screen readers `text`; on the page too where it is `shown`. */
export function tell(text, { shown = false } = {}) {
  at("status").textContent = text;
  at("status").classList.toggle("shown", shown && text !== "");
}
