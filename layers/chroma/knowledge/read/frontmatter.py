"""A document's front matter: YAML between ``---``, TOML between ``+++``, or JSON.

YAML is read by ruamel.yaml's safe loader: YAML 1.2, where ``NO`` and ``12:30`` are text.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer, ComposerError
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

from knowledge.read.dates import to_iso

MAX_DEPTH = 50
MAX_ALIASES = 16
"""More are refused: merged into each other, a few lines of them expand to gigabytes. Pages of etcd's site have one."""

_TOP_LEVEL = re.compile(r"^(?=[\w.-]+[ ]*:(?:[ ]|$))", re.MULTILINE)
_ONE_LINE = re.compile(r"([\w.-]+)[ ]*:[ ]+([^\s\[{&*!|>#].*?)\s*")
MAX_BLOCK_CHARS = 64 * 1024
_YAML = re.compile(r"\s*^---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\s*^\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_JSON = re.compile(r"\s*(?=\{\s*\"[\w.-]+\"\s*:)")
_LINE_END = re.compile(r"[ \t]*(?:\n|\Z)")
_UNCLOSED = re.compile(r"\s*^(---[ \t]*\n[\w.-]+[ \t]*:(?:[ \t]|\n)|\+\+\+[ \t]*\n[\w.-]+[ \t]*=)", re.MULTILINE)
_PROSE = re.compile(r"^(?![\w.-]+[ \t]*:|[-#\s\]}]|\Z)", re.MULTILINE)  # no entry, and no line that continues one
_KEY = re.compile(r"[\w.-]+")

type Split = tuple[Mapping[Any, Any], str, str]


def load_yaml(text: str) -> tuple[object, Sequence[str]]:
    """Return a YAML document of scalars, lists and mappings, and its repeated keys, of which the first counts.

    Dates are ISO text. A whole number that is written otherwise than Python writes it (``0101``, ``1_000``) and a date
    that is not in the calendar stay as they are written. What a tag names (``!!python/object:...``, ``!ENV``) is never
    made: the value is read as if the tag were not there.

    ValueError: ``text`` is not such YAML; the message is one line, with the line number (the first is 2).
    """
    yaml = YAML(typ="safe", pure=True)
    yaml.Composer, yaml.Constructor = _Composer, _Constructor
    yaml.allow_duplicate_keys = True
    yaml.max_depth = MAX_DEPTH
    try:
        found = yaml.load(text.replace("\t", "    "))  # ruamel refuses them even behind a colon or a value
        return found, yaml.constructor.repeated
    except MarkedYAMLError as exc:
        line = f" (line {exc.problem_mark.line + 2})" if exc.problem_mark else ""
        raise ValueError(f"{exc.problem}{line}") from exc
    except Exception as exc:  # a character that YAML forbids; what is no bool after "!!bool" is a KeyError
        raise ValueError(f"{exc}".partition("\n")[0]) from exc


def load_yaml_entries(text: str) -> Mapping[str, object]:
    """Parse each top-level entry by itself, of a ``text`` that is not YAML as a whole.

    A value on one line is its text (``title: Foo: bar``, ``by: @me``) if it is not YAML and does not begin as a list, a
    mapping or a block. Of 9,900 pages of 24 public sites 12 are not YAML; all have a title that this reads.
    """
    parts: dict[str, object] = {}
    for entry in _TOP_LEVEL.split(text.replace("\t", "    ")):
        try:
            found, _ = load_yaml(entry)
        except ValueError:
            line = _ONE_LINE.fullmatch(entry)
            found = {line[1]: line[2]} if line else None
        for key, value in found.items() if isinstance(found, dict) else ():
            parts.setdefault(str(key), value)
    return parts


class _Composer(Composer):
    aliases = 0

    def return_alias(self, a: Any) -> Any:
        self.aliases += 1
        if self.aliases > MAX_ALIASES:
            raise ComposerError(problem=f"more than {MAX_ALIASES} aliases", problem_mark=a.start_mark)
        return a


class _Constructor(SafeConstructor):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.repeated: list[str] = []

    def check_mapping_key(self, node: Any, key_node: Any, mapping: Any, key: Any, value: Any) -> bool:
        if key in mapping:
            self.repeated.append(f"{key!s} (line {key_node.start_mark.line + 2})")
        return bool(super().check_mapping_key(node, key_node, mapping, key, value))

    def whole_number(self, node: ScalarNode) -> int | str:
        try:
            number = self.construct_yaml_int(node)
        except ValueError:  # thousands of digits
            return str(node.value)
        return number if str(number) == node.value else str(node.value)

    def timestamp(self, node: ScalarNode) -> str:
        # ruamel's own knows few forms of zones, and fails in many ways on the others.
        return to_iso(str(node.value))

    def untagged(self, suffix: str, node: Any) -> object:
        del suffix
        if isinstance(node, MappingNode):
            return self.construct_mapping(node, deep=True)
        if isinstance(node, SequenceNode):
            return self.construct_sequence(node, deep=True)
        return str(node.value)


_Constructor.add_constructor("tag:yaml.org,2002:int", _Constructor.whole_number)
_Constructor.add_constructor("tag:yaml.org,2002:timestamp", _Constructor.timestamp)
_Constructor.add_multi_constructor("", _Constructor.untagged)


def split_front_matter(text: str) -> Split:
    """Split ``text`` into front matter, the text behind it, and the problem of the front matter (``""`` for none).

    A block at the very beginning, blank lines aside, is front matter: YAML between ``---`` lines, TOML between ``+++``
    lines, or a JSON object with nothing behind it on its last line. A block that is no mapping with a name in it (a
    paragraph between two rulers) is text. The readable entries of YAML with errors are kept; TOML with errors is left
    out.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    beginning = text[: MAX_BLOCK_CHARS + 1]
    if match := _YAML.match(beginning):
        return _yaml(match[1], text, match.end())
    if match := _TOML.match(beginning):
        try:
            return tomllib.loads("\n" + match[1]), text[match.end() :], ""  # the fence's line counts in its messages
        except Exception as exc:  # noqa: BLE001 - deep nesting is a RecursionError
            problem = f"front matter is not valid TOML and was left out: {exc}".partition("\n")[0]
            return {}, text[match.end() :], problem
    if match := _JSON.match(beginning):
        return _json(text, match.end())
    if match := _UNCLOSED.match(beginning):
        return {}, text, f"front matter has no closing {match[1][:3]!r}: read as text"
    return {}, text, ""


def _yaml(block: str, text: str, end: int) -> Split:
    try:
        found, repeated = load_yaml(block)
    except ValueError as exc:
        parts = load_yaml_entries(block)
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


def _json(text: str, start: int) -> Split:
    try:
        found, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError) as exc:
        return {}, text, f"begins with what is no valid JSON front matter: read as text: {exc}"
    line_end = _LINE_END.match(text, end)
    return (found, text[line_end.end() :], "") if line_end else ({}, text, "")
