"""Parameters of shortcodes, tags and components (``title="..."``), and which of them a reader sees."""

from __future__ import annotations

import re
from collections.abc import Mapping

_PARAMETER = re.compile(
    r"""(?:(?P<name>[:@\w.-]+)\s*=\s*)?(?P<value>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`|[^\s"'`=,}]+)"""
)
# Of 4,760 parameters in docs_hugo, docs_jekyll, docs_handbook, docs_rust_book, etcd's, Docsy's and Astro's pages these
# are 1,616 (``content``, of Jekyll's note includes, none); the others are addresses, looks and switches.
HEADS = ("title", "header", "label", "summary", "file-name")
TEXTS = ("caption", "alt", "text", "description", "subtitle", "content")
_WORD = re.compile(r"[^\W\d_]")


def parameters(source: str) -> tuple[dict[str, str], list[str]]:
    """The named parameters (names in lower case) and the others, without their quotation marks."""
    named: dict[str, str] = {}
    others: list[str] = []
    for match in _PARAMETER.finditer(source):
        value = unquoted(match["value"])
        if match["name"]:
            named[match["name"].lower().lstrip(":@")] = value
        else:
            others.append(value)
    return named, others


def unquoted(value: str) -> str:
    """``value`` without the quotation marks around it."""
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'`":
        return re.sub(r"\\([\"'`\\])", r"\1", value[1:-1])
    return value


def head(named: Mapping[str, str]) -> str:
    """The title that a reader sees, ``""`` for none."""
    return next((text for name in HEADS if (text := _said(named.get(name, "")))), "")


def body(named: Mapping[str, str]) -> str:
    """The other words that a reader sees, each once; ``""`` for none."""
    found = dict.fromkeys(text for name in TEXTS if (text := _said(named.get(name, ""))))
    found.pop(head(named), None)
    return "\n\n".join(found)


def shown(named: Mapping[str, str]) -> str:
    """All that a reader sees of the parameters, the title in bold; ``""`` for nothing."""
    title, text = head(named), body(named)
    return "\n\n".join(part for part in (f"**{title}**" if title else "", text) if part)


def _said(value: str) -> str:
    text = " ".join(value.split())
    if text in ("true", "false"):  # Docsy's tabs: text=true, in 19 of 683 chunks of OpenTelemetry's documentation
        return ""
    return text if _WORD.search(text) and not text.startswith(("http://", "https://", "data:")) else ""
