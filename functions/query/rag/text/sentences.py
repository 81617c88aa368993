"""Markdown to whole, readable sentences."""

from __future__ import annotations

import re

MIN_WORDS = 4
"""Fewer words than this are a label or a fragment, not a sentence."""

# A line such as ```code``` in running text opens no fence.
_FENCE = re.compile(r"^\s*(?:[-*+]\s+|\d{1,3}[.)]\s+)?(`{3,}(?=[^`]*$)|~{3,})")
_HEADING = re.compile(r"^\s*#{1,6}(\s|$)")
# Two columns without outer pipes have one pipe; so has "a|b" in running text, but without spaces.
_TABLE_ROW = re.compile(r"^\s*\||^[^|]*\|[^|]*\||^.*\s\|(\s|$)")
_RULER = re.compile(r"^\s*([-*_=]\s*){3,}$")
_BULLET = re.compile(r"^\s*(?:[-*+\u2022]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_QUOTE = re.compile(r"^\s*(?:>\s?)+")
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]*)\]\((?:[^()]|\([^()]*\))*\)")
_REFERENCE = re.compile(r"\[([^\]]+)\]\[[^\]]*\]")
_TEMPLATE_TAG = re.compile(r"\{%.*?%\}|\{\{.*?\}\}")
_HTML_TAG = re.compile(r"</?[a-zA-Z][^<>]*>|<!--.*?-->")
_EMPHASIS = re.compile(r"(\*\*|__|~~)(?=\S)(.+?)(?<=\S)\1")
_ITALIC = re.compile(r"(?<![\w*])[*_](?=\S)([^*_\n]+?)(?<=\S)[*_](?![\w*])")
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_STASHED = re.compile("\x00(\\d+)\x00")
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+.!|<>~-])")
# Chinese and Japanese, Hindi, Urdu: these end a sentence with white space after them or not; but a Japanese quotation
# that hiragana follows goes on.
_FULL_STOPS = "\u3002\uff01\uff1f\u0964\u06d4"
_ENDS = ".!?\u061f" + _FULL_STOPS
_CLOSERS = "\"'\u201d\u2019)\\]\u300d\u300f\uff09"
# Elsewhere . ! or ? (and a closing quote or bracket) before white space and the start of another sentence.
_END = re.compile(
    rf"(?<=[{_ENDS}])([{_CLOSERS}]*)\s+(?=[\"'\u201c\u2018(\[]?[A-Z0-9\u00c0-\u024f\u0370-\uffff])"
    rf"|(?<=[{_FULL_STOPS}])([{_CLOSERS}]*)(?![{_FULL_STOPS}{_CLOSERS}]|(?<=[{_CLOSERS}])[\u3041-\u309f])\s*(?=\S)"
)
# Scripts that write words without spaces, or long ones: Thai to Khmer, kana, ideographs, Hangul.
_UNSPACED = re.compile("[\uac00-\ud7a3\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_UNSPACED_CHARS_PER_WORD = 2
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|no|nos|fig|dr|mr|mrs|ms|st|inc|ltd|pte|co|corp|dept|est|max|min|vol|pp|art|sec)"
    r"|\b[A-Z](?:\.[A-Z])*)\.$",
    re.IGNORECASE,
)


def strip_markup(text: str) -> str:
    """One line of Markdown as plain text: links by their words, no emphasis, code ticks, tags or escapes."""
    codes: list[str] = []

    def stash(match: re.Match[str]) -> str:
        codes.append(match[2].strip())
        return f"\x00{len(codes) - 1}\x00"

    # What stands in code ticks is kept to the letter: `<name>` is no tag there, `__init__` no emphasis.
    text = _CODE.sub(stash, text.replace("\x00", ""))
    text = _IMAGE.sub(" ", text)
    text = _LINK.sub(r"\1", text)
    text = _REFERENCE.sub(r"\1", text)
    text = _TEMPLATE_TAG.sub(" ", text)
    text = _HTML_TAG.sub(" ", text)
    text = _EMPHASIS.sub(r"\2", text)
    text = _ITALIC.sub(r"\1", text)
    text = _ESCAPE.sub(r"\1", text)
    text = _STASHED.sub(lambda match: codes[int(match[1])], text)
    return " ".join(text.split())


def split_sentences(markdown: str) -> tuple[str, ...]:
    """The whole sentences of ``markdown`` in order: no headings, tables, code, rulers or fragments.

    A list item counts when it is a sentence of its own.
    """
    return tuple(sentence for block in _blocks(markdown) for sentence in _cut(block) if _is_whole(sentence))


def split_lines(markdown: str) -> tuple[str, ...]:
    """The text of ``markdown`` line by line (list items, table rows): for passages that hold no sentence."""
    lines = []
    for block in _blocks(markdown, tables=True):
        text = " ".join(part.strip() for part in block.split("|") if part.strip(" -:"))
        if _count_words(text) >= MIN_WORDS:
            lines.append(text)
    return tuple(lines)


def _blocks(markdown: str, *, tables: bool = False) -> list[str]:
    """Paragraphs and list items as plain text, one string each."""
    blocks: list[list[str]] = [[]]
    fence = ""
    quoted = False
    for raw in markdown.splitlines():
        line = _QUOTE.sub("", raw)
        if line != raw and not quoted:
            blocks.append([])
        quoted = line != raw
        if fence:
            fence = "" if line.strip().startswith(fence) else fence
        elif mark := _FENCE.match(line):
            fence = mark[1]
            blocks.append([])
        elif not line.strip() or _HEADING.match(line) or _RULER.match(line):
            blocks.append([])
        elif _TABLE_ROW.match(_CODE.sub("", line)):
            blocks.append([line] if tables else [])
            blocks.append([])
        elif _BULLET.match(line):
            blocks.append([_BULLET.sub("", line, count=1)])
        else:
            blocks[-1].append(line)
    plain = (strip_markup(" ".join(lines)) for lines in blocks)
    return [text for text in plain if text]


def _cut(paragraph: str) -> list[str]:
    pieces: list[str] = []
    start = 0
    for match in _END.finditer(paragraph):
        end = match.start() + len(match[1] or match[2] or "")
        if _ABBREVIATION.search(paragraph[start : match.start()]):
            continue
        pieces.append(paragraph[start:end].strip())
        start = match.end()
    pieces.append(paragraph[start:].strip())
    return pieces


def _is_whole(sentence: str) -> bool:
    first = sentence.lstrip("\"'\u201c\u2018([\u300c\u300e\uff08")[:1]
    ends_well = sentence.rstrip(_CLOSERS)[-1:] in tuple(_ENDS)
    return ends_well and not first.islower() and first.isalnum() and _count_words(sentence) >= MIN_WORDS


def _count_words(text: str) -> int:
    """Words between spaces; where a script has none, two characters count as one."""
    unspaced = len(_UNSPACED.findall(text))
    return len(_UNSPACED.sub("", text).split()) + unspaced // _UNSPACED_CHARS_PER_WORD
