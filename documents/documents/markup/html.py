"""HTML in Markdown as Markdown: tags become marks or are removed, the text between them stays.

One pass over the tags, in order, without a tree: Markdown stands between tags that no parser of HTML would nest right,
and neither depth nor missing ends cost anything. Only whole tables are given to a parser.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from bs4 import BeautifulSoup, Tag
from bs4.element import PageElement

from documents.converters.from_html import markdown, parse
from documents.converters.icons import icon_word, is_icon, write_icons
from documents.converters.mathml import to_latex, write_math
from documents.converters.visibility import find_unseen
from documents.markup import tags
from documents.markup.code import HiddenCode

_BLOCK_NAMES = """
    address article aside blockquote body center details dialog div dl fieldset figcaption figure footer form header
    html main nav ol p picture section ul video audio hgroup menu template frameset
"""
_INLINE_NAMES = """
    a abbr acronym area base basefont big button caption cite col colgroup data datalist del dfn font h1 h2 h3 h4 h5 h6
    input ins kbd label legend li link mark meta meter nobr optgroup option output param progress q rp rt ruby s samp
    select slot small source span strike sub summary sup table tbody td textarea tfoot th thead time title tr track tt u
    var wbr br hr img dd dt code pre b strong i em
"""
_UNSEEN = frozenset({"script", "style", "svg", "noscript", "iframe", "object", "canvas", "head"})
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_INLINE = frozenset(_INLINE_NAMES.split())
_KNOWN = frozenset({"math"}) | _UNSEEN | _BLOCKS | _INLINE
"""The elements of HTML. Another name in angle brackets is a component, or text (``<your name>``)."""

_TAG = re.compile(
    r"<(?P<close>/?)(?P<name>[A-Za-z][\w:.-]*)"
    r"(?P<rest>(?:(?:\s+|(?<=[\"']))[^\s\"'<>/={}]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'=<>`]+))?|\s+/(?=[^>]))*)\s*(?P<leaf>/?)>"
)
_HIDING = re.compile(r"<(?:template|[^<]*\b(?:hidden|style|color))\b", re.IGNORECASE)
_SLOT = re.compile(r"[#:]|v-|slot")
_FRAGMENT = re.compile(r"</?>")
_COMMENTS = (("<!--", "-->"), ("<!DOCTYPE", ">"), ("<?", "?>"))
_MAX_LIST_DEPTH = 8

_MARKS = {"b": "**", "strong": "**", "i": "*", "em": "*"}
_WHOLE = ("table", "math", "pre", "code", "h1", "h2", "h3", "h4", "h5", "h6", *_UNSEEN)


@dataclass(slots=True)
class _Writer:
    text: str
    hidden: HiddenCode
    links: list[str] = field(default_factory=list)
    lists: int = 0
    tabs: Iterator[str] = field(default_factory=lambda: iter(()))


def drop_comments(text: str) -> str:
    """Remove comments and declarations; an unclosed one stays as text."""
    edits = []
    for begin, end in _COMMENTS:
        start = text.find(begin)
        while start >= 0 and (stop := text.find(end, start + len(begin))) >= 0:
            edits.append(tags.Edit(start, stop + len(end)))
            start = text.find(begin, edits[-1].end)
    return tags.apply_edits(text, edits)


def drop_unseen(text: str) -> tuple[str, list[str]]:
    """Return ``text``, whose code is hidden, without elements that no reader sees, and the texts of these."""
    if _HIDING.search(text) is None:
        return text, []
    parts: list[PageElement] = []
    with suppress(RecursionError):
        page = parse(text)
        templates = page.find_all("template")  # a script has to show them, but for a slot of Vue's
        parts = [tag for tag in templates if not any(map(_SLOT.match, tag.attrs))]
        parts += find_unseen(page, is_styled_elsewhere=True)
    places = _Places(text)
    edits = [edit for part in parts if (edit := places.removal(part))]
    return tags.apply_edits(text, edits), [_TAG.sub(" ", text[edit.start : edit.end]) for edit in edits]


class _Places:
    """The places in ``text`` of the elements and strings that a parser made of it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self._tags = list(_TAG.finditer(text))
        self._numbers = {tag.start(): number for number, tag in enumerate(self._tags)}
        self._ends = tags.pair_ends(map(_tag_kind, self._tags))

    def removal(self, part: PageElement) -> tags.Edit | None:
        """Return the removal of ``part``; None if its place is unknown."""
        if isinstance(part, Tag):
            number = self._number(part)
            return tags.Edit(self._tags[number].start(), self._end(part, number)) if number >= 0 else None
        number = self._number(part.previous_sibling or part.parent)
        number = self._ends.get(number, number) if part.previous_sibling else number
        if number < 0:
            return None
        following = self._tags[number + 1 : number + 2]
        return tags.Edit(self._tags[number].end(), following[0].start() if following else len(self._text))

    def _number(self, tag: PageElement | None) -> int:
        if not isinstance(tag, Tag) or tag.sourceline is None:
            return -1
        return self._numbers.get(self._lines[tag.sourceline - 1] + (tag.sourcepos or 0), -1)

    def _end(self, tag: Tag, number: int) -> int:
        """Return the end of ``tag``; without an end tag it lasts as long as the element or the paragraph around it."""
        last = self._ends.get(number, -1 if tag.contents else number)
        if last >= 0:
            return self._tags[last].end()
        ends = (self._ends[number] for number in map(self._number, tag.parents) if number in self._ends)
        stop = next((self._tags[end].start() for end in ends), len(self._text))
        if tag.name in _BLOCKS and tag.name != "p":
            return stop
        start = self._tags[number].end()
        in_row = tags.line_around(self._text, start, start)[0].startswith("|")
        paragraph = re.compile(r"[|\n]" if in_row else r"\n\n").search(self._text, start, stop)
        return paragraph.start() if paragraph else stop


def convert_html(text: str, hidden: HiddenCode, *, components: bool) -> str:
    """Replace HTML in ``text``, whose code is hidden, by Markdown.

    With ``components`` every capitalised or hyphenated name is a component. Without, only one with parameters or an end
    tag is a component; any other is text.
    """
    state = _Writer(text, hidden)
    found = [tag for tag in _TAG.finditer(text) if text[tag.start() - 1 : tag.start()] != "\\"]
    names = {tag["name"] for tag in found if tag["close"]}
    found = [tag for tag in found if _is_markup(tag, names, components)]
    edits = list(_edits(state, found))
    if components:
        edits += [tags.Edit(*match.span()) for match in _FRAGMENT.finditer(text)]
    return tags.apply_edits(text, edits)


def _is_markup(tag: re.Match[str], closed: set[str], components: bool) -> bool:
    name = tag["name"]
    if name.lower() in _KNOWN and (name.islower() or name.isupper()):
        return True
    if not (name[0].isupper() or "-" in name or "." in name):
        return False
    return components or "=" in tag["rest"] or name in closed or bool(tag["leaf"])


def _edits(state: _Writer, found: list[re.Match[str]]) -> Iterator[tags.Edit]:
    ends = tags.pair_ends(map(_tag_kind, found))
    skip = -1
    for number, tag in enumerate(found):
        if number <= skip:
            continue
        if icon := _write_icon(state, tag, found[ends.get(number, number)]):
            skip = ends.get(number, number)
            yield tags.Edit(tag.start(), found[skip].end(), icon)
            continue
        name = tag["name"].lower() if tag["name"].lower() in _KNOWN else tag["name"]
        last = ends.get(number)
        if name in _WHOLE and last is not None:
            skip = last
            inner = state.text[tag.end() : found[last].start()]
            yield _widen(state.text, tag, found[last].end(), _write_element(state, name, tag, inner))
        else:
            yield _widen(state.text, tag, tag.end(), _write_tag(state, name, tag))


def _write_icon(state: _Writer, tag: re.Match[str], last: re.Match[str]) -> str:
    """Return the word of an icon that is alone in a cell of a Markdown table."""
    if (
        not is_icon(tag["name"])
        or "alt=" in tag["rest"]
        or not tags.is_alone_in_cell(state.text, tag.start(), last.end())
        or (tag["name"] != "svg" and re.search(r"\w", _TAG.sub("", state.text[tag.end() : last.start()])))
    ):
        return ""
    icon = parse(state.text[tag.start() : last.end()]).find(True)
    return icon_word(icon) if icon is not None else ""


def _widen(text: str, tag: re.Match[str], end: int, shown_text: str) -> tags.Edit:
    """Return the edit with the blanks before a tag at a line's beginning: four of them would begin code."""
    start = tag.start()
    before, _ = tags.line_around(text, start, end)
    in_block = tag["name"] in _BLOCKS or tag["name"] not in _KNOWN
    if len(before) > 3 and in_block and not before.strip():
        start -= len(before)
    if before.startswith(">"):  # a quotation stays one
        shown_text = shown_text.strip("\n").replace("\n", "\n> ") if "\n" in shown_text else shown_text
    return tags.Edit(start, end, shown_text)


def _tag_kind(tag: re.Match[str]) -> tuple[str, bool, bool]:
    return tag["name"].lower(), bool(tag["close"]), bool(tag["leaf"])


def _write_element(state: _Writer, name: str, tag: re.Match[str], inner: str) -> str:
    if name in _UNSEEN:
        return ""
    if name == "math":
        formula = to_latex(parse(tag[0] + inner))
        return state.hidden.mark(f"${formula}$") if formula else ""
    if name == "table":
        return _write_table(f"<table>{inner}</table>", state.hidden)
    words = html.unescape(_TAG.sub(lambda found: "\n" if found["name"].lower() == "br" else "", inner))
    if name == "pre":
        code = state.hidden.restore(words).strip("\n")
        return "\n\n" + state.hidden.mark(f"```\n{code}\n```") + "\n\n" if code.strip() else ""
    if name == "code":
        code = " ".join(state.hidden.restore(words).split())
        ticks = "``" if "`" in code else "`"
        return state.hidden.mark(f"{ticks}{code}{ticks}") if code else ""
    anchor = tags.parse_parameters(tag["rest"])[0].get("id", "")
    title = " ".join(_TAG.sub(" ", inner).split())
    return f"\n\n{'#' * int(name[1])} {title}" + (f" {{#{anchor}}}" if anchor else "") + "\n\n" if title else ""


def _write_tag(state: _Writer, name: str, tag: re.Match[str]) -> str:
    before, after = state.text[max(tag.start() - 1, 0) : tag.start()], state.text[tag.end() : tag.end() + 1]
    if name in _MARKS:  # beside no word a mark of emphasis would be read as text
        beside = before if tag["close"] else after
        return _MARKS[name] if beside and not beside.isspace() and beside not in "*<>" else ""
    if name in _WRITERS:
        return _WRITERS[name](state, tag)
    if name in _BLOCKS:
        return "" if before in ("\n", "") and after in ("\n", "") else "\n\n"
    return "" if name in _INLINE else _write_component(state, tag)


def _write_component(state: _Writer, tag: re.Match[str]) -> str:
    """Return the words in a component's attributes; of a tree of files (57 in Nextra's) each name as an item."""
    kind = tag["name"].rpartition(".")[2]
    if tag["close"]:
        state.lists = max(state.lists - (kind == "Folder"), 0)
        return ""
    named, _ = tags.parse_parameters(tag["rest"])
    if kind in ("File", "Folder") and "name" in named:
        depth = min(state.lists, _MAX_LIST_DEPTH)
        state.lists += kind == "Folder" and not tag["leaf"]
        return f"\n{'  ' * depth}- {named['name']}"
    if "items" in named:
        state.tabs = iter(named["items"].split("\n"))
    if kind in ("TabItem", "Tab") and not named.keys() & {*tags.HEADS}:
        named["label"] = named.get("value") or next(state.tabs, "")
    if kind.endswith("Field"):  # a parameter of Mintlify's
        names = ("name", "path", "query", "body", "header")
        named["title"] = next((named[name] for name in names if name in named), "")
        named["caption"] = ", ".join(filter(None, map(named.get, ("type", "default"))))
    if "number" in named:  # a listing, a figure: 384 in docs_rust_book; the text speaks of "Listing 2-1"
        named["caption"] = f"{tag['name']} {named['number']}: {named.get('caption', '')}".rstrip(": ")
    words = tags.visible_words(named)
    return f"\n\n{words}\n\n" if words else ""


def _write_link(state: _Writer, tag: re.Match[str]) -> str:
    if tag["close"]:
        return state.links.pop() if state.links else ""
    named, _ = tags.parse_parameters(tag["rest"])
    address = named.get("href", "")
    if anchor := named.get("name") or named.get("id"):
        state.links.append("")
        is_heading = tags.line_around(state.text, *tag.span())[0].startswith("#")  # on 1,568 pages of docs_aws
        is_empty = state.text[tag.end() : tag.end() + 5].rstrip() == "</a>"
        return f" {{#{anchor}}}" if is_heading and is_empty and not re.search(r"[\s{}]", anchor) else ""
    words = state.text[tag.end() : tag.end() + 1000].partition("</a")
    plain = _TAG.sub("", words[0]).strip() if words[1] and "\n\n" not in words[0] else ""
    is_link = bool(address and plain and "[" not in plain) and not re.search(r"[\s(){]", address)
    state.links.append(f"]({address})" if is_link else "")
    return "[" if is_link else ""


def _write_image(state: _Writer, tag: re.Match[str]) -> str:
    named, _ = tags.parse_parameters(tag["rest"])
    alt, source = " ".join(named.get("alt", "").split()), named.get("src", "")
    in_link = bool(state.links and state.links[-1])
    is_address = bool(source) and not re.search(r"[\s(){}]|^data:", source)
    return f"![{alt}]({source})" if alt and is_address and not in_link and "]" not in alt else alt


def _write_break(state: _Writer, tag: re.Match[str]) -> str:
    before, after = tags.line_around(state.text, *tag.span())
    return ("  \n" if "|" not in before and not before.startswith("#") else " ") if after else ""


def _write_list(state: _Writer, tag: re.Match[str]) -> str:
    state.lists = max(state.lists + (-1 if tag["close"] else 1), 0)
    return "\n" if state.lists else "\n\n"


_WRITERS: dict[str, Callable[[_Writer, re.Match[str]], str]] = {
    "a": _write_link,
    "img": _write_image,
    "br": _write_break,
    "li": lambda state, tag: "\n" if tag["close"] else f"\n{'  ' * min(max(state.lists - 1, 0), _MAX_LIST_DEPTH)}- ",
    "ul": _write_list,
    "ol": _write_list,
    "summary": lambda _, tag: "**\n\n" if tag["close"] else "\n\n**",
    "dt": lambda _, tag: "**\n" if tag["close"] else "\n- **",
    "dd": lambda _, tag: "\n" if tag["close"] else "\n  ",
    "sup": lambda _, tag: "" if tag["close"] else "^",
    "hr": lambda *_: "\n\n",
    "tr": lambda *_: "\n",
    **dict.fromkeys(("td", "th"), lambda *_: " "),
}


def _write_table(source: str, hidden: HiddenCode) -> str:
    """Return a whole ``<table>`` as Markdown, with its code restored in the line."""
    top = BeautifulSoup(source, "html.parser").find("table")
    if top is None:
        return ""
    try:
        for inner in top.select("table:not(table table table)"):
            inner.replace_with(inner.get_text(" ", strip=True))  # a cell cannot hold a table
        write_math(top)
        write_icons(top)
        for image in top.find_all("img"):
            image.replace_with(str(image.get("alt") or ""))
        for link in top.find_all("a", href=True):
            words, address = " ".join(link.get_text(" ").split()), str(link["href"])
            if words and address and not re.search(r"[\s()|]", address) and not re.search(r"[\[\]]", words):
                link.replace_with(f"[{words}]({address})")
        rows = markdown(top)
    except RecursionError:
        rows = "\n".join(row.get_text(" ", strip=True) for row in top.find_all("tr"))
    lines = rows.strip().split("\n")
    kept = lines[:2] + [row for row in lines[2:] if row.strip(" |")]  # a loop without data leaves empty rows
    return "\n\n" + hidden.mark("\n".join(hidden.restore_inline(row) for row in kept)) + "\n\n"
