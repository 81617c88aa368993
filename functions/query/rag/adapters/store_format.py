"""How every store writes records: as bounded, valid JSON that names its format, under keys that fit anywhere.

All kinds of store use it, the one in memory too, so that what is read back is the same from each. A text in another
format (an older or newer release wrote it) reads as absent.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import replace
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from rag.text.surrogates import replace_surrogates
from rag.values.question import Turn
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
)


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
    text = _encode(answer)
    return text if len(text.encode()) <= MAX_ANSWER_BYTES else None


def encode_turn(turn: Turn) -> str:
    """``turn`` as JSON, cut to its bounds. A source that is too long is left out: half a URL leads nowhere."""
    return _encode(
        Turn(
            question=clip(turn.question, MAX_QUESTION_CHARS),
            asked=clip(turn.asked, MAX_QUESTION_CHARS),
            answer=clip(turn.answer, MAX_ANSWER_CHARS),
            at=turn.at,
            sources=tuple(source for source in turn.sources if len(source) <= MAX_SOURCE_CHARS)[:MAX_SOURCES],
        )
    )


def encode_response(response: ResponseRecord) -> str:
    """``response`` as JSON, with its best chunks."""
    question, best = clip(response.question, MAX_QUESTION_CHARS), response.chunk_ids[:MAX_CHUNK_IDS]
    return _encode(replace(response, question=question, chunk_ids=best))


def decode[T](kind: type[T], text: str) -> T | None:
    """The ``kind`` of record that one of the functions above wrote."""
    try:
        return _kept(kind).model_validate_json(text).record
    except ValidationError:
        return None


def warm() -> None:
    """Have pydantic read the kinds of record: some ten milliseconds that no request needs to wait for."""
    for kind in (CachedAnswer, Turn, ResponseRecord):
        _kept(kind)


class _Kept[T](BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True, ser_json_bytes="base64", val_json_bytes="base64")

    format: Literal[3]
    record: T


def _kept[T](kind: type[T]) -> type[_Kept[T]]:
    return _Kept[kind]  # type: ignore[valid-type]


def _encode[T](record: T) -> str:
    body = _kept(type(record))(format=3, record=record).model_dump(mode="json", exclude_defaults=True)
    return replace_surrogates(json.dumps(body, ensure_ascii=False, separators=(",", ":")))
