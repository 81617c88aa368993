"""YAML that strangers wrote: the configurations of sites, and blocks in pages."""

from __future__ import annotations

from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.constructor import BaseConstructor, SafeConstructor
from ruamel.yaml.nodes import ScalarNode

MAX_DEPTH = 50


def load(text: str) -> object:
    """Read one YAML document: lists, mappings, ``True``, ``False``, ``None``; every other value is its text as written.

    Of equal keys the first counts. Tags (``!!python/object:...``, ``!ENV``) are ignored. ``<<`` is a key like any
    other, so that merges expand to nothing.

    Raises:
        ValueError: ``text`` is not such YAML; the message is one line.
    """
    yaml = YAML(typ="safe", pure=True)
    yaml.Constructor = _Constructor
    yaml.allow_duplicate_keys = True
    yaml.max_depth = MAX_DEPTH
    try:
        return yaml.load(text.replace("\t", "    "))  # ruamel refuses them even behind a colon or a value
    except Exception as exc:  # a character that YAML forbids; what is no bool after "!!bool" is a KeyError
        raise ValueError(f"{exc}".partition("\n")[0]) from exc


class _Constructor(BaseConstructor):
    def truth(self, node: ScalarNode) -> Any:
        return SafeConstructor.bool_values[self.construct_scalar(node).lower()]

    def nothing(self, node: ScalarNode) -> None:
        del node


_Constructor.add_constructor("tag:yaml.org,2002:bool", _Constructor.truth)
_Constructor.add_constructor("tag:yaml.org,2002:null", _Constructor.nothing)
