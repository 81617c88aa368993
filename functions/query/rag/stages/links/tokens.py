"""What in a text of Markdown that is still being written may begin something that leads somewhere.

A token is judged by itself, whatever is around it: one that is found harmless leads nowhere but to held addresses as a
link, as text and as code.
"""

from __future__ import annotations

import re
from collections.abc import Container
from html import unescape
from typing import Literal, NamedTuple

from rag.stages.cite.addresses import address_key
from rag.stages.links.held import BARE, bare_address, goes_on, key_of

LONGEST = 2000
"""Characters of the longest link, address or reference that is waited for."""
_APART = r"(?<![A-Za-z0-9])"
"""Before some words; others begin an address behind a letter too."""


def _begun_or_whole(*words: str) -> str:
    begun = sorted({word[:end] for word in words for end in range(1, len(word))}, key=len, reverse=True)
    return f"{'|'.join(map(re.escape, words))}|(?:{'|'.join(map(re.escape, begun))})\\Z"


TOKEN = re.compile(
    rf"!?\[|!\Z|[\]<&\\@\n]|//|/\Z|{_begun_or_whole('http://', 'https://', 'ftp://')}"
    rf"|{_APART}(?:{_begun_or_whole('www.', 'mailto:', 'xmpp:')})",
    re.IGNORECASE,
)
_DEST = r"[^\s<>()\[\]\\`\"|*^{}]"
_TARGET = re.compile(
    rf"\]\((?:({_DEST}+(?:\({_DEST}*\){_DEST}*)*)|<([^\s<>\\`|]+)>)(?: +\"[^\"\\<>()\[\]`|&@:\n]*\")?\)"
)
_AUTO = re.compile(r"<([A-Za-z][\w+.-]*:[^\s<>\\`|]+|[^\s<>@\\`|]+@[^\s<>\\`|]+)>")
_RUN = re.compile(r"[^\s<]*")
_TAIL = re.compile(r"[.,;:!?'\"*_~)\]>|]*")
_REFERENCE = re.compile(r"&#?\w{0,31}")
_DECODED = re.compile(r"&#?\w{1,31};")
_PLAIN = re.compile(r"[A-Za-z0-9:/.@_+-]")
_LOCAL = re.compile(r"[\w.+-]*")


class Found(NamedTuple):
    """``end``: where to go on, or what is held back begins there ("wait": for more, "unclear": for what it is)."""

    state: Literal["on", "wait", "unclear"]
    end: int


def judged(text: str, token: re.Match[str], held: Container[str]) -> Found:
    """What the ``token`` of ``text`` is, as far as that is written."""
    at, first = token.start(), token[0][-1 if token[0] in {"[", "!["} else 0]
    if token.end() == len(text) and first not in "[\n":
        return Found("wait", _local(text, at) if first == "@" else at)
    match first:
        case "[" | "\n":
            return Found("on", token.end())
        case "]":
            return _bracket(text, at, held)
        case "<":
            return _angle(text, at, held)
        case "&":
            return _reference(text, at)
        case "\\":
            return _escape(text, at)
        case "@":
            return _bare(text, _local(text, at), at + 1, held)
        case "!":
            return Found("on", at + 1)
        case _:
            return _bare(text, at, token.end(), held)


def _bracket(text: str, at: int, held: Container[str]) -> Found:
    follows = text[at + 1]
    if follows == ":":
        line = text[max(0, at - LONGEST) : at].rpartition("\n")[2]
        before, opens, label = line.rpartition("[")
        within = opens and not before.endswith("\\") and not {"\\", "]"} & set(label)
        return Found("on" if within and any(map(str.isalpha, before)) else "unclear", at + bool(within))
    if follows != "(":
        return Found("on", at + 1)
    target = _TARGET.match(text, at)
    if target is None:
        rest = text[at : at + LONGEST]
        return Found("unclear" if ")" in rest or "\n" in rest or len(rest) == LONGEST else "wait", at)
    return _held(text, at, target.end(), target[1] or target[2], held)


def _angle(text: str, at: int, held: Container[str]) -> Found:
    follows = text[at + 1]
    if not (follows.isascii() and follows.isalpha()) and follows not in "/!?":
        return Found("on", at + 1)
    if auto := _AUTO.match(text, at):
        return _held(text, at, auto.end(), auto[1], held)
    run = _RUN.match(text, at + 1)
    ends = run is None or run.end() < len(text) or ">" in run[0] or len(run[0]) > LONGEST
    return Found("unclear" if ends else "wait", at)


def _held(text: str, start: int, end: int, address: str, held: Container[str]) -> Found:
    """Of a link to ``address`` that ends at ``end``: no text behind it may belong to the address."""
    keys = (address_key(address) if "@" not in address or ":" in address else key_of(address), key_of(address))
    if _DECODED.search(address) or not all(key in held for key in keys):
        return Found("unclear", start)
    tail = _TAIL.match(text, end)
    behind = tail.end() if tail else end
    if behind == len(text):
        return Found("wait" if behind - end < LONGEST else "unclear", start)
    return Found("on", end) if text[behind].isspace() else Found("unclear", start)


def _bare(text: str, start: int, begun: int, held: Container[str]) -> Found:
    """An address from ``start``, of which ``begun`` is behind what tells that it may be one."""
    run = _RUN.match(text, start)
    end = run.end() if run else begun
    if begun - start > LONGEST:
        return Found("unclear", begun - 1)
    if end == len(text):
        return Found("wait" if end - start < LONGEST else "unclear", start)
    said = text[start:end]
    found = BARE.match(text, start)
    if found is None or start + 1 == begun:
        spelt = "\\" in said or _DECODED.search(said) or (text[begun - 1] != "@" and end > begun)
        return Found("unclear" if spelt else "on", start if spelt else begun)
    address = bare_address(found)
    rest = said[len(address) :]
    ended = rest.startswith("](") or _TAIL.fullmatch(rest)
    plain = address and not _DECODED.search(said) and not goes_on(text, start, address) and "\\" not in said
    if plain and ended and text[end] != "<" and key_of(address) in held:
        return Found("on", max(begun, start + len(address)))
    return Found("unclear", start)


def _local(text: str, at: int) -> int:
    """Where the word before the "@" at ``at`` begins."""
    before = _LOCAL.match(text[max(0, at - LONGEST) : at][::-1])
    return at - (before.end() if before else 0)


def _reference(text: str, at: int) -> Found:
    match = _REFERENCE.match(text, at)
    end = match.end() if match else at + 1
    if end == len(text):
        return Found("wait", at)
    plain = text[end] == ";" and _PLAIN.search(unescape(text[at : end + 1]))
    return Found("unclear", at) if plain else Found("on", at + 1)


def _escape(text: str, at: int) -> Found:
    follows = text[at + 1]
    if follows in "\\<":
        return Found("on", at + 2)
    decoded = follows in ":/@" or (follows == "." and text[max(0, at - 3) : at].lower() == "www")
    return Found("unclear", at) if decoded else Found("on", at + 1)
