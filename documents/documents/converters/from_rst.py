"""reStructuredText and MyST, Sphinx's Markdown, to Markdown: docutils makes HTML, and that becomes Markdown.

Only files in the given folder are read, no raw HTML of a reStructuredText page is taken over, and no template is run:
of MyST's substitutions only plain values are put in. The words of directives and roles that docutils does not know,
above all Sphinx's, are kept: Sphinx itself would have to run the project's ``conf.py`` to know them all. In 248 files
of nine public projects 531 of 995 directives are unknown to docutils, and 1,880 of 1,896 roles.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from bs4 import BeautifulSoup
from docutils import nodes
from docutils.core import publish_doctree, publish_from_doctree
from docutils.parsers.rst import Directive, directives, roles
from docutils.statemachine import StateMachine, StringList

from documents.converters import sphinx_entries
from documents.converters.from_html import markdown, parse
from documents.converters.output import compose
from documents.converters.sphinx_folder import Folder, select_lines
from documents.errors import Unconvertible
from documents.markup.code import HiddenCode
from documents.markup.context import PageContext
from documents.markup.tags import REMOVED, tidy
from documents.values import Converted, Decode

MAX_BYTES = 5 * 1024 * 1024
"""docutils reads some 50 KB in a second."""

_SETTINGS = {
    "doctitle_xform": False,  # all titles stay headings
    "auto_id_prefix": "id",  # as Sphinx
    "docinfo_xform": False,
    "embed_stylesheet": False,
    "file_insertion_enabled": False,
    "halt_level": 5,
    "id_prefix": "",
    "initial_header_level": 1,
    "line_length_limit": MAX_BYTES,
    "math_output": "LaTeX",
    "raw_enabled": False,
    "report_level": 3,
    "smart_quotes": False,
    "stylesheet_path": "",
    "syntax_highlight": "none",
    "toc_backlinks": False,
    "warning_stream": False,
    "_disable_config": True,
}
_OPTION = re.compile(r"^[ \t]*(?::[\w-]+:|\.\.\s).*", re.MULTILINE)
_NOT_READ = "a.footnote-reference, a.citation-reference, span.backrefs, nav.contents, .fn-bracket, .system-message"

_SILENT = frozenset({
    "autoapi-inheritance-diagram", "autosummary", "autoapisummary", "codeauthor", "contents", "cssclass",
    "currentmodule", "default-domain", "highlight", "index", "module", "program", "py:currentmodule", "py:module",
    "raw", "rst-class",
    "sectionauthor", "tabularcolumns", "testcleanup", "testsetup",
})  # fmt: skip
"""Directives that show nothing on a page, or only a program's text."""

_OTHER_FILES = frozenset({"include", "literalinclude", "toctree"})

_LITERAL = frozenset({
    "code", "code-block", "digraph", "doctest", "graph", "graphviz", "ipython", "jupyter-execute", "mermaid", "plot",
    "productionlist", "prompt", "sourcecode", "testcode", "testoutput",
})  # fmt: skip
_BARE = frozenset({
    "container", "glossary", "grid", "grid-item", "hlist", "ifconfig", "only", "tab-set", "tab-set-code", "tabs",
})  # fmt: skip
"""Their argument is an option, not a text."""

_CHANGES = {
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
    "versionremoved": "Removed in version",
}
_LABELS = {"seealso": "See also", "todo": "To do"}
_SHOWN = _BARE | _CHANGES.keys() | _LABELS.keys()
"""Their argument may look like the name of an entry: "2.0"."""

_TARGETED = re.compile(r"(.+?)\s*<([^<>]+)>", re.DOTALL)
_WITHIN = "\n"
"""The separator between the names of nested included files."""

_FENCE = "`" * 12

_PATTERN = re.compile(r"[*?\[]")
_WORDS = frozenset({
    "abbr", "any", "dfn", "doc", "download", "guilabel", "issue", "kbd", "menuselection", "numref", "pep", "pr",
    "ref", "rfc", "term", "user",
})  # fmt: skip
"""Roles whose text is words; that of the others is a name in code."""

# All but "substitution", which runs templates, and those that change the text (smartquotes, linkify).
_EXTENSIONS = (
    "amsmath", "attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath", "fieldlist", "html_admonition",
    "html_image", "strikethrough", "tasklist",
)  # fmt: skip


def convert(data: bytes, decode: Decode, context: PageContext | None = None) -> Converted:
    """Return the text as Markdown with its sections' ids. Without ``context`` no other file is read.

    Raises:
        Unconvertible: the file is too large.
        NoText: it holds no text.
        ValueError: it is not text.
    """
    if len(data) > MAX_BYTES:
        raise Unconvertible(f"has {len(data) >> 20} MiB; at most {MAX_BYTES >> 20} are read: split it")
    text, caveat = decode(data)
    with _accept_unknown_names():
        tree = publish_doctree(text, settings_overrides=_settings(context))
    return Converted(compose(_write_markdown(tree)), (caveat,) if caveat else ())


def _settings(context: PageContext | None) -> dict[str, Any]:
    """Return docutils' settings for one page, which may name the files in its ``context``."""
    own = {"sphinx_names": sphinx_entries.EntryNames(), "sphinx_folder": Folder(context), "sphinx_within": []}
    return _SETTINGS | own | {"warning_stream": io.StringIO()}


def _write_markdown(tree: nodes.document) -> str:
    """Return ``tree`` as Markdown with the ids of its sections. ``tree`` is changed."""
    _tidy(tree)
    html = publish_from_doctree(tree, writer="html5", settings_overrides=_SETTINGS).decode()
    page = BeautifulSoup(html, "html.parser")
    body = page.main or page.body or parse("")
    for mark in body.select(_NOT_READ):
        mark.extract()
    for literal in body.select("span.literal, tt.literal"):
        literal.name = "code"
    return markdown(body, anchors=True)


def _tidy(tree: nodes.document) -> None:
    """Remove docutils' messages and parts that only serve Sphinx, but keep source that could not be read."""
    for message in list(tree.findall(nodes.system_message)):
        source = _OPTION.sub("", "\n".join(block.astext() for block in message.findall(nodes.literal_block)))
        message.parent.replace(
            message, [nodes.paragraph("", line.strip()) for line in source.splitlines() if line.strip()]
        )
    for image in tree.findall(nodes.image):
        image["alt"] = image.get("alt", "")  # else it is the address
    # Sphinx shows no fields at the very beginning: ":orphan:", ":tocdepth: 2".
    leading = [node for node in tree.children[:1] if isinstance(node, nodes.field_list)]
    for node in [*tree.findall(nodes.comment), *tree.findall(nodes.substitution_definition), *leading]:
        node.parent.remove(node)
    sphinx_entries.place_entries(tree)
    for admonition in list(tree.findall(nodes.Element)):
        # nodes.admonition itself has a title
        if isinstance(admonition, nodes.Admonition) and not isinstance(admonition, nodes.admonition):
            label = nodes.paragraph("", f"{admonition.tagname.capitalize()}:")
            admonition.parent.replace(admonition, nodes.container("", label, *admonition.children))
    for section in tree.findall(nodes.section):
        heading = section.next_node(nodes.title)
        title = nodes.make_id(heading.astext()) if heading else ""
        section["ids"].sort(key=lambda found, title=title: found != title)  # Sphinx has the title's first


class _AnyOptions(dict[str, Callable[[str], str]]):
    """Options of any name, none of which is shown."""

    def __missing__(self, _: str) -> Callable[[str], str]:
        return lambda value: value or ""

    def __bool__(self) -> bool:
        return True


class _UnknownDirective(Directive):
    """A directive that docutils does not know: its argument becomes a paragraph, its content text."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar[Any] = _AnyOptions()

    def run(self) -> list[nodes.Node]:
        name = self.name.casefold()
        argument = self.arguments[0].strip() if self.arguments else ""
        names: sphinx_entries.EntryNames = self.state.document.settings.sphinx_names
        names.note(name, argument)
        if name in _SILENT:
            return []
        if name in _OTHER_FILES:
            return self._of_files(name, argument)
        if name in _LITERAL:
            text, caption = "\n".join(self.content), self.options.get("caption", "")
            above = [nodes.paragraph(caption, caption)] if caption else []
            return [*above, nodes.literal_block(text, text)] if text else []
        if name not in _SHOWN and (kind := sphinx_entries.entry_kind(name, argument, names)):
            joined = re.sub(r"\\\n\s*", " ", argument)  # a backslash at a line's end joins the next one
            signatures = [re.sub(r"\\(.)", r"\1", line).strip() for line in joined.splitlines() if line.strip()]
            return [self._entry(*kind, signatures, names)]
        shown = [] if name in _BARE else self._argument(name, argument)
        if name.endswith("-example"):  # shows its source too: 127 of MyST's own
            shown.append(nodes.literal_block("", "\n".join(self.content)))
        box = nodes.container("", *shown)
        self.state.nested_parse(self.content, self.content_offset, box, match_titles=True)
        return box.children

    def _entry(self, domain: str, kind: str, signatures: list[str], names: sphinx_entries.EntryNames) -> nodes.section:
        hidden = self.options.keys() & {"no-index", "noindex"}
        anchor = "" if hidden else names.anchor(domain, kind, signatures[0], module=self.options.get("module"))
        section = sphinx_entries.entry_section(signatures, anchor, adopts=not self.name.startswith("auto"))
        facts = ((option, self.options.get(option, "").strip()) for option in ("type", "default", "value"))
        shown = [
            f"{option.capitalize()}: {value if domain == 'std' else f'``{value}``'}" for option, value in facts if value
        ]
        if shown:  # with the name, so that it can be quoted alone
            section += self._paragraph(", ".join([*(f"``{name}``" for name in signatures), *shown]))
        inner = names.prefix(domain, kind, signatures[0])
        names.classes += [inner] if inner else []
        self.state.nested_parse(self.content, self.content_offset, section)
        del names.classes[len(names.classes) - bool(inner) :]
        return section

    def _of_files(self, name: str, argument: str) -> list[nodes.Node]:
        folder: Folder = self.state.document.settings.sphinx_folder
        if name == "toctree":
            return [] if "hidden" in self.options else self._contents(folder, [*argument.split("\n"), *self.content])
        settings = self.state.document.settings
        within = [*(self.state_machine.get_source(self.lineno) or "").split(_WITHIN), *settings.sphinx_within]
        text = select_lines(folder.included(argument, within), self.options).strip("\n")
        if not text.strip():
            return []
        if folder.context:
            folder.context.included[-1:] = [text]
        if name == "literalinclude" or self.options.keys() & {"code", "literal"}:
            caption = [self._paragraph(self.options["caption"])] if self.options.get("caption") else []
            return [*caption, nodes.literal_block(text, text)]
        is_markdown = argument.endswith((".md", ".markdown"))
        if not isinstance(self.state_machine, StateMachine):
            if "parser" in self.options and not is_markdown:
                text = f"{_FENCE}{{eval-rst}}\n{text}\n{_FENCE}"
            box = nodes.container()
            settings.sphinx_within.append(argument)
            self.state.nested_parse(StringList(text.split("\n"), argument), 0, box, match_titles=True)
            settings.sphinx_within.pop()
            return box.children
        if is_markdown:
            inside = {**vars(settings), "sphinx_within": [*within, argument]}
            return _parse_myst(text, inside).children
        # As docutils does it: a title in it may end the section that the directive is in.
        self.state_machine.insert_input(text.split("\n"), _WITHIN.join([*within, argument]))
        return []

    def _contents(self, folder: Folder, entries: Sequence[str]) -> list[nodes.Node]:
        """Return a list of the titles of the documents that a tree of contents names."""
        listed = nodes.bullet_list()
        for entry in filter(None, (entry.strip() for entry in entries)):
            titled = _TARGETED.fullmatch(entry)
            pattern = "glob" in self.options and not titled and _PATTERN.search(entry)
            found = folder.matching(entry) if pattern else [titled[2] if titled else entry]
            titles = (titled[1] if titled else folder.title(name) for name in found)
            listed += [nodes.list_item("", nodes.paragraph(title, title)) for title in titles if title]
        caption = self.options.get("caption", "")
        return [*([self._paragraph(caption)] if caption and len(listed) else []), *([listed] if len(listed) else [])]

    def _argument(self, name: str, argument: str) -> list[nodes.Node]:
        if name in _CHANGES:
            version, *rest = argument.split(None, 1) or [""]
            ending = f": {rest[0]}" if rest else ":" if self.content else "."
            return [self._paragraph(f"{_CHANGES[name]} {version}{ending}")]
        if name in _LABELS:
            return [self._paragraph(f"{_LABELS[name]}: {argument}".strip())]
        if not argument:
            return []
        if name.startswith("auto"):
            return [nodes.paragraph("", "", nodes.literal("", argument))]
        return [self._paragraph(argument)]

    def _paragraph(self, text: str) -> nodes.paragraph:
        inline, _ = self.state.inline_text(text, self.lineno)
        return nodes.paragraph(text, "", *inline)


def _unknown_role(
    name: str, _raw: str, text: str, _line: int, inliner: Any, _options: Any = None, _content: Sequence[str] = ()
) -> tuple[list[nodes.Node], list[nodes.Node]]:
    """Return a reference's title, else its target: ``:ref:`Words <label>```, ``:class:`~package.Name```."""
    text = nodes.unescape(text)
    titled = _TARGETED.fullmatch(text)
    if titled:
        return [nodes.inline("", titled[1])], []
    if name.casefold() in ("pep", "rfc"):  # docutils' own know no title
        return [nodes.inline("", f"{name.upper()} {text}")], []
    folder: Folder = inliner.document.settings.sphinx_folder
    title = folder.title(text) if name.casefold() == "doc" else folder.label(text) if name.casefold() == "ref" else ""
    if title:
        return [nodes.inline("", title)], []
    short = text.rsplit(".", 1)[-1] if text.startswith("~") else text.removeprefix("!")
    words = name.casefold() in _WORDS
    return [nodes.inline("", short.strip("/")) if words else nodes.literal("", short)], []


@contextmanager
def _accept_unknown_names() -> Iterator[None]:
    """Make docutils accept every directive and role within this block, by replacing its look-up functions."""
    find_directive, find_role = directives.directive, roles.role

    def directive(name: str, language: Any, document: Any) -> Any:
        # Sphinx's, not docutils' own
        if name.casefold() in _SILENT | _OTHER_FILES | _LITERAL or ":" in name or name == "class":
            return _UnknownDirective, []
        found, messages = find_directive(name, language, document)
        return (found, messages) if found else (_UnknownDirective, [])

    def role(name: str, language: Any, lineno: int, reporter: Any) -> Any:
        if name.casefold() in ("pep", "rfc"):
            return _unknown_role, []
        found, messages = find_role(name, language, lineno, reporter)
        return (found, messages) if found else (_unknown_role, [])

    places: Any = directives, roles
    places[0].directive, places[1].role = directive, role
    try:
        yield
    finally:
        places[0].directive, places[1].role = find_directive, find_role


def _parse_myst(text: str, settings: Mapping[str, Any]) -> nodes.document:
    from myst_parser.parsers.docutils_ import Parser  # takes a third of a second

    own = {
        "myst_all_links_external": True,  # docutils takes out the words of a link that leads to no place on the page
        "myst_enable_extensions": _EXTENSIONS,
        "myst_suppress_warnings": ["myst"],
        "raw_enabled": True,  # HTML in Markdown, which becomes Markdown; the directive "raw" shows nothing
    }
    # With a line before it, text that looks like front matter cannot switch on "substitution".
    made = publish_doctree(f"\n{text}", parser=Parser(), settings_overrides={**settings, **own})
    folder: Folder = settings["sphinx_folder"]
    for link in made.findall(nodes.reference):
        target = str(link.get("refuri", ""))
        if not link.children or link.astext() == target:  # a link without words has the title of its target
            path, _, label = target.removeprefix("project:").partition("#")
            title = (folder.label(label) if label else "") or (folder.title(path) if path else "")
            if title or not link.children:
                link.children = [nodes.Text(title or label or path)]
    return made


MAX_SUBSTITUTION_DEPTH = 3
_SUBSTITUTION = re.compile(r"\{\{[ \t]*([\w-]+)[ \t]*\}\}")
_EXPRESSION = re.compile(r"(?<!\$)\{\{[^{}\n]*\}\}")
_ALERT = re.compile(r"^([ \t>]*>[ \t]*)\[!(\w+)\][ \t]*$", re.MULTILINE)


def read_myst(text: str, context: PageContext) -> str:
    """Return a MyST page (without front matter) as Markdown with the ids of its sections."""
    with _accept_unknown_names():
        made = _parse_myst(_fill_substitutions(text, context), _settings(context))
    return _write_markdown(made)


def _fill_substitutions(text: str, context: PageContext) -> str:
    """Return ``text`` with the plain substitutions of the page's front matter or ``conf.py``.

    On a page that uses one of them an expression, whose value only the site's build knows, leaves a gap.
    """
    myst = context.page.get("myst")
    values = myst.get("substitutions") if isinstance(myst, Mapping) else None
    found = {**context.site, **(values if isinstance(values, Mapping) else {})}

    def value(match: re.Match[str]) -> str:
        plain = found.get(match[1])
        return match[0] if isinstance(plain, bool) or not isinstance(plain, str | int | float) else str(plain)

    hidden = HiddenCode()
    shown = prose = _ALERT.sub(lambda match: f"{match[1]}**{match[2].capitalize()}**\n{match[1]}", hidden.hide(text))
    for _ in range(MAX_SUBSTITUTION_DEPTH):
        shown = _SUBSTITUTION.sub(value, shown)
    return hidden.restore(shown if shown == prose else tidy(_EXPRESSION.sub(REMOVED, shown)))
