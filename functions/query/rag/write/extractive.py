"""The engine that answers without an LLM: it quotes what was found, each quote with its citation.

It quotes and never pretends to be a model. ``Completion.quotes`` are the source's own characters, each with its
passage, so that nothing in them is taken for a citation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

from knowledge.model.values import Evidence
from rag.ports.models import Writing
from rag.values.answer import Context, Passage
from rag.values.chat import Completion, Quote
from rag.values.question import Question
from rag.write.newer import outdated_passages
from rag.write.not_mentioned import not_mentioned
from rag.write.paragraphs import paragraphs
from rag.write.quoting import quote_sections

MODEL = "extractive"
DOUBT = "This may not be what you asked for:"


@dataclass(frozen=True, slots=True)
class ExtractiveWriter:
    """One or two quotes of the context, some 300 characters; nothing (``""``) when it holds nothing to quote.

    The answer says first which words of the question no document has, or that the context is doubtful.
    A context without token matches (of a dense or hybrid search) is quoted by
    paragraphs.
    """

    def __call__(self, question: Question, context: Context, **how: Unpack[Writing]) -> Completion:
        """See ``rag.ports.models.Writer``; uses no network, no deadline and no history, and is done at once."""
        outdated = outdated_passages(context.used, question.understood)
        evidence, note = context.evidence, ""
        quoted: tuple[Quote, ...] = ()
        if evidence is not None:
            quoted = quote_sections(context.used, evidence.asked.weights, question.understood, outdated)
            note = _note(evidence, quoted, context.used) or (DOUBT if context.doubtful else "")
        quoted = quoted or paragraphs(context.used, question.understood, outdated)
        text = "\n\n".join(filter(None, (note, *(quote.text for quote in quoted)))) if quoted else ""
        return Completion(text=text, model=MODEL, finish_reason="stop", calls=0, quotes=quoted, note=note)


def _note(evidence: Evidence, quoted: Sequence[Quote], passages: Sequence[Passage]) -> str:
    """What the documents do not mention of what was asked."""
    absent = not_mentioned(evidence, [passage.hit for passage in passages]) if quoted else ()
    return f"The documents do not mention {' or '.join(absent)}. What comes closest:" if absent else ""
