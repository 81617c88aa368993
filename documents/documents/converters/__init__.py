"""Files of other formats as Markdown with a title in front matter.

All is done on the bytes given, nothing is fetched. A converter's libraries are imported when its first file comes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from documents.errors import NoText, Unconvertible, Unreadable
from documents.values import Converted, Decode

if TYPE_CHECKING:
    from documents.markup.context import PageContext

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
_PLAIN = frozenset({"AsciiDoc", "CSV", "reStructuredText"})
"""Text in whatever encoding; the others say theirs."""
_PLACED = frozenset({"AsciiDoc", "reStructuredText"})
"""What takes in other files of its folder."""

_MAX_REASON_CHARS = 200
_KIND_OF = {suffix: kind for kind, (_, *suffixes) in _KINDS.items() for suffix in suffixes}

SUFFIXES = frozenset(_KIND_OF)
"""What can be converted: lower case, with the dot."""


def convert(data: bytes, suffix: str, *, decode: Decode, context: PageContext | None = None) -> Converted:
    """The bytes of a file with that ``suffix`` (one of ``SUFFIXES``) as Markdown.

    ``decode`` is asked about formats of plain text. ``place`` is where the file is, for formats that take in others.

    Raises:
        NoText: there is nothing to read in it.
        Unconvertible: it is too large, locked, or not what its suffix says.
        Unreadable: it is damaged, or needs more than this machine has.
        KeyError: no file with that suffix is converted.
    """
    kind = _KIND_OF[suffix]
    module, *_ = _KINDS[kind]
    found: Callable[..., str | Converted] = import_module(f"{__name__}.{module}").convert
    read = partial(found, decode=decode) if kind in _PLAIN else found
    read = partial(read, context=context) if kind in _PLACED else read
    try:
        made = read(data)
    except (Unconvertible, NoText):
        raise
    except RecursionError as exc:
        raise Unreadable(f"cannot be read as {kind}: it is nested too deeply") from exc
    except MemoryError as exc:
        raise Unreadable(f"cannot be read as {kind}: it needs more memory than there is") from exc
    except Exception as exc:  # damaged files raise anything in the libraries, and the other files must go on
        reason = " ".join(f"{type(exc).__name__}: {exc}".split())
        raise Unreadable(f"cannot be read as {kind}: {reason[:_MAX_REASON_CHARS]}") from exc
    return made if isinstance(made, Converted) else Converted(made)
