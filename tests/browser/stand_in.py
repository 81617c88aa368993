"""A server of the page's real files whose replies are scripted: for states that are hard to get from the real one."""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from listening import Quiet
from playwright.sync_api import Locator, Page
from routes import page

from serve.web_pages import bundle

OPENAPI = Path(__file__).parents[2] / "docs/openapi.json"
PAGES = {"/": "index.html", "/docs": "docs.html"}
ANSWER: dict[str, Any] = {
    "answer": "Twenty-five dollars. [Trade permits > Chewing gum]",
    "rendered": [
        {"tag": "p", "children": ["Twenty-five dollars. ", {"tag": "cite", "n": 1, "chunkId": "id_1", "children": []}]}
    ],
    "sources": [],
    "relatedDocs": [{"title": "Trade permits", "category": "regulatory", "docId": "d1", "url": None}],
    "references": [{
        "n": 1, "chunkId": "id_1", "title": "Trade permits", "section": "Chewing gum", "docId": "d1",
        "url": "https://permits.example/gum", "support": "supported", "quote": "A licence costs twenty-five dollars.",
    }],
    "citations": [], "found": [], "closest": [], "refused": False, "partial": False, "routing": None,
    "citationsMarkdown": "1. [Trade permits](https://permits.example/gum)",
    "confidence": {"level": "High", "score": 88, "reason": "one source"},
    "responseId": "r1", "sessionId": None,
    "metadata": {
        "model": "extractive", "finishReason": "stop", "timings": {"totalMs": 21.0}, "trail": [], "skipped": [],
    },
}  # fmt: skip
WELCOME = {
    "questions": ["What does chewing gum cost?"], "documents": 1, "titles": ["Trade permits"], "longest": 1000,
    "model": "extractive", **dict.fromkeys(("name", "greeting", "disclaimer", "contact"), ""),
}  # fmt: skip
CHUNK: dict[str, Any] = {
    "id": "id_1", "title": "Trade permits", "section": "Chewing gum", "url": None, "text": "x",
    "units": [], "matches": [],
}  # fmt: skip

type Piece = str | threading.Event


def event(name: str, data: Any) -> str:
    """A server-sent event."""
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


def ask(page: Page, question: str = "What does a change cost?", *, at: str = "") -> Locator:
    """The card of a question, on the page as it is or, with an address ``at``, on that page."""
    if at:
        page.goto(at)
    page.get_by_label("Your question").fill(question)
    page.keyboard.press("Enter")
    return page.locator(".turn").last.locator(".card")


class StandIn:
    """``replies`` maps a path to (status, body); ``stream`` is what a question gets in their place.

    Its pieces are sent as they are; an event among them is waited for. ``cut`` ends the stream with a broken
    connection in place of its end.
    """

    def __init__(self) -> None:
        self.profile = "waypoint"
        self.language = "en"
        self.accent = ""
        self.brand: dict[str, str] = {}
        self.retry_after = ""
        self.replies: dict[str, tuple[int, Any]] = {
            "/api/suggestions": (200, WELCOME),
            "/api/query": (200, ANSWER),
            "/api/feedback": (202, {"responseId": "r1", "accepted": True}),
        }
        self.chunk: dict[str, Any] = CHUNK
        self.stream: Sequence[Piece] | None = None
        self.cut = False
        self.asked: list[str] = []
        self.key = ""
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def address(self) -> str:
        """Of the page."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._thread.join()
        for piece in self.stream or ():
            if isinstance(piece, threading.Event):
                piece.set()
        self._http.server_close()

    def template(self, path: str) -> tuple[str, str]:
        """The page at ``path``, in its language and its owner's accent, and its policy."""
        page.load_page = bundle
        return page.page_template(PAGES[path], self.language, self.accent)

    def respond(self, path: str, headers: Mapping[str, str]) -> tuple[int, str, bytes]:
        """Status, type and body for a request."""
        if path in PAGES:
            values = {"base": "/", "profile": self.profile, "language": self.language, "asks": "yes", "mark": ""}
            text = self.template(path)[0].format(**{**values, **self.brand})
            return 200, "text/html; charset=utf-8", text.encode()
        if path == "/openapi.json":
            return 200, "application/json", OPENAPI.read_bytes()
        if self.key and headers.get("x-api-key") != self.key:
            said = b'{"error": "Send a valid API key in the header x-api-key", "code": "forbidden"}'
            return 403, "application/json", said
        status, body = self.replies.get(path, (200, self.chunk) if path.startswith("/api/chunks/") else (404, {}))
        return status, "application/json", json.dumps(body).encode()


def _sent(pieces: Sequence[Piece], write: Callable[[bytes], Any]) -> None:
    with suppress(ConnectionError):  # the page may have stopped
        for piece in pieces:
            if isinstance(piece, str):
                write(piece.encode())
            else:
                piece.wait(60)


def _handler(server: StandIn) -> type[BaseHTTPRequestHandler]:
    class Handler(Quiet, BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"  # a stream ends with its connection

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            server.asked.append(self.path)
            path = self.path.partition("?")[0]
            if path == "/api/query" and server.stream is not None:
                self._head(200, "text/event-stream", 10**9 if server.cut else None)  # which is never reached
                _sent(server.stream, self.wfile.write)
                return
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, kind, content = server.respond(path, headers)
            self._head(status, kind, len(content), server.template(path)[1] if path in PAGES else "")
            self.wfile.write(content)

        do_POST = do_GET  # noqa: N815 - the name that http.server calls

        def _head(self, status: int, kind: str, length: int | None, allowed: str = "") -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            if server.retry_after:
                self.send_header("Retry-After", server.retry_after)
            if length is not None:
                self.send_header("Content-Length", str(length))
            if allowed:
                self.send_header("Content-Security-Policy", allowed)
            self.end_headers()

    return Handler
