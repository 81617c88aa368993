"""The YAML of front matter, by ruamel.yaml's safe loader: YAML 1.2, where ``NO`` and ``12:30`` are text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer, ComposerError
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.nodes import ScalarNode

MAX_DEPTH = 50


def load(text: str) -> object:
    """Read one YAML document: scalars, dates, lists and mappings; of equal keys the first counts.

    A whole number that is written otherwise than Python writes it (``0101``, ``1_000``) and a date that is not in the
    calendar stay text. Aliases are refused: a few lines of them expand to gigabytes.

    Raises:
        ValueError: ``text`` is not such YAML; the message is one line, with the line number (the first is 2).
    """
    yaml = YAML(typ="safe", pure=True)
    yaml.Composer, yaml.Constructor = _Composer, _Constructor
    yaml.allow_duplicate_keys = True
    yaml.max_depth = MAX_DEPTH
    try:
        return yaml.load(text)
    except MarkedYAMLError as exc:
        line = f" (line {exc.problem_mark.line + 2})" if exc.problem_mark else ""
        raise ValueError(f"{exc.problem}{line}") from exc
    except Exception as exc:  # a character that YAML forbids; what is no bool after "!!bool" is a KeyError
        raise ValueError(f"{exc}".partition("\n")[0]) from exc


class _Composer(Composer):
    def return_alias(self, a: Any) -> Any:
        raise ComposerError(problem="aliases are not supported", problem_mark=a.start_mark)


class _Constructor(SafeConstructor):
    def whole_number(self, node: ScalarNode) -> int | str:
        number = _or_text(self.construct_yaml_int, node)
        return number if str(number) == node.value else str(node.value)

    def timestamp(self, node: ScalarNode) -> object:
        return _or_text(self.construct_yaml_timestamp, node)


def _or_text(construct: Callable[[ScalarNode], Any], node: ScalarNode) -> Any:
    try:
        return construct(node)
    except ValueError:  # the 31st of April; a number of thousands of digits
        return str(node.value)


_Constructor.add_constructor("tag:yaml.org,2002:int", _Constructor.whole_number)
_Constructor.add_constructor("tag:yaml.org,2002:timestamp", _Constructor.timestamp)
