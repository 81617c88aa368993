"""rag.text.labels: what the packer writes, the citer reads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.text.labels import make_label, mute, safe

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


@given(ANY | TRICKY)
def test_safe_text_has_no_meaning_in_a_label_and_stays_as_it_is(text: str) -> None:
    assert not set(safe(text)) & set("[]>【】\n\r\t")
    assert safe(safe(text)) == safe(text)


@pytest.mark.parametrize(
    ("text", "muted"),
    [
        ("Press [Enter] now", "Press ⁅Enter⁆ now"),
        ("See [[FAR] rules]", "See ⁅⁅FAR⁆ rules⁆"),
        ("Full 【width】", "Full ⁅width⁆"),
        ("No [] label [ ] here, a[ or b", "No [] label [ ] here, a[ or b"),
    ],
)
def test_muted_brackets_look_alike(text: str, muted: str) -> None:
    assert mute(text) == muted


@given(ANY | TRICKY)
def test_a_muted_text_cites_nothing_and_is_as_long(text: str) -> None:
    assert len(mute(text)) == len(text)
    assert mute(mute(text)) == mute(text)


def test_brackets_around_brackets_are_muted_too() -> None:
    assert mute("[" * 1500 + "a" + "]" * 1500) == "\u2045" * 1500 + "a" + "\u2046" * 1500
