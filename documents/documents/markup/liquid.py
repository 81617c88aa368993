"""Jekyll's Liquid: tags (``{% %}``) and values (``{{ }}``) gone, or what they show.

Jekyll runs it before Markdown is read, in code as well. All branches of an ``if`` stay: which one a site shows, its
build decides. A Liquid library would have to know every tag of every site, and would leave branches out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from documents.markup.edits import Edit, edited
from documents.markup.place import among_words, in_address
from documents.markup.props import parameters, shown, unquoted
from documents.markup.surroundings import Surroundings

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
_QUOTED = re.compile(r"[\"']([^\"'\n]*)[\"']")
# A page whose text (not only its code) has one of these is Liquid's: 65 of 111 in docs_jekyll, 35 of 237 in
# docs_handbook, 17 of 45 of a theme's documentation. Of eleven sets of other generators 1 page of 137 (docs_fastapi).
_EVIDENCE = re.compile(
    r"\{%-?\s*(?:raw|highlight|link|post_url|include|include_relative|assign|capture|comment|seo)\b|\{\{\s*(?:(?:site|page)\.|[\"'][^\"'\n]*[\"']\s*\|)"
)


def is_liquid(prose: str) -> bool:
    """Whether a page is a Liquid template, by ``prose``: its text without its code."""
    return _EVIDENCE.search(prose) is not None


def without_liquid(text: str, surroundings: Surroundings) -> str:
    """``text`` with each tag and value as what it shows."""
    return edited(text, _edits(text, surroundings))


def without_tags(prose: str, *, values: bool) -> str:
    """``prose`` without tags, where it is not known to be Liquid (Jinja's look the same).

    Values (``{{ name }}``) stay as they are, except in addresses, in pages with loops and conditions, and if ``values``
    go.
    """
    gone = [Edit(*tag.span()) for tag in _TAG.finditer(prose)]
    values = values or _LOOP.search(prose) is not None
    gone += [Edit(*value.span()) for value in _VALUE.finditer(prose) if values or in_address(prose, value.start())]
    return edited(prose, gone)


def _edits(text: str, surroundings: Surroundings) -> Iterator[Edit]:
    ends = _ends(text)
    done = 0
    matches = sorted(chain(_TAG.finditer(text), _VALUE.finditer(text)), key=lambda match: match.start())
    for match in matches:
        if match.start() < done:
            continue
        found = match.groupdict()
        if "value" in found:
            yield Edit(match.start(), match.end(), _value(found["value"], surroundings))
            continue
        done, edits = _tag(text, match, ends, surroundings)
        yield from edits


def _ends(text: str) -> dict[str, list[re.Match[str]]]:
    """The closing tags by the name that they close, the first one last."""
    ends: dict[str, list[re.Match[str]]] = {}
    for tag in _TAG.finditer(text):
        if tag["name"].startswith("end"):
            ends.setdefault(tag["name"][3:], []).append(tag)
    for tags in ends.values():
        tags.reverse()
    return ends


def _tag(
    text: str, match: re.Match[str], ends: dict[str, list[re.Match[str]]], surroundings: Surroundings
) -> tuple[int, list[Edit]]:
    """Up to where ``match`` and what belongs to it reach, and the edits."""
    name, rest = match["name"], match["rest"].strip()
    closers = ends.get(name, [])
    while closers and closers[-1].start() < match.end():
        closers.pop()
    start, end = match.span()
    if not closers or name not in (*_VERBATIM, *_UNSEEN, *_CODE):
        words = _leaf(name, rest, surroundings) or _argument(text, match)
        return end, [Edit(start, end, words)]
    close = closers[-1]
    if name in _UNSEEN:
        return close.end(), [Edit(start, close.end())]
    if name in _VERBATIM:
        return close.end(), [Edit(start, end), Edit(*close.span())]
    inner = text[end : close.start()]
    if "```" in inner:
        return end, [Edit(start, end)]
    language = re.match(r"[\w+#-]*", rest)
    opening = f"```{language[0] if language else ''}" + ("" if inner.startswith("\n") else "\n")
    return end, [Edit(start, end, opening), Edit(*close.span(), "```" if inner.endswith("\n") else "\n```")]


def _leaf(name: str, rest: str, surroundings: Surroundings) -> str:
    if name in _ADDRESS:
        return rest.split(maxsplit=1)[0] if rest else ""
    if name in ("include", "include_relative", "include-markdown", "render"):
        file = unquoted(rest.split(maxsplit=1)[0]) if rest else ""
        if file.endswith((".md", ".markdown")) and (taken := surroundings.included(file)):
            return taken
        named, _ = parameters(rest)
        return shown({key: value for key, value in named.items() if "{{" not in value})
    return ""


def _argument(text: str, match: re.Match[str]) -> str:
    """The last quoted word of a site's own tag among words (``ask {% slack_channel "dev" %}``), or its address.

    914 places in docs_handbook.
    """
    name = match["name"]
    quoted = [] if name in _CONTROL or name.startswith("end") else _QUOTED.findall(match["rest"])
    if not quoted:
        return ""
    if in_address(text, match.start()):
        return str(quoted[0])
    return str(quoted[-1]) if among_words(text, *match.span(), lines=3) else ""


def _value(source: str, surroundings: Surroundings) -> str:
    first, *filters = source.strip("-~ \n\t").split(" | ")
    first = first.split("|")[0].strip() if first[:1] not in ("'", '"') else first.strip()
    if first[:1] in ("'", '"'):
        return unquoted(first)
    shown_value = surroundings.value(first) if _NAME.fullmatch(first) else ""
    default = next((f.partition(":")[2].strip() for f in filters if f.startswith("default:")), "")
    return shown_value or unquoted(default)
