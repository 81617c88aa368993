"""knowledge.cut.seed: at each ``##``, then in runs of so many characters."""

from __future__ import annotations

from knowledge.cut.chunking import Piece
from knowledge.cut.seed import split_seed


def test_it_cuts_at_chapters_and_nowhere_else_what_fits() -> None:
    text = "# Timer\n\nAbout it.\n\n## Start ##\n\nPress.\n\n### On a phone\n\nTap.\n\n## Stop\n\nPress again.\n"
    assert split_seed(text, max_chars=100, overlap=10) == (
        Piece("", "# Timer\n\nAbout it."),
        Piece("Start", "## Start ##\n\nPress.\n\n### On a phone\n\nTap."),
        Piece("Stop", "## Stop\n\nPress again."),
    )


def test_what_is_longer_goes_on_with_the_end_of_the_piece_before() -> None:
    body = "".join(chr(ord("a") + i % 26) for i in range(100))
    pieces = [piece.text for piece in split_seed(body, max_chars=40, overlap=10)]
    assert pieces == [body[0:40], body[30:70], body[60:100]]
    assert [piece.text for piece in split_seed(body[:41], max_chars=40, overlap=10)] == [body[:40], body[30:41]]


def test_a_text_without_text_has_no_pieces() -> None:
    assert split_seed(" \r\n", max_chars=40, overlap=10) == ()
