"""House: an assistant for one's own documents."""

from __future__ import annotations

from dataclasses import replace

from rag.answer.citation_forms import NumberForm
from rag.answer.route import ConfidenceRouter
from rag.ask.query.acronyms import ExpandAcronyms
from rag.ask.query.filter_rules import RuleFilter
from rag.find.pack import NumberPacker
from rag.find.refine import NewerFirst
from rag.pipeline import Pipeline
from rag.profiles.shared.base import base
from rag.profiles.shared.dependencies import StageDependencies
from rag.profiles.shared.evidence import EvidenceKnobs
from rag.profiles.shared.service_knobs import OURS

DECLINE = "I could not find an answer to that in the documents."


class Knobs(EvidenceKnobs):
    """The numbers of a profile that follows no seed. Scores are plain cosines, -1..1."""

    max_query_chars: int = OURS.max_query_chars(1000)
    top_k: int = OURS.chunks(10, "RETRIEVAL_TOP_K", "Chunks to retrieve.")
    recency_width: float = OURS.share(0.02, "RECENCY_WIDTH", "Scores that are closer than this go by date.")
    context_tokens: int = OURS.tokens(6000, "MAX_CONTEXT_TOKENS", "Context budget.", least=50, most=1_000_000)
    llm_model: str = OURS.llm_model("openai/gpt-oss-20b")
    llm_base_url: str = OURS.llm_base_url("https://api.groq.com/openai/v1")
    temperature: float = OURS.temperature(0.2)
    max_tokens: int = OURS.max_tokens(1000)
    escalate_below: float = OURS.percent(
        0.0,
        "ESCALATE_BELOW",
        "Confidence below which a person should answer, as routing says. 0: no routing, but for what cites no source.",
    )

    @property
    def decline(self) -> str:
        """What is said where the documents hold no answer."""
        other = f"You can ask {self.assistant_contact}." if self.assistant_contact else "Other words may find it."
        return f"{DECLINE} {other}"


def build(knobs: Knobs, dependencies: StageDependencies) -> Pipeline:
    """Numbered passages, acronyms and filters where there are tables, newer editions first, routing where asked for."""
    pipeline = base(
        knobs,
        dependencies,
        seed=None,
        form=(form := NumberForm()),
        pack=NumberPacker(knobs.context_tokens, form),
        before=(ExpandAcronyms(dependencies.acronyms),),
        after=(RuleFilter(dependencies.rules, dependencies.index.fields, wall=False),),
    )
    route = ConfidenceRouter(knobs.escalate_below) if knobs.escalate_below else None
    return replace(pipeline, order=(NewerFirst(knobs.recency_width), *pipeline.order), route=route)
