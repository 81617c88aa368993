"""A model that obeys the prompt and cites several passages: each mark is a chip, whose passage holds the sentence.

It sees what the profile's own pipeline packs of the sample's index, takes a sentence of each of one to five passages,
several of one document where there are such, and puts the passage's mark behind it as it stands in the context.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
import real_model
from evaluation.rates import json_lines, report
from fakes_llm import LlmServer
from faults.drawing import by_night
from functional.gacounts_service import gacounts, model, of_llm
from functional.harness import Api, Json, post, rest_event, starting

pytestmark = [pytest.mark.slow, pytest.mark.sampled]

ANSWERS, MOST = by_night(20, 40), 5
_SENTENCE = re.compile(r"(?:^|(?<=\. ))[A-Z][^\n|*`\[\]<>\\_~#]{30,240}?[.!?](?=\s|$)", re.MULTILINE)
_SET = "\x00"
"""Around a chip's chunk where nodes are read as text."""


@dataclass(frozen=True)
class Shown:
    """A passage as the prompt shows it: its document, the mark that cites it, and its text."""

    document: str
    mark: str
    text: str


PROFILES = ("waypoint", "gacounts", "clockify")
_CONTEXT = re.compile(r"\nCONTEXT\n<<<([a-z ]+)\n(.*?)\n\1>>>\nEND OF CONTEXT", re.DOTALL)
_LABEL = re.compile(r"^(\[\d+\]) (.*)$", re.MULTILINE)


def passages(context: str) -> Iterator[Shown]:
    """The passages of a prompt's ``context``, in their order."""
    parts = _LABEL.split(context)
    for mark, label, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        yield Shown(label.partition(" > ")[0], mark, text)


@dataclass
class Obedient:
    """Writes its answers in paragraphs, as a list, and as a table in turn; ``wrote`` is what the last one cites."""

    asked: int = 0
    wrote: list[tuple[str, str]] = field(default_factory=list)

    def __call__(self, request: Json) -> str:
        prompt = "\n".join(str(message["content"]) for message in request["messages"])
        found = _CONTEXT.search(prompt)
        assert found is not None, prompt[:2000]
        self.wrote = self._chosen(list(passages(found[2])), 1 + self.asked % MOST)
        rows = [f"{said[:-1]} {mark}{said[-1]}" if self.asked % 2 else f"{said} {mark}" for said, mark in self.wrote]
        form = self.asked % 3
        self.asked += 1
        if form == 0:
            return "\n\n".join(rows)
        if form == 1:
            return "\n".join(f"- {row}" for row in rows)
        return "\n".join(("| No | What holds |", "|---|---|", *(f"| {n} | {row} |" for n, row in enumerate(rows, 1))))

    @staticmethod
    def _chosen(passages: Sequence[Shown], most: int) -> list[tuple[str, str]]:
        """A sentence and the mark of each passage, those of the document with most of them first."""
        many = Counter(one.document for one in passages)
        chosen: list[tuple[str, str]] = []
        for one in sorted(passages, key=lambda one: -many[one.document]):
            others = {said for said, _ in chosen}
            if said := next((said for said in _SENTENCE.findall(one.text) if said not in others), None):
                chosen.append((said, one.mark))
        return chosen[:most]


@dataclass
class Counts:
    """Of the marks of a profile's answers: those that are chips, chips of another passage, and raw ones in a text."""

    answers: int = 0
    marks: int = 0
    chips: int = 0
    wrong: list[tuple[str, str]] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)


def flat(nodes: Sequence[Any]) -> Iterator[str]:
    """The text of ``nodes``; a chip is its chunk's id."""
    for node in nodes:
        if isinstance(node, str):
            yield node
        elif node["tag"] == "cite":
            yield f"{_SET}{node['chunkId']}{_SET}"
        else:
            yield from flat(node["children"])
            yield " "


def spaced(text: str) -> str:
    """``text`` with a blank for each run of them."""
    return " ".join(text.split())


@dataclass
class Reader:
    """Looks at answers, and at the chunks that their chips open."""

    api: Api
    counts: Counts = field(default_factory=Counts)
    _texts: dict[str, str] = field(default_factory=dict)

    def look(self, rendered: Sequence[Any], wrote: Sequence[tuple[str, str]]) -> None:
        """Count what became of what the model ``wrote``."""
        counts, shown = self.counts, spaced("".join(flat(rendered)))
        words = re.sub(rf"{_SET}[^{_SET}]*{_SET}", " ", shown)
        counts.answers += 1
        counts.marks += len(wrote)
        counts.raw += [mark for _, mark in wrote if spaced(mark) in words]
        for said, mark in wrote:
            at = shown.find(spaced(said)[:-1])
            chip = re.match(rf"[^{_SET}]{{0,40}}{_SET}([^{_SET}]*){_SET}", shown[at + len(spaced(said)) - 1 :])
            if at < 0 or chip is None:
                continue
            counts.chips += 1
            if spaced(said) not in self._text(chip[1]):
                counts.wrong.append((f"{said} {mark}", chip[1]))

    def _text(self, chunk_id: str) -> str:
        if chunk_id not in self._texts:
            reply = self.api.call(rest_event("GET", f"/api/chunks/{chunk_id}"))
            self._texts[chunk_id] = spaced(reply.json["text"])
        return self._texts[chunk_id]


@pytest.mark.parametrize("profile", PROFILES)
def test_each_mark_is_a_chip_of_its_passage(profile: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    lines = json_lines(real_model.SAMPLES / profile / "questions.jsonl")
    asked = [str(line["question"]) for line in lines if line["expected"]]
    double = Obedient()
    settings = gacounts(None) if profile == "gacounts" else {"RAG_PROFILE": profile}
    index = real_model.sample_index(profile, tmp_path_factory)
    with LlmServer(answer=model(answer=double)) as server, starting(index) as start:
        reader = Reader(start(**settings, **of_llm(server.url)))
        for question in asked:
            double.wrote = []
            body = reader.api.call(post({"query": question, "rendered": True})).json
            if double.wrote:
                reader.look(body["rendered"], double.wrote)
            if reader.counts.answers == ANSWERS:
                break
    counts = reader.counts
    assert counts.answers == ANSWERS
    print(*counts.wrong, *counts.raw, sep="\n", end="")
    report(f"{profile}: marks that are chips, in {ANSWERS} answers", counts.chips, counts.marks, 1.0)
    report(f"{profile}: chips whose passage holds the sentence", counts.chips - len(counts.wrong), counts.chips, 1.0)
    assert (counts.wrong, counts.raw) == ([], [])
