"""The YAML of front matter, by ruamel.yaml's safe loader: YAML 1.2, where ``NO`` and ``12:30`` are text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer, ComposerError
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

from knowledge.read.dates import iso

MAX_DEPTH = 50
MAX_ALIASES = 16
"""More are refused: merged into each other, a few lines of them expand to gigabytes. Pages of etcd's site have one."""

_TOP_LEVEL = re.compile(r"^(?=[\w.-]+[ ]*:(?:[ ]|$))", re.MULTILINE)
_ONE_LINE = re.compile(r"([\w.-]+)[ ]*:[ ]+([^\s\[{&*!|>#].*?)\s*")


def load(text: str, *, repeated: list[str] | None = None) -> object:
    """Read one YAML document: scalars, lists and mappings; of equal keys the first counts, to ``repeated`` they go.

    Dates are ISO text. A whole number that is written otherwise than Python writes it (``0101``, ``1_000``) and a date
    that is not in the calendar stay as they are written. What a tag names (``!!python/object:...``, ``!ENV``) is never
    made: the value is read as if the tag were not there.

    Raises:
        ValueError: ``text`` is not such YAML; the message is one line, with the line number (the first is 2).
    """
    yaml = YAML(typ="safe", pure=True)
    yaml.Composer, yaml.Constructor = _Composer, _Constructor
    yaml.allow_duplicate_keys = True
    yaml.max_depth = MAX_DEPTH
    try:
        found = yaml.load(text.replace("\t", "    "))  # ruamel refuses them even behind a colon or a value
        if repeated is not None:
            repeated += yaml.constructor.repeated
        return found
    except MarkedYAMLError as exc:
        line = f" (line {exc.problem_mark.line + 2})" if exc.problem_mark else ""
        raise ValueError(f"{exc.problem}{line}") from exc
    except Exception as exc:  # a character that YAML forbids; what is no bool after "!!bool" is a KeyError
        raise ValueError(f"{exc}".partition("\n")[0]) from exc


def load_parts(text: str) -> Mapping[str, object]:
    """What can be read of a ``text`` that is not YAML as a whole: its top-level entries, each for itself.

    A value on one line is its text (``title: Foo: bar``, ``by: @me``) where it is not YAML and does not begin as a
    list, a mapping or a block. Of 9,900 pages of 24 public sites 12 are not YAML; all have a title that this reads.
    """
    parts: dict[str, object] = {}
    for entry in _TOP_LEVEL.split(text.replace("\t", "    ")):
        try:
            found = load(entry)
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
        number = _or_text(self.construct_yaml_int, node)
        return number if str(number) == node.value else str(node.value)

    def timestamp(self, node: ScalarNode) -> str:
        # ruamel's own knows few forms of zones, and fails in many ways on the others.
        return iso(str(node.value))

    def untagged(self, suffix: str, node: Any) -> object:
        del suffix
        if isinstance(node, MappingNode):
            return self.construct_mapping(node, deep=True)
        if isinstance(node, SequenceNode):
            return self.construct_sequence(node, deep=True)
        return str(node.value)


def _or_text(construct: Callable[[ScalarNode], Any], node: ScalarNode) -> Any:
    try:
        return construct(node)
    except ValueError:  # a number of thousands of digits
        return str(node.value)


_Constructor.add_constructor("tag:yaml.org,2002:int", _Constructor.whole_number)
_Constructor.add_constructor("tag:yaml.org,2002:timestamp", _Constructor.timestamp)
_Constructor.add_multi_constructor("", _Constructor.untagged)
