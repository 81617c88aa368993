"""Mail to Markdown: a section with the writer and the day, the new text of the message, and its attachments.

The headers are decoded here: ``email.policy.default`` raises on malformed ones.
"""

from __future__ import annotations

import codecs
import hashlib
import mimetypes
import re
from collections import Counter
from contextlib import suppress
from datetime import datetime
from email import message_from_bytes
from email.header import decode_header
from email.message import Message
from email.utils import parseaddr, parsedate_to_datetime
from pathlib import PurePosixPath

from documents.converters import SUFFIXES
from documents.converters import convert as convert_file
from documents.converters.from_html import page_markdown, parse
from documents.converters.mail_quotes import clean_body, mark_quotes, split_subject
from documents.converters.outlook import OLE, make_part, read_outlook
from documents.converters.output import compose, fence, hidden_caveat, literal, one_line
from documents.errors import DocumentError, NoText, Unconvertible
from documents.source_words import FRONT_MATTER, plain_text
from documents.values import MIB, Converted, Decode

MAX_DEPTH, MAX_FILES, MAX_BYTES = 4, 100, 200 * MIB
"""Messages within each other, the attachments of one file, and their bytes."""
MAX_IDS, MAX_HEADER_CHARS = 200, 2000
SHARED_WORDS = 0.8
"""Share of their words that a plain and an HTML body have in common; below it the HTML counts, which readers see."""

_ENVELOPE = re.compile(
    rb"^From [^\r\n]{0,200}\d\d:\d\d[^\r\n]{0,100}\r?\n(?=>?[!-9;-~]+[ \t]*:|>From |\r?\n)", re.MULTILINE
)
_USUAL_HEADERS = ("from", "subject", "date", "to", "message-id", "received", "mime-version", "content-type")
_MESSAGE_ID = re.compile(r"<([^<>\s@]{1,250}@[^<>\s]{1,250}|[^<>\s]{16,250})>")  # not <yes>: 37 of a list's 210
_STATEFUL = re.compile(r"iso-?2022|utf-?7|hz|utf-?(?:16|32)", re.IGNORECASE)
_SUPERSETS = {"iso-8859-1": "cp1252", "us-ascii": "cp1252", "gb2312": "gb18030", "ks_c_5601-1987": "cp949"}
_IGNORED = re.compile(  # signatures, and what programs tell each other
    r"(?:application/(?:(?:x-)?pkcs7-signature|pgp-(?:signature|keys|encrypted)|(?:vnd\.)?ms-tnef|applefile)"
    r"|message/(?!rfc822 )[\w.-]+|text/(?:rfc822-headers|x-amp-html)) .*|.* (?:winmail\.dat|.*\.(?:p7s|asc))",
    re.IGNORECASE,
)
_ENCRYPTED = re.compile(r"application/(?:x-)?pkcs7-mime|multipart/encrypted")
_HEADING = re.compile(r"^(`{3,}|~{3,})[^\n]*\n.*?^\1[ \t]*$|^(#{1,6})(?=[ \t])", re.DOTALL | re.MULTILINE)
_EVENT_FIELD = re.compile(r"^(DTEND|DTSTART|LOCATION|SUMMARY)(?:;[^:\n]*)?:(.*?)$", re.MULTILINE)
_EVENT_TIME = re.compile(r"^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\w*)?$")
_WORD = re.compile(r"\w{2,}")


def convert(data: bytes, *, decode: Decode, mailbox: bool = False) -> Converted:
    """Return a message, or with ``mailbox`` each message of a file in mbox format as one of the ``parts``.

    Its front matter has ``title`` (the base subject), ``author``, ``date`` and ``message_ids``: its own, then those
    that it answers, of which ``subject:`` stands for any of its title.

    Raises:
        NoText: the message holds no text.
        Unconvertible: the file is no message.
    """
    if not mailbox:
        return _convert_message(_parse(data), decode)
    starts = [match.start() for match in _ENVELOPE.finditer(data)]
    parts = []
    for start, end in zip(starts or [0], [*starts[1:], len(data)], strict=True):
        try:
            mail = _parse(re.sub(rb"(?m)^>(>*From )", rb"\1", data[start:end]), strict=not starts)
            parts.append(_convert_message(mail, decode))
        except Exception as exc:  # noqa: BLE001 - the other messages go on
            parts.append(Converted("", (one_line(str(exc)) or type(exc).__name__,)))
    return Converted("", parts=tuple(parts))


def _convert_message(mail: Message, decode: Decode) -> Converted:
    reader, head = _Reader(decode), _Headers(mail, decode)
    body = reader.read(mail, head) or ("" if reader.caveats else head.title)
    if not body:
        raise NoText("; ".join(("holds no text", *reader.caveats)))
    text = f"## {head.line}\n\n{body}" if head.line else body
    first = next(filter(None, (one_line(line).strip("#>*-| ") for line in body.splitlines())), "")
    front = {"author": head.author, "date": head.date.isoformat() if head.date else ""}
    own, *answered = head.ids
    ids = [own or hashlib.sha256(text.encode(errors="replace")).hexdigest(), *answered]
    text = compose(text, title=head.title or first[:80], **front, message_ids=ids)
    return Converted(text, tuple(dict.fromkeys(reader.caveats)), "\n".join(reader.plain))


def _parse(data: bytes, *, strict: bool = True) -> Message:
    if data.startswith(OLE):
        return read_outlook(data)
    mail = message_from_bytes(data.lstrip(codecs.BOM_UTF8 + b" \t\r\n"))
    if strict and not any(name in mail for name in _USUAL_HEADERS):
        raise Unconvertible("is no mail: it has no headers")
    return mail


def _decode_text(data: bytes, charset: str, decode: Decode) -> str:
    """Decode by UTF-8 if that is possible, whatever is stated, else by ``charset``, else by ``decode``."""
    charset = _SUPERSETS.get(charset.lower(), charset)
    for name in (charset, "utf-8") if _STATEFUL.match(charset) else ("utf-8", charset):
        with suppress(ValueError, LookupError):
            return data.decode(name)
    with suppress(ValueError):
        return decode(data)[0]
    return data.decode("cp1252", "replace")


class _Headers:
    """The decoded headers of a message. ``ids`` are those of ``convert``, ``line`` has the author and the day."""

    def __init__(self, mail: Message, decode: Decode) -> None:
        raw = {name.lower(): str(value) for name, value in reversed(list(mail.raw_items()))}
        self._decode = decode
        ids = [_MESSAGE_ID.findall(raw.get(name, "")) for name in ("message-id", "in-reply-to", "references")]
        answered = [*ids[1], *ids[2]][:MAX_IDS]
        self.title, self.kind = split_subject(self.text(raw.get("subject", "")), is_answer=bool(answered))
        self.kind = self.kind or ("reply" if answered else "")
        self.ids = [*(ids[0][:1] or [""]), *(answered or ["subject:"] * (self.kind == "reply"))]
        name, address = parseaddr(raw.get("from", "")[:MAX_HEADER_CHARS], strict=False)
        self.author = self.text(name).strip(" '\"") or self.text(address)
        if " " not in self.author:  # no address is text
            self.author = self.author.partition("@")[0].strip("-")
        self.date: datetime | None = None
        for text in (raw.get("date", ""), raw.get("received", "").rpartition(";")[2]):
            with suppress(ValueError, OverflowError):
                self.date = self.date or parsedate_to_datetime(text)
        self.line = ", ".join(filter(None, (self.author, self.date.date().isoformat() if self.date else "")))

    def text(self, header: str) -> str:
        """Decode the bytes and the encoded words (RFC 2047) of a header."""
        text = _decode_text(header[:MAX_HEADER_CHARS].encode("utf-8", "surrogateescape"), "utf-8", self._decode)
        with suppress(ValueError):
            words = decode_header(" ".join(text.split()))
            text = "".join(
                one if isinstance(one, str) else _decode_text(one, charset or "utf-8", self._decode)
                for one, charset in words
            )
        return one_line(text)


class _Reader:
    """Reads a message and those within it; ``plain`` are its texts, to compare with."""

    def __init__(self, decode: Decode) -> None:
        self._decode = decode
        self._files, self._bytes = 0, 0
        self.caveats: list[str] = []
        self.plain: list[str] = []

    def read(self, mail: Message, head: _Headers, depth: int = 0) -> str:
        """Return the text of a message and of its attachments."""
        bodies: list[tuple[str, str]] = []
        files: list[Message] = []
        self._sort_parts(mail, bodies, files)
        texts = [self._body(plain, html, head) for plain, html in bodies]
        return "\n\n".join(filter(None, (*texts, *(self._attachment(one, head, depth) for one in files))))

    def _sort_parts(self, part: Message, bodies: list[tuple[str, str]], files: list[Message]) -> None:
        """Sort the parts of a message into its bodies, plain and HTML, and its files."""
        mime_type, payload = part.get_content_type(), part.get_payload()
        name, is_shown = part.get_filename(""), part["Content-ID"] or part.get_content_disposition() != "attachment"
        if _ENCRYPTED.fullmatch(mime_type):
            self.caveats.append("is encrypted: open it in a mail program and save the text")
        elif mime_type.startswith("multipart/"):
            found: list[tuple[str, str]] = []
            for one in payload if isinstance(payload, list) else [make_part("text/plain", _decoded_bytes(part))]:
                self._sort_parts(one, found, files)  # type: ignore[arg-type]  # the stub's union
            if mime_type == "multipart/alternative" and found:
                plains, pages = map("\n\n".join, zip(*found, strict=True))
                found = [(plains, pages)]
            bodies += found
        elif mime_type in ("text/plain", "text/html") and is_shown and not name:
            text = self._text(part)
            bodies.append((text, "") if mime_type == "text/plain" else ("", text))
        elif not _IGNORED.fullmatch(f"{mime_type} {name}") and not (is_shown and mime_type.startswith("image/")):
            files.append(part)

    def _text(self, part: Message) -> str:
        text = _decode_text(_decoded_bytes(part), str(part.get_param("charset") or "utf-8"), self._decode)
        return text.replace("\r\n", "\n").replace("\r", "\n").replace("\xa0", " ")

    def _body(self, plain: str, html: str, head: _Headers) -> str:
        """Return the text of a body: the plain one, or the HTML if that has other words or a table."""
        text = literal(clean_body(plain, subject=head.title, kind=head.kind))
        source = text
        if html.strip():
            page = parse(html)
            mark_quotes(page, keep=head.kind == "forward")
            whole, hidden = page_markdown(page)
            page_text = _lower_headings(clean_body(whole, subject=head.title, kind=head.kind), 3)
            plain_words, page_words = Counter(_WORD.findall(text)), Counter(_WORD.findall(page_text))
            is_same = (plain_words & page_words).total() >= SHARED_WORDS * max(plain_words.total(), page_words.total())
            if page_words and (not is_same or "\n| ---" in page_text):
                self.caveats += hidden_caveat(hidden)
                text = source = page_text
                if len(page_text.split()) >= len(whole.split()):  # nothing of it is a quotation
                    source = plain_text(html.encode(errors="replace"), ".html") or ""
        self.plain.append(source)
        return text.strip()

    def _attachment(self, part: Message, head: _Headers, depth: int) -> str:
        mime_type, name = part.get_content_type(), head.text(str(part.get_filename() or ""))
        data = _decoded_bytes(part)
        self._files, self._bytes = self._files + 1, self._bytes + len(data)
        title, text, suffix = f"Attachment: {name or mime_type}", "", PurePosixPath(name).suffix.lower()
        try:
            if self._files > MAX_FILES or self._bytes > MAX_BYTES or depth >= MAX_DEPTH:
                most = f"{MAX_FILES} attachments, {MAX_BYTES // MIB} MiB"
                raise Unconvertible(f"is one of more than {most} or {MAX_DEPTH} messages within each other")
            if mime_type == "message/rfc822" or suffix in (".eml", ".msg"):
                mail = _inner_message(part)
                inner = _Headers(mail, self._decode)
                title = ": ".join(filter(None, (inner.line, inner.title))) or title
                text = self.read(mail, inner, depth + 1)
            elif mime_type == "text/calendar" or suffix == ".ics":
                text = _event(_decode_text(data, "utf-8", self._decode))
            else:
                text = self._convert_attachment(data, suffix, mime_type)
        except DocumentError as exc:
            self.caveats.append(f"attachment {name or mime_type!r}: {exc}")
        title = " > ".join(filter(None, (head.line * (not depth), title)))  # a section of its own, with its writer
        return f"## {title}\n\n{_lower_headings(text, 3)}" if text.strip() else ""

    def _convert_attachment(self, data: bytes, suffix: str, mime_type: str) -> str:
        """Return the text of an attached file, by its suffix or else by its MIME type."""
        is_text = mime_type.startswith("text/") or suffix in (".md", ".txt")
        suffix = suffix or mimetypes.guess_extension(mime_type) or ""
        if suffix in SUFFIXES:
            made = convert_file(data, suffix, decode=self._decode)
            self.caveats += made.caveats
            self.plain += [one.plain or one.text for one in (made, *made.parts)]
            return "\n\n".join(FRONT_MATTER.sub("", one.text, count=1) for one in (made, *made.parts))
        if not is_text:
            raise Unconvertible(f"{suffix or mime_type} files are not read")
        self.plain.append(text := _decode_text(data, "utf-8", self._decode).replace("\r\n", "\n"))
        return literal(text) if suffix in (".md", ".txt") else fence(text)


def _decoded_bytes(part: Message) -> bytes:
    data = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else b""


def _event(text: str) -> str:
    """Return the title, the place and the time of an invitation in one line."""
    found = dict(_EVENT_FIELD.findall(re.sub(r"\n[ \t]", "", text.replace("\r\n", "\n"))))
    said = (found[name].replace("\\", "") for name in ("SUMMARY", "LOCATION", "DTSTART", "DTEND") if found.get(name))
    return ", ".join(_EVENT_TIME.sub(r"\1-\2-\3 \4:\5", one).removesuffix(" :") for one in said)


def _inner_message(part: Message) -> Message:
    """Return the attached message; Novell's GroupWise encodes it."""
    if not part.is_multipart():
        return _parse(_decoded_bytes(part))
    mail: Message = part.get_payload(0)  # type: ignore[assignment]  # the stub's union
    if mail.keys():
        return mail
    mail["Content-Transfer-Encoding"] = "base64"
    return _parse(_decoded_bytes(mail))


def _lower_headings(text: str, level: int) -> str:
    """Return Markdown whose highest heading has ``level``."""
    highest = min((len(found[2]) for found in _HEADING.finditer(text) if found[2]), default=level)
    more = "#" * max(level - highest, 0)
    return _HEADING.sub(lambda found: f"{more}{found[2]}"[:6] if found[2] else found[0], text)
