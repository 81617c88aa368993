"""Reads Qwen's token vocabulary from an unpacked ``dashscope`` package, and packs it for ``knowledge.bpe``."""

from __future__ import annotations

import hashlib
import struct
from base64 import b64decode
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from zlib import crc32

from knowledge.bpe import FREE, HEADER, MAGIC
from modelbuilder.weights import WeightsError

TIKTOKEN_FILE = "qwen.tiktoken"
TIKTOKEN_SHA256 = "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186"
"""sha256 of ``dashscope/resources/qwen.tiktoken`` in dashscope 2.0.2: any other vocabulary is refused."""


def read_tokens(folder: Path, *, sha256: str = TIKTOKEN_SHA256) -> tuple[bytes, ...]:
    """The tokens at or below ``folder`` by rank; each line of the file is ``base64(token) rank``.

    Raises:
        WeightsError: there is no such file or more than one, its sha256 is not ``sha256``, or the ranks have gaps.
    """
    found = sorted(folder.rglob(TIKTOKEN_FILE))
    if len(found) != 1:
        raise WeightsError(f"{folder}: expected one {TIKTOKEN_FILE!r} below this folder, found {len(found)}")
    (path,) = found
    try:
        content = path.read_bytes()
    except OSError as exc:
        raise WeightsError(f"{path}: {exc}") from exc
    actual = hashlib.sha256(content).hexdigest()
    if actual != sha256:
        raise WeightsError(f"{path}: sha256 is {actual}, expected {sha256}")
    try:
        ranked = {int(rank): b64decode(token) for token, rank in map(bytes.split, content.splitlines())}
        return tuple(ranked[rank] for rank in range(len(ranked)))
    except (ValueError, KeyError) as exc:
        raise WeightsError(f"{path}: not a list of tokens with the ranks from 0 on ({exc!r})") from exc


def pack(tokens: Sequence[bytes]) -> bytes:
    """``tokens`` by rank in the format that ``knowledge.bpe.HEADER`` describes; the same bytes each time."""
    # At most two thirds full (Qwen's: .58), so that a search, which mostly is for what is not there, takes few steps.
    count = 1 << (len(tokens) * 3 // 2).bit_length()
    slots = [FREE] * count
    for rank, token in enumerate(tokens):
        slot = crc32(token) % count
        while slots[slot] != FREE:
            slot = (slot + 1) % count
        slots[slot] = rank
    offsets = accumulate(map(len, tokens), initial=0)
    numbers = struct.pack(f"<{count + len(tokens) + 1}I", *slots, *offsets)
    return HEADER.pack(MAGIC, len(tokens), count) + numbers + b"".join(tokens)
