"""The formats of ``documents`` as the readers that ``knowledge.read`` asks for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import documents

if TYPE_CHECKING:
    from knowledge.read.readers import ConvertedText, Reader
    from knowledge.read.walk import FoundFile
    from ragctl.pages import Pages


def readers(pages: Pages | None = None) -> Mapping[str, Reader]:
    """A reader for each suffix; another process can be handed them. ``pages`` know the sites that files are of."""
    return {suffix: partial(_read, suffix=suffix, pages=pages) for suffix in sorted(documents.SUFFIXES)}


def _read(data: bytes, found: FoundFile | None = None, *, suffix: str, pages: Pages | None = None) -> ConvertedText:
    from knowledge.model.errors import SourceUnreadable
    from knowledge.read.decoding import decode
    from knowledge.read.readers import ConvertedText, NoText

    try:
        file, root = (found.file, found.within) if found else (None, None)
        site = pages.site(found) if found and pages else None
        alone = found is not None and found.explicit
        made = documents.convert(data, suffix, decode=decode, file=file, root=root, site=site, alone=alone)
    except documents.NoText as exc:
        raise NoText(str(exc)) from exc
    except documents.DocumentError as exc:
        raise SourceUnreadable(str(exc)) from exc
    return ConvertedText(made.text, made.caveats)
