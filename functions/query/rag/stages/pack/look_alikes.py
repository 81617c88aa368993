"""What a passage holds that could be read as a label of the context, shown as what looks alike and is none.

Of the 248,000 lines of the public documentation and passages that the project is measured on, .13 % hold something
that reads as a ``[Title]``, none an ``[id_3]``, and 1.4 % are a line of dashes, most of them around front matter, which
is in no passage.
"""

from __future__ import annotations

import re
from collections.abc import Callable

# A fence to its end, or the text's; or a span between runs of as many back-ticks. Possessive: no text takes long. Eight
# passages are packed while a question waits: reading each as Markdown would take longer than finding them.
_CODE = re.compile(
    r"^[ \t>]*+(?P<fence>```++|~~~++)[^\n]*+(?:\n(?![ \t>]*+(?P=fence))[^\n]*+)*+(?:\n[ \t>]*+(?P=fence)[`~]*+)?"
    r"|(?<!`)(?P<ticks>`++)(?!`)(?:[^`\n]|(?!(?P=ticks)(?!`))`++)*+(?P=ticks)(?!`)",
    re.MULTILINE,
)
_ROUND = str.maketrans("[]\u3010\u3011\uff3b\uff3d", "()()()")


def disarmed(
    text: str, form: re.Pattern[str], is_label: Callable[[re.Match[str], bool], bool], look_alike: Callable[[str], str]
) -> str:
    """A document's ``text`` with a ``look_alike`` for what ``is_label`` of all that has the ``form`` of a label.

    ``is_label`` is also told whether a match stands in code, which must stay to the letter: there only what is a label
    of this very context should be one.
    """
    code = [match.span() for match in _CODE.finditer(text)] if form.search(text) else []

    def shown(match: re.Match[str]) -> str:
        in_code = any(start <= match.start() < end for start, end in code)
        return look_alike(match[0]) if is_label(match, in_code) else match[0]

    return form.sub(shown, text)


def rounded(label: str) -> str:
    """``label`` in round brackets."""
    return label.translate(_ROUND)
