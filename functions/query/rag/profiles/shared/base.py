"""The pipeline that every profile begins with; a profile replaces what differs."""

from __future__ import annotations

from rag.answer.citation_forms import CitationForm
from rag.ask.admit.admission import PlainAdmission
from rag.ask.query.where import RequestFilter
from rag.find.pack import WindowPacker
from rag.pipeline import Pipeline
from rag.profiles.shared.dependencies import StageDependencies
from rag.profiles.shared.evidence import EvidenceKnobs, RetrievalPolicy, answering, retrieval_policy, writing
from rag.profiles.shared.service_knobs import answer_cache, conversation
from rag.slots import Pack, QueryStage
from rag.write.extractive import ExtractiveWriter


def base(
    knobs: EvidenceKnobs,
    dependencies: StageDependencies,
    *,
    seed: RetrievalPolicy | None,
    form: CitationForm,
    pack: Pack,
    before: tuple[QueryStage, ...] = (),
    after: tuple[QueryStage, ...] = (),
) -> Pipeline:
    """The stages over ``dependencies``.

    Memory, cache and votes are there where there is a store; evidence decides, or the ``seed``'s rules.
    Answers cite in ``form``, which ``pack`` shows. ``before`` and ``after``
    are the query stages around the filter of the request.

    Raises:
        ConfigurationError: SEED_RULES is on, and there is no ``seed``.
    """
    rules = retrieval_policy(knobs, dependencies, seed)
    return Pipeline(
        profile="",  # rag.profiles knows it
        top_k=knobs.top_k,
        decline_text=knobs.decline,
        admit=PlainAdmission(knobs.max_query_chars),
        remarks=rules.remarks,
        conversation=conversation(knobs, dependencies.stages, knobs.decline),
        query_stages=(*rules.query_stages, *before, RequestFilter(dependencies.index.fields), *after),
        cache=answer_cache(knobs, dependencies.stages, rules.bar),
        retrieve=rules.retrieve,
        refine=rules.refine,
        learn=dependencies.stages.learn(),
        order=rules.order,
        gate=rules.gate,
        pack=pack if knobs.seed_rules else WindowPacker(pack, dependencies.window),
        write=writing(knobs, dependencies),
        quote=ExtractiveWriter() if knobs.weak == "quotes" else None,
        answering=answering(knobs, dependencies, form, knobs.decline),
        score=rules.score,
        feedback=dependencies.stages.feedback_log(),
        categories={},
        clock=dependencies.clock,
        new_id=dependencies.new_id,
    )
