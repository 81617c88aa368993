"""DOCX to Markdown: mammoth makes HTML of the styles' meaning, and that becomes Markdown.

mammoth gets the parts in a form that it reads: equations as LaTeX, text boxes and fields as the text that they show. It
drops the numbers of paragraphs. docx-parser-converter counts them for each list alone, without those that go on with
another.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any
from zipfile import ZipFile

import mammoth
from lxml import etree

from documents.converters.from_html import markdown, parse
from documents.converters.office import check_office, in_form, is_unseen_colour, parse_part, rewrite_parts, write_latex
from documents.converters.output import compose, hidden_caveat
from documents.values import Converted

MAX_XML_BYTES = 16 * 1024 * 1024
"""mammoth takes some 40 bytes of memory for each byte of XML; 16 MiB are more than a thousand pages."""

_STYLES = """
p[style-name='Title'] => h1:fresh
p[style-name='Subtitle'] => p:fresh
p[style-name^='toc '] => !
p[style-name^='TOC '] => !
"""
_NOTE_MARKS = "a[id^=footnote-ref], a[id^=endnote-ref], a[href^='#footnote-ref'], a[href^='#endnote-ref']"
_WRAPPERS = ("{*}fldSimple", "{*}dir", "{*}bdo", "{*}oMathPara")
"""Elements around text that mammoth drops with their content."""


def convert(data: bytes) -> Converted:
    """Return the document as Markdown, with its title from its properties, else from its first heading."""
    title = check_office(data, suffix=".docx", max_xml_bytes=MAX_XML_BYTES)
    prepared, hidden = _prepare_parts(data)
    html = mammoth.convert_to_html(
        io.BytesIO(prepared),
        style_map=_STYLES,
        include_embedded_style_map=False,  # it is the file's own
        convert_image=mammoth.images.img_element(lambda _: {}),  # the alternative text, the picture unread
        external_file_access=False,
    )
    fragment = parse(html.value)
    for mark in reversed(fragment.select(_NOTE_MARKS)):
        around, note = mark.find_parent(re.compile("^(?:p|li|h[1-6])$")), fragment.find("li", id=str(mark["href"])[1:])
        mark.extract()  # [1] would be read as a citation
        if around and note:  # so that a reader can tell what it belongs to
            note.name = "div"
            around.append(note) if around.name == "li" else around.insert_after(note)
    for box in fragment.select("input[type=checkbox]"):
        box.replace_with("[x] " if box.has_attr("checked") else "[ ] ")
    for picture in fragment.select("img[alt]"):
        if " " not in str(picture["alt"]).strip():  # a file's name
            picture.extract()
    return Converted(compose(markdown(fragment), title=title), hidden_caveat(hidden))


def _prepare_parts(data: bytes) -> tuple[bytes, list[str]]:
    """Return the Word file with its parts changed for mammoth, and the texts that no reader sees."""
    with ZipFile(io.BytesIO(data)) as archive:
        names = [name for name in archive.namelist() if name.endswith(".xml") and "glossary/" not in name]
        roots = {name: root for name in names if (root := parse_part(archive, name)) is not None}
    kinds = {str(root.tag).removeprefix(W): root for name, root in roots.items() if "WithEffects" not in name}
    styles = Styles(kinds.get("styles", etree.Element("none")))
    numbers = Numbers(kinds.get("numbering", etree.Element("none")), styles)
    hidden: list[str] = []
    changed: dict[str, bytes] = {}
    for name, root in roots.items():
        if root.tag in (f"{W}document", f"{W}footnotes", f"{W}endnotes"):
            hidden += styles.take_hidden(root)
            numbers.write(root)
            _prepare_part(root)
            changed[name] = etree.tostring(root, encoding="UTF-8", xml_declaration=True)
    return rewrite_parts(data, changed.get), hidden


def _prepare_part(root: Any) -> None:
    for equation in list(root.iter("{*}oMath")):
        beside = " " if equation.getnext() is not None and equation.getnext().tag == equation.tag else ""
        _replace(equation, [_run(write_latex(equation) + beside)])
    for ruby in list(root.iter("{*}ruby")):
        base, above = (list(ruby.iterfind(f"{{*}}{name}/*")) for name in ("rubyBase", "rt"))
        _replace(ruby, [*base, _run(" ("), *above, _run(")")])
    for around in list(root.iter(*_WRAPPERS)):
        _replace(around, list(around))
    # mammoth reads a text box in a w:pict, in the last of several alternatives. Most have one there for older programs.
    for box in list(root.iter("{*}txbxContent")):
        around = next(box.iterancestors("{*}pict", "{*}drawing", "{*}AlternateContent"), None)
        if around is None or around.tag == f"{W}pict":
            continue
        around = next(around.iterancestors("{*}AlternateContent"), around)
        if around.find("{*}Fallback//{*}txbxContent") is None:
            around.addprevious(etree.Element(f"{W}pict"))
            around.getprevious().append(box)


def _run(text: str) -> Any:
    run = etree.Element(f"{W}r")
    etree.SubElement(run, f"{W}t").text = text
    return run


def _replace(element: Any, others: list[Any]) -> None:
    parent = element.getparent()
    if parent is not None:
        place = parent.index(element)
        parent[place : place + 1] = others


W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_VAL = f"{W}val"
_COLOURS = {"white": "FFFFFF", "background1": "FFFFFF", "light1": "FFFFFF", "black": "000000", "auto": "000000"}
_BULLET = "*"


class Styles:
    """The styles of a Word file, by their ids."""

    def __init__(self, part: etree._Element) -> None:
        self._styles = {str(style.get(f"{W}styleId")): style for style in part.iter(f"{W}style")}
        self._defaults = part.find(f"{W}docDefaults/{W}rPrDefault/{W}rPr")
        self._properties: dict[tuple[str, str, str], Any] = {}

    def chain(self, style: str) -> Iterator[Any]:
        """Yield a style and those that it is based on."""
        for _ in range(20):
            element = self._styles.get(style)
            if element is None:
                return
            yield element
            style = _value(element, "basedOn")

    def is_heading(self, style: str) -> bool:
        """Return whether mammoth makes a heading of the style's paragraphs."""
        name = _value(self._styles.get(style), "name") or style
        return bool(re.fullmatch("heading ?[1-6]|title", name, re.IGNORECASE))

    def take_hidden(self, part: etree._Element) -> list[str]:
        """Take the texts that no reader sees out of a part, and return them."""
        texts = [text for run in part.iter(f"{W}r") for text in run.findall(f"{W}t") if self._is_hidden(run)]
        for text in texts:
            text.getparent().remove(text)
        return [text.text or "" for text in texts]

    def _is_hidden(self, run: Any) -> bool:
        vanish, size, color = (self._find(run, name) for name in ("vanish", "sz", "color"))
        if vanish is not None and vanish.get(_VAL, "1") not in ("0", "false", "off"):
            return True
        if size is not None and size.get(_VAL, "").isdecimal() and int(size.get(_VAL)) <= 2:  # half points
            return True
        if color is None or color.get(f"{W}themeShade"):
            return False
        theme, ink = color.get(f"{W}themeColor", ""), color.get(_VAL, "")
        ink = _COLOURS.get(theme, "") if theme else ink if re.fullmatch("[0-9A-Fa-f]{6}", ink) else ""
        return bool(ink) and is_unseen_colour(ink, self._ground(run))

    def _find(self, run: Any, name: str) -> Any:
        """Return a property of a run, from itself, its styles or the defaults."""
        own, paragraph = run.find(f"{W}rPr"), next(run.iterancestors(f"{W}p"), None)
        if own is not None and (found := own.find(f"{W}{name}")) is not None:
            return found
        key = (_value(own, "rStyle"), _value(paragraph, f"pPr/{W}pStyle"), name)
        if key not in self._properties:
            places = [style.find(f"{W}rPr") for names in key[:2] for style in self.chain(names)] + [self._defaults]
            found = (place.find(f"{W}{name}") for place in places if place is not None)
            self._properties[key] = next((element for element in found if element is not None), None)
        return self._properties[key]

    def _ground(self, run: Any) -> str:
        """Return the colour behind a run as six digits, ``""`` if it is not known."""
        highlight = self._find(run, "highlight")
        if highlight is not None and highlight.get(_VAL) != "none":
            return _COLOURS.get(highlight.get(_VAL, ""), "")
        shades = [self._find(run, "shd")]
        for around in run.iterancestors(f"{W}p", f"{W}tc", f"{W}tbl", f"{W}txbxContent"):
            if around.tag == f"{W}txbxContent":
                return ""
            shades += around.iterfind(f"{around.tag}Pr/{W}shd")
            styles = [*self.chain(_value(around, f"pPr/{W}pStyle")), *self.chain(_value(around, f"tblPr/{W}tblStyle"))]
            shades += (shade for style in styles for shade in style.iter(f"{W}shd"))
        shades += run.getroottree().iterfind(f"{W}background")
        for shade in shades:
            if shade is None or shade.get(_VAL) == "nil":
                continue
            if shade.get(_VAL) == "solid" or shade.tag == f"{W}background":
                colour = str(shade.get(f"{W}color", "auto"))
                return _COLOURS.get(colour, colour)
            if shade.get(_VAL, "clear") != "clear" or shade.get(f"{W}fill", "auto") != "auto":
                return str(shade.get(f"{W}fill"))
        return _COLOURS["white"]


class Numbers:
    """The automatic numbers of a Word file's paragraphs, counted in the order of the text."""

    def __init__(self, part: etree._Element, styles: Styles) -> None:
        self._styles = styles
        self._nums = {str(num.get(f"{W}numId")): num for num in part.iter(f"{W}num")}
        lists = {str(found.get(f"{W}abstractNumId")): found for found in part.iter(f"{W}abstractNum")}
        linked = {name: found for found in lists.values() if (name := _value(found, "styleLink"))}
        owns = {num: lists.get(_value(element, "abstractNumId")) for num, element in self._nums.items()}
        self._lists = {num: linked.get(_value(own, "numStyleLink"), own) for num, own in owns.items()}
        self._counts: dict[str, dict[int, int]] = {}
        self._begun: set[tuple[str, int]] = set()

    def write(self, document: etree._Element) -> None:
        """Write the numbers into the text, but for lists that Markdown numbers alike."""
        open_lists: list[list[Any]] = []  # level, whether it is numbered, items
        parent = None
        for paragraph in document.iter(f"{W}p"):
            if next(paragraph.iterancestors(f"{W}txbxContent"), None) is not None:
                continue
            has_text = any(text.text for text in paragraph.iter(f"{W}t"))
            found = self._next(paragraph)
            if paragraph.getparent() is not parent or (has_text and found is None):
                open_lists, parent = [], paragraph.getparent()
            if not has_text or found is None:
                continue
            num, level, count, shown = found
            is_heading = self._styles.is_heading(_value(paragraph, f"pPr/{W}pStyle"))
            if not is_heading and _is_item(open_lists, level, count, shown):
                _set_list(paragraph, num, len(open_lists) - 1)
            else:
                open_lists = []
                _set_list(paragraph, "0", 0)
                run = etree.Element(f"{W}r")
                etree.SubElement(run, f"{W}t").text = f"{shown} " if shown else ""
                paragraph.insert(1, run)

    def _next(self, paragraph: Any) -> tuple[str, int, int, str] | None:
        """Count a paragraph, and return its list, level, count and shown number; ``None`` if it is in no list."""
        num, level = self._place(paragraph)
        definition = self._lists.get(num)
        if definition is None:
            return None
        counts = self._counts.setdefault(str(definition.get(f"{W}abstractNumId")), {})
        levels, starts, anew = self._level_definitions(num, definition)
        if level in anew and (num, level) not in self._begun:
            counts.pop(level, None)
        self._begun.add((num, level))
        if level not in levels:
            return None
        counts[level] = counts.get(level, starts.get(level, 1) - 1) + 1
        for deeper in [index for index in counts if index > level]:
            restart = _value(levels.get(deeper), "lvlRestart")
            if not restart or level < _number(restart):
                del counts[deeper]
        if _value(levels[level], "numFmt") == "bullet":
            return num, level, counts[level], _BULLET
        is_legal = levels[level].find(f"{W}isLgl") is not None

        def place(found: re.Match[str]) -> str:
            index = int(found[1]) - 1
            form = "decimal" if is_legal else _value(levels.get(index), "numFmt")
            return in_form(counts.get(index, starts.get(index, 1)), form)

        text = _value(levels[level], "lvlText")[:100]
        return num, level, counts[level], re.sub("%([1-9])", place, text).strip()

    def _level_definitions(self, num: str, definition: Any) -> tuple[dict[int, Any], dict[int, int], set[int]]:
        """Return a list's levels, their first numbers, and the levels that do not go on with another list."""
        levels = {_number(found.get(f"{W}ilvl")): found for found in definition.iterfind(f"{W}lvl")}
        starts = {index: _number(_value(found, "start") or "1") for index, found in levels.items()}
        anew = {}
        for override in self._nums[num].iterfind(f"{W}lvlOverride"):
            index = _number(override.get(f"{W}ilvl"))
            levels.update((index, found) for found in override.iterfind(f"{W}lvl"))
            if start := _value(override, "startOverride"):
                anew[index] = _number(start)
        return levels, starts | anew, set(anew)

    def _place(self, paragraph: Any) -> tuple[str, int]:
        """Return a paragraph's list and level, from itself or its styles."""
        styles = list(self._styles.chain(_value(paragraph, f"pPr/{W}pStyle")))
        num, level = (
            next(filter(None, (_value(element, f"pPr/{W}numPr/{W}{name}") for element in (paragraph, *styles))), "")
            for name in ("numId", "ilvl")
        )
        definition = self._lists.get(num)
        if not level and definition is not None:
            names = [str(element.get(f"{W}styleId")) for element in styles]
            linked = (found for found in definition.iterfind(f"{W}lvl") if _value(found, "pStyle") in names)
            level = next((str(found.get(f"{W}ilvl")) for found in linked), "")
        return num, _number(level)


def _is_item(open_lists: list[list[Any]], level: int, count: int, shown: str) -> bool:
    """Return whether Markdown shows this number for the next item of the open lists, and count it there."""
    while len(open_lists) > 1 and open_lists[-1][0] > level:
        open_lists.pop()
    is_numbered = shown != _BULLET
    if not open_lists or open_lists[-1][0] < level:
        open_lists.append([level, is_numbered, 0])
    elif open_lists[-1][1] != is_numbered:
        open_lists[-1] = [level, is_numbered, 0]
    open_lists[-1][2] += 1
    return not is_numbered or (shown in (f"{count}.", f"{count})") and count == open_lists[-1][2])


def _set_list(paragraph: Any, num: str, level: int) -> None:
    properties = paragraph.find(f"{W}pPr")
    for old in properties.findall(f"{W}numPr"):
        properties.remove(old)
    place = etree.SubElement(properties, f"{W}numPr")
    etree.SubElement(place, f"{W}ilvl", {_VAL: str(level)})
    etree.SubElement(place, f"{W}numId", {_VAL: num})


def _number(text: Any) -> int:
    return int(text) if re.fullmatch(r"\d{1,6}", str(text)) else 0


def _value(element: Any, path: str) -> str:
    found = None if element is None else element.find(f"{W}{path}")
    return "" if found is None else str(found.get(_VAL, ""))
