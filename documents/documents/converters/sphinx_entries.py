"""Sphinx's object descriptions (``.. py:data::``, ``.. option::``, ``.. confval::``) as sections with Sphinx's ids.

A section is what makes a heading of the name, so that what is said of an entry is below it and has an address.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from docutils import nodes

from documents.entries import MAX_HEADING_CHARS

_NAMED = r"function data exception class attribute method classmethod staticmethod decorator decoratormethod property"
_PYTHON = frozenset(f"{_NAMED} type".split())
_STANDARD = frozenset({"cmdoption", "confval", "describe", "envvar", "object", "option"})
_PROJECTS = frozenset({
    "control", "django-admin", "django-admin-option", "event", "fieldlookup", "fixture", "globalvar", "setting",
    "state", "templatefilter", "templatetag",
})  # fmt: skip
"""Kinds that projects add in their ``conf.py``, and whose names may be plain words. On the 32 pages of Celery, Django,
pytest and Sphinx with such entries 67 headings are missing without them, and 280 lines stand where they say nothing."""

_SHOWS_NOTHING = frozenset({"alias", "module", "namespace", "namespace-pop", "namespace-push"})
_CODE_NAME = re.compile(r"-{1,2}\w|\w*[_.]\w|[\w.]+\(")  # the name of an entry whose kind nobody knows
_PYTHON_NAME = re.compile(r"(?:\w+\s+)*?((?:\w+\.)*\w+)\s*(?:[(\[:=]|$)")
_C_NAME = re.compile(r"([\w.]+)\s*(?:[(\[:=]|$)")
_RST_NAME = re.compile(r"(?:\.\. |:)?(\S+?)(?=::? |::?$|$)")
_OPTION_NAME = re.compile(r"((?:/|--|-|\+)?[^\s=\[,]+)")
_NO_ID = re.compile(r"[^a-zA-Z0-9._]+")
_ID_ENDS = re.compile(r"^[-0-9._]+|-+$")


@dataclass(slots=True)
class Names:
    """What the names in a document belong to at one place of it; Sphinx's ``ref_context``."""

    domain: str = "py"
    module: str = ""
    program: str = ""
    classes: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)

    def take(self, directive: str, argument: str) -> None:
        """What ``.. module::``, ``.. program::`` and ``.. default-domain::`` say of the entries below them."""
        match directive.removeprefix("py:"):
            case "module" | "currentmodule" | "automodule":
                self.module = "" if argument == "None" else argument
            case "program":
                self.program = "" if argument == "None" else "-".join(argument.split())
            case "django-admin":
                self.program = argument.split(" ", maxsplit=1)[0]
            case "default-domain":
                self.domain = argument

    def anchor(self, domain: str, kind: str, signature: str, *, module: str | None = None) -> str:
        """The id that Sphinx gives an entry; ``""`` where it has none, another entry has it, or nobody knows."""
        found = self._id(domain, kind, signature, self.module if module is None else module)
        if found in self.used:
            return ""
        self.used.add(found)
        return found

    def around(self, domain: str, kind: str, signature: str) -> str:
        """What the names of entries in this one begin with; ``""``: nothing of it."""
        if domain == "rst" and (match := _RST_NAME.match(signature)):
            return match[1]
        return self.qualified(signature) if kind in ("class", "exception") else ""

    def qualified(self, signature: str) -> str:
        """The name of ``signature`` with those of the classes around it."""
        name, around = _first(_PYTHON_NAME.match(signature)), self.classes[-1] if self.classes else ""
        return name if not around or not name or name.startswith(f"{around}.") else f"{around}.{name}"

    def _id(self, domain: str, kind: str, signature: str, module: str) -> str:
        if kind in ("describe", "object") or domain == "cpp":  # whose ids are mangled names
            return ""
        if domain in ("py", "js"):
            name = self.qualified(signature)
            return _id("", f"{module}.{name}" if module and name else name)
        if domain == "c":
            name = _first(_C_NAME.search(signature))
            return _id("", f"c.{name}") if name else ""
        if domain == "rst":
            around = f"directive-option-{self.classes[-1]}" if kind == "option" and self.classes else kind
            return _id(around, _first(_RST_NAME.match(signature)))
        if kind in ("option", "cmdoption", "django-admin-option"):
            name = _first(_OPTION_NAME.match(signature))
            kinds = ("cmdoption", self.program, "" if name[:1] in "-/" else "arg")
            return _id("-".join(filter(None, kinds)), name)
        return _id(kind, re.split(r"[\s(]", signature)[0] if kind in _PROJECTS else signature)


def _first(match: re.Match[str] | None) -> str:
    return match[1] if match else ""


def _id(prefix: str, name: str) -> str:
    """Sphinx's ``make_id``: unlike docutils it keeps capitals, dots and underscores."""
    text = f"{prefix}-{name}" if prefix else name
    made = _ID_ENDS.sub("", _NO_ID.sub("-", " ".join(text.split())))
    return "" if made == prefix else made


def kind_of(directive: str, argument: str, names: Names) -> tuple[str, str] | None:
    """The domain and the kind of the entry that ``directive`` describes; None when it describes none."""
    domain, _, kind = directive.rpartition(":")
    kind = kind.removeprefix("auto") if not domain and kind != "auto" else kind
    if kind in _SHOWS_NOTHING or not argument:
        return None
    if domain:
        return domain.split(":")[0], kind
    if kind in _STANDARD or kind in _PROJECTS:
        return "std", kind
    if kind in _PYTHON:
        return ("py" if directive.startswith("auto") else names.domain), kind
    return ("std", directive) if _CODE_NAME.match(argument) and not directive.startswith("auto") else None


def signatures(argument: str) -> list[str]:
    """The lines of a directive's argument; a backslash at a line's end takes in the next one."""
    joined = re.sub(r"\\\n\s*", " ", argument)
    return [re.sub(r"\\(.)", r"\1", line).strip() for line in joined.splitlines() if line.strip()]


def entry(said: list[str], anchor: str, *, adopts: bool) -> nodes.section:
    """A section for an entry with these signatures; ``adopts``: text behind it is about it, if it has none itself."""
    heading = ", ".join(said)
    long = len(heading) > MAX_HEADING_CHARS
    short = said[0] if len(said[0]) <= MAX_HEADING_CHARS else re.split(r"[(\[=]|: ", said[0])[0].strip()
    shown = short[:MAX_HEADING_CHARS] if long else heading
    section = nodes.section("", nodes.title("", "", nodes.literal("", shown)), ids=[anchor] if anchor else [])
    section["entry"], section["adopts"], section["said"] = True, adopts, said
    if long:
        section += _lines(said)
    return section


def _lines(said: list[str]) -> list[nodes.Node]:
    return [nodes.paragraph("", "", nodes.literal("", line)) for line in said]


def settle(tree: nodes.document) -> None:
    """Put every entry where its heading says the right thing of what is below it, and of what follows it."""
    for section in list(_entries(tree)):
        if not _below_headings(section):
            _as_definition(section)
        elif len(section) == 1:
            _without_text(section)
    for section in list(_entries(tree)):
        _end(section)


def _entries(tree: nodes.document) -> Iterator[nodes.section]:
    return (section for section in tree.findall(nodes.section) if section.get("entry"))


def _below_headings(section: nodes.section) -> bool:
    above = section.parent
    while isinstance(above, nodes.section):
        above = above.parent
    return isinstance(above, nodes.document)


def _as_definition(section: nodes.section) -> None:
    """In a list, a table or a note there is no place for a heading."""
    term = nodes.term("", "", *section[0].children)
    item = nodes.definition_list_item("", term, nodes.definition("", *section.children[1:]))
    section.parent.replace(section, nodes.definition_list("", item))


def _without_text(section: nodes.section) -> None:
    """Django writes the text behind its entry, Celery a heading; others are names and nothing else."""
    beyond = section.findall(include_self=False, descend=False, siblings=True, ascend=True)
    following = next((node for node in beyond if not isinstance(node, nodes.Invisible)), None)
    if isinstance(following, nodes.section) and not following.get("entry"):
        section.parent.remove(section)
        if section[0].astext().casefold() not in following[0].astext().casefold():
            following[1:1] = _lines(section["said"])
    elif following is None or following.parent is not section.parent or not section["adopts"] or _is_section(following):
        section.parent.replace(section, _lines(section["said"]))
    else:
        section.extend(_taken_from(section))


def _end(section: nodes.section) -> None:
    """Text behind an entry belongs to the section around it: that one's heading stands above it once more."""
    parent, prose = section.parent, _taken_from(section)
    if not prose:
        return
    place = parent.index(section) + 1
    if not isinstance(parent, nodes.section):
        parent[place:place] = prose
        return
    again = nodes.section("", parent[0].deepcopy(), *prose, ids=parent["ids"])
    if isinstance(parent.parent, nodes.document):  # else a second title
        parent.insert(place, again)
        return
    again.extend(_cut(parent, place))
    parent.parent.insert(parent.parent.index(parent) + 1, again)


def _taken_from(section: nodes.section) -> list[nodes.Node]:
    """The nodes between ``section`` and the next one, which are taken out; none when nothing in them is seen."""
    parent = section.parent
    first = parent.index(section) + 1
    last = next((n for n in range(first, len(parent)) if _is_section(parent[n])), len(parent))
    if all(isinstance(node, nodes.Invisible) for node in parent.children[first:last]):
        return []
    return _cut(parent, first, last)


def _cut(parent: nodes.Element, first: int, last: int | None = None) -> list[nodes.Node]:
    taken = parent.children[first:last]
    del parent[first:last]
    return taken


def _is_section(node: nodes.Node) -> bool:
    return isinstance(node, nodes.section)
