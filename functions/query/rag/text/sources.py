"""Labels, names and addresses of chunks as sources."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote, urlsplit

from knowledge.model.values import NEWEST_MESSAGE, OLDER_VERSIONS, Chunk

_SEPARATOR = " > "
ARROW = "\u203a"
"""Replaces a ``>`` of a title or a heading in a label."""
# A title's own brackets and arrows would end or split the label, or begin a tag that a separator closes: show
# look-alikes instead.
_SAFE = str.maketrans("[]\u3010\u3011\uff3b\uff3d<>", f"()()()\u2039{ARROW}")


def safe(text: str) -> str:
    """Return ``text`` on one line, without the characters that have a meaning in a label."""
    return " ".join(text.translate(_SAFE).split())


def make_label(title: str, section: str) -> str:
    """Return ``"[Title > Section]"``, or ``"[Title]"`` without a section."""
    path = [safe(title), *(safe(part) for part in section.split(_SEPARATOR) if part.strip())]
    return f"[{_SEPARATOR.join(path)}]"


def dated_label(label: str, chunk: Chunk) -> str:
    """Return ``label`` with the chunk's date as far as it is known: ``[Title > Section] (2026-01-05)``, ``(2026)``.

    The older versions of its document are named too, ``(takes precedence over fees v1.md)``, and for an earlier message
    of a thread the newest one.
    """
    year, month, day = chunk.dated // 10_000, chunk.dated // 100 % 100, chunk.dated % 100
    date = "-".join(f"{part:02}" for part in (year, month, day) if part)
    older = ", ".join(safe(path.rpartition("/")[2]) for path in older_versions(chunk))
    newer = newest_message(chunk)
    facts = [*([date] if date else []), *([f"takes precedence over {older}"] if older else [])]
    facts += [f"a later message of this thread is by {safe(newer)}"] if newer else []
    return f"{label} ({', '.join(facts)})" if facts else label


def older_versions(chunk: Chunk) -> list[str]:
    """Return the paths of the older versions of the chunk's document, as the names of their files tell."""
    return str(chunk.extra.get(OLDER_VERSIONS, "")).splitlines()


def newest_message(chunk: Chunk) -> str:
    """Return writer and day of the newest message of the chunk's thread, ``""`` if the chunk is of that message."""
    newest, own = str(chunk.extra.get(NEWEST_MESSAGE, "")), message_of(chunk)
    return newest if [*filter(str.isalnum, newest)] != [*filter(str.isalnum, own)] else ""


def message_of(chunk: Chunk) -> str:
    """Return the heading of a chunk's message in a thread."""
    return chunk.section.partition(_SEPARATOR)[0]


def is_later_message(one: Chunk, other: Chunk) -> bool:
    """Return whether ``one`` is of a later message than ``other`` in the same thread."""
    is_thread = one.doc_id == other.doc_id and NEWEST_MESSAGE in one.extra
    return is_thread and one.chunk_index < other.chunk_index and message_of(one) != message_of(other)


def path_of(chunk: Chunk) -> str:
    """Return ``Title > Section`` of the chunk on one line, without empty parts."""
    return " ".join(_SEPARATOR.join(filter(None, (chunk.title, chunk.section))).split())


def heading(chunk: Chunk) -> str:
    """Return the last heading of the chunk's section, else its document's title, on one line."""
    return " ".join((chunk.section.rsplit(" > ", 1)[-1] or chunk.title).split())


TRAILING = ".,;:!?*_"
"""Signs at the end of an address that belong to the sentence."""
# A pair of brackets stays, as in "people_(beta)".
_PAIR_OR_END = re.compile(r"\([^\s()<>\[\]]*\)|[\s<>()\[\]\"'`]")
_USER = re.compile(r"^(https?://)[^/?#\\]*@", re.IGNORECASE)
_ESCAPE = re.compile(r"%[0-9a-fA-F]{2}")
_NOT_ASCII = re.compile(r"[^\0-\x7f]+")
_UNRESERVED = re.compile(r"[\w.~()!*',-]", re.ASCII)
_NO_URL_CHARS = re.compile(r"[^\w!#$%&'()*+,/:;=?@\[\]~.-]+")
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


def source_urls(chunk: Chunk) -> tuple[str, ...]:
    """Return the chunk's http and https sources, or its page if it names no source."""
    urls = tuple(dict.fromkeys(escape_url(url) for url in chunk.source_urls if is_http(url)))
    return urls or ((escape_url(chunk.url),) if is_http(chunk.url) else ())


def is_http(url: str) -> bool:
    """Return whether ``url`` is an address that a reader can open; ``N/A`` is none."""
    return url.lower().startswith(("http://", "https://")) and address_key(escape_url(url)) is not None


def escape_url(url: str) -> str:
    """Return ``url`` without user and password, and with percent escapes for characters that no URL may have.

    Such are blanks, controls, quotes, backslashes, angle brackets and invisible characters.
    """
    plain = _USER.sub(r"\1", url.strip())
    return _NO_URL_CHARS.sub(lambda chars: quote(chars[0], safe="", errors="replace"), plain)


def source_url(chunk: Chunk) -> str:
    """Return the chunk's page, else its first source, ``""`` without an address."""
    return escape_url(chunk.url) if is_http(chunk.url) else next(iter(source_urls(chunk)), "")


def source_name(chunk: Chunk) -> str:
    """Return the name for ``Source:``: the chunk's address, else its title on one line.

    Signs that would end the address, such as blanks and single brackets, are escaped.
    """
    url = _PAIR_OR_END.sub(lambda part: part[0] if len(part[0]) > 1 else quote(part[0], safe=""), source_url(chunk))
    return url or title_name(chunk)


def title_name(chunk: Chunk) -> str:
    """Return the chunk's title as a source name: on one line, and never an address."""
    return safe(chunk.title).replace("://", ": //")


def same_source(name: str) -> str:
    """Return a key of a source's name, without case, escapes, angle brackets, final slash and punctuation."""
    bare = " ".join(unquote(name).split()).strip("<>").rstrip(TRAILING).rstrip("/")
    return bare.casefold()


def _is_visible(address: str) -> bool:
    return address != "" and address.isprintable() and not {" ", "\\"} & set(address)


def address_key(address: str) -> str | None:
    """Return a key that is equal for two spellings of one address, None if no link may lead there.

    A link may lead to http, https, mailto and to relative addresses. Spellings differ in the case of scheme and host,
    in http or https or neither (``www.a.example``, ``//a.example``), the default port, a final slash, the fragment,
    and in needless escapes. Everything else must be equal to the letter: the host, a user before it, the path and the
    query. Text with a blank, a backslash or an invisible character is no address.
    """
    if not _is_visible(address):
        return None
    if address[:4].lower() == "www.":
        address = f"//{address}"
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    scheme, rest = parts.scheme, _drop_needless_escapes(parts.path)
    query = f"?{_drop_needless_escapes(parts.query)}" if parts.query else ""
    if scheme == "mailto":
        return f"mailto:{unquote(parts.path).casefold()}{query}"
    if scheme in {"http", "https"} or (not scheme and address.startswith("//")):
        user, at, host = parts.netloc.rpartition("@")
        host = host.lower().removesuffix(_DEFAULT_PORTS.get(scheme, ":80"))
        return f"//{user}{at}{host}{rest.removesuffix('/')}{query}" if parts.netloc else None
    if scheme or ":" in parts.path.partition("/")[0]:
        return None
    return f"{rest}{query}" if rest or query else f"#{parts.fragment}"


def _drop_needless_escapes(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        char = unquote(match[0])
        return char if _UNRESERVED.fullmatch(char) else match[0].upper()

    return _ESCAPE.sub(plain, _NOT_ASCII.sub(lambda chars: quote(chars[0], errors="replace"), text))
