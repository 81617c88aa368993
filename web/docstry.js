// Code samples of a route, and a form that sends a request to this server and shows the response.

import { element } from "./dom.js";

const here = document.baseURI.replace(/\/$/, "");
const key = element("input", { type: "password", id: "key", autocomplete: "off" });

/** Return the field for the API key; the key stays on this page. */
export function keyField() {
  return element("p", {}, element("label", { for: "key", text: "API key, where the server asks for one: " }), key);
}

/** Return code samples in several languages, with this server's address. */
export function samples(one) {
  return (one["x-codeSamples"] || []).map(({ label, source }) => {
    const text = source.replace(/\w+:\/\/127\.0\.0\.1:3000/g, here);
    return element("details", {}, element("summary", { text: label }), element("pre", { tabindex: "0" }, element("code", { text })));
  });
}

/** Return a form that sends the request of the operation `one`, with an editable body. */
export function tryIt(method, path, one, example) {
  const body = example === undefined ? null : element("textarea", { id: `${one.operationId}-body`, rows: "6", spellcheck: "false" });
  if (body) body.value = JSON.stringify(example, null, 2);
  const parameters = (one.parameters || []).map((p) => ({ ...p, field: element("input", { id: `${one.operationId}-${p.name}`, value: p.example || "" }) }));
  const shown = element("code", {});
  const out = element("pre", { tabindex: "0", hidden: true, role: "status" }, shown);
  const button = element("button", { type: "submit", class: "plain", text: "Send" });

  async function send(event) {
    event.preventDefault();
    button.disabled = true;
    out.hidden = false;
    shown.textContent = "";
    try {
      const reply = await fetch(address(path, parameters), {
        method: method.toUpperCase(),
        headers: { ...(body ? { "content-type": "application/json" } : {}), ...(key.value ? { "x-api-key": key.value } : {}) },
        body: body ? body.value : undefined,
      });
      shown.textContent = `${reply.status}\n`;
      await show(reply, shown);
    } catch {
      shown.textContent += "The server cannot be reached, or the connection broke off.";
    }
    button.disabled = false;
  }

  const label = (id, text) => element("label", { for: id, text });
  return element(
    "form", { onsubmit: send, "aria-label": `Send ${method.toUpperCase()} ${path}` },
    ...parameters.map(({ name, field }) => element("p", {}, label(field.id, `${name} `), field)),
    ...(body ? [label(body.id, "Body"), body] : []), element("p", {}, button), out,
  );
}

function address(path, parameters) {
  const query = new URLSearchParams();
  for (const { name, in: place, field } of parameters) {
    if (place === "path") path = path.replace(`{${name}}`, encodeURIComponent(field.value));
    else if (field.value) query.set(name, field.value);
  }
  return `${path.slice(1)}${query.size ? `?${query}` : ""}`;
}

async function show(reply, shown) {
  if (!(reply.headers.get("content-type") || "").startsWith("text/event-stream")) {
    const text = await reply.text();
    try {
      shown.textContent += JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      shown.textContent += text;
    }
    return;
  }
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) shown.textContent += value;
}
