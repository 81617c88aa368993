"""What a passage holds that could be read as a label of the context, shown as what looks alike and is none.

Of the 248,000 lines of the public documentation and passages that the project is measured on, .13 % hold something
that reads as a ``[Title]``, none an ``[id_3]``, .02 % a ``[1]`` or ``[1, 3]`` (of these a third are intervals: "in the
range [0, 1]"), and 1.4 % are a line of dashes, most of them around front matter, which is in no passage.

A label is looked for in what a reader sees of a text: without escapes, emphasis, tags and invisible characters, with
references to characters as those. The words of a comment count too: a model sees them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import unescape
from unicodedata import category, normalize

# A fence to its end, or the text's; or a span between runs of as many back-ticks. Possessive: no text takes long. Eight
# passages are packed while a question waits: reading each as Markdown would take longer than finding them.
_CODE = re.compile(
    r"^[ \t>]*+(?P<fence>```++|~~~++)[^\n]*+(?:\n(?![ \t>]*+(?P=fence))[^\n]*+)*+(?:\n[ \t>]*+(?P=fence)[`~]*+)?"
    r"|(?<!`)(?P<ticks>`++)(?!`)(?:[^`\n]|(?!(?P=ticks)(?!`))`++)*+(?P=ticks)(?!`)",
    re.MULTILINE,
)
_NOT_SEEN = re.compile(
    r"\\(?=[!-/:-@\[-`{-~\n])|[*`]+|</?[a-z][\w-]*(?:\s[^<>\n]*)?>|<!--|-->|&(?:amp;)*(?:#x?)?\w{1,30};|[^\0-\x7f]",
    re.IGNORECASE,
)
_ROUND = str.maketrans("[]\u3010\u3011\uff3b\uff3d", "()()()")


def disarmed(
    text: str, form: re.Pattern[str], is_label: Callable[[re.Match[str], bool], bool], look_alike: Callable[[str], str]
) -> str:
    """A document's ``text`` with a ``look_alike`` for what ``is_label`` of all that has the ``form`` of a label.

    ``is_label`` is also told whether a match stands in code, which must stay to the letter: there only what is a label
    of this very context should be one.
    """
    if not form.search(_NOT_SEEN.sub(lambda match: _as_seen(match[0]), text)):
        return text  # most passages: they need no map of where each character came from
    seen, starts, ends = _seen(text)
    matches = list(form.finditer(seen))
    code = [match.span() for match in _CODE.finditer(text)]
    shown, at = list[str](), 0
    for match in matches:
        start = starts[match.start()]
        if is_label(match, any(first <= start < last for first, last in code)):
            shown += (text[at:start], look_alike(match[0]))
            at = ends[match.end() - 1]
    return "".join((*shown, text[at:]))


def _seen(text: str) -> tuple[str, Sequence[int], Sequence[int]]:
    """What a reader sees of ``text``, and where each of its characters starts and ends there."""
    seen, starts, ends, at = list[str](), list[int](), list[int](), 0
    for match in _NOT_SEEN.finditer(text):
        kept = _as_seen(match[0])
        seen += (text[at : match.start()], kept)
        starts += (*range(at, match.start()), *(match.start() for _ in kept))
        ends += (*range(at + 1, match.start() + 1), *(match.end() for _ in kept))
        at = match.end()
    rest = len(text) + 1
    return "".join((*seen, text[at:])), (*starts, *range(at, rest)), (*ends, *range(at + 1, rest))


def _as_seen(written: str) -> str:
    if written[0] in "\\*`<-":
        return ""
    plain = normalize("NFKC", unescape(unescape(written)))
    return "".join(char for char in plain if category(char) != "Cf")


def rounded(label: str) -> str:
    """``label`` in round brackets."""
    return label.translate(_ROUND)
