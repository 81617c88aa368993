"""Names of HTML's elements, and of the blocks whose name readers see."""

from __future__ import annotations

_UNSEEN = "script style svg noscript iframe object canvas head math"
_BLOCK = """
    address article aside blockquote body center details dialog div dl fieldset figcaption figure footer form header
    html main nav ol p picture section ul video audio hgroup menu template frameset
"""
_INLINE = """
    a abbr acronym area base basefont big button caption cite col colgroup data datalist del dfn font h1 h2 h3 h4 h5 h6
    input ins kbd label legend li link mark meta meter nobr optgroup option output param progress q rp rt ruby s samp
    select slot small source span strike sub summary sup table tbody td textarea tfoot th thead time title tr track tt u
    var wbr br hr img dd dt code pre b strong i em
"""
_LEFT_WHOLE = """
    p li ul ol dl dt dd table thead tbody tfoot tr td th pre script style svg br img hr input link meta source colgroup
    col option select textarea code video audio iframe picture math
"""
_TYPES = """
    note tip info warning danger caution important success failure bug example quote question abstract summary todo hint
    attention error check seealso
"""

UNSEEN = frozenset(_UNSEEN.split())
"""Elements that go with all that is in them."""

BLOCKS = frozenset(_BLOCK.split())
"""Elements that begin a paragraph of their own."""

INLINE = frozenset(_INLINE.split())
"""The others."""

KNOWN = UNSEEN | BLOCKS | INLINE
"""The elements of HTML. Another name in angle brackets is a component, or text (``<your name>``)."""

NO_CONTAINERS = frozenset(_LEFT_WHOLE.split())
"""Elements that hold no Markdown with an indentation of its own."""

ADMONITIONS = frozenset(_TYPES.split())
"""Names that readers see as a block's title where it has no other: MkDocs, Docusaurus and VitePress print them."""
