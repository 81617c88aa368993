"""Tags in a text: replace them, look at their surroundings, and read their parameters."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

REMOVED = "\ufdd2"
"""The mark of a removed part until ``tidy``: a noncharacter of Unicode, which no text holds."""

_EMPTIED_LINE = re.compile(rf"^[ \t>|:*+.#-]*{REMOVED}[ \t>|:*+.#{REMOVED}-]*(?:\n|\Z)", re.MULTILINE)
_REMOVED_BETWEEN_BLANKS = re.compile(rf"(?<=[ \t])(?:{REMOVED}[ \t]*)+|[ \t]*{REMOVED}(?=[ \t]*[\n.,;)])")
_REMOVED_RUN = re.compile(f"{REMOVED}{{2,}}")


class Edit(NamedTuple):
    """A replacement of the characters ``start`` to ``end`` by ``text``."""

    start: int
    end: int
    text: str = ""


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Apply ``edits`` in order of their start, without those that begin inside of an earlier one.

    A line that is left with only list or table marks is removed.
    """
    parts, done = [], 0
    for start, end, shown in sorted(edits, key=lambda edit: (edit.start, -edit.end)):
        if start >= done:
            parts += [text[done:start], shown or REMOVED]
            done = end
    return tidy("".join([*parts, text[done:]])) if parts else text


def tidy(text: str) -> str:
    """Remove the ``REMOVED`` marks, with the empty lines and doubled blanks that they leave."""
    if REMOVED not in text:
        return text
    text = _REMOVED_RUN.sub(REMOVED, text)  # mark by mark, a run takes quadratic time
    text = _EMPTIED_LINE.sub("", text)
    return _REMOVED_BETWEEN_BLANKS.sub("", text).replace(REMOVED, "")


def pair_ends(tags: Iterable[tuple[str, bool, bool]]) -> dict[int, int]:
    """Return the number of the end tag by that of each tag that has one; ``tags`` are (name, is an end, has no end)."""
    waiting: defaultdict[str, list[int]] = defaultdict(list)
    ends: dict[int, int] = {}
    for number, (name, is_end, is_leaf) in enumerate(tags):
        if is_end and waiting[name]:
            ends[waiting[name].pop()] = number
        elif not (is_end or is_leaf):
            waiting[name].append(number)
    return ends


def fence_marks(code: str, language: str) -> tuple[str, str]:
    """Return what makes a block of ``code`` if it stands before and behind; ``""`` if a fence is in it."""
    if "```" in code:
        return "", ""
    return f"```{language}" + ("" if code.startswith("\n") else "\n"), "```\n" if code.endswith("\n") else "\n```\n"


_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)\n.*?^\1[ \t]*\n", re.DOTALL | re.MULTILINE)


def drop_front_matter(page: str) -> str:
    """Return ``page`` without the settings at its beginning."""
    return _FRONT_MATTER.sub("", page)


_IN_ADDRESS = re.compile(r"(?:\]\(<?|\]:\s*<?|\b(?:href|src)=[\"']?)\S*$")
_LOOK_AROUND_CHARS = 2000
_MARKUP = re.compile(r"<[^<>]*>|\{[^{}]*\}")
_LINE_MARKS = " \t-*+>|:."


def line_around(text: str, start: int, end: int) -> tuple[str, str]:
    """Return what the line has before ``start`` and from ``end`` on, some of it: lines can be megabytes long."""
    before, after = text[max(start - _LOOK_AROUND_CHARS, 0) : start], text[end : end + _LOOK_AROUND_CHARS]
    return before.rpartition("\n")[2], after.partition("\n")[0]


def is_in_address(text: str, start: int) -> bool:
    """Return whether the text at ``start`` is part of a link's address."""
    return _IN_ADDRESS.search(line_around(text, start, start)[0]) is not None


def is_among_words(text: str, start: int, end: int, *, lines: int = 1) -> bool:
    """Return whether the line has more than marks before ``start`` or from ``end`` on.

    With 3 ``lines`` those above and below count too, because a tag may begin a line in the middle of a sentence.
    """
    before, after = line_around(text, start, end)
    if lines > 1 and not (before + after).strip(_LINE_MARKS):
        before, after = line_around(text, max(start - len(before) - 1, 0), end + len(after) + 1)
    return bool((before + after).strip(_LINE_MARKS))


def is_alone_in_cell(text: str, start: int, end: int) -> bool:
    """Return whether the cell of a table around ``start`` to ``end`` has no other words, tags and attributes aside."""
    before, after = line_around(text, start, end)
    beside = f"{before.rpartition('|')[2]} {after.partition('|')[0]}"
    return "|" in before + after and re.search(r"\w", _MARKUP.sub("", beside)) is None


_PARAMETER = re.compile(
    r"""(?:(?P<name>[:@\w.-]+)\s*=\s*)?(?P<value>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`|[^\s"'`=,}]+)"""
)
# Of 4,760 parameters in docs_hugo, docs_jekyll, docs_handbook, docs_rust_book, etcd's, Docsy's and Astro's pages these
# are 1,616 (``content``, of Jekyll's note includes, none); the others are addresses, looks and switches.
HEADS = ("title", "header", "label", "summary", "file-name")
TEXTS = ("caption", "alt", "text", "description", "subtitle", "content")
_WORD = re.compile(r"[^\W\d_]")


def parse_parameters(source: str) -> tuple[dict[str, str], list[str]]:
    """Return the named parameters (names in lower case) and the positional ones, unquoted."""
    named: dict[str, str] = {}
    others: list[str] = []
    for match in _PARAMETER.finditer(source):
        value = unquote(match["value"])
        if match["name"]:
            named[match["name"].lower().lstrip(":@")] = value
        else:
            others.append(value)
    return named, others


def unquote(value: str) -> str:
    """Remove the quotation marks around ``value``."""
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'`":
        return re.sub(r"\\([\"'`\\])", r"\1", value[1:-1])
    return value


def visible_words(named: Mapping[str, str]) -> str:
    """Return all visible words of the parameters, the title in bold; ``""`` for none."""
    title = next((text for name in HEADS if (text := _visible(named.get(name, "")))), "")
    texts = dict.fromkeys(text for name in TEXTS if (text := _visible(named.get(name, ""))) and text != title)
    return "\n\n".join([f"**{title}**", *texts] if title else texts)


def _visible(value: str) -> str:
    text = " ".join(value.split())
    if text in ("true", "false"):  # Docsy's tabs: text=true, in 19 of 683 chunks of OpenTelemetry's documentation
        return ""
    return text if _WORD.search(text) and not text.startswith(("http://", "https://", "data:")) else ""
