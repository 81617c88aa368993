"""Script payloads in every place where a stranger's text is shown: none of them runs."""

import html
from itertools import batched
from typing import Any
from urllib.parse import quote

import pytest
from browser.stand_in import ANSWER, CHUNK, StandIn, ask, event
from browser.streams import nodes
from faults.drawing import tenth
from playwright.sync_api import Dialog, Page, expect

pytestmark = [pytest.mark.slow, pytest.mark.sampled]

RUN = "window.ran=(window.ran||0)+1"
FORMS = (
    "<script>{run}</script>", "<img src=x onerror={run}>", '<img src=x onerror="{run}">', "<svg onload={run}>",
    "<svg><script>{run}</script></svg>", "<svg><animate onbegin={run} attributeName=x dur=1s>",
    '<iframe srcdoc="<script>parent.{run}</script>">', '<iframe src="javascript:parent.{run}">',
    "<body onload={run}>", "<details open ontoggle={run}>", "<video><source onerror={run}></video>",
    "<input autofocus onfocus={run}>", "<marquee onstart={run}>", '<object data="javascript:{run}">',
    '<embed src="javascript:{run}">', '<base href="javascript:{run}//">',
    '<link rel=stylesheet href="data:text/css,*{{}}" onload={run}>',
    '<meta http-equiv=refresh content="0;url=javascript:{run}">',
    '<form action="javascript:{run}"><button autofocus>x</button></form>', '<a href="javascript:{run}">x</a>',
    "<math><mtext></form><form><mglyph><style></math><img src=x onerror={run}>",
    '<noscript><p title="</noscript><img src=x onerror={run}>">', "<template><script>{run}</script></template>",
    "<style>@import 'javascript:{run}';</style>", '"><script>{run}</script>', "'><img src=x onerror={run}>",
    "</textarea><script>{run}</script>", "</title><script>{run}</script>", "--><script>{run}</script>",
    "]]><script>{run}</script>", "${{{run}}}", "{{{{constructor.constructor('{run}')()}}}}", "javascript:{run}",
    "JaVaScRiPt:{run}", "java\tscript:{run}", " javascript:{run}", "\u0001javascript:{run}",
    "data:text/html,<script>{run}</script>", "vbscript:{run}", "[x](javascript:{run})", "![x](javascript:{run})",
    "<javascript:{run}>", "[x]: javascript:{run}\n\n[x]", "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "`<script>{run}</script>`", "```\n<script>{run}</script>\n```", "| <img src=x onerror={run}> |\n|---|\n| x |",
    "\u202e<script>{run}</script>", "<scr\u0000ipt>{run}</script>", "\uff1cscript\uff1e{run}\uff1c/script\uff1e",
)  # fmt: skip


def as_references(text: str) -> str:
    return "".join(f"&#{ord(char)};" for char in text)


def split(text: str) -> str:
    return text.replace("script", "scr<x>ipt").replace("on", "o\nn", 1)


def in_bold(text: str) -> str:
    return f"**{text}**"


def in_an_item(text: str) -> str:
    return f"- {text}\n- x"


WRAPPERS = (str, html.escape, as_references, quote, split, in_bold, in_an_item)
PAYLOADS = [wrap(form.format(run=RUN)) for form in FORMS for wrap in WRAPPERS]
SCENES = ("answer", "reload", "decline", "error", "passage", "suggestion", "question")
"""What the page shows when it holds the payloads."""
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


def answer(payloads: tuple[str, ...], level: str = "Low") -> dict[str, Any]:
    """An answer that holds all of ``payloads`` in all of its places, and has that level of confidence."""
    cite, related = ANSWER["references"][0], ANSWER["relatedDocs"][0]
    rendered = [
        *ANSWER["rendered"],
        *(node for one in payloads for node in nodes(one)),
        *({"tag": one, "children": [one], "onclick": RUN} for one in payloads),
        *({"tag": "statement", "support": one, "children": [one]} for one in payloads),
        *({"tag": "note", "children": [one]} for one in payloads),
        *({"tag": "cite", "n": one, "chunkId": one} for one in payloads),
        *({"tag": "a", "href": one, "children": ["x"]} for one in payloads),
    ]
    said = ("title", "section", "quote", "support", "url", "docId")
    metadata = {"trail": list(payloads), "model": " ".join(payloads), "finishReason": payloads[0]}
    return {
        **ANSWER,
        "rendered": rendered,
        "references": [cite, *({**cite, **dict.fromkeys(said, one)} for one in payloads)],
        "relatedDocs": [{**related, **dict.fromkeys(("title", "category", "url"), one)} for one in payloads],
        "confidence": {"level": level, "score": 5, "reason": " ".join(payloads)},
        "partial": True,
        "metadata": {**ANSWER["metadata"], **metadata},
    }


def decline(payloads: tuple[str, ...]) -> dict[str, Any]:
    """No answer, but passages that came close, and a level of confidence that there is not."""
    closest = [{"chunkId": one, "title": one, "section": one, "url": one, "score": 1} for one in payloads]
    confidence = {"level": payloads[0], "score": 5, "reason": " ".join(payloads)}
    return {**ANSWER, "refused": True, "closest": closest, "confidence": confidence}


@pytest.mark.parametrize("scene", SCENES)
def test_no_script_runs(page: Page, stand_in: StandIn, scene: str) -> None:
    dialogs: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", dismiss)
    for payloads in batched(tenth(PAYLOADS, least=EACH_PAGE), EACH_PAGE):
        show(page, stand_in, scene, payloads)
        state = page.evaluate(LOOK)
        assert state == {"ran": 0, "foreign": 0, "scripts": 2, "handlers": 0, "links": 0}, payloads
        page.evaluate("sessionStorage.clear(); localStorage.clear()")  # the next page has no conversation to show again
    assert dialogs == []


def show(page: Page, stand_in: StandIn, scene: str, payloads: tuple[str, ...]) -> None:
    """The page with ``payloads`` in all places of ``scene``."""
    text = " ".join(payloads)
    questions = list(payloads) if scene == "suggestion" else ["x"]
    stand_in.replies["/api/suggestions"] = (200, {"questions": questions, "longest": 10**6})
    if scene in {"answer", "reload"}:  # a level that there is not has no meter, and no reason
        stand_in.replies["/api/query"] = (200, answer(payloads, *([payloads[0]] if scene == "reload" else [])))
    elif scene == "decline":
        stand_in.replies["/api/query"] = (200, decline(payloads))
    elif scene == "error":
        stand_in.replies["/api/query"] = (500, {"error": text, "code": payloads[0]})
    elif scene == "passage":
        unit = {"start": 0, "end": len(text), "score": 1, "weight": 1}
        shown = {"title": text, "section": text, "text": text, "rendered": nodes(text), "url": f"javascript:{RUN}"}
        stand_in.chunk = {**CHUNK, **shown, "units": [unit], "matches": [unit]}
    page.goto(stand_in.address)
    expect(page.locator("#suggestions button").first).to_be_visible()
    if scene == "suggestion":
        return
    ask(page, text if scene == "question" else "x")
    expect(page.locator(".turn .card:not([aria-busy]) p").first).to_be_visible()
    if scene == "reload":
        page.reload()
        expect(page.locator(".turn .actions")).to_be_visible()
    if scene == "passage":
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
    ask(page, "x")
    expect(page.get_by_text("The connection was lost here.").first).to_be_visible()
    assert set(page.evaluate("window.added")) <= {"#text", "P"}
    assert page.locator(".turn .answer").text_content() == "".join(pieces)
    assert [url for url in asked if "leak" in url] == []
    assert page.evaluate("window.ran || 0") == 0
