"""One file's documents: what a suffix is read with, and what the file says of itself."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from knowledge.cut import markdown as md
from knowledge.errors import SourceUnreadable, unexpected
from knowledge.read import corpus, frontmatter
from knowledge.read.decoding import decode
from knowledge.read.frontmatter import Fields
from knowledge.read.walk import Found, readable
from knowledge.types import Failure

CORPUS_NAME = "corpus.jsonl"
CORPUS_SUFFIX = ".jsonl"
TEXT_SUFFIX = ".txt"
SUFFIXES = (".markdown", ".md", TEXT_SUFFIX)
"""What is read in folders without a converter, beside ``CORPUS_NAME``."""

_BEGINNING_CHARS = 64 * 1024  # where the first heading is nearly always: the rest need not be parsed for it

type Reader = Callable[[bytes], str]
"""A file's bytes as Markdown text, front matter allowed. Raises ValueError or SourceUnreadable."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A document before its identity is settled: ``fields.doc_id`` may be ``""``, ``fields.title`` is not.

    ``shown`` is what messages call it; ``caveats`` say what was not as it should be.
    """

    found: Found
    shown: str
    fields: Fields
    text: str
    caveats: tuple[str, ...] = ()


def suffix(name: str) -> str:
    """The suffix of a file name, lower case, with the dot."""
    return PurePosixPath(name).suffix.lower()


def load(found: Found, readers: Mapping[str, Reader]) -> Iterator[Entry | Failure]:
    """The documents in a file, of which a corpus has many. ``readers`` convert the suffixes that they name.

    Whatever reading it raises is this file's failure.
    """
    shown = readable(found.file)
    try:
        yield from _documents(found, shown, readers)
    except OSError as exc:
        yield Failure(shown, f"cannot be read: {exc.strerror or exc}")
    except (ValueError, SourceUnreadable) as exc:
        yield Failure(shown, str(exc))
    except Exception as exc:  # noqa: BLE001 - the other files go on
        yield Failure(shown, unexpected(exc))


def _documents(found: Found, shown: str, readers: Mapping[str, Reader]) -> Iterator[Entry | Failure]:
    kind = suffix(found.file.name)
    if kind not in {*SUFFIXES, CORPUS_SUFFIX, *readers}:
        accepted = ", ".join(sorted({*SUFFIXES, CORPUS_SUFFIX, *readers}))
        raise ValueError(f"has the suffix {kind!r}; accepted are {accepted}")
    data = _bytes(found)
    if not data.strip():
        raise ValueError("is empty")
    text, caveat = (readers[kind](data), "") if kind in readers else decode(data)
    caveats = (caveat,) if caveat else ()
    if kind == CORPUS_SUFFIX and kind not in readers:
        yield from _corpus(found, shown, text, caveats)
    else:
        yield _single(found, shown, text, caveats, plain=kind == TEXT_SUFFIX and kind not in readers)


def _bytes(found: Found) -> bytes:
    if not stat.S_ISREG(found.file.stat().st_mode):
        raise ValueError("is not a regular file")  # reading a pipe would wait for ever
    return found.file.read_bytes()


def _corpus(found: Found, shown: str, text: str, caveats: tuple[str, ...]) -> Iterator[Entry | Failure]:
    for record in corpus.records(text):
        line = f"{shown}:{record.line}"
        if isinstance(record, corpus.BadLine):
            yield Failure(line, record.error)
        else:
            yield Entry(found, line, record.fields, record.text, caveats)
            caveats = ()  # said once a file


def _single(found: Found, shown: str, text: str, caveats: tuple[str, ...], *, plain: bool) -> Entry | Failure:
    meta, body, problem = ({}, text, "") if plain else frontmatter.split(text)
    if not body.strip():
        return Failure(shown, "has front matter but no text" if text.strip() else "holds no text")
    caveats = (*caveats, problem) if problem else caveats
    fields = frontmatter.fields(meta)
    title = fields.title or ("" if plain else _first_heading(body)) or _words(PurePosixPath(found.path).stem)
    return Entry(found, shown, replace(fields, title=title), body, caveats)


def _first_heading(text: str) -> str:
    beginning = text[: text.find("\n", _BEGINNING_CHARS) + 1]
    titles = (heading.title for part in (beginning, text) for heading in md.headings(md.parse(part)))
    return next(filter(None, titles), "")


def _words(stem: str) -> str:
    return " ".join(stem.replace("-", " ").replace("_", " ").split()) or stem
