"""The formats of ``documents`` as the readers that ``knowledge.read`` asks for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import documents

if TYPE_CHECKING:
    from knowledge.read.loading import ConvertedText, Reader


def readers() -> Mapping[str, Reader]:
    """A reader for each suffix; another process can be handed them."""
    return {suffix: partial(_read, suffix=suffix) for suffix in sorted(documents.SUFFIXES)}


def _read(data: bytes, suffix: str) -> ConvertedText:
    from knowledge.model.errors import SourceUnreadable
    from knowledge.read.decoding import decode
    from knowledge.read.loading import ConvertedText, NoText

    try:
        made = documents.convert(data, suffix, decode=decode)
    except documents.NoText as exc:
        raise NoText(str(exc)) from exc
    except documents.DocumentError as exc:
        raise SourceUnreadable(str(exc)) from exc
    return ConvertedText(made.text, made.caveats)
