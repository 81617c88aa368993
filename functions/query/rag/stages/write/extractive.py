"""The engine that answers without an LLM: whole sentences of the context, each with its citation.

It quotes and never pretends to be a model. What it quotes is chosen in ``extractive_choice``; the answer has the order
of the context: the best ranked section first, its sentences as they stand in the document.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rag.ports import Index
from rag.stages.gate.exact_words import ExactWords, exact_words, holds
from rag.stages.refine.newer_first import chunk_date
from rag.stages.write.excerpts import split_excerpts, split_statements
from rag.stages.write.extractive_choice import MAX_CHARS, Sentence, choose, shortlist
from rag.text.labels import mute
from rag.values.answer import Completion, Context, Deadline, Passage, Question
from rag.values.stored import Turn

MODEL = "extractive"
EXCERPT_CHARS = 300
"""Longest excerpt of a passage without sentences: an answer has room for two."""
MIN_EXCERPT_CHARS = 40
_MAX_CANDIDATES = 48
_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class ExtractiveWriter:
    """Two to five whole sentences of at most ``MAX_CHARS`` characters with their citations.

    Of a passage without sentences excerpts; nothing (``""``) when the context holds no words at all.
    """

    index: Index

    def __call__(
        self, question: Question, context: Context, *, deadline: Deadline, history: Sequence[Turn] = ()
    ) -> Completion:
        """See ``rag.ports.Writer``; uses no network, no deadline and no history."""
        asked = question.understood
        sentences = shortlist(asked, _sentences(context, exact_words(asked)), _MAX_CANDIDATES)
        if not sentences:
            return Completion(text="", model=MODEL, finish_reason="stop", calls=0)
        with self.index.lease() as index:
            vector = index.embedder.embed([asked])[0]  # by itself: a remote embedder's is known already
            vectors = index.embedder.embed([sentence.text for sentence in sentences])
        quotes = choose(asked, sentences, vectors, vector)
        text = " ".join(f"{mute(quote.text)} {quote.citation}" for quote in quotes)
        return Completion(text=text, model=MODEL, finish_reason="stop", calls=0)


def _sentences(context: Context, wanted: ExactWords | None) -> list[Sentence]:
    """Every distinct sentence of the context, and excerpts of those passages that hold none; best ranked first."""
    sections: dict[tuple[str, str], int] = {}
    seen: set[str] = set()
    found = []
    for rank, passage in enumerate(context.used):
        chunk = passage.hit.chunk
        document = chunk.doc_id or chunk.title
        section = sections.setdefault((document, chunk.section), len(sections))
        date = chunk_date(chunk)
        for number, text in enumerate(_quotable(passage, wanted)):
            key = " ".join(_WORD.findall(text.casefold()))
            if key and key not in seen:
                seen.add(key)
                found.append(
                    Sentence(
                        text=text,
                        citation=passage.citation,
                        document=document,
                        title=chunk.title,
                        section=chunk.section,
                        date=date,
                        rank=rank,
                        chunk_cosine=passage.hit.parts["dense"],
                        place=(section, chunk.chunk_index, number),
                    )
                )
    return found


def _quotable(passage: Passage, wanted: ExactWords | None) -> Sequence[str]:
    """What of a passage fits into an answer: its sentences and lists, else excerpts.

    Where only excerpts (rows of a table) hold a phrase that the question hangs on, these and then the others.
    """
    room = MAX_CHARS - len(passage.citation) - 2
    if room < MIN_EXCERPT_CHARS:  # beside a huge title
        return ()
    size = min(room, EXCERPT_CHARS)
    statements = split_statements(passage.text, max_chars=size, continued=passage.hit.chunk.chunk_index > 0)
    fitting = tuple(statement for statement in statements if len(statement) <= room)
    unsaid = wanted.missing_from(fitting) if wanted else ()
    if fitting and not unsaid:
        return fitting
    excerpts = split_excerpts(passage.text, max_chars=size)
    telling = (excerpt for excerpt in excerpts if any(holds(excerpt, phrase) for phrase in unsaid))
    return (*telling, *fitting) if fitting else excerpts
