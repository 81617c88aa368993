"""One version, and everybody tells the same one."""

from __future__ import annotations

import json
import re

from functional.harness import REPOSITORY, Api, rest_event
from typer.testing import CliRunner

from rag.version import VERSION
from ragctl.cli import app


def test_every_interface_tells_the_version(api: Api) -> None:
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    told = {
        "health": api.health().json["version"],
        "openapi": api.call(rest_event("GET", "/openapi.json")).json["info"]["version"],
        "mcp": api.call(rest_event("POST", "/mcp", message, headers=headers)).json["result"]["serverInfo"]["version"],
        "ragctl": CliRunner().invoke(app, ["--version"]).output.removeprefix("ragctl ").strip(),
    }
    assert told == dict.fromkeys(told, VERSION)


def test_the_changelog_has_a_section_of_it() -> None:
    sections = re.findall(r"^## (.*)$", (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sections[0] == "Unreleased"
    assert sections[1].startswith(f"{VERSION} - ")
