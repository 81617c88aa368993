"""The new text of a message: without the text that it quotes, and without its signature."""

from __future__ import annotations

import re
from itertools import compress, dropwhile

from bs4 import BeautifulSoup
from mailparser_reply.constants import MAIL_LANGUAGES

MAX_CHARS = 1_000_000
"""A longer text is read as it is: a search for quotations in this one takes up to 20 s."""
MOST_LINES = 12
"""Lines of a signature, and of a quotation above its answer: the question is at its end."""
NOTICE_WORDS = 25
"""Least words of a notice: a shorter one says something."""
_QUOTE_MARK = "\ufdd0"  # begins a quotation that is marked in HTML

# RFC 5256's prefixes, and those of programs in other languages; of an answer any three letters ([MS-OXCMSG] 2.2.1.10).
_REPLY, _FORWARD = "re|aw|antw?|sv|回复|答复|回覆|返信", "fwd?|wg|tr|rv|转发|轉寄"
_PREFIX = (
    r"(?i)(?:\[[^\[\]]{{1,80}}\]\s*)*(?:(?P<forward>{})|(?P<reply>{}))"
    r"\s?(?:\[\w+\]|\(\d+\)|\d+)?\s?[:：]\s*|\[(?=fwd?:)"
)
_KNOWN_PREFIX = re.compile(_PREFIX.format(_FORWARD, _REPLY))
_ANY_PREFIX = re.compile(_PREFIX.format(f"{_FORWARD}|enc|vb|vl|pd|doorst", rf"{_REPLY}|[^\W\d]{{1,3}}"))

_LABEL = re.compile(r"[>*\s]{0,6}[^\W\d][^:：\n@<>]{0,24}[:：](?!//)")
_SEPARATOR = re.compile(
    rf"(?i)\s?-{{3,}}\s?(?:original message|.{{3,60}}\d:\d\d.{{1,60}}@.{{1,60}})\s?-{{3,}}\s?|{_QUOTE_MARK}"
)
_RULER = re.compile(r"\s*\\?[-_=*]{3,}\s*")
_FRAMED_LABEL = re.compile(r"\s*[-_]{3,}\s?[^\W\d_][^-_]{2,60}\w:?\s?[-_]{3,}\s*")
_DATE = re.compile(r"\d{4}.*\d[:.h]\d\d|\d[:.h]\d\d.*\d{4}|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_ADDRESS = re.compile(r"\s?(?:<|\[|\()\s?(?:mailto:)?[^\s<>\[\]@]{1,80}@[^\s<>\[\]]{1,200}?\s?[>\])]")
_LANGUAGES = MAIL_LANGUAGES.values()
_WROTE, _HEADER_BLOCK = (
    [re.compile(one[name], re.IGNORECASE) for one in _LANGUAGES if one.get(name)]
    for name in ("wrote_header", "from_header")
)
_SENT_FROM_WORDS = "|".join(one["sent_from"] for one in _LANGUAGES if one.get("sent_from"))
_SENT_FROM = re.compile(
    rf"(?i)(?:{_SENT_FROM_WORDS}|Von mein\w+ .{{2,30}} gesendet|Envoyé de mon)\b.{{0,60}}"
    r"|.{2,60}<?https?://(?:aka\.ms|outlook\.com/mobile).*"
)
_NOTICE = re.compile("|".join(word for one in _LANGUAGES for word in one.get("disclaimers", ())), re.IGNORECASE)
_SIGNATURE_LINE = re.compile(r"\\?(?:--|__|—)\s?$|_{30}|—{3,}\s*$")
_SIGNATURE_TAGS = (
    ".gmail_signature, .gmail_signature_prefix, [data-smartmail=gmail_signature], .moz-signature, #Signature,"
    "#ms-outlook-mobile-signature, .protonmail_signature_block"
)
_QUOTE_STARTS = "#divRplyFwdMsg, div[style*='border-top:solid'], div[style*='border-top: solid']"


def split_subject(subject: str, *, is_answer: bool) -> tuple[str, str]:
    """Return the base subject (RFC 5256) and ``reply`` or ``forward`` by its first prefix, ``""`` without one.

    A tag in brackets stays unless a prefix follows it. ``is_answer``: the headers say so.
    """
    kind, prefix = "", _ANY_PREFIX if is_answer else _KNOWN_PREFIX
    while (match := prefix.match(subject)) and match.end() < len(subject):
        kind = kind or match.lastgroup or "forward"
        subject = subject[match.end() :]
    return subject.removesuffix("" if "[" in subject else "]"), kind


def mark_quotes(page: BeautifulSoup, *, keep: bool) -> None:
    """Remove the signatures of a message in HTML, and unless ``keep`` mark what its program says is quoted."""
    for tag in page.select(_SIGNATURE_TAGS):
        tag.extract()
    for tag in page.select("blockquote") if keep else ():
        tag.unwrap()
    for tag in page.select(_QUOTE_STARTS) if not keep else ():
        if _LABEL.match(tag.get_text().strip()):
            tag.insert_before(_QUOTE_MARK)


def clean_body(text: str, *, subject: str, kind: str) -> str:
    """Return a message's own text; of one that is only a quotation, the quotation.

    A ``reply`` loses what it quotes below its text; questions above their answers stay. What a ``forward`` quotes
    stays, below those lines of its header that say who wrote when on that ``subject``.
    """
    if len(text) > MAX_CHARS:
        return text
    lines = [line.rstrip() for line in re.sub("[\u200e\u200f]", "", text).split("\n")]
    start, end = _find_header(lines, subject)
    header, rest = lines[start:end], lines[end:]
    own = lines if kind == "forward" and not header else _drop_tail(lines[:start])
    has_own = any(map(_is_own, own))
    if kind == "reply" and has_own:
        header, rest = [], []
    elif not rest and not has_own:
        return text.replace(_QUOTE_MARK, "") if any(line.startswith(">") for line in lines) else ""
    own = own if kind == "forward" else _shorten_quotes(own)
    return "\n".join([*own, "", *_shorten_header(header, subject), *rest]).strip("\n").replace(_QUOTE_MARK, "")


def _shorten_header(lines: list[str], subject: str) -> list[str]:
    """Return the lines of a header that say who wrote when on that ``subject``, without addresses and recipients."""
    writer = next((at for at, line in enumerate(lines) if "@" in line), 1)
    kept = (at <= writer or _DATE.search(line[:300]) or _ends_with(line, subject) for at, line in enumerate(lines))
    return [_ADDRESS.sub("", line) for line in compress(lines, kept)]


def _ends_with(line: str, subject: str) -> bool:
    return line.rstrip("* ").endswith(subject)


def _is_own(line: str) -> bool:
    return line.strip() != "" and (line[:1] != ">" or line[1:2] == ":") and not _RULER.fullmatch(line[:300])


def _find_header(lines: list[str], subject: str) -> tuple[int, int]:
    """Return where the header of a quotation without marks begins and ends; both are the end if there is none."""
    lines = [line[:300] for line in lines]
    for at, line in enumerate(lines):
        end = at + 1
        while end - at < 20 and any(map(_LABEL.match, lines[end : end + 2])):  # a line may go on in the next one
            end += 1
        if _SEPARATOR.fullmatch(line) or (end - at > 2 and _is_header(lines[at:end], subject)):
            return at, end
        size = _introduction_size(lines[max(at - 2, 0) : at + 1])
        if size and not next(filter(None, lines[at + 1 : at + 4]), "").startswith(">"):
            return at + 1 - size, at + 1
    return len(lines), len(lines)


def _is_header(lines: list[str], subject: str) -> bool:
    """Return whether ``lines`` are the header of a quotation, by a framed first line or labels with a date."""
    if _FRAMED_LABEL.fullmatch(lines[0]):
        return True
    block = "\n".join(lines)
    if not (_LABEL.match(lines[0]) and _DATE.search(block)):
        return False
    is_same = len(subject) > 3 and any(_ends_with(line, subject) for line in lines)
    return is_same or any(one.search(block[:1000]) for one in _HEADER_BLOCK)


def _introduction_size(lines: list[str]) -> int:
    """Return how many of the last ``lines`` are the sentence "On ..., ... wrote:"; 0 if there is none."""
    for size in range(1, len(lines) + 1):
        said = " ".join(lines[-size:])
        if not said.endswith((":", "：")) or not _is_own(lines[-size]) or len(said) > 250:
            break
        if (_ADDRESS.search(said) and _DATE.search(said)) or any(one.match(said) for one in _WROTE):
            return size
    return 0


def _drop_tail(lines: list[str]) -> list[str]:
    """Return ``lines`` without signatures, notices and quotations at the end."""
    for _ in range(4):  # a signature may stand above a quotation, and that above another signature
        end = max((at for at, line in enumerate(lines) if _is_own(line)), default=-1) + 1
        is_quoted = any(line.startswith(">") for line in lines[end:])
        lines = lines[:end]
        if is_quoted and lines and lines[-1].endswith((":", "：")):
            lines = lines[: -(_introduction_size(lines[-3:]) or 1)]
        lines = lines[: _signature_start(lines)]
    return lines


def _signature_start(lines: list[str]) -> int:
    """Return where a signature or a notice of law begins among the last ``lines``."""
    for at in range(max(len(lines) - MOST_LINES - 1, 0), len(lines)):
        words = " ".join(lines[at:]).casefold().split()
        is_notice = _NOTICE.match(lines[at]) and len(words) > NOTICE_WORDS and "mail" in " ".join(words)
        if _SIGNATURE_LINE.match(lines[at]) or (is_notice and not "".join(lines[at - 1 : at]).strip()):
            return at
    return len(lines) - bool(lines and _SENT_FROM.fullmatch(lines[-1][:200]))


def _shorten_quotes(lines: list[str]) -> list[str]:
    """Return ``lines`` with the end of each quotation, without what that quotes itself."""
    kept: list[str] = []
    quoted: list[tuple[int, str]] = []
    for line in [*lines, ""]:
        if marks := re.match(r"(?:>\s?)+", line):
            quoted.append((marks[0].count(">"), line))
            continue
        if quoted:
            least = min(depth for depth, _ in quoted)
            nearest = [*dropwhile(lambda one: not one.strip("> "), (one for depth, one in quoted if depth == least))]
            kept += ["", *nearest[-MOST_LINES:], ""]
            quoted = []
        kept.append(_ADDRESS.sub("", line) if line.endswith(":") else line)
    return kept
