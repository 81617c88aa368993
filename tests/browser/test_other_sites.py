"""A page of another site, in a real browser, against the local server: it starts nothing and spends nothing."""

from local_server import Server
from playwright.sync_api import Page
from web_server import WebServer, html

ATTACK = """async ([base, path, kind]) => {
    const body = kind === null ? undefined : new Blob(['{"query": "permit?"}'], {type: kind});
    await fetch(base + path, {method: "POST", mode: "no-cors", body}).catch(() => null);
}"""
ASK = """async ([base, type]) => (await fetch(base + "/api/query",
    {method: "POST", body: '{"query": "permit?"}', headers: {"Content-Type": type}})).status"""


def test_another_sites_page_acts_on_nothing_and_the_own_page_asks(server: Server, page: Page) -> None:
    base = f"http://{server.address}"
    statuses: list[int] = []
    page.on("response", lambda response: statuses.append(response.status) if base in response.url else None)

    with WebServer().running() as elsewhere:  # another origin on this machine
        elsewhere.site["/"] = html("Elsewhere")
        page.goto(elsewhere.address)
        for path in ("/api/query", "/v1/chat/completions", "/v1/ingest"):
            for kind in (None, "", "text/plain"):
                page.evaluate(ATTACK, [base, path, kind])
    attacked = list(statuses)
    page.goto(base)

    assert attacked == [403] * 9
    assert page.evaluate(ASK, [base, "application/json"]) == 200
    assert page.evaluate(ASK, [base, "text/plain"]) == 415
