"""Hugo's shortcodes (``{{< name >}}``, ``{{% name %}}``): removed, or replaced by the words that they show.

Hugo runs them before Markdown is read, in code as well. What stands between two of a pair is text and stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from documents.markup.context import PageContext
from documents.markup.tags import (
    Edit,
    apply_edits,
    is_among_words,
    is_in_address,
    pair_ends,
    parse_parameters,
    visible_words,
)

_OPENER = re.compile(r"\{\{([<%])")
_INSIDE = re.compile(r"\s*(?P<close>/?)\s*(?P<name>[\w./-]+)(?P<rest>.*)", re.DOTALL)
_CODE = re.compile(r"highlight|.*code.*|hl")
_AGE = re.compile(r"[a-z]+-in")  # new-in 0.146.0: 197 places in docs_hugo


@dataclass(frozen=True, slots=True)
class _Tag:
    start: int
    end: int
    name: str
    closes: bool
    leaf: bool
    named: dict[str, str]
    others: list[str]
    literal: str = ""


def expand_shortcodes(text: str, context: PageContext) -> str:
    """Replace each shortcode by the text that it shows; escaped ones (``{{</* x */>}}``) become literal."""
    tags = list(_tags(text))
    partner = pair_ends((tag.name, tag.closes, tag.leaf) for tag in tags)
    partner |= {end: start for start, end in partner.items()}
    edits: list[Edit] = []
    for number, tag in enumerate(tags):
        other = tags[partner[number]] if number in partner else None
        edits.append(Edit(tag.start, tag.end, _expand(text, tag, other, context)))
        if tag.name == "comment" and other is not None and not tag.closes:
            edits.append(Edit(tag.start, other.end))
    return apply_edits(text, edits)


def _tags(text: str) -> Iterator[_Tag]:
    done = 0
    while opener := _OPENER.search(text, done):
        end = text.find(">}}" if opener[1] == "<" else "%}}", opener.end())
        if end < 0:
            done = opener.end()
            if text.find(">}}", done) < 0 and text.find("%}}", done) < 0:
                return
            continue
        done = end + 3
        inside = text[opener.end() : end].strip()
        if inside.startswith("/*") and inside.endswith("*/"):
            literal = text[opener.start() : done].replace("/*", "", 1)[:-5] + text[done - 3 : done]
            yield _Tag(opener.start(), done, name="", closes=False, leaf=True, named={}, others=[], literal=literal)
        elif match := _INSIDE.fullmatch(inside):
            rest = match["rest"].rstrip()
            named, others = parse_parameters(rest.removesuffix("/"))
            yield _Tag(opener.start(), done, match["name"], bool(match["close"]), rest.endswith("/"), named, others)


def _expand(text: str, tag: _Tag, other: _Tag | None, context: PageContext) -> str:
    if tag.literal:
        return tag.literal
    if other is not None and (fence := _fence_line(text, tag, other)):
        return fence
    if tag.closes:
        return ""
    if tag.name == "param":
        return context.param(tag.others[0]) if tag.others else ""
    words = visible_words(_named_parameters(tag))
    if other is not None:
        return f"\n\n{words}\n\n" if words and not is_among_words(text, tag.start, tag.end) else words
    return words or _visible_positional(text, tag)


def _named_parameters(tag: _Tag) -> dict[str, str]:
    """Return the named parameters, and a tab's ``name`` or first word as its title."""
    title = tag.named.get("name") or (tag.others[0] if tag.others else "")
    return {"title": title, **tag.named} if tag.name == "tab" and title else tag.named


def _fence_line(text: str, tag: _Tag, other: _Tag) -> str:
    """Return the first or last line of a code block; ``""`` if the pair is not code or holds a fence."""
    opener = other if tag.closes else tag
    inner = text[opener.end : (tag if tag.closes else other).start]
    language = opener.named.get("lang") or opener.named.get("codelang") or ""
    if not _is_code(text, opener, language) or "```" in inner or "\n" not in inner:
        return ""
    if tag.closes:
        return "```\n" if inner.endswith("\n") else "\n```\n"
    if opener.name in ("highlight", "hl") and opener.others:
        language = opener.others[0]
    words = visible_words(_named_parameters(tag))
    return (f"{words}\n\n" if words else "") + f"```{language}" + ("" if inner.startswith("\n") else "\n")


def _is_code(text: str, opener: _Tag, language: str) -> bool:
    """Return whether a shortcode's inner text is code: Docsy's tabs are, except with ``text=true`` or ``{{% %}}``."""
    if opener.name == "tab":
        pane = text.rfind("{{< tabpane", 0, opener.start)
        in_pane = pane >= 0 and "text=" not in text[pane : text.find("}}", pane)]
        return bool(language) or (in_pane and text[opener.start + 2] == "<" and "text" not in opener.named)
    return opener.named.get("code") == "true" or _CODE.fullmatch(opener.name) is not None


def _visible_positional(text: str, tag: _Tag) -> str:
    """Return a shortcode's positional word that is visible: an address in a link, or words in a sentence."""
    if not tag.others:
        return ""
    last = tag.others[-1]
    if _AGE.fullmatch(tag.name):
        return f"{tag.name.replace('-', ' ').capitalize()} {tag.others[0]}"
    if tag.name in ("ref", "relref") or is_in_address(text, tag.start):
        return tag.others[0]
    is_prose = any(" " in word for word in tag.others)
    return last if is_prose or is_among_words(text, tag.start, tag.end) else ""
