"""An answer while it comes, what is said about its statements, and what is left of one that breaks off."""

import threading
from pathlib import Path
from typing import Any

import permits
import pytest
from browser.accessibility import assert_accessible, assert_all_looks_accessible
from browser.stand_in import ANSWER, CHUNK, StandIn, ask, event
from browser.streams import LONG, PATCHES, REFERENCES, WHOLE, begun, cite, patched, patches, shown, stated, tag, text
from fakes_llm import LlmServer, drip
from local_server import serving
from playwright.sync_api import Browser, Page, expect

pytestmark = pytest.mark.slow

ALL = len(PATCHES)
BREAKS = {
    "length": "The answer was cut off here: time or length ran out.",
    "interrupted": "The answer broke off here: the model stopped answering.",
}
GUM, PLANTS = "[Trade permits > Chewing gum]", "[Trade permits > Bringing plants into the country]"
HOURS = "[Trade permits > Opening hours of the permit office]"
WRITTEN = (
    "## Chewing gum\n\nA licence of the Health Sciences Authority costs 25 dollars a year. " + GUM,
    " Elephants travel free of charge.\n\nWhat else to know:\n\n- Nobody may sell it",
    " without a pharmacist. " + GUM + "\n- A certificate must come with every plant. " + PLANTS,
    "\n\n| Office | Opens |\n|---|---|\n| Permit office | nine in the morning " + HOURS + " |\n",
    "| Elephant desk | never " + HOURS + " |\n\n```\ngum --licence 25\n```\n\nAsk the office, ",
    "which stays closed on public holidays. " + HOURS + "\n",
)
"""What a model writes, piece by piece."""


def titled(at: int) -> str:
    return f"{REFERENCES[at]['title']}, {REFERENCES[at]['section']}"


PLACES = """(body) => {
    const blocks = [...body.children];
    window.blocks ||= [];
    const kept = window.blocks.every((one, at) => one === blocks[at]);
    window.blocks = blocks;
    return { kept, tops: blocks.map((one) => one.getBoundingClientRect().top + scrollY) };
}"""
"""Where each block of the answer begins, and whether the blocks of the last look are still the same elements."""


@pytest.mark.parametrize("width", [1100, 380])
def test_a_table_a_list_and_citations_come_without_a_jump(page: Page, stand_in: StandIn, width: int) -> None:
    go_on = [threading.Event() for _ in range(ALL + 1)]
    steps: list[Any] = [begun(), event("sources", {"references": REFERENCES})]
    for pause, data in zip(go_on, PATCHES, strict=False):
        steps += [pause, patched(data)]
    stand_in.stream = [*steps, go_on[-1], event("status", {"stage": "checking"}), event("answer", WHOLE)]
    page.set_viewport_size({"width": width, "height": 800})
    card = ask(page, at=stand_in.address)
    expect(card.locator(".stage")).to_have_text("Reading 3 passages …")
    before: list[float] = []
    for count, pause in enumerate(go_on[:-1], 1):
        pause.set()
        expect(card.locator(".answer")).to_have_text(text(shown(count)))
        found = card.locator(".answer").evaluate(PLACES)
        assert found["kept"], PATCHES[count - 1]
        assert found["tops"][: len(before)] == before, PATCHES[count - 1]
        before = found["tops"]
    go_on[-1].set()
    expect(card.locator(".actions")).to_be_visible()
    after = card.locator(".answer").evaluate(PLACES)["tops"]
    assert len(after) == len(before) == 6
    assert max(abs(one - other) for one, other in zip(after, before, strict=True)) <= 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_it_says_what_it_does_and_what_it_reads(page: Page, stand_in: StandIn) -> None:
    found, read, write, check, end = (threading.Event() for _ in range(5))
    more = [{**REFERENCES[0], "title": title, "chunkId": f"id_{n}"} for n, title in enumerate("ABBCDE", 10)]
    stand_in.stream = [
        *(event("status", {"stage": "searching"}), found, event("status", {"stage": "reading"}), read),
        *(event("sources", {"references": more}), write, event("status", {"stage": "writing"}), patches(3)),
        *(check, event("status", {"stage": "checking"}), end, event("answer", WHOLE)),
    ]
    card = ask(page, at=stand_in.address)
    stage, body = card.locator(".stage"), card.locator(".answer")
    expect(stage).to_have_text("Searching the documents …")
    found.set()
    expect(stage).to_have_text("Reading the passages …")
    read.set()
    expect(stage).to_have_text("Reading 6 passages …")
    expect(body).to_have_text("A, B, C and 2 more")
    expect(page.locator("#status")).to_have_text("Looking it up …")
    write.set()
    expect(stage).to_have_text("Writing …")
    expect(body).to_have_text(text(shown(3)))
    expect(page.locator("#status")).to_have_text("Looking it up …")  # which is read out: not at each word
    check.set()
    expect(stage).to_have_text("Checking …")
    end.set()
    expect(card.locator(".actions")).to_be_visible()
    expect(stage).to_have_count(0)
    expect(page.locator("#status")).to_have_text("Answered. Not everything here is in the sources.")


def test_a_chip_works_while_the_answer_comes_and_keeps_its_place(page: Page, stand_in: StandIn) -> None:
    go_on = threading.Event()
    stand_in.stream = [event("sources", {"references": REFERENCES}), patches(4), go_on, event("answer", WHOLE)]
    card = ask(page, at=stand_in.address)
    chip = card.locator(".answer .chip").first
    expect(chip).to_have_attribute("aria-label", f"Source 1: {titled(0)}")
    chip.click()
    expect(page.locator("#passage-title")).to_have_text("Trade permits")
    assert [path.partition("?")[0] for path in stand_in.asked if "chunks" in path] == ["/api/chunks/id_1"]
    go_on.set()
    expect(card.locator(".actions")).to_be_attached()
    page.keyboard.press("Escape")
    expect(chip).to_be_focused()
    expect(chip).to_have_attribute("aria-label", f"Source 1: {titled(0)} (says this, word for word)")


def test_statements_look_as_the_sources_bear_them_out_below_them(page: Page, stand_in: StandIn) -> None:
    stand_in.replies["/api/query"] = (200, WHOLE)
    card = ask(page, at=stand_in.address)
    line = "(one) => ['Line', 'Style'].map((name) => getComputedStyle(one)[`textDecoration${name}`]).join(' ')"
    looks = {
        "supported": "none solid", "partial": "underline dashed",
        "unsupported": "underline wavy", "uncited": "underline dotted",
    }  # fmt: skip
    found = {support: card.locator(f".answer .statement.{support}").first.evaluate(line) for support in looks}
    assert found == looks
    chips = card.locator(".answer .chip")
    expect(chips).to_have_class(["chip supported", "chip partial", "chip supported", "chip unsupported"])
    expect(chips.nth(1)).to_have_attribute("aria-label", f"Source 2: {titled(1)} (says this in other words)")
    expect(chips.nth(3)).to_have_attribute("aria-label", f"Source 3: {titled(2)} (does not support this)")
    expect(card.locator(".note")).to_have_text(["not found in the sources"] * 3)
    expect(card.locator(".legend .statement")).to_have_text(
        ["not found in the sources", "in other words than the sources: please check", "without a source"]
    )
    entries = card.locator(".sources > li")
    expect(entries).to_have_count(2)
    expect(entries.first.locator("button.title")).to_have_text("Booking amendments and cancellations")
    expect(entries.first.locator(".chip")).to_have_text(["1", "2"])
    expect(entries.first.locator("ol > li")).to_contain_text(["Changing a confirmed booking", "Asking for a change"])
    expect(entries.last).to_contain_text("Customs tariff 2026 · internal document")
    height = "(one) => one.getBoundingClientRect().height / parseFloat(getComputedStyle(one).lineHeight)"
    assert round(entries.first.locator(".quote").first.evaluate(height)) == 2


def test_a_mark_behind_its_statement_looks_as_that(page: Page, stand_in: StandIn) -> None:
    said = tag("p", stated("unsupported", "Elephants travel free."), " ", cite(1), cite(2), " They like it. ", cite(1))
    stand_in.replies["/api/query"] = (200, {**WHOLE, "rendered": [said]})
    chips = ask(page, at=stand_in.address).locator(".answer .chip")
    expect(chips).to_have_class(["chip unsupported", "chip unsupported", "chip supported"])


def test_quotes_take_the_place_of_a_text_without_support_and_it_stays_behind_a_fold(
    page: Page, stand_in: StandIn
) -> None:
    metadata = {**WHOLE["metadata"], "model": "extractive", "degraded": True}
    reply = {**ANSWER, "modelText": LONG, "metadata": metadata}
    stand_in.stream = [patches(4), event("answer", reply)]
    card = ask(page, at=stand_in.address)
    expect(card.locator(".answer")).to_have_text("Twenty-five dollars. 1")
    expect(card.locator(".trust")).to_contain_text("Nothing that the model wrote is in the documents.")
    expect(card.get_by_text(LONG)).to_be_hidden()
    card.get_by_text("What the language model wrote").click()
    expect(card.get_by_text(LONG)).to_be_visible()
    assert page.locator("#spoken").inner_text().strip().endswith("Twenty-five dollars.")


def test_a_passage_is_marked_by_what_its_chip_quotes(page: Page, stand_in: StandIn) -> None:
    lines = ["Gum costs 25 dollars.", "Gum is **sticky** & sweet.", "Nobody sells gum."]
    passage = "\n\n".join(lines)
    starts = [passage.index(one) for one in lines]
    units = [{"start": at, "end": at + len(one), "score": -at} for at, one in zip(starts, lines, strict=True)]
    nodes = [tag("p", lines[0]), tag("p", "Gum is ", tag("strong", "sticky"), " & sweet."), tag("p", lines[2])]
    stand_in.chunk = {**CHUNK, "text": passage, "units": units, "rendered": nodes}
    quoting = {**ANSWER, "answer": lines[0], "references": [{**ANSWER["references"][0], "quote": ""}]}
    for quote, marked in (
        ("Gum is sticky & sweet. Nobody sells gum.", ["Gum is ", "sticky", " & sweet.", "Nobody sells gum."]),
        ("Nobody sells", ["Nobody sells gum."]),
        ("Something else", ["Gum costs 25 dollars."]),
        ("", ["Gum costs 25 dollars."]),
    ):
        quoting["references"][0]["quote"] = quote
        stand_in.replies["/api/query"] = (200, quoting)
        ask(page, at=stand_in.address).locator(".answer .chip").click()
        expect(page.locator("#passage-text mark.unit")).to_have_text(marked)


@pytest.mark.parametrize(("reason", "said"), BREAKS.items())
def test_part_of_an_answer_says_where_it_broke_off(page: Page, stand_in: StandIn, reason: str, said: str) -> None:
    cut = {**WHOLE, "partial": True, "metadata": {**WHOLE["metadata"], "finishReason": reason}}
    stand_in.stream = [patches(ALL), event("answer", cut)]
    card = ask(page, at=stand_in.address)
    expect(card.locator(".broke")).to_contain_text(said)
    expect(page.locator("#status")).to_have_text(said)
    expect(card.locator(".actions")).to_be_visible()
    stand_in.stream = [event("answer", WHOLE)]
    card.get_by_role("button", name="Ask again").click()
    expect(page.locator(".turn")).to_have_count(2)
    again = page.locator(".turn").last
    expect(again.locator("h2")).to_contain_text("What does a change cost?")
    expect(again.locator(".actions")).to_be_visible()
    expect(again.locator(".broke")).to_have_count(0)


def test_stop_keeps_what_was_shown(page: Page, stand_in: StandIn) -> None:
    stand_in.stream = [event("sources", {"references": REFERENCES}), patches(8), threading.Event()]
    card = ask(page, at=stand_in.address)
    kept = text(shown(8))
    expect(card.locator(".answer")).to_have_text(kept)
    before = card.locator(".answer").evaluate(PLACES)["tops"]
    page.get_by_role("button", name="Stop").click()
    for _ in ("at once", "after a reload"):
        expect(card.locator(".broke")).to_contain_text("Stopped here.")
        expect(card.locator(".answer")).to_have_text(kept)
        assert card.locator(".answer").evaluate(PLACES)["tops"] == before
        expect(card.locator(".sources .chip")).to_have_text(["1", "2"])
        expect(card.locator(".confidence, .vote, details")).to_have_count(0)
        card.locator(".answer .chip").last.click()
        expect(page.locator("#passage-title")).to_have_text("Trade permits")
        page.keyboard.press("Escape")
        page.reload()
    stand_in.stream = [event("answer", WHOLE)]
    card.get_by_role("button", name="Ask again").click()
    expect(page.locator(".turn").last.locator(".actions")).to_be_visible()


def test_a_stop_before_the_first_words_and_a_new_conversation_keep_nothing_of_what_came(
    page: Page, stand_in: StandIn
) -> None:
    stand_in.stream = [begun(), event("sources", {"references": REFERENCES}), threading.Event()]
    card = ask(page, at=stand_in.address)
    expect(card.locator(".stage")).to_have_text("Reading 3 passages …")
    page.get_by_role("button", name="Stop").click()
    expect(card.locator("h3")).to_have_text("Stopped")
    page.reload()
    expect(card.locator("h3")).to_have_text("Stopped")
    stand_in.stream = [patches(4), threading.Event()]
    card.get_by_role("button", name="Ask again").click()
    expect(card.locator(".answer")).to_have_text(text(shown(4)))
    page.get_by_role("button", name="New conversation").click()
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_visible()
    page.reload()
    expect(page.locator("#about")).to_contain_text("1 document")
    expect(page.locator(".turn")).to_have_count(0)


@pytest.mark.parametrize(
    ("end", "cut", "said"),
    [
        ("", True, "The connection was lost here."),
        ('event: patch\ndata: {"block": 2, "no', False, "The connection was lost here."),
        (event("error", {"error": "x", "code": "index_mismatch"}), False, "The documents cannot be searched just now."),
    ],
)
def test_a_stream_that_ends_too_early_keeps_its_text(
    page: Page, stand_in: StandIn, end: str, cut: bool, said: str
) -> None:
    go_on = threading.Event()
    stand_in.stream, stand_in.cut = [patches(5), go_on, end], cut
    card = ask(page, at=stand_in.address)
    expect(card.locator(".answer")).to_have_text(text(shown(5)))
    go_on.set()
    expect(card.locator(".broke")).to_contain_text(said)
    expect(card.locator(".answer")).to_have_text(text(shown(5)))
    expect(card.get_by_role("button", name="Ask again")).to_be_visible()
    page.reload()
    expect(card.locator(".broke")).to_contain_text(said)


def test_text_alone_is_shown_as_it_is_written_and_kept_where_no_answer_comes(page: Page, stand_in: StandIn) -> None:
    stand_in.stream = [event("delta", {"text": "Half of"}), event("delta", {"text": "\n<b>it</b>"})]
    card = ask(page, at=stand_in.address)
    expect(card.locator(".broke")).to_contain_text("The connection was lost here.")
    expect(card.locator(".answer")).to_have_text("Half of <b>it</b>")
    page.reload()
    expect(card.locator(".answer")).to_have_text("Half of <b>it</b>")
    go_on = threading.Event()
    stand_in.stream = [event("delta", {"text": "## One"}), event("delta", {"text": "\n<b>two</b>"}), go_on]
    stand_in.stream += [event("answer", ANSWER)]
    card = ask(page)
    expect(card.locator(".answer")).to_have_text("## One <b>two</b>")
    go_on.set()
    expect(card.locator(".answer")).to_have_text("Twenty-five dollars. 1")


def test_an_address_opens_a_passage(page: Page, stand_in: StandIn) -> None:
    stand_in.chunk = {**CHUNK, "rendered": [tag("p", "x")]}
    page.goto(f"{stand_in.address}#id_42")
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("#passage-title")).to_have_text("Trade permits")
    assert [path for path in stand_in.asked if "chunks" in path] == ["/api/chunks/id_42?rendered=true"]
    page.get_by_role("button", name="Close").click()
    expect(dialog).to_be_hidden()
    expect(page).to_have_url(stand_in.address)
    page.evaluate("location.hash = 'id_7'")
    expect(dialog.locator("#passage-title")).to_have_text("Trade permits")
    assert [path for path in stand_in.asked if "chunks" in path][1:] == ["/api/chunks/id_7?rendered=true"]
    page.go_back()
    expect(dialog).to_be_hidden()
    page.goto(f"{stand_in.address}?#id_1/../../x")  # which names none
    expect(page.locator("#suggestions")).to_be_visible()
    expect(dialog).to_be_hidden()


KEEP = """(turns) => {
    sessionStorage.setItem('session-waypoint', 'x');
    localStorage.setItem('talks-waypoint', JSON.stringify([{ id: 'x', at: 1, turns }]));
}"""


def test_what_was_kept_by_an_older_page_is_shown(page: Page, stand_in: StandIn) -> None:
    older: dict[str, Any] = {name: value for name, value in ANSWER.items() if name not in {"references", "partial"}}
    older["rendered"] = [tag("p", "Half. ", tag("cite", n=1), tag("unsupported", "not found"))]
    kept = [{"text": "old", "reply": older}, {"other": "older"}, {"text": "x", "reply": {**older, "rendered": None}}]
    page.goto(stand_in.address)
    page.evaluate(KEEP, kept)
    page.reload()
    expect(page.locator(".turn .answer")).to_have_text(["Half. [1]not found", ANSWER["answer"]])
    expect(page.locator(".turn .sources, .turn .chip")).to_have_count(0)
    expect(page.locator(".turn .confidence")).to_have_count(2)


@pytest.mark.parametrize(("scheme", "width"), [("light", 1100), ("dark", 380)])
def test_axe_finds_nothing_while_it_comes_and_when_it_is_there(
    browser: Browser, stand_in: StandIn, scheme: Any, width: int
) -> None:
    read, write, end = threading.Event(), threading.Event(), threading.Event()
    cut = {**WHOLE, "partial": True, "metadata": {**WHOLE["metadata"], "finishReason": "length"}}
    stand_in.stream = [
        *(begun(), event("sources", {"references": REFERENCES}), read),
        *(event("status", {"stage": "writing"}), patches(7), write, patches(11), end, event("answer", cut)),
    ]
    context = browser.new_context(
        color_scheme=scheme, bypass_csp=True, reduced_motion="reduce", viewport={"width": width, "height": 800}
    )
    page = context.new_page()
    card = ask(page, at=stand_in.address)
    expect(card.locator(".answer")).to_have_text("Booking amendments and cancellations, Customs tariff 2026")
    assert_accessible(page, "reading")
    read.set()
    expect(card.locator(".answer")).to_have_text(text(shown(7)))
    assert_accessible(page, "writing")
    write.set()
    expect(card.locator("td")).to_have_count(3)
    assert_accessible(page, "table")
    end.set()
    expect(card.locator(".broke")).to_be_visible()
    assert_all_looks_accessible(page, "there")
    context.close()


def test_what_the_service_streams_stays_where_it_is(page: Page, index: Path) -> None:
    pauses = [threading.Event() for _ in WRITTEN]
    page.set_viewport_size({"width": 380, "height": 800})
    before: list[float] = []
    with (
        LlmServer([drip(*(part for pair in zip(WRITTEN, pauses, strict=True) for part in pair))]) as llm,
        serving(index, LLM_BASE_URL=llm.url, LLM_MAX_RETRIES="0") as server,
    ):
        card = ask(page, permits.QUESTION, at=f"http://{server.address}/")
        expect(page.get_by_role("button", name="Stop")).to_be_visible()
        words = ("dollars", "may", "certificate", "nine in", "--licence", "closed")
        for told, pause in zip(words, pauses, strict=True):
            expect(card.locator(".arriving")).to_contain_text(told)
            found = card.locator(".answer").evaluate(PLACES)
            assert found["kept"]
            assert found["tops"][: len(before)] == before
            before = found["tops"]
            pause.set()
        expect(card.locator(".actions")).to_be_visible()
    after = card.locator(".answer").evaluate(PLACES)["tops"]
    assert max(abs(one - other) for one, other in zip(after, before, strict=True)) <= 1
    assert "[Trade" not in card.inner_text()
    expect(card.locator(".answer .chip")).to_have_text(["1", "1", "2", "3", "3", "3"])
    marked = card.locator(".answer .statement.unsupported").first
    expect(marked).to_contain_text("Elephants travel free of charge.")
    expect(marked.locator(".note")).to_have_text("not found in the sources")
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_visible()
