"""Replace text of a document that reads like a label of the context by text that looks similar and is no label.

Of the 248,000 lines of the public documentation and passages that the project is measured on, .13 % hold text that
reads as a ``[Title]``, none an ``[id_3]``, .02 % a ``[1]`` or ``[1, 3]`` (a third of these are intervals: "in the range
[0, 1]"), and 1.4 % are a line of dashes, most of them around front matter, which is in no passage.

A label is searched in the visible text: without escapes, emphasis, tags and invisible characters, with character
references resolved. The words of a comment count too, because a model sees them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import unescape
from unicodedata import category, normalize

# A fence to its end, or the text's; or a span between runs of as many back-ticks. Possessive: no text takes long. Eight
# passages are packed while a question waits: parsing each as Markdown would take longer than finding them.
_CODE = re.compile(
    r"^[ \t>]*+(?P<fence>```++|~~~++)[^\n]*+(?:\n(?![ \t>]*+(?P=fence))[^\n]*+)*+(?:\n[ \t>]*+(?P=fence)[`~]*+)?"
    r"|(?<!`)(?P<ticks>`++)(?!`)(?:[^`\n]|(?!(?P=ticks)(?!`))`++)*+(?P=ticks)(?!`)",
    re.MULTILINE,
)
_INVISIBLE = re.compile(
    r"\\(?=[!-/:-@\[-`{-~\n])|[*`]+|</?[a-z][\w-]*(?:\s[^<>\n]*)?>|<!--|-->|&(?:amp;)*(?:#x?)?\w{1,30};|[^\0-\x7f]",
    re.IGNORECASE,
)
_ROUND = str.maketrans("[]\u3010\u3011\uff3b\uff3d", "()()()")


def disarm(
    text: str, form: re.Pattern[str], is_label: Callable[[re.Match[str], bool], bool], look_alike: Callable[[str], str]
) -> str:
    """Return ``text`` with each match of ``form`` for which ``is_label`` holds replaced by its ``look_alike``.

    ``is_label`` also gets whether the match is in code. Code must stay to the letter, so only labels of this very
    context should count there.
    """
    if not form.search(_INVISIBLE.sub(lambda match: _visible(match[0]), text)):
        return text  # most passages: they need no map of character positions
    visible, starts, ends = _map_visible(text)
    code = [match.span() for match in _CODE.finditer(text)]
    parts, at = list[str](), 0
    for match in form.finditer(visible):
        start = starts[match.start()]
        if is_label(match, any(first <= start < last for first, last in code)):
            parts += (text[at:start], look_alike(match[0]))
            at = ends[match.end() - 1]
    return "".join((*parts, text[at:]))


def round_brackets(label: str) -> str:
    """Return ``label`` with round brackets in place of square ones."""
    return label.translate(_ROUND)


def _map_visible(text: str) -> tuple[str, Sequence[int], Sequence[int]]:
    """Return the visible text, and the start and the end in ``text`` of each of its characters."""
    parts, starts, ends, at = list[str](), list[int](), list[int](), 0
    for match in _INVISIBLE.finditer(text):
        shown = _visible(match[0])
        parts += (text[at : match.start()], shown)
        starts += (*range(at, match.start()), *(match.start() for _ in shown))
        ends += (*range(at + 1, match.start() + 1), *(match.end() for _ in shown))
        at = match.end()
    rest = len(text) + 1
    return "".join((*parts, text[at:])), (*starts, *range(at, rest)), (*ends, *range(at + 1, rest))


def _visible(source: str) -> str:
    if source[0] in "\\*`<-":
        return ""
    plain = normalize("NFKC", unescape(unescape(source)))
    return "".join(char for char in plain if category(char) != "Cf")
