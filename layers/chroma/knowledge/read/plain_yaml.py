"""YAML as people write it in front matter: PyYAML's safe loader with YAML 1.2's idea of what is a number."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable

import yaml


def load(text: str) -> object:
    """Read one YAML document: scalars, dates, lists and mappings.

    ``NO``, ``12:30``, ``0101`` and ``1_000`` are text here (YAML 1.1: False, 750, 65, 1000). Aliases are refused: a
    few lines of them expand to gigabytes, and front matter has no use for them.

    Raises:
        ValueError: ``text`` is not such YAML; the message is one line, with the line number (the first is 2).
    """
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 (a SafeLoader)
    except yaml.MarkedYAMLError as exc:
        line = f" (line {exc.problem_mark.line + 2})" if exc.problem_mark else ""
        raise ValueError(f"{exc.problem}{line}") from exc
    except yaml.YAMLError as exc:
        raise ValueError(str(exc).partition("\n")[0]) from exc
    except RecursionError as exc:
        raise ValueError("is nested too deeply") from exc


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 (PyYAML's interface)

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.composer.ComposerError(problem="aliases are not supported")
        return super().compose_node(parent, index)


def _or_text(construct: Callable[[yaml.SafeLoader, yaml.ScalarNode], Hashable]) -> Callable[..., Hashable]:
    """Have the 31st of April, and numbers with thousands of digits, stay the text that they are."""

    def constructed(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> Hashable:
        try:
            return construct(loader, node)
        except ValueError:
            return str(node.value)

    return constructed


_DAY = r"\d{4}-\d\d-\d\d"
_TIME = r"\d{4}-\d\d?-\d\d?(?:[Tt]|[ \t]+)\d\d?:\d\d:\d\d(?:\.\d*)?(?:[ \t]*(?:Z|[-+]\d\d?(?::?\d\d)?))?"
_NUMBER = r"[-+]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"

for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ("~", "n", "N", "")),
    ("int", r"[-+]?(?:0|[1-9]\d*)", "-+0123456789"),
    ("float", rf"{_NUMBER}|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", "-+.0123456789"),
    ("timestamp", f"{_DAY}|{_TIME}", "0123456789"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?a:(?:{_pattern})\Z)"), list(_first))
_Loader.add_constructor("tag:yaml.org,2002:int", _or_text(yaml.SafeLoader.construct_yaml_int))
_Loader.add_constructor("tag:yaml.org,2002:timestamp", _or_text(yaml.SafeLoader.construct_yaml_timestamp))
