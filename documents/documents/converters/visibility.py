"""The parts of an HTML page that no reader sees, by attributes, inline styles and the page's own style sheets.

Other style sheets are not fetched. With one, the background of a class or an id is unknown, and such text is seen.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

import soupsieve
from bs4 import Tag
from bs4.element import NavigableString, PageElement
from PIL import ImageColor

NORMAL_FONT_PX = 16.0
LEAST_FONT_PX = 2.0
LEAST_ALPHA = 0.05
LEAST_CONTRAST = 16  # of 255, in one of red, green and blue
OFF_SCREEN_PX = -999.0

type _Color = tuple[int, ...]
type _Style = Mapping[str, str]

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->", re.DOTALL)
_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})\s?")
_DECLARATION = re.compile(r"([\w-]+)\s*:\s*([^;]+)")
_PROPERTY = re.compile(
    r"display|visibility|content-visibility|opacity|zoom|scale|transform|translate|clip(?:-path)?|overflow(?:-[xy])?"
    r"|(?:max-)?(?:width|height)|position|top|left|right|bottom|inset|text-indent|margin(?:-left|-top)?|color"
    r"|font(?:-size)?|background(?:-color|-image|-clip)?|-webkit-(?:text-fill-color|background-clip)"
)
_EVERYWHERE = re.compile(r"@media\s*(?:\b(?:only|all|screen)\b[\s,]*)*|@(?:supports|layer)\b.*", re.DOTALL)
_STATE = re.compile(r":(?:checked|target|focus-within|hover|focus|active)\b|\[open\]")
_CLASS = re.compile(r"\.(?:[\w-]|\\.)+")
_CONDITION = re.compile(r"::?[\w-]+(?:\([^()]*\))?|\[[^\]]*\]")
_NAME = re.compile(r"[#.]?(?:[\w-]|\\.)+")
_COMMA = re.compile(r",(?![^()]*\))")
_LENGTH = re.compile(r"(-?\d*\.?\d+)(px|pt|r?em|ch|ex|in|cm|mm|vw|vh|%)?(?![\w.])")
_PX = {"": 1, "px": 1, "pt": 4 / 3, "rem": 16, "ch": 8, "ex": 8, "in": 96, "cm": 38, "mm": 4, "vw": 10, "vh": 10}
_COLOR = re.compile(r"(?:rgb|hsl)a?\([^()]*\)|[#\w]+")
_CONCEALING = re.compile(
    r"""
    display: none
    | visibility: (?: hidden | collapse )
    | content-visibility: hidden
    | (?: opacity | zoom | scale ): (?: 0? (?: \.0?[0-4]? )? | [0-4]% | 0?\.0\d+ )
    | clip: rect\( (?: \s* [01] (?:px)? [\s,]* ){4} \)
    | clip-path: (?: inset\( \s* (?: [5-9]\d | 100 ) % | circle\( \s* 0 ) .*
    | transform: .* scale (?: [xy]? | 3d ) \( \s* 0* \.? 0* \s* [,)] .*
    """,
    re.VERBOSE,
)
_UNSEEN_VALUES = ("hidden", "collapse")
_SHOWING = ("display", "visibility", "opacity", "height", "max-height", "transform", "left", "clip", "clip-path")
_PICTURES = ("img", "picture", "svg", "video", "canvas", "math")
_CONTROLS = "a, button, label, summary, input, [role=tab], [aria-controls], [onclick], [data-toggle], [data-bs-toggle]"
_OPENERS = "button, label, summary, [role=button], [role=tab], [aria-expanded], [onclick], a[href='#'], .expand-control"
_POINTER = re.compile(r"aria-controls|href|for|onclick|data-.*")


def find_unseen(page: Tag, *, is_styled_elsewhere: bool = False) -> list[PageElement]:
    """Return the parts of ``page`` that no reader sees; none if nothing else is there, as where a script shows it.

    A panel that a control opens is seen: the control or a script names its id, the control stands before it, or the
    page's style sheet shows it in another state.
    """
    is_styled_elsewhere = is_styled_elsewhere or page.select_one("link[rel~=stylesheet]") is not None
    parts, is_seen = _Visibility(page, is_styled_elsewhere=is_styled_elsewhere).divide(page, _Look())
    return parts if is_seen else []


@dataclass(frozen=True, slots=True)
class _Look:
    """What text inherits; a color is ``()`` if it is transparent, None if it is unknown."""

    is_visible: bool = True
    size: float = NORMAL_FONT_PX
    color: _Color | None = (0, 0, 0)
    background: _Color | None = (255, 255, 255)

    def shows_text(self) -> bool:
        if not self.is_visible or self.size < LEAST_FONT_PX or self.color == ():
            return False
        if self.color is None or self.background is None:
            return True
        contrast = max(abs(one - other) for one, other in zip(self.color, self.background, strict=True))
        return contrast >= LEAST_CONTRAST

    def inherit(self, tag: Tag, style: _Style, *, is_known: bool) -> _Look:
        """Return the look within ``tag``; ``is_known``: no other style sheet gives it a background."""
        visibility = style.get("visibility", "")
        stated = style.get("-webkit-text-fill-color") or style.get("color") or str(tag.get("color", ""))
        color = _color(stated, self.color)
        is_drawn = "text" in (style.get("-webkit-background-clip"), style.get("background-clip"))
        return _Look(
            is_visible=visibility == "visible" or (self.is_visible and visibility not in _UNSEEN_VALUES),
            size=_font_size(style, self.size),
            color=None if color == () and is_drawn else color,
            background=_background(tag, style, self.background, is_known=is_known),
        )


def _font_size(style: _Style, around: float) -> float:
    stated = style.get("font-size") or style.get("font", "").partition("/")[0]
    if stated.replace("-", "").isalpha():  # "medium", "x-small"
        return around if stated in ("inherit", "larger", "smaller", "unset") else NORMAL_FONT_PX
    return min(pixels(stated, {"em": around, "%": around / 100}), default=around)


def _background(tag: Tag, style: _Style, around: _Color | None, *, is_known: bool) -> _Color | None:
    stated = [style.get(name) for name in ("background", "background-image", "background-color")]
    paint = " ".join(filter(None, (*stated, str(tag.get("bgcolor", "")))))
    if "url(" in paint or "gradient(" in paint or tag.has_attr("background"):
        return None
    if paint:
        colors = (_color(word, None, least=0.5) for word in _COLOR.findall(paint))
        found = next((color for color in colors if color is not None), None)
        return around if found == () else found
    return around if is_known else None


class _Visibility:
    def __init__(self, page: Tag, *, is_styled_elsewhere: bool) -> None:
        self._styles, self._revealed = _sheet_styles(page)
        self._is_styled_elsewhere = is_styled_elsewhere
        self._has_tabs = page.find(role="tab") is not None
        self._controls: defaultdict[str, list[Tag]] = defaultdict(list)  # by the ids that they name
        for control in page.select(_CONTROLS):
            for name, value in control.attrs.items():
                if _POINTER.fullmatch(name) and (name != "href" or str(value).startswith("#")):
                    for word in re.findall(r"[\w.:-]+", str(value)):
                        self._controls[word].append(control)
        for script in page.select("script"):
            for word in re.findall(r"""["'`]#?([\w.:-]+)["'`]""", script.get_text()):
                self._controls[word].append(script)
        self._shown: dict[int, bool] = {}

    def divide(self, tag: Tag, look: _Look) -> tuple[list[PageElement], bool]:
        """Return the unseen parts within ``tag``, and whether any other part is seen."""
        parts: list[PageElement] = []
        is_seen = False
        for child in tag.contents:
            if isinstance(child, Tag) and child.name != "head":
                unseen, is_child_seen = self._divide_child(child, look)
                parts += unseen
                is_seen = is_seen or is_child_seen
            elif type(child) is NavigableString and child.strip():
                is_seen = is_seen or look.shows_text()
                parts += [] if look.shows_text() else [child]
        return parts, is_seen

    def _divide_child(self, tag: Tag, look: _Look) -> tuple[list[PageElement], bool]:
        style = self._style(tag)
        if self._can_be_open(tag, style):
            style = {name: value for name, value in style.items() if value not in _UNSEEN_VALUES}
        elif style.get("visibility", "visible") == "visible":
            return [tag], False  # else a part within may be visible
        is_known = not (self._is_styled_elsewhere and (tag.has_attr("class") or tag.has_attr("id")))
        if style or not is_known or tag.has_attr("bgcolor") or tag.has_attr("color"):
            look = look.inherit(tag, style, is_known=is_known)
        parts, is_seen = self.divide(tag, look)
        is_seen = is_seen or (tag.name in _PICTURES and look.is_visible)
        return (parts if is_seen or not parts else [tag]), is_seen

    def _style(self, tag: Tag) -> _Style:
        style = {**self._styles.get(id(tag), {}), **_declarations(str(tag.get("style") or ""))}
        return style | {name[:-1]: value for name, value in style.items() if name.endswith("!")}

    def _can_be_open(self, tag: Tag, style: _Style) -> bool:
        """Return whether ``tag`` is shown, or opened by a control, as far as it depends on itself."""
        if tag.name in ("html", "body") or not (_is_hidden(tag) or (style and _conceals(style))):
            return True
        if id(tag) in self._revealed or (tag.get("role") == "tabpanel" and self._has_tabs):
            return True
        return any(map(self._is_shown, self._openers(tag)))

    def _openers(self, tag: Tag) -> Iterator[Tag]:
        """Yield what opens ``tag``: a control with all words of the element before it, and what names its id."""
        if (before := tag.find_previous_sibling()) is not None:
            words = before.get_text(strip=True)
            for opener in soupsieve.filter(_OPENERS, (before, *before.select(_OPENERS))):
                if opener.get_text(strip=True) == words:
                    yield opener
        yield from (control for control in self._controls.get(str(tag.get("id")), ()) if tag not in control.parents)

    def _is_shown(self, tag: Tag) -> bool:
        if id(tag) not in self._shown:
            self._shown[id(tag)] = False  # meanwhile: controls that open each other
            is_around = tag.parent is None or self._is_shown(tag.parent)
            self._shown[id(tag)] = is_around and self._can_be_open(tag, self._style(tag))
        return self._shown[id(tag)]


def _is_hidden(tag: Tag) -> bool:
    is_dot = tag.name == "img" and {tag.get("width"), tag.get("height")} <= {"0", "1", "0px", "1px"}
    if tag.get("aria-hidden") == "true" and {"sr-only", "visually-hidden"} & {*tag.get_attribute_list("class")}:
        return True  # text for the ear alone, and not for the ear
    return is_dot or tag.get("hidden", "until-found") != "until-found"  # which a search in the page opens


def _conceals(style: _Style) -> bool:
    """Return whether nothing of an element with ``style`` is seen: it is not shown, cut off or moved off the screen."""
    if any(_CONCEALING.fullmatch(f"{name}:{value}") for name, value in style.items()):
        return True
    is_cut = any(style.get(name) in ("hidden", "clip") for name in ("overflow", "overflow-x", "overflow-y"))
    sides = ("width", "height", "max-width", "max-height") if is_cut else ()
    if any(length <= 1 for name in sides for length in pixels(style.get(name, ""))):
        return True
    moves = ["text-indent", "margin", "margin-left", "margin-top", "transform", "translate"]
    moves += ["left", "top", "right", "bottom", "inset"] if style.get("position", "static") != "static" else []
    return any(length <= OFF_SCREEN_PX for name in moves for length in pixels(style.get(name, "")))


def _sheet_styles(page: Tag) -> tuple[Mapping[int, _Style], set[int]]:
    """Return what the page's style sheets state for each tag, by ``id()``, and the tags that they show in a state.

    A state is one of a control, a class that no tag has yet, or the width of the screen.
    """
    styles: defaultdict[int, dict[str, str]] = defaultdict(dict)
    revealed: set[int] = set()
    sheets = [f"@media {tag.get('media') or 'all'} {{{tag.get_text()}}}" for tag in page.select("style")]
    tags: defaultdict[str, list[Tag]] = defaultdict(list)
    for tag in page.find_all(True) if sheets else ():
        for name in ("*", tag.name, f"#{tag.get('id')}", *(f".{one}" for one in tag.get_attribute_list("class"))):
            tags[name].append(tag)
    for selector, style, is_always in sorted(_rules("\n".join(sheets)), key=lambda rule: _specificity(rule[0])):
        bare = _CLASS.sub(lambda name: name[0] if name[0].replace("\\", "") in tags else "", _STATE.sub("", selector))
        for tag in _matches(bare, tags):
            if is_always and bare == selector:
                styles[id(tag)].update(style)
            elif any(name in style for name in _SHOWING) and not _conceals(style):
                revealed.add(id(tag))
    return styles, revealed


def _specificity(selector: str) -> list[int]:
    """Return the numbers of ids; of classes, attributes and states; and of names of elements."""
    return [len(re.findall(part, selector)) for part in (r"#", r"[.\[]|(?<!:):(?!:)", r"(?<![\w.#:\[-])[a-z]")]


def _matches(selector: str, tags: Mapping[str, list[Tag]]) -> list[Tag]:
    """Return the tags that match; ``tags`` has them by name, ``.class`` and ``#id``."""
    last = re.split(r"[\s>+~]+", _CONDITION.sub("", selector))[-1]
    names = [name.replace("\\", "") for name in _NAME.findall(last)] or ["*"]
    candidates = min((tags.get(name, []) for name in names), key=len)  # most rules are for other pages
    if names == [selector]:
        return candidates
    with suppress(soupsieve.SelectorSyntaxError, NotImplementedError):  # the second: of a pseudo-element
        return soupsieve.filter(selector or "*", candidates) if candidates else []
    return []


def _rules(css: str) -> Iterator[tuple[str, _Style, bool]]:
    """Yield the selectors of ``css`` with their declarations, and whether they hold on every screen."""
    blocks: list[str] = []
    before = ""
    for part in re.split(r"([{}])", _COMMENT.sub("", css)):
        if part == "{":
            blocks.append(before.rpartition(";")[2].strip())
        elif part == "}":
            if blocks and not blocks[-1].startswith("@") and not re.search("print|keyframes", "".join(blocks[:-1])):
                is_always = all(map(_EVERYWHERE.fullmatch, blocks[:-1]))
                style = _declarations(before)
                yield from ((selector.strip(), style, is_always) for selector in _COMMA.split(blocks[-1]) if style)
            del blocks[-1:]
        before = part


@lru_cache(maxsize=1024)
def _declarations(css: str) -> _Style:
    """Return what declarations state of visibility, in lower case; an important one's name ends in ``!``."""
    plain = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), _COMMENT.sub("", css)).lower()
    pairs = ((name, *value.partition("!")) for name, value in _DECLARATION.findall(plain) if _PROPERTY.fullmatch(name))
    return {f"{name}{important}": value.strip() for name, value, important, _ in pairs}


def _color(value: str, inherited: _Color | None, *, least: float = LEAST_ALPHA) -> _Color | None:
    """Return red, green and blue; ``()`` if less than ``least`` of it covers what is below, None if it is unknown."""
    if value in ("", "inherit", "currentcolor", "unset"):
        return inherited
    if value in ("transparent", "none"):
        return ()
    parts = re.findall(r"[\d.]+%?", value) if "(" in value else []
    with suppress(ValueError):
        found = ImageColor.getrgb(f"{value[:3]}({','.join(parts[:3])})" if parts else value)
        alpha = f"{found[3] / 2.55}%" if len(found) > 3 else parts[3] if len(parts) > 3 else "1"
        return found[:3] if float(alpha.rstrip("%")) / (100 if "%" in alpha else 1) >= least else ()
    return None


def pixels(value: str, units: Mapping[str, float] = {"em": NORMAL_FONT_PX}) -> list[float]:
    """Return the lengths in ``value`` in pixels; ``units`` are those of the font around it."""
    found = _LENGTH.findall(value) if "var(" not in value else []
    units = {**_PX, **units}
    return [float(number) * units[unit] for number, unit in found if unit in units]
