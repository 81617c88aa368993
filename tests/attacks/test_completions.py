"""Completions, titles, addresses and questions of strangers: no reply leads anywhere that no cited passage names.

What is written is read with a CommonMark parser; what is more than text must be an address of the one document that
there is. Completions are read by the answer stage alone, in which no profile differs but in its form of citations; some
go through each profile's pipeline, and all texts of its replies are read.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

import pytest
from attacks.completions import CHOSEN, LISTS, around, drawn, forms, strings, ticks
from attacks.reading import leads, links
from attacks.stage import HELD, MARKS, PERMITS, TEXT, Leads, foreign, foreign_nodes, pipeline, streamed, through
from fakes import FakeChat, deadline, make_hit
from faults.drawing import rng, tenth
from faults.tally import tally

from knowledge.model.values import Hit
from rag.errors import BadRequest
from rag.http.chat_completions import WITH_SOURCES, ParsedRequest, completion_body
from rag.http.replies import query_reply, question_reply, rendered_reply
from rag.mcp.server import build_server
from rag.profiles import PROFILES
from rag.text.sources import escape_url, safe
from rag.values.answer import Answer
from rag.values.question import Question
from rag.values.request import Listen

pytestmark = pytest.mark.slow

DRAWN = 1500
MARK = MARKS["waypoint"]


def run(profile: str, said: str, hit: Hit = PERMITS, asked: str = "How long do permits take?") -> Answer:
    return pipeline(profile, FakeChat(said), (hit,)).run(Question(text=asked), deadline=deadline())


def is_named(address: str, text: str) -> bool:
    """Whether a document that says ``text`` everywhere names ``address``, and it is none that runs something."""
    address = re.sub(r"[`\\]", "", address)  # ticks and escapes in it lead nowhere else: they break it
    runs = re.match(r"\W*(?:javascript|data|vbscript)", address, re.IGNORECASE)
    return runs is None and any(address.rstrip(".,)]\"'") in known for known in (text, escape_url(text), safe(text)))


class Asked:
    """What MCP asks: always the same answer."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.service = self

    def ask(self, question: Question, listen: Listen | None) -> Answer:
        return self.answer

    def search(self, text: str, *, k: int, filters: Mapping[str, object]) -> tuple[Hit, ...]:
        return ()

    def chunk(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    document = document_page = overview = chunk


def texts(answer: Answer) -> Iterator[str]:
    """Every text of Markdown that a caller may get of ``answer``."""
    body = query_reply(answer).model_dump(mode="json")
    yield from (body["answer"], body["citationsMarkdown"], question_reply(answer, debug=True).answer)
    yield from (statement["text"] for statement in body["metadata"]["statements"])
    chat = ParsedRequest(question=answer.question, model=f"x{WITH_SOURCES}")
    yield completion_body(answer, chat)["choices"][0]["message"]["content"]
    called = {"name": "ask", "arguments": {"question": "x"}}
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": called})
    reply = build_server(cast(Any, Asked(answer)), profile="x", describe_error=str).respond(message).message or {}
    yield from (part["text"] for part in reply["result"]["content"])


def replied(answer: Answer) -> Leads:
    """What in the replies of ``answer`` leads elsewhere."""
    found = [lead for text in dict.fromkeys(texts(answer)) for lead in leads(text)]
    return foreign(found) + foreign_nodes(rendered_reply(answer).rendered)


def held_back(kind: str, cases: Iterable[str], read: Callable[[str], Leads]) -> None:
    """Assert that nothing of ``cases`` leads elsewhere as it is ``read``, and count them."""
    tried = tenth(dict.fromkeys(cases), least=100)
    got = {said: found for said in tried if (found := read(said))}
    tally(kind, cases=len(tried), failures=len(got))
    assert got == {}


def test_forms() -> None:
    held_back("forms of links", (said for one in forms() for said in around(one, MARK)), through)


def test_what_takes_a_tick_before_code_does() -> None:
    """Renderers differ in where code begins; what they take for none of it must lead nowhere."""
    cases = (said for one in ticks() for said in (f"Five days {MARK}. {one}", f"- {one} {MARK}"))
    held_back("ticks that renderers pair differently", cases, through)


@pytest.mark.parametrize("kind", LISTS)
def test_completions_of_strangers(kind: str) -> None:
    """Each string as the completion, and within one that cites."""
    cases = (said for one in strings(kind) for said in (one, f"{one} takes five working days {MARK}. {one}"))
    held_back(kind, cases, through)


def test_fragments_at_random() -> None:
    """Alone and within an answer that cites, one of the two streamed too; the forms of citations take turns."""
    turn = {said: tuple(PROFILES)[at % len(PROFILES)] for at, said in enumerate(drawn(DRAWN, rng("fragments")))}

    def read(said: str) -> Leads:
        profile, cites = turn[said], f"Five days {MARKS[turn[said]]}. {said}"
        part = (said, cites)[len(said) % 2]
        return through(said, profile) + through(cites, profile) + streamed(part, len(said), profile)

    held_back("fragments at random", turn, read)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_s_replies(profile: str) -> None:
    cases = (f"Five days {MARKS[profile]}.\n\n{one} {MARKS[profile]}" for one in CHOSEN)
    held_back("replies of each profile", cases, lambda said: replied(run(profile, said)))


@pytest.mark.parametrize("kind", LISTS)
def test_documents_of_strangers(kind: str) -> None:
    """Each string as title, section, source and page of the document that is cited, and as the question, repeated.

    The profiles take turns.
    """
    turn = {text: tuple(PROFILES)[at % len(PROFILES)] for at, text in enumerate(strings(kind))}
    held_back(f"{kind} in documents", turn, lambda text: _in_a_document(turn[text], text))


def _in_a_document(profile: str, text: str) -> Leads:
    hit = make_hit(
        TEXT, number=1, cosine=0.9, title=text, section=f"{text} > {text}", url=text, source_urls=(text, HELD[0])
    )
    packed = pipeline(profile, FakeChat()).pack((hit,))
    said = f"{text}\n\nFive days {packed.passages[0].citation}."
    try:
        answer = run(profile, said, hit, asked=f"{text}?")
    except BadRequest:
        answer = run(profile, said, hit)
    # What the document itself names is held, but no script and no tag.
    return [(kind, to) for kind, to in replied(answer) if not is_named(to, text) or kind.startswith("html")]


def test_what_the_cited_passage_holds_stays() -> None:
    """However an address is spelt so that no renderer takes more for it."""
    said = (
        f"See the [guide]({HELD[1]}#top \"Guide\"), ![Desk]({HELD[2]}), <https://PERMITS.example:443/guide/> "
        f"and {HELD[0]}. Write to {HELD[3]} {MARK}."
    )  # fmt: skip
    led = [to.removeprefix("mailto:") for _, to in links(run("waypoint", said).text)]
    found = [to for _, to in leads(run("waypoint", said).text)]
    wanted = [f"{HELD[1]}#top", HELD[2], "https://PERMITS.example:443/guide/", HELD[0], HELD[3]]
    assert [to for to in wanted if to not in {*led, *found}] == []
