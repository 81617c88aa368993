"""Templates in Markdown: Hugo's shortcodes, Jekyll's Liquid, and calls of macros of Nunjucks and Jinja.

Hugo and Jekyll run theirs (``{{< >}}``, ``{{% %}}``; ``{% %}``, ``{{ }}``) before Markdown is read, in code as well.
What stands between two of a pair is text and stays. So do all branches of an ``if``: the site's build decides which one
is shown. A Liquid library would have to know every tag of every site, and would leave branches out. Design systems show
components by macro calls on separate lines (``{{ example({...}) }}``); texts stand under names such as ``text`` and
``html``, and a list of several texts is a row of a table.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from documents.markup import tags
from documents.markup.context import PageContext

_OPENER = re.compile(r"\{\{([<%])")
_INSIDE = re.compile(r"\s*(?P<close>/?)\s*(?P<name>[\w./-]+)(?P<rest>.*)", re.DOTALL)
_CODE_NAME = re.compile(r"highlight|.*code.*|hl")
_AGE = re.compile(r"[a-z]+-in")  # new-in 0.146.0: 197 places in docs_hugo


class _Shortcode(NamedTuple):
    start: int
    end: int
    name: str
    closes: bool = False
    leaf: bool = True
    named: Mapping[str, str] = {}
    others: Sequence[str] = ()
    literal: str = ""


def expand_shortcodes(text: str, context: PageContext) -> str:
    """Replace each shortcode by the text that it shows; escaped ones (``{{</* x */>}}``) become literal."""
    found = list(_shortcodes(text))
    ends = tags.pair_ends((tag.name, tag.closes, tag.leaf) for tag in found)
    shown = [_expand_shortcode(text, tag, context, has_end=number in ends) for number, tag in enumerate(found)]
    edits: list[tags.Edit] = []
    for number, end in ends.items():
        tag, close = found[number], found[end]
        inner = text[tag.end : close.start]
        language = tag.named.get("lang") or tag.named.get("codelang") or ""
        if tag.name == "comment":
            edits.append(tags.Edit(tag.start, close.end))
        elif "\n" in inner and _is_code(text, tag, language):
            if tag.name in ("highlight", "hl") and tag.others:
                language = tag.others[0]
            opening, ending = tags.fence_marks(inner, language)
            if opening:
                words = tags.visible_words(_named_parameters(tag))
                shown[number], shown[end] = f"{words}\n\n{opening}" if words else opening, ending
    edits += (tags.Edit(tag.start, tag.end, words) for tag, words in zip(found, shown, strict=True))
    return tags.apply_edits(text, edits)


def _shortcodes(text: str) -> Iterator[_Shortcode]:
    done = 0
    while opener := _OPENER.search(text, done):
        start, end = opener.start(), text.find(">}}" if opener[1] == "<" else "%}}", opener.end())
        if end < 0:
            done = opener.end()
            if text.find(">}}", done) < 0 and text.find("%}}", done) < 0:
                return
            continue
        done = end + 3
        inside = text[opener.end() : end].strip()
        if inside.startswith("/*") and inside.endswith("*/"):
            literal = text[start:done].replace("/*", "", 1)[:-5] + text[end:done]
            yield _Shortcode(start, done, "", literal=literal)
        elif match := _INSIDE.fullmatch(inside):
            rest = match["rest"].rstrip()
            named, others = tags.parse_parameters(rest.removesuffix("/"))
            yield _Shortcode(start, done, match["name"], bool(match["close"]), rest.endswith("/"), named, others)


def _expand_shortcode(text: str, tag: _Shortcode, context: PageContext, *, has_end: bool) -> str:
    if tag.literal or tag.closes:
        return tag.literal
    if tag.name == "param":
        return context.param(tag.others[0]) if tag.others else ""
    words = tags.visible_words(_named_parameters(tag))
    if has_end:
        return f"\n\n{words}\n\n" if words and not tags.is_among_words(text, tag.start, tag.end) else words
    return words or (_visible_positional(text, tag) if tag.others else "")


def _visible_positional(text: str, tag: _Shortcode) -> str:
    """Return a shortcode's positional word that is visible: an address in a link, or words in a sentence."""
    if _AGE.fullmatch(tag.name):
        return f"{tag.name.replace('-', ' ').capitalize()} {tag.others[0]}"
    if tag.name in ("ref", "relref") or tags.is_in_address(text, tag.start):
        return tag.others[0]
    is_prose = any(" " in word for word in tag.others) or tags.is_among_words(text, tag.start, tag.end)
    return tag.others[-1] if is_prose else ""


def _named_parameters(tag: _Shortcode) -> Mapping[str, str]:
    """Return the named parameters, and a tab's ``name`` or first word as its title."""
    title = tag.named.get("name") or (tag.others[0] if tag.others else "")
    return {"title": title, **tag.named} if tag.name == "tab" and title else tag.named


def _is_code(text: str, opener: _Shortcode, language: str) -> bool:
    """Return whether a shortcode's inner text is code: Docsy's tabs are, except with ``text=true`` or ``{{% %}}``."""
    if opener.name == "tab":
        pane = text.rfind("{{< tabpane", 0, opener.start)
        in_pane = pane >= 0 and "text=" not in text[pane : text.find("}}", pane)]
        return bool(language) or (in_pane and text[opener.start + 2] == "<" and "text" not in opener.named)
    return opener.named.get("code") == "true" or _CODE_NAME.fullmatch(opener.name) is not None


# 2,207 tags on five sites have at most 288 characters behind their name.
_TAG = re.compile(r"\{%[-~]?\s*(?P<name>[\w:-]+|#)(?P<rest>(?:[^%\n]|%(?!\})|\n(?!\n)){0,500}?)[-~]?%\}")
_VALUE = re.compile(r"\{\{[-~]?(?P<value>(?:[^{}\"'\n]|\"[^\"\n]*\"|'[^'\n]*'|\n(?!\n))*)\}\}")
_NAME = re.compile(r"[\w$][\w.-]*")
_VERBATIM = ("raw", "verbatim")
_UNSEEN = ("comment", "capture", "javascript", "stylesheet", "schema", "style")
_CODE = ("highlight", "codeblock", "code_block")
_ADDRESS = ("link", "post_url")
_CONTROL = (
    *("if", "unless", "elsif", "elif", "else", "case", "when", "for", "tablerow", "cycle", "assign", "set", "capture"),
    *("increment", "decrement", "break", "continue", "from", "import", "extends", "block", "macro", "call", "liquid"),
)
_LOOP = re.compile(r"\{%-?\s*(?:for|if|set|macro|assign)\b")
_ASSIGNED = re.compile(r"([\w-]+)\s*=\s*(\"[^\"\n]*\"|'[^'\n]*')")
_QUOTED = re.compile(r"[\"']([^\"'\n]*)[\"']")
# A page whose text (not only its code) has one of these is Liquid's: 65 of 111 in docs_jekyll, 35 of 237 in
# docs_handbook, 17 of 45 of a theme's documentation. Of eleven sets of other generators 1 page of 137 (docs_fastapi).
LIQUID = re.compile(
    r"\{%-?\s*(?:raw|highlight|link|post_url|include|include_relative|assign|capture|comment|seo)\b|\{\{\s*(?:(?:site|page)\.|[\"'][^\"'\n]*[\"']\s*\|)"
)


def expand_liquid(text: str, context: PageContext) -> str:
    """Replace each tag and value by the text that it shows."""
    return tags.apply_edits(text, _liquid_edits(text, context, {}))


def drop_template_tags(prose: str, context: PageContext | None = None, *, values: bool) -> str:
    """Remove tags from ``prose`` that may be Liquid's or Jinja's, which look the same; with ``context`` include pages.

    Values (``{{ name }}``) go only in addresses, in pages with loops and conditions, and with ``values``.
    """
    edits = []
    for tag in _TAG.finditer(prose):
        shown = _expand_tag(tag["name"], tag["rest"].strip(), context, {}) if context else ""
        edits.append(tags.Edit(*tag.span(), shown))
    values = values or _LOOP.search(prose) is not None
    found = (value.span() for value in _VALUE.finditer(prose))
    edits += [tags.Edit(*span) for span in found if values or tags.is_in_address(prose, span[0])]
    return tags.apply_edits(prose, edits)


def _liquid_edits(text: str, context: PageContext, texts: dict[str, str]) -> Iterator[tags.Edit]:
    """Yield the edits of ``text``; ``texts`` are those that it captures or assigns, by name."""
    waiting: defaultdict[str, list[int]] = defaultdict(list)
    ends: dict[int, re.Match[str]] = {}  # by the start of each tag that is closed; of all blocks only captures nest
    found = [*_TAG.finditer(text)]
    for tag in found:
        name = tag["name"].removeprefix("end")
        if name == tag["name"]:
            waiting[name] += [tag.start()] if name == "capture" or not waiting[name] else []
        elif waiting[name]:
            ends[waiting[name].pop()] = tag
    done = 0
    for match in sorted([*found, *_VALUE.finditer(text)], key=re.Match.start):
        if match.start() >= done and match.re is _VALUE:
            yield tags.Edit(*match.span(), _expand_value(match["value"], context, texts))
        elif match.start() >= done:
            done, edits = _tag_edits(text, match, ends, context, texts)
            yield from edits


def _tag_edits(
    text: str, match: re.Match[str], ends: dict[int, re.Match[str]], context: PageContext, texts: dict[str, str]
) -> tuple[int, list[tags.Edit]]:
    """Return the end of ``match`` and its dependent text, and their edits."""
    name, rest = match["name"], match["rest"].strip()
    start, end = match.span()
    close = ends.get(start)
    if close is None or name not in (*_VERBATIM, *_UNSEEN, *_CODE):
        words = _expand_tag(name, rest, context, texts) or _visible_argument(text, match)
        return end, [tags.Edit(start, end, words)]
    if name == "capture":
        inner = text[end : close.start()]
        texts[tags.unquote(rest)] = tags.apply_edits(inner, _liquid_edits(inner, context, texts))
    if name in _UNSEEN:
        return close.end(), [tags.Edit(start, close.end())]
    if name in _VERBATIM:
        return close.end(), [tags.Edit(start, end), tags.Edit(*close.span())]
    language = re.match(r"[\w+#-]*", rest)
    opening, ending = tags.fence_marks(text[end : close.start()], language[0] if language else "")
    return end, [tags.Edit(start, end, opening), tags.Edit(*close.span(), ending)]


def _expand_tag(name: str, rest: str, context: PageContext, texts: dict[str, str]) -> str:
    if name == "assign" and (assigned := _ASSIGNED.fullmatch(rest)):
        texts[assigned[1]] = tags.unquote(assigned[2])
    if name in _ADDRESS:
        return rest.split(maxsplit=1)[0] if rest else ""
    if name in ("include", "include_relative", "include-markdown", "render"):
        named, _ = tags.parse_parameters(rest)
        file = tags.unquote(rest.split(maxsplit=1)[0]) if rest else ""
        if file.endswith((".md", ".markdown")) and (taken := context.read_include(file)):
            return tags.drop_front_matter(taken)
        plain = {name: value for name, value in named.items() if "{{" not in value and value not in texts}
        parts = (tags.visible_words(plain), *(_put_out(value, texts) for value in named.values()))
        return "\n\n".join(filter(None, parts))
    return ""


def _visible_argument(text: str, match: re.Match[str]) -> str:
    """Return the last quoted word of an unknown tag among words (``ask {% slack_channel "dev" %}``), or its address.

    There are 914 in docs_handbook.
    """
    name = match["name"]
    quoted = [] if name in _CONTROL or name.startswith("end") else _QUOTED.findall(match["rest"])
    if not quoted:
        return ""
    if tags.is_in_address(text, match.start()):
        return str(quoted[0])
    return str(quoted[-1]) if tags.is_among_words(text, *match.span(), lines=3) else ""


def _put_out(name: str, texts: dict[str, str]) -> str:
    """Return the text ``name``, one of several lines the first time only: a few lines could say gigabytes."""
    text = texts.get(name, "")
    if "\n" in text:
        texts[name] = ""
        return f"\n\n{text.strip()}\n\n<!-- -->\n\n"  # which ends a list
    return text


def _expand_value(source: str, context: PageContext, texts: dict[str, str]) -> str:
    first, *filters = source.strip("-~ \n\t").split(" | ")
    first = first.split("|")[0].strip() if first[:1] not in ("'", '"') else first.strip()
    if first[:1] in ("'", '"'):
        return tags.unquote(first)
    shown_value = (_put_out(first, texts) or context.value(first)) if _NAME.fullmatch(first) else ""
    default = next((f.partition(":")[2].strip() for f in filters if f.startswith("default:")), "")
    return shown_value or tags.unquote(default)


MAX_CALL_CHARS = 50_000
"""Characters of a call that is looked through; a longer one stays."""
MAX_UNCLOSED_CALLS = 20
"""After as many on a page it has no more calls: each takes the time of ``MAX_CALL_CHARS``."""

_CALL = re.compile(r"^[ \t]*\{\{[-~]?\s*[A-Za-z_][\w.]*\(", re.MULTILINE)
_CALL_END = re.compile(r"(?:\s*\|\s*[\w.]+)*\s*[-~]?\}\}[ \t]*$", re.MULTILINE)
_CALL_PART = re.compile(
    r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`[^`]*`|[()\[\]{}]|(?P<name>[\w$]+)[\"']?(?=\s*[:=][^=])"
)
_HTML_TAG = re.compile(r"</?(?!code\b)[a-z][^<>]*>")
_VISIBLE_NAMES = frozenset({*tags.HEADS, *tags.TEXTS, "html", "titletext", "legend"})


def expand_macro_calls(prose: str) -> str:
    """Replace macro calls in ``prose``, a text without code, by their visible words."""
    edits: list[tags.Edit] = []
    unclosed = 0
    for call in _CALL.finditer(prose):
        if edits and call.start() < edits[-1].end:
            continue
        rows, close = _call_rows(prose, call.end())
        if close and (end := _CALL_END.match(prose, close)):
            edits.append(tags.Edit(call.start(), end.end(), _rows_markdown(rows)))
        unclosed += not close
        if unclosed > MAX_UNCLOSED_CALLS:
            break
    return tags.apply_edits(prose, edits)


def _call_rows(text: str, start: int) -> tuple[list[tuple[str, list[str]]], int]:
    """Return the texts of a call in rows, each with its closing bracket, and the call's end (0 if not closed)."""
    rows: list[tuple[str, list[str]]] = []
    opened: list[int] = []  # the number of ``texts`` at each bracket
    texts: list[str] = []
    name = ""
    for part in _CALL_PART.finditer(text, start, min(len(text), start + MAX_CALL_CHARS)):
        mark = part[0]
        if part["name"]:
            name = part["name"].lower()
        elif mark in "([{":
            opened.append(len(texts))
        elif mark in ")]}":
            if not opened:
                return ([*rows, ("}", texts)] if texts else rows), part.end()
            before = opened.pop()
            if len(texts) - before > (0 if mark == "]" else 1):
                rows += [("}", texts[:before])] if before else []
                rows.append((mark, texts[before:]))
                texts.clear()
                opened = [0] * len(opened)
        else:
            texts += [words] if name in _VISIBLE_NAMES and (words := tags.unquote(mark).strip()) else []
            name = ""
    return rows, 0


def _rows_markdown(rows: list[tuple[str, list[str]]]) -> str:
    out: list[str] = []
    width = 0  # of the table that is being written
    for end, cells in rows:
        flat = [" ".join(_HTML_TAG.sub(" ", cell).split()) for cell in cells]
        if end == "]" and len(cells) > 1:
            line = "| " + " | ".join(cell.replace("|", "\\|") for cell in flat) + " |"
            out.append(line if len(cells) == width else f"\n{line}\n{'|---' * len(cells)}|")
            width = len(cells)
        else:
            out.append(f"\n- {': '.join(flat)}" if len(cells) > 1 else "\n" + "\n\n".join(cells))
            width = 0
    return "\n".join(["", *out, ""]) if out else ""
