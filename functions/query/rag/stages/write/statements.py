"""What of a Markdown text states something: sentences, and lists with what introduces them."""

from __future__ import annotations

from rag.stages.pack.cutting import ELLIPSIS
from rag.stages.write.excerpts import block_lists
from rag.stages.write.markdown_blocks import split_blocks
from rag.stages.write.sentences import block_sentences

_QUESTION_MARKS = ("?", "\u061f", "\uff1f")


def split_statements(markdown: str, *, max_chars: int, continued: bool = False) -> tuple[str, ...]:
    """The whole sentences of ``markdown`` but for questions, and its lists of fragments, in order.

    A list is in pieces of at most ``max_chars`` characters. Nothing where there is no sentence: lists alone are left
    to ``excerpts``, with all else that can be quoted then. ``continued`` says that the text may begin inside a
    sentence.
    """
    blocks = split_blocks(markdown.removesuffix(f" {ELLIPSIS}"))
    sentences = [
        (number, sentence)
        for number, sentence in block_sentences(blocks, continued=continued)
        if not sentence.rstrip("\"')\u201d\u2019").endswith(_QUESTION_MARKS)
    ]
    if not sentences:
        return ()
    lists = list(block_lists(blocks, max_chars=max_chars))
    # What introduces a list is said with it.
    said = [(number, text) for number, text in sentences if not any(other.startswith(text) for _, other in lists)]
    return tuple(text for _, text in sorted([*said, *lists], key=lambda found: found[0]))
