"""Converters for ``knowledge.read.documents.read``: files of other formats as Markdown with a title in front matter.

All is done on the bytes given, nothing is fetched. A converter's libraries are imported when its first file comes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module

from documents.converters.output import Converted, Unconvertible
from knowledge.errors import SourceUnreadable
from knowledge.read.loading import NoText

_KINDS = {
    "AsciiDoc": ("from_asciidoc", ".adoc", ".asciidoc"),
    "CSV": ("from_csv", ".csv", ".tsv"),
    "EPUB": ("from_epub", ".epub"),
    "Excel workbook": ("from_xlsx", ".xlsx", ".xlsm"),
    "HTML": ("from_html", ".htm", ".html", ".xhtml"),
    "Jupyter notebook": ("from_notebook", ".ipynb"),
    "PDF": ("from_pdf", ".pdf"),
    "PowerPoint presentation": ("from_pptx", ".pptx"),
    "reStructuredText": ("from_rst", ".rst"),
    "Word document": ("from_docx", ".docx"),
}
_MAX_REASON_CHARS = 200


def readers() -> Mapping[str, Callable[[bytes], str | Converted]]:
    """A reader for each suffix; another process can be handed them.

    Each raises NoText, Unconvertible or SourceUnreadable, with what is wrong with the file in words.
    """
    return {suffix: partial(_read, kind) for kind, (_, *suffixes) in _KINDS.items() for suffix in suffixes}


def _read(kind: str, data: bytes) -> str | Converted:
    module, *_ = _KINDS[kind]
    convert: Callable[[bytes], str | Converted] = import_module(f"{__name__}.{module}").convert
    try:
        return convert(data)
    except (Unconvertible, NoText):
        raise
    except RecursionError as exc:
        raise SourceUnreadable(f"cannot be read as {kind}: it is nested too deeply") from exc
    except MemoryError as exc:
        raise SourceUnreadable(f"cannot be read as {kind}: it needs more memory than there is") from exc
    except Exception as exc:  # damaged files raise anything in the libraries, and the other files must go on
        reason = " ".join(f"{type(exc).__name__}: {exc}".split())
        raise SourceUnreadable(f"cannot be read as {kind}: {reason[:_MAX_REASON_CHARS]}") from exc
