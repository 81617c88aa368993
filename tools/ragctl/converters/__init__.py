"""Converters for ``knowledge.read.documents.read``: HTML, PDF and DOCX as Markdown with a title in front matter.

All is done on the bytes given, nothing is fetched. A converter's libraries are imported when its first file comes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

from knowledge.errors import SourceUnreadable
from ragctl.converters.output import Unconvertible

_HTML, _PDF, _DOCX = "HTML", "PDF", "Word document"
_KINDS = {".docx": _DOCX, ".htm": _HTML, ".html": _HTML, ".pdf": _PDF}
_MODULES = {_HTML: "from_html", _PDF: "from_pdf", _DOCX: "from_docx"}
_MAX_REASON_CHARS = 200


def readers() -> Mapping[str, Callable[[bytes], str]]:
    """A reader for each suffix.

    Each raises Unconvertible or SourceUnreadable, with what is wrong with the file in words.
    """
    return {suffix: _reader(kind) for suffix, kind in _KINDS.items()}


def _reader(kind: str) -> Callable[[bytes], str]:
    def read(data: bytes) -> str:
        convert: Callable[[bytes], str] = import_module(f"{__name__}.{_MODULES[kind]}").convert
        try:
            return convert(data)
        except Unconvertible:
            raise
        except RecursionError as exc:
            raise SourceUnreadable(f"cannot be read as {kind}: it is nested too deeply") from exc
        except MemoryError as exc:
            raise SourceUnreadable(f"cannot be read as {kind}: it needs more memory than there is") from exc
        except Exception as exc:  # damaged files raise anything in the libraries, and the other files must go on
            reason = " ".join(f"{type(exc).__name__}: {exc}".split())
            raise SourceUnreadable(f"cannot be read as {kind}: {reason[:_MAX_REASON_CHARS]}") from exc

    return read
