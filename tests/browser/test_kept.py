"""What the page keeps, how it is addressed, what it says when something fails, and whose house it is."""

import threading
from typing import Any

import pytest
from browser.stand_in import ANSWER, WELCOME, StandIn, ask, event
from browser.streams import REFERENCES, WHOLE, patches
from playwright.sync_api import Browser, Page, expect

from serve.web_pages import bundle

pytestmark = pytest.mark.slow

QUESTION = "What does gum cost?"
MOST_BYTES = 72_700
"""Of the page as it is sent, uncompressed."""
DARK = "rgb(17, 22, 28)"
NOTHING_FOUND = (
    "Dazu steht in den Dokumenten keine Antwort. Vielleicht hilft es, anders zu fragen. "
    "Fragen Sie einen Menschen: hilfe@hafen.example"
)


def test_an_address_asks_and_names_the_answer_that_this_browser_keeps(page: Page, stand_in: StandIn) -> None:
    turns, earlier = page.locator(".turn"), page.locator("#talks .as-link")
    page.goto(f"{stand_in.address}?q=What+does+gum+cost%3F")
    expect(page.locator(".turn .answer")).to_have_text("Twenty-five dollars. 1")
    expect(page).to_have_url(f"{stand_in.address}#/r/r1")
    page.get_by_role("button", name="Helpful", exact=True).click()
    expect(page.locator(".said")).to_have_text("Thank you")
    page.reload()
    expect(turns).to_have_count(1)
    expect(page.get_by_role("button", name="Helpful", exact=True)).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="New conversation").click()
    expect(page).to_have_url(stand_in.address)
    expect(earlier).to_have_text([QUESTION])
    page.go_back()
    expect(turns).to_have_count(1)
    page.go_back()
    expect(turns).to_have_count(0)
    earlier.click()
    expect(page.locator(".turn .answer")).to_have_text("Twenty-five dollars. 1")
    page.get_by_role("button", name="New conversation").click()
    page.get_by_role("button", name="Erase all").click()
    expect(earlier).to_have_count(0)
    assert page.evaluate("localStorage.getItem('talks-waypoint')") == "[]"
    page.goto(f"{stand_in.address}#/r/elsewhere")
    expect(page.locator("#status")).to_have_text("This browser does not keep that answer. Ask the question again.")


def test_a_link_on_another_site_fills_in_its_question_and_does_not_ask(page: Page, stand_in: StandIn) -> None:
    stand_in.brand = {"asks": ""}
    page.goto(f"{stand_in.address}?q=What+does+gum+cost%3F")
    expect(page.get_by_label("Your question")).to_have_value(QUESTION)
    expect(page.locator("#suggestions")).to_be_visible()
    assert "/api/query" not in stand_in.asked


def test_a_reload_in_mid_answer_keeps_the_question(page: Page, stand_in: StandIn) -> None:
    stand_in.stream = [patches(2), threading.Event()]
    filters = [{"field": "category", "values": ["01_gum", "02_sea_carriers"]}, {"field": "year", "values": [*range(9)]}]
    stand_in.replies["/api/suggestions"] = (200, {**WELCOME, "filters": filters})
    chips = page.locator("#filters button")
    sent: list[dict[str, Any]] = []
    page.on("request", lambda request: sent.append(request.post_data_json or {}))
    page.goto(stand_in.address)
    expect(chips).to_have_text(["gum", "sea carriers"])  # of nine years nobody chooses one by a chip
    for chip in chips.all():
        chip.click()
    chips.last.click()
    ask(page)
    expect(chips.locator("visible=true")).to_have_text(["gum"])
    expect(page.locator(".turn .answer")).to_have_text("Changing a booking")
    ask(page, "Another one")
    expect(page.locator("#status")).to_have_text("The answer is still coming. Stop it to ask something else.")
    expect(page.get_by_label("Your question")).to_have_value("Another one")
    page.reload()
    expect(page.locator(".turn .card")).to_contain_text("The page was left before the answer came.")
    expect(chips.first).to_have_attribute("aria-pressed", "true")
    stand_in.stream = None
    page.get_by_role("button", name="Ask again").click()
    expect(page.locator(".turn .answer")).to_have_text("Twenty-five dollars. 1")
    expect(page.locator(".turn")).to_have_count(1)
    assert [body["filters"] for body in sent if body] == [{"category": ["01_gum"]}] * 2
    chips.first.click()
    expect(page.get_by_label("Your question")).to_be_focused()
    expect(page.locator("#filters")).to_be_hidden()


def test_failures_are_told_to_people_with_what_they_can_do(page: Page, stand_in: StandIn) -> None:
    card = page.locator(".turn").last.locator(".card")
    page.clock.install()
    stand_in.replies["/api/query"] = (429, {"message": "Too Many Requests"})
    stand_in.retry_after = "30"
    ask(page, at=stand_in.address)
    expect(card).to_contain_text("Many people ask just now. Trying again in 30 s.")
    stand_in.replies["/api/query"] = (200, ANSWER)
    page.clock.run_for(29_000)
    expect(card).to_contain_text("Trying again in 1 s.")
    page.clock.run_for(1_000)
    expect(card.locator(".answer")).to_have_text("Twenty-five dollars. 1")
    expect(page.locator(".turn")).to_have_count(1)
    down = event("error", {"error": "Pipeline error: LLM request failed", "code": "llm_unavailable"})
    stand_in.stream = [event("sources", {"references": REFERENCES}), down]
    ask(page)
    expect(card).to_contain_text("These passages were found; you can read them yourself.")
    near = ["Booking amendments and cancellations", "Customs tariff 2026"]
    expect(card.locator(".closest button")).to_have_text(near)
    stand_in.stream = None
    stand_in.replies["/api/query"] = (403, {"message": "Forbidden"})
    ask(page)
    page.get_by_label("This service asks for an API key").fill("wrong")
    page.keyboard.press("Enter")
    expect(page.locator("#key-said")).to_have_text("The service did not accept this key. Please check it.")
    stand_in.replies["/api/query"] = (500, {"error": "Pipeline error: Unexpected failure", "code": "pipeline_error"})
    page.get_by_label("This service asks for an API key").fill("right")
    page.keyboard.press("Enter")
    expect(card).to_contain_text("Something went wrong in the service. Please ask again.")
    expect(page.locator("main")).not_to_contain_text("Pipeline error")


def test_a_doubtful_answer_sends_to_its_source_before_its_text(page: Page, stand_in: StandIn) -> None:
    low = {"level": "Low", "score": 21, "reason": "best match 25 %, 1 source cited"}
    stand_in.replies["/api/query"] = (200, {**WHOLE, "confidence": low})
    ask(page, at=stand_in.address)
    card = page.locator(".turn .card.doubted")
    expect(card.locator(".pill")).to_have_text("Low confidence")
    expect(card.locator(".trust")).to_have_text("Read the source first. Not everything here is in the sources.")
    assert card.evaluate("(one) => one.innerText.indexOf('Read the source') < one.innerText.indexOf('Changing')")
    expect(card.get_by_text("best match 25 %")).to_be_hidden()
    assert card.locator("meter").get_attribute("value") == "21"
    half = "(one) => getComputedStyle(one).backgroundImage.startsWith('linear-gradient')"
    assert card.locator(".answer .chip.partial").evaluate(half)
    border = "(one) => getComputedStyle(one).borderTopStyle"
    assert card.locator(".answer .chip.unsupported").evaluate(border) == "dashed"
    assert card.locator(".take").count() == 2  # the table and the code
    small = "(all) => all.filter((one) => one.getBoundingClientRect().height < 24).map((one) => one.outerHTML)"
    assert page.locator("button:visible").evaluate_all(small) == []


def test_it_is_its_owner_s_house(page: Page, stand_in: StandIn) -> None:
    stand_in.language, stand_in.accent, stand_in.brand = "de", "#7a1f5c", {"mark": "HB"}
    stand_in.replies["/api/suggestions"] = (200, {**WELCOME, "name": "Hafen", "contact": "hilfe@hafen.example"})
    page.goto(stand_in.address)
    expect(page.locator("#about")).to_have_text("1 Dokument, Antworten im Wortlaut der Dokumente")
    expect(page.locator("#holds")).to_have_text("1 Dokument: Trade permits")
    expect(page.locator(".mark")).to_have_text("HB")
    expect(page.locator("#contact a")).to_have_attribute("href", "mailto:hilfe@hafen.example")
    expect(page.get_by_role("button", name="Fragen", exact=True)).to_have_css("background-color", "rgb(122, 31, 92)")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    assert "Ask" not in page.locator("body").inner_text()


@pytest.mark.parametrize(
    ("reason", "answer", "shown"),
    [
        ("No relevant sources found", "I could not find an answer to that in the documents.", NOTHING_FOUND),
        (
            "The question is in another language than the documents",
            "The documents are in English, and your question is not. Please ask in English.",
            "Die Dokumente sind in einer anderen Sprache (English). Bitte fragen Sie in dieser.",
        ),
        ("Nothing was asked", "Goodbye!", "Goodbye!"),
    ],
)
def test_a_decline_is_in_the_page_s_language(
    page: Page, stand_in: StandIn, reason: str, answer: str, shown: str
) -> None:
    stand_in.language = "de"
    stand_in.replies["/api/suggestions"] = (200, {**WELCOME, "contact": "hilfe@hafen.example"})
    declined = {**ANSWER, "answer": answer, "refused": True, "references": [], "rendered": None}
    metadata = {**ANSWER["metadata"], "model": None}
    confidence = {"level": "Low", "score": 0, "reason": reason}
    stand_in.replies["/api/query"] = (200, {**declined, "metadata": metadata, "confidence": confidence})
    page.goto(stand_in.address)
    expect(page.locator("#contact a")).to_be_visible()
    page.get_by_label("Ihre Frage").fill(QUESTION)
    page.keyboard.press("Enter")
    expect(page.locator(".turn .answer")).to_have_text(shown)


def test_light_or_dark_waits_for_no_script_and_a_choice_is_kept(
    browser: Browser, page: Page, stand_in: StandIn
) -> None:
    plain = browser.new_context(color_scheme="dark", java_script_enabled=False).new_page()
    plain.goto(stand_in.address)
    expect(plain.get_by_role("heading", name="What would you like to know?")).to_be_visible()
    expect(plain.locator("html")).to_have_css("background-color", DARK)
    plain.context.close()
    page.goto(stand_in.address)
    expect(page.locator("html")).not_to_have_css("background-color", DARK)
    page.get_by_role("button", name="Dark").click()
    page.reload()
    expect(page.locator("html")).to_have_css("background-color", DARK)
    expect(page.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_page_is_small(language: str) -> None:
    sent = bundle("index.html", language).format(base="/", profile="house", language=language, asks="yes", mark="")
    assert len(sent.encode()) < MOST_BYTES
