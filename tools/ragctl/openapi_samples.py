"""Samples of each route in curl, Python and JavaScript, as ``x-codeSamples``; they ask the local server."""

from __future__ import annotations

import json
from typing import Any

BASE = "http://127.0.0.1:3000"
_QUESTION = "What does it cost to change an ocean booking?"
_OPENAI = {
    "chatCompletion": (
        """\
messages = [{"role": "user", "content": QUESTION}]
told = client.chat.completions.create(model="waypoint", messages=messages)
print(told.choices[0].message.content)""",
        """\
const messages = [{ role: "user", content: QUESTION }];
const told = await client.chat.completions.create({ model: "waypoint", messages });
console.log(told.choices[0].message.content);""",
    ),
    "response": (
        """\
for event in client.responses.create(model="waypoint", input=QUESTION, stream=True):
    if event.type == "response.output_text.delta":
        print(event.delta, end="", flush=True)""",
        """\
const events = await client.responses.create({ model: "waypoint", input: QUESTION, stream: true });
for await (const event of events) {
  if (event.type === "response.output_text.delta") process.stdout.write(event.delta);
}""",
    ),
    "models": (
        "print([model.id for model in client.models.list()])",
        "console.log((await client.models.list()).data);",
    ),
}
_STREAMED = (
    f"curl -N {BASE}/api/query -H 'content-type: application/json' -H 'accept: text/event-stream' "
    f'-d \'{{"query": "{_QUESTION}"}}\''
)


def samples(method: str, path: str, one: dict[str, Any]) -> list[dict[str, str]]:
    """How the operation ``one`` is called."""
    name = one["operationId"]
    if name in _OPENAI:
        python, javascript = _OPENAI[name]
        asked = f'QUESTION = "{_QUESTION}"\n' if "QUESTION" in python else ""
        client = f'from openai import OpenAI\n\nclient = OpenAI(base_url="{BASE}/v1", api_key="KEY")\n'
        made = (
            f'import OpenAI from "openai";\n\nconst client = new OpenAI({{ baseURL: "{BASE}/v1", apiKey: "KEY" }});\n'
        )
        return [
            _sample("curl", _curl(path, one)),
            _sample("Python", f"{client}{asked}{python}"),
            _sample("JavaScript", f"{made}{f'const {asked.strip()};' + chr(10) if asked else ''}{javascript}"),
        ]
    shown = [_sample("curl", _curl(path, one))]
    shown += [_sample("curl, streamed", _STREAMED)] if name == "query" else []
    return [
        *shown,
        _sample("Python", _python(method, path, one)),
        _sample("JavaScript", _javascript(method, path, one)),
    ]


def _sample(label: str, source: str) -> dict[str, str]:
    return {"lang": label.partition(",")[0].replace("curl", "Shell"), "label": label, "source": source}


def _address(path: str, one: dict[str, Any]) -> str:
    for parameter in one.get("parameters", ()):
        path = path.replace(f"{{{parameter['name']}}}", parameter["example"])
    return BASE + path


def body_of(one: dict[str, Any]) -> Any:
    """The example of the request's body; None where it has none."""
    content = one.get("requestBody", {}).get("content", {}).get("application/json", {})
    examples = [shown["value"] for shown in content.get("examples", {}).values()]
    return content.get("example", examples[0] if examples else None)


def _curl(path: str, one: dict[str, Any]) -> str:
    body = body_of(one)
    told = f" \\\n  -H 'content-type: application/json' -d '{json.dumps(body)}'" if body else ""
    return f"curl {_address(path, one)} -H 'x-api-key: KEY'{told}"


def _python(method: str, path: str, one: dict[str, Any]) -> str:
    body = body_of(one)
    told = f", json={body!r}" if body else ""
    call = f'httpx.{method}("{_address(path, one)}", headers={{"x-api-key": "KEY"}}{told})'
    return f"import httpx\n\nprint({call}.json())"


def _javascript(method: str, path: str, one: dict[str, Any]) -> str:
    body = body_of(one)
    kind = ', "content-type": "application/json"' if body else ""
    told = f",\n  body: JSON.stringify({json.dumps(body)})" if body else ""
    head = f'  method: "{method.upper()}", headers: {{ "x-api-key": "KEY"{kind} }}{told}'
    return f'const reply = await fetch("{_address(path, one)}", {{\n{head},\n}});\nconsole.log(await reply.json());'
