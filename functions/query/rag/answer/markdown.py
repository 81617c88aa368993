"""Writing a tree as Markdown that every reader of Markdown takes for the same.

What is text is escaped; code stands between ticks that nothing else pairs with; an address stands in angle brackets or
behind a label, since no standard says where a bare one ends. What was written of a beginning of a tree is a beginning
of what is written of it all: an answer can be sent while it grows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from rag.answer.held import BARE, bare_address
from rag.answer.tree import (
    Block,
    Break,
    Cite,
    Code,
    CodeBlock,
    Heading,
    Inline,
    Link,
    Listing,
    Mark,
    Paragraph,
    Quotation,
    Row,
    Ruler,
    Statement,
    Styled,
    Table,
    Text,
    Tree,
)

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
_TICKS = re.compile("`+")
_MARKERS = {"strong": ("**", "__"), "em": ("*", "_"), "s": ("~~", "~~")}
_RULES = {"left": ":--", "right": "--:", "center": ":-:"}


@dataclass(frozen=True, slots=True)
class Written:
    """Markdown, and each citation in it with the characters from ``start`` to ``end`` that stand for it."""

    text: str
    marks: tuple[tuple[int, int, Cite], ...]


def markdown(tree: Tree, *, before: Block | None = None) -> Written:
    """``tree``, which follows the block ``before``, as Markdown.

    Behind a block of code that is still being written there is no end of it.
    """
    writer = _Writer()
    writer.blocks(tree, before=before)
    return Written("".join(writer.parts), tuple(writer.marks))


def inline_markdown(run: Sequence[Inline]) -> str:
    """A run of nodes as Markdown, its citations left out."""
    writer = _Writer()
    writer.run([node for node in run if not isinstance(node, Cite)])
    return "".join(writer.parts).strip()


class _Writer:
    def __init__(self) -> None:
        self.parts: list[str] = []
        self.marks: list[tuple[int, int, Cite]] = []
        self._length = 0
        self._prefix = ""
        self._begins_line = True
        self._in_row = self._in_heading = False
        self._stated = 0
        self._linked = (0, 0)
        self._address = False
        """Whether what follows could be taken for more of an address that stands bare."""

    def blocks(self, blocks: Sequence[Block], gaps: Sequence[bool] = (), *, before: Block | None = None) -> None:
        for place, block in enumerate(blocks):
            if place:
                self._line(empty=gaps[place] if gaps else True)
            again = (
                isinstance(before, Listing) and isinstance(block, Listing) and type(before.start) is type(block.start)
            )
            self._block(block, again=again)
            before = block

    def _block(self, block: Block, *, again: bool) -> None:
        match block:
            case Paragraph():
                self.run(block.children)
            case Heading():
                self._put(f"{'#' * block.level} ")
                self._in_heading = True
                self.run(block.children)
                self._in_heading = False
            case CodeBlock():
                self._code_block(block)
            case Listing():
                self._list(block, again=again)
            case Quotation():
                self._within("> ", "> ", block.children)
            case Table():
                self._table(block)
            case Ruler():
                self._put("___" if self._prefix else "---")

    def _within(self, first: str, others: str, blocks: Sequence[Block], gaps: Sequence[bool] = ()) -> None:
        """``blocks`` behind what their lines begin with."""
        outside = self._prefix
        self._put(first)
        self._prefix, self._begins_line = outside + others, True
        self.blocks(blocks, gaps)
        self._prefix = outside

    def _list(self, block: Listing, *, again: bool) -> None:
        """``again``: right behind another list, from which other markers tell it apart."""
        for place, item in enumerate(block.items):
            if place:
                self._line(empty=item.gaps[0])
            if block.start is None:
                marker = "* " if again else "- "
            else:
                marker = f"{block.start + place}{')' if again else '.'} "
            self._within(marker, " " * len(marker), item.children, item.gaps)

    def _code_block(self, block: CodeBlock) -> None:
        self._put(f"{block.fence}{block.language}")
        for line in block.text.split("\n") if block.text else ():
            self._line(empty=False, blank=not line)
            self._put(line)
        if block.closed:
            self._line(empty=False)
            self._put(block.fence)
        if block.below:
            self._line(empty=True)
            self.run(block.below)

    def _table(self, table: Table) -> None:
        width = len(table.head)
        self._row(table.head)
        self._line(empty=False)
        self._put(f"| {' | '.join(_RULES.get(align, '---') for align in table.aligns)} |")
        for row in table.rows:
            self._line(empty=False)
            self._row((*row, *(() for _ in range(width - len(row)))))

    def _row(self, row: Row) -> None:
        self._in_row = True
        self._put("|")
        for cell in row:
            self._put(" ")
            self.run(cell)
            self._put(" |" if cell else "|")
        self._in_row = False

    def run(self, run: Sequence[Inline], *, ends: bool = True) -> None:
        """``ends``: nothing but white space follows, now or when more has been written."""
        for place, node in enumerate(run, start=1):
            self._inline(node, last=ends and place == len(run))

    def _inline(self, node: Inline, *, last: bool) -> None:
        match node:
            case Text(text) | Mark(text):
                self._text(text, last=last)
            case Code(text):
                self._code(text)
            case Break(hard):
                self._break(hard=hard)
            case Styled(style, children):
                self._styled(_MARKERS[style], children)
            case Link():
                self._link(node)
            case Cite():
                self._cite(node)
            case Statement():
                self._stated = self._length
                self.run(node.children, ends=last)
                if node.note:
                    self._put(f" *({node.note})*")

    def _text(self, text: str, *, last: bool) -> None:
        text = text.replace("\n", " ")
        text = text.lstrip() if self._begins_line else text
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

    def _styled(self, markers: tuple[str, str], children: Sequence[Inline]) -> None:
        marker = markers[self._last() == "*"]
        self._put(marker)
        self.run(children, ends=False)
        self._put(marker)

    def _link(self, link: Link) -> None:
        if link.children == (Text(link.href),) and not link.image:
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
        title = f' "{link.title}"' if _PLAIN_TITLE.fullmatch(link.title) and not BARE.search(link.title) else ""
        self._put(f"]({target}{title})")
        self._linked = (start, self._length)

    def _cite(self, cite: Cite) -> None:
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
        found = BARE.search(raw)
        if found is None:
            self._put(f"{raw[0]}{_escaped(raw[1:-1])}{raw[-1]}")
            return
        address = bare_address(found) or found[0]
        bare = _PLAIN_ADDRESS.fullmatch(address)
        before, behind = raw[: found.start()], raw[found.start() + len(address) :]
        self._put(before[:1] + _escaped(before[1:]))
        if bare:
            self._put(address)
        else:
            self._link(Link(address, (Text(address),)))
        self._put(behind[:-1] and _escaped(behind[:-1]))
        self._put(behind[-1:])
        self._address = bare is not None

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
