"""The fields that a document states about itself, and the paragraphs that they add to its text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, time
from html import unescape
from typing import Any
from urllib.parse import urlsplit

from knowledge.model.values import KEYWORDS, NEWEST_MESSAGE, OLDER_VERSIONS, OTHER_PATHS, Scalar
from knowledge.read import markdown as md
from knowledge.read.dates import newest_date, to_iso

# Chunk fields that no document may set.
_OWN = (
    *("section", "chunk_index", "chunk_count", "chunk_number", "path", "dated"),
    *(OTHER_PATHS, OLDER_VERSIONS, NEWEST_MESSAGE),
)
_TEXTS = ("title", "category", "source_org", "source_type", "jurisdiction", "last_updated", "url", "doc_id")
_ALIASES = {
    "link": "url",
    "source": "source_org",
    "organisation": "source_org",
    "organization": "source_org",
    "last_update": "last_updated",
    "lastmod": "last_updated",
    "updated": "last_updated",
}
# What stands at a page's head beside its title. On 27 public sites (11,500 pages) 4,800 have a description, 511 a
# summary, 336 a deck, 30 a lead, 22 a subtitle; of 334 with both summary and deck 308 say another thing in each.
_SUMMARIES = ("description", "summary", "deck", "lead", "subtitle")
_WORDS = ("keywords", "tags")
_NAMES = ("aliases", "alias")
_NAMES_DEPTH = 3  # 116 pages of Hugo's own documentation have them below params and functions_and_methods
# How the tools call the days on which a page ends and begins to be published; names without "_".
_EXPIRES = ("expirydate", "unpublishdate")
_PUBLISHED = ("publishdate", "pubdate")
_TRUE, _FALSE = ("true", "yes", "on"), ("false", "no", "off")  # text in YAML 1.2, but not to the tools
_NOT_EXTRA = frozenset((*_OWN, *_SUMMARIES, *_WORDS, *_NAMES))
_SLUG = re.compile(r"[a-z\d.]+(?:[-_][a-z\d.]+)+")  # six of eight aliases without "/" on five Hugo sites are addresses
_MAX_INT = 2**63  # Chroma's integers are 64 bits
_SLASHED_DATE = re.compile(r"(\d{4})[/.](\d{1,2})[/.](\d{1,2})")
_ENTITY = re.compile(r"&#?\w+;")
_URL_COMMA = re.compile(r",\s+|,(?=https?://)|\n")
_WORD = re.compile(r"\w+")
_BLANK = re.compile(r"[ \t]*\n")
_MAX_HEADING_CHARS = 2000  # in which a heading at the beginning ends


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """The fields that a document states, ``""`` if missing; ``extra`` as in ``Document``.

    ``description`` has a paragraph for each different text among description, summary and the like. ``aliases`` are
    other names for its subject, without old addresses of the page. ``expires`` is the first day on which it is no
    longer read, ``publish`` the first day on which it is. ``message_ids`` of a mail: see ``knowledge.read.threads``.
    """

    doc_id: str = ""
    title: str = ""
    category: str = ""
    source_org: str = ""
    source_urls: tuple[str, ...] = ()
    source_type: str = ""
    jurisdiction: str = ""
    last_updated: str = ""
    url: str = ""
    description: str = ""
    keywords: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    draft: bool = False
    expires: str = ""
    publish: str = ""
    message_ids: tuple[str, ...] = ()
    extra: Mapping[str, Scalar] = field(default_factory=dict)


def parse_fields(meta: Mapping[Any, Any]) -> Fields:
    """Parse ``meta`` into the fields of a document; names count without case, ``-`` and camelCase as ``_``.

    Scalars under other names become ``extra``. Left out: lists and mappings, empty and non-finite values, and the
    names that a chunk sets itself (section, path, dated, chunk_index, chunk_count, chunk_number).
    """
    own: dict[str, object] = {}
    for key, value in meta.items():
        own.setdefault(_name(str(key)), value)
    known, urls, extra = _sorted(meta)
    source = known.get("source_org", "")
    if is_web_url(source):  # "source: https://..." names a page, not an organisation
        known["source_org"] = ""
        urls = urls or (source,)
    url = next((found for found in (known.get("url", ""), *urls) if is_web_url(found)), "")
    known |= {"url": url, "title": _title(known.get("title", ""))}
    known["last_updated"] = _iso(known.get("last_updated", ""))
    known["description"] = "\n\n".join(_unique(_title(_text(own.get(name))) for name in _SUMMARIES))
    joined = {name.replace("_", ""): value for name, value in own.items()}
    return Fields(
        **known,
        source_urls=urls,
        keywords=_unique(part for name in _WORDS for part in _listed(own.get(name))),
        aliases=_unique(name for name in _aliases(own, _NAMES_DEPTH) if not _is_path(name)),
        draft=_text(own.get("draft")).lower() in _TRUE or _text(own.get("published")).lower() in _FALSE,
        expires=next(filter(None, (_text(joined.get(name)) for name in _EXPIRES)), ""),
        publish=next(filter(None, (_text(joined.get(name)) for name in _PUBLISHED)), ""),
        message_ids=tuple(_listed(own.get("message_ids"))),
        extra=extra,
    )


def _sorted(meta: Mapping[Any, Any]) -> tuple[dict[str, str], tuple[str, ...], dict[str, Scalar]]:
    """Return the texts by field, the addresses of sources, and the values without a field."""
    texts: dict[str, str] = {}
    aliased: dict[str, str] = {}
    urls: tuple[str, ...] = ()
    extra: dict[str, Scalar] = {}
    for key, value in meta.items():
        name = _name(str(key))
        if name == "source_urls":
            urls = _urls(value)
        elif name in _TEXTS:
            texts[name] = _text(value)
        elif name == "id":
            aliased["doc_id"] = _text(value)
        elif name not in _NOT_EXTRA and (scalar := _scalar(value)) is not None:
            extra[str(key).strip()] = scalar
            if name in _ALIASES:
                aliased.setdefault(_ALIASES[name], _text(value))
    return aliased | {name: text for name, text in texts.items() if text}, urls, extra


def exclusion_reason(stated: Fields, today: date) -> str:
    """Return why a site would hide the document on the day ``today``, in words; ``""`` if it would not."""
    now = newest_date(today.isoformat())
    if stated.draft:
        return "is a draft"
    if 0 < newest_date(stated.expires) <= now:
        return f"expired on {stated.expires[:10]}"
    if newest_date(stated.publish) > now:
        return f"is to be published on {stated.publish[:10]}"
    return ""


def _listed(value: object) -> Iterator[str]:
    """Return the items of a list, or of a text with commas between them."""
    parts = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else ()
    return (" ".join(text.split()) for part in parts if (text := _text(part)))


def _aliases(own: Mapping[Any, object], depth: int) -> Iterator[str]:
    for key, value in own.items():
        if str(key).lower() in _NAMES:
            yield from _listed(value)
        elif isinstance(value, dict) and depth:
            yield from _aliases(value, depth - 1)


def _is_path(alias: str) -> bool:
    """Whether it is an old address of the page, as sites have them for redirects."""
    return "/" in alias or alias.endswith((".html", ".md")) or _SLUG.fullmatch(alias) is not None


def _unique(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, texts)))


def _title(text: str) -> str:
    """Return ``text`` on one line, without entities: exported web pages have ``&amp;`` in their titles."""
    return " ".join(_ENTITY.sub(lambda match: unescape(match[0]), text).split())


def _name(key: str) -> str:
    return re.sub(r"[\s-]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key.strip())).lower()


def _scalar(value: object) -> Scalar | None:
    """Return the stored form of ``value``; None for a value that is not stored."""
    if isinstance(value, date | time):  # datetime is a date too
        return value.isoformat()
    if isinstance(value, str):
        return to_iso(value.replace("\0", " ").strip()) or None
    if isinstance(value, bool) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, int):
        return value if -_MAX_INT <= value < _MAX_INT else str(value)
    return None


def _text(value: object) -> str:
    scalar = _scalar(value)
    if scalar is None:
        return ""
    return str(scalar).lower() if isinstance(scalar, bool) else str(scalar)


def _urls(value: object) -> tuple[str, ...]:
    parts = _URL_COMMA.split(value) if isinstance(value, str) else value if isinstance(value, list) else ()
    stripped = (part.strip() for part in parts if isinstance(part, str))
    return tuple(dict.fromkeys(part for part in stripped if part and part.upper() != "N/A"))


def is_web_url(url: str) -> bool:
    """Whether ``url`` is a web address with a host."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)


def _iso(text: str) -> str:
    match = _SLASHED_DATE.fullmatch(text)
    return f"{match[1]}-{int(match[2]):02}-{int(match[3]):02}" if match else text


def add_preamble(fields: Fields, body: str) -> str:
    """Add description, keywords and other names from ``fields`` to ``body`` (Markdown), a paragraph each.

    They stand below the title at the top of the body, if it has one, so that a chunk has them under its title. Without
    paragraphs of the description that the body repeats, and names that equal the title.
    """
    words = _words(body)
    said = [text for text in fields.description.split("\n\n") if text and _words(text) not in words]
    names = [name for name in fields.aliases if _words(name) != _words(fields.title)]
    if fields.keywords:
        said.append(f"{KEYWORDS}{', '.join(fields.keywords)}")
    if names:
        said.append(f"Also called: {', '.join(names)}")
    if not said:
        return body
    end = _end_of_heading(body, fields.title)
    return "\n\n".join(filter(None, (body[:end].strip("\n"), *said, body[end:].lstrip("\n"))))


def _words(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _end_of_heading(body: str, title: str) -> int:
    """Return the end of the title at the beginning of ``body``, 0 if it has none."""
    blank = 0
    while match := _BLANK.match(body, blank):
        blank = match.end()
    blocks = md.parse(body[blank : blank + _MAX_HEADING_CHARS])
    if not blocks or blocks[0].kind != "heading" or blocks[0].first:
        return 0
    if blocks[0].level > 1 and _words(blocks[0].title) != _words(title):
        return 0  # a section's
    end = blank
    for _ in range(blocks[0].end):
        end = body.find("\n", end) + 1 or len(body)
    return end
