"""HTML's elements, by what becomes of them in Markdown."""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


MARKS = {"b": "**", "strong": "**", "i": "*", "em": "*", "s": "~~", "del": "~~", "strike": "~~", "q": '"'}
INLINE = _names("a sup sub") | MARKS.keys()
CODES = _names("code kbd samp tt pre")
HEADINGS = {f"h{level}": level for level in range(1, 7)}
CELLS = _names("td th")
LISTS = _names("ul ol")
BLOCKS = _names(
    "p div section article main header footer aside nav figure figcaption address center dl dt dd details summary form "
    "fieldset legend body html hgroup caption blockquote li table tr"
).union(LISTS, CELLS, HEADINGS)
FRAMED = INLINE | CODES | BLOCKS
"""Become Markdown, or paragraphs."""
DROPPED = _names(
    "script style iframe object applet noscript template svg math head title frameset select textarea noembed noframes"
)
"""Left out with everything in them."""
VOID = _names("area base basefont bgsound br col embed frame hr image img input link meta param source track wbr")
"""Hold nothing."""
LEFT_OPEN = _names("p li td th tr dt dd")
"""Need no closing tag."""
UNWRAPPED = _names(
    "span font small big mark u ins abbr cite dfn var time label button output data bdi bdo ruby rt rp rtc rb picture "
    "audio video canvas map thead tbody tfoot colgroup blink nobr acronym dialog menu menuitem slot progress meter "
    "option optgroup datalist marquee keygen plaintext xmp listing isindex command content element shadow spacer "
    "nextid multicol dir layer portal search xss"
)
KNOWN = FRAMED | DROPPED | VOID | UNWRAPPED
FORMATTING = INLINE | CODES | _names("span mark u ins font")
"""Not what code is about that they stand in."""
ENDS = {"li": _names("li p"), "tr": _names("td th tr p"), "td": _names("td th p"), "th": _names("td th p")} | {
    "dt": _names("dt dd p"),
    "dd": _names("dt dd p"),
}
"""What an element ends when it begins; every other block ends a paragraph."""
