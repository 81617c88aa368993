"""What a document says of itself: its front matter, in YAML between ``---``, TOML between ``+++``, or JSON."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from knowledge.read import yaml
from knowledge.read.fields import Fields, fields

__all__ = ["Fields", "fields", "split"]

MAX_BLOCK_CHARS = 64 * 1024
_YAML = re.compile(r"\s*^---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\s*^\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_JSON = re.compile(r"\s*(?=\{\s*\"[\w.-]+\"\s*:)")
_LINE_END = re.compile(r"[ \t]*(?:\n|\Z)")
_UNCLOSED = re.compile(r"\s*^(---[ \t]*\n[\w.-]+[ \t]*:(?:[ \t]|\n)|\+\+\+[ \t]*\n[\w.-]+[ \t]*=)", re.MULTILINE)
_PROSE = re.compile(
    r"^(?![\w.-]+[ \t]*:|[-#\s\]}]|\Z)", re.MULTILINE
)  # a line that begins no entry and goes on with none
_KEY = re.compile(r"[\w.-]+")

type Split = tuple[Mapping[Any, Any], str, str]


def split(text: str) -> Split:
    """Front matter, the text behind it, and what was wrong with the front matter (``""``: nothing).

    A block at the very beginning, blank lines aside, is front matter: YAML between ``---`` lines, TOML between
    ``+++`` lines, or a JSON object with nothing behind it on its last line. One that is no mapping with a name in it
    (a paragraph between two rulers) is text. Of YAML with errors in it what can be read is read; TOML with errors is
    left out.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    beginning = text[: MAX_BLOCK_CHARS + 1]
    if match := _YAML.match(beginning):
        return _yaml(match[1], text, match.end())
    if match := _TOML.match(beginning):
        return _toml(match[1], text, match.end())
    if match := _JSON.match(beginning):
        return _json(text, match.end())
    if match := _UNCLOSED.match(beginning):
        return {}, text, f"front matter has no closing {match[1][:3]!r}: read as text"
    return {}, text, ""


def _yaml(block: str, text: str, end: int) -> Split:
    repeated: list[str] = []
    try:
        found = yaml.load(block, repeated=repeated)
    except ValueError as exc:
        parts = yaml.load_parts(block)
        if not parts and _PROSE.search(block):
            return {}, text, f"begins with a block between '---' that is not valid YAML: read as text: {exc}"
        what = f"(read of it: {', '.join(parts)})" if parts else "and was left out"
        return parts, text[end:], f"front matter is not valid YAML {what}: {exc}"
    if not found:
        return {}, text[end:], ""
    if not isinstance(found, dict) or not any(_KEY.fullmatch(str(key)) for key in found):
        return {}, text, "begins with a block between '---' that is no front matter: read as text"
    told = f"front matter has keys more than once, of which the first counts: {', '.join(repeated)}" if repeated else ""
    return found, text[end:], told


def _toml(block: str, text: str, end: int) -> Split:
    try:
        return tomllib.loads("\n" + block), text[end:], ""  # the line of the fence counts in its messages
    except Exception as exc:  # noqa: BLE001 - deep nesting is a RecursionError
        return {}, text[end:], f"front matter is not valid TOML and was left out: {exc}".partition("\n")[0]


def _json(text: str, start: int) -> Split:
    try:
        found, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError) as exc:
        return {}, text, f"begins with what is no valid JSON front matter: read as text: {exc}"
    line_end = _LINE_END.match(text, end)
    return (found, text[line_end.end() :], "") if line_end else ({}, text, "")
