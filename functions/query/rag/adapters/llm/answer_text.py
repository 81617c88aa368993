"""The answer within what a model writes: without its reasoning, control tokens and the turns that it makes up.

Servers take these out for models that they know. The forms are those of vLLM's reasoning parsers and of the models'
chat templates. A text in pieces gives what the whole gives, wherever it is cut.
"""

from __future__ import annotations

import re

from rag.adapters.llm.repetition import RepetitionWatch
from rag.errors import LlmFailed

_MARK = re.compile(
    r"(?P<tag></?(?:\w{1,16}[:_])?(?:think(?:ing)?|thoughts?|reasoning)>|(?-i:\[/?THINK\])|\u25c1/?think\u25b7)"
    r"|<[|\uff5c][^\s<>|\uff5c]{1,40}[|\uff5c]?>|<\w{1,20}\|>|</s>|<(?:start|end)_of_\w{1,12}>|<(?:bos|eos|pad|unk)>"
    r"|(?-i:\[/?INST\])",
    re.IGNORECASE,
)
"""A tag around reasoning, or a control token. U+FF5C is the bar in DeepSeek's, U+25C1 and U+25B7 are Kimi's."""
_PART_OF_MARK = re.compile(r"(?:<[^\s<>]{0,44}|\[/?[A-Z]{0,5}|\u25c1/?\w{0,5})\Z")

_BLOCKS = {
    "<|channel>": "<channel|>",
    "<|start_thinking|>": "<|end_thinking|>",
    "<|inner_prefix|>": "<|inner_suffix|>",
    "<|begin_of_thought|>": "<|end_of_thought|>",
}
"""The control tokens around reasoning that are no tag: of Gemma 4, Command A, Apertus and OpenThinker."""
_BLOCK_ENDS = frozenset(_BLOCKS.values())

_SPOKEN = re.compile(r"(analysis)(?=[A-Z])|(?i:here(?:'| i)s my thought process:)")
"""gpt-oss behind a server that drops its control tokens but not the words between them, and Granite."""
_SPOKEN_BEGINNINGS = ("analysis", "here is my thought process:", "here's my thought process:")

_HEADER = re.compile(r"<\|(?:im_start|start|start_header_id|start_of_role|channel)\|>|<\|turn>|<start_of_turn>")
_NAME = re.compile(
    r"[ \t]*(?:(?:assistant|model|(?P<final>final))|(?P<hidden>user|system|developer|tool|human|analysis|commentary))\b"
)
"""What a header names: whose turn begins, or the channel of gpt-oss. Only the model's own text is shown."""
_UNFINISHED_NAME = re.compile(r"[ \t]*\w{0,12}\Z")
_TURN = re.compile(
    r"</s>|\[/?inst\]|<\|?(?:im_(?:start|end)|eo[tsm](?:_id|_token)?|end|return|call|start|start_header_id|turn"
    r"|endoftext|(?:start|begin|end)_of_(?:turn|text|sentence|utterance|role)(?:_token)?|end_response"
    r"|assistant|chatbot_token|(?:user|human|system)(?:_token)?|observation)\|?>"
)
"""A control token that begins or ends a turn."""

_PAGE = re.compile(r"<(?:!doctype|html|head)\b", re.IGNORECASE)


class AnswerText:
    """One answer, which grows by ``take``. ``text`` is what is certain of it.

    A text before a closing tag without an opening one was reasoning: it is dropped, and ``drops`` counts that.
    ``has_ended`` says that nothing more will be read, as a turn ended or the text went in circles (``is_loop``).
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
        """Add the next piece of what the model writes.

        Raises:
            LlmFailed: it is an HTML page.
        """
        self._pending += piece
        self._read(whole=False)

    def end(self) -> None:
        """Add what was held back, as no piece follows.

        Raises:
            LlmFailed: as ``take``.
        """
        self._read(whole=True)
        self._add("", whole=True)

    def _read(self, *, whole: bool) -> None:
        while self._pending and not self.has_ended and self._step(whole=whole):
            pass

    def _step(self, *, whole: bool) -> bool:
        """Read a part of what is pending; return False where nothing can be done before more comes."""
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
        part = None if mark or whole else _PART_OF_MARK.search(self._pending)
        after = mark or part
        self._add(self._taken(after.start() if after else len(self._pending)))
        return mark is not None

    def _follow(self, mark: re.Match[str], *, whole: bool) -> bool:
        """Do what the mark at the beginning says; return False where that is not known yet."""
        written, size = mark[0], mark.end()
        sign = written.lower().replace("\uff5c", "|").replace("\u2581", "_")
        is_tag = mark["tag"] is not None
        if not self._is_muted and self._is_literal(sign, is_tag=is_tag):
            self._add(self._taken(size))
        elif _HEADER.fullmatch(sign):
            return self._read_header(sign, size, whole=whole)
        elif sign in _BLOCK_ENDS or (is_tag and "/" in sign):
            self._drop(size)
        elif is_tag or sign in _BLOCKS:
            self._hide(_BLOCKS.get(sign, f"{written[0]}/{written[1:]}"), size)
        elif self._ends_turn(sign):
            self.has_ended = True
        else:
            self._taken(size)
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
            self._taken(size)
            self._is_muted = bool(name and name["hidden"])
        return True

    def _ends_turn(self, sign: str) -> bool:
        return self.text != "" and not self._is_muted and _TURN.fullmatch(sign) is not None

    def _is_literal(self, sign: str, *, is_tag: bool) -> bool:
        """Whether the answer speaks of it: in code, a tag within a line, or the end of one that is in the text."""
        line = self.text[self.text.rfind("\n") + 1 :]
        if self.text.count("```") % 2 == 1 or line.count("`") % 2 == 1:
            return True
        return sign.replace("/", "", 1) in self.text.lower() if "/" in sign else is_tag and line != ""

    def _taken(self, size: int) -> str:
        taken, self._pending = self._pending[:size], self._pending[size:]
        return taken

    def _hide(self, close: str, size: int) -> bool:
        self._taken(size)
        self._until = re.compile(re.escape(close), re.IGNORECASE)
        return True

    def _skip_block(self, close: re.Pattern[str]) -> bool:
        found = close.search(self._pending)
        self._until = None if found else close
        self._pending = self._pending[found.end() :] if found else self._pending[-len(close.pattern) :]
        return found is not None

    def _drop(self, size: int) -> None:
        self._taken(size)
        self.text, self._is_muted = "", False
        self.drops += 1
        self._watch = RepetitionWatch()

    def _add(self, part: str, *, whole: bool = False) -> None:
        if self._is_muted or self.has_ended:
            return
        if not self.text and _PAGE.match(part):
            raise LlmFailed("Unreadable completion: an HTML page")
        self.text += part
        cut = self._watch.look(self.text, whole=whole)
        if cut is not None:
            self.text, self.has_ended, self.is_loop = self.text[:cut], True, True
