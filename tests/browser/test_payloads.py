"""Script payloads in every place where a stranger's text is shown: none of them runs."""

import html
from itertools import batched
from typing import Any
from urllib.parse import quote

import pytest
from browser.stand_in import ANSWER, StandIn, event
from browser.streams import nodes
from faults.drawing import tenth
from playwright.sync_api import Dialog, Page, expect

pytestmark = [pytest.mark.slow, pytest.mark.sampled]

RUN = "window.ran=(window.ran||0)+1"
FORMS = (
    "<script>{run}</script>",
    "<img src=x onerror={run}>",
    '<img src=x onerror="{run}">',
    "<svg onload={run}>",
    "<svg><script>{run}</script></svg>",
    "<svg><animate onbegin={run} attributeName=x dur=1s>",
    '<iframe srcdoc="<script>parent.{run}</script>">',
    '<iframe src="javascript:parent.{run}">',
    "<body onload={run}>",
    "<details open ontoggle={run}>",
    "<video><source onerror={run}></video>",
    "<input autofocus onfocus={run}>",
    "<marquee onstart={run}>",
    '<object data="javascript:{run}">',
    '<embed src="javascript:{run}">',
    '<base href="javascript:{run}//">',
    '<link rel=stylesheet href="data:text/css,*{{}}" onload={run}>',
    '<meta http-equiv=refresh content="0;url=javascript:{run}">',
    '<form action="javascript:{run}"><button autofocus>x</button></form>',
    '<a href="javascript:{run}">x</a>',
    "<math><mtext></form><form><mglyph><style></math><img src=x onerror={run}>",
    '<noscript><p title="</noscript><img src=x onerror={run}>">',
    "<template><script>{run}</script></template>",
    "<style>@import 'javascript:{run}';</style>",
    '"><script>{run}</script>',
    "'><img src=x onerror={run}>",
    "</textarea><script>{run}</script>",
    "</title><script>{run}</script>",
    "--><script>{run}</script>",
    "]]><script>{run}</script>",
    "${{{run}}}",
    "{{{{constructor.constructor('{run}')()}}}}",
    "javascript:{run}",
    "JaVaScRiPt:{run}",
    "java\tscript:{run}",
    " javascript:{run}",
    "\u0001javascript:{run}",
    "data:text/html,<script>{run}</script>",
    "vbscript:{run}",
    "[x](javascript:{run})",
    "![x](javascript:{run})",
    "<javascript:{run}>",
    "[x]: javascript:{run}\n\n[x]",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "`<script>{run}</script>`",
    "```\n<script>{run}</script>\n```",
    "| <img src=x onerror={run}> |\n|---|\n| x |",
    "\u202e<script>{run}</script>",
    "<scr\u0000ipt>{run}</script>",
    "\uff1cscript\uff1e{run}\uff1c/script\uff1e",
)


def as_it_is(text: str) -> str:
    return text


def as_references(text: str) -> str:
    return "".join(f"&#{ord(char)};" for char in text)


def split(text: str) -> str:
    return text.replace("script", "scr<x>ipt").replace("on", "o\nn", 1)


def in_bold(text: str) -> str:
    return f"**{text}**"


def in_an_item(text: str) -> str:
    return f"- {text}\n- x"


WRAPPERS = (
    as_it_is,
    html.escape,
    as_references,
    quote,
    split,
    in_bold,
    in_an_item,
)
PAYLOADS = [wrap(form.format(run=RUN)) for form in FORMS for wrap in WRAPPERS]
PLACES = (
    "completion", "unknown tag", "support", "note", "cite", "finish", "href", "title", "section", "quote",
    "source url", "category", "related", "related url", "reason", "trail", "model", "error", "suggestion",
    "passage", "passage title", "passage url", "closest", "question", "reload",
)  # fmt: skip
EACH_PAGE = 120
LOOK = """() => {
    const all = [...document.querySelectorAll('*')];
    const foreign = 'iframe, object, embed, base:not([href="/"]), form[action], svg, math, img, video';
    return {
        ran: window.ran || 0,
        foreign: document.querySelectorAll(foreign).length,
        scripts: document.querySelectorAll('script').length,
        handlers: all.filter((one) => [...one.attributes].some((a) => a.name.startsWith('on'))).length,
        links: all.filter((one) => one.tagName === 'A' && !/^(https?|mailto):/.test(one.href)).length,
    };
}"""
"""What of a page would show that a text had become more than text."""


def answer(place: str, payloads: tuple[str, ...]) -> dict[str, Any]:
    """An answer that holds all of ``payloads`` in ``place``."""
    cite, related = ANSWER["references"][0], ANSWER["relatedDocs"][0]
    closest = [{"chunkId": one, "title": one, "section": one, "url": one, "score": 1} for one in payloads]
    said = {"rendered": [node for one in payloads for node in nodes(one)]}
    changes: dict[str, dict[str, Any]] = {
        "completion": said,
        "reload": said,
        "unknown tag": {"rendered": [{"tag": one, "children": [one], "onclick": RUN} for one in payloads]},
        "support": {"rendered": [{"tag": "statement", "support": one, "children": [one]} for one in payloads]},
        "note": {"rendered": [{"tag": "note", "children": [one]} for one in payloads]},
        "cite": {"rendered": [{"tag": "cite", "n": one, "chunkId": one} for one in payloads]},
        "finish": {"partial": True, "metadata": {"finishReason": payloads[0]}},
        "href": {"rendered": [{"tag": "a", "href": one, "children": ["x"]} for one in payloads]},
        "title": {"references": [{**cite, "title": one, "docId": one} for one in payloads]},
        "section": {"references": [{**cite, "section": one} for one in payloads]},
        "quote": {"references": [{**cite, "quote": one, "support": one} for one in payloads]},
        "source url": {"references": [{**cite, "url": one, "docId": one} for one in payloads]},
        "category": {"relatedDocs": [{**related, "category": one} for one in payloads]},
        "related": {"relatedDocs": [{**related, "title": one} for one in payloads]},
        "related url": {"relatedDocs": [{**related, "url": one} for one in payloads]},
        "reason": {"confidence": {"level": payloads[0], "score": 5, "reason": " ".join(payloads)}},
        "trail": {"metadata": {"trail": list(payloads)}},
        "model": {"metadata": {"model": " ".join(payloads)}},
        "closest": {"refused": True, "closest": closest},
    }
    return {**ANSWER, **changes.get(place, {})}


def test_there_are_enough_of_them() -> None:
    assert len(set(PAYLOADS)) * len(PLACES) >= 6_000


@pytest.mark.parametrize("place", PLACES)
def test_no_script_runs(page: Page, stand_in: StandIn, place: str) -> None:
    dialogs: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", dismiss)
    for payloads in batched(tenth(PAYLOADS, least=EACH_PAGE), EACH_PAGE):
        show(page, stand_in, place, payloads)
        state = page.evaluate(LOOK)
        assert state == {"ran": 0, "foreign": 0, "scripts": 2, "handlers": 0, "links": 0}, payloads
        page.evaluate("sessionStorage.clear(); localStorage.clear()")  # the next page has no conversation to show again
    assert dialogs == []


def show(page: Page, stand_in: StandIn, place: str, payloads: tuple[str, ...]) -> None:
    """The page with ``payloads`` in ``place``."""
    text = " ".join(payloads)
    stand_in.replies["/api/query"] = (200, answer(place, payloads))
    stand_in.replies["/api/suggestions"] = (
        200,
        {"questions": list(payloads) if place == "suggestion" else ["x"], "longest": 10**6},
    )
    stand_in.chunk = {"id": "id_1", "title": "t", "section": None, "url": None, "text": "t", "units": [], "matches": []}
    if place == "error":
        stand_in.replies["/api/query"] = (500, {"error": text, "code": payloads[0]})
    if place.startswith("passage"):
        field = {"passage": "text", "passage title": "title", "passage url": "url"}[place]
        whole = {"start": 0, "end": len(text), "score": 1, "weight": 1}
        stand_in.chunk |= {field: payloads[0] if field == "url" else text, "units": [whole], "matches": [whole]}
        stand_in.chunk["rendered"] = nodes(stand_in.chunk["text"])
    page.goto(stand_in.address)
    expect(page.locator("#suggestions button").first).to_be_visible()
    if place == "suggestion":
        return
    page.get_by_label("Your question").fill(text if place == "question" else "x")
    page.keyboard.press("Enter")
    expect(page.locator(".turn .card:not([aria-busy]) p").first).to_be_visible()
    if place == "reload":
        page.reload()
        expect(page.locator(".turn .actions")).to_be_visible()
    if place.startswith("passage"):
        page.locator(".chip").first.click()
        expect(page.locator("#passage-title")).not_to_have_text("Loading …")


WATCH = """() => {
    window.added = [];
    new MutationObserver((changes) => {
        for (const node of changes.flatMap((change) => [...change.addedNodes]))
            if (node.parentElement?.closest('.answer')) window.added.push(node.nodeName);
    }).observe(document.body, { childList: true, subtree: true });
}"""
"""Notes what is put into the text that comes."""


def test_what_comes_before_the_answer_is_text(page: Page, stand_in: StandIn) -> None:
    leak = f"{stand_in.address}/leak?q=secret"
    pieces = [*PAYLOADS, f"![x]({leak})", f"<img src={leak}>", f"[x]({leak})", "![x](", leak, ")"]
    stand_in.stream = [event("delta", {"text": piece}) for piece in pieces]
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(stand_in.address)
    page.evaluate(WATCH)
    page.get_by_label("Your question").fill("x")
    page.keyboard.press("Enter")
    expect(page.get_by_text("The connection was lost here.").first).to_be_visible()
    assert set(page.evaluate("window.added")) <= {"#text", "P"}
    assert page.locator(".turn .answer").text_content() == "".join(pieces)
    assert [url for url in asked if "leak" in url] == []
    assert page.evaluate("window.ran || 0") == 0
