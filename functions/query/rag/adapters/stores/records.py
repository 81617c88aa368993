"""The records of the stores as bounded JSON that names its format.

A text in another format, which an older or newer release wrote, reads as absent.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import replace
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from rag.text.template import replace_surrogates
from rag.values.question import Turn
from rag.values.stored import (
    MAX_ANSWER_BYTES,
    MAX_ANSWER_CHARS,
    MAX_CHUNK_IDS,
    MAX_QUESTION_CHARS,
    MAX_SOURCE_CHARS,
    MAX_SOURCES,
    CachedAnswer,
    ResponseRecord,
)


def digest(text: str) -> str:
    """Return the sha256 of ``text`` in hex: a key for ids of any length and any characters."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def expiry(now: float, ttl_s: float) -> int:
    """Return the Unix second at which a record expires that is stored at ``now`` for ``ttl_s`` seconds."""
    return math.ceil(now + ttl_s)


def clip(text: str, limit: int) -> str:
    """Return ``text`` without lone surrogates, in at most ``limit`` characters, with an ellipsis where it was cut."""
    text = replace_surrogates(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def encode_answer(answer: CachedAnswer) -> str | None:
    """Return ``answer`` as JSON; None if it is larger than ``MAX_ANSWER_BYTES``."""
    text = _dump(answer)
    return text if len(text.encode()) <= MAX_ANSWER_BYTES else None


def encode_turn(turn: Turn) -> str:
    """Return ``turn`` as JSON, cut to its limits; too long sources are left out, because half a URL leads nowhere."""
    return _dump(
        Turn(
            question=clip(turn.question, MAX_QUESTION_CHARS),
            asked=clip(turn.asked, MAX_QUESTION_CHARS),
            answer=clip(turn.answer, MAX_ANSWER_CHARS),
            at=turn.at,
            sources=tuple(source for source in turn.sources if len(source) <= MAX_SOURCE_CHARS)[:MAX_SOURCES],
        )
    )


def encode_response(response: ResponseRecord) -> str:
    """Return ``response`` as JSON, with its best chunks."""
    question, best = clip(response.question, MAX_QUESTION_CHARS), response.chunk_ids[:MAX_CHUNK_IDS]
    return _dump(replace(response, question=question, chunk_ids=best))


def decode[T](kind: type[T], text: str) -> T | None:
    """Return the record of this ``kind`` in ``text``; None if it is in another format."""
    try:
        return _envelope(kind).model_validate_json(text).record
    except ValidationError:
        return None


def warm() -> None:
    """Build pydantic's models of the records, some ten milliseconds, before a request needs them."""
    for kind in (CachedAnswer, Turn, ResponseRecord):
        _envelope(kind)


class _Envelope[T](BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True, ser_json_bytes="base64", val_json_bytes="base64")

    format: Literal[3]
    record: T


def _envelope[T](kind: type[T]) -> type[_Envelope[T]]:
    return _Envelope[kind]  # type: ignore[valid-type]


def _dump[T](record: T) -> str:
    body = _envelope(type(record))(format=3, record=record).model_dump(mode="json", exclude_defaults=True)
    return replace_surrogates(json.dumps(body, ensure_ascii=False, separators=(",", ":")))
