"""The API's reference as a programmer uses it, in a real browser."""

from __future__ import annotations

import json

import pytest
from local_server import Server
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow


def test_a_request_is_sent_from_the_reference(page: Page, server: Server) -> None:
    page.goto(f"http://{server.address}/docs")
    query = page.get_by_role("form", name="Send POST /api/query", exact=True)
    query.get_by_role("button", name="Send").click()
    expect(query.get_by_role("status")).to_contain_text('"answer": ')
    expect(query.get_by_role("status")).to_contain_text("200")
    response = page.get_by_role("form", name="Send POST /v1/responses")
    response.get_by_label("Body").fill(json.dumps({"input": "What does a licence cost?", "stream": True}))
    response.get_by_role("button", name="Send").click()
    expect(response.get_by_role("status")).to_contain_text("event: response.completed")
    response.get_by_label("Body").fill(json.dumps({"input": "x", "background": True}))
    response.get_by_role("button", name="Send").click()
    expect(response.get_by_role("status")).to_contain_text("unsupported_parameter")
    page.locator("#response ~ details").first.locator("summary").click()
    expect(page.locator("#response ~ details").first).to_contain_text(f"curl http://{server.address}/v1/responses")
    expect(page.get_by_role("table").filter(has_text="context_length_exceeded").first).to_be_visible()
