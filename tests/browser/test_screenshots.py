"""The page in nine states, as docs/page.md shows them: ``make screenshots``."""

import os
import threading
from pathlib import Path

import pytest
from browser.stand_in import ANSWER, WELCOME, StandIn, event
from browser.streams import PATCHES, REFERENCES, WHOLE, begun, patches
from browser.test_passages import asked
from playwright.sync_api import Browser, Page, expect

SHOTS = os.environ.get("SCREENSHOTS", "")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not SHOTS, reason="SCREENSHOTS names no folder")]
QUESTIONS = ["Duty and VAT in Thailand", "How to request a freight quote", "Refund of GST paid by mistake"]
LOW = {"level": "Low", "score": 21, "reason": ""}
NEAR = {"chunkId": "id_1", "title": "Trade permits", "section": "Chewing gum", "url": None, "score": 0.5}
NONE = "I don't have specific information about that in the knowledge base."
DECLINED = {**ANSWER, "answer": NONE, "rendered": [NONE], "refused": True, "references": [], "closest": [NEAR]}
DOWN = event("sources", {"references": REFERENCES}) + event("error", {"error": "", "code": "llm_unavailable"})


def test_nine_states(browser: Browser, stand_in: StandIn) -> None:
    stand_in.replies["/api/suggestions"] = (200, {**WELCOME, "name": "Lanternfish Line", "questions": QUESTIONS})

    def shot(name: str, page: Page) -> None:
        page.wait_for_timeout(300)
        page.screenshot(path=Path(SHOTS) / f"{name}.jpg", type="jpeg", quality=50)
        page.context.close()

    def opened(width: int = 1100, scheme: str = "light") -> Page:
        page = browser.new_context(viewport={"width": width, "height": 720}, color_scheme=scheme).new_page()  # type: ignore[arg-type]
        page.goto(stand_in.address)
        expect(page.locator("#name")).to_have_text("Lanternfish Line")
        return page

    def put(page: Page, until: str = ".actions") -> Page:
        page.locator("#question").fill("What does a change cost?")  # in any language
        page.keyboard.press("Enter")
        page.locator(until).first.wait_for()
        return page

    shot("1-first-visit", opened())
    stand_in.stream = [begun(), event("sources", {"references": REFERENCES}), patches(8), threading.Event()]
    shot("2-while-it-comes", put(opened(), "li"))
    stand_in.stream = [event("answer", WHOLE)]
    shot("3-answer", put(opened()))
    stand_in.stream = None
    for name, width in (("4-passage", 1100), ("5-passage-on-a-phone", 390)):
        page = asked(opened(width), stand_in)
        page.locator(".answer .chip").first.click()
        page.locator("mark.unit").first.wait_for()
        shot(name, page)
    stand_in.replies["/api/query"] = (200, {**WHOLE, "confidence": LOW})
    shot("6-doubtful", put(opened()))
    stand_in.replies["/api/query"] = (200, DECLINED)
    shot("7-decline", put(opened()))
    stand_in.stream = [DOWN]
    shot("8-model-down", put(opened(), ".closest"))
    stand_in.stream = [patches(len(PATCHES)) + event("answer", WHOLE)]
    stand_in.language, stand_in.accent, stand_in.brand = "de", "#7a1f5c", {"mark": "LL"}
    shot("9-own-house", put(opened(scheme="dark")))
