"""What Asciidoctor makes of a block's first attribute and of a heading: quotations with their source, ids."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_NO_ID = re.compile(r"<[^>]+>|&(?:[a-z]+\d{0,2}|#\d{2,5}|#x[\da-f]{2,4});|[^ \w\-.]+")
_MARKS = re.compile(r"[*`_^~#](?=\w)|(?<=\w)[*`_^~#]")
_GAPS = re.compile(r"[ .-]+")


def quotation(style: str) -> str | None:
    """Who is quoted, and where from, by ``[quote, who, where]``; None where the block is no quotation."""
    name, *said = (part.strip().strip("\"'") for part in style.split(","))
    if name.split(".")[0].split("#")[0] not in ("quote", "verse"):
        return None
    return ", ".join(part for part in said if part and "=" not in part)


def quote(parts: Sequence[str], source: str) -> str:
    """``parts`` as a quotation of Markdown, with its ``source`` below."""
    text = "\n\n".join([*parts, f"— {source}"] if source else parts)
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def section_id(title: str, attributes: Mapping[str, str], taken: set[str]) -> str:
    """The id of a section, as Asciidoctor makes it, and now among ``taken``; ``""`` where a document wants none."""
    if "sectids!" in attributes or "!sectids" in attributes:
        return ""
    prefix, gap = attributes.get("idprefix", "_"), attributes.get("idseparator", "_")[:1]
    plain = _NO_ID.sub("", _MARKS.sub("", title).lower())
    name = prefix + (_GAPS.sub(gap, plain).strip(gap) if gap else plain.replace(" ", ""))
    name = name.lstrip(gap) if gap and not prefix else name
    made, number = name, 2
    while made in taken:
        made, number = f"{name}{gap}{number}", number + 1
    taken.add(made)
    return made if re.fullmatch(r"[^\s{}]+", made) else ""
