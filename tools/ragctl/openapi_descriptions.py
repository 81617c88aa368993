"""What each property of docs/openapi.json is, where its model does not say so: ``"Model.property"`` to a sentence."""

from __future__ import annotations

from typing import Any

_SHARED = {
    "title": "The document's title.",
    "section": "The headings above the passage, from the outermost on, joined by ' > '; null above all headings.",
    "url": "The address of the document or the section; null where it has none.",
    "chunkId": "The passage's id, for GET /api/chunks/{id}.",
    "docId": "The document's id.",
    "support": "How far the cited passages bear the statement out; null where nobody looked.",
    "start": "The first character, counted from 0.",
    "end": "The character after the last one.",
    "confidence": "How sure the service is.",
    "refused": "Whether the documents do not hold the answer; `answer` says so then.",
    "responseId": "The answer's id, for POST /api/feedback.",
    "version": "A version.",
    "model": "Who writes the answers: a model's name, or `extractive`.",
    "profile": "The profile that answers.",
    "documents": "How many documents the index holds.",
    "answer": "The text, Markdown, with its marks of citation.",
    "reason": "Why, in words.",
}
"""Properties that mean the same wherever they are."""

_TYPES = {"FilterScalar": "A value of a metadata field."}

DESCRIPTIONS = {
    "ChunkReply.id": "The passage's id.",
    "ChunkReply.text": "The passage's text, Markdown.",
    "ChunkReply.units": "The passage in sentences, items, rows and blocks, each with how well it answers.",
    "ChunkReply.matches": "The words that meet the question.",
    "RenderedChunkReply.id": "The passage's id.",
    "RenderedChunkReply.text": "The passage's text, Markdown.",
    "RenderedChunkReply.units": "The passage in sentences, items, rows and blocks, each with how well it answers.",
    "RenderedChunkReply.matches": "The words that meet the question.",
    "RenderedChunkReply.rendered": "The passage as nodes: strings, and objects with `tag` and `children`.",
    "RenderedChunkReply.before": "The passage before it in its document, as nodes; empty where there is none.",
    "RenderedChunkReply.after": "The passage after it in its document, as nodes; empty where there is none.",
    "RenderedReply.found": "The passages that were found for the question, best first.",
    "SuggestionsReply.contact": "How to reach the people behind the documents; empty where nothing is set.",
    "SuggestionsReply.longest": "How many characters a question may have.",
    "FoundReply.score": "The passage's score, on the profile's scale.",
    "FoundReply.read": "Whether whoever wrote the answer was handed the passage.",
    "CitationReply.raw": "The mark as it stands in the answer.",
    "CitationReply.title": "The title that the mark names.",
    "CitationReply.section": "The section that the mark names, or null.",
    "CitationReply.position": "The mark's first character in `answer`.",
    "CitationReply.fullTitle": "The whole title of the document that is cited.",
    "CitationReply.sourceUrls": "The addresses that the document names as its sources.",
    "CitationReply.score": "The cited passage's score, on the profile's scale.",
    "CitationReply.matched": "Always true: what matches no passage is taken out of the answer.",
    "CitationReply.id": "The id that the mark names, where it names one.",
    "ClosestReply.score": "The passage's score, on the profile's scale.",
    "ConfidenceReply.level": "The score in a word.",
    "ConfidenceReply.score": "0 to 100.",
    "ConfidenceReply.raw": "What the profile's own formula says, where `score` is another.",
    "ErrorReply.error": "A sentence for people.",
    "ErrorReply.code": "A stable code for programs.",
    "FeedbackReply.accepted": "Always true.",
    "HealthReply.status": "Always `ok`.",
    "HealthReply.version": "The program's version.",
    "HealthReply.index": "The index that is loaded.",
    "HealthReply.llm": "Who writes the answers.",
    "IndexHealth.chunks": "How many passages the index holds.",
    "IndexHealth.embeddingModel": "The model whose vectors the index holds.",
    "IndexHealth.builtAt": "When the index was built (ISO 8601, UTC); null where nobody knows.",
    "IndexHealth.version": "A hash of the index's content.",
    "IndexHealth.manifest": "Whether the index has a manifest; one that was made elsewhere has none.",
    "LlmHealth.engine": "The vendor's name, or `extractive`.",
    "LlmHealth.lastError": "What the last call failed with; null after a success.",
    "MatchReply.weight": "How much the word weighs, 0 to 1.",
    "MetadataReply.query": "The question as it came.",
    "MetadataReply.chunksRetrieved": "How many passages were found.",
    "MetadataReply.chunksUsed": "How many passages the answer cites.",
    "MetadataReply.latencyMs": "Milliseconds for the whole answer.",
    "MetadataReply.model": "Who wrote the answer; null where nobody did.",
    "MetadataReply.finishReason": "`stop`, or why the answer broke off: `length`, `interrupted`, `stopped`.",
    "MetadataReply.cached": "Whether the answer came from the cache.",
    "MetadataReply.degraded": "Whether another model than the first one wrote it.",
    "MetadataReply.trail": "What was done to the question and to what was found, in words.",
    "MetadataReply.skipped": "Stages that failed and were left out.",
    "MetadataReply.timings": "Milliseconds by stage.",
    "QueryReply.sources": "External pages that the answer cites.",
    "QueryReply.relatedDocs": "Documents that were found, cited or not.",
    "QueryReply.citations": "What the answer cites, one a title, address or id.",
    "QueryReply.citationsMarkdown": "The citations as a numbered list in Markdown.",
    "QueryReply.routing": "What should happen to the answer next; null where the profile does not say.",
    "QueryReply.sessionId": "The session that was asked in, or null.",
    "QueryReply.metadata": "How the answer came about.",
    "QuestionReply.sources": "The ids of the passages that are cited.",
    "QuestionReply.confidence": "How sure the service is, 0 to 100.",
    "QuestionReply.routing": "What should happen to the answer next.",
    "QuestionReply.timing": "Milliseconds by stage.",
    "QuestionReply.metadata": "How the answer came about, with `debug`; else empty.",
    "ReferenceReply.n": "The number that the answer's marks show.",
    "ReferenceReply.quote": "The words of the passage that bear the statement out best.",
    "RelatedDocReply.category": "The document's category.",
    "RenderedReply.rendered": "The answer as nodes, one a block: strings, and objects with `tag` and `children`.",
    "RenderedReply.closest": "What came closest, where the question was declined.",
    "FilterReply.field": "The name of a metadata field.",
    "FilterReply.values": "All its values.",
    "RoutingReply.action": "What to do.",
    "SourceReply.org": "Who publishes the page.",
    "SourceReply.url": "The page's address.",
    "SourceReply.references": "The numbers of the references that rest on the page.",
    "StatementReply.text": "The statement without its marks.",
    "StatementReply.citations": "Its marks.",
    "StatementReply.support": "How far the cited passages bear it out.",
    "StatementReply.score": "The chance that they do, 0 to 1.",
    "StreamOptions.include_usage": "true or false: whether a last chunk says what was used.",
    "SuggestionsReply.filters": "Fields to filter by whose values are few, in the order of their names.",
    "SuggestionsReply.questions": "Questions that the index answers, up to six.",
    "SuggestionsReply.titles": "Titles of some documents, up to five, from all over.",
    "SuggestionsReply.name": "Who answers, or an empty text.",
    "SuggestionsReply.greeting": "What a page begins with, or an empty text.",
    "SuggestionsReply.disclaimer": "What a page says below, or an empty text.",
    "UnitReply.score": "How well it answers, 0 to 1.",
    "UsageReply.promptTokens": "Tokens of what the model read.",
    "UsageReply.completionTokens": "Tokens of what it wrote.",
    "UsageReply.totalTokens": "Both.",
}


def describe(schemas: dict[str, Any]) -> None:
    """Add to each property of ``schemas`` what it is. A model that extends another has its words too."""
    for name, schema in schemas.items():
        words = schema.get("description") or _TYPES.get(name, "")
        schema["description"] = words.replace("``", "`")  # docstrings are reStructuredText
        for field, told in schema.get("properties", {}).items():
            told.pop("default", None)  # some generators take what has one for required
            own = name.replace("RenderedReply", "QueryReply")
            words = DESCRIPTIONS.get(f"{name}.{field}") or DESCRIPTIONS.get(f"{own}.{field}") or _SHARED.get(field)
            if words and "description" not in told:
                told["description"] = words
