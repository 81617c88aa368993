"""Sphinx's object descriptions (``.. py:data::``, ``.. option::``, ``.. confval::``) as sections with Sphinx's ids.

Each entry gets a section with its name as the heading, so that its text is found and has an address.
"""

from __future__ import annotations

import re
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
pytest and Sphinx with such entries 67 headings are missing without them, and 280 lines have no context."""

_SHOWS_NOTHING = frozenset({"alias", "module", "namespace", "namespace-pop", "namespace-push"})
_CODE_NAME = re.compile(r"-{1,2}\w|\w*[_.]\w|[\w.]+\(")  # the name of an entry of unknown kind
_PYTHON_NAME = re.compile(r"(?:\w+\s+)*?((?:\w+\.)*\w+)\s*(?:[(\[:=]|$)")
_C_NAME = re.compile(r"([\w.]+)\s*(?:[(\[:=]|$)")
_RST_NAME = re.compile(r"(?:\.\. |:)?(\S+?)(?=::? |::?$|$)")
_OPTION_NAME = re.compile(r"((?:/|--|-|\+)?[^\s=\[,]+)")
_NO_ID = re.compile(r"[^a-zA-Z0-9._]+")
_ID_ENDS = re.compile(r"^[-0-9._]+|-+$")


@dataclass(slots=True)
class EntryNames:
    """The module, program and classes that entries belong to at one place of a document; Sphinx's ``ref_context``."""

    domain: str = "py"
    module: str = ""
    program: str = ""
    classes: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)

    def note(self, directive: str, argument: str) -> None:
        """Note ``.. module::``, ``.. program::`` or ``.. default-domain::`` for the entries below it."""
        match directive.removeprefix("py:"):
            case "module" | "currentmodule" | "automodule":
                self.module = "" if argument == "None" else argument
            case "program":
                self.program = "" if argument == "None" else "-".join(argument.split())
            case "default-domain":
                self.domain = argument

    def anchor(self, domain: str, kind: str, signature: str, *, module: str | None = None) -> str:
        """Return the id that Sphinx gives an entry; ``""`` for no, a used, or an unknown id."""
        found = self._entry_id(domain, kind, signature, self.module if module is None else module)
        is_new = found not in self.used
        self.used.add(found)
        return found if is_new else ""

    def prefix(self, domain: str, kind: str, signature: str) -> str:
        """Return the prefix for the names of entries inside this one; ``""`` for none."""
        if domain == "rst" and (match := _RST_NAME.match(signature)):
            return match[1]
        return self.qualified(signature) if kind in ("class", "exception") else ""

    def qualified(self, signature: str) -> str:
        """Return the name in ``signature``, prefixed with its class."""
        name, around = _first_group(_PYTHON_NAME.match(signature)), self.classes[-1] if self.classes else ""
        return name if not around or not name or name.startswith(f"{around}.") else f"{around}.{name}"

    def _entry_id(self, domain: str, kind: str, signature: str, module: str) -> str:
        if kind in ("describe", "object") or domain == "cpp":  # whose ids are mangled names
            return ""
        if domain in ("py", "js"):
            name = self.qualified(signature)
            return _make_id("", f"{module}.{name}" if module and name else name)
        if domain == "c":
            return _make_id("c.", _first_group(_C_NAME.search(signature)))
        if domain == "rst":
            around = f"directive-option-{self.classes[-1]}" if kind == "option" and self.classes else kind
            return _make_id(f"{around}-", _first_group(_RST_NAME.match(signature)))
        if kind in ("option", "cmdoption", "django-admin-option"):
            name = _first_group(_OPTION_NAME.match(signature))
            kinds = ("cmdoption", self.program, "" if name[:1] in "-/" else "arg")
            return _make_id(f"{'-'.join(filter(None, kinds))}-", name)
        return _make_id(f"{kind}-", re.split(r"[\s(]", signature)[0] if kind in _PROJECTS else signature)


def _first_group(match: re.Match[str] | None) -> str:
    return match[1] if match else ""


def _make_id(prefix: str, name: str) -> str:
    """Return Sphinx's ``make_id``, which unlike docutils' keeps capitals, dots and underscores."""
    made = _ID_ENDS.sub("", _NO_ID.sub("-", " ".join(f"{prefix}{name}".split())))
    return "" if made == prefix.rstrip("-.") else made


def entry_kind(directive: str, argument: str, names: EntryNames) -> tuple[str, str] | None:
    """Return the domain and the kind of the entry that ``directive`` describes; None if it describes none."""
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


def entry_section(signatures: list[str], anchor: str, *, adopts: bool) -> nodes.section:
    """Return an entry's section; ``adopts``: an empty one takes the text that follows it."""
    heading, first = ", ".join(signatures), signatures[0]
    is_long = len(heading) > MAX_HEADING_CHARS
    short = first if len(first) <= MAX_HEADING_CHARS else re.split(r"[(\[=]|: ", first)[0].strip()
    shown = short[:MAX_HEADING_CHARS] if is_long else heading
    section = nodes.section("", nodes.title("", "", nodes.literal("", shown)), ids=[anchor] if anchor else [])
    section["entry"], section["adopts"] = True, adopts
    section["names_shown"] = [nodes.paragraph("", "", nodes.literal("", line)) for line in signatures]
    if is_long:
        section += [node.deepcopy() for node in section["names_shown"]]
    return section


def place_entries(tree: nodes.document) -> None:
    """Move every entry to a place where its heading fits the text below it and the text after it."""
    for section in _entries(tree):
        above = section.parent
        while isinstance(above, nodes.section):
            above = above.parent
        if not isinstance(above, nodes.document):  # lists, tables and notes cannot hold a heading
            term = nodes.term("", "", *section[0].children)
            item = nodes.definition_list_item("", term, nodes.definition("", *section.children[1:]))
            section.parent.replace(section, nodes.definition_list("", item))
        elif len(section) == 1:
            _fill_entry(section)
    for section in _entries(tree):
        _end_entry(section)


def _entries(tree: nodes.document) -> list[nodes.section]:
    return [section for section in tree.findall(nodes.section) if section.get("entry")]


def _fill_entry(section: nodes.section) -> None:
    """Give an empty entry the text behind it, as in Django, or the next heading, as in Celery, else keep its names."""
    beyond = section.findall(include_self=False, descend=False, siblings=True, ascend=True)
    following = next((node for node in beyond if not isinstance(node, nodes.Invisible)), None)
    if isinstance(following, nodes.section) and not following.get("entry"):
        section.parent.remove(section)
        if section[0].astext().casefold() not in following[0].astext().casefold():
            following[1:1] = section["names_shown"]
    elif (
        following is None
        or following.parent is not section.parent
        or not section["adopts"]
        or isinstance(following, nodes.section)
    ):
        section.parent.replace(section, section["names_shown"])
    else:
        section.extend(_take_following(section))


def _end_entry(section: nodes.section) -> None:
    """Put text behind an entry under a repeated heading of the section around it, which it belongs to."""
    parent, prose = section.parent, _take_following(section)
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


def _take_following(section: nodes.section) -> list[nodes.Node]:
    """Remove and return the nodes between ``section`` and the next one; none if none is visible."""
    parent = section.parent
    first = parent.index(section) + 1
    last = next((n for n in range(first, len(parent)) if isinstance(parent[n], nodes.section)), len(parent))
    if all(isinstance(node, nodes.Invisible) for node in parent.children[first:last]):
        return []
    return _cut(parent, first, last)


def _cut(parent: nodes.Element, first: int, last: int | None = None) -> list[nodes.Node]:
    taken = parent.children[first:last]
    del parent[first:last]
    return taken
