"""What a page begins with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rag.http.reader_schema import FilterReply, SuggestionsReply
from rag.wiring.about import overview

if TYPE_CHECKING:
    from knowledge.open.anywhere import AnyIndex
    from rag.profiles.shared.evidence import EvidenceKnobs


def welcome_reply(index: AnyIndex, words: EvidenceKnobs, *, questions: Sequence[str], model: str) -> SuggestionsReply:
    """``questions`` to ask of ``index``, whose answers ``model`` writes, and its owner's ``words``.

    A name that nobody set is what the documents' site is called.
    """
    known = overview(index)
    return SuggestionsReply(
        questions=list(questions),
        documents=known.documents,
        titles=list(known.titles),
        model=model,
        name=words.assistant_name or (index.manifest.made.title if index.manifest else ""),
        greeting=words.assistant_greeting,
        disclaimer=words.assistant_disclaimer,
        contact=words.assistant_contact,
        longest=words.max_query_chars,
        filters=[
            FilterReply(field=name, values=list(field.values))
            for name, field in (known.fields or {}).items()
            if field.values
        ],
    )
