"""The pipeline that every profile begins with; a profile replaces what differs."""

from __future__ import annotations

from rag.answer.forms import CitationForm
from rag.pipeline import Pipeline
from rag.profiles.shared.evidence import EvidenceKnobs, Rules, answering, decide, writing
from rag.profiles.shared.inputs import Inputs
from rag.profiles.shared.service_knobs import answer_cache, conversation
from rag.slots import Pack, QueryStage
from rag.stages.admit.admission import PlainAdmission
from rag.stages.query.where import RequestFilter


def base(
    knobs: EvidenceKnobs,
    inputs: Inputs,
    *,
    seed: Rules | None,
    form: CitationForm,
    pack: Pack,
    decline: str,
    before: tuple[QueryStage, ...] = (),
    after: tuple[QueryStage, ...] = (),
) -> Pipeline:
    """The stages over ``inputs``: memory, cache and votes where there is a store, evidence or the ``seed``'s rules.

    Answers cite in ``form``, which ``pack`` shows; ``decline`` is said where there is none. ``before`` and ``after``
    are the query stages around the filter of the request.

    Raises:
        ConfigurationError: SEED_RULES is on, and there is no ``seed``.
    """
    rules = decide(knobs, inputs, seed)
    return Pipeline(
        profile="",  # rag.profiles knows it
        top_k=knobs.top_k,
        decline_text=decline,
        admit=PlainAdmission(knobs.max_query_chars),
        remarks=rules.remarks,
        conversation=conversation(knobs, inputs.services, decline),
        query_stages=(*rules.query_stages, *before, RequestFilter(inputs.index.fields), *after),
        cache=answer_cache(knobs, inputs.services, rules.bar),
        retrieve=rules.retrieve,
        refine=rules.refine,
        learn=inputs.services.learn(),
        gate=rules.gate,
        pack=pack,
        write=writing(knobs, inputs),
        answering=answering(knobs, inputs, form, decline),
        score=rules.score,
        feedback=inputs.services.feedback_log(),
        categories={},
        clock=inputs.clock,
        new_id=inputs.new_id,
    )
