"""House: an assistant for one's own documents."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from rag.answer.citation_forms import NumberForm
from rag.answer.confidence import ConfidenceRouter
from rag.ask.acronyms import ExpandAcronyms
from rag.ask.filters import RuleFilter
from rag.config.fields import Percent, env
from rag.find.pack import NumberPacker
from rag.find.refine import NewerFirst
from rag.pipeline import Pipeline
from rag.profiles.shared import settings as shared
from rag.profiles.shared.pipeline import Profile, StageDependencies, build_pipeline


class HouseSettings(shared.ProfileSettings):
    """The settings of a profile that follows no seed. Scores are plain cosines, -1..1."""

    max_query_chars: shared.MaxQueryChars = 1000
    top_k: shared.TopK = 10
    recency_width: shared.RecencyWidth = 0.02
    """Scores that are closer than this go by date."""
    context_tokens: shared.ContextTokens = 6000
    """Context budget."""
    llm_model: shared.LlmModel = "openai/gpt-oss-20b"
    llm_base_url: shared.LlmBaseUrl = "https://api.groq.com/openai/v1"
    temperature: shared.Temperature = 0.2
    max_tokens: shared.MaxTokens = 1000
    escalate_below: Annotated[Percent, env("ESCALATE_BELOW")] = 0.0
    """Confidence below which routing sends the answer to a person. 0: only answers without a source go there."""

    @property
    def decline(self) -> str:
        """The answer if the documents hold none."""
        other = f"You can ask {self.assistant_contact}." if self.assistant_contact else "Other words may find it."
        return f"{super().decline} {other}"


def build(settings: HouseSettings, dependencies: StageDependencies) -> Pipeline:
    """Build numbered passages, acronyms and filters from the tables, newer editions first, and routing if it is set."""
    pipeline = build_pipeline(
        "house",
        settings,
        dependencies,
        seed=None,
        form=(form := NumberForm()),
        pack=NumberPacker(settings.context_tokens, form),
        before=(ExpandAcronyms(dependencies.acronyms),),
        after=(RuleFilter(dependencies.rules, dependencies.index.fields, wall=False),),
    )
    route = ConfidenceRouter(settings.escalate_below) if settings.escalate_below else None
    return replace(pipeline, order=(NewerFirst(settings.recency_width), *pipeline.order), route=route)


PROFILE = Profile("House: an assistant for one's own documents.", HouseSettings, build)
