"""The page's files, what stands around them, and the chunks and sample questions that it asks for."""

import json
import re
import shutil
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from functional.harness import IN_SCOPE, OUT_OF_SCOPE, Api, Start, rest_event
from real_model import few_background_questions
from routes import page

from knowledge.build.ingest import ingest
from knowledge.embedding import MiniLM
from knowledge.model.manifest import dumps, loads
from knowledge.read.documents import read
from serve import web_pages

WEB = Path(__file__).parents[2] / "web"


@pytest.mark.parametrize(("path", "profile"), [("/", 'data-profile="waypoint"'), ("/docs", ""), ("/docs/", "")])
def test_a_page_is_one_document_that_knows_its_place_and_of_which_the_policy_names_each_byte_that_runs(
    api: Api, path: str, profile: str
) -> None:
    page = api.get(path)
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert '<base href="/prod/">' in page.text
    assert profile in page.text
    policy = dict(part.split(" ", 1) for part in page.headers["content-security-policy"].split("; "))
    assert (policy["default-src"], policy["require-trusted-types-for"]) == ("'none'", "'script'")
    assert "unsafe" not in page.headers["content-security-policy"]
    for element, allowed in (("script", "script-src"), ("style", "style-src")):
        contents = re.findall(rf"<{element}[^>]*>(.*?)</{element}>", page.text, re.DOTALL)
        hashes = [b64encode(sha256(content.encode()).digest()).decode() for content in contents]
        assert policy[allowed] == " ".join(f"'sha256-{one}'" for one in hashes)
    assert not re.search(r'<(?:link|script|img)[^>]*(?:src|href)="(?!data:)', page.text), "nothing else is fetched"
    assert page.text.index("<header") < page.text.index("<script"), "what the page says is drawn before code is read"


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_function_reads_the_page_that_a_build_has_made(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    web_pages.main(tmp_path / "web")
    monkeypatch.setattr(page, "FUNCTION", tmp_path)
    assert page.read_built_page("index.html", language) == web_pages.bundle("index.html", language)


def test_of_the_page_s_files_nothing_turns_text_into_code() -> None:
    for path in WEB.iterdir():
        text = path.read_text(encoding="utf-8")
        assert "http://" not in re.sub(r'"http://www.w3.org/2000/svg"', "", text)
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", text)
        assert not re.search(r"\son\w+=|style=|<script(?! (?:type=\"module\" )?src=\"web/)", text)


def test_the_reference_is_the_published_one_and_all_can_be_left_out(api: Api, start: Start) -> None:
    published = (WEB.parent / "docs" / "openapi.json").read_text(encoding="utf-8")
    assert api.get("/openapi.json").text == published
    api = start(WEB="off")
    told = [api.get(path) for path in ("/", "/docs", "/openapi.json")]
    assert [(one.status, one.json["code"]) for one in told] == [(404, "not_found")] * 3


def test_a_chunk_shows_what_answers_and_which_words_were_met(api: Api) -> None:
    asked = api.ask(IN_SCOPE, rendered=True).json
    told = api.get(f"/api/chunks/{asked['citations'][0]['chunkId']}", question=IN_SCOPE).json
    best = max(told["units"], key=lambda unit: unit["score"])
    assert "commercial invoice" in told["text"][best["start"] : best["end"]]
    words = {told["text"][word["start"] : word["end"]].lower() for word in told["matches"]}
    assert {"documents", "customs"} <= words
    assert not {"the", "for", "a", "to", "of", "and"} & words
    assert all(0 < word["weight"] <= 1 for word in told["matches"])


def test_a_chunk_without_a_question_scores_nothing_and_comes_as_nodes_where_a_page_shows_it(api: Api) -> None:
    plain = api.get("/api/chunks/id_1").json
    assert (plain["id"], plain["matches"], {unit["score"] for unit in plain["units"]}) == ("id_1", [], {0})
    shown = api.get("/api/chunks/id_1", rendered="true").json
    assert shown.pop("rendered")[0]["tag"] == "h1"
    after = api.get("/api/chunks/id_2").json
    assert (plain["title"], shown.pop("before")) == (after["title"], [])
    assert str(shown.pop("after")[0]["children"][0]) in after["text"]
    assert shown == plain
    told = api.get("/api/chunks/id_1", rendered="yes")
    assert (told.status, told.json["error"]) == (400, "rendered must be true or false")
    long = api.get("/api/chunks/id_1", question="x" * 2001)
    assert (long.status, long.json["code"]) == (400, "invalid_parameter")


@pytest.mark.parametrize("name", ["id_999999", "id_", "id_-1", "1", "id_1x", f"id_{'9' * 40}", "id_%E0"])
def test_a_chunk_that_is_none_is_404(api: Api, name: str) -> None:
    told = api.get(f"/api/chunks/{name}")
    assert (told.status, told.json["code"]) == (404, "unknown_chunk")


def test_the_suggestions_are_questions_that_are_answered_titles_and_filters_that_filter(api: Api) -> None:
    told = api.get("/api/suggestions").json
    questions = told["questions"]
    assert 3 <= len(set(questions)) == len(questions) <= 6
    assert [api.ask(question).json["refused"] for question in questions] == [False] * len(questions)
    assert (told["documents"], len(told["titles"])) == (28, 5)
    assert "Booking Amendments and Cancellations" in told["titles"]
    filters = {one["field"]: one["values"] for one in told["filters"]}
    assert list(filters) == ["category", "jurisdiction", "priority", "source_type"]
    assert filters["priority"] == [6, 7, 8, 9, 10, 4]
    answer = api.ask(IN_SCOPE, filters={"category": filters["category"][1:2]}).json
    assert {one["category"] for one in answer["relatedDocs"]} == {"carrier"}


def test_days_are_no_values_to_choose_from(start: Start, embedder: MiniLM, tmp_path: Path) -> None:
    for kind, day in (("fees", "2024-02-01"), ("rules", "2025-03-01")):
        (tmp_path / f"{kind}.md").write_text(f"---\ndate: {day}\nkind: {kind}\n---\n# {kind}\n\nOf {day}.\n", "utf-8")
    with few_background_questions():
        ingest(read([tmp_path]).documents, target=tmp_path / "index", embedder=embedder)
    told = start(INDEX_URI=str(tmp_path / "index")).get("/api/suggestions").json
    assert [one["field"] for one in told["filters"]] == ["date", "doc_id", "kind"]  # and not "dated", 20240201


def test_the_page_begins_with_its_owners_words_and_the_name_of_the_documents_site(
    start: Start, waypoint_index: Path, tmp_path: Path
) -> None:
    assert start().get("/api/suggestions").json["name"] == "Waypoint"
    named = tmp_path / "index"
    shutil.copytree(waypoint_index, named)
    made = loads((named / "manifest.json").read_bytes())
    titled = dumps(replace(made, made=replace(made.made, title="Harbour Bikes")))
    (named / "manifest.json").write_text(titled, encoding="utf-8")
    words = start(RAG_PROFILE="house", INDEX_URI=str(named), ASSISTANT_GREETING="Ask away.").get("/api/suggestions")
    told = {name: words.json[name] for name in ("name", "greeting", "disclaimer")}
    assert told == {"name": "Harbour Bikes", "greeting": "Ask away.", "disclaimer": ""}
    own = start(RAG_PROFILE="house", INDEX_URI=str(named), ASSISTANT_NAME="Bo", ASSISTANT_DISCLAIMER="No advice.")
    told = own.get("/api/suggestions").json
    assert (told["name"], told["disclaimer"]) == ("Bo", "No advice.")


def test_the_page_has_its_owner_s_language_mark_and_accent(start: Start) -> None:
    page = start(PAGE_LANGUAGE="de", PAGE_MARK="<B", PAGE_ACCENT="#7a1f5c").get("/").text
    assert '<html lang="de" data-profile="waypoint" data-asks="">' in page
    assert '<span class="mark" aria-hidden="true">&lt;B</span>' in page
    assert ":root{--house:#7a1f5c}</style>" in page
    assert "Was möchten Sie wissen?" in page
    assert "What would you like" not in page
    told = start(ASSISTANT_CONTACT="desk@port.example").get("/api/suggestions").json
    assert (told["contact"], told["longest"]) == ("desk@port.example", 1000)


@pytest.mark.parametrize(("way", "asks"), [("none", "yes"), ("same-origin", "yes"), ("cross-site", ""), ("", "")])
def test_another_site_s_link_may_not_make_the_page_ask(api: Api, way: str, asks: str) -> None:
    event = rest_event("GET", "/")
    event["headers"] = {**event["headers"], "Sec-Fetch-Site": way}
    event["multiValueHeaders"] = {name: [value] for name, value in event["headers"].items()}
    assert f'data-asks="{asks}"' in api.call(event).text


def test_a_rendered_answer_names_what_was_found_and_has_chips_where_its_marks_stand(api: Api) -> None:
    body = api.ask(IN_SCOPE, rendered=True).json
    found = {one["chunkId"]: one for one in body["found"]}
    assert all(found[one["chunkId"]]["read"] for one in body["references"])
    assert len(found) == body["metadata"]["chunksRetrieved"]
    assert {one["docId"] for one in body["relatedDocs"]} == {one["docId"] for one in body["found"]}
    rendered = json.dumps(body["rendered"])
    chips = re.findall(r'"tag": "cite", "children": \[\], "n": (\d+), "chunkId": "(id_\d+)"', rendered)
    assert list(dict.fromkeys(chips)) == [(str(one["n"]), one["chunkId"]) for one in body["references"]] != []
    assert body["citations"][0]["raw"] not in rendered
    assert "rendered" not in api.ask(IN_SCOPE).json


def test_a_decline_names_what_came_closest(api: Api) -> None:
    body = api.ask(OUT_OF_SCOPE, rendered=True).json
    assert len(body["closest"]) == 3
    assert api.get(f"/api/chunks/{body['closest'][0]['chunkId']}").json["title"] == body["closest"][0]["title"]
