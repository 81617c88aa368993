"""MDX: ``import`` and ``export`` are removed, ``{expressions}`` become their words, if they hold only words."""

from __future__ import annotations

import re

from documents.markup.context import PageContext
from documents.markup.tags import Edit, apply_edits, unquote

_MODULE = re.compile(
    r"^(?:import\s+(?:type\s+)?(?:[\w*{][^;\n]*(?:\n[^;\n]+){0,40}?\bfrom\s*[\"']|[\"'])"
    r"|export\s+(?:const|let|var|default|function|async|class|type|interface|\*|\{))",
    re.MULTILINE,
)
_LINE = re.compile(r"^.*$", re.MULTILINE)
_BEGINNING = re.compile(r"(?:\A\s?|\s\s|-->\s*)\Z")
"""What is before a paragraph, possibly a comment."""
_FENCE = re.compile(r"[ \t>]*(`{3,}(?=[^`]*$)|~{3,})(.*)")
_UNCOUNTED = re.compile(
    r"'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|`(?:\\.|[^`\\])*`|/\*.*?\*/|(?<![:\w])//[^\n]*", re.DOTALL
)
"""Texts and comments of JavaScript, whose brackets and blank lines count for nothing."""
_BLANK_LINE = re.compile(r"\n[ \t]*(?=\n|\Z)")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|`[^`$]*`")
_STRINGS = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_LIST = re.compile(rf"\[(?:\s*(?:{_STRINGS.pattern})\s*,?)*\s*\]")
_PATH = re.compile(r"[\w$]+(?:\.\w+)+")
_ANCHOR = re.compile(r"\{#[\w:.-]+\}")
_IN_TAG = re.compile(r"<[A-Za-z][^<>]*$")
_RULE = re.compile(rf"([\w-]+)[\"']?\s*:\s*({_STRINGS.pattern}|[^,{{}}\"']+)")
_CAPITAL = re.compile(r"[A-Z]")
_LOOK_BACK_CHARS = 400
MAX_EXPRESSION_CHARS = 20_000


def drop_modules(text: str) -> str:
    """Remove ``import`` and ``export`` at the beginning of paragraphs; code in ``text`` is not hidden.

    MDX reads them before Markdown, so that a fence in one of their strings does not count.
    """
    edits: list[Edit] = []
    done, fence = 0, ""
    for line in _LINE.finditer(text):
        start = line.start()
        if start < done:
            continue
        mark = _FENCE.match(line[0])
        if fence:
            fence = "" if mark and mark[1].startswith(fence) and not mark[2].strip() else fence
        elif mark:
            fence = mark[1]
        elif _MODULE.match(text, start) and (done == start or _BEGINNING.search(text[max(start - 5, 0) : start])):
            done = _end_of_statement(text, start)
            edits.append(Edit(start, done))
    return apply_edits(text, edits)


def _end_of_statement(text: str, start: int) -> int:
    """Return the end of the paragraph at ``start``, and of the next ones while brackets are open that close at all."""
    code = _UNCOUNTED.sub(lambda match: " " * len(match[0]), text[start : start + MAX_EXPRESSION_CHARS])
    ends = [blank.start() for blank in _BLANK_LINE.finditer(code)]
    depth = at = 0
    for end in ends:
        part, at = code[at:end], end
        depth += sum(map(part.count, "({[")) - sum(map(part.count, ")}]"))
        if depth <= 0:
            return start + end
    return start + (ends[0] if ends else len(code))


def expand_expressions(text: str, context: PageContext) -> str:
    """Replace each ``{...}`` by its text, its value in the front matter, or nothing."""
    edits: list[Edit] = []
    for start, end in _braces(text):
        before = text[max(start - _LOOK_BACK_CHARS, 0) : start]
        code = _COMMENT.sub("", text[start + 1 : end - 1]).strip()
        words = unquote(code) if _STRING.fullmatch(code) else ""
        if _IN_TAG.search(before):
            edits.append(Edit(start, end, _write_attribute(before, code, words) if before.endswith("=") else " "))
        elif not _ANCHOR.fullmatch(text, start, end):
            edits.append(Edit(start, end, words or (context.value(code) if _PATH.fullmatch(code) else "")))
    return apply_edits(text, edits)


def _write_attribute(before: str, code: str, words: str) -> str:
    """Return the value of the attribute that ends ``before`` as HTML has it; ``words`` if its ``code`` is a text."""
    if before.endswith("style="):
        rules = ((_CAPITAL.sub(r"-\g<0>", name).lower(), unquote(rule.strip())) for name, rule in _RULE.findall(code))
        words = "; ".join(f"{name}: {rule}" for name, rule in rules)
    elif before.endswith("hidden=") and code != "true":
        words = words or "until-found"  # in some state of the page
    elif _LIST.fullmatch(code):
        words = "\n".join(map(unquote, _STRINGS.findall(code)))
    words = words.replace('"', "'").replace("<", " ").replace(">", " ")
    return f'"{words}"'


def _braces(text: str) -> list[tuple[int, int]]:
    """Return the outermost pairs of braces, without unclosed and escaped ones."""
    opened: list[int] = []
    pairs: list[tuple[int, int]] = []
    for match in re.finditer(r"\\?[{}]", text):
        if match[0] == "{":
            opened.append(match.start())
        elif match[0] == "}" and opened:
            start = opened.pop()
            while pairs and pairs[-1][0] > start:
                pairs.pop()
            if match.end() - start <= MAX_EXPRESSION_CHARS:
                pairs.append((start, match.end()))
    return pairs
