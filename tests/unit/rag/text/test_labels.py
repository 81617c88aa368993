"""rag.text.labels: what the packer writes, the citer reads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.text.labels import make_label, safe

ANY = st.text(max_size=60)
TRICKY = st.text("ab>[]【】›\n\t ", max_size=20)


@pytest.mark.parametrize(
    ("title", "section", "label"),
    [
        ("Import permits", "", "[Import permits]"),
        ("Import permits", "Strategic goods", "[Import permits > Strategic goods]"),
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
