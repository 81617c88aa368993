"""How soon what a model writes is let through, where everything that it leads to is held."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from evaluation.rates import json_lines, public_data, report
from fakes import make_hit

from rag.stages.links.held import held_by
from rag.stages.links.streamed import Streamed

pytestmark = pytest.mark.slow
SOON = 20
"""Characters: a few words."""
TOKEN = re.compile(r"\s?\w{1,4}|\s?[^\w\s]{1,3}|\s+")
SENTENCE_END = re.compile(r"(?<=\w)(?=[.?!] )|(?<=\w)(?=[.?!]\Z)")
PAGE = "https://a.example/corpus/page"
MARKS = ("[Some title > A section of it]", f"(Source: {PAGE})", "[id_3]")


def soon(text: str) -> int:
    """So many characters of ``text`` were let through before ``SOON`` others had followed them."""
    through, lags = [0], []
    held = held_by([make_hit(text, url=PAGE).chunk])
    out = Streamed(lambda new: through.append(through[-1] + len(new)), lambda: held)
    for token in TOKEN.finditer(text):
        before = through[-1]
        out(token[0])
        lags += [token.end() - at for at in range(before, through[-1])]
    return sum(lag <= SOON for lag in lags)


def pages(name: str) -> Iterator[str]:
    for path in sorted(public_data(name).rglob("*.md"))[:120]:
        yield path.read_text(encoding="utf-8")[:8000]


@pytest.mark.parametrize(("name", "floor"), [("docs_rust_book", 0.88), ("docs_fastapi", 0.88), ("docs_hugo", 0.92)])
def test_pages_of_documentation(name: str, floor: float) -> None:
    texts = list(pages(name))
    report(f"{name}, characters let through soon", sum(map(soon, texts)), sum(map(len, texts)), floor)


@pytest.mark.parametrize(("mark", "floor"), [(MARKS[0], 0.94), (MARKS[1], 0.9), (MARKS[2], 0.98)])
def test_answers_with_marks(mark: str, floor: float) -> None:
    """Reference answers, each sentence of which cites."""
    lines = json_lines(public_data("clapnq_dev", "answers.jsonl"))
    texts = [SENTENCE_END.sub(f" {mark}", str(line["answers"][0])) for line in lines]
    report(f"clapnq, cited by {mark[:4]}..., let through soon", sum(map(soon, texts)), sum(map(len, texts)), floor)
