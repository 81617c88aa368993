"""The deployed function in a test: the real Lambda handler, fed with API Gateway REST events."""

import base64
import importlib
import json
import logging
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from subprocess import CompletedProcess, run
from types import ModuleType
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

from serve.web_pages import bundle

if TYPE_CHECKING:
    from fakes_llm import LlmServer

type Json = dict[str, Any]
type Event = dict[str, Any]

REPOSITORY = Path(__file__).resolve().parents[2]
REQUEST_ID = "7a1f4c2e-0000-4000-8000-5e2d1c0b9a87"
TIME_LIMIT_S = 29.0
SETTINGS = (
    "ASSISTANT_",
    "LLM_", "OPENAI_", "POWERTOOLS_", "CHROMA_", "CONFIDENCE_", "CITATION_", "RAG_", "INDEX_", "RETRIEVAL_",
    "RELEVANCE_", "MAX_", "REQUEST_", "PROMPTS_", "STORE_", "TABLE_", "ACRONYMS_", "FILTER_", "EMBED_", "ENABLE_",
    "MIN_", "GEN_", "RERANK_", "REFRAME_", "RECENCY_", "HISTORY_", "CACHE_", "SEED_", "RETRIEVER", "HYBRID_",
    "STREAM_", "CHECK", "JUDGE_", "FEEDBACK_",
)  # fmt: skip
API_KEY = "sk-live-0123456789-must-never-be-seen"
FEES = "# Fees\n\nDemurrage is 90 dollars for each day.\n"
REMOTE = {"EMBED_MODEL": "house", "EMBED_API_KEY": API_KEY, "NO_PROXY": "127.0.0.1"}
"""The settings of an embedder elsewhere, but for its address."""

DECLINE = (
    "I don't have specific information about that in the knowledge base. "
    "Please rephrase your question or contact a specialist."
)
IN_SCOPE = "Which documents do you need for import customs clearance in Singapore?"
SAID = (
    "You need three papers: the commercial invoice, the packing list and the bill of lading or air waybill "
    "[Singapore Import Permits and TradeNet > Documents needed for import customs clearance]."
)
"""What a model may well answer to that."""
QUOTED = (
    "To clear your goods through customs we need three papers from you before they arrive: the commercial invoice, the "
    "packing list and the bill of lading or air waybill "
    "[Singapore Import Permits and TradeNet > Documents needed for import customs clearance]."
)
"""The same in the words of the passage."""
OUT_OF_SCOPE = "Who won the football world cup in 2018?"


@dataclass(frozen=True)
class Context:
    """What Lambda passes beside the event; the time that remains falls, as it does there."""

    seconds: float = TIME_LIMIT_S
    started: float = field(default_factory=time.monotonic)
    function_name: str = "query"
    memory_limit_in_mb: int = 1769
    invoked_function_arn: str = "arn:aws:lambda:eu-central-1:123456789012:function:query"
    aws_request_id: str = "c6af9ac6-7b61-11e6-9a41-93e8deadbeef"

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until Lambda would stop the function."""
        return int(1000 * (self.seconds - (time.monotonic() - self.started)))


@dataclass(frozen=True)
class Reply:
    """What came back. Header names are in lower case; ``output`` is all that the call wrote, logs and metrics."""

    status: int
    headers: Mapping[str, str]
    text: str
    output: str

    @property
    def json(self) -> Json:
        """The body, which every reply of this service has."""
        body: Json = json.loads(self.text)
        return body

    @property
    def lines(self) -> list[Json]:
        """Every line of the output as JSON; fails on one that is not."""
        return [json.loads(line) for line in self.output.splitlines() if line]

    @property
    def logs(self) -> list[Json]:
        """The log lines."""
        return [line for line in self.lines if "_aws" not in line]

    @property
    def metrics(self) -> list[Json]:
        """The metric lines (embedded metric format)."""
        return [line for line in self.lines if "_aws" in line]


class Api:
    """One started function, with what it wrote to stdout and stderr, and the LLM that was started beside it."""

    llm: "LlmServer"

    def __init__(self) -> None:
        """Import ``app`` afresh under the environment as it is now."""
        self.stream = StringIO()
        forget()
        with redirect_stdout(self.stream), redirect_stderr(self.stream), warnings.catch_warnings():
            # Powertools keeps its dimensions for the process; a cold start finds none there.
            warnings.filterwarnings("ignore", message="Dimension 'profile' has already been added")
            self.app: ModuleType = importlib.import_module("app")
        sys.modules["routes.page"].load_page = bundle  # type: ignore[attr-defined]  # no build has made the pages
        self.telemetry = sys.modules["telemetry"]

    def call(self, event: Event, *, seconds: float = TIME_LIMIT_S) -> Reply:
        """One invocation with ``seconds`` left on Lambda's clock."""
        before = self.stream.tell()
        with redirect_stdout(self.stream), redirect_stderr(self.stream), warnings.catch_warnings():
            # The function ignores it too, but pytest undoes that after each test.
            warnings.filterwarnings("ignore", message="No application metrics to publish")
            result = self.app.lambda_handler(event, Context(seconds))
        assert result["isBase64Encoded"] is False
        many: Mapping[str, list[str]] = result.get("multiValueHeaders") or {}
        headers = {name.lower(): ", ".join(values) for name, values in many.items()}
        headers |= {name.lower(): value for name, value in (result.get("headers") or {}).items()}
        return Reply(result["statusCode"], headers, result["body"], self.stream.getvalue()[before:])

    def ask(self, query: str, *, seconds: float = TIME_LIMIT_S, **fields: Any) -> Reply:
        """POST /api/query."""
        return self.call(post({"query": query, **fields}), seconds=seconds)

    def send(self, path: str, **body: Any) -> Reply:
        """POST a JSON object."""
        return self.call(rest_event("POST", path, json.dumps(body)))

    def get(self, path: str, **query: str) -> Reply:
        """GET, by default without a query."""
        return self.call({**rest_event("GET", path), "queryStringParameters": query or None})

    def vote(self, response_id: object, helpful: object, **fields: Any) -> Reply:
        """POST /api/feedback."""
        return self.send("/api/feedback", responseId=response_id, helpful=helpful, **fields)

    def health(self) -> Reply:
        """GET /api/health."""
        return self.get("/api/health")

    @property
    def output(self) -> str:
        """All that the function wrote since it started."""
        return self.stream.getvalue()

    def close(self) -> None:
        """Give back the index, the stores' connections and the modules."""
        self.app.service.index.handle.close()
        self.app.service.renew()
        forget()


type Start = Callable[..., Api]
"""Starts the function: keyword arguments are environment variables, which come on top of the clean ones."""


@contextmanager
def starting(index: Path) -> Iterator[Start]:
    """A ``start`` whose functions end with the block, in an environment without settings of this machine.

    Stores have a minute: on a busy machine a tenth of a second says nothing about them.
    """
    from real_model import model  # late: tests/budget imports this module, and counts what a start alone imports

    started: list[Api] = []
    # The environment comes back as it was found: a test that sets a name on its own patch too may undo that one first.
    with mock.patch.dict(os.environ), pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(SETTINGS)]:
            patch.delenv(name)
        # Loading the model takes as long as everything else that a start does.
        patch.setattr("rag.wiring.application.MiniLM", lambda *, threads: model())

        def start(**env: str) -> Api:
            usual = {"INDEX_URI": str(index), "RAG_PROFILE": "waypoint", "STORE_WAIT_S": "60"}
            for name, value in {**usual, **env}.items():
                patch.setenv(name, value)
            started.append(Api())
            return started[-1]

        yield start
        for api in started:
            api.close()


def run_apart(
    program: str, *arguments: object, env: Mapping[str, str] | None = None, cwd: Path | None = None, first: str = ""
) -> CompletedProcess[str]:
    """Run Python code in a process of its own: cold as on Lambda, without settings of this machine.

    It imports from where this process does, but from the folder ``first`` before that.
    """
    clean = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
    told = {**clean, "PYTHONPATH": os.pathsep.join(filter(None, [first, *sys.path])), **(env or {})}
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = run(command, env=told, cwd=cwd, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    return done


def forget() -> None:
    """Make the next import of ``app`` a cold start: its modules, and what Powertools keeps beside them."""
    for name in [name for name in sys.modules if name.partition(".")[0] in {"app", "routes", "telemetry"}]:
        del sys.modules[name]
    # A Logger of a known name keeps its first handler, which writes to a stream of another test.
    logging.root.manager.loggerDict.pop("query", None)
    for name in ("rag", "knowledge"):
        logging.getLogger(name).handlers.clear()
        logging.getLogger(name).propagate = True
        logging.getLogger(name).setLevel(logging.NOTSET)


def rest_event(
    method: str, path: str, body: str | bytes | None = None, *, headers: Mapping[str, str] | None = None
) -> Event:
    """A REST (v1, proxy) event; a body of bytes arrives in base64, as API Gateway does it for binary media types."""
    named = {"Content-Type": "application/json", "Host": "abc.execute-api.test"} if headers is None else headers
    return {
        "resource": "/{proxy+}",
        "path": path,
        "httpMethod": method,
        "headers": dict(named),
        "multiValueHeaders": {name: [value] for name, value in named.items()},
        "queryStringParameters": None,
        "multiValueQueryStringParameters": None,
        "pathParameters": {"proxy": path.lstrip("/")},
        "stageVariables": None,
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "abc",
            "httpMethod": method,
            "identity": {"sourceIp": "192.0.2.1", "userAgent": "test"},
            "path": f"/prod{path}",
            "protocol": "HTTP/1.1",
            "requestId": REQUEST_ID,
            "requestTimeEpoch": 1_790_000_000_000,
            "resourcePath": "/{proxy+}",
            "stage": "prod",
        },
        "body": base64.b64encode(body).decode() if isinstance(body, bytes) else body,
        "isBase64Encoded": isinstance(body, bytes),
    }


def post(body: object, *, headers: Mapping[str, str] | None = None) -> Event:
    """POST /api/query with ``body`` as JSON, or as it is when it is text or bytes."""
    text = body if isinstance(body, str | bytes) else json.dumps(body)
    return rest_event("POST", "/api/query", text, headers=headers)
