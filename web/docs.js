// The API reference, rendered from openapi.json.

import "./theme.js";
import { element } from "./dom.js";
import { keyField, samples, tryIt } from "./docstry.js";

const place = document.getElementById("reference");

build().catch(() => place.replaceChildren(element("p", { text: "The reference cannot be loaded now." })));

async function build() {
  const api = await (await fetch("openapi.json")).json();
  document.getElementById("about").textContent = api.info.description;
  const operations = Object.entries(api.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, one]) => ({ path, method, one })));
  const groups = api.tags.map((tag) => ({ ...tag, operations: operations.filter(({ one }) => one.tags.includes(tag.name)) }));
  const lists = groups.map(({ name, operations }) => element(
    "li", { text: name },
    element("ul", {}, ...operations.map(({ method, path, one }) => element("li", {}, element("a", { href: `docs#${one.operationId}`, text: `${method.toUpperCase()} ${path}` })))),
  ));
  const types = Object.entries(api.components.schemas).map(([name, schema]) => describeSchema(api, name, schema));
  place.replaceChildren(
    element("nav", { "aria-label": "Routes" }, element("ul", { "aria-label": "Routes" }, ...lists, element("li", {}, element("a", { href: "docs#errors", text: "Errors" })))),
    keyField(),
    ...groups.flatMap(({ name, description, operations }) => [
      element("h2", { text: name }), element("p", { text: description }), ...operations.map(({ method, path, one }) => operation(api, method, path, one)),
    ]),
    element("h2", { id: "errors", text: "Errors" }),
    table(["code", "a sentence that comes with it", "what to do"], api["x-error-codes"].map(({ code, error, remedy }) => [code, error, remedy])),
    element("h2", { text: "Types" }), ...types,
  );
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

function operation(api, method, path, one) {
  const parts = [
    element("h2", { id: one.operationId }, element("span", { class: "verb", text: method.toUpperCase() }), ` ${path}`),
    element("p", { text: one.summary }),
    one.description && element("p", { class: "quiet", text: one.description }),
    ...(one.parameters ? [element("h3", { text: "Parameters" }), table(["name", "in", "what it is"], one.parameters.map((p) => [p.name, p.in, p.description || ""]))] : []),
    ...(one.requestBody ? [element("h3", { text: "Request" }), ...contentOf(api, one.requestBody.content)] : []),
    element("h3", { text: "Responses" }),
    ...Object.entries(one.responses).flatMap(([status, response]) => describeResponse(api, status, resolve(api, response))),
    ...(one.tags.includes("Page") ? [] : [element("h3", { text: "Try" }), ...samples(one), tryIt(method, path, one, exampleOf(one.requestBody?.content?.["application/json"]))]),
  ];
  return element("section", { "aria-labelledby": one.operationId }, ...parts.filter(Boolean));
}

function describeSchema(api, name, schema) {
  const rows = fields(api, schema);
  const parts = [
    element("h3", { id: name, text: name }),
    schema.description && element("p", { class: "quiet", text: schema.description }),
    rows.length && table(["field", "type", "what it is"], rows),
  ];
  return element("section", { "aria-labelledby": name }, ...parts.filter(Boolean));
}

function describeResponse(api, status, response) {
  const failed = Number(status) >= 400;
  const line = element("p", {}, element("strong", { text: status }), ` ${response.description}`);
  return failed ? [line] : [line, ...contentOf(api, response.content || {})];
}

function contentOf(api, content) {
  return Object.entries(content).flatMap(([type, body]) => {
    const first = exampleOf(body);
    const rows = fields(api, body.schema);
    const events = Object.entries(body["x-events"] || {}).map(([name, schema]) => [name, typeOf(api, schema)]);
    return [
      element("p", { class: "quiet", text: type }),
      events.length ? table(["event", "its data"], events) : null,
      rows.length ? table(["field", "type", "what it is"], rows) : null,
      first === undefined ? null : code(typeof first === "string" ? first : JSON.stringify(first, null, 2)),
    ].filter(Boolean);
  });
}

function exampleOf(body) {
  return body?.example ?? Object.values(body?.examples || {})[0]?.value;
}

function fields(api, schema) {
  const { properties = {}, required = [] } = resolve(api, schema || {});
  return Object.entries(properties).map(([name, value]) => [
    required.includes(name) ? name : `${name}?`, typeOf(api, value), resolve(api, value).description || "",
  ]);
}

function typeOf(api, schema) {
  if (schema.$ref) {
    const name = schema.$ref.split("/").pop();
    return element("a", { href: `docs#${name}`, text: name });
  }
  if (schema.anyOf) return element("span", {}, ...schema.anyOf.flatMap((one, i) => [i ? " | " : "", typeOf(api, one)]));
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  if (schema.type === "array") return element("span", {}, "[", typeOf(api, schema.items || {}), "]");
  return schema.type || "any";
}

function resolve(api, schema) {
  if (!schema.$ref) return schema;
  return schema.$ref.slice(2).split("/").reduce((at, name) => at[name], api);
}

function table(heads, rows) {
  return element(
    "div", { class: "scroll", tabindex: "0", role: "group", "aria-label": heads.join(", ") },
    element(
      "table", {}, element("thead", {}, element("tr", {}, ...heads.map((text) => element("th", { scope: "col", text })))),
      element("tbody", {}, ...rows.map((cells) => element("tr", {}, ...cells.map((cell, i) => element("td", {}, i ? cell : element("code", { text: cell })))))),
    ),
  );
}

function code(text) {
  return element("pre", { tabindex: "0" }, element("code", { text }));
}
