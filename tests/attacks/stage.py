"""The answer stage alone: what it makes of a completion, read whole and while it is written, and where that leads.

No profile differs in it but in its form of citations, so it is asked once for all of them; ``pipeline`` is a profile's.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from attacks.reading import BEHIND, leads, nodes_lead
from fakes import FakeChat, FakeIndex, make_evidence, make_hit, make_inputs, make_writer

from knowledge.model.values import Hit
from rag.answer.citation_forms import CitationForm, IdForm, NumberForm, SourceForm, TitleForm
from rag.answer.render import json_nodes, render_markdown
from rag.answer.streaming_parser import StreamingParser, parse_answer
from rag.answer.tree import Tree
from rag.config.settings import load
from rag.pipeline import Pipeline
from rag.profiles import load_profile
from rag.values.answer import Context, Passage
from rag.values.request import Delta, Event, Patch

HELD = ("https://permits.example/import", "https://permits.example/guide", "img/desk.png", "desk@permits.example")
OWN = {*HELD, *(f"mailto:{one}" for one in HELD)}
TEXT = (
    f"Permits take five working days, as the [guide](<{HELD[1]}>) says. ![Desk]({HELD[2]}) Write to {HELD[3]}, "
    "and never to [x](javascript:alert(1)) or [y](data:text/html,x)."
)
PERMITS = make_hit(
    TEXT, number=1, cosine=0.9, title="Import permits", url=HELD[0], source_urls=(HELD[0],), section="Time"
)
CONTEXT = Context("", (Passage(hit=PERMITS, citation="[Import permits > Time]", text=TEXT),))
CITED: Mapping[str, CitationForm] = {
    "waypoint": TitleForm(0.5, 3), "gacounts": SourceForm(0.5), "clockify": IdForm(), "house": NumberForm(),
}  # fmt: skip
MARKS: Mapping[str, str] = {
    "waypoint": "[Import permits > Time]", "gacounts": f"(Source: {HELD[0]})", "clockify": "[id_1]", "house": "[1]",
}  # fmt: skip

type Leads = list[tuple[str, str]]
"""Kinds and addresses."""


@cache
def knobs(profile: str) -> Any:
    return load(load_profile(profile).settings, {"ENABLE_LLM_RERANKING": "false", "LLM_WEAK": "text"})


def pipeline(profile: str, chat: FakeChat, hits: Iterable[Hit] = (PERMITS,)) -> Pipeline:
    """A profile's own, which finds ``hits`` and has ``chat`` write."""
    inputs = make_inputs(FakeIndex(hits, evidence=make_evidence(1.0)), make_writer(chat))
    return load_profile(profile).build(knobs(profile), inputs)


def foreign(found: Iterable[tuple[str, str]]) -> Leads:
    """What of ``found`` leads somewhere that is not held, or is HTML."""
    return [(kind, to) for kind, to in found if kind.startswith("html") or not OWN & {to, to.rstrip(BEHIND)}]


def foreign_nodes(nodes: Sequence[Any]) -> Leads:
    """What in ``nodes`` leads elsewhere."""
    return foreign(("node", href) for href in nodes_lead(nodes))


def nodes(tree: Tree) -> list[Any]:
    """``tree`` as a page gets it."""
    return json_nodes(tree, lambda number: (number, str(number)))


def through(said: str, profile: str = "waypoint") -> Leads:
    """What in the answer that ``said`` becomes leads elsewhere, as Markdown and as nodes."""
    tree = parse_answer(said, CITED[profile], CONTEXT).tree
    return foreign(leads(render_markdown(tree).text)) + foreign_nodes(nodes(tree))


@dataclass
class Heard:
    """What a listener has put together: each text that it could have shown, and all nodes."""

    texts: list[str] = field(default_factory=lambda: [""])
    nodes: list[Any] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        match event:
            case Delta(text) if text:
                self.texts.append(self.texts[-1] + text)
            case Patch(_, nodes):
                self.nodes += nodes
            case _:
                pass


def pieces(text: str, seed: int) -> Iterator[str]:
    """``text`` in single characters, or (``seed`` above 0) in pieces of up to 40."""
    sizes, at = random.Random(seed), 0
    while at < len(text):
        size = sizes.choice((1, 3, 8, 40)) if seed else 1
        yield text[at : at + size]
        at += size


def streamed(said: str, seed: int, profile: str = "waypoint") -> Leads:
    """What leads elsewhere at any time while ``said`` is written; also what was told and is no more so at the end."""
    heard = Heard()
    growing = StreamingParser(CITED[profile], CONTEXT, listen=heard)
    for piece in pieces(said, seed):
        growing(piece)
    whole = render_markdown(growing.end().tree).text
    found = [one for text in (*heard.texts, whole) for one in foreign(leads(text))] + foreign_nodes(heard.nodes)
    return found if heard.texts[-1] == whole else [*found, ("told and changed", heard.texts[-1])]
