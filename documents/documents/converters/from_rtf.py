"""RTF to Markdown: its paragraphs, cells and the looks of letters are written as HTML.

striprtf gives the names of what is not text; its own reader knows no hidden text, headings, notes or text boxes.
"""

from __future__ import annotations

import codecs
import re
from collections import defaultdict
from contextlib import suppress
from html import escape
from typing import Any

from striprtf.striprtf import charset_map, destinations, specialchars

from documents.converters.from_html import fragment_markdown
from documents.converters.output import compose, hidden_caveat, own_title
from documents.errors import Unconvertible
from documents.values import Converted

_TOKEN = re.compile(
    r"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\(.)|([{}])|[\r\n]+|([^\\{}\r\n]+)", re.DOTALL
)
_TARGETS = {"title": "title", "listtext": "label", "pntext": "label", "footnote": "note", "shptxt": "note"}
_TARGETS |= {"moMath": "text", "fonttbl": "fonts", "colortbl": "colors"}
"""What the text of a group is. The text of other groups that are destinations is left out."""
_DESTINATIONS = {*destinations, "nonshppict", "shprslt"}
_CLOSED = re.compile("annotation|shprslt|(?:header|footer)[lrf]?")
"""Groups that are left out with all groups in them."""
_RESETS = {"pard": ("outlinelevel", "cbpat", "intbl"), "plain": ("v", "cf", "fs", "highlight", "deleted", "b")}
_KEPT = {*_RESETS["pard"], *_RESETS["plain"], "chcbpat", "f", "uc"}
_LEFT_OUT, _MAX_DEPTH = ("ignored", "closed"), 10_000
_COLORS, _SHADINGS = ("red", "green", "blue"), {"trowd": "", "clcbpat": "background:url(x)"}
_TITLE_CHARS, _BODY = 300, 9  # with tags; the level of text that is no heading


def convert(data: bytes) -> Converted:
    """Return the document's text, with its title from its properties, else from a first line in bold letters.

    Raises:
        Unconvertible: it is no RTF.
        NoText: it holds no text.
    """
    text = data.decode("latin-1")
    at = text.find("{\\rtf")
    if at < 0:
        raise Unconvertible("is no RTF file")
    reader = _Reader()
    while found := _TOKEN.match(text, at):
        at = found.end() + (int(found[2] or 0) if found[1] == "bin" else 0)
        reader.read_token(*found.groups())
        if found[5] == "}" and not reader.stack:
            break
    body, hidden = fragment_markdown(reader.html())
    return Converted(compose(body, title=own_title(reader.words["title"])), hidden_caveat(hidden))


class _Reader:
    """The state of a document that is read token by token, and the HTML of its blocks."""

    def __init__(self) -> None:
        self.words: defaultdict[str, str] = defaultdict(str)  # by target
        self._state: dict[str, Any] = {"target": "text", "uc": 1}
        self.stack: list[dict[str, Any]] = []
        self._is_begun = self._is_optional = False
        self._pending, self._skip = bytearray(), 0
        self._codecs: dict[int | None, str] = {None: "cp1252"}  # by the font; of all others
        self._color, self._colors = "", list[str]()
        self._runs: list[list[str]] = []  # CSS and text
        self._cells: list[str] = [""]
        self._shading = ""
        self._blocks: list[tuple[str, str, bool]] = []  # a block's tag, its content, and whether it stands out

    def read_token(self, word: str, number: str, code: str, sign: str, brace: str, plain: str) -> None:
        """Read a token: a control word with its number, the code of a byte, a sign, a brace, or plain text."""
        if code or plain:
            if self._state["target"] in _LEFT_OUT:
                return
            data = bytes.fromhex(code) if code else plain.encode("latin-1")
            self._pending += data[self._skip :]
            self._skip = max(0, self._skip - len(data))
        elif word or sign or brace:
            self._flush()
            self._skip = 0
            if len(self.stack) > _MAX_DEPTH:
                raise RecursionError
            if brace == "{":
                self.stack.append(self._state.copy())
            elif brace:
                self._state = self.stack.pop()
            elif word:
                self._read_word(word, int(number) if number else 1)
            elif sign in "\r\n":
                self._end_block("par")
            else:
                self._write(specialchars.get(sign, ""))
            self._is_optional = sign == "*" and self._is_begun
            self._is_begun = brace == "{"

    def _flush(self) -> None:
        data, self._pending = self._pending, bytearray()
        self._write(data.decode(self._codecs.get(self._state.get("f"), self._codecs[None]), errors="replace"))

    def _read_word(self, word: str, number: int) -> None:
        state = self._state
        if word in _TARGETS or word in _DESTINATIONS or self._is_optional:
            if state["target"] != "closed":
                state["target"] = "closed" if _CLOSED.fullmatch(word) else _TARGETS.get(word, "ignored")
            self.words[state["target"]] += "\n" * (state["target"] == "note")
            self.words.pop("title" if word == "title" else "", None)  # it may be there again in Unicode
        elif word in ("par", "sect", "page", "cell", "row"):
            self._end_block(word)
        elif word in _KEPT:
            state[word] = number
        elif word in _RESETS:
            self._state = {name: value for name, value in state.items() if name not in _RESETS[word]}
        elif word == "u":
            self._write(chr(number % 0x10000))
            self._skip = state["uc"]
        elif word in _COLORS:
            self._color += f"{number % 256:02x}"
        elif word in ("ansicpg", "fcharset"):
            self._read_charset(word, number)
        else:
            self._shading = _SHADINGS.get(word, self._shading)
            self._write({"nestcell": " ", "nestrow": " "}.get(word, specialchars.get(word, "")))

    def _read_charset(self, word: str, number: int) -> None:
        name = f"cp{number}" if word == "ansicpg" else charset_map.get(number, "")
        with suppress(LookupError):
            self._codecs[self._state.get("f") if word == "fcharset" else None] = codecs.lookup(name).name

    def _write(self, text: str) -> None:
        target = self._state["target"]
        if target == "colors":
            self._colors += [self._color] * text.count(";")
            self._color = "" if ";" in text else self._color
        elif target != "text":
            self.words[target] += text if target not in _LEFT_OUT else ""
        elif text and not self._state.get("deleted"):
            css = self._css()
            if not self._runs or self._runs[-1][0] != css:
                self._runs.append([css, ""])
            self._runs[-1][1] += text

    def _css(self) -> str:
        """Return what decides in HTML whether letters are seen."""
        state = self._state
        css = ["display:none"] if state.get("v") else []
        for name in ("cf", "cbpat", "chcbpat", "highlight"):
            color = "".join(self._colors[state.get(name, 0) :][:1]) if state.get(name) else ""
            css += [f"{'color' if name == 'cf' else 'background'}:#{color}"] if color else []
        css += [f"font-size:{state['fs'] / 2}pt"] if "fs" in state else []
        return ";".join([*css, "font-weight:bold"] if state.get("b") else css)

    def _end_block(self, word: str) -> None:
        """End a paragraph, a cell or a row."""
        if self._state["target"] != "text":
            self.words[self._state["target"]] += "\n"
            return
        blocks = self._paragraph()
        if word in ("cell", "row") or "intbl" in self._state:
            self._cells[-1] += "".join(f"<{tag}>{text}</{tag}>" for tag, text, _ in blocks)
        else:
            self._blocks += blocks
        if word == "cell":
            self._cells.append("")
        elif word == "row":
            row = "".join(f'<td style="{self._shading}">{cell}</td>' for cell in self._cells[:-1])
            is_box = len(self._cells) == 2 and [tag for tag, *_ in self._blocks[-1:]] != ["tr"]
            self._blocks.append(("div", self._cells[0], False) if is_box else ("tr", row, False))
            self._cells = [""]

    def _paragraph(self) -> list[tuple[str, str, bool]]:
        """Return the blocks of the paragraph so far, and of the notes and boxes in it."""
        runs, label = self._runs, self.words.pop("label", "").strip()
        self._runs = []
        content = "".join(f'<span style="{css}">{escape(text)}</span>' for css, text in runs)
        level = self._state.get("outlinelevel", _BODY)
        tag = "ul" if label and not re.search(r"\w", label) else f"h{min(level + 1, 6)}" if level < _BODY else "p"
        content = f"<li>{content}</li>" if tag == "ul" else f"{escape(label)} {content}" if label else content
        is_title = len(content) < _TITLE_CHARS and all(css.endswith("bold") for css, text in runs if text.strip())
        notes = self.words.pop("note", "").split("\n")
        return [(tag, content, is_title)] * bool(runs) + [("p", escape(text), False) for text in notes if text.strip()]

    def html(self) -> str:
        """Return the document; a first line in bold letters is a heading, if there is no other."""
        self._flush()
        self._state = {"target": "text"}
        self._end_block("row" if self._cells != [""] else "par")
        has_headings = any(tag.startswith("h") for tag, *_ in self._blocks)
        first = next((at for at, block in enumerate(self._blocks) if block[0] == "p"), -1)
        html = "".join(
            f"<h1>{text}</h1>" if at == first and is_title and not has_headings else f"<{tag}>{text}</{tag}>"
            for at, (tag, text, is_title) in enumerate(self._blocks)
        )
        return html.replace("</ul><ul>", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
