"""Files of one text: duplicates in other formats or folders, and older versions, as the names of files tell."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from hashlib import sha256
from itertools import permutations
from pathlib import PurePosixPath
from unicodedata import normalize

from knowledge.read.dates import document_date
from knowledge.read.file_names import INDEX_NAMES, strip_format, suffix
from knowledge.read.loading import LoadedDocument

FORMATS = (
    *(".md", ".markdown", ".mdx", ".rst", ".adoc", ".html", ".htm", ".docx", ".odt", ".epub", ".mhtml", ".rtf"),
    *(".pptx", ".odp", ".pdf", ".txt"),
)
"""Formats by the structure that is read of them, most first."""
COPY_WORDS = 50
"""Files of one format, or of two names, with fewer words are no duplicates, but covers, notices and listings."""

_MARKS = re.compile(r"\]\([^()\s]*\)|^[ \t>]*\d+[.)][ \t]|\u00ad", re.MULTILINE)
"""Targets of links, numbers of lists and soft hyphens, which not every format keeps."""
_WORD = re.compile(r"(?<!\S)[-+]\d+|[^\W_]+(?:[+#]+(?!\w))?|[$\u20ac\u00a3\u00a5%]")
"""A word, with the sign that makes it another one: -5, C++, C#; prices in $ and in \u20ac are different too."""

# "v2", "PolicyV2", "version 2.1", "rev 3", "draft", "final" in a file's name; three numbers (v3.1.0) are a program's.
_VERSION = re.compile(
    r"(?:(?<![^\W_])|(?<=[a-z])(?=V\d))"
    r"(?i:(?:v|version|rev|revision)[ ._-]?(?P<major>\d+)(?:[._](?P<minor>\d+))?|draft|final)(?![^\W_]|\.\d)"
)
_SENTENCE_END = re.compile(r"\n|(?<=[.!?]) ")
_NUMBER = re.compile(r"\d+")
SAME_SENTENCES = 0.5
"""Share of a version's sentences, headings and numbers aside, that the next one has: two release notes share few."""
_STATED = ("doc_id", "category", "source_org", "source_type", "jurisdiction")


def find_duplicates(entries: Mapping[int, LoadedDocument], read: Callable[[int], str]) -> Mapping[int, list[int]]:
    """Return the numbers of the ``entries`` that repeat a better one, by the number of that one.

    Files in two formats are duplicates if they have the same words, files in one format if they have the same text.
    They share their title or their name, and state no different fields; two pages of a site are none. ``read`` gives
    an entry's text; it is called for those that share a title or a name, as only they are compared.
    """
    sharing: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, entry in entries.items():
        for name in _names(entry):
            sharing[name].append(number)
    compared = {number for numbers in sharing.values() if len(numbers) > 1 for number in numbers}
    unique: dict[bytes, list[int]] = defaultdict(list)
    duplicates: dict[int, list[int]] = defaultdict(list)
    for number in sorted(compared, key=lambda number: _rank(entries[number])):
        entry, text = entries[number], read(number)
        title = _words(entry.fields.title)
        words = _words(text).removeprefix(f"{title} ")  # not every text begins with its title
        keys = [sha256(key.encode(errors="replace")).digest() for key in (words, f"{title} {words}") if words]
        alike = (one for key in keys for one in unique[key])
        better = next((one for one in alike if _is_duplicate(entries[one], entry, read(one), text)), None)
        if better is None:
            for key in keys:
                unique[key].append(number)
        else:
            duplicates[better].append(number)
    return duplicates


def _names(entry: LoadedDocument) -> set[tuple[str, str]]:
    """Return the words of the title and the name of the file without suffix."""
    stem = PurePosixPath(strip_format(entry.found.path)).name.casefold()
    return {("title", _words(entry.fields.title)), *([("file", stem)] if stem not in INDEX_NAMES else [])}


def _words(text: str) -> str:
    """Return the words and signs of ``text``, without case and punctuation."""
    plain = _MARKS.sub("", text if text.isascii() else normalize("NFKC", text))
    return " ".join(_WORD.findall(plain.casefold()))


def _rank(entry: LoadedDocument) -> tuple[int, int, list[int], int, str, str]:
    """Return what sorts the best first: by format, date, version, and depth in the folder."""
    path, fields = entry.found.path, entry.fields
    dated = document_date(last_updated=fields.last_updated, extra=fields.extra, path=path, url=fields.url)
    structure = FORMATS.index(suffix(path)) if suffix(path) in FORMATS else len(FORMATS)
    version = [-part for part in _split_version(strip_format(path))[1]]
    return structure, -dated, version, path.count("/"), strip_format(path), path


def _is_duplicate(one: LoadedDocument, other: LoadedDocument, text: str, other_text: str) -> bool:
    """Return whether two files are one document; ``text`` and ``other_text`` have the same words."""
    shared = {kind for kind, _ in _names(one) & _names(other)}
    is_copy = suffix(one.found.path) == suffix(other.found.path)
    if not shared or (is_copy and one.fields.url and other.fields.url):
        return False
    if len(text.split()) < COPY_WORDS and (is_copy or shared == {"title"}):
        return False
    if is_copy and text.split() != other_text.split():  # links may lead to other places
        return False
    stated = ((getattr(one.fields, name), getattr(other.fields, name)) for name in _STATED)
    return not any(mine != theirs for mine, theirs in stated if mine and theirs)


def find_older_versions(entries: Mapping[int, LoadedDocument], read: Callable[[int], str]) -> Mapping[int, list[int]]:
    """Return the numbers of the older versions of ``entries`` by the number of the newer one.

    Versions have one name in one folder, but for the words that tell the version, and half of their sentences. A draft
    counts as older than any version that is none.
    """
    named: dict[str, dict[int, tuple[int, ...]]] = defaultdict(dict)
    for number, entry in entries.items():
        name, version = _split_version(strip_format(entry.found.path))
        if name:
            named[name][number] = version
    older: dict[int, list[int]] = defaultdict(list)
    for versions in (found for found in named.values() if len({*found.values()}) > 1):
        sentences = {number: _sentences(read(number)) for number in versions}
        for one, other in permutations(versions, 2):
            least = SAME_SENTENCES * min(len(sentences[one]), len(sentences[other]))
            if versions[one] < versions[other] and len(sentences[one] & sentences[other]) >= max(least, 1):
                older[other].append(one)
    return older


def _split_version(path: str) -> tuple[str, tuple[int, ...]]:
    """Return a path without its version (``""`` if it is no more than that), and the version: stage and numbers."""
    folder, _, name = path.rpartition("/")
    found = list(_VERSION.finditer(name))
    major, minor = next(((int(match["major"]), int(match["minor"] or 0)) for match in found if match["major"]), (1, 0))
    stages = {match[0].casefold() for match in found}
    words = _words(_VERSION.sub(" ", name))
    return f"{folder}/{words}" if words else "", ("draft" not in stages, major, minor, "final" in stages)


def _sentences(text: str) -> set[str]:
    """Return the words of each sentence and line of ``text``, without headings; all numbers are the same."""
    lines = (line for line in _SENTENCE_END.split(text) if not line.startswith("#"))
    return {words for line in lines if (words := _words(_NUMBER.sub("0", line)))}
