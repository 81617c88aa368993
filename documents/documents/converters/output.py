"""The output of all converters: front matter with the title, and text that Markdown reads as intended."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from documents.entries import settled
from documents.errors import NoText

MAX_TITLE_CHARS = 300

_NO_TEXT = re.compile(
    r"[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff"  # controls, halves of surrogate pairs
    r"\xad\u200b\u2060\ufeff]"  # optional breaks and joins within words
)
_BREAKS = re.compile(r"[\x0b\x0c\x85\u2028\u2029]|\r\n?")
_BACKTICKS = re.compile(r"`{3,}")
_LONG_GAP = re.compile(r"\n[ \t]*\n\s*\n")
_BLOCK_MARK = re.compile(
    r"^([ \t]*)(#{1,6}(?=\s|$)|[=-]+(?=[ \t]*$)|`{3}|~{3}|<(?=[!?]|(?:pre|script|style|textarea)\b))",
    re.IGNORECASE | re.MULTILINE,
)
_NO_TITLE = re.compile(
    r"untitled.*|\((?:anonymous|unspecified|untitled)\)|document\d*|microsoft word\b.*|powerpoint[ -]presentation"
    r"|\S+\.[a-z]\w{1,4}|.*\.(?:docx?|dvi|exe|html?|indd|odt|pdf|pptx?|ps|psd|rtf|tex|xlsx?)",
    re.IGNORECASE,
)


def compose(body: str, *, title: str = "", url: str = "", **fields: str | Sequence[str]) -> str:
    """Return the Markdown of a document; ``fields`` are for its front matter.

    It always begins with front matter, because a text that begins with a ruler would be taken for some.

    Raises:
        NoText: ``body`` holds no text.
    """
    text = _LONG_GAP.sub("\n\n", settled(_NO_TEXT.sub("", _BREAKS.sub("\n", body)))).strip("\n")
    if not text.strip():
        raise NoText("holds no text")
    fields |= {"title": one_line(title)[:MAX_TITLE_CHARS], "url": url if url.isprintable() else ""}
    # A JSON string is a YAML string.
    front = [f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in fields.items() if value]
    return f"---\n{''.join(front)}---\n{text}\n"


def hidden_caveat(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the caveat about the words of ``texts``, which no reader of the file sees; ``()`` without any."""
    words = sum(len(text.split()) for text in texts)
    return (f"left out as hidden: {words} word{'s' if words != 1 else ''}",) if words else ()


def own_title(text: str) -> str:
    """Return a title from a file's properties; ``""`` for one that a program filled in."""
    title = one_line(text)
    return "" if _NO_TITLE.fullmatch(title) else title


def one_line(text: str) -> str:
    """Return ``text`` without line breaks and unprintable characters."""
    line = " ".join(text.split())
    return line if line.isprintable() else "".join(char for char in line if char.isprintable()).strip()


def fence(code: str, language: str = "") -> str:
    """Return ``code`` as a fenced block that none of its lines can end; ``""`` for empty code."""
    longest = max((len(run) for run in _BACKTICKS.findall(code)), default=2)
    marks = "`" * (longest + 1)
    code = code.strip("\n")
    return f"{marks}{language}\n{code}\n{marks}" if code.strip() else ""


def literal(text: str) -> str:
    """Escape lines of ``text`` that would begin a heading, a ruler, a fence or HTML up to an end tag."""
    return _BLOCK_MARK.sub(r"\1\\\2", text)
