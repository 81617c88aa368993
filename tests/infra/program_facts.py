"""Prints what the template must agree with: routes, settings, metrics, the table, the answers to tests/events.

Runs in a process of its own, in an empty folder and environment: app.py builds its pipeline when it is imported.
"""

import contextlib
import io
import json
import re
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pydantic import BaseModel

import app
from rag.adapters.dynamodb import IAM_ACTIONS, marshal_item
from rag.adapters.stores.table import TableItem, TableKey
from rag.config.fields import variable_names
from rag.config.settings import Settings
from rag.profiles import PROFILES
from rag.values.answer import Answer, Confidence
from rag.values.chat import Completion, LlmUse, Usage
from rag.values.question import Question
from rag.values.stored import ResponseRecord
from telemetry import observe, request_telemetry

CONTEXT: Any = SimpleNamespace(
    function_name="the-function",
    memory_limit_in_mb=1769,
    invoked_function_arn="arn:aws:lambda:eu-central-1:123456789012:function:the-function:live",
    aws_request_id="00000000-0000-4000-8000-000000000000",
    get_remaining_time_in_millis=lambda: 29_000,
)
ANSWER = Answer(
    text="Yes.",
    question=Question(text="?"),
    profile=app.settings.profile,
    response_id="r",
    confidence=Confidence("High", 90.0, "because"),
    refused=False,
    completion=Completion(text="Yes.", model="m", usage=Usage(1, 1, 2)),
    skipped=("memory",),
    events=("reframed", "reranked", "cache_l1", "cache_l2"),
    llm=LlmUse(denied=1),
)
"""With everything that is counted."""


def answers(events: Path) -> dict[str, tuple[int, str | None]]:
    """Status and error code by event file."""
    told = {}
    for path in sorted(events.glob("*.json")):
        reply: Any = app.lambda_handler(json.loads(path.read_text(encoding="utf-8")), CONTEXT)
        told[path.stem] = (reply["statusCode"], json.loads(reply["body"]).get("code"))
    return told


def vote(event: Path) -> None:
    """Send ``event``, feedback on a response that is not known, when it is."""
    request = json.loads(event.read_text(encoding="utf-8"))
    known, profile = json.loads(request["body"])["responseId"], app.settings.profile
    record = ResponseRecord(response_id=known, question="?", chunk_ids=("c",), profile=profile, at=time.time())
    assert app.service.stores, "STORE_PATH is not set"
    app.service.stores.feedback.record(record)
    reply: Any = app.lambda_handler(request, CONTEXT)
    assert reply["statusCode"] == 202, reply


def emitted(output: str) -> list[dict[str, Any]]:
    """The metrics in embedded metric format among the lines of ``output``."""
    documents = [json.loads(line) for line in output.splitlines() if '"_aws"' in line]
    directives = [(one, directive) for one in documents for directive in one["_aws"]["CloudWatchMetrics"]]
    return [
        {"namespace": told["Namespace"], "name": metric["Name"], "dimensions": {name: one[name] for name in names}}
        for one, told in directives
        for names in told["Dimensions"]
        for metric in told["Metrics"]
    ]


def environment() -> list[str]:
    """The variables that the settings and the profiles' numbers are read from."""
    models: list[type[BaseModel]] = [Settings, *(import_profile().settings for import_profile in PROFILES.values())]
    return sorted({name for model in models for field in model.model_fields.values() for name in variable_names(field)})


if __name__ == "__main__":
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        told = answers(Path(sys.argv[1]))
        vote(Path(sys.argv[1]) / "feedback.json")
        with request_telemetry(CONTEXT, None):
            observe(ANSWER, protocol="api", first_text_ms=40.0)
    facts = {
        "routes": sorted([route.method, re.sub("<(.*)>", r"{\1}", route.path)] for route in app.ROUTES),
        "environment": environment(),
        "answers": told,
        "metrics": emitted(output.getvalue()),
        "table_actions": IAM_ACTIONS,
        "table_item": marshal_item(TableItem(TableKey("a", "b"), attributes={}, expires_at=0)),
    }
    json.dump(facts, sys.stdout)
