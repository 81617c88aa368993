"""HTML in Markdown as Markdown: tags become marks or go, what is between them stays as it is.

One pass over the tags, in order, without a tree: Markdown stands between tags that no parser of HTML would nest right,
and neither depth nor missing ends cost anything. Only whole tables are given to a parser (``tables``).
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from documents.markup.code import Hidden
from documents.markup.edits import Edit, edited
from documents.markup.names import BLOCKS, INLINE, KNOWN, UNSEEN
from documents.markup.place import line_start
from documents.markup.props import parameters, shown
from documents.markup.tables import table

TAG = re.compile(
    r"<(?P<close>/?)(?P<name>[A-Za-z][\w:.-]*)"
    r"(?P<rest>(?:(?:\s+|(?<=[\"']))[^\s\"'<>/={}]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'=<>`]+))?|\s+/(?=[^>]))*)\s*(?P<leaf>/?)>"
)
_FRAGMENT = re.compile(r"</?>")
_COMMENTS = (("<!--", "-->"), ("<!DOCTYPE", ">"), ("<?", "?>"))
_MAX_LIST_DEPTH = 8

_MARKS = {"b": "**", "strong": "**", "i": "*", "em": "*"}
_WHOLE = ("table", "pre", "code", "h1", "h2", "h3", "h4", "h5", "h6", *UNSEEN)


@dataclass(slots=True)
class _State:
    text: str
    hidden: Hidden
    links: list[str] = field(default_factory=list)
    lists: int = 0


def without_comments(text: str) -> str:
    """``text`` without comments and declarations."""
    return edited(text, (edit for begin, end in _COMMENTS for edit in _between(text, begin, end)))


def _between(text: str, begin: str, end: str) -> Iterator[Edit]:
    """What ``begin`` opens, up to ``end``; where there is none, it is text."""
    start = text.find(begin)
    while start >= 0 and (stop := text.find(end, start + len(begin))) >= 0:
        yield Edit(start, stop + len(end))
        start = text.find(begin, stop + len(end))


def without_html(text: str, hidden: Hidden, *, components: bool) -> str:
    """``text``, the code in which is hidden, with Markdown instead of HTML.

    With ``components`` every capitalised or hyphenated name is a component. Without, it is one if it has parameters, or
    is closed; else it is text.
    """
    state = _State(text, hidden)
    tags = [tag for tag in TAG.finditer(text) if text[tag.start() - 1 : tag.start()] != "\\"]
    names = {tag["name"] for tag in tags if tag["close"]}
    tags = [tag for tag in tags if _is_markup(tag, names, components)]
    edits = list(_edits(state, tags))
    if components:
        edits += [Edit(*match.span()) for match in _FRAGMENT.finditer(text)]
    return edited(text, edits)


def _is_markup(tag: re.Match[str], closed: set[str], components: bool) -> bool:
    name = tag["name"]
    if name.lower() in KNOWN and (name.islower() or name.isupper()):
        return True
    if not (name[0].isupper() or "-" in name or "." in name):
        return False
    return components or "=" in tag["rest"] or name in closed or bool(tag["leaf"])


def _edits(state: _State, tags: list[re.Match[str]]) -> Iterator[Edit]:
    ends = _ends(tags)
    skip = -1
    for number, tag in enumerate(tags):
        if number <= skip:
            continue
        name = tag["name"].lower() if tag["name"].lower() in KNOWN else tag["name"]
        last = ends.get(number)
        if name in _WHOLE and last is not None:
            skip = last
            inner = state.text[tag.end() : tags[last].start()]
            yield _widened(state.text, tag, tags[last].end(), _whole(state, name, tag, inner))
        else:
            yield _widened(state.text, tag, tag.end(), _shown(state, name, tag))


def _widened(text: str, tag: re.Match[str], end: int, shown_text: str) -> Edit:
    """The edit, with the blanks before a tag that a line begins with: four of them would make what follows code."""
    start = tag.start()
    line = line_start(text, start)
    blanks = start - line
    in_block = tag["name"] in BLOCKS or tag["name"] not in KNOWN
    if blanks > 3 and in_block and not text[line:start].strip():
        start = line
    if text.startswith(">", line):  # a quotation stays one
        shown_text = shown_text.strip("\n").replace("\n", "\n> ") if "\n" in shown_text else shown_text
    return Edit(start, end, shown_text)


def _ends(tags: list[re.Match[str]]) -> dict[int, int]:
    """For each tag that is closed, the number of the tag that closes it."""
    waiting: dict[str, list[int]] = {}
    ends: dict[int, int] = {}
    for number, tag in enumerate(tags):
        name = tag["name"].lower()
        if not tag["close"] and not tag["leaf"]:
            waiting.setdefault(name, []).append(number)
        elif tag["close"] and waiting.get(name):
            ends[waiting[name].pop()] = number
    return ends


def _whole(state: _State, name: str, tag: re.Match[str], inner: str) -> str:
    """An element with all that is in it."""
    if name in UNSEEN:
        return ""
    if name == "table":
        return table(f"<table>{inner}</table>", state.hidden)
    words = html.unescape(TAG.sub(lambda found: "\n" if found["name"].lower() == "br" else "", inner))
    if name == "pre":
        code = state.hidden.back(words).strip("\n")
        return "\n\n" + state.hidden.mark(f"```\n{code}\n```") + "\n\n" if code.strip() else ""
    if name == "code":
        code = " ".join(state.hidden.back(words).split())
        ticks = "``" if "`" in code else "`"
        return state.hidden.mark(f"{ticks}{code}{ticks}") if code else ""
    anchor = parameters(tag["rest"])[0].get("id", "")
    title = " ".join(TAG.sub(" ", inner).split())
    return f"\n\n{'#' * int(name[1])} {title}" + (f" {{#{anchor}}}" if anchor else "") + "\n\n" if title else ""


def _shown(state: _State, name: str, tag: re.Match[str]) -> str:
    if name in _MARKS:
        return _mark(state.text, tag, _MARKS[name])
    if name in _TAGS:
        return _TAGS[name](state, tag)
    if name in BLOCKS:
        return "\n\n" if not _beside_blank(state.text, tag) else ""
    if name in INLINE:
        return ""
    return "" if tag["close"] else _component(tag)


def _mark(text: str, tag: re.Match[str], mark: str) -> str:
    """Emphasis, where the word is next to it; else nothing, for the marks would be read as such."""
    beside = text[tag.start() - 1 : tag.start()] if tag["close"] else text[tag.end() : tag.end() + 1]
    return mark if beside and not beside.isspace() and beside not in "*<>" else ""


def _beside_blank(text: str, tag: re.Match[str]) -> bool:
    return text[max(tag.start() - 1, 0) : tag.start()] in ("\n", "") and text[tag.end() : tag.end() + 1] in ("\n", "")


def _component(tag: re.Match[str]) -> str:
    named, _ = parameters(tag["rest"])
    if tag["name"] in ("TabItem", "Tab") and "value" in named:
        named.setdefault("label", named["value"])
    if "number" in named:  # a listing, a figure: 384 in docs_rust_book; the text speaks of "Listing 2-1"
        named["caption"] = f"{tag['name']} {named['number']}: {named.get('caption', '')}".rstrip(": ")
    words = shown(named)
    return f"\n\n{words}\n\n" if words else ""


def _link(state: _State, tag: re.Match[str]) -> str:
    if tag["close"]:
        return state.links.pop() if state.links else ""
    named, _ = parameters(tag["rest"])
    address = named.get("href", "")
    if anchor := named.get("name") or named.get("id"):
        state.links.append("")
        return f" {{#{anchor}}}" if _ends_heading(state.text, tag) and not re.search(r"[\s{}]", anchor) else ""
    closes = state.text.find("</a", tag.end(), tag.end() + 1000)
    words = state.text[tag.end() : closes] if closes >= 0 else ""
    plain = TAG.sub("", words).strip()
    is_link = bool(address) and bool(plain) and "\n\n" not in words and not re.search(r"[\s()]", address)
    state.links.append(f"]({address})" if is_link and "[" not in plain and "{" not in address else "")
    return "[" if state.links[-1] else ""


def _ends_heading(text: str, tag: re.Match[str]) -> bool:
    """Whether ``tag`` is an empty element at the end of a ``#`` heading: anchors on 1,568 pages of docs_aws."""
    line = line_start(text, tag.start())
    return text.startswith("#", line) and text[tag.end() : tag.end() + 5].rstrip() == "</a>"


def _image(state: _State, tag: re.Match[str]) -> str:
    named, _ = parameters(tag["rest"])
    alt, source = " ".join(named.get("alt", "").split()), named.get("src", "")
    in_link = bool(state.links and state.links[-1])
    is_address = bool(source) and not re.search(r"[\s(){}]|^data:", source)
    return f"![{alt}]({source})" if alt and is_address and not in_link and "]" not in alt else alt


def _break(state: _State, tag: re.Match[str]) -> str:
    line = state.text[line_start(state.text, tag.start()) : tag.start()]
    if "|" in line or line.startswith("#") or state.text[tag.end() : tag.end() + 1] in ("\n", ""):
        return "" if state.text[tag.end() : tag.end() + 1] in ("\n", "") else " "
    return "  \n"


def _item(state: _State, tag: re.Match[str]) -> str:
    return "\n" if tag["close"] else "\n" + "  " * min(max(state.lists - 1, 0), _MAX_LIST_DEPTH) + "- "


def _list(state: _State, tag: re.Match[str]) -> str:
    state.lists = max(state.lists + (-1 if tag["close"] else 1), 0)
    return "\n" if state.lists else "\n\n"


_TAGS: dict[str, Callable[[_State, re.Match[str]], str]] = {
    "a": _link,
    "img": _image,
    "br": _break,
    "li": _item,
    "ul": _list,
    "ol": _list,
    "summary": lambda _, tag: "**\n\n" if tag["close"] else "\n\n**",
    "dt": lambda _, tag: "**\n" if tag["close"] else "\n- **",
    "dd": lambda _, tag: "\n" if tag["close"] else "\n  ",
    "sup": lambda _, tag: "" if tag["close"] else "^",
    "hr": lambda _state, _tag: "\n\n",
    "tr": lambda _state, _tag: "\n",
    "td": lambda _state, _tag: " ",
    "th": lambda _state, _tag: " ",
}
