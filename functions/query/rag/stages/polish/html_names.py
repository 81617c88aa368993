"""The names of HTML's elements, by what ``rag.stages.polish.html_to_markdown`` does with them."""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


DROPPED = _names(
    "script style iframe object embed applet noscript template svg math head title frameset select textarea"
)
"""Left out with everything in them."""
MARKS = {"b": "**", "strong": "**", "i": "*", "em": "*", "s": "~~", "del": "~~", "strike": "~~", "q": '"'}
CODES = _names("code kbd samp tt")
HEADINGS = {f"h{level}": level for level in range(1, 7)}
CELLS = _names("td th")
LISTS = _names("ul ol")
FRAMED = _names("a pre blockquote li table tr sup sub") | LISTS | CELLS | CODES | MARKS.keys() | HEADINGS.keys()
"""Become Markdown of their own."""
BLOCKS = _names(
    "p div section article main header footer aside nav figure figcaption address center dl dt dd details summary form "
    "fieldset legend body html hgroup caption"
)
"""Become paragraphs."""
UNWRAPPED = _names(
    "span font small big mark u ins abbr cite dfn var time label button output data bdi bdo ruby rt rp picture audio "
    "video canvas map thead tbody tfoot colgroup blink nobr acronym br hr img area base col frame input link meta "
    "param source track wbr"
)
KNOWN = FRAMED | BLOCKS | DROPPED | UNWRAPPED
BOOLEANS = _names("hidden open reversed compact nowrap async defer disabled checked required")
"""Attributes that have no value."""

CLOSES = {name: _names("p") for name in BLOCKS | LISTS | HEADINGS.keys() | {"pre", "blockquote", "table"}} | {
    "li": _names("li p"),
    "tr": CELLS | {"tr"},
    "td": CELLS,
    "th": CELLS,
    "dt": _names("dt dd p"),
    "dd": _names("dt dd p"),
}
"""The elements that another one closes when it opens."""
TIGHT = _names("p li") | CELLS | HEADINGS.keys()
"""In these the indentation of a line is the HTML's, not Markdown's."""
INLINE = _names("a sup sub") | MARKS.keys()
ONE_LINE = _names("a") | CELLS | HEADINGS.keys()
