"""Markup that came with a question does not come back with its answer."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rag.stages.admit.decoded_forms import readings
from rag.stages.polish.html_tokens import segments

# Where HTML begins a tag, a comment or a declaration; a "<" before anything else is text, as in "3 < 5".
_MARKUP = re.compile(r"<(/?[A-Za-z][A-Za-z0-9-]*|[/!?])([^<>]*)(>?)")
_CODE = re.compile("`|~~~")
# Two writings of one tag differ in these.
_WRITING = re.compile(r"[\s\"'`/]+")


def defuse(answer: str, *inputs: str) -> str:
    """``answer`` with those tags between ‹ and › whose names ``inputs`` hold, as they stand or decoded.

    In code only the tags that ``inputs`` hold as a whole, and what closes them: the rest is the answer's own. Where
    ``inputs`` hold marks of code too, which could make code of anything, code counts as text. Nothing that shows an
    answer, as text, as Markdown or as HTML, takes ``‹a href=x›`` for a link, and everybody can read it. Left out, tags
    would leave holes in an answer that is about them; ``&lt;`` is for HTML alone.
    """
    held = [tag for text in inputs for form in readings(text) for tag in _MARKUP.finditer(form)]
    if not held:
        return answer
    names = {_name(tag) for tag in held}
    pieces = [(False, answer)] if any(map(_CODE.search, inputs)) else segments(answer)
    return "".join(
        _defused_code(piece, held) if is_code else _MARKUP.sub(lambda tag: _shown(tag, _name(tag) in names), piece)
        for is_code, piece in pieces
    )


def _defused_code(code: str, held: Iterable[re.Match[str]]) -> str:
    tags = {_tag(tag) for tag in held}
    names = {_name(tag) for tag in held}
    cut = {_name(tag) for tag in held if not tag[3]}  # where these end is not known
    opened: dict[str, list[bool]] = {}

    def shown(tag: re.Match[str]) -> str:
        name = _name(tag)
        before = opened.setdefault(name, [])
        if tag[1].startswith("/") and before:
            return _shown(tag, before.pop())
        written = _tag(tag)
        came = name in cut or written in tags or (name in names and not tag[3])
        if tag[1].startswith("/"):
            return _shown(tag, came or (name, written[1]) in tags)
        before.append(came)
        return _shown(tag, came)

    return _MARKUP.sub(shown, code)


def _shown(tag: re.Match[str], came: bool) -> str:
    end = "\u203a" if tag[3] else ""
    return f"\u2039{tag[1]}{tag[2]}{end}" if came else tag[0]


def _name(tag: re.Match[str]) -> str:
    return tag[1].removeprefix("/").lower()


def _tag(tag: re.Match[str]) -> tuple[str, str]:
    return tag[1].lower(), _WRITING.sub("", tag[2]).lower()
