"""What a model writes, let through as it comes, but for what could lead to an address that no passage holds.

Text that can lead nowhere passes at once. A link or an address passes as soon as all of it is there, where it is held.
What else may lead somewhere waits until it is known to be code, or until its block ends; then that is cleaned as a
finished text is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from functools import cache

from rag.stages.links.constructs import Construct, constructs, last_block
from rag.stages.links.held import held_by
from rag.stages.links.led import READ_AS, UNREAD, led
from rag.stages.links.placed import Unplaced
from rag.stages.links.ticks import paired
from rag.stages.links.tokens import TOKEN, judged
from rag.values.answer import Context
from rag.values.chat import OnText

READINGS = 16
"""So often all of a text may be read again to tell what is code and where blocks end; the rest waits for its end."""
FREE = 20_000
"""Characters that may be read again beside that."""
_APART = re.compile(r"(?<=[\]<@&\\])(?=\S)|(?<=:)(?=//)|(?<=www\.)|(?<=mailto:)|(?<=xmpp:)", re.IGNORECASE)


def streamed(on_text: OnText, context: Context) -> Streamed:
    """``on_text`` for what a model writes of ``context``, whose passages hold what may be led to."""
    return Streamed(on_text, cache(lambda: held_by(passage.hit.chunk for passage in context.used)))


class Streamed:
    """An ``OnText`` around ``on_text``; ``held`` gives the keys of the addresses that may be led to.

    Whenever ``on_text`` has got something, all that it got leads nowhere else. It is a beginning of the text as ``led``
    cleans it, unless an address was known for one too late: then blanks take that apart.
    """

    def __init__(self, on_text: OnText, held: Callable[[], Container[str]]) -> None:
        self._on_text = on_text
        self._held = held
        self._text = ""  # from the beginning of a block: what was let through, and what waits
        self._shown = 0  # so much of it was let through
        self._at = 0  # so much of it is harmless
        self._mark: int | None = None  # where a bracket opens
        self._in_fence = False  # whether the line at _at is code
        self._unclear = False  # whether what begins at _at is
        self._looked = 0  # so much was there when that was looked at
        self._room = FREE
        self._ended = False
        self._return = self._began = False

    def __call__(self, text: str) -> None:
        """The next piece of the text; see ``OnText``."""
        self._room += READINGS * len(text)
        self._text += self._with_line_ends(text)
        self._judge()
        self._let_through()

    def end(self) -> None:
        """The text ends here."""
        if self._shown < len(self._text) and not self._ended:
            self._forget()
            self._clean(len(self._text))
            self._let_through()

    def _with_line_ends(self, text: str) -> str:
        if self._return and text:
            text = text.removeprefix("\n")
        self._return = text.endswith("\r") if text else self._return
        if not self._began and text:
            self._began, text = True, text.lstrip("\ufeff")
        return UNREAD.sub(lambda one: READ_AS.get(one[0][0], " "), text)

    def _let_through(self) -> None:
        # A definition goes with the empty lines before it.
        new = self._text[self._shown : self._at if self._mark is None else self._mark].rstrip("\n")
        self._shown += len(new)
        self._on_text(new)

    def _judge(self) -> None:
        while not self._ended and (not self._unclear or self._told()):
            if self._in_fence:
                line_end = self._text.find("\n", self._at)
                self._at = len(self._text) if line_end < 0 else line_end
                self._in_fence = line_end < 0
            token = TOKEN.search(self._text, self._at)
            if token is None:
                self._at = len(self._text)
                return
            self._at = token.start()
            state, end = judged(self._text, token, self._held())
            if state == "wait":
                self._at = max(end, self._shown)
                return
            if state == "unclear":
                self._at, self._unclear = max(end, self._shown), True
                self._looked = self._at
                continue
            self._bracket(token)
            self._at = end

    def _bracket(self, token: re.Match[str]) -> None:
        if token[0] in {"\n", "]"}:
            self._mark = None
        elif token[0].endswith("[") and self._mark is None:
            self._mark = token.start()

    def _told(self) -> bool:
        """Whether it is known by now what begins at ``_at``."""
        new, first = self._text[self._looked :], self._looked <= self._at
        ticks = "`" in self._text[max(self._looked - 1, 0) : -1]
        self._looked = len(self._text)
        if not first and not ticks and "\n" not in new:
            return False
        self._forget()
        self._room -= len(self._text)
        if self._room < 0:
            return False
        code = self._code()
        if code and not code.inline:
            self._in_fence = True
            self._shorten(code)
        elif code and self._stays(code):
            self._at = code.end
        elif "\n" not in new or not self._clean(self._closed()):
            return False
        self._unclear = False
        return True

    def _code(self) -> Construct | None:
        if "`" not in self._text and "~~~" not in self._text:
            return None
        try:
            found = constructs(self._text, tables=True, code=True)
            return next((one for one in found if one.kind == "code" and one.start <= self._at < one.end), None)
        except Unplaced:
            return None

    def _stays(self, code: Construct) -> bool:
        """Whether a span of code is one for good: in its line alone too, which may become a row of a table."""
        first = self._text.rfind("\n", 0, self._at) + 1
        line = self._text[first : code.end + 1]
        if code.end == len(self._text) or "|" in line or "\n" in line[:-1]:
            return False
        before = self._text[self._text.rfind("\n\n", 0, self._at) + 1 : code.end]
        if "$" in before or paired(before) is None:
            return False
        spans = constructs(line, tables=False, code=True)
        return any((one.start + first, one.end + first) == (code.start, code.end) for one in spans)

    def _closed(self) -> int:
        """Up to where nothing that comes changes what the text is, if that is behind ``_at``, else 0."""
        end = self._text.rfind("\n") + 1
        lines = self._text[:end]
        if lines.endswith("\n\n") or not lines.rpartition("\n")[0].rpartition("\n")[2].strip(" \t>"):
            return end
        last = last_block(lines)
        return last if last > self._at else 0

    def _clean(self, end: int) -> int:
        """Clean the text up to ``end``, where there is one, as far as that was not let through."""
        whole, shown = self._text[:end], self._text[: self._shown]
        cleaned = led(whole, self._held()).text if end else ""
        if not cleaned.startswith(shown) and end:
            cleaned = shown + _APART.sub(" ", whole[self._shown :])
            self._ended = led(cleaned, self._held()).text != cleaned
            cleaned = shown if self._ended else cleaned
        if whole.endswith("\n") and not cleaned.endswith("\n"):
            cleaned += "\n"
        if end:
            self._text = cleaned + self._text[end:]
            self._at, self._mark, self._unclear = len(cleaned), None, False
        return end

    def _shorten(self, fenced: Construct) -> None:
        """Forget lines that a fence holds: they change nothing."""
        done = self._text.rfind("\n", 0, self._shown) + 1
        if done > fenced.start:
            self._cut(fenced.start, done)

    def _forget(self) -> None:
        """Forget blocks that were let through, and that nothing changes."""
        done = self._text.rfind("\n", 0, self._shown) + 1
        if done:
            self._cut(0, last_block(self._text[:done]))

    def _cut(self, start: int, end: int) -> None:
        gone = end - start
        self._text = self._text[:start] + self._text[end:]
        self._shown, self._at, self._looked = self._shown - gone, self._at - gone, self._looked - gone
        self._mark = None if self._mark is None else self._mark - gone
