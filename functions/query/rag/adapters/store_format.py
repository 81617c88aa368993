"""How every store writes records: as bounded, valid JSON that names its format, under keys that fit anywhere.

All kinds of store use it, the one in memory too, so that what is read back is the same from each. A text in another
format (an older or newer release wrote it) reads as absent.
"""

from __future__ import annotations

import hashlib
import json
import math
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

from rag.text.surrogates import replace_surrogates
from rag.values.answer import Confidence
from rag.values.stored import (
    MAX_ANSWER_BYTES,
    MAX_ANSWER_CHARS,
    MAX_CHUNK_IDS,
    MAX_COMMENT_CHARS,
    MAX_QUESTION_CHARS,
    MAX_SOURCE_CHARS,
    MAX_SOURCES,
    CachedAnswer,
    ResponseRecord,
    Turn,
)

FORMAT = 2


def digest(text: str) -> str:
    """``text`` as a key: sha256 in hex. Ids come from callers and documents, in any length and any characters."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def expiry(now: float, ttl_s: float) -> int:
    """The Unix second from which on something kept for ``ttl_s`` from ``now`` is gone."""
    return math.ceil(now + ttl_s)


def clip(text: str, limit: int) -> str:
    """``text`` in at most ``limit`` characters, with an ellipsis where it was cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def clip_question(text: str) -> str:
    """A question as it is stored: without lone surrogates, in bounds."""
    return clip(replace_surrogates(text), MAX_QUESTION_CHARS)


def clip_comment(text: str | None) -> str | None:
    """A comment as it is stored."""
    return clip(replace_surrogates(text), MAX_COMMENT_CHARS) if text else None


def encode_answer(answer: CachedAnswer) -> str | None:
    """``answer`` as JSON; None when it is larger than ``MAX_ANSWER_BYTES``."""
    text = _dump(
        {
            "text": answer.text,
            "parts": dict(answer.parts),
            "confidence": [answer.confidence.level, float(answer.confidence.score), answer.confidence.reason],
            "chunkIds": answer.chunk_ids,
            "topScore": float(answer.top_score),
            "model": answer.model,
            "createdAt": answer.created_at,
            "vector": b64encode(answer.vector).decode(),
        }
    )
    return text if len(text.encode()) <= MAX_ANSWER_BYTES else None


def decode_answer(text: str) -> CachedAnswer | None:
    """What ``encode_answer`` wrote."""
    body = _load(text)
    if body is None:
        return None
    return CachedAnswer(
        text=body["text"],
        parts=body["parts"],
        confidence=Confidence(*body["confidence"]),
        chunk_ids=tuple(body["chunkIds"]),
        top_score=body["topScore"],
        model=body["model"],
        created_at=body["createdAt"],
        vector=b64decode(body["vector"]),
    )


def encode_turn(turn: Turn) -> str:
    """``turn`` as JSON, cut to its bounds. A source that is too long is left out: half a URL leads nowhere."""
    return _dump(
        {
            "question": clip(turn.question, MAX_QUESTION_CHARS),
            "asked": "" if turn.asked == turn.question else clip(turn.asked, MAX_QUESTION_CHARS),
            "answer": clip(turn.answer, MAX_ANSWER_CHARS),
            "at": turn.at,
            "sources": [source for source in turn.sources if len(source) <= MAX_SOURCE_CHARS][:MAX_SOURCES],
        }
    )


def decode_turn(text: str) -> Turn | None:
    """What ``encode_turn`` wrote, and what it wrote before it knew ``asked``."""
    body = _load(text)
    if body is None:
        return None
    return Turn(
        question=body["question"],
        answer=body["answer"],
        at=body["at"],
        sources=tuple(body["sources"]),
        asked=body.get("asked", ""),
    )


def encode_response(response: ResponseRecord) -> str:
    """``response`` as JSON, with its best chunks."""
    return _dump(
        {
            "id": response.response_id,
            "question": clip(response.question, MAX_QUESTION_CHARS),
            "chunkIds": response.chunk_ids[:MAX_CHUNK_IDS],
            "profile": response.profile,
            "at": response.at,
            "vector": b64encode(response.vector).decode(),
            "sessionId": response.session_id,
            "cacheKeys": response.cache_keys,
        }
    )


def decode_response(text: str) -> ResponseRecord | None:
    """What ``encode_response`` wrote."""
    body = _load(text)
    if body is None:
        return None
    return ResponseRecord(
        response_id=body["id"],
        question=body["question"],
        chunk_ids=tuple(body["chunkIds"]),
        profile=body["profile"],
        at=body["at"],
        vector=b64decode(body["vector"]),
        session_id=body["sessionId"],
        cache_keys=tuple(body["cacheKeys"]),
    )


def _dump(body: Mapping[str, object]) -> str:
    return replace_surrogates(json.dumps({"format": FORMAT, **body}, ensure_ascii=False, separators=(",", ":")))


def _load(text: str) -> dict[str, Any] | None:
    try:
        body = json.loads(text)
    except ValueError:
        return None
    return body if isinstance(body, dict) and body.get("format") == FORMAT else None
