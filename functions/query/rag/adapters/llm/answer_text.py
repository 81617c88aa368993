"""The answer within a completion: without reasoning, control tokens, invented turns and endless repetitions.

Servers remove these for models that they know. The forms come from vLLM's reasoning parsers and from the models'
chat templates. A text in pieces gives the same answer as the whole text, wherever it is split.
"""

from __future__ import annotations

import re

from rag.errors import LlmFailed

SHORTEST = 6
"""Words of the shortest repeated part; shorter parts count together until they have as many."""
TIMES = 3
"""Repetitions in a row that are a loop. None of 225 rated answers and of 495 short answers has one.
Six words that occur three times anywhere are in 4 of the 225."""

_WORD = re.compile(r"[^\w\s]{0,8}\w{1,40}[^\w\s]{0,8}")
"""A word with the marks around it: lines of code may differ in marks alone."""
_NUMBER = re.compile(r"\d{1,3}[.)]\W*")
"""The number of a list item, which is no word: a repeated item has another number."""
_MOST_MARKS = 8
"""Most marks before a word that belong to it, and most spaces of an item's indent."""


class RepetitionWatch:
    """Finds repetitions in a growing text, in constant time for each word."""

    def __init__(self) -> None:
        self._words: list[str] = []
        self._ends: list[int] = []
        self._last: dict[tuple[str, ...], int] = {}
        self._period = self._run = self._read = 0

    def find_loop(self, text: str, *, whole: bool = False) -> int | None:
        """Return the place to cut ``text``, all of it so far: before the second of ``TIMES`` repetitions.

        None without a loop. A word at the end of ``text`` may still grow unless it is ``whole``.
        """
        for word in _WORD.finditer(text, self._read):
            if word.end() == len(text) and not whole:
                self._read = word.start()
                return None
            self._read = word.end()
            indent = text[max(0, word.start() - _MOST_MARKS) : word.start()].rstrip(" ")
            if indent[-1:] in {"", "\n"} and _NUMBER.fullmatch(word[0]):
                continue
            self._ends.append(word.end())
            last_word = self._add(word[0].lower())
            if last_word is not None:
                return self._ends[last_word]
        self._read = max(self._read, len(text) - _MOST_MARKS)
        return None

    def _add(self, word: str) -> int | None:
        """Return the place of the last word of the first repetition, None until there are enough."""
        at = len(self._words)
        self._words.append(word)
        group = tuple(self._words[-SHORTEST:])
        if self._period and self._words[at - self._period] == word:
            self._run += 1
        else:
            before = self._last.get(group)
            self._period, self._run = (0, 0) if before is None else (at - before, SHORTEST)
        self._last[group] = at
        if not self._period or self._run + self._period < TIMES * max(self._period, SHORTEST):
            return None
        first = at - self._run - self._period + 1
        return first - 1 + self._period * -(-SHORTEST // self._period)


_MARK = re.compile(
    r"(?P<tag></?(?:\w{1,16}[:_])?(?:think(?:ing)?|thoughts?|reasoning)>|(?-i:\[/?THINK\])|\u25c1/?think\u25b7)"
    r"|<[|\uff5c][^\s<>|\uff5c]{1,40}[|\uff5c]?>|<\w{1,20}\|>|</s>|<(?:start|end)_of_\w{1,12}>|<(?:bos|eos|pad|unk)>"
    r"|(?-i:\[/?INST\])",
    re.IGNORECASE,
)
"""Tags around reasoning, and control tokens. U+FF5C is the bar in DeepSeek's, U+25C1 and U+25B7 are Kimi's."""
_PART_OF_MARK = re.compile(r"(?:<[^\s<>]{0,44}|\[/?[A-Z]{0,5}|\u25c1/?\w{0,5})\Z")

_BLOCKS = {
    "<|channel>": "<channel|>",
    "<|start_thinking|>": "<|end_thinking|>",
    "<|inner_prefix|>": "<|inner_suffix|>",
    "<|begin_of_thought|>": "<|end_of_thought|>",
}
"""Control tokens around reasoning other than tags: Gemma 4, Command A, Apertus and OpenThinker."""

_SPOKEN = re.compile(r"(analysis)(?=[A-Z])|(?i:here(?:'| i)s my thought process:)")
"""gpt-oss behind a server that drops its control tokens and keeps the words between them, and Granite."""
_SPOKEN_BEGINNINGS = ("analysis", "here is my thought process:", "here's my thought process:")

_HEADER = re.compile(r"<\|(?:im_start|start|start_header_id|start_of_role|channel)\|>|<\|turn>|<start_of_turn>")
_NAME = re.compile(
    r"[ \t]*(?:(?:assistant|model|(?P<final>final))|(?P<hidden>user|system|developer|tool|human|analysis|commentary))\b"
)
"""The name in a header: the speaker of the turn, or the channel of gpt-oss. Only the model's own text is shown."""
_UNFINISHED_NAME = re.compile(r"[ \t]*\w{0,12}\Z")
_TURN = re.compile(
    r"</s>|\[/?inst\]|<\|?(?:im_(?:start|end)|eo[tsm](?:_id|_token)?|end|return|call|start|start_header_id|turn"
    r"|endoftext|(?:start|begin|end)_of_(?:turn|text|sentence|utterance|role)(?:_token)?|end_response"
    r"|assistant|chatbot_token|(?:user|human|system)(?:_token)?|observation)\|?>"
)
"""A control token that begins or ends a turn."""

_PAGE = re.compile(r"<(?:!doctype|html|head)\b", re.IGNORECASE)


class AnswerText:
    """A growing answer; ``text`` is its final beginning so far.

    A text before a closing tag without an opening one was reasoning: it is dropped and counted in ``drops``.
    ``has_ended``: the rest is ignored, because a turn ended or the text repeats itself (``is_loop``).
    """

    def __init__(self) -> None:
        self.text = ""
        self.drops = 0
        self.has_ended = self.is_loop = False
        self._pending = ""
        self._until: re.Pattern[str] | None = None
        self._is_muted = False
        self._watch = RepetitionWatch()

    def take(self, piece: str) -> None:
        """Add the next piece of the completion.

        Raises:
            LlmFailed: the text is an HTML page.
        """
        self._pending += piece
        self._read(whole=False)

    def end(self) -> None:
        """Add the pending text at the end of the completion.

        Raises:
            LlmFailed: as ``take``.
        """
        self._read(whole=True)
        self._add("", whole=True)

    def _read(self, *, whole: bool) -> None:
        while self._pending and not self.has_ended and self._step(whole=whole):
            pass

    def _step(self, *, whole: bool) -> bool:
        """Process a part of the pending text; return False if more text is needed."""
        if self._until:
            return self._skip_block(self._until)
        if not self.text:
            self._pending = self._pending.lstrip()
            if spoken := _SPOKEN.match(self._pending):
                return self._hide("assistantfinal" if spoken[1] else "my response:", spoken.end())
            begun = self._pending.lower()
            if not whole and any(beginning.startswith(begun) for beginning in _SPOKEN_BEGINNINGS):
                return False
        mark = _MARK.search(self._pending)
        if mark and not mark.start():
            return self._follow(mark, whole=whole)
        after = mark if mark or whole else _PART_OF_MARK.search(self._pending)
        self._add(self._consume(after.start() if after else len(self._pending)))
        return mark is not None

    def _follow(self, mark: re.Match[str], *, whole: bool) -> bool:
        """Process the mark at the beginning; return False if more text is needed."""
        source, size = mark[0], mark.end()
        sign = source.lower().replace("\uff5c", "|").replace("\u2581", "_")
        is_tag = mark["tag"] is not None
        if not self._is_muted and self._is_literal(sign, is_tag=is_tag):
            self._add(self._consume(size))
        elif _HEADER.fullmatch(sign):
            return self._read_header(sign, size, whole=whole)
        elif sign in _BLOCKS.values() or (is_tag and "/" in sign):
            self._drop(size)
        elif is_tag or sign in _BLOCKS:
            self._hide(_BLOCKS.get(sign, f"{source[0]}/{source[1:]}"), size)
        elif self._ends_turn(sign):
            self.has_ended = True
        else:
            self._consume(size)
        return True

    def _read_header(self, sign: str, size: int, *, whole: bool) -> bool:
        if not whole and _UNFINISHED_NAME.match(self._pending, size):
            return False
        name = _NAME.match(self._pending, size)
        size = name.end() if name else size
        if sign == "<|channel|>" and name and name["final"]:
            self._drop(size)
        elif self._ends_turn(sign):
            self.has_ended = True
        else:
            self._consume(size)
            self._is_muted = bool(name and name["hidden"])
        return True

    def _ends_turn(self, sign: str) -> bool:
        return self.text != "" and not self._is_muted and _TURN.fullmatch(sign) is not None

    def _is_literal(self, sign: str, *, is_tag: bool) -> bool:
        """Return whether the mark is a part of the answer: in code, within a line, or closing a tag of the text."""
        line = self.text[self.text.rfind("\n") + 1 :]
        if self.text.count("```") % 2 == 1 or line.count("`") % 2 == 1:
            return True
        return sign.replace("/", "", 1) in self.text.lower() if "/" in sign else is_tag and line != ""

    def _consume(self, size: int) -> str:
        part, self._pending = self._pending[:size], self._pending[size:]
        return part

    def _hide(self, close: str, size: int) -> bool:
        self._consume(size)
        self._until = re.compile(re.escape(close), re.IGNORECASE)
        return True

    def _skip_block(self, close: re.Pattern[str]) -> bool:
        found = close.search(self._pending)
        self._until = None if found else close
        self._pending = self._pending[found.end() :] if found else self._pending[-len(close.pattern) :]
        return found is not None

    def _drop(self, size: int) -> None:
        self._consume(size)
        self.text, self._is_muted = "", False
        self.drops += 1
        self._watch = RepetitionWatch()

    def _add(self, part: str, *, whole: bool = False) -> None:
        if self._is_muted or self.has_ended:
            return
        if not self.text and _PAGE.match(part):
            raise LlmFailed("Unreadable completion: an HTML page")
        self.text += part
        cut = self._watch.find_loop(self.text, whole=whole)
        if cut is not None:
            self.text, self.has_ended, self.is_loop = self.text[:cut], True, True
