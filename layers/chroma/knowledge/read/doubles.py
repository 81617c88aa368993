"""Files with the same words: a text in several formats, and copies of it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from unicodedata import normalize

from knowledge.read.dates import document_date
from knowledge.read.file_names import INDEX_NAMES, strip_format, suffix
from knowledge.read.loading import CORPUS_SUFFIX, LoadedDocument

FORMATS = (".md", ".markdown", ".mdx", ".rst", ".adoc", ".html", ".htm", ".docx", ".epub", ".pptx", ".pdf", ".txt")
"""Formats by the structure that is read of them, most first."""
COPY_WORDS = 50
"""Files of one format, or of two names, with fewer words are no copies, but covers, notices and listings."""

_MARKS = re.compile(r"\]\([^()\s]*\)|^[ \t>]*\d+[.)][ \t]|\u00ad", re.MULTILINE)
"""Targets of links, numbers of lists and soft hyphens, which not every format keeps."""
_WORD = re.compile(r"[^\W_]+")
_TITLE = "/"
_STATED = ("doc_id", "category", "source_org", "source_type", "jurisdiction")


def find_doubles(entries: Mapping[int, LoadedDocument], read: Callable[[int], str]) -> Mapping[int, list[int]]:
    """Return the numbers of the ``entries`` with the same words as a better one, by the number of that one.

    ``read`` gives an entry's text; it is called for those with the title or the file name of another one, as only they
    are compared. Two pages of a site in one format, and documents that state different fields, are no doubles.
    """
    sharing: dict[str, list[int]] = defaultdict(list)
    for number, entry in entries.items():
        for name in _names(entry):
            sharing[name].append(number)
    compared = {number for numbers in sharing.values() if len(numbers) > 1 for number in numbers}
    alike: dict[str, list[int]] = defaultdict(list)
    for number in sorted(compared, key=lambda number: _rank(entries[number])):
        alike[_words(read(number), entries[number].fields.title)].append(number)
    doubles: dict[int, list[int]] = defaultdict(list)
    for words, numbers in alike.items():
        kept: list[int] = []
        for number in numbers if words else ():
            better = (one for one in kept if _is_double(entries[one], entries[number], words.count(" ") + 1))
            if (best := next(better, None)) is None:
                kept.append(number)
            else:
                doubles[best].append(number)
    return doubles


def _names(entry: LoadedDocument) -> set[str]:
    """Return the title, with a sign behind it, and the file's name without suffix; none for a record of a corpus."""
    stem = PurePosixPath(strip_format(entry.found.path)).name.casefold()
    if suffix(entry.found.path) == CORPUS_SUFFIX:
        return set()
    return {_words(entry.fields.title) + _TITLE, *([stem] if stem not in INDEX_NAMES else [])}


def _words(text: str, title: str = "") -> str:
    """Return the words of ``text``, without case, punctuation and the ``title`` at the beginning."""
    plain = _MARKS.sub("", text if text.isascii() else normalize("NFKC", text))
    words = " ".join(_WORD.findall(plain.casefold()))
    return words.removeprefix(_words(title)).strip() if title else words


def _rank(entry: LoadedDocument) -> tuple[int, int, int, str]:
    """Return what sorts the best first: by format, date, and depth in the folder."""
    path, fields = entry.found.path, entry.fields
    dated = document_date(last_updated=fields.last_updated, extra=fields.extra, path=path, url=fields.url)
    structure = FORMATS.index(suffix(path)) if suffix(path) in FORMATS else len(FORMATS)
    return structure, -dated, path.count("/"), path


def _is_double(one: LoadedDocument, other: LoadedDocument, words: int) -> bool:
    shared = _names(one) & _names(other)
    is_copy = suffix(one.found.path) == suffix(other.found.path)
    if not shared or (is_copy and one.fields.url and other.fields.url):
        return False
    if words < COPY_WORDS and (is_copy or all(name.endswith(_TITLE) for name in shared)):
        return False
    stated = ((getattr(one.fields, name), getattr(other.fields, name)) for name in _STATED)
    return not any(mine != theirs for mine, theirs in stated if mine and theirs)
