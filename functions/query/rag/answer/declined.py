"""The answer where no model is asked: a decline, or the reply to what needs no search."""

from __future__ import annotations

from rag.answer.confidence.formulas import NO_SOURCES
from rag.answer.finish import plain_answer
from rag.values.answer import Answer, Confidence, Decline, Routing
from rag.values.request import PreparedQuestion


def declined(draft: PreparedQuestion, *, profile: str, text: str, response_id: str) -> Answer:
    """``text``, or what the decision of ``draft`` has to say in its place; the trail says why."""
    no = draft.decision if isinstance(draft.decision, Decline) else Decline("")
    reason = (no.reason,) if no.reason else ()
    said, nodes = plain_answer(no.reply or text, no.items)
    return Answer(
        text=said,
        nodes=nodes,
        question=draft.question,
        profile=profile,
        response_id=response_id,
        confidence=Confidence("Low", 0.0, no.why) if no.reply else NO_SOURCES,
        refused=True,
        routing=Routing("return", no.why) if no.reply else None,
        closest=draft.closest,
        trail=(*draft.query.trail, *reason),
    )
