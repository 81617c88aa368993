"""Pack hits, one at least, into the context that the model sees: passages with labels, within a token budget.

Text in a passage that a model would read as a label is made harmless. The estimate of tokens and the model's window
are here too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from html import unescape
from itertools import pairwise
from typing import Any
from unicodedata import category, normalize

from knowledge.model.values import Hit
from rag.contract import CLOSE, OPEN, Marks
from rag.text.sources import ARROW, dated_label, heading, make_label, path_of, same_source, source_name
from rag.values.answer import Context, Passage

# A fence to its end, or the text's; or a span between runs of as many back-ticks. Possessive, so that no text takes
# long. Eight passages are packed while a question waits: parsing each as Markdown would take longer than finding them.
_CODE = re.compile(
    r"^[ \t>]*+(?P<fence>```++|~~~++)[^\n]*+(?:\n(?![ \t>]*+(?P=fence))[^\n]*+)*+(?:\n[ \t>]*+(?P=fence)[`~]*+)?"
    r"|(?<!`)(?P<ticks>`++)(?!`)(?:[^`\n]|(?!(?P=ticks)(?!`))`++)*+(?P=ticks)(?!`)",
    re.MULTILINE,
)
_INVISIBLE = re.compile(
    r"\\(?=[!-/:-@\[-`{-~\n])|[*`]+|</?[a-z][\w-]*(?:\s[^<>\n]*)?>|<!--|-->|&(?:amp;)*(?:#x?)?\w{1,30};|[^\0-\x7f]",
    re.IGNORECASE,
)
_ROUND = str.maketrans("[]\u3010\u3011\uff3b\uff3d", "()()()")


def disarm(
    text: str,
    pattern: re.Pattern[str],
    is_label: Callable[[re.Match[str], bool], bool],
    look_alike: Callable[[str], str],
) -> str:
    """Return ``text`` with each match of ``pattern`` for which ``is_label`` holds replaced by its ``look_alike``.

    ``is_label`` also gets whether the match is in code, which must stay to the letter: only labels of this very context
    should count there. Labels are searched in the text as a model sees it: without escapes, emphasis, tags and
    invisible characters, with character references resolved, and with the words of comments.

    Of the 248,000 lines of the public documentation and passages that the project is measured on, .13 % hold text that
    reads as a ``[Title]``, none an ``[id_3]``, .02 % a ``[1]`` or ``[1, 3]`` (a third of these are intervals), and
    1.4 % are a line of dashes, most of them around front matter, which is in no passage.
    """
    if not pattern.search(_INVISIBLE.sub(lambda match: _visible(match[0]), text)):
        return text  # most passages: they need no map of character positions
    visible, spans = _map_visible(text)
    code = [match.span() for match in _CODE.finditer(text)]
    parts, at = list[str](), 0
    for match in pattern.finditer(visible):
        start = spans[match.start()][0]
        if is_label(match, any(first <= start < last for first, last in code)):
            parts += (text[at:start], look_alike(match[0]))
            at = spans[match.end() - 1][1]
    return "".join((*parts, text[at:]))


def round_brackets(label: str) -> str:
    """Return ``label`` with round brackets in place of square ones."""
    return label.translate(_ROUND)


def _map_visible(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return the visible text, and the start and the end in ``text`` of each of its characters."""
    parts, spans, at = list[str](), list[tuple[int, int]](), 0
    for match in _INVISIBLE.finditer(text):
        shown = _visible(match[0])
        parts += (text[at : match.start()], shown)
        spans += (*pairwise(range(at, match.start() + 1)), *(match.span() for _ in shown))
        at = match.end()
    spans += pairwise(range(at, len(text) + 2))
    return "".join((*parts, text[at:])), spans


def _visible(source: str) -> str:
    if source[0] in "\\*`<-":
        return ""
    plain = normalize("NFKC", unescape(unescape(source)))
    return "".join(char for char in plain if category(char) != "Cf")


CHARS_PER_TOKEN = 4
"""Waypoint's seed says 8,000 characters as 2,000 tokens; nothing else goes by it."""

BYTES_PER_TOKEN = 2.5
"""UTF-8 bytes that count as a token: nearly every text has more bytes a token, so that it takes less than its estimate.

Measured on 26,655 chunks of documentation and prose in 16 languages (ADR 15). Qwen counts more tokens than estimated
in .5 % of them, GPT-4o in .2 %, GPT-4 in 1.3 %. The estimate of the median chunk is 1.6 times Qwen's count. Of 3,321
contexts of eight chunks the worst has 1.13 times its estimate. Blocks of code alone exceed theirs more often (Qwen:
12 %), and so do texts for models with 32,000 tokens (Mixtral: 14 %; the worst context has 1.26 times its estimate).
Digits and random letters come to about 2.5 times their estimate, and hardly anything to more: a token is a byte at
least in nearly every vocabulary."""


def budget_bytes(tokens: int) -> int:
    """Return the bytes of UTF-8 that a budget of ``tokens`` allows."""
    return int(tokens * BYTES_PER_TOKEN)


def encode(text: str) -> bytes:
    """Return ``text`` as UTF-8; a lone surrogate, which JSON can carry, is one byte."""
    return text.encode("utf-8", "replace")


def size(text: str) -> int:
    """Return the bytes of ``text`` as UTF-8."""
    return len(encode(text))


ELLIPSIS = "..."
"""Says that a text goes on. ASCII, as it is one token in every vocabulary; U+2026 is three in some."""

# Before a line's end; after a sentence and what closes it, before white space; after one of a script without spaces.
_END = re.compile(r"(?=\n)|(?<=[.!?])[\"'\u201d\u2019)\]]*(?=\s)|[\u3002\uff01\uff1f]")
_WORD_END = re.compile(r"(?<=\S)(?=\s)")
_CHARACTER = re.compile(".", re.DOTALL)


def cut_to(text: str, max_bytes: int, *, anywhere: bool = False) -> str:
    """Return ``text`` in at most ``max_bytes`` of UTF-8: cut after its last sentence or line that fits its ellipsis.

    If none fits, it is cut ``anywhere``, at a word or else at a character; ``""`` when nothing fits.
    """
    encoded = encode(text)
    if len(encoded) <= max_bytes:
        return text
    more = f" {ELLIPSIS}"
    longest = len(encoded[: max(0, max_bytes - size(more))].decode("utf-8", "ignore"))
    for end in (_END, _WORD_END, _CHARACTER) if anywhere else (_END,):
        last = max((match.end() for match in end.finditer(text) if match.end() <= longest), default=0)
        if beginning := text[:last].rstrip():
            return beginning + more
    return ""


LEAST_TOKENS = 100
"""With fewer tokens of passages there is no use in asking a model."""


class ContextWindow:
    """Tokens of passages that fit the model; fewer after a refusal, until the process ends. Safe to use in threads.

    ``tokens`` is the whole window, 0 if unknown; ``reserved`` of them belong to the answer and the prompt.
    """

    def __init__(self, tokens: int = 0, reserved: int = 0) -> None:
        self._most = max(LEAST_TOKENS, tokens - reserved) if tokens else None

    def room(self, budget: int) -> int:
        """Return the tokens that may be packed, ``budget`` at most."""
        return budget if self._most is None else min(budget, self._most)

    def halve(self, passages: str) -> bool:
        """Allow half of ``passages``, which were too long; return False if that is too little."""
        half = int(size(passages) / BYTES_PER_TOKEN) // 2
        if half < LEAST_TOKENS:
            return False
        self._most = half if self._most is None else min(half, self._most)
        return True


@dataclass(frozen=True, slots=True)
class WindowPacker:
    """A packer with a budget of ``max_tokens``, lowered to the room in the model's ``window``."""

    pack: Any
    window: ContextWindow

    def __call__(self, hits: tuple[Hit, ...]) -> Context:
        context: Context = replace(self.pack, max_tokens=self.window.room(self.pack.max_tokens))(hits)
        return context


_BRACKET = re.compile(rf"{OPEN}(?:[^\[\]\u3010\u3011\uff3b\uff3d\n]|\n(?!\s*\n))++{CLOSE}(?P<link>\()?")
_NO_LABEL = re.compile(r"\[(?:\^|[ xX]?\])")
"""A footnote, a check box."""


@dataclass(frozen=True, slots=True)
class TitledPacker:
    r"""``[Title > Section]\ncontent\n\n`` per chunk, best first, within ``max_chars`` characters.

    Packing stops before the first chunk that would exceed the budget; a first chunk that alone exceeds it
    is cut to fit, so that a context is never empty.
    """

    max_chars: int
    marks: Marks

    def __call__(self, hits: tuple[Hit, ...]) -> Context:
        parts: list[str] = []
        used: list[Passage] = []
        room = self.max_chars
        for hit in hits:
            label = make_label(hit.chunk.title, hit.chunk.section)
            text = disarm_titles(self.marks, hit.chunk.text, hits)
            block = f"{label}\n{text}\n\n"
            if len(block) > room:
                if used:
                    break
                overhead = len(block) - len(text)
                if overhead > room:
                    label = f"{label[: room - len(']\n\n\n')].rstrip()}]"
                text = _cut(text, max(0, room - overhead))
                block = f"{label}\n{text}\n\n"
            parts.append(block)
            used.append(Passage(hit=hit, citation=label, text=text))
            room -= len(block)
        return Context("".join(parts), tuple(used))


def disarm_titles(marks: Marks, text: str, hits: Sequence[Hit]) -> str:
    """Return ``text`` with round brackets around bracketed text that reads as a label.

    A label is a citation of ``hits`` by ``marks``, text with an arrow, or a line to itself. In code, in a link and over
    several lines only the labels of ``hits`` count.
    """
    own = {_plain(make_label(hit.chunk.title, hit.chunk.section)) for hit in hits if hit.chunk.section}
    cites = cache(lambda mark: bool(marks.resolve_mark(mark, hits).named))

    def is_label(mark: re.Match[str], in_code: bool) -> bool:
        if in_code or mark["link"] or "\n" in mark[0] or _NO_LABEL.match(mark[0]):
            return _plain(mark[0]) in own
        return ">" in mark[0] or ARROW in mark[0] or _stands_alone(mark) or cites(mark[0])

    return disarm(text, _BRACKET, is_label, round_brackets)


def _plain(label: str) -> str:
    """Return the letters and digits of ``label`` in lower case."""
    return "".join(filter(str.isalnum, label.casefold()))


def _stands_alone(mark: re.Match[str]) -> bool:
    text = mark.string
    before, after = text[: mark.start()].rpartition("\n")[2], text[mark.end() :].partition("\n")[0]
    return not (before.strip() or after.strip())


def _cut(text: str, limit: int) -> str:
    """Cut ``text`` to ``limit`` characters after a whole word: half of ``3.5`` would be another fact."""
    head = text[:limit]
    if head[-1:].strip() and text[limit : limit + 1].strip():
        head = head[: -len(head.split()[-1])].rstrip() or head
    return head.rstrip()


SEPARATOR = "\n\n---\n\n"
# "Source:" where a line or a bracket begins, with what it names; and a line of nothing but dashes.
_SOURCE_LABEL = re.compile(
    r"(?:^[^\w\n]*|[(\[\u3010\uff3b]\s*)source[^\w\n]*[:\uff1a](?P<name>[^()\[\]\n]*)|^[ \t]*-{3,}[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_SOURCE_COLON = re.compile(r"(?<=source)([^\w\n]*?)[:\uff1a]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class UrlPacker:
    r"""``Source: url\ntext`` per chunk, best first, separated by ``---``, within ``max_tokens`` (estimated).

    A document without an address is named by its title. Packing stops before the first chunk that would exceed
    the budget; a first chunk that alone exceeds it is cut to fit.
    """

    max_tokens: int

    def __call__(self, hits: tuple[Hit, ...]) -> Context:
        blocks: list[str] = []
        used: list[Passage] = []
        room = budget_bytes(self.max_tokens)
        for hit in hits:
            head = f"Source: {source_name(hit.chunk)}\n"
            text = disarm_sources(hit.chunk.text, hits)
            cost = size(f"{SEPARATOR if blocks else ''}{head}{text}")
            if cost > room:
                if used:
                    break
                text = cut_to(text, room - size(head), anywhere=True)
            blocks.append(f"{head}{text}")
            used.append(Passage(hit=hit, citation=f"(Source: {source_name(hit.chunk)})", text=text))
            room -= cost
        return Context(SEPARATOR.join(blocks), tuple(used))


def disarm_sources(text: str, hits: Sequence[Hit]) -> str:
    """Return ``text`` with ``Source -`` for ``Source:``, ``- - -`` for a separator; in code for ``hits``' names."""
    names = {same_source(source_name(hit.chunk)) for hit in hits}

    def is_label(label: re.Match[str], in_code: bool) -> bool:
        return not in_code or same_source(label["name"] or "") in names

    return disarm(text, _SOURCE_LABEL, is_label, _disarm_source)


def _disarm_source(label: str) -> str:
    return _SOURCE_COLON.sub(r"\1 -", label, count=1) if label.strip("- \t") else "- - -"


# A line may end within a mark, in a quotation too.
_NUMBER = re.compile(rf"{OPEN}[\s>]*\d{{1,3}}(?:[\s>]*[,;][\s>]*\d{{1,3}})*[\s>]*{CLOSE}")
_ID = re.compile(rf"{OPEN}\s*id_[\s>]*\d[^\[\]\u3010\u3011\uff3b\uff3d]{{0,200}}{CLOSE}", re.IGNORECASE)
_BLANK = re.compile(r"[\s>]+")
_ONE_ID = re.compile(r"id_\d+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NumberPacker:
    r"""``[1] {title} > {section} ({date})\n{text}\n\n`` per chunk, best first, within ``max_tokens`` estimated tokens.

    ``marks`` gives the profile's mark, which a reader sees. Numbers in brackets get round ones; ``disarm`` replaces
    text that reads as a mark of one of the hits. A number in the code of a passage stays: marks are not read in code,
    and ``x[1]`` with round brackets is other code.
    """

    max_tokens: int
    marks: Marks
    disarm: Callable[[str, Sequence[Hit]], str] | None = None

    def __call__(self, hits: tuple[Hit, ...]) -> Context:

        def plain(text: str) -> str:
            text = self.disarm(text, hits) if self.disarm else text
            return disarm(text, _NUMBER, lambda _, in_code: not in_code, round_brackets)

        def block(place: int, hit: Hit) -> _Block:
            title = dated_label(round_brackets(plain(path_of(hit.chunk))), hit.chunk)
            return _Block(f"[{place}]", title, plain(hit.chunk.text), self.marks.mark_for(hit, place))

        return _packed(hits, self.max_tokens, block)


@dataclass(frozen=True, slots=True)
class IdPacker:
    r"""``[id_3] {heading}\n{text}\n\n`` per chunk, the form of Clockify's seed; other ids get round brackets."""

    max_tokens: int

    def __call__(self, hits: tuple[Hit, ...]) -> Context:

        def block(_: int, hit: Hit) -> _Block:
            mark = f"[{hit.chunk.id}]"
            return _Block(mark, round_brackets(heading(hit.chunk)), disarm_ids(hit.chunk.text, hits), mark)

        return _packed(hits, self.max_tokens, block)


def disarm_ids(text: str, hits: Sequence[Hit]) -> str:
    """Return ``text`` with round brackets around ids; in code only around ids of ``hits``."""
    ids = {hit.chunk.id for hit in hits}

    def is_mark(found: re.Match[str], in_code: bool) -> bool:
        return not in_code or not ids.isdisjoint(_ONE_ID.findall(_BLANK.sub("", found[0].lower())))

    return disarm(text, _ID, is_mark, round_brackets)


@dataclass(frozen=True, slots=True)
class _Block:
    """A passage of a context: ``head`` is its mark there, ``citation`` the one that a reader sees."""

    head: str
    title: str
    text: str
    citation: str

    def __str__(self) -> str:
        return f"{self.head} {self.title}".rstrip() + f"\n{self.text}\n\n"


def _packed(hits: tuple[Hit, ...], max_tokens: int, block_of: Callable[[int, Hit], _Block]) -> Context:
    """Return the context of the blocks that fit.

    A chunk that exceeds the remaining room is cut after a sentence or a line, gets an ellipsis and ends the packing.
    The first chunk is always packed: if necessary its text is cut anywhere and its title to half of the room. Its mark
    is never cut, so a budget smaller than the mark is exceeded.
    """
    blocks: list[str] = []
    used: list[Passage] = []
    room = budget_bytes(max_tokens)
    for place, hit in enumerate(hits, start=1):
        first, block = place == 1, block_of(place, hit)
        cost = size(str(block))
        full = cost > room
        if full:
            if first:
                most = (room - size(str(replace(block, title="", text="")))) // 2
                block = replace(block, title=cut_to(block.title, most, anywhere=True))
            most = room - size(str(replace(block, text="")))
            block = replace(block, text=cut_to(block.text, most, anywhere=first))
            cost = room
        if block.text or first:
            blocks.append(str(block))
            used.append(Passage(hit=hit, citation=block.citation, text=block.text))
        room -= cost
        if full or room <= 0:
            break
    return Context("".join(blocks), tuple(used))
