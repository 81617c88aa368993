"""Nuxt's MDC within a block: YAML between ``---`` lines, and ``#slot`` lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from documents import yaml
from documents.markup.code import Hidden
from documents.markup.props import shown

_YAML = re.compile(r"\A\s*---[ \t]*\n(?P<yaml>.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_SLOT = re.compile(r"^#[a-z][\w-]*(?:\{[^}\n]*\})?[ \t]*$", re.MULTILINE)  # 27 lines in docs_nuxt_content
_MAX_YAML_CHARS = 20_000


def yaml_block(inner: str) -> tuple[str, str]:
    """What is in a block without the YAML at its beginning, and the words of that YAML that a reader sees."""
    match = _YAML.match(inner)
    if match is None:
        return inner, ""
    return inner[match.end() :], "\n\n".join(_words(match["yaml"]))


def slots_named(inner: str) -> str:
    """``inner`` without the lines that name a slot; what is in the slots stays."""
    if _SLOT.search(inner) is None:
        return inner
    hidden = Hidden()
    return hidden.back(_SLOT.sub("", hidden.hide(inner, mdx=True)))


def _words(source: str) -> Iterator[str]:
    if len(source) > _MAX_YAML_CHARS:
        return
    try:
        fields = yaml.load(source)
    except ValueError:
        return
    if isinstance(fields, Mapping):
        listed = [item for value in fields.values() if isinstance(value, list) for item in value]
        for part in (fields, *filter(lambda item: isinstance(item, Mapping), listed)):
            if words := shown({str(name).lower(): value for name, value in part.items() if isinstance(value, str)}):
                yield words
