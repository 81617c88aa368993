"""docs/openapi.json: the skeleton openapi.yaml with the models' schemas, examples of errors and samples of calls."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from pydantic.json_schema import models_json_schema
from ruamel.yaml import YAML

from rag.http import schema
from rag.http.chat_completions import ChatRequest
from rag.http.failures import error_body_at
from rag.http.openai_responses import ResponseRequest
from rag.version import VERSION

_REQUESTS = (schema.QueryRequest, schema.QuestionRequest, schema.FeedbackRequest, ChatRequest, ResponseRequest)
_MODELS = [value for value in vars(schema).values() if isinstance(value, type)]
_REPLIES = [model for model in _MODELS if issubclass(model, schema.Reply) and model is not schema.Reply]
_RETRY_AFTER = {"description": "Seconds to wait, where it is known.", "schema": {"type": "integer"}}


def openapi() -> str:
    """Return the text of docs/openapi.json."""
    document = skeleton()
    del document["parts"]
    sentences = {row["code"]: row["error"] for row in document["x-error-codes"]}
    base = document["servers"][0]["url"]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            _add_errors(operation, path, sentences)
            if operation["tags"] != ["Page"]:
                operation["x-codeSamples"] = _code_samples(method, base + path, operation)
    components = document["components"]
    components["schemas"] = _schemas(components["schemas"], document.pop("descriptions"))
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def skeleton() -> dict[str, Any]:
    """Return openapi.yaml with the program's version."""
    text = Path(__file__).with_name("openapi.yaml").read_text(encoding="utf-8")
    document: dict[str, Any] = YAML(typ="safe", pure=True).load(text.replace("$VERSION", VERSION))
    return document


def _schemas(written: dict[str, Any], descriptions: dict[str, dict[str, str]]) -> dict[str, Any]:
    """Return the models' schemas, then those ``written`` by hand, each property with its description.

    A model's own description of a property is kept; the descriptions below ``*`` hold for every model.
    """
    # A client may leave out a request's field with a default; a reply has every field.
    _, generated = models_json_schema(
        [*((model, "validation") for model in _REQUESTS), *((model, "serialization") for model in _REPLIES)],
        ref_template="#/components/schemas/{model}",
    )
    schemas = dict(generated["$defs"])
    for name, fields in written.items():
        schemas[name] = {**schemas.get(name, {}), **fields}
    for name, fields in schemas.items():
        fields["description"] = fields.get("description", "").replace("``", "`")  # docstrings are reStructuredText
        own = {**descriptions["*"], **descriptions.get(name, {})}
        for field, value in fields.get("properties", {}).items():
            value.pop("default", None)  # some generators take a property with a default for required
            if field in own:
                value.setdefault("description", own[field])
    return schemas


def _add_errors(operation: dict[str, Any], path: str, sentences: dict[str, str]) -> None:
    """Replace the ``errors`` of the operation at ``path`` by responses, with an example for each of their codes."""
    model = "OpenAiError" if operation["tags"] == ["OpenAI"] else schema.ErrorReply.__name__
    reference = {"$ref": f"#/components/schemas/{model}"}
    for status, text in sorted(operation.pop("errors", {}).items()):
        codes = [code for code in re.findall(r"[a-z]+(?:_[a-z]+)*", text) if code in sentences]
        examples = {code: {"value": error_body_at(path, sentences[code], code, status)} for code in codes}
        content = {"schema": reference, **({"examples": examples} if examples else {})}
        response: dict[str, Any] = {"description": text, "content": {"application/json": content}}
        if status in {429, 503}:
            response["headers"] = {"Retry-After": _RETRY_AFTER}
        operation["responses"][str(status)] = response


def _code_samples(method: str, url: str, operation: dict[str, Any]) -> list[dict[str, str]]:
    """Return calls of ``operation`` in curl, Python and JavaScript; its own ``samples`` go before generated ones."""
    for parameter in operation.get("parameters", ()):
        url = url.replace(f"{{{parameter['name']}}}", parameter["example"])
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    examples = [example["value"] for example in content.get("examples", {}).values()]
    body = content.get("example", examples[0] if examples else None)
    text = json.dumps(body)
    curl = f" \\\n  -H 'content-type: application/json' -d '{text}'" if body else ""
    python = f", json={body!r}" if body else ""
    kind = ', "content-type": "application/json"' if body else ""
    javascript = f",\n  body: JSON.stringify({text})" if body else ""
    sources = {
        "curl": f"curl {url} -H 'x-api-key: KEY'{curl}",
        "curl, streamed": "",
        "Python": f'import httpx\n\nprint(httpx.{method}("{url}", headers={{"x-api-key": "KEY"}}{python}).json())',
        "JavaScript": f'const reply = await fetch("{url}", {{\n'
        f'  method: "{method.upper()}", headers: {{ "x-api-key": "KEY"{kind} }}{javascript},\n'
        "});\nconsole.log(await reply.json());",
        **operation.pop("samples", {}),
    }
    return [
        {"lang": "Shell" if label.startswith("curl") else label, "label": label, "source": source}
        for label, source in sources.items()
        if source
    ]
