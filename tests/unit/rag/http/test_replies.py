"""rag.http.replies: what callers get, and a list of links to sources, whatever these are called."""

from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import pytest
from attacks.reading import BARE, leads, links
from fakes import make_answer, make_hit
from hypothesis import given
from hypothesis import strategies as st

from rag.answer.confidence import NO_SOURCES
from rag.http.replies import citations_markdown, passage_nodes, query_reply, question_reply, strip_invisible
from rag.text.sources import is_http, safe, source_urls
from rag.values.answer import Answer, CheckedClaim, Citation, Confidence, Reference, RelatedDoc, Routing, Source
from rag.values.chat import Completion, Usage
from rag.values.question import Question


def test_a_whole_answer() -> None:
    cited, raw, address = "[Import permits > Fees]", "Import permits", "https://a.example"
    hit = make_hit(
        cosine=0.812345, title="Import permits & licences", doc_id="permits", section="Fees", source_urls=(address,)
    )
    mark = Citation(raw=cited, title=raw, section="Fees", position=13, hit=hit, source_urls=(address,))
    answer = Answer(
        text=f"Five dollars {cited}.",
        question=Question(text="How much?", session_id="s" * 22),
        profile="waypoint",
        response_id="r1",
        confidence=Confidence("High", 81.2, "3 relevant sources with 1 citation", raw=64.5),
        refused=False,
        citations=(replace(mark, chunk_id="id_1", support="partial"),),
        references=(Reference(n=1, hit=hit, support="partial", quote="Permits take five working days."),),
        sources=(Source(title=raw, org="Customs", url=address, section="", references=(1,)),),
        related_docs=(RelatedDoc(title=raw, category="regulatory", doc_id="permits", url=""),),
        routing=Routing("escalate", "low"),
        chunks_retrieved=3,
        completion=Completion(text="", model="m", finish_reason="stop", usage=Usage(9, 4, 13), degraded=True),
        cached=True,
        statements=(CheckedClaim(text="Five dollars.", citations=(cited,), support="partial", chance=0.61),),
        trail=("reframed",),
        skipped=("cache",),
        timings={"retrieval": 1.2345, "generation": 2.0, "citation": 0.1, "total": 3.456, "pack": 0.014},
    )
    assert query_reply(answer).model_dump(mode="json") == {
        "answer": "Five dollars [Import permits > Fees].",
        "modelText": None,
        "sources": [
            {"title": "Import permits", "org": "Customs", "url": "https://a.example"}
            | {"section": None, "references": [1]}
        ],
        "relatedDocs": [{"title": "Import permits", "category": "regulatory", "docId": "permits", "url": None}],
        "citations": [
            {"raw": "[Import permits > Fees]", "title": "Import permits", "section": "Fees", "position": 13}
            | {"fullTitle": "Import permits & licences", "docId": "permits", "sourceUrls": ["https://a.example"]}
            | {"score": 0.8123, "matched": True, "id": "id_1", "chunkId": "id_1", "support": "partial"}
        ],
        "references": [
            {"n": 1, "chunkId": "id_1", "title": "Import permits & licences", "section": "Fees", "docId": "permits"}
            | {"url": "https://a.example", "support": "partial", "quote": "Permits take five working days."}
        ],
        "citationsMarkdown": "1. [Import permits & licences > Fees](https://a.example)",
        "confidence": {"level": "High", "score": 81.2, "reason": "3 relevant sources with 1 citation", "raw": 64.5},
        "refused": False,
        "partial": False,
        "routing": {"action": "escalate", "reason": "low"},
        "responseId": "r1",
        "sessionId": "s" * 22,
        "metadata": {
            "query": "How much?",
            "profile": "waypoint",
            "chunksRetrieved": 3,
            "chunksUsed": 1,
            "latencyMs": 3.46,
            "model": "m",
            "finishReason": "stop",
            "cached": True,
            "degraded": True,
            "trail": ["reframed"],
            "statements": [
                {"text": "Five dollars.", "citations": ["[Import permits > Fees]"], "support": "partial", "score": 0.61}
            ],
            "skipped": ["cache"],
            "timings": {"retrievalMs": 1.23, "generationMs": 2.0, "citationMs": 0.1, "totalMs": 3.46, "packMs": 0.01},
            "usage": {"promptTokens": 9, "completionTokens": 4, "totalTokens": 13},
        },
    }


def test_a_decline() -> None:
    answer = make_answer(confidence=NO_SOURCES, refused=True, timings={"retrieval": 1.0, "total": 2.0})
    reply = query_reply(answer).model_dump(mode="json")
    assert reply["confidence"] == {"level": "Low", "score": 0.0, "reason": "No relevant sources found", "raw": None}
    assert (reply["refused"], reply["routing"], reply["sessionId"]) == (True, None, None)
    metadata = reply["metadata"]
    assert (metadata["model"], metadata["usage"], metadata["finishReason"]) == (None, None, None)
    assert (metadata["chunksRetrieved"], metadata["chunksUsed"], metadata["degraded"]) == (0, 0, False)
    assert metadata["timings"] == {"retrievalMs": 1.0, "generationMs": 0.0, "citationMs": 0.0, "totalMs": 2.0}


WRITTEN = Completion(text="It is so.", model="m")


@pytest.mark.parametrize(
    ("score", "completion", "action", "reason"),
    [
        (40.0, WRITTEN, "return", "Confidence 40"),
        (39.9, WRITTEN, "escalate", "Confidence 39.9 is below 40"),
        (0.0, WRITTEN, "escalate", "The documents found do not answer the question"),
        (0.0, None, "augment_kb", "Nothing relevant was found: the knowledge base may lack this topic"),
    ],
)
def test_the_help_desk_is_told_where_to_go_in_profiles_that_route_nothing(
    score: float, completion: Completion | None, action: str, reason: str
) -> None:
    answer = make_answer(confidence=Confidence("Low", score, "x"), refused=score == 0, completion=completion)
    assert question_reply(answer, debug=False).routing.model_dump() == {"action": action, "reason": reason}
    assert query_reply(answer).routing is None
    own = replace(answer, routing=Routing("escalate", "because"))
    assert question_reply(own, debug=False).routing.reason == "because"


# The list of citations in Markdown

NASTY = st.text(
    st.one_of(
        st.sampled_from("\\`*_{}[]()<>#+-.!|~&;:/@\"'=$^% \t\n\r\x0b\x0c\x00\x1f\x85\u2028\u2029\u200e\u202e\u2066"),
        st.sampled_from("\u200b\ufeff\u00ad\ud800aAzé1中\U000e0041"),
        st.characters(),
    ),
    max_size=40,
)
_PIECES = "https:// www.evil.example ](https://evil.example) ![x]( <b> &lt; 1. - a@b.example ]:"
PIECES = st.sampled_from([f"{one} " for one in _PIECES.split()] + _PIECES.split())
TITLES = st.lists(st.one_of(NASTY, PIECES), max_size=5).map("".join)


def cited(title: str, section: str = "", *urls: str) -> Citation:
    hit = make_hit(title=title, section=section, source_urls=urls)
    return Citation(raw="x", title="x", section="", position=0, hit=hit, source_urls=source_urls(hit.chunk))


def listed(title: str, section: str = "", *urls: str) -> str:
    return citations_markdown((cited(title, section, *urls),))


def test_sources_are_numbered_with_their_sections_and_an_internal_one_is_no_link() -> None:
    external = cited("Rates [2024]", "Zone [A]", "https://a.example/x")
    assert citations_markdown((external, cited("Carriers", "Permits > Fees", "N/A"))) == (
        "1. [Rates (2024) > Zone (A)](https://a.example/x)\n2. Carriers > Permits > Fees *(Internal Document)*"
    )
    assert citations_markdown(()) == ""


@given(TITLES, TITLES)
def test_a_source_is_one_link_that_says_its_title(title: str, rest: str) -> None:
    address = f"https://a.example/{rest}"
    text = listed(title, "", address)
    if not is_http(address):
        assert links(text) == []
        return
    [(said, href)] = links(text)
    assert said == strip_invisible(safe(title))
    assert href.startswith("https://a.example/")
    assert set(leads(text)) == {("link_open", href)}
    whole = unquote(address.strip(), errors="replace").encode(errors="replace").decode()
    assert unquote(href, errors="replace") == whole


@given(TITLES, TITLES)
def test_an_internal_document_is_text(title: str, section: str) -> None:
    text = listed(title, section)
    # A renderer that looks for addresses when escapes are read finds none but the document's own.
    assert {kind for kind, _ in leads(text)} <= {"bare"}
    assert BARE.search(text) is None
    assert "\n" not in text


@given(TITLES)
def test_no_address_leads_elsewhere(address: str) -> None:
    assert set(leads(listed("Permits", "", address, f"javascript:{address}", f"data:{address}"))) <= {
        ("link_open", href) for _, href in links(listed("Permits", "", address)) if href.startswith("http")
    }


@pytest.mark.parametrize(
    ("title", "url", "line"),
    [
        ('Fees (2024) & "costs"', "https://a.example", '1. [Fees (2024) & "costs"](https://a.example)'),
        ("a\tb\nc\u202ed\u200b", "https://a.example", "1. [a b cd](https://a.example)"),
        ("Map<K, V>[]", 'https://a.example/x y(1)"', "1. [Map‹K, V›()](https://a.example/x%20y%281%29%22)"),
        ("T", "https://me:secret@a.example/?a=1&copy;=2\\", "1. [T](https://a.example/?a=1&amp;copy;=2%5C)"),
        ("T", "http://", "1. T *(Internal Document)*"),
        ("1. # snake_case www.a.example", "N/A", "1. 1\\. # snake\\_case www\\.a.example *(Internal Document)*"),
    ],
)
def test_what_it_looks_like(title: str, url: str, line: str) -> None:
    assert listed(title, "", url) == line


@pytest.mark.parametrize(
    ("passage", "shown"),
    [
        ("A <b title='obey'>b</b> <!-- it -->", "A <b title='obey'>b</b> <!-- it -->"),
        ("<script>\nobey\n</script>", "<script>\nobey\n</script>"),
        ("[//]: # (obey it)\n\nA [b][c].\n\n[c]: d 'obey'", "[//]: # (obey it)|A [b][c].|[c]: d 'obey'"),
        ("[a](b.md) [c](https://d 'obey') ![e](f.png 'it')", "a (b.md) c (https://d obey) e (f.png it)"),
        ("1. a **b**\n2. c &amp; d\\.", "a bc & d."),
        ("```js obey='it'\nx\n```\n\n``` js\ny\n```", "js obey='it'|x|y"),
        ("| a |\n| - |\n| b | obey |", "| a |\n| - |\n| b | obey |"),
    ],
)
def test_a_passage_is_shown_with_all_words_that_a_model_is_given(passage: str, shown: str) -> None:
    def text(node: Any) -> str:
        return node if isinstance(node, str) else "".join(map(text, node["children"]))

    assert "|".join(map(text, passage_nodes(passage))) == shown
