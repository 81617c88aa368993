"""How much the language models are sent for an answer: calls and tokens by profile, for tools/ragctl/usage.json.

``python -m research.usage [PROFILE...]`` answers the answerable questions of the profiles' samples (asked.jsonl) from
the indexes in ``.index/<profile>``, with an LLM in this process that says nothing, and prints a line of JSON each. A
token is four bytes of UTF-8. Every question is the first one of a conversation: what a rewriting costs is not in it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.config.settings import Settings, load
from rag.profiles import PROFILES
from rag.values.chat import Deadline
from rag.values.question import Question
from rag.wiring.application import build_application

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
BYTES_PER_TOKEN = 4
RERANKER = "gpt-4o-mini"
SAID = "So it is."


@contextmanager
def llm(calls: Counter[str], sent: Counter[str]) -> Iterator[str]:
    """The address of an LLM that counts ``calls`` and the bytes ``sent`` to it by model."""

    class Counting(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            calls[request["model"]] += 1
            sent[request["model"]] += sum(len(message["content"].encode()) for message in request["messages"])
            message = {"role": "assistant", "content": SAID}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            body = {
                "id": "x",
                "object": "chat.completion",
                "created": 0,
                "model": request["model"],
                "choices": [choice],
            }
            reply = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Counting)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()


def measure(profile: str) -> dict[str, Any]:
    """Calls for each question that is not declined, and prompt tokens a call, by model."""
    samples = ROOT / "samples" / profile
    rows = [json.loads(line) for line in (samples / "asked.jsonl").read_text(encoding="utf-8").splitlines() if line]
    asked = [row["question"] for row in rows if row["answerable"]]
    calls: Counter[str] = Counter()
    sent: Counter[str] = Counter()
    with llm(calls, sent) as url:
        os.environ |= {
            "RAG_PROFILE": profile,
            "INDEX_URI": str(ROOT / ".index" / profile),
            "LLM_BASE_URL": url,
            "LLM_API_KEY": "none",
            "RERANK_MODEL": RERANKER,
        }
        pipeline = build_application(load(Settings)).pipeline
        answers = [pipeline.run(Question(text=text), deadline=Deadline.after(60, pipeline.clock)) for text in asked]
    answered = sum(answer.completion is not None for answer in answers)
    models = {
        model: {
            "calls": round(calls[model] / answered, 2),
            "promptTokens": round(sent[model] / BYTES_PER_TOKEN / calls[model]),
        }
        for model in sorted(calls)
    }
    return {"profile": profile, "questions": len(asked), "answered": answered, "models": models}


if __name__ == "__main__":
    for name in sys.argv[1:] or PROFILES:
        print(json.dumps(measure(name)))
