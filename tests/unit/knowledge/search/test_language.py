"""Which language documents are in."""

from __future__ import annotations

import pytest

from knowledge.search.language import language_of, stop_words_of

GERMAN = "Der Urlaub wird im Portal beantragt und von der Leitung genehmigt. Wer krank ist, meldet sich."


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The leave is asked for in the portal, and it will be granted by the management.", "English"),
        (GERMAN, "German"),
        ("Les congés sont demandés dans le portail et accordés par la direction de votre service.", "French"),
        ("telex release price", ""),
        ("GC-409: 12.50", ""),
        ("", ""),
    ],
)
def test_the_language_of_a_text(text: str, language: str) -> None:
    assert language_of([text]) == language


def test_stop_words_are_those_of_the_language() -> None:
    assert {"der", "und"} <= set(stop_words_of("German"))
    assert {"the", "i"} <= set(stop_words_of(""))
