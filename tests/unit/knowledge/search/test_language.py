"""Which language documents are in."""

from __future__ import annotations

import pytest

from knowledge.search.language import language_of, language_shares, stop_words_of

GERMAN = "Der Urlaub wird im Portal beantragt und von der Leitung genehmigt. Wer krank ist, meldet sich."


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The leave is asked for in the portal, and it will be granted by the management.", "English"),
        (GERMAN, "German"),
        ("Les congés sont demandés dans le portail et accordés par la direction de votre service.", "French"),
        ("Las vacaciones se piden en el portal y las concede la dirección.", "Spanish"),
        ("员工请假需要在系统中提前三天申请，由主管批准。", "Chinese"),
        ("พนักงานต้องขอลาในระบบล่วงหน้าสามวัน", "Thai"),
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
    assert stop_words_of("Thai") == []


def test_the_shares_are_those_of_the_texts() -> None:
    shares = language_shares([GERMAN] * 300 + ["The leave is asked for in the portal, and it will be granted."] * 100)
    assert shares["German"] == pytest.approx(0.75, abs=0.01)
    assert shares["English"] == pytest.approx(0.25, abs=0.01)
