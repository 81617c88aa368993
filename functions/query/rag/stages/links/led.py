"""What a completion may lead to: links and images whose addresses its cited passages hold, and no HTML.

Another link becomes its text, an image what stands for it, an address that stands bare becomes code, which nobody makes
a link of. A definition goes, and what refers to it has the address itself. A tag becomes text. A citation mark stays a
mark. Code is text, and nothing in it changes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import unescape
from itertools import count

from rag.stages.check.edits import Edit, apply
from rag.stages.check.support import Checked
from rag.stages.cite.addresses import address_key
from rag.stages.links.constructs import Construct, constructs
from rag.stages.links.held import held_by, key_of
from rag.stages.links.placed import Unplaced
from rag.stages.links.ticks import TICKS

MOST_PASSES = 8
"""What is taken out may leave something else; after so many passes the whole text is shown as code."""

_SUSPECT = re.compile(r"\]\(|\]:|<|//|www\.|@|mailto:|xmpp:|&|\\|\r|\0", re.IGNORECASE)
"""A text without any of these leads nowhere, whatever it is."""
UNREAD = re.compile(r"\r\n?|[\0-\x08\x0b-\x1f\x7f]|\A\ufeff+")
"""What parsers read each in a way of its own, but for ends of lines."""
READ_AS = {"\r": "\n", "\0": "\ufffd", "\ufeff": ""}
_REFERENCE = re.compile(r"&#?\w{1,31};")
_PLAIN = re.compile(r"[A-Za-z0-9:/.@_+-]")
_ESCAPE = re.compile(r"\\(?=[:/.@_+-])")
_AUTO = re.compile(r"(?:https?://|ftp://|mailto:|xmpp:|(?!www\.|//)[^@]+@)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Led:
    """A ``text`` that leads nowhere else, and what was edited in it, pass after pass; ``taken`` counts the links."""

    text: str
    edits: tuple[tuple[Edit, ...], ...] = ()
    taken: int = 0

    def moved(self, at: int, *, end: bool = False) -> int:
        """Where what begins at ``at`` of the text that came in begins now; ``end``: what ends there ends."""
        for edits in self.edits:
            at = _moved(at, edits, end=end)
        return at


def led(text: str, held: Container[str], marks: Sequence[tuple[int, int]] = ()) -> Led:
    """``text`` in which nothing leads to an address that is not ``held`` (keys of addresses).

    ``marks`` are the first characters and ends of its citation marks, of which no label of a link is taken apart.
    """
    if not _SUSPECT.search(text):
        return Led(text)
    done: list[tuple[Edit, ...]] = []
    taken = 0
    for number in range(MOST_PASSES + 1):
        last = number == MOST_PASSES
        try:
            edits, links = (_as_code(text), 0) if last else _edits(text, held, marks, number)
        except Unplaced:
            edits, links, last = _as_code(text), 0, True
        if edits:
            text, taken = apply(text, edits), taken + links
            marks = [(_moved(start, edits), _moved(end, edits, end=True)) for start, end in marks]
            done.append(edits)
        if last or not edits:
            break
    return Led(text, tuple(done), taken)


def hold(checked: Checked) -> Checked:
    """``checked`` with links and images that its cited passages hold, in the text and in its statements."""
    cited = checked.cited
    held = held_by(hit.chunk for citation in cited.citations for hit in citation.hits)
    made = led(cited.text, held, [(mark.start, mark.end) for mark in cited.marks])
    statements = tuple(replace(one, text=led(one.text, held).text) for one in checked.statements)
    if not made.edits:
        return replace(checked, statements=statements)
    marks = (replace(mark, start=made.moved(mark.start), end=made.moved(mark.end, end=True)) for mark in cited.marks)
    citations = (replace(one, position=made.moved(one.position)) for one in cited.citations)
    note = f"removed {made.taken} address{'es' * (made.taken != 1)} that no cited passage holds"
    return replace(
        checked,
        cited=replace(cited, text=made.text, citations=tuple(citations), marks=tuple(marks)),
        statements=statements,
        notes=(*checked.notes, note) if made.taken else checked.notes,
    )


def _moved(at: int, edits: Sequence[Edit], *, end: bool = False) -> int:
    shift, char = 0, at - end
    for edit in edits:
        if edit.start > char:
            break
        if edit.end > char:
            return edit.start + shift + len(edit.new)
        shift += len(edit.new) - (edit.end - edit.start)
    return at + shift


def _edits(
    text: str, held: Container[str], marks: Sequence[tuple[int, int]], number: int
) -> tuple[tuple[Edit, ...], int]:
    """What this pass changes, and how many addresses it takes out."""
    unread = UNREAD.finditer(text)
    if edits := [Edit(one.start(), one.end(), READ_AS.get(one[0][0], " ")) for one in unread]:
        return tuple(edits), 0
    ticks = _ticks(text, number)
    for tables in (True, False) if "|" in text else (True,):
        found = list(constructs(text, tables=tables))
        if edits := [edit for one in found if one.kind == "ticks" for edit in _edit(one, text, held, marks, ticks)]:
            return _apart(edits), 0
        plain = [one for one in found if one.kind != "decoded"]
        wrong = [one for one in plain if _is_wrong(one, held)]
        edits = [edit for one in _outermost(wrong) for edit in _edit(one, text, held, marks, ticks)]
        if edits:
            return _apart(edits), sum(one.address != "" and _leads_off(one, held) for one in wrong)
        if any(_is_wrong(one, held) for one in found):
            lines = {(one.start, one.end) for one in found if _is_wrong(one, held)}
            return _apart(edit for start, end in lines for edit in _read(text, start, end)) or _as_code(text), 0
    return (), 0


def _is_wrong(one: Construct, held: Container[str]) -> bool:
    if one.kind in {"definition", "html", "note"}:
        return True
    return not one.inline or one.goes_on or _leads_off(one, held)


def _leads_off(one: Construct, held: Container[str]) -> bool:
    decoded = one.kind in {"link", "image"}
    half_a_reference = not decoded and "&#" in one.address  # of "/import&#47;" to who takes ";" for the sentence's
    return half_a_reference or (address_key(one.address) if decoded else key_of(one.address)) not in held


def _outermost(found: Iterable[Construct]) -> Iterator[Construct]:
    end = -1
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if one.start >= end:
            end = one.end
            yield one


def _edit(
    one: Construct, text: str, held: Container[str], marks: Sequence[tuple[int, int]], ticks: str
) -> Iterator[Edit]:
    match one.kind:
        case "link" | "image":
            after = one.label_end + 1
            if not one.inline and address_key(one.address) in held:
                yield Edit(after, one.end, f"(<{one.address}>)")
            elif (one.start, after) in marks:
                yield Edit(after, max(after, one.end))
            else:
                yield Edit(one.start, text.index("[", one.start) + 1)
                yield Edit(one.label_end, one.end)
        case "auto":
            yield Edit(one.start, one.end, _code(text, one.start + 1, one.end - 1, ticks))
        case "ticks":
            yield from (Edit(run.start(), run.end()) for run in TICKS.finditer(text, one.start, one.end))
        case "bare" if _AUTO.match(one.address) and not _leads_off(one, held):
            yield Edit(one.start, one.start, " <" if text[one.start - 1 : one.start] == "\\" else "<")
            yield Edit(one.end, one.end, ">")
        case "bare":
            yield Edit(one.start, one.end, _code(text, one.start, one.end, ticks))
        case "definition":
            kept = next((end for start, end in marks if one.start <= start and end == one.label_end + 1), one.start)
            start = len(text[:kept].rstrip("\n")) if one.end == len(text) and kept == one.start else kept
            yield Edit(start, one.end, "\n" if kept > one.start else "")
        case _:
            yield Edit(one.start, one.start, "\\")


def _ticks(text: str, number: int) -> str:
    """Ticks that others in ``text`` do not pair with; after the first pass such as stand nowhere in it."""
    runs = Counter(len(run) for run in TICKS.findall(text))
    paired = not number and not runs[1] % 2
    return "`" * (1 if paired else next(length for length in count(2) if length not in runs))


def _code(text: str, start: int, end: int, ticks: str) -> str:
    before = " " if text[start - 1 : start] in {"`", "\\"} else ""
    behind = " " if text[end : end + 1] == "`" else ""
    return f"{before}{ticks}{text[start:end]}{ticks}{behind}"


def _read(text: str, start: int, end: int) -> Iterator[Edit]:
    """What is escaped between ``start`` and ``end``, read, where it is nothing but letters and signs of addresses."""
    for match in _REFERENCE.finditer(text, start, end):
        if _PLAIN.fullmatch(char := unescape(match[0])):
            yield Edit(match.start(), match.end(), char)
    for match in _ESCAPE.finditer(text, start, end):
        yield Edit(match.start(), match.end())


def _apart(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """Those that do not overlap one before."""
    kept: list[Edit] = []
    for edit in sorted(edits):
        if not kept or edit.start >= kept[-1].end:
            kept.append(edit)
    return tuple(kept)


def _as_code(text: str) -> tuple[Edit, ...]:
    fence = "`" * max(3, 1 + max((len(run) for run in TICKS.findall(text)), default=0))
    return (Edit(0, 0, f"{fence}\n"), Edit(len(text), len(text), f"\n{fence}"))
