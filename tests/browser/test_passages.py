"""Passages beside an answer: the quote at a chip, the pane or the sheet, the way back, and what stands around them."""

from urllib.parse import unquote

import pytest
from browser.stand_in import ANSWER, CHUNK, StandIn, ask
from browser.streams import QUOTES, WHOLE, tag
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow

URL = "https://line.example/amendments"
SAID = "A confirmed booking can be changed free of charge, but not - as some think - at any time at all."


def asked(page: Page, stand_in: StandIn) -> Page:
    stand_in.replies["/api/query"] = (200, WHOLE)
    written = SAID.replace("-", r"\-")  # as some Markdown is: what is shown has no backslash
    text = f"## Changing\n\n{written} We do."
    units = [{"start": text.index(written), "end": text.index(written) + len(written), "score": 0.9}]
    words = [("booking", 0.6), ("We", 0.25)]
    matches = [{"start": text.index(word), "end": text.index(word) + len(word), "weight": w} for word, w in words]
    stand_in.chunk = {
        **(CHUNK | {"url": URL, "text": text, "units": units, "matches": matches}),
        "rendered": [tag("h2", "Changing"), tag("p", f"{SAID} We do.")],
        "before": [tag("h2", "Before"), tag("p", "What stands before.")],
        "after": [tag("p", "What stands after.")],
    }
    ask(page, at=stand_in.address)
    expect(page.locator(".actions")).to_be_visible()
    return page


def test_chips_show_their_quote_and_lead_to_passages_beside_the_answer(page: Page, stand_in: StandIn) -> None:
    card = asked(page, stand_in).locator(".turn .card")
    chip, dialog, place = card.locator(".answer .chip").first, page.locator("#passage"), page.locator("#passage-place")
    chip.focus()
    expect(page.get_by_role("tooltip")).to_contain_text(QUOTES[0])
    page.keyboard.press("Escape")
    expect(page.get_by_role("tooltip")).to_be_hidden()
    chip.click()
    expect(place).to_have_text("1 of 3")
    expect(dialog.locator(".around")).to_have_text(["BeforeWhat stands before.", "What stands after."])
    expect(dialog.locator("#passage-text mark.word")).to_have_text(["booking"])  # "We" weighs too little
    assert "".join(dialog.locator("#passage-text mark.unit").all_text_contents()) == SAID
    box, text = dialog.bounding_box(), card.bounding_box()
    assert box and text  # noqa: PT018
    assert (box["x"] + box["width"], box["height"]) == (1100, 800)
    assert text["x"] + text["width"] <= box["x"], "both can be read"
    href = page.get_by_role("link", name="Open at this place").get_attribute("href") or ""
    assert href.startswith(f"{URL}#:~:text=A%20confirmed%20ocean%20booking%20can,")
    assert unquote(href).endswith("before. Fees are not refunded.")
    with page.expect_request("**/api/chunks/id_2?question=*"):
        page.keyboard.press("ArrowRight")
    expect(place).to_have_text("2 of 3")
    page.keyboard.press("ArrowLeft")
    expect(place).to_have_text("1 of 3")
    expect(chip).to_have_attribute("aria-current", "true")
    page.go_back()
    expect(dialog).to_be_hidden()
    page.go_forward()
    expect(place).to_have_text("1 of 1")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    card.locator("button.title").first.click()
    expect(page.locator("#passage-title")).to_have_text("Trade permits")
    expect(card.locator("a.site")).to_have_attribute("href", URL)


def test_on_a_phone_it_is_a_sheet_that_back_closes(page: Page, stand_in: StandIn) -> None:
    page.set_viewport_size({"width": 390, "height": 780})
    card = asked(page, stand_in).locator(".turn .card")
    card.locator(".answer .chip").first.click()
    box = page.locator("#passage").bounding_box()
    assert box
    assert (box["x"], box["width"], box["y"] + box["height"]) == (0, 390, 780)
    page.go_back()
    expect(page.locator("#passage")).to_be_hidden()
    expect(card).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_only_what_is_not_cited_is_related_and_leads_to_its_best_passage(page: Page, stand_in: StandIn) -> None:
    other = {"title": "Tariff", "category": "money_matters", "docId": "d9", "url": None}
    paid = {**other, "chunkId": "id_7", "section": "Fees > How to pay a fee", "score": 0.5, "read": True}
    found = [paid, {**paid, "chunkId": "id_8", "section": "Who pays?", "read": False}]
    related = [*ANSWER["relatedDocs"], other]
    stand_in.replies["/api/query"] = (200, {**ANSWER, "relatedDocs": related, "found": found})
    card = ask(page, "What does gum cost?", at=stand_in.address)
    expect(card.locator(".related")).to_have_text("money mattersTariff")
    expect(page.locator(".next button")).to_have_text(["How do I pay a fee?", "Who pays?"])
    card.get_by_text("How this came about").click()
    used, left = "How to pay a fee 0.50 · read, not used", "Who pays? 0.50 · not read: no room, or said already"
    expect(card.locator(".passages li")).to_have_text([f"Tariff > Fees > {used}", f"Tariff > {left}"])
    card.locator(".related button").click()
    expect(page.locator("#passage-title")).to_have_text("Trade permits")
    (read_one,) = [path for path in stand_in.asked if "chunks" in path]
    assert read_one == "/api/chunks/id_7?question=What+does+gum+cost%3F&rendered=true"
    page.keyboard.press("Escape")
    page.locator(".next button").first.click()
    expect(page.locator(".turn h2").last).to_contain_text("How do I pay a fee?")
    expect(page.locator(".next")).to_have_count(1)


MARKED = "[...(CSS.highlights.get('quoted') || [])].map(range => range.toString())"


@pytest.mark.parametrize(("model", "marked"), [("extractive", ["Fees, twenty-five dollars"]), ("a-model", [])])
def test_what_answers_is_marked_in_a_quoted_section(
    page: Page, stand_in: StandIn, model: str, marked: list[str]
) -> None:
    nodes = [tag("p", "Ask first. "), tag("p", tag("strong", "Fees"), ", twenty-five dollars. Pay at the desk.")]
    reference = {**ANSWER["references"][0], "quote": "Fees,\ntwenty-five dollars."}
    metadata = {**ANSWER["metadata"], "model": model}
    reply = {**ANSWER, "rendered": nodes, "references": [reference], "metadata": metadata}
    stand_in.replies["/api/query"] = (200, reply)
    ask(page, at=stand_in.address)
    expect(page.locator(".actions")).to_be_visible()
    assert page.evaluate(MARKED) == marked
