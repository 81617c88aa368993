"""GET /api/health: what is loaded, who writes, what went wrong last; and the version that everybody tells."""

import re
from datetime import datetime, timedelta

from fakes_llm import error, reply
from functional.harness import API_KEY, IN_SCOPE, REPOSITORY, Api, Json, Start
from functional.test_mcp import send
from typer.testing import CliRunner

from rag.version import VERSION
from ragctl.cli import app


def test_its_headers_and_the_index(api: Api) -> None:
    reply = api.health()
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    assert reply.headers["x-content-type-options"] == "nosniff"
    index = reply.json["index"]
    assert index["documents"] == len(list((REPOSITORY / "samples" / "waypoint").rglob("*.md"))) < index["chunks"]
    assert datetime.fromisoformat(index["builtAt"]).utcoffset() == timedelta(0)
    assert len(index["version"]) >= 8


def test_the_last_error_stays_until_a_success_and_no_last_resort_hides_it(with_llm: Start) -> None:
    api = with_llm(error(400), error(400), reply("Yes."), LLM_MODEL="a-model")
    assert api.health().json["llm"] == {"engine": "openai", "model": "a-model", "lastError": None}
    assert api.llm.connections == 0, "nobody is called for it"
    failed, recovered = ([api.ask(IN_SCOPE), api.health()][1] for _ in range(2))
    assert failed.status == 200
    assert failed.json["llm"]["lastError"] == "LLM answered 400 (BadRequestError)"
    assert not [said for said in ("vendor", API_KEY) if said in failed.text]
    assert recovered.json["llm"]["lastError"] is None
    helped = with_llm(error(503), LLM_FALLBACK="extractive", LLM_MAX_RETRIES="0")
    assert helped.ask(IN_SCOPE).status == 200
    assert "503" in helped.health().json["llm"]["lastError"]


def test_every_interface_tells_the_version(api: Api) -> None:
    hello: Json = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    told = {
        "health": api.health().json["version"],
        "openapi": api.get("/openapi.json").json["info"]["version"],
        "mcp": send(api, "initialize", **hello).json["result"]["serverInfo"]["version"],
        "ragctl": CliRunner().invoke(app, ["--version"]).output.removeprefix("ragctl ").strip(),
    }
    assert told == dict.fromkeys(told, VERSION)


def test_the_changelog_has_a_section_of_it() -> None:
    sections = re.findall(r"^## (.*)$", (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sections[0] == "Unreleased"
    assert sections[1].startswith(f"{VERSION} - ")
