"""rag.stages.write.excerpts: sentences and lists, and no questions."""

from __future__ import annotations

import pytest

from rag.stages.write.excerpts import split_statements

DOCUMENTS = """## Customs clearance

We need these documents:

- commercial invoice
- packing list

Contact the desk with questions. It opens at nine."""
STEPS = """## Resetting a password

Passwords expire every 90 days.

1. Open the sign-in page
2. Choose **Forgot password**"""
MIXED = """On arrival:

- hard hat
- Sign the log book.
- yellow vest

It closes at six."""
FAQ = """Who signs it? The shipper signs it.

"Is it free?"

It is free."""


@pytest.mark.parametrize(
    ("markdown", "statements"),
    [
        (
            DOCUMENTS,
            [
                "We need these documents: commercial invoice; packing list",
                "Contact the desk with questions.",
                "It opens at nine.",
            ],
        ),
        (STEPS, ["Passwords expire every 90 days. Open the sign-in page; Choose Forgot password"]),
        (MIXED, ["On arrival: hard hat; yellow vest", "Sign the log book.", "It closes at six."]),
        (FAQ, ["The shipper signs it.", "It is free."]),
        ("It is free.\n\n- **Desk**", ["It is free. Desk"]),
        ("It is free.\n\n| Fee | 5 |\n|---|---|\n| Duty | 9 |", ["It is free."]),
        ("You need:\n\n- a permit\n- an invoice", []),  # left to excerpts
        ("Is it free?", []),
        ("", []),
    ],
)
def test_what_is_stated(markdown: str, statements: list[str]) -> None:
    assert list(split_statements(markdown, max_chars=300)) == statements


def test_a_long_list_comes_in_pieces_each_with_its_introduction() -> None:
    markdown = "It is free.\n\nYou need:\n\n" + "".join(f"- document number {n}\n" for n in range(12))
    first, *pieces = split_statements(markdown, max_chars=120)
    assert first == "It is free."
    assert len(pieces) > 2
    assert all(piece.startswith("You need: document number ") and len(piece) <= 120 for piece in pieces)
    assert "; ".join(piece.removeprefix("You need: ") for piece in pieces) == "; ".join(
        f"document number {n}" for n in range(12)
    )


def test_a_text_that_was_cut_does_not_end_in_half_a_sentence() -> None:
    assert split_statements("It has two ports. It is half of what you ...", max_chars=300) == ("It has two ports.",)
    assert split_statements("It has two ports. ...", max_chars=300) == ("It has two ports.",)
