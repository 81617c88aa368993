"""The examples of docs/openapi.json: what the waypoint sample answers, with fixed ids and times."""

from __future__ import annotations

import json
from typing import Any

from rag.version import VERSION

_SAID = "A confirmed ocean booking can be changed free of charge until 72 hours before departure."
_MARK = "[Booking Amendments and Cancellations > Changing a confirmed ocean booking]"
_TITLE, _SECTION = "Booking Amendments and Cancellations", "Changing a confirmed ocean booking"
_URL = "https://lanternfish-line.example/booking/amendments"
_METADATA: dict[str, Any] = {
    "query": "What does it cost to change an ocean booking?",
    "profile": "waypoint",
    "chunksRetrieved": 8,
    "chunksUsed": 1,
    "latencyMs": 21.4,
    "model": "extractive",
    "finishReason": "stop",
    "cached": False,
    "degraded": False,
    "statements": [{"text": _SAID, "citations": [_MARK], "support": "supported", "score": 1.0}],
    "trail": [],
    "skipped": [],
    "timings": {"retrievalMs": 9.1, "generationMs": 1.2, "citationMs": 0.3, "totalMs": 21.4},
    "usage": None,
}
_CITATION = {
    "raw": _MARK,
    "title": _TITLE,
    "section": _SECTION,
    "position": len(_SAID) + 1,
    "fullTitle": _TITLE,
    "docId": "CAR-004",
    "sourceUrls": [_URL],
    "score": 0.7123,
    "matched": True,
    "id": None,
    "chunkId": "id_42",
    "support": "supported",
}
_CONFIDENCE = {"level": "High", "score": 84.7, "reason": "best match 76%, 1 source cited", "raw": None}
_SOURCE = {"title": _TITLE, "org": "", "url": _URL, "section": _SECTION, "references": [1]}

_REFERENCE = {
    "n": 1,
    "chunkId": "id_42",
    "title": _TITLE,
    "section": _SECTION,
    "url": _URL,
    "docId": "CAR-004",
    "support": "supported",
    "quote": _SAID,
}
ANSWER: dict[str, Any] = {
    "answer": f"{_SAID} {_MARK}",
    "sources": [_SOURCE],
    "relatedDocs": [{"title": _TITLE, "category": "carrier", "docId": "CAR-004", "url": _URL}],
    "citations": [_CITATION],
    "references": [_REFERENCE],
    "citationsMarkdown": f"1. [{_TITLE} > {_SECTION}]({_URL})",
    "confidence": _CONFIDENCE,
    "refused": False,
    "partial": False,
    "routing": None,
    "responseId": "Jk2v9oXW0yq3Q5m1r7TzAw",
    "sessionId": None,
    "metadata": _METADATA,
}
DECLINE: dict[str, Any] = {
    **ANSWER,
    "answer": "I don't have specific information about that in the knowledge base. "
    "Please rephrase your question or contact a specialist.",
    "sources": [],
    "relatedDocs": [],
    "citations": [],
    "references": [],
    "citationsMarkdown": "",
    "confidence": {"level": "Low", "score": 0, "reason": "No relevant sources found", "raw": None},
    "refused": True,
    "metadata": {
        **_METADATA,
        "query": "Who won the football world cup in 2018?",
        "chunksRetrieved": 0,
        "chunksUsed": 0,
        "model": None,
        "finishReason": None,
        "statements": [],
    },
}
STREAM = (
    'event: status\ndata: {"stage":"searching"}\n\n'
    'event: sources\ndata: {"references":[{"chunkId":"id_42", ...}]}\n\n'
    'event: delta\ndata: {"text":"A confirmed ocean booking"}\n\n'
    'event: statement\ndata: {"statement":0,"support":"supported","references":[1], ...}\n\n'
    'event: answer\ndata: {"answer":"...", ...}\n\n'
)
CHUNK = {
    "id": "id_42",
    "title": _TITLE,
    "section": _SECTION,
    "url": _URL,
    "text": _SAID,
    "units": [{"start": 0, "end": len(_SAID), "score": 0.7224}],
    "matches": [{"start": 12, "end": 17, "weight": 0.5426}],
}
WELCOME = {
    "questions": ["Cargo claims"],
    "documents": 28,
    "titles": ["Booking Amendments and Cancellations"],
    "model": "extractive",
    "name": "Waypoint",
    "greeting": "",
    "disclaimer": "",
    "contact": "",
    "longest": 1000,
    "filters": [{"field": "category", "values": ["01_policies", "02_carriers"]}],
}

HEALTH = {
    "status": "ok",
    "version": VERSION,
    "profile": "waypoint",
    "index": {
        "documents": 28,
        "chunks": 151,
        "embeddingModel": "all-MiniLM-L6-v2",
        "builtAt": "2026-11-23T08:00:00Z",
        "version": "4f1c2a9b03de",
        "manifest": True,
    },
    "llm": {"engine": "extractive", "model": "extractive", "lastError": None},
}
COMPLETION = {
    "id": "chatcmpl-Jk2v9oXW0yq3Q5m1r7TzAw",
    "object": "chat.completion",
    "created": 1795400000,
    "model": "waypoint",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": f"{_SAID} {_MARK}",
                "refusal": None,
                "annotations": [
                    {
                        "type": "url_citation",
                        "url_citation": {
                            "start_index": len(_SAID) + 1,
                            "end_index": len(_SAID) + 1 + len(_MARK),
                            "title": _TITLE,
                            "url": _URL,
                        },
                    }
                ],
            },
            "logprobs": None,
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    "citations": [_CITATION],
    "references": [_REFERENCE],
    "sources": [_SOURCE],
    "confidence": _CONFIDENCE,
    "refused": False,
    "partial": False,
    "responseId": "Jk2v9oXW0yq3Q5m1r7TzAw",
}
_DELTA = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "A confirmed"}}]}
COMPLETION_STREAM = f"data: {json.dumps(_DELTA)}\n\ndata: [DONE]\n\n"
_RESPONSE = {
    "id": "resp_Jk2v9oXW0yq3Q5m1r7TzAw",
    "object": "response",
    "created_at": 1795400000,
    "status": "completed",
    "error": None,
    "incomplete_details": None,
    "model": "waypoint",
    "store": False,
    "usage": None,
}
RESPONSE: dict[str, Any] = {
    **_RESPONSE,
    "output": [
        {
            "type": "message",
            "id": "msg_Jk2v9oXW0yq3Q5m1r7TzAw",
            "status": "completed",
            "role": "assistant",
            "content": [
                {
                    "type": "output_text",
                    "text": f"{_SAID} {_MARK}",
                    "annotations": [
                        {
                            "type": "url_citation",
                            "start_index": len(_SAID) + 1,
                            "end_index": len(_SAID) + 1 + len(_MARK),
                            "title": _TITLE,
                            "url": _URL,
                        }
                    ],
                    "logprobs": [],
                }
            ],
        }
    ],
}
RESPONSE_STREAM = (
    'event: response.created\ndata: {"type":"response.created","sequence_number":0,"response":{...}}\n\n'
    "event: response.output_text.delta\n"
    'data: {"type":"response.output_text.delta","sequence_number":4,"delta":"A confirmed", ...}\n\n'
    'event: response.completed\ndata: {"type":"response.completed","sequence_number":9,"response":{...}}\n\n'
)
_PROGRESS = {"progressToken": 1, "progress": 1, "message": "searching"}
MCP_CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "search", "arguments": {"query": "change a booking", "k": 3}},
}
MCP_RESULT = {
    "jsonrpc": "2.0",
    "id": 1,
    "result": {"content": [{"type": "text", "text": f"[id_42] {_TITLE}\n{_SAID}"}], "isError": False},
}
_TOLD = {"jsonrpc": "2.0", "method": "notifications/progress", "params": _PROGRESS}
MCP_STREAM = f"event: message\ndata: {json.dumps(_TOLD)}\n\nevent: message\ndata: {json.dumps(MCP_RESULT)}\n\n"
