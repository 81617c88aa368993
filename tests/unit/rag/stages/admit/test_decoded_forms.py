"""rag.stages.admit.decoded_forms: what decoding makes of a text."""

from __future__ import annotations

import pytest

from rag.stages.admit.decoded_forms import readings


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("plain", ("plain",)),
        ("50% of R&D, 3%", ("50% of R&D, 3%",)),
        ("%3Cb%3e", ("%3Cb%3e", "<b>")),
        ("&lt;b&#62;", ("&lt;b&#62;", "<b>")),
        ("%253Cb>", ("%253Cb>", "%3Cb>", "<b>")),
        ("&#37;3Cb>", ("&#37;3Cb>", "%3Cb>", "<b>")),
        ("%26lt;b>", ("%26lt;b>", "<b>")),
        ("%C3%A9%ff", ("%C3%A9%ff", "\u00e9\ufffd")),
    ],
)
def test_each_reading_once(text: str, found: tuple[str, ...]) -> None:
    assert readings(text) == found


def test_three_layers_are_followed() -> None:
    assert readings("%25253Cb>")[-1] == "<b>"
    assert readings("%2525253Cb>")[-1] == "%3Cb>"
