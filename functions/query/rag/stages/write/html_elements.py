"""HTML's elements, as a Markdown page may hold them."""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


HEADINGS = _names("h1 h2 h3 h4 h5 h6")
CELLS = _names("td th")
LISTS = _names("ul ol")
_BLOCKS = """
p div section article main header footer aside nav figure figcaption address center dl dt dd details summary form
fieldset legend body html hgroup caption blockquote li table tr
"""
BLOCKS = HEADINGS | CELLS | LISTS | _names(_BLOCKS)
DROPPED = _names("script style iframe object applet noscript template svg math head title frameset select textarea")
"""What they hold is no text."""
_OTHERS = """
a abbr area audio b base bdi bdo big br button canvas cite code col colgroup data del dfn em embed font hr i img input
ins kbd label link map mark meta nobr output param picture pre q rp rt ruby s samp small source span strike strong sub
sup tbody tfoot thead time track tt u var video wbr
"""
KNOWN = BLOCKS | DROPPED | _names(_OTHERS)
"""Any other name in angle brackets is a placeholder."""
