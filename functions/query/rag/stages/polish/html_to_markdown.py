"""HTML in a completion to Markdown.

Code stays to the letter. Elements that Markdown knows become Markdown, others are unwrapped, and what can run goes with
what it holds. A tag that nothing closes is a mention of it: it is text, with a blank behind its "<" unless it is a
placeholder such as "<your name>", so that no tag is left outside of code.
"""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

from rag.stages.cite.marks import CODE
from rag.stages.polish.harmless import harmless, is_safe_target, with_characters
from rag.values.answer import Context, Polished

MARKS = {"b": "**", "strong": "**", "i": "*", "em": "*", "s": "~~", "del": "~~"}
HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_BLOCKS = "p div section article header footer figure figcaption details summary dl dt dd table"
BLOCKS = frozenset(_BLOCKS.split())
LISTS = frozenset(("ul", "ol"))
CELLS = frozenset(("td", "th"))
NESTING = (
    MARKS.keys() | HEADINGS.keys() | BLOCKS | LISTS | CELLS | {"a", "sup", "code", "pre", "blockquote", "li", "tr"}
)
VOID = frozenset(("br", "hr", "img"))
LEFT_OPEN = frozenset(("li", "p", "dt", "dd", "tr", *CELLS))
"""Need no closing tag; any other element that nothing closes is a mention of it."""
ENDED_BY_NEXT = {"li": {"li"}, "tr": {"tr", *CELLS}, "td": CELLS, "th": CELLS, "p": {"p"}, "dt": {"dd"}, "dd": {"dt"}}
"""What of its own kind an element ends that nobody closed."""
_DROPPED = """
script style iframe object embed applet noscript template svg math head title textarea select plaintext xmp frameset
noframes noembed
"""
DROPPED = frozenset(_DROPPED.split())
"""Left out with everything in them."""
ELEMENTS = NESTING | VOID | DROPPED
MAX_DEPTH = 40

# Stand for code (by its number), for a "<" that is text and for a "&" while the rest is read as HTML.
_CODE, _LESS, _AMPERSAND = "\x01{}\x02", "\x03", "\x04"
_PRIVATE = str.maketrans("", "", "\x00\x01\x02\x03\x04")
_HIDDEN_CODE = re.compile("\x01(\\d+)\x02")
# No tag reaches over code.
_TAG = re.compile(r"""<(/?)([A-Za-z][A-Za-z0-9:_-]*)((?:[\s/](?:[^<>"'\x01]|"[^"<\x01]*"|'[^'<\x01]*')*+)?)>|<""")
_DECLARATION = re.compile(r"<[!?][^<>\x01]*>")
_COMMENT = re.compile(rf"<!--.*?-->|{_DECLARATION.pattern}", re.DOTALL)
_PIPE = re.compile(r"(?<!\\)\|")
_ROW_BREAK = re.compile(r"(?<=[^\n])<br\s*/?>(?=[^\n])", re.IGNORECASE)
_ROW = re.compile(r"^[ \t>]*\|.*$", re.MULTILINE)
_LANGUAGE = re.compile(r"\blang(?:uage)?-([\w+#.-]{1,30})")
_TICKS = re.compile("`+")
_ENCODED = str.maketrans({" ": "%20", "(": "%28", ")": "%29"})
_BLANK_LINES = re.compile(r"[ \t]*\n(?:[ \t]*\n)+")


def html_to_markdown(text: str) -> str:
    """``text`` as Markdown, in which no HTML tag is left outside of code; what is Markdown stays as it is."""
    text, codes = _masked(text.translate(_PRIVATE))
    if "<" in text:
        text = _without_dropped(_without_comments(text))
        text = _ROW.sub(lambda row: _ROW_BREAK.sub(" ", row[0]), text)
        marked = _only_elements(text).replace("&", _AMPERSAND)
        if "<" in marked:
            marked = _Converter(codes).convert(marked)
        text = marked.replace(_LESS, "<").replace(_AMPERSAND, "&")
    # What is code now, after all that may have moved.
    text, codes = _masked(_revealed(with_characters(text), codes))
    return _revealed(harmless(text, ELEMENTS), codes)


def _masked(text: str) -> tuple[str, list[str]]:
    """``text`` with marks in place of its code, and the code."""
    codes: list[str] = []
    return CODE.sub(lambda match: _hidden(match[0], codes), text), codes


def _revealed(text: str, codes: list[str]) -> str:
    return _HIDDEN_CODE.sub(lambda match: codes[int(match[1])], text)


def _hidden(code: str, codes: list[str]) -> str:
    codes.append(code)
    return _CODE.format(len(codes) - 1)


def _without_comments(text: str) -> str:
    # Behind the last end there is none: no beginning is followed up to the end of the text.
    head, end, tail = text.rpartition("-->")
    return _COMMENT.sub("", head + end) + _DECLARATION.sub("", tail)


def _without_dropped(text: str) -> str:
    for name in DROPPED:
        lower, end = text.lower(), 0
        kept: list[str] = []
        while (start := lower.find(f"<{name}", end)) >= 0 and (close := lower.find(f"</{name}", start)) >= 0:
            kept.append(text[end:start])
            end = lower.find(">", close) + 1 or len(text)
        text = "".join([*kept, text[end:]])
    return text


def _only_elements(text: str) -> str:
    """``text`` with each ``<`` masked that begins no element: a comparison, an address, a mention of a tag."""
    last_closing = {match[2].lower(): match.start() for match in _TAG.finditer(text) if match[1]}

    def kept(match: re.Match[str]) -> str:
        name = (match[2] or "").lower()
        element = match[1] or name in VOID | LEFT_OPEN or last_closing.get(name, -1) > match.start()
        return match[0] if name and element else match[0].replace("<", _LESS)

    return _TAG.sub(kept, text)


class _Converter(HTMLParser):
    """Renders each element into the one that holds it, when it ends."""

    def __init__(self, codes: list[str]) -> None:
        super().__init__(convert_charrefs=False)
        self.codes = codes
        self.open: list[tuple[str, dict[str, str], list[str]]] = [("", {}, [])]

    def convert(self, text: str) -> str:
        self.feed(text)
        self.close()
        while len(self.open) > 1:
            self._end_last()
        return _BLANK_LINES.sub("\n\n", "".join(self.open[0][2])).strip("\n").rstrip()

    def handle_data(self, data: str) -> None:
        # White space between the parts of a list or a table means nothing.
        if data.strip() or self.open[-1][0] not in LISTS | {"table", "tr"}:
            self.open[-1][2].append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: unescape((value or "").replace(_AMPERSAND, "&")).strip() for name, value in attrs}
        while self.open[-1][0] in ENDED_BY_NEXT.get(tag, ()):
            self._end_last()
        if self._within("pre", "code") and tag not in MARKS.keys() | {"br", "code", "span"}:
            self._add((self.get_starttag_text() or "").replace("<", _LESS))  # what the code is about
        elif tag in NESTING and len(self.open) < MAX_DEPTH:
            self.open.append((tag, attributes, []))
        elif tag == "br":
            self._add("\n" if self._within("pre") else " " if self._within(*CELLS, *HEADINGS) else "  \n")
        elif tag == "hr":
            self._add("\n\n---\n\n")
        elif tag == "img":
            self._add(attributes.get("alt", ""))

    def handle_endtag(self, tag: str) -> None:
        if self._within(tag):
            while self.open[-1][0] != tag:
                self._end_last()
            self._end_last()
        elif self._within("pre", "code") and tag not in MARKS.keys() | {"span"}:
            self._add(f"{_LESS}/{tag}>")

    def _within(self, *names: str) -> bool:
        return any(name in names for name, _, _ in self.open[1:])

    def _add(self, text: str) -> None:
        self.open[-1][2].append(text)

    def _end_last(self) -> None:
        name, attributes, parts = self.open.pop()
        held = "".join(parts)
        if name in {"code", "pre"}:
            held = self._code(name, held, attributes)
        elif name == "li":
            held = self._item(held.strip())
        elif name in CELLS:
            for match in _HIDDEN_CODE.finditer(held):
                self.codes[int(match[1])] = _PIPE.sub(r"\\|", self.codes[int(match[1])])
            held = f"{_PIPE.sub(r'\\|', ' '.join(held.split()))} | "
        elif name == "tr":
            ruler = "" if self.open[-1][2] else f"\n|{' --- |' * len(parts)}"
            held = f"| {held.rstrip()}{ruler}\n"
        elif name in LISTS and self._within("li"):
            held = f"\n{held.strip()}\n"
        elif held.strip():
            held = _rendered(name, attributes.get("href", ""), held, held.strip())
        self._add(held)

    def _item(self, inner: str) -> str:
        holder, of_list, items = self.open[-1]
        first = of_list.get("start", "1")
        number = (int(first) if first.isdecimal() and len(first) < 6 else 1) + len(items)
        marker = f"{number}. " if holder == "ol" else "- "
        return f"{marker}{_indented(inner, len(marker))}\n"

    def _code(self, name: str, held: str, attributes: dict[str, str]) -> str:
        """``held`` between more ticks than it has."""
        code = unescape(_revealed(held, self.codes).replace(_AMPERSAND, "&").replace(_LESS, "<"))
        if name == "code" and self._within("pre"):
            language = _LANGUAGE.search(attributes.get("class", ""))
            self.open[-1][1].setdefault("language", language[1] if language else "")
            return held
        ticks = "`" * (max((len(run) for run in _TICKS.findall(code)), default=0) + 1)
        if name == "pre" and not self._within(*CELLS):
            fence = max(ticks, "```", key=len)
            block = "\n".join([f"{fence}{attributes.get('language', '')}", code.strip("\n").rstrip(), fence])
            return "\n\n" + "\n".join(_hidden(line, self.codes) for line in block.split("\n")) + "\n\n"
        inner = " ".join(code.split())
        pad = " " if inner.startswith("`") or inner.endswith("`") else ""
        return _hidden(f"{ticks}{pad}{inner}{pad}{ticks}", self.codes) if inner else ""


def _indented(text: str, width: int) -> str:
    lines = _BLANK_LINES.sub("\n\n", text).split("\n")
    return "\n".join([lines[0], *(f"{' ' * width}{line}" if line else "" for line in lines[1:])])


def _rendered(name: str, href: str, held: str, inner: str) -> str:
    """An element that holds ``inner``, with the blanks around it ``held``."""
    if name in MARKS:
        return held.replace(inner, f"{MARKS[name]}{inner}{MARKS[name]}", 1)
    if name == "sup":
        return f"^{held}"
    if name == "a":
        target = "".join(filter(str.isprintable, href)).translate(_ENCODED)
        linked = target and not target.startswith("//") and is_safe_target(target)
        return f"[{' '.join(inner.split())}]({target})" if linked else held
    if name in HEADINGS:
        inner = f"{HEADINGS[name]} {' '.join(inner.split())}"
    if name == "blockquote":
        inner = "\n".join(f"> {line}".rstrip() for line in _BLANK_LINES.sub("\n\n", inner).split("\n"))
    return f"\n\n{inner}\n\n"


def polish_html(text: str, context: Context) -> Polished:
    """``text`` as Markdown; see ``rag.stages.polish.html_to_markdown``."""
    converted = html_to_markdown(text)
    return Polished(converted, ("converted HTML in the answer to Markdown",) if converted != text else ())
