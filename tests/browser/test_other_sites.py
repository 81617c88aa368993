"""A page of another site, in a real browser, against the local server: it starts nothing and spends nothing."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from local_server import Server
from playwright.sync_api import Page

ATTACK = """async ([base, path, kind]) => {
    const body = kind === null ? undefined : new Blob(['{"query": "permit?"}'], {type: kind});
    await fetch(base + path, {method: "POST", mode: "no-cors", body}).catch(() => null);
}"""
ASK = """async ([base, type]) => (await fetch(base + "/api/query",
    {method: "POST", body: '{"query": "permit?"}', headers: {"Content-Type": type}})).status"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[str]:
    """Another origin on this machine."""
    (tmp_path / "index.html").write_text("<title>Elsewhere</title>", encoding="utf-8")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path))) as http:
        threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://127.0.0.1:{http.server_address[1]}/"
        http.shutdown()


def test_another_sites_page_acts_on_nothing_and_the_own_page_asks(server: Server, page: Page, elsewhere: str) -> None:
    base = f"http://{server.address}"
    statuses: list[int] = []
    page.on("response", lambda response: statuses.append(response.status) if base in response.url else None)

    page.goto(elsewhere)
    for path in ("/api/query", "/v1/chat/completions", "/v1/ingest"):
        for kind in (None, "", "text/plain"):
            page.evaluate(ATTACK, [base, path, kind])
    attacked = list(statuses)
    page.goto(base)

    assert attacked == [403] * 9
    assert page.evaluate(ASK, [base, "application/json"]) == 200
    assert page.evaluate(ASK, [base, "text/plain"]) == 415
