"""The documents of one file, by the format that its name says. May run in another process.

A corpus is BEIR's ``corpus.jsonl``: one JSON object ``{_id, title, text, metadata}`` a line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import date
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, Protocol

from knowledge.model.errors import SourceUnreadable, describe_unexpected
from knowledge.model.values import Failure
from knowledge.read import markdown as md
from knowledge.read.decoding import decode, file_bytes
from knowledge.read.fields import Fields, add_preamble, exclusion_reason, parse_fields
from knowledge.read.file_names import format_suffix, suffix, title_from_name, title_heading
from knowledge.read.frontmatter import split_front_matter
from knowledge.read.invisible import drop_invisible, drop_invisible_values, invisible_caveat
from knowledge.read.losses import WordLoss, find_loss
from knowledge.read.remedies import REMEDIES
from knowledge.read.site_files import site_file_reason
from knowledge.read.walk import FoundFile, printable_name

type Meta = Mapping[Any, Any]
"""Front matter by key."""


class EmptyFile(ValueError):
    """A correct file without any text."""


@dataclass(frozen=True, slots=True)
class ConvertedText:
    """A file as Markdown, front matter allowed, with caveats about the conversion and, if known, its plain text.

    ``parts`` are the documents of a file that holds several.
    """

    text: str
    caveats: tuple[str, ...] = ()
    plain: str | None = None
    parts: tuple[ConvertedText, ...] = ()


type Reader = Callable[[bytes, FoundFile | None], ConvertedText]
"""Converts the content of a file at a place, to which it may refer; it raises ValueError or SourceUnreadable."""


class SiteRules(Protocol):
    """The rules of the site that a file is a page of; they can be sent to another process."""

    def as_read(self, text: str, found: FoundFile, meta: Meta) -> ConvertedText:
        """Return the visible part of the Markdown ``text``, as Markdown."""
        ...

    def address(self, found: FoundFile, meta: Meta) -> str:
        """Return the page's URL, ``""`` if it is unknown."""
        ...

    def named(self, found: FoundFile) -> bool:
        """Whether the site titles a page by its file name, whatever its headings say."""
        ...

    def excludes(self, found: FoundFile) -> bool:
        """Whether the site's configuration excludes the file."""
        ...

    def anchors(self, found: FoundFile) -> str:
        """Return the name of the anchor algorithm in ``knowledge.cut.anchors``, ``""`` if it is unknown."""
        ...


CORPUS_NAME = "corpus.jsonl"
CORPUS_SUFFIX = ".jsonl"
TEXT_SUFFIX = ".txt"
SUFFIXES = (".markdown", ".md", ".mdx", TEXT_SUFFIX)
"""Suffixes read in folders without a converter, beside ``CORPUS_NAME``."""

PAGE_SUFFIXES = (".html", ".htm")
"""With front matter such a file is a page's source, which site generators read as they read Markdown."""

MAILBOX_SUFFIX, MAILBOX_BYTES = ".mbox", 1 << 23
"""A larger mailbox is read in parts."""
MAIL_SUFFIX, MAX_NAME_CHARS = ".eml", 80
"""The name of a message in a mailbox is its title with this suffix."""

WRITTEN = (".ipynb",)
"""Converted formats whose text people wrote as Markdown."""

_ENVELOPE = re.compile(rb"\n(?=From [^\r\n]{0,200}\d\d:\d\d[^\r\n]{0,100}\r?\n[!-9;-~]+:)")
_LINE = re.compile(r"^.*$", re.MULTILINE)
_FRONT_MATTER = re.compile(rb"(?:\xef\xbb\xbf)?\s*---[ \t]*\r?\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """Options for reading files; they can be sent to another process.

    ``readers`` are converters by suffix (lower case, with the dot). ``formats`` maps the end of a name to the suffix
    that the file is read as; ``detect`` tells it by the content, ``""`` if the name decides. ``site`` has the rules of
    Markdown pages. ``today`` decides which pages have expired; with None drafts and expired pages are read like others.
    """

    readers: Mapping[str, Reader] = field(default_factory=dict)
    formats: Mapping[str, str] = field(default_factory=dict)
    detect: Callable[[Path], str] | None = None
    site: SiteRules | None = None
    today: date | None = None

    def kind(self, name: str) -> str:
        """Return the suffix that decides how the file ``name`` is read; ``""`` if folders skip it."""
        return format_suffix(name, {*SUFFIXES, *self.readers}, self.formats)

    def kind_of(self, file: Path) -> str:
        """Return the suffix that ``file`` is read as, by its name or its content; ``""`` if folders skip it."""
        return self.kind(file.name) or (self.detect(file) if self.detect else "")


AS_TEXT = Loading()
"""Markdown and plain text, as they are."""


@dataclass(frozen=True, slots=True)
class LoadedDocument:
    """A document before its doc_id is assigned: ``fields.doc_id`` may be ``""``, ``fields.title`` is not.

    ``shown`` is its name in messages, ``caveats`` the problems in it; ``loss`` is the one that its words are not its
    file's. ``anchors``: see ``Document``.
    """

    found: FoundFile
    shown: str
    fields: Fields
    text: str
    caveats: tuple[str, ...] = ()
    anchors: str = ""
    loss: WordLoss | None = None


@dataclass(frozen=True, slots=True)
class ExcludedDocument:
    """A document that is not read, and the reason: it is a draft, ``empty`` or no document of its site.

    ``lasting``: the same file is not read on another day either.
    """

    shown: str
    reason: str
    empty: bool = False
    lasting: bool = False


type LoadOutcome = LoadedDocument | ExcludedDocument | Failure


def display_name(found: FoundFile) -> str:
    """Return the name of a file in messages: the address that it was fetched from, else its path."""
    return found.url or printable_name(found.root / found.path if found.archive else found.file)


def load(found: FoundFile, loading: Loading) -> tuple[LoadOutcome, ...]:
    """Return all outcomes of ``load_lazily``: another process can send no iterator."""
    return tuple(load_lazily(found, loading))


def load_lazily(found: FoundFile, loading: Loading) -> Iterator[LoadOutcome]:
    """Yield the documents in a file; a corpus has many. Any exception becomes this file's failure."""
    shown = display_name(found)
    try:
        yield from _documents(found, shown, loading)
    except OSError as exc:
        yield Failure(shown, f"cannot be read: {exc.strerror or exc}")
    except EmptyFile as exc:
        yield ExcludedDocument(shown, str(exc), empty=True)
    except (ValueError, SourceUnreadable) as exc:
        yield Failure(shown, str(exc), lasting=_is_lasting(exc))
    except Exception as exc:  # noqa: BLE001 - the other files go on
        yield Failure(shown, describe_unexpected(exc))


def _is_lasting(error: BaseException | None) -> bool:
    """Whether the file's bytes alone caused the error; errors of disk and memory may pass."""
    while error:
        if isinstance(error, OSError | MemoryError | RecursionError):
            return False
        error = error.__cause__
    return True


def split_mailbox(found: FoundFile, loading: Loading) -> list[FoundFile]:
    """Return the parts of a large mailbox, which are read one by one: each has its own time and memory."""
    parts, start = [], 0
    with suppress(OSError, ValueError):  # reading the file reports it
        if _kind(found, loading) == MAILBOX_SUFFIX and found.file.stat().st_size > MAILBOX_BYTES:
            with found.file.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
                while start < len(data):
                    match = _ENVELOPE.search(data, start + MAILBOX_BYTES)
                    end = match.end() if match else len(data)
                    parts.append(replace(found, part=(start, end - start)))
                    start = end
    return parts or [found]


def is_corpus(found: FoundFile, loading: Loading) -> bool:
    """Whether a file has a document on each line."""
    return _kind(found, loading) == CORPUS_SUFFIX


def _kind(found: FoundFile, loading: Loading) -> str:
    return loading.kind_of(found.file) or suffix(found.file.name)


def _documents(found: FoundFile, shown: str, loading: Loading) -> Iterator[LoadOutcome]:
    kind = _kind(found, loading)
    data = file_bytes(found.file, found.part)
    if not data.strip():
        yield ExcludedDocument(shown, "is empty", empty=True)
        return
    converted = kind in loading.readers and not (kind in PAGE_SUFFIXES and _FRONT_MATTER.match(data))
    with _step("cannot be converted", "Save it in another format, or --exclude it"):
        made = loading.readers[kind](data, found) if converted else _decoded(data, kind, loading)
    del data  # a corpus is large, and read line by line
    if kind == CORPUS_SUFFIX and not converted:
        yield from _corpus(found, shown, made)
    elif made.parts:
        for number, part in enumerate(made.parts, 1):
            outcome = _single(found, f"{shown}:{number}", part, loading, written=False, plain=False)
            if isinstance(outcome, LoadedDocument):
                name = " ".join(re.sub(r"[\\/\0]", " ", outcome.fields.title).split())[:MAX_NAME_CHARS]
                outcome = replace(outcome, found=replace(found, path=f"{found.path}/{name}{MAIL_SUFFIX}"))
            yield outcome
    else:
        plain = not converted and kind not in {*SUFFIXES, *loading.readers} - {TEXT_SUFFIX}
        written = kind in WRITTEN if converted else not plain
        outcome = _single(found, shown, made, loading, written=written, plain=plain)
        reason = site_file_reason(found, outcome.text) if isinstance(outcome, LoadedDocument) else ""
        yield ExcludedDocument(shown, reason, lasting=True) if reason else outcome


@contextmanager
def _step(trouble: str, way_out: str) -> Iterator[None]:
    """Turn any unexpected exception in one step of reading into a sentence."""
    try:
        yield
    except (OSError, ValueError, SourceUnreadable):
        raise
    except Exception as exc:
        raise SourceUnreadable(f"{trouble}: {describe_unexpected(exc)}. {way_out}") from exc


def _decoded(data: bytes, kind: str, loading: Loading) -> ConvertedText:
    """Decode a text file, which may have any suffix if it was given itself; ValueError: it is not text."""
    known = {*SUFFIXES, CORPUS_SUFFIX, *loading.readers}
    if kind in REMEDIES:
        raise ValueError(f"is a {kind} file, which is not read: {REMEDIES[kind].format('it')}")
    try:
        text, caveat = decode(data)
    except ValueError as exc:
        if kind in known:
            raise
        accepted = ", ".join(sorted(known))
        raise ValueError(f"is no text and has the suffix {kind!r}; accepted are {accepted}") from exc
    return ConvertedText(text, (caveat,) if caveat else ())


def _corpus(found: FoundFile, shown: str, corpus: ConvertedText) -> Iterator[LoadOutcome]:
    """Yield the documents on the lines of ``corpus``, without blank ones.

    ``metadata`` is read as front matter would be, and so are other keys beside ``_id``, ``title`` and ``text``.
    Without a title the ``_id`` is the title; without a text (missing, null or blank) the title is the text.
    """
    caveats = corpus.caveats
    for number, match in enumerate(_LINE.finditer(corpus.text), start=1):  # str.split would hold all lines at once
        if match[0].strip():
            line = f"{shown}:{number}"
            try:
                fields, body, words = _record(match[0])
            except ValueError as exc:
                yield Failure(line, str(exc), lasting=True)
            except Exception as exc:  # noqa: BLE001 - the other lines go on
                yield Failure(line, describe_unexpected(exc), lasting=True)
            else:
                yield LoadedDocument(found, line, fields, body, (*caveats, *invisible_caveat(words)))
                caveats = ()  # once a file


def _record(line: str) -> tuple[Fields, str, int]:
    """Return the fields (``doc_id`` is the ``_id``, ``title`` is never empty), the text, and its invisible words."""
    try:
        found = json.loads(line)
    except ValueError as exc:
        raise ValueError(f"is not JSON: {exc}") from exc
    if not isinstance(found, dict):
        raise ValueError("is not a JSON object")  # noqa: TRY004 (the file's fault, not the caller's)
    doc_id, text = found.pop("_id", None), found.pop("text", None)
    if isinstance(doc_id, bool) or not isinstance(doc_id, (str, int)) or not str(doc_id).strip():
        raise ValueError("has no '_id'")
    text = "" if text is None else text
    if not isinstance(text, str):
        raise ValueError("has no 'text'")  # noqa: TRY004 (the file's fault, not the caller's)
    metadata = found.pop("metadata", None)
    fields = parse_fields(drop_invisible_values({**(metadata if isinstance(metadata, dict) else {}), **found}))
    doc_id = str(doc_id).strip()
    # Public BEIR sets hold records of a title alone; it can be found, and there is nothing else to show.
    text, words = drop_invisible(text)
    text = text.replace("\0", " ").replace("\r\n", "\n").replace("\r", "\n").strip() or fields.title
    if not text:
        raise ValueError("has no 'text'")
    return replace(fields, doc_id=doc_id, title=fields.title or doc_id), text, words


def _single(
    found: FoundFile, shown: str, made: ConvertedText, loading: Loading, *, written: bool, plain: bool
) -> LoadOutcome:
    """Return the document of a file; ``written``: its author wrote Markdown, with markup that a page does not show.

    ``plain`` text has no front matter and no headings.
    """
    with _step("has front matter that cannot be read", "Mend it, or --exclude the file"):
        meta, body, problem = ({}, made.text, "") if plain else split_front_matter(made.text)
        fields = parse_fields(drop_invisible_values(meta))
    if loading.today and (reason := exclusion_reason(fields, loading.today)):
        return ExcludedDocument(shown, reason)
    if written and loading.site:
        with _step("has markup that cannot be read", "Mend it, or --exclude the file"):
            shown_page = loading.site.as_read(body, found, meta)
            body, source = shown_page.text, shown_page.plain if made.plain is None else made.plain
            made = replace(made, caveats=(*made.caveats, *shown_page.caveats), plain=source)
    body, words = drop_invisible(body)
    title, _ = drop_invisible(_title(found, fields.title, "" if plain else body, loading.site, written=written))
    if not plain:
        body = add_preamble(fields, body)
    if not body.strip():
        reason = "has front matter but no text" if meta else "holds no text"
        return ExcludedDocument(shown, "; ".join((reason, *made.caveats)), empty=True)
    url = _address(found, meta, loading.site) or fields.url
    anchors = loading.site.anchors(found) if loading.site and url else ""
    caveats = (*made.caveats, *([problem] if problem else []), *invisible_caveat(words))
    indexed = "\n".join([title, body, *map(str, fields.extra.values())])
    loss = find_loss(made.plain, indexed, caveats)
    return LoadedDocument(found, shown, replace(fields, title=title, url=url), body, caveats, anchors, loss)


def _title(found: FoundFile, stated: str, markdown: str, site: SiteRules | None, *, written: bool) -> str:
    if title := md.plain_title(stated) if written else stated:
        return title
    heading = "" if site and site.named(found) else title_heading(markdown)
    place = found.path if found.explicit or found.url else f"{found.root.resolve().name}/{found.path}"
    return heading or title_from_name(place)


def _address(found: FoundFile, meta: Meta, site: SiteRules | None) -> str:
    return found.url or (site.address(found, meta) if site else "")
