"""An answer with a table, a list, code and citations, as the service streams it with ``rendered``."""

from typing import Any

from browser.stand_in import ANSWER, event

from rag.answer.parse import parse_markdown
from rag.answer.render import json_nodes

type Node = str | dict[str, Any]


def nodes(markdown: str) -> list[Node]:
    """What the service makes of a text that cites nothing."""
    return json_nodes(parse_markdown(markdown), lambda number: (number, f"id_{number}"))


def tag(name: str, *children: Node, **more: Any) -> Node:
    """A node."""
    return {"tag": name, "children": list(children), **more}


def cite(n: int) -> Node:
    """The n-th citation, of the chunk ``id_n``."""
    return tag("cite", n=n, chunkId=f"id_{n}")


def stated(support: str, *children: Node) -> Node:
    """A statement."""
    return tag("statement", *children, support=support)


def row(*cells: Any, of: str = "td") -> Node:
    """A row of a table; a cell is a node, or a list of them."""
    return tag("tr", *(tag(of, *(cell if isinstance(cell, list) else [cell])) for cell in cells))


LONG = "A confirmed booking can be changed free of charge until 72 hours before departure; after that it costs money. "
FREE = "Cancelling is free too, whatever the reason is and whoever asks for it, in all of the ports that we call at. "
HEAD = row("Change", "Until", "Fee", of="th")
FIRST, SECOND = ("Date of departure", "72 hours"), ("Name of the consignee", "manifest closing")
CODE = 'PUT /bookings/4711\n{\n  "departure": "2026-03-02"\n}'
NOTE = tag("note", "not found in the sources")
OF_SOURCES = stated("supported", LONG, cite(1))
ASK_FIRST = ("Ask for the ", tag("code", "booking"), " first. ", cite(2))


def table(*rows: Node) -> Node:
    """The table with these rows."""
    return tag("table", tag("thead", HEAD), *([tag("tbody", *rows)] if rows else []))


def patch(block: int, *nodes: Node) -> dict[str, Any]:
    """The data of a patch."""
    return {"block": block, "nodes": list(nodes)}


PATCHES = [
    patch(0, tag("h2", "Changing")),
    patch(0, tag("h2", "Changing a booking")),
    patch(1, tag("p", LONG[:40])),
    patch(1, tag("p", LONG, cite(1))),
    patch(1, tag("p", LONG, cite(1), " ", tag("strong", FREE[:18]), FREE[18:])),
    patch(2, tag("ul", tag("li", "Ask for the ", tag("code", "booking")))),
    patch(2, tag("ul", tag("li", *ASK_FIRST))),
    patch(2, tag("ul", tag("li", *ASK_FIRST), tag("li", "Then pay."))),
    patch(3),
    patch(3, table()),
    patch(3, table(row(*FIRST, ["SGD 50 ", cite(1)]))),
    patch(3, table(row(*FIRST, ["SGD 50 ", cite(1)]), row(*SECOND, ["SGD 80 ", cite(3)]))),
    patch(4, tag("pre", tag("code", CODE[:18]))),
    patch(4, tag("pre", tag("code", CODE))),
    patch(5, tag("p", "Anything else")),
    patch(5, tag("p", "Anything else is done by hand.")),
]  # fmt: skip
"""What is shown, one after the other."""

CHECKED = [
    tag("h2", "Changing a booking"),
    tag("p", OF_SOURCES, " ", stated("unsupported", tag("strong", FREE[:18]), FREE[18:], " ", NOTE)),
    tag("ul", tag("li", stated("partial", *ASK_FIRST)), tag("li", stated("uncited", "Then pay."))),
    table(
        row(*FIRST, [stated("supported", "SGD 50 ", cite(1))]),
        row(*(stated("unsupported", cell) for cell in SECOND), [stated("unsupported", "SGD 80 ", cite(3), NOTE)]),
    ),
    stated("unsupported", tag("pre", tag("code", CODE)), " ", NOTE),
    tag("p", stated("uncited", "Anything else is done by hand.")),
]
"""The same when its statements have been checked."""

SECTIONS = ("Changing a confirmed booking", "Asking for a change", "Fees at a glance")
AMENDMENTS = {
    "title": "Booking amendments and cancellations", "url": "https://line.example/amendments", "docId": "d1",
}  # fmt: skip
TARIFF = {"title": "Customs tariff 2026", "url": None, "docId": "d2"}
REFERENCES = [
    {"chunkId": f"id_{n}", "section": section, **(TARIFF if n == 3 else AMENDMENTS)}
    for n, section in enumerate(SECTIONS, 1)
]
"""What is read, as the event ``sources`` has it."""

QUOTES = (
    "A confirmed ocean booking can be changed free of charge until 72 hours before departure; after that each change "
    "costs SGD 50, whoever asks for it, and however often the ship itself has been late before. Fees are not refunded.",
    "Ask for the booking first.",
    "Name of the consignee: SGD 30.",
)
WHOLE: dict[str, Any] = {
    **ANSWER,
    "answer": LONG + FREE,
    "rendered": CHECKED,
    "references": [
        {**one, "n": n, "support": ("supported", "partial", "unsupported")[n - 1], "quote": QUOTES[n - 1]}
        for n, one in enumerate(REFERENCES, 1)
    ],
    "metadata": {**ANSWER["metadata"], "model": "a-model"},
    "confidence": {"level": "Medium", "score": 61, "reason": "8 relevant sources with 3 citations"},
}


def begun() -> str:
    """The events before the first words."""
    return event("status", {"stage": "searching"}) + event("status", {"stage": "reading"})


def patches(upto: int) -> str:
    """The events of the first patches."""
    return "".join(map(patched, PATCHES[:upto]))


def patched(data: dict[str, Any]) -> str:
    """A patch with what programs get beside it."""
    return event("delta", {"text": "| raw"}) + event("patch", data)


def shown(upto: int) -> list[Node]:
    """What is shown after the first patches."""
    blocks = {one["block"]: one["nodes"] for one in PATCHES[:upto]}
    return [node for nodes in blocks.values() for node in nodes]


def text(shown: list[Node]) -> str:
    """All text of ``shown``, with the numbers of citations."""
    return "".join(
        node if isinstance(node, str) else str(node["n"]) if node["tag"] == "cite" else text(node["children"])
        for node in shown
    )
