"""Hugo's shortcodes (``{{< name >}}``, ``{{% name %}}``): removed, or replaced by the words that they show.

Hugo runs them before Markdown is read, in code as well. What stands between two of a pair is text and stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from documents.markup import tags
from documents.markup.context import PageContext

_OPENER = re.compile(r"\{\{([<%])")
_INSIDE = re.compile(r"\s*(?P<close>/?)\s*(?P<name>[\w./-]+)(?P<rest>.*)", re.DOTALL)
_CODE = re.compile(r"highlight|.*code.*|hl")
_AGE = re.compile(r"[a-z]+-in")  # new-in 0.146.0: 197 places in docs_hugo


class _Tag(NamedTuple):
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
    found = list(_tags(text))
    ends = tags.pair_ends((tag.name, tag.closes, tag.leaf) for tag in found)
    shown = [_expand(text, tag, context, has_end=number in ends) for number, tag in enumerate(found)]
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


def _tags(text: str) -> Iterator[_Tag]:
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
            yield _Tag(start, done, "", literal=literal)
        elif match := _INSIDE.fullmatch(inside):
            rest = match["rest"].rstrip()
            named, others = tags.parse_parameters(rest.removesuffix("/"))
            yield _Tag(start, done, match["name"], bool(match["close"]), rest.endswith("/"), named, others)


def _expand(text: str, tag: _Tag, context: PageContext, *, has_end: bool) -> str:
    if tag.literal or tag.closes:
        return tag.literal
    if tag.name == "param":
        return context.param(tag.others[0]) if tag.others else ""
    words = tags.visible_words(_named_parameters(tag))
    if has_end:
        return f"\n\n{words}\n\n" if words and not tags.is_among_words(text, tag.start, tag.end) else words
    return words or (_visible_positional(text, tag) if tag.others else "")


def _visible_positional(text: str, tag: _Tag) -> str:
    """Return a shortcode's positional word that is visible: an address in a link, or words in a sentence."""
    if _AGE.fullmatch(tag.name):
        return f"{tag.name.replace('-', ' ').capitalize()} {tag.others[0]}"
    if tag.name in ("ref", "relref") or tags.is_in_address(text, tag.start):
        return tag.others[0]
    is_prose = any(" " in word for word in tag.others) or tags.is_among_words(text, tag.start, tag.end)
    return tag.others[-1] if is_prose else ""


def _named_parameters(tag: _Tag) -> Mapping[str, str]:
    """Return the named parameters, and a tab's ``name`` or first word as its title."""
    title = tag.named.get("name") or (tag.others[0] if tag.others else "")
    return {"title": title, **tag.named} if tag.name == "tab" and title else tag.named


def _is_code(text: str, opener: _Tag, language: str) -> bool:
    """Return whether a shortcode's inner text is code: Docsy's tabs are, except with ``text=true`` or ``{{% %}}``."""
    if opener.name == "tab":
        pane = text.rfind("{{< tabpane", 0, opener.start)
        in_pane = pane >= 0 and "text=" not in text[pane : text.find("}}", pane)]
        return bool(language) or (in_pane and text[opener.start + 2] == "<" and "text" not in opener.named)
    return opener.named.get("code") == "true" or _CODE.fullmatch(opener.name) is not None
