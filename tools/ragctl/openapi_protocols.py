"""Schemas of what is no model of ours: the events of streams, OpenAI's objects, JSON-RPC."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

type Schema = dict[str, Any]

TEXT, WHOLE, NUMBER, YES_OR_NO = ({"type": kind} for kind in ("string", "integer", "number", "boolean"))
ANY_OBJECT: Schema = {"type": "object"}


def ref(name: str) -> Schema:
    """The schema of that name."""
    return {"$ref": f"#/components/schemas/{name}"}


def many(schema: Schema) -> Schema:
    """A list of them."""
    return {"type": "array", "items": schema}


def or_null(schema: Schema) -> Schema:
    """It, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def one_of(*values: str) -> Schema:
    """One of these texts."""
    return {"type": "string", "enum": list(values)}


def record(what: str, optional: Collection[str] = (), /, **properties: tuple[Schema, str]) -> Schema:
    """An object: each property with its schema and what it is."""
    return {
        "type": "object",
        "description": what,
        "properties": {name: {**schema, "description": told} for name, (schema, told) in properties.items()},
        "required": [name for name in properties if name not in optional],
    }


_EXTRAS: dict[str, tuple[Schema, str]] = {
    "citations": (many(ref("CitationReply")), "What the answer cites."),
    "references": (many(ref("ReferenceReply")), "The passages that the answer refers to."),
    "sources": (many(ref("SourceReply")), "External pages that the answer cites."),
    "confidence": (ref("ConfidenceReply"), "How sure the service is."),
    "refused": (YES_OR_NO, "Whether the documents do not hold the answer."),
    "partial": (YES_OR_NO, "Whether the answer broke off."),
    "responseId": (TEXT, "The answer's id, for POST /api/feedback."),
}
_BESIDE = frozenset(_EXTRAS)
_PLACE: dict[str, tuple[Schema, str]] = {
    "start_index": (WHOLE, "The first character of the mark."),
    "end_index": (WHOLE, "The character after it."),
    "title": (TEXT, "The document's title."),
    "url": (TEXT, "The source's address, else the passage on the service's own page."),
}
_USED = (ref("OpenAiUsage"), "Tokens that the model's provider counted.")
_ID, _MODEL = (TEXT, "Its id."), (TEXT, "The model that answered.")
_MADE = (WHOLE, "When it was made, in seconds of Unix time.")

PROTOCOLS: dict[str, Schema] = {
    "StatusEvent": record(
        "Event `status`: what is being done now.",
        stage=(one_of("searching", "reading", "writing", "checking"), "The stage that begins."),
    ),
    "PassageSeen": record(
        "A passage that is handed to the writer.",
        chunkId=(TEXT, "Its id."),
        title=(TEXT, "The document's title."),
        section=(or_null(TEXT), "The headings above it, or null."),
        url=(or_null(TEXT), "Its address, or null."),
        docId=(TEXT, "The document's id."),
    ),
    "SourcesEvent": record(
        "Event `sources`, once, before the first text.",
        references=(many(ref("PassageSeen")), "What the writer reads."),
    ),
    "DeltaEvent": record("Event `delta`: some text of the answer.", text=(TEXT, "The next piece, Markdown.")),
    "PatchEvent": record(
        "Event `patch`, with `rendered`: a block of the answer as it is now.",
        block=(WHOLE, "The block's place, from 0."),
        nodes=(many({}), "Its nodes: strings, and objects with `tag` and `children`."),
    ),
    "StatementEvent": record(
        "Event `statement`: a statement was held against what it cites.",
        statement=(WHOLE, "Its place, from 0."),
        text=(TEXT, "The statement."),
        support=(one_of("supported", "partial", "unsupported"), "How far the passages bear it out."),
        references=(many(WHOLE), "The numbers of the passages."),
        score=(NUMBER, "The chance that they do, 0 to 1."),
    ),
    "OpenAiErrorDetail": record(
        "What is wrong, as OpenAI says it.",
        message=(TEXT, "A sentence for people."),
        type=(TEXT, "The kind: invalid_request_error, authentication_error, server_error and others."),
        param=(or_null(TEXT), "The parameter that is wrong, or null."),
        code=(or_null(TEXT), "A stable code."),
    ),
    "OpenAiError": record("An error in OpenAI's shape.", error=(ref("OpenAiErrorDetail"), "What is wrong.")),
    "OpenAiUsage": record(
        "Tokens used.",
        prompt_tokens=(WHOLE, "Of what the model read."),
        completion_tokens=(WHOLE, "Of what it wrote."),
        total_tokens=(WHOLE, "Both."),
    ),
    "UrlCitationPlace": record("A place that cites.", **_PLACE),
    "ChatAnnotation": record(
        "A citation in a message.",
        type=(one_of("url_citation"), "Its kind."),
        url_citation=(ref("UrlCitationPlace"), "Where, and what."),
    ),
    "CompletionMessage": record(
        "The answer; in a chunk some of it.",
        ("role", "content", "refusal", "annotations"),
        role=(one_of("assistant"), "Who speaks."),
        content=(or_null(TEXT), "The text."),
        refusal=(or_null(TEXT), "Always null: a decline is a text like others."),
        annotations=(many(ref("ChatAnnotation")), "Where it cites."),
    ),
    "CompletionChoice": record(
        "The one answer.",
        ("message", "delta"),
        index=(WHOLE, "Always 0."),
        message=(ref("CompletionMessage"), "The whole answer."),
        delta=(ref("CompletionMessage"), "In a chunk, what comes next."),
        logprobs=({"type": "null"}, "Always null."),
        finish_reason=(or_null(TEXT), "Why it ends: stop, length or content_filter; null before the end."),
    ),
    "ChatCompletion": record(
        "A chat completion.",
        id=_ID,
        object=(one_of("chat.completion"), "What this is."),
        created=_MADE,
        model=_MODEL,
        choices=(many(ref("CompletionChoice")), "The answer."),
        usage=_USED,
        **_EXTRAS,
    ),
    "ChatCompletionChunk": record(
        "A piece of a streamed completion; the last but one has what stands beside `choices`.",
        (*_BESIDE, "usage", "answer"),
        id=_ID,
        object=(one_of("chat.completion.chunk"), "What this is."),
        created=_MADE,
        model=_MODEL,
        choices=(many(ref("CompletionChoice")), "What comes next."),
        usage=_USED,
        answer=(TEXT, "The whole text, where the checked one does not go on from what was streamed."),
        **_EXTRAS,
    ),
    "ModelObject": record(
        "A model.",
        id=(TEXT, "Its name."),
        object=(one_of("model"), "What this is."),
        created=_MADE,
        owned_by=(TEXT, "Who has it."),
    ),
    "ModelList": record(
        "The models.", object=(one_of("list"), "What this is."), data=(many(ref("ModelObject")), "The models.")
    ),
    "ResponseAnnotation": record("A citation.", type=(one_of("url_citation"), "Its kind."), **_PLACE),
    "ResponsePart": record(
        "The text of an answer.",
        type=(one_of("output_text"), "Its kind."),
        text=(TEXT, "The text."),
        annotations=(many(ref("ResponseAnnotation")), "Where it cites."),
        logprobs=(many({}), "Always empty."),
    ),
    "ResponseItem": record(
        "The answer as a message.",
        type=(one_of("message"), "Its kind."),
        id=_ID,
        status=(one_of("in_progress", "completed", "incomplete"), "How far it is."),
        role=(one_of("assistant"), "Who speaks."),
        content=(many(ref("ResponsePart")), "Its text."),
    ),
    "ResponseObject": record(
        "A response. Further fields repeat what OpenAI's have, with the values that hold here.",
        _BESIDE,
        id=_ID,
        object=(one_of("response"), "What this is."),
        created_at=_MADE,
        status=(one_of("in_progress", "completed", "incomplete", "failed"), "How far it is."),
        error=(or_null(ANY_OBJECT), "What went wrong, or null."),
        incomplete_details=(or_null(ANY_OBJECT), "Why it broke off, or null."),
        model=_MODEL,
        output=(many(ref("ResponseItem")), "The answer."),
        store=(YES_OR_NO, "Always false: nothing is stored."),
        usage=(or_null(ANY_OBJECT), "Tokens that the model's provider counted; null before the end."),
        **_EXTRAS,
    ),
    "ResponseEvent": record(
        "An event of a streamed response; its other fields depend on `type`.",
        ("response", "item", "part", "delta", "text", "annotation"),
        type=(TEXT, "Which event, such as response.output_text.delta."),
        sequence_number=(WHOLE, "Its place in the stream, from 0."),
        response=(ref("ResponseObject"), "The response, at the beginning and the end."),
        item=(ref("ResponseItem"), "The message, when it begins and ends."),
        part=(ref("ResponsePart"), "The text, when it begins and ends."),
        delta=(TEXT, "Some text."),
        text=(TEXT, "The whole text."),
        annotation=(ref("ResponseAnnotation"), "A citation."),
    ),
    "JsonRpcRequest": record(
        "A message of the Model Context Protocol. Without an id it is a notification.",
        ("id", "params"),
        jsonrpc=(one_of("2.0"), "The version of JSON-RPC."),
        id=({"type": ["string", "integer"]}, "What the reply repeats."),
        method=(TEXT, "What is asked for, such as tools/call."),
        params=(ANY_OBJECT, "With what."),
    ),
    "JsonRpcError": record(
        "What is wrong.",
        ("data",),
        code=(WHOLE, "JSON-RPC's number."),
        message=(TEXT, "A sentence."),
        data=({}, "More about it."),
    ),
    "JsonRpcReply": record(
        "The reply: a result or an error.",
        ("result", "error"),
        jsonrpc=(one_of("2.0"), "The version of JSON-RPC."),
        id=({"type": ["string", "integer", "null"]}, "The id of what it replies to."),
        result=(ANY_OBJECT, "What was asked for."),
        error=(ref("JsonRpcError"), "What is wrong."),
    ),
}
"""By name."""
