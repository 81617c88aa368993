"""Markup that came with a question does not come back with its answer."""

from __future__ import annotations

import html
import re

from rag.text.html_tokens import segments

# Where HTML begins a tag, a comment or a declaration; a "<" before anything else is text, as in "3 < 5".
_MARKUP = re.compile(r"<(/?[A-Za-z][A-Za-z0-9-]*|[/!?])([^<>]*)(>?)")
_CODE = re.compile("`|~~~")


def defuse(answer: str, *inputs: str) -> str:
    """``answer`` with those tags between ‹ and › whose names ``inputs`` hold.

    Code stays as it is, unless ``inputs`` hold marks of code too, which could make code of anything. Nothing that
    shows an answer, as text, as Markdown or as HTML, takes ``‹a href=x›`` for a link, and everybody can read it. Left
    out, tags would leave holes in an answer that is about them; ``&lt;`` is for HTML alone.
    """
    names = {_name(tag) for text in inputs for form in (text, html.unescape(text)) for tag in _MARKUP.finditer(form)}
    if not names:
        return answer

    def quoted(tag: re.Match[str]) -> str:
        end = "\u203a" if tag[3] else ""
        return f"\u2039{tag[1]}{tag[2]}{end}" if _name(tag) in names else tag[0]

    pieces = [(False, answer)] if any(map(_CODE.search, inputs)) else segments(answer)
    return "".join(piece if is_code else _MARKUP.sub(quoted, piece) for is_code, piece in pieces)


def _name(tag: re.Match[str]) -> str:
    return tag[1].removeprefix("/").lower()
