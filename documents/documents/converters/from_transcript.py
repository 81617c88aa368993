"""Subtitles and transcripts (WebVTT, SubRip) to Markdown: paragraphs of whole sentences with their speaker and time.

webvtt-py refuses files with one damaged cue, and knows no speakers but those of WebVTT's tags.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from html import unescape
from itertools import pairwise

from documents.converters.output import compose, one_line, own_title
from documents.errors import Unconvertible
from documents.values import Converted, Decode

_TIMES = re.compile(r"^[ \t]*(\d[^:\n]*:[^\n]*?)-->([^\n]*)(?:\n|\Z)", re.MULTILINE)
_TIME = re.compile(r"(?:(\d+):)?(\d+):(\d+)[.,](\d+)")
_NUMBER = re.compile(r"(?:\A|\n)[ \t]*\d+[ \t]*\n\Z")  # of the next cue
_TITLE = re.compile(r"\A\s*WEBVTT[ \t]+-[ \t]*(.+)|^(?:NOTE\s+)?title[ \t]*:[ \t]*(.+)", re.IGNORECASE | re.MULTILINE)
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]*)>")
_MARK = re.compile(r"</?[a-z0-9][^<>\n]*>|\{\\[^{}\n]*\}", re.IGNORECASE | re.MULTILINE)
_SOUND = re.compile(r"(?:>>\s*)?(?:\[[^\]]*[^\].!?]\]|\([^)]*[^).!?]\)|[♪♫\s]+)")
_PREFIX = re.compile(r"(>>+\s*)?(?:([^\W\d][^:]{0,40}?)\s*:(?:\s+|\Z))?")  # of a new speaker, and the name
_END = re.compile(r"[.!?…。！？][\"'”’)\]]*\Z")
_PAUSE_S = 2
_CHARS, _MAX_CHARS = 400, 1200  # of a paragraph; the second where no sentence ends, as in automatic captions
_MAX_NAME_WORDS = 3  # of one that stands once
_ROLLING = 0.3  # of the cues begin with the line before

type _Cue = tuple[float, float, str | None, str]
"""Begin and end in seconds, the speaker (None: not stated), and the lines."""


def convert(data: bytes, decode: Decode) -> Converted:
    """Return the spoken words as paragraphs.

    Raises:
        Unconvertible: the file holds no times.
        NoText: nothing is said in it.
        ValueError: it is not text.
    """
    text, caveat = decode(data)
    head, *parts = _TIMES.split(text)
    is_vtt = head.lstrip().startswith("WEBVTT")
    if not parts and not is_vtt:
        raise Unconvertible("holds no times, so it is no transcript: give it the suffix .txt")
    found = _TITLE.search(head)
    title = own_title(found[1] or found[2]) if found else ""
    cues = _drop_repeated(list(_cues(parts, is_vtt=is_vtt)))
    return Converted(compose("\n\n".join(_paragraphs(cues)), title=title), (caveat,) if caveat else ())


def _cues(parts: Sequence[str], *, is_vtt: bool) -> Iterator[_Cue]:
    start = end = 0.0
    for at in range(0, len(parts), 3):
        times = [_TIME.search(part) for part in parts[at : at + 2]]  # a damaged one is taken from the cue before
        start, end = (
            int(time[1] or 0) * 3600 + int(time[2]) * 60 + float(f"{time[3]}.{time[4]}") if time else end
            for time in times
        )
        words = parts[at + 2] if at + 3 == len(parts) else _NUMBER.sub("", parts[at + 2])
        before, *voices = _VOICE.split(words.partition("\n\n")[0] if is_vtt else words)
        for name, spoken in [(None, before), *zip(voices[::2], voices[1::2], strict=True)]:
            lines = filter(None, map(one_line, unescape(_MARK.sub("", spoken)).splitlines()))
            if shown := "\n".join(lines):
                yield start, end, name and one_line(unescape(name)), shown


def _drop_repeated(cues: Sequence[_Cue]) -> Sequence[_Cue]:
    """Drop the line before, with which each cue of rolling captions begins."""

    def count_repeated(before: str, after: str) -> int:
        parts = (before, before.rpartition("\n")[2])
        return max((len(part) for part in parts if f"{after}\n".startswith((f"{part}\n", f"{part} "))), default=0)

    repeated = [0, *(count_repeated(before[3], after[3]) for before, after in pairwise(cues))][: len(cues)]
    if sum(map(bool, repeated)) < _ROLLING * len(cues):
        return cues
    return [(*cue[:3], rest) for cue, count in zip(cues, repeated, strict=True) if (rest := cue[3][count:].strip())]


def _paragraphs(cues: Sequence[_Cue]) -> Iterator[str]:
    speaker, begin, last, words = "", 0.0, 0.0, ""
    for start, end, stated, spoken in _turns(cues):
        is_ended = len(words) > _MAX_CHARS or (_END.search(words) and (len(words) > _CHARS or start - last > _PAUSE_S))
        if words and (is_ended or stated not in (None, speaker or None)):
            yield _paragraph(speaker, begin, words)
            words = ""
        speaker = speaker if stated is None else stated
        begin = begin if words else start
        words = f"{words} {spoken}".strip()
        last = end
    if words:
        yield _paragraph(speaker, begin, words)


def _turns(cues: Sequence[_Cue]) -> Iterator[_Cue]:
    """Yield the lines without sounds, with the speaker: None if it goes on, ``""`` for another one without a name."""
    names = _speaker_names(cues)
    for start, end, stated, text in cues:
        for prefix in filter(None, map(_PREFIX.match, text.split("\n"))):  # all match
            mark, name = prefix.groups()
            is_name = name in names or bool(mark and name and name.isupper())
            spoken = prefix.string[prefix.end() if is_name else len(mark or "") :]
            new = name if is_name else stated or (None if mark is None else "")
            yield start, end, new, "" if _SOUND.fullmatch(spoken) else spoken


def _speaker_names(cues: Sequence[_Cue]) -> set[str]:
    """Return the names before a colon if they stand in at least half of the cues and some of them again."""
    lines = "\n".join(text for *_, text in cues).split("\n")
    found = Counter(match[2] for match in map(_PREFIX.match, lines) if match and match[2])
    if found.total() < len(cues) / 2 or found.total() == len(found):
        return set()
    return {name for name, count in found.items() if count > 1 or len(name.split()) <= _MAX_NAME_WORDS}


def _paragraph(speaker: str, begin: float, words: str) -> str:
    minutes, seconds = divmod(int(begin), 60)
    clock = f"{minutes // 60}:{minutes % 60:02}:{seconds:02}" if minutes >= 60 else f"{minutes}:{seconds:02}"
    return f"**{speaker.replace('*', '')}** ({clock}): {words}" if speaker else f"({clock}) {words}"
