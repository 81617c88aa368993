"""Files of one text: the same words in several formats, copies, and versions that their names tell."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
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

# "v2", "PolicyV2", "version 2.1", "rev 3", "draft", "final" in a file's name; three numbers (v3.1.0) are a program's.
_VERSION = re.compile(
    r"(?:(?<![^\W_])|(?<=[a-z])(?=V\d))"
    r"(?i:((?:v|version|rev|revision)[ ._-]?(\d+)(?:[._](\d+))?)|draft|final)(?![^\W_]|\.\d)"
)
_LINE_END = re.compile(r"\n|(?<=[.!?]) ")
SAME_LINES = 0.5
"""Share of a version's lines, headings and numbers aside, that the next one has: two release notes share few."""
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
    kept: dict[bytes, list[int]] = defaultdict(list)
    doubles: dict[int, list[int]] = defaultdict(list)
    for number in sorted(compared, key=lambda number: _rank(entries[number])):
        words, title = _words(read(number)), _words(entries[number].fields.title)
        texts = (words, f"{title} {words}", words.removeprefix(f"{title} "))  # not every text begins with its title
        keys = {hashlib.sha256(text.encode(errors="replace")).digest() for text in texts} if words else set()
        better = (one for key in keys for one in kept[key] if _is_double(entries[one], entries[number], words))
        if (best := min(better, default=None)) is not None:
            doubles[best].append(number)
            continue
        for key in keys:
            kept[key].append(number)
    return doubles


def _names(entry: LoadedDocument) -> set[str]:
    """Return the title, with a sign behind it, and the file's name without suffix; none for a record of a corpus."""
    if suffix(entry.found.path) == CORPUS_SUFFIX:
        return set()
    stem = PurePosixPath(strip_format(entry.found.path)).name.casefold()
    return {_words(entry.fields.title) + _TITLE, *([stem] if stem not in INDEX_NAMES else [])}


def _words(text: str) -> str:
    """Return the words of ``text``, without case and punctuation."""
    plain = _MARKS.sub("", text if text.isascii() else normalize("NFKC", text))
    return " ".join(_WORD.findall(plain.casefold()))


def _rank(entry: LoadedDocument) -> tuple[int, int, list[int], int, str]:
    """Return what sorts the best first: by format, date, version, and depth in the folder."""
    path, fields = entry.found.path, entry.fields
    dated = document_date(last_updated=fields.last_updated, extra=fields.extra, path=path, url=fields.url)
    structure = FORMATS.index(suffix(path)) if suffix(path) in FORMATS else len(FORMATS)
    version = [-part for part in _split_version(strip_format(path))[1]]
    return structure, -dated, version, path.count("/"), path


def _is_double(one: LoadedDocument, other: LoadedDocument, words: str) -> bool:
    shared = _names(one) & _names(other)
    is_copy = suffix(one.found.path) == suffix(other.found.path)
    if not shared or (is_copy and one.fields.url and other.fields.url):
        return False
    if words.count(" ") < COPY_WORDS and (is_copy or all(name.endswith(_TITLE) for name in shared)):
        return False
    stated = ((getattr(one.fields, name), getattr(other.fields, name)) for name in _STATED)
    return not any(mine != theirs for mine, theirs in stated if mine and theirs)


def find_older_versions(entries: Mapping[int, LoadedDocument], read: Callable[[int], str]) -> Mapping[int, list[int]]:
    """Return the numbers of the older versions of ``entries`` by the number of the newer one.

    Versions have one name in one folder, but for the words that tell the version, and most of their lines. A text that
    links to another one of them, or writes its version in code or in an address (``/v1/users``), is about that version.
    """
    named: dict[str, dict[int, tuple[int, int, int]]] = defaultdict(dict)
    is_told = any(_VERSION.search(entry.found.path) for entry in entries.values())
    for number, entry in entries.items() if is_told else ():
        name, version = _split_version(strip_format(entry.found.path))
        if name and suffix(entry.found.path) != CORPUS_SUFFIX:
            named[name][number] = version
    older: dict[int, list[int]] = defaultdict(list)
    for versions in (found for found in named.values() if len({*found.values()}) > 1):
        files = [PurePosixPath(entries[number].found.path).name for number in versions]
        lines = {number: _own_lines(read(number), own, files) for number, own in zip(versions, files, strict=True)}
        for one, other in permutations(versions, 2):
            least = max(2, SAME_LINES * min(len(lines[one]), len(lines[other])))
            if versions[one] < versions[other] and len(lines[one] & lines[other]) >= least:
                older[other].append(one)
    return older


def _split_version(path: str) -> tuple[str, tuple[int, int, int]]:
    """Return a path without its version (``""`` if it is no more than that), and the version: numbers and stage."""
    folder, _, name = path.rpartition("/")
    found = list(_VERSION.finditer(name))
    numbers = next(((int(match[2]), int(match[3] or 0)) for match in found if match[2]), (1, 0))
    words = _words(_VERSION.sub(" ", name))
    marks = [match[0].casefold() for match in found]
    return f"{folder}/{words}" if words else "", (*numbers, ("final" in marks) - ("draft" in marks))


def _own_lines(text: str, own: str, files: Sequence[str]) -> set[str]:
    """Return the sentences of a version by their words, headings and numbers aside; none if it is about its version."""
    marks = "|".join(re.escape(match[1].casefold()) for match in _VERSION.finditer(own) if match[1])
    about = re.search(rf"[/`](?:{marks})\b|\b(?:{marks})[/`]", text.casefold()) if marks else None
    if about or any(f"({file}" in text for file in files if file != own):
        return set()
    lines = (_words(re.sub(r"\d+", "0", line)) for line in _LINE_END.split(text) if not line.startswith("#"))
    return set(filter(None, lines))
