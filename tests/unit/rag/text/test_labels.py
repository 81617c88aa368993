"""rag.text.labels: what the packer writes, the citer reads."""

from __future__ import annotations

from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.text.labels import Label, find_labels, find_outer_labels, make_label, mute, safe

ANY = st.text(max_size=60)
TRICKY = st.text("ab>[]【】›\n\t ", max_size=20)


@pytest.mark.parametrize(
    ("title", "section", "label"),
    [
        ("Import permits", "", "[Import permits]"),
        ("Import permits", "Strategic goods", "[Import permits > Strategic goods]"),
        ("Import permits", "Permits > Strategic goods", "[Import permits > Permits > Strategic goods]"),
        ("Rates [2024]", "Zone > A", "[Rates (2024) > Zone > A]"),
        ("Weights > 30 kg", "", "[Weights › 30 kg]"),
        ("Weights", "Parcels >30 kg", "[Weights > Parcels ›30 kg]"),
        ("Two\nlines", " ", "[Two lines]"),
    ],
)
def test_make_label(title: str, section: str, label: str) -> None:
    assert make_label(title, section) == label


@given(title=ANY | TRICKY, section=ANY | TRICKY, before=st.text("ab .\n", max_size=10), after=ANY)
def test_a_label_is_found_again_in_any_answer(title: str, section: str, before: str, after: str) -> None:
    if not safe(title):
        return
    label = make_label(title, section)
    found = find_labels(f"{before}{label} {after}")[0]
    path = " > ".join(safe(part) for part in section.split(" > ") if part.strip())
    assert found == Label(raw=label, title=safe(title), section=path, position=len(before))


@given(ANY | TRICKY)
def test_safe_text_has_no_meaning_in_a_label_and_stays_as_it_is(text: str) -> None:
    assert not set(safe(text)) & set("[]>【】\n\r\t")
    assert safe(safe(text)) == safe(text)


@pytest.mark.parametrize(
    ("text", "muted"),
    [
        ("Press [Enter] now", "Press ［Enter］ now"),
        ("See [[FAR] rules]", "See ［［FAR］ rules］"),
        ("Full 【width】", "Full ［width］"),
        ("No [] label [ ] here, a[ or b", "No [] label [ ] here, a[ or b"),
    ],
)
def test_muted_brackets_look_alike(text: str, muted: str) -> None:
    assert mute(text) == muted


@given(ANY | TRICKY)
def test_a_muted_text_holds_no_label_and_is_as_long(text: str) -> None:
    assert find_labels(mute(text)) == find_outer_labels(mute(text)) == ()
    assert len(mute(text)) == len(text)


def test_labels_come_in_order_with_their_positions() -> None:
    answer = "Apply first [Permits > Fees]. Then wait [Times]."
    assert find_labels(answer) == (
        Label("[Permits > Fees]", "Permits", "Fees", 12),
        Label("[Times]", "Times", "", 40),
    )


def test_the_first_of_a_title_wins_whatever_the_case() -> None:
    found = find_labels("One [Permits > A]. Two [PERMITS > B]. Three [Fees].")
    assert [(label.title, label.section) for label in found] == [("Permits", "A"), ("Fees", "")]


@pytest.mark.parametrize(
    ("answer", "titles"),
    [
        ("no label", []),
        ("", []),
        ("[]", []),
        ("[ ]", []),
        ("[ > Section]", []),
        ("[Open", []),
        ("[[Permits]]", ["Permits"]),
        ("[Permits][Fees]", ["Permits", "Fees"]),
        ("【Permits > Fees】", ["Permits"]),
        ("[Permits>Fees]", ["Permits"]),
        ("[Permits >]", ["Permits"]),
    ],
)
def test_odd_brackets(answer: str, titles: list[str]) -> None:
    assert [label.title for label in find_labels(answer)] == titles


@pytest.mark.parametrize(
    ("answer", "labels"),
    [
        ("a [Policy [v2] > Fees [b]] c", [Label("[Policy [v2] > Fees [b]]", "Policy (v2)", "Fees (b)", 2)]),
        ("[[Permits]]", [Label("[[Permits]]", "(Permits)", "", 0)]),
        ("[[[Permits]]]", [Label("[[Permits]]", "(Permits)", "", 1)]),
        ("【a [b]] [c [d】]", [Label("【a [b]]", "a (b)", "", 0), Label("[c [d】]", "c (d)", "", 8)]),
        ("[Permits] [a [b] [ [ ] c] [a [] b] [ > [a]]", []),
    ],
)
def test_outer_labels(answer: str, labels: list[Label]) -> None:
    assert find_outer_labels(answer) == tuple(labels)


@pytest.mark.parametrize("unit", ["[", "[a", "[ ", "[a]", "[[a]", "[a [b] ", "]", "[[a]]"])
@pytest.mark.parametrize("before", ["", "["])
def test_many_brackets_are_read_in_no_time(before: str, unit: str) -> None:
    text = before + unit * (100_000 // len(unit))
    started = perf_counter()
    find_labels(text)
    find_outer_labels(text)
    assert perf_counter() - started < 5  # a fraction of a second; minutes if it were not linear


def test_deep_brackets_are_muted() -> None:
    assert mute("[" * 1500 + "a" + "]" * 1500) == "\uff3b" * 1500 + "a" + "\uff3d" * 1500
