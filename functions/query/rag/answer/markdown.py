"""Writing a tree as Markdown that every reader of Markdown takes for the same.

What is text is escaped; code stands between ticks that nothing else pairs with; an address stands in angle brackets or
behind a label, since no standard says where a bare one ends. What was written of a beginning of a tree is a beginning
of what is written of it all: an answer can be sent while it grows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, zip_longest

from rag.answer import tree as t
from rag.answer.printers import inline_text
from rag.answer.restrict_links import BARE_ADDRESS, link_addresses
from rag.answer.tree import trim_run
from rag.contract.marks import BRACKETS

_MEANT = re.compile(r"[\\`~\[\]|]|<(?=[A-Za-z/!?])|&(?=#?\w+;)|(?<!\s)\*|\*(?!\s|\Z)|(?<![^\W_])_|_(?![^\W_])")
"""What could be more than text within a line."""
_BEGINS = re.compile(r"[#>]|[-+*=](?=[-+*=\s]|\Z)|\d{1,9}(?=[.)](?:\s|\Z))|\*")
"""What could make a line something else than text where it begins with it."""
_AUTO = re.compile(r"(?:https?://|mailto:)[^\s<>|`]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.IGNORECASE)
_PLAIN_TARGET = re.compile(r"[^\s()<>\\`|&]+")
_ENCODED = str.maketrans({char: f"%{ord(char):02X}" for char in "<>\\`|\n "})
_PLAIN_ADDRESS = re.compile(r"https?://(?:[A-Za-z0-9.:/?=%#,+;-]|(?<=[A-Za-z0-9])_(?=[A-Za-z0-9])|&(?!#?\w+;))+", re.I)
_PLAIN_TITLE = re.compile(r"[\w ,.'-]+")
_CLOSING = re.compile(r"[.,;:!?)\]*_~'\"|]*")
_BRACKETS = f"({BRACKETS}"
_TICKS = re.compile("`+")
_MARKERS = {"strong": ("**", "__"), "em": ("*", "_"), "s": ("~~", "~~")}


def render_inline(run: Sequence[t.Inline]) -> str:
    """A run of nodes as Markdown, its citations left out."""
    writer = InlineWriter()
    writer.run([node for node in run if not isinstance(node, t.Cite)])
    return "".join(writer.parts).strip()


class InlineWriter:
    """Writes into ``parts``; ``marks`` are the citations with the characters that stand for them."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.marks: list[tuple[int, int, t.Cite]] = []
        self._length = 0
        self._prefix = ""
        self._begins_line = True
        self._in_row = self._in_heading = False
        self._stated = 0
        self._linked = (0, 0)
        self._address = False
        """Whether what follows could be taken for more of an address that stands bare."""

    def run(self, run: Sequence[t.Inline], *, ends: bool = True) -> None:
        """``ends``: nothing but white space follows, now or when more has been written."""
        for node, following in zip_longest(run, run[1:]):
            self._inline(node, last=isinstance(following, t.LineBreak) or (ends and following is None))

    def _inline(self, node: t.Inline, *, last: bool) -> None:
        match node:
            case t.Text(text) | t.Mark(text):
                self._text(text, last=last)
            case t.Code(text):
                self._code(text)
            case t.LineBreak(hard):
                self._break(hard=hard)
            case t.Styled(style, children):
                self._styled(_MARKERS[style], children)
            case t.Link():
                self._link(node)
            case t.Cite():
                self._cite(node)
            case t.ClaimSpan():
                self._stated = self._length
                self.run(node.children, ends=last)
                if node.note:
                    self._put(f"{'' if self._begins_line else ' '}*({node.note})*")

    def _text(self, text: str, *, last: bool) -> None:
        text = text.replace("\n", " ")
        text = text.lstrip() if self._begins_line else text
        text = text.rstrip() if last else text  # two blanks before the end of a line would end it harder
        escaped = _escaped(text, last=last)
        if self._in_heading:
            escaped = escaped.replace("#", "\\#")
        elif self._begins_line and (begins := _BEGINS.match(escaped)):
            place = begins.end() if begins[0].isdecimal() else 0
            escaped = f"{escaped[:place]}\\{escaped[place:]}"
        self._put(escaped)

    def _code(self, text: str) -> None:
        text = " ".join(text.split("\n"))
        if not text:
            return
        runs = {len(run) for run in _TICKS.findall(text)}
        ticks = "`" * next(length for length in count(1) if length not in runs)
        pad = " " if "`" in (text[0], text[-1]) or (text[0] == text[-1] == " " and text.strip()) else ""
        text = text.replace("|", "\\|") if self._in_row else text
        self._put(f"{' ' if self._last() in '`\\' else ''}{ticks}{pad}{text}{pad}{ticks}")

    def _break(self, *, hard: bool) -> None:
        if self._in_row or self._in_heading:
            self._put(" ")
            return
        if hard:
            self._put("  ")
        self._line(empty=False)

    def _styled(self, markers: tuple[str, str], children: Sequence[t.Inline]) -> None:
        words, inner = inline_text(children), trim_run(children)
        if words[:1].isspace() and inner and not self._begins_line:
            self._put(" ")
        marker = markers[self._last() == "*"] if inner else ""
        self._put(marker)
        self.run(inner, ends=False)
        self._put(marker)
        if words[-1:].isspace():
            self._put(" ")

    def _link(self, link: t.Link) -> None:
        if link.is_bare:
            if _AUTO.fullmatch(link.href):
                self._put(f"<{link.href}>")
            else:
                self._code(link.href)
            return
        self._calm()
        start = self._length
        self._put("![" if link.image else "[")
        self.run(link.children, ends=False)
        plain = _PLAIN_TARGET.fullmatch(link.href)
        target = link.href if plain else f"<{link.href.translate(_ENCODED)}>"
        title = f' "{link.title}"' if _PLAIN_TITLE.fullmatch(link.title) and not BARE_ADDRESS.search(link.title) else ""
        self._put(f"]({target}{title})")
        self._linked = (start, self._length)

    def _cite(self, cite: t.Cite) -> None:
        raw = cite.raw
        start = self._length
        if not raw:
            start = self._stands_for_it()
        else:
            self._calm()
            start = self._length
            self._mark(raw)
        self.marks.append((start, self._length, cite))

    def _stands_for_it(self) -> int:
        """Where what stands for a citation without a mark begins: the mark or link before it, else its statement."""
        if self.marks and self.marks[-1][1] == self._length:
            return self.marks[-1][0]
        return self._linked[0] if self._linked[1] == self._length else self._stated

    def _mark(self, raw: str) -> None:
        """Brackets around it stay, and addresses in it; a link to a source is an address alone."""
        at, end = (1, len(raw) - 1) if raw[0] in _BRACKETS else (0, len(raw))
        self._put(raw[:at])
        for node in link_addresses(raw[at:end]):
            if isinstance(node, t.Text):
                self._put(_escaped(node.text))
            elif _PLAIN_ADDRESS.fullmatch(node.href):
                self._put(node.href)
                self._address = True
            else:
                self._link(node)
        self._put(raw[end:])

    def _calm(self) -> None:
        """No image begins where a link or a mark follows an exclamation mark."""
        if self._last() == "!":
            self.parts[-1] = f"{self.parts[-1][:-1]}\\!"
            self._length += 1

    def _last(self) -> str:
        return self.parts[-1][-1:] if self.parts and not self._begins_line else "\n"

    def _line(self, *, empty: bool, blank: bool = False) -> None:
        if empty:
            self._raw(f"\n{self._prefix.rstrip()}")
        self._raw(f"\n{self._prefix.rstrip() if blank else self._prefix}")
        self._begins_line, self._address = True, False

    def _put(self, text: str) -> None:
        """Write ``text``, which is no end of a line."""
        if not text:
            return
        if self._address:
            text = self._apart(text)
        elif self._closes_label() and text[0] in "(:":
            text = f"\\{text}"
        self._raw(text)
        self._begins_line = False

    def _closes_label(self) -> bool:
        return bool(self.marks) and self.marks[-1][1] == self._length and self._last() == "]"

    def _apart(self, text: str) -> str:
        """``text`` with a blank where it could be taken for more of the address before it."""
        closing = _CLOSING.match(text)
        at = closing.end() if closing else 0
        if at == len(text):
            return text
        self._address = False
        return text if text[at].isspace() else f"{text[:at]} {text[at:]}"

    def _raw(self, text: str) -> None:
        self.parts.append(text)
        self._length += len(text)


def _escaped(text: str, *, last: bool = False) -> str:
    """``text`` so that nothing in it is markup; ``last``: only white space follows it."""
    escaped = _MEANT.sub(r"\\\g<0>", text)
    return escaped if last or not escaped.endswith(" *") else f"{escaped[:-1]}\\*"


_RULES = {"left": ":--", "right": "--:", "center": ":-:"}


@dataclass(frozen=True, slots=True)
class RenderedMarkdown:
    """Markdown, and each citation in it with the characters from ``start`` to ``end`` that stand for it."""

    text: str
    marks: tuple[tuple[int, int, t.Cite], ...]


def render_markdown(tree: t.Tree, *, before: t.Block | None = None) -> RenderedMarkdown:
    """``tree``, which follows the block ``before``, as Markdown.

    Behind a block of code that is still being written there is no end of it.
    """
    writer = _BlockWriter()
    writer.blocks(tree, before=before)
    return RenderedMarkdown("".join(writer.parts), tuple(writer.marks))


class _BlockWriter(InlineWriter):
    def blocks(self, blocks: Sequence[t.Block], *, before: t.Block | None = None) -> None:
        for place, block in enumerate(blocks):
            if place:
                self._line(empty=block.gap)
            again = (
                isinstance(before, t.ListBlock)
                and isinstance(block, t.ListBlock)
                and type(before.start) is type(block.start)
            )
            self._block(block, again=again)
            before = block

    def _block(self, block: t.Block, *, again: bool) -> None:
        match block:
            case t.Paragraph():
                self.run(block.children)
            case t.Heading():
                self._put(f"{'#' * block.level} ")
                self._in_heading = True
                self.run(block.children)
                self._in_heading = False
            case t.CodeBlock():
                self._code_block(block)
            case t.ListBlock():
                self._list(block, again=again)
            case t.BlockQuote():
                self._within("> ", "> ", block.children)
            case t.TableBlock():
                self._table(block)
            case _:
                self._put("___" if self._prefix else "---")

    def _within(self, first: str, others: str, blocks: Sequence[t.Block]) -> None:
        """``blocks`` behind what their lines begin with."""
        outside = self._prefix
        self._put(first)
        self._prefix, self._begins_line = outside + others, True
        self.blocks(blocks)
        self._prefix = outside

    def _list(self, block: t.ListBlock, *, again: bool) -> None:
        """``again``: right behind another list, from which other markers tell it apart."""
        for place, item in enumerate(block.children):
            if place:
                self._line(empty=item.gap)
            if block.start is None:
                marker = "* " if again else "- "
            else:
                marker = f"{block.start + place}{')' if again else '.'} "
            self._within(marker, " " * len(marker), item.children)

    def _code_block(self, block: t.CodeBlock) -> None:
        self._put(f"{block.fence}{block.language}")
        for line in block.text.split("\n") if block.text else ():
            self._line(empty=False, blank=not line)
            self._put(line)
        if block.render_end:
            self._line(empty=False)
            self._put(block.fence)
        if any(not isinstance(node, t.ClaimSpan) or node.children or node.note for node in block.children):
            self._line(empty=True)
            self.run(block.children)

    def _table(self, table: t.TableBlock) -> None:
        head, *rows = table.children
        self._row(head)
        self._line(empty=False)
        self._put(f"| {' | '.join(_RULES.get(cell.align, '---') for cell in head.children)} |")
        for row in rows:
            self._line(empty=False)
            self._row(row)

    def _row(self, row: t.TableRow) -> None:
        self._in_row = True
        self._put("|")
        for cell in row.children:
            self._put(" ")
            self.run(cell.children)
            self._put(" |" if cell.children else "|")
        self._in_row = False
