"""An LLM server on a real socket that speaks the chat-completions protocol and misbehaves on script.

with LlmServer([error(429, retry_after=0.1), reply("Yes. [Import permits]")]) as server:
    ... point the program at server.url; then look at server.requests

Each request takes the next step of the script; when it has run out, ``answer`` writes the rest, or without one the
last step repeats. Requests for embeddings have a script of their own, ``embed``, and are recorded in
``embed_requests``; after it the server answers with ``HashingEmbedder``'s vectors.
"""

import base64
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import quote

from fakes_embedding import HashingEmbedder
from listening import Quiet

type Json = dict[str, Any]
type Step = Callable[["Exchange"], None]

USAGE = {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17}
MODEL = "served-model"
TOO_LATE_S, TRICKLE = 600.0, 60_000
SERVER_ERROR_TEXT = "vendor says: upstream trouble at rack 7"


@dataclass(frozen=True)
class Recorded:
    """A request as the server saw it; header names in lower case; ``json`` is {} when the body is not JSON."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    json: Json


@dataclass(frozen=True)
class Exchange:
    """What a step works with: the request, the raw connection, and an event that is set when the server closes."""

    request: Recorded
    handler: BaseHTTPRequestHandler
    closing: threading.Event

    def send(
        self, status: int, body: bytes, headers: Mapping[str, str], *, length: int = -1, reason: str | None = None
    ) -> None:
        """Send a response; ``length``, where there is one, claims another length than the body's."""
        self.head(status, {"Content-Length": str(len(body) if length < 0 else length), **headers}, reason)
        self.handler.wfile.write(body)

    def head(self, status: int, headers: Mapping[str, str], reason: str | None = None) -> None:
        """Send a response's head."""
        self.handler.send_response(status, reason)
        for name, value in headers.items():
            self.handler.send_header(name, value)
        self.handler.end_headers()

    def hang_up(self) -> None:
        """Close the connection after this step."""
        self.handler.close_connection = True


def completion(
    text: str | None, *, model: str = MODEL, finish_reason: str = "stop", usage: Json | None = USAGE
) -> Json:
    """The body of a completion with one choice."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish_reason}
    body = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model, "choices": [choice]}
    return body if usage is None else {**body, "usage": usage}


def raw(status: int, body: bytes, headers: Mapping[str, str] | None = None, *, kind: str = "application/json") -> Step:
    """Any status and body."""
    return lambda exchange: exchange.send(status, body, {"Content-Type": kind, **(headers or {})})


def json_body(body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Step:
    """Any JSON body."""
    return raw(status, json.dumps(body).encode(), headers)


def chunk(delta: Json, *, finish_reason: str | None = None, model: str = MODEL) -> Json:
    """The body of one event of a streamed completion."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": [choice]}


def drip(*pieces: str | bytes | threading.Event | Json, usage: Json | None = USAGE, ended: bool = True) -> Step:
    """A streamed completion: each text is an event of its own, before an ``Event`` it waits until that is set.

    An object is sent as it is, so are bytes, which may be no JSON. Without ``ended`` the connection closes after the
    last piece, as of a server that died.
    """

    def step(exchange: Exchange) -> None:
        exchange.head(200, {"Content-Type": "text/event-stream", "Connection": "close"})
        exchange.hang_up()

        def send(data: str) -> None:
            exchange.handler.wfile.write(f"data: {data}\n\n".encode())

        send(json.dumps(chunk({"role": "assistant", "content": ""})))
        for piece in pieces:
            if isinstance(piece, threading.Event):
                while not piece.wait(0.02):
                    if exchange.closing.is_set():
                        return
            elif isinstance(piece, bytes):
                send(piece.decode())
            else:
                send(json.dumps(chunk({"content": piece}) if isinstance(piece, str) else piece))
        if ended:
            send(json.dumps(chunk({}, finish_reason="stop")))
            if usage and exchange.request.json.get("stream_options", {}).get("include_usage"):
                send(json.dumps({**chunk({}), "choices": [], "usage": usage}))
            send("[DONE]")

    return step


def reply(text: str | None, **fields: Any) -> Step:
    """A completion; ``fields`` as ``completion`` takes them."""
    return json_body(completion(text, **fields))


def error(
    status: int,
    *,
    retry_after: float | str | None = None,
    code: str | None = None,
    message: str = SERVER_ERROR_TEXT,
    headers: Mapping[str, str] | None = None,
) -> Step:
    """An error as vendors word it."""
    after = {} if retry_after is None else {"Retry-After": str(retry_after)}
    body = {"error": {"message": message, "type": "some_error", "param": None, "code": code}}
    return json_body(body, status, {**after, **(headers or {})})


def echo(status: int, *, code: str = "told_code", kind: str = "told_type") -> Step:
    """An error that repeats the whole request wherever an error has room: reason, headers, message, code and type.

    ``code`` and ``type`` are short identifiers, as vendors have them; those within ``inner`` are the request.
    """

    def step(exchange: Exchange) -> None:
        request = exchange.request
        said = f"{request.headers.get('authorization')} {request.body.decode()}"
        body = {"error": {"message": said, "type": kind, "param": said, "code": code, "inner": request.json}}
        sent = {"Location": "http://127.0.0.1:9/v1?" + quote(said)[:2000], "X-Request-Id": quote(said)[:2000]}
        reason = said.encode("ascii", "replace").decode().replace("\n", " ")
        exchange.send(status, json.dumps(body).encode(), sent, reason=reason)

    return step


def echo_in_broken_headers() -> Step:
    """No HTTP: the request again, as a line of a header."""

    def step(exchange: Exchange) -> None:
        said = exchange.request.body.replace(b"\n", b" ")[:9000]
        exchange.handler.wfile.write(b"HTTP/1.1 200 OK\r\n" + said.replace(b":", b"") + b"\r\n\r\n")
        exchange.hang_up()

    return step


def moved(status: int, where: str) -> Step:
    """A redirect."""
    return raw(status, b"", {"Location": where})


def embeddings(*, dimensions: int = 64, scale: float = 1.0, as_lists: bool = False, backwards: bool = False) -> Step:
    """The request's texts as ``HashingEmbedder``'s vectors, ``scale`` times as long, or of the dimensions asked for."""

    def step(exchange: Exchange) -> None:
        asked = exchange.request.json
        rows = HashingEmbedder(dimensions=asked.get("dimensions", dimensions)).embed(asked["input"]) * scale
        told = [row.tolist() if as_lists else base64.b64encode(row.astype("<f4").tobytes()).decode() for row in rows]
        data = [{"object": "embedding", "index": place, "embedding": row} for place, row in enumerate(told)]
        body = {"object": "list", "data": data[::-1] if backwards else data, "model": asked["model"], "usage": {}}
        json_body(body)(exchange)

    return step


def model_not_found(model: str, *, code: str = "model_not_found", status: int = 404) -> Step:
    """What Groq and OpenAI say of a model that is not, or no longer, there."""
    return error(status, code=code, message=f"The model `{model}` does not exist or you do not have access to it.")


def only_models(*known: str, text: str = "ok") -> Step:
    """A server that has just these models."""

    def step(exchange: Exchange) -> None:
        model = str(exchange.request.json.get("model"))
        (reply(text, model=model) if model in known else model_not_found(model))(exchange)

    return step


def noting_the_end(step: Step, ended: threading.Event) -> Step:
    """``step``, which sets ``ended`` when the client hangs up on it."""

    def noting(exchange: Exchange) -> None:
        try:
            step(exchange)
        except OSError:
            ended.set()

    return noting


def garbage() -> Step:
    """Bytes that say they are JSON."""
    return raw(200, b'\x00\xff{"choices": [')


def html(status: int = 200) -> Step:
    """A captive portal's page."""
    return raw(status, b"<!doctype html><title>Sign in to the network</title>", kind="text/html")


def cut() -> Step:
    """Half a completion, then the connection ends."""

    def step(exchange: Exchange) -> None:
        body = json.dumps(completion("never whole")).encode()
        exchange.send(200, body[: len(body) // 2], {"Content-Type": "application/json"}, length=len(body))
        exchange.hang_up()

    return step


def reset() -> Step:
    """The connection is reset before any answer."""

    def step(exchange: Exchange) -> None:
        # Linger for 0 seconds: closing sends RST instead of FIN.
        exchange.handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        exchange.hang_up()

    return step


def hang() -> Step:
    """Say nothing for ten minutes (less when the server closes), then answer after all."""

    def step(exchange: Exchange) -> None:
        exchange.closing.wait(TOO_LATE_S)
        reply("too late")(exchange)

    return step


def trickle(*, in_headers: bool = False) -> Step:
    """A valid completion that drips for ten minutes, a byte every 10 ms: in the body, or in the headers."""

    def step(exchange: Exchange) -> None:
        body = json.dumps(completion("slowly but surely")).encode()
        pad = b" " * max(0, TRICKLE - len(body))
        drops, rest = (b"x" * TRICKLE, body) if in_headers else (pad + body, b"")
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(rest or drops)}\r\n".encode()
        out = exchange.handler.wfile
        out.write(head + (b"X-Drip: " if in_headers else b"\r\n"))
        for drop in drops:
            if exchange.closing.wait(TOO_LATE_S / TRICKLE):
                break
            out.write(bytes([drop]))
        out.write(b"\r\n\r\n" + rest if in_headers else b"")
        exchange.hang_up()

    return step


class LlmServer:
    """The server. It listens from construction to the end of the ``with`` block, on a free port of 127.0.0.1."""

    def __init__(
        self,
        script: Iterable[Step] = (),
        *,
        answer: Callable[[Json], str] | None = None,
        embed: Iterable[Step] | None = None,
    ) -> None:
        self._script = list(script)
        if not self._script and answer is None and embed is None:
            raise ValueError("give a script, an answer function, or what to do about embeddings")
        self._embed = list(embed or ())
        self._answer = answer
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._taken = 0
        self.requests: list[Recorded] = []
        self.embed_requests: list[Recorded] = []
        self._http = _Http(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.005})

    @property
    def url(self) -> str:
        """The base URL to give to a client."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def connections(self) -> int:
        """How many connections were accepted so far."""
        return self._http.accepted

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.hang_up_all()
        self._http.server_close()

    def handle(self, handler: BaseHTTPRequestHandler) -> None:
        """Record the request and play the next step."""
        method, path = handler.command, handler.path
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        try:
            data = json.loads(body)
        except ValueError:
            data = {}
        headers = {name.lower(): value for name, value in handler.headers.items()}
        request = Recorded(method=method, path=path, headers=headers, body=body, json=data)
        exchange = Exchange(request, handler, self._closing)
        if (method, path) == ("GET", "/v1/models"):
            json_body({"object": "list", "data": [{"id": MODEL, "object": "model"}]})(exchange)
        elif (method, path) == ("POST", "/v1/chat/completions"):
            self._next_step(request)(exchange)
        elif (method, path) == ("POST", "/v1/embeddings"):
            with self._lock:
                self.embed_requests.append(request)
                step = self._embed.pop(0) if self._embed else embeddings()
            step(exchange)
        else:
            html(404)(exchange)

    def play_next(self, *script: Step) -> None:
        """What to do about the completions that are asked for from now on."""
        with self._lock:
            self._script, self._taken = list(script), 0

    def embed_next(self, script: Iterable[Step]) -> None:
        """What to do about the embeddings that are asked for from now on."""
        with self._lock:
            self._embed = list(script)

    @property
    def embedded_texts(self) -> list[str]:
        """Every text that came to be embedded, in the order of the requests."""
        return [text for request in self.embed_requests for text in request.json["input"]]

    def _next_step(self, request: Recorded) -> Step:
        with self._lock:
            self.requests.append(request)
            index, self._taken = self._taken, self._taken + 1
        if index < len(self._script):
            return self._script[index]
        return self._script[-1] if self._answer is None else reply(self._answer(request.json))


class _Http(ThreadingHTTPServer):
    daemon_threads = False  # so that server_close waits for the handlers

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self._open: set[socket.socket] = set()
        self.accepted = 0

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self._open.add(connection)
        self.accepted += 1
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def hang_up_all(self) -> None:
        """End the connections that clients keep alive."""
        for connection in tuple(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # its handler was quicker


def _handler(server: LlmServer) -> type[BaseHTTPRequestHandler]:
    class Handler(Quiet, BaseHTTPRequestHandler):
        wbufsize = 0
        disable_nagle_algorithm = True  # else head and body are 40 ms apart

        def do_POST(self) -> None:
            try:
                server.handle(self)
            except OSError:
                self.close_connection = True  # the client has gone, as some tests want

        do_GET = do_POST  # noqa: N815 - the name that http.server calls

    return Handler
