"""References are passages: each mark is a number that opens exactly the passage that its words are from."""

import json
from typing import Any

import pytest
from fakes_llm import drip, reply
from functional.gacounts_service import sentence_of
from functional.harness import IN_SCOPE, Api, Json, Start
from functional.test_mcp import call, send
from functional.test_streams import SECTION, TITLE, words_of

PAPERS, PERMIT = f"{TITLE} > {SECTION}", f"{TITLE} > When an import permit is needed"
THREE = "The three papers are the commercial invoice, the packing list and the bill of lading or air waybill"


def tagged(nodes: list[Any], tag: str) -> list[Json]:
    """The nodes of a kind."""
    inner = [node for node in nodes if isinstance(node, dict)]
    return [one for node in inner for one in ([node] if node["tag"] == tag else tagged(node["children"], tag))]


def cites(node: Json) -> list[tuple[int, str]]:
    """The chips in a node, each with its passage."""
    return [(one["n"], one["chunkId"]) for one in tagged([node], "cite")]


def test_each_chip_opens_the_passage_that_holds_its_sentence(with_llm: Start, api: Api) -> None:
    texts = {number: api.get(f"/api/chunks/{number}").json for number in ("id_47", "id_48", "id_49")}
    said = {number: sentence_of(chunk["text"].splitlines()) for number, chunk in texts.items()}
    label = {number: f"[{chunk['title']} > {chunk['section']}]" for number, chunk in texts.items()}
    lines = [f"- {said[number]} {label[number]}" for number in texts]
    both = f"{said['id_48'].removesuffix('.')}, {said['id_47']} {label['id_48']} {label['id_47']}"
    body = with_llm(reply("\n".join([*lines, "", both])), UNSUPPORTED="keep").ask(IN_SCOPE, rendered=True).json
    stated = [(words_of(node["children"]), cites(node)) for node in tagged(body["rendered"], "statement")]
    assert [cited for _, cited in stated] == [
        [(1, "id_47")], [(2, "id_48")], [(3, "id_49")], [(2, "id_48"), (1, "id_47")],
    ]  # fmt: skip
    for (words, cited), number in zip(stated, texts, strict=False):
        assert words == f"{said[number]} [{cited[0][0]}]"
    assert [one["support"] for one in body["references"]] == ["partial", "partial", "supported"]
    for one in body["references"]:
        assert one["quote"].split(".")[0] in " ".join(texts[one["chunkId"]]["text"].split())


@pytest.mark.parametrize("model", ["waypoint", "waypoint-sources"])
def test_openais_annotations_are_where_the_marks_stand(with_llm: Start, model: str) -> None:
    text = f"{THREE} [{PAPERS}]. Goods need a permit [{PERMIT}] [Nowhere]. The invoice is one [{PAPERS}]."
    chat = {"model": model, "messages": [{"role": "user", "content": IN_SCOPE}]}
    api = with_llm(reply(text), drip(text), UNSUPPORTED="keep")
    plain = api.send("/v1/chat/completions", **chat).json
    stream = api.send("/v1/chat/completions", **chat, stream=True).text
    message = plain["choices"][0]["message"]
    cited = [one["url_citation"] for one in message["annotations"]]
    assert [message["content"][one["start_index"] : one["end_index"]] for one in cited] == [
        f"[{PAPERS}]", f"[{PERMIT}]", f"[{PAPERS}]",
    ]  # fmt: skip
    assert {one["type"] for one in message["annotations"]} == {"url_citation"}
    assert {(one["title"], one["url"]) for one in cited} == {(TITLE, "https://www.customs.gov.sg/")}
    deltas = [
        json.loads(line[6:])["choices"][0]["delta"] for line in stream.split("\n\n") if line.startswith("data: {")
    ]
    assert [delta["annotations"] for delta in deltas if "annotations" in delta] == [message["annotations"]]
    assert "".join(delta.get("content", "") for delta in deltas) == message["content"]
    assert [(one["n"], one["chunkId"], one["section"]) for one in plain["references"]] == [
        (1, "id_49", PAPERS.split(" > ")[1]), (2, "id_47", PERMIT.split(" > ")[1]),
    ]  # fmt: skip
    # Two sections of a document are two references of each of its sources, and one citation.
    assert [source["references"] for source in plain["sources"]] == [[1, 2], [1, 2]]
    [citation] = plain["citations"]
    assert (citation["raw"], citation["chunkId"], citation["position"]) == (f"[{PAPERS}]", "id_49", len(THREE) + 1)


def test_what_has_no_address_is_cited_on_the_service_s_own_page(with_llm: Start) -> None:
    asked = "What is your credit limit and how many days do we have to pay an invoice?"
    api = with_llm(reply("See the terms [Credit Terms]."))
    told = api.send("/v1/chat/completions", messages=[{"role": "user", "content": asked}]).json
    [reference] = told["references"]
    [annotation] = told["choices"][0]["message"]["annotations"]
    assert reference["url"] is None
    assert annotation["url_citation"]["url"] == f"http://abc.execute-api.test/prod/#{reference['chunkId']}"


def test_a_tool_s_result_names_passages_that_can_be_read(with_llm: Start) -> None:
    text = f"{THREE} [{PAPERS}]. Goods need a permit [{PERMIT}]."
    api = with_llm(reply(text, finish_reason="length"), UNSUPPORTED="keep")
    told = call(api, "ask", question=IN_SCOPE)["structuredContent"]
    assert [(one["n"], one["chunkId"]) for one in told["references"]] == [(1, "id_49"), (2, "id_47")]
    assert told["partial"] is True
    [read] = send(api, "resources/read", uri=f"chunk://{told['references'][0]['chunkId']}").json["result"]["contents"]
    assert read["text"].startswith(PAPERS)
