"""The page as a person uses it, in a real browser."""

import json
from typing import Any

import permits
import pytest
from browser.accessibility import assert_accessible, assert_accessible_but_contrast, assert_all_looks_accessible
from browser.stand_in import ANSWER, CHUNK, StandIn, ask, event
from browser.streams import nodes
from faults.drawing import NIGHTLY
from local_server import Server
from playwright.sync_api import Browser, BrowserContext, Page, expect

pytestmark = pytest.mark.slow

QUESTION = permits.QUESTION
ELSEWHERE = "Who won the football world cup in 2018?"
OTHER_SECTIONS = "main > section:not([aria-labelledby=query])"
"""Of the reference."""


def opened(page: Page, server: Server | StandIn) -> Page:
    page.goto(server.address if isinstance(server, StandIn) else f"http://{server.address}/")
    return page


def last(page: Page) -> Any:
    return page.locator(".turn").last


def test_a_visit_is_the_page_and_one_request_and_a_question_that_is_offered_is_answered(
    context: BrowserContext, page: Page, server: Server
) -> None:
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    opened(page, server)
    expect(page.locator("#about")).to_have_text("1 document, answers in the documents' own words")
    expect(page.locator("#suggestions button")).to_have_count(2)
    sent = [url.removeprefix(f"http://{server.address}") for url in asked if not url.startswith("data:")]
    assert sent == ["/", "/api/suggestions"]
    page.locator("#suggestions button").first.click()
    expect(last(page).locator(".actions")).to_be_visible()
    expect(last(page).locator("h3").first).to_have_text("Answer")
    assert {url.split("/")[2] for url in asked if not url.startswith("data:")} == {server.address}


def test_a_chip_opens_the_passage_with_what_answers(page: Page, server: Server) -> None:
    chip = ask(opened(page, server), QUESTION).locator(".answer .chip").first
    chip.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("#passage-title")).to_have_text("Trade permits")
    unit = dialog.locator(".passage-text mark.unit")
    assert "which costs 25 dollars a year" in "".join(unit.all_text_contents())
    assert "costs" in dialog.locator(".passage-text mark.word").all_text_contents()
    assert "##" not in dialog.locator(".passage-text").inner_text()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(chip).to_be_focused()


def test_a_passage_is_shown_as_it_is_written_with_its_marks_in_place(page: Page, stand_in: StandIn) -> None:
    table = "| year | fee |\n|---|---|\n| 2026 | 30 dollars |"
    text = f"# Trade permits\n\n\U0001f6a2 **Gum &amp; sweets** cost 25 dollars.\n\n{table}"
    row = text.index("| 2026")
    units = [{"start": row, "end": len(text), "score": 0.9}]
    words = [{"start": at, "end": at + 7, "weight": 1} for at in (text.index("dollars"), text.rindex("dollars"))]
    stand_in.chunk = {**CHUNK, "text": text, "rendered": nodes(text), "units": units, "matches": words}
    ask(opened(page, stand_in), QUESTION).locator(".answer .chip").click()
    shown = page.locator("#passage-text")
    expect(shown.locator("p")).to_have_text("\U0001f6a2 Gum & sweets cost 25 dollars.")
    expect(shown.locator("strong")).to_have_text("Gum & sweets")
    expect(shown.locator("h4")).to_have_count(0)
    expect(shown.locator("tbody mark.unit")).to_have_text(["2026", "30 ", "dollars"])
    expect(shown.locator("mark.word")).to_have_text(["dollars", "dollars"])


def test_a_vote_can_be_given_commented_and_taken_back(page: Page, server: Server) -> None:
    helpful = ask(opened(page, server), QUESTION).get_by_role("button", name="Helpful", exact=True)
    helpful.click()
    expect(helpful).to_have_attribute("aria-pressed", "true")
    last(page).get_by_label("Comment on this answer").fill("Just what I needed")
    last(page).get_by_role("button", name="Send comment").click()
    expect(last(page).locator(".said")).to_have_text("Thank you")
    expect(helpful).to_be_focused()
    expect(last(page).locator(".comment")).to_have_count(0)
    helpful.click()
    expect(helpful).to_have_attribute("aria-pressed", "false")
    expect(last(page).locator(".said")).to_have_text("Taken back")


def test_a_vote_too_many_says_so_and_is_not_shown_as_given(page: Page, stand_in: StandIn) -> None:
    stand_in.replies["/api/feedback"] = (429, {"error": "No more than 60 votes", "code": "too_many_votes"})
    helpful = ask(opened(page, stand_in), QUESTION).get_by_role("button", name="Helpful", exact=True)
    helpful.click()
    expect(last(page).locator(".said")).to_have_text("That were enough votes for now. Please try again later.")
    expect(helpful).to_have_attribute("aria-pressed", "false")


def test_a_conversation_goes_on_after_another_page_and_a_new_one_is_new(page: Page, server: Server) -> None:
    ask(opened(page, server), QUESTION)
    expect(last(page).locator(".actions")).to_be_visible()
    page.goto(f"http://{server.address}/docs")
    page.go_back()
    expect(last(page).locator("h2")).to_contain_text(QUESTION)
    ask(page, "and who may sell it?")
    expect(last(page).locator(".answer")).to_contain_text("pharmacist")
    expect(page.locator(".turn")).to_have_count(2)
    last(page).get_by_text("How this came about").click()
    expect(last(page).locator(".facts").first).to_contain_text("together with the turns before")
    page.get_by_role("button", name="New conversation").click()
    page.reload()
    expect(page.locator("#suggestions")).to_be_visible()
    expect(page.locator(".turn")).to_have_count(0)
    ask(page, "and who may sell it?")
    last(page).get_by_text("How this came about").click()
    expect(last(page).locator(".facts").first).not_to_contain_text("turns before")


def test_a_question_that_is_too_long_comes_back_to_be_shortened(page: Page, server: Server) -> None:
    opened(page, server)
    box = page.get_by_label("Your question")
    before = box.bounding_box()
    box.fill("What does a licence cost? " * 400)
    after = box.bounding_box()
    assert before and after  # noqa: PT018
    assert before["height"] * 2 < after["height"] <= 0.4 * 800
    page.keyboard.press("Enter")
    expect(page.locator("#count")).to_have_text("10399 of 1000 characters. Please shorten the question.")
    expect(page.locator("#count")).to_be_in_viewport()
    expect(page.locator(".turn")).to_have_count(0)
    expect(box).to_have_value("What does a licence cost? " * 400)


def test_a_decline_shows_what_came_close_one_a_document_and_no_meter(page: Page, stand_in: StandIn) -> None:
    near = {"chunkId": "id_1", "title": "Trade permits", "section": "Gum", "url": None, "score": 0.5}
    found = [near, {**near, "chunkId": "id_2"}, {**near, "title": "Opening hours", "score": 0.3}]
    declined = {**ANSWER, "refused": True, "references": [], "relatedDocs": [], "closest": found}
    stand_in.replies["/api/query"] = (200, declined)
    ask(opened(page, stand_in), ELSEWHERE)
    expect(last(page).locator("h3").first).to_have_text("No answer")
    expect(last(page).locator("meter, .pill")).to_have_count(0)
    expect(last(page).locator(".closest button")).to_have_text(["Trade permits"])
    last(page).locator(".closest button").click()
    expect(page.locator("#passage-title")).to_have_text("Trade permits")


def test_a_greeting_gets_a_reply_of_which_nothing_is_claimed(page: Page, server: Server) -> None:
    ask(opened(page, server), "Hello!")
    expect(last(page).locator("h3").first).to_have_text("Reply")
    expect(last(page).locator(".confidence")).to_have_count(0)


def test_each_new_question_stands_at_the_top_and_fits_a_phone(page: Page, server: Server) -> None:
    opened(page, server)
    for number, question in enumerate((QUESTION, ELSEWHERE), 1):
        ask(page, question)
        expect(page.locator(".turn")).to_have_count(number)
        expect(last(page).locator(".actions")).to_be_visible()
        expect(last(page).locator(".answer")).to_be_in_viewport()
        expect(last(page).locator("h2")).to_be_in_viewport()
        for width in (768, 320, 1100):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_keyboard_is_enough(page: Page, server: Server) -> None:
    opened(page, server)
    page.keyboard.type(QUESTION)
    page.keyboard.press("Shift+Enter")
    page.keyboard.press("Backspace")
    page.keyboard.press("Enter")
    expect(last(page).locator(".actions")).to_be_visible()
    last(page).locator(".chip").first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Tab")
    stays = "document.activeElement.closest('dialog') !== null || document.activeElement === document.body"
    assert page.evaluate(stays)


def test_a_failure_says_what_and_can_be_tried_again(page: Page, context: BrowserContext, stand_in: StandIn) -> None:
    stand_in.replies["/api/query"] = (503, {"error": "Pipeline error: LLM request failed", "code": "llm_unavailable"})
    ask(opened(page, stand_in), QUESTION)
    expect(last(page).locator(".card")).to_contain_text("The model does not answer just now.")
    expect(last(page)).not_to_contain_text("Pipeline error")
    page.reload()
    expect(last(page).locator(".card")).to_contain_text("The model does not answer just now.")
    stand_in.replies["/api/query"] = (200, ANSWER)
    page.get_by_role("button", name="Ask again").click()
    expect(last(page).locator(".answer")).to_have_text("Twenty-five dollars. 1")
    expect(page.locator(".turn")).to_have_count(1)
    context.set_offline(True)
    ask(page, QUESTION)
    expect(last(page).locator(".card")).to_contain_text("You are offline.")


@pytest.mark.parametrize(
    ("stream", "said"),
    [
        ('event: status\ndata: {"stage":"searching"}\n\nevent: del', "The answer broke off. Please ask again."),
        (event("error", {"error": "x", "code": "index_not_ready"}), "The documents cannot be searched just now."),
    ],
)
def test_a_stream_that_ends_badly_says_so(page: Page, stand_in: StandIn, stream: str, said: str) -> None:
    stand_in.stream = [stream]
    expect(ask(page, at=stand_in.address)).to_contain_text(said)


def test_events_are_read_however_they_are_written(page: Page, stand_in: StandIn) -> None:
    whole = json.dumps(ANSWER, indent=1).replace("\n", "\r\ndata: ")
    events = [": waiting", 'event: delta\r\ndata: {"text":\r\ndata: "x"}', f"event: answer\r\ndata: {whole}", ""]
    stand_in.stream = ["\r\n\r\n".join(events)]
    expect(ask(page, at=stand_in.address).locator(".answer")).to_have_text("Twenty-five dollars. 1")


def test_a_missing_key_is_asked_for_kept_for_the_session_and_forgotten(page: Page, stand_in: StandIn) -> None:
    stand_in.key = "secret-key"
    opened(page, stand_in)
    page.get_by_label("This service asks for an API key").fill("secret-key")
    page.keyboard.press("Enter")
    expect(page.locator("#suggestions")).to_be_visible()
    ask(page, QUESTION)
    expect(last(page).locator(".answer")).to_have_text("Twenty-five dollars. 1")
    assert page.evaluate("sessionStorage.getItem('key')") == "secret-key"
    assert "secret-key" not in page.evaluate("JSON.stringify(localStorage) + document.cookie + location.href")
    page.reload()
    expect(page.locator("#about")).to_contain_text("1 document")
    page.get_by_role("button", name="Forget key").click()
    assert page.evaluate("sessionStorage.getItem('key')") is None
    expect(page.get_by_label("This service asks for an API key")).to_be_visible()


def test_copy_takes_the_sources_along(page: Page, context: BrowserContext, stand_in: StandIn) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    ask(opened(page, stand_in), QUESTION)
    last(page).get_by_role("button", name="Copy", exact=True).click()
    expect(last(page).locator(".said")).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == f"{ANSWER['answer']}\n\n{ANSWER['citationsMarkdown']}"


@pytest.mark.sampled
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_any_profile_s_look(browser: Browser, server: Server, scheme: Any) -> None:
    context = browser.new_context(color_scheme=scheme, bypass_csp=True, reduced_motion="reduce")
    page = opened(context.new_page(), server)
    expect(page.locator("#suggestions")).to_be_visible()
    assert_accessible(page, "empty")
    ask(page, QUESTION)
    expect(last(page).locator(".actions")).to_be_visible()
    last(page).get_by_text("How this came about").click()
    assert_all_looks_accessible(page, "answer")
    last(page).locator(".chip").first.click()
    expect(page.locator("mark.unit").first).to_be_visible()
    assert_all_looks_accessible(page, "passage")
    page.keyboard.press("Escape")
    ask(page, ELSEWHERE)
    expect(last(page).locator(".actions")).to_be_visible()
    assert_accessible(page, "decline")
    page.goto(f"http://{server.address}/docs")
    expect(page.locator("#query")).to_be_visible()
    if scheme == "light":
        assert_accessible_but_contrast(page, "all of the reference")
    if not NIGHTLY:  # the other sections are made of the same parts
        page.locator(OTHER_SECTIONS).evaluate_all("(all) => all.forEach((one) => one.remove())")
    assert_all_looks_accessible(page, "reference")
    context.close()


@pytest.mark.parametrize(("motion", "running"), [("reduce", "none"), ("no-preference", "blink")])
def test_without_motion_nothing_blinks(browser: Browser, stand_in: StandIn, motion: Any, running: str) -> None:
    context = browser.new_context(reduced_motion=motion)
    page = opened(context.new_page(), stand_in)
    page.evaluate("() => { document.body.className = 'arriving'; document.body.append(document.createElement('p')); }")
    last_words = "(one) => getComputedStyle(one, '::after').animationName"
    assert page.locator(".arriving > p").last.evaluate(last_words) == running
    context.close()


# The API's reference


def test_a_request_is_sent_from_the_reference(page: Page, server: Server) -> None:
    page.goto(f"http://{server.address}/docs")
    query = page.get_by_role("form", name="Send POST /api/query", exact=True)
    query.get_by_role("button", name="Send").click()
    expect(query.get_by_role("status")).to_contain_text('"answer": ')
    expect(query.get_by_role("status")).to_contain_text("200")
    response = page.get_by_role("form", name="Send POST /v1/responses")
    response.get_by_label("Body").fill(json.dumps({"input": "What does a licence cost?", "stream": True}))
    response.get_by_role("button", name="Send").click()
    expect(response.get_by_role("status")).to_contain_text("event: response.completed")
    response.get_by_label("Body").fill(json.dumps({"input": "x", "background": True}))
    response.get_by_role("button", name="Send").click()
    expect(response.get_by_role("status")).to_contain_text("unsupported_parameter")
    page.locator("#response ~ details").first.locator("summary").click()
    expect(page.locator("#response ~ details").first).to_contain_text(f"curl http://{server.address}/v1/responses")
    expect(page.get_by_role("table").filter(has_text="context_length_exceeded").first).to_be_visible()
