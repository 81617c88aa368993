"""How soon what a model writes is let through, where everything that it leads to is held."""

import re
from collections.abc import Iterator

import pytest
from evaluation.rates import json_lines, public_data, report
from fakes import make_hit
from faults.drawing import by_night

from rag.answer.citation_forms import CitationForm, IdForm, SourceForm, TitleForm
from rag.answer.streaming_parser import StreamingParser
from rag.values.answer import Context, Passage
from rag.values.request import Delta, Event

pytestmark = [pytest.mark.slow, pytest.mark.sampled]
SOON = 20
"""Characters: a few words."""
TOKEN = re.compile(r"\s?\w{1,4}|\s?[^\w\s]{1,3}|\s+")
WORD = re.compile(r"\w+")
SENTENCE_END = re.compile(r"(?<=\w)(?=[.?!] )|(?<=\w)(?=[.?!]\Z)")
EVERY, CHARS = 6, 4000
PAGES, ANSWERS = by_night((10, 40), (20, 100))
DOCS = [("docs_rust_book", 0.88), ("docs_fastapi", 0.91), ("docs_hugo", 0.76)]
PAGE = "https://a.example/corpus/page"
TITLES, SOURCES, IDS = TitleForm(0.5, 3), SourceForm(0.5), IdForm()
MARKS: tuple[tuple[str, CitationForm, float], ...] = (
    ("[Some title > A section of it]", TITLES, 0.87),
    (f"(Source: {PAGE})", SOURCES, 0.83),
    ("[id_3]", IDS, 0.91),
)


def soon(text: str, form: CitationForm) -> tuple[int, int]:
    """So many characters of words of ``text`` were told before ``SOON`` others had followed; and how many there are."""
    hit = make_hit(text, number=3, title="Some title", section="A section of it", url=PAGE, source_urls=(PAGE,))
    told: list[tuple[str, int]] = []
    read = 0

    def listen(event: Event) -> None:
        if isinstance(event, Delta) and event.text:
            told.append((event.text, read))

    growing = StreamingParser(form, Context("", (Passage(hit=hit, citation="[x]", text=text),)), listen=listen)
    for token in TOKEN.finditer(text):
        read = token.end()
        growing(token[0])
    growing.end()
    when = [at for piece, at in told for _ in piece]
    shown, place, through = "".join(piece for piece, _ in told), 0, 0
    words = list(WORD.finditer(shown))
    for word in words:
        found = text.find(word[0], place, place + 300)
        if found >= 0:
            place = found + len(word[0])
            through += len(word[0]) * (when[word.end() - 1] - place <= SOON)
    return through, sum(len(word[0]) for word in words)


def report_all(name: str, texts: list[str], form: CitationForm, floor: float) -> None:
    """Print and hold the rate of all ``texts``."""
    found = [soon(text, form) for text in texts]
    report(name, sum(through for through, _ in found), sum(total for _, total in found), floor)


def pages(name: str) -> Iterator[str]:
    for path in sorted(public_data(name).rglob("*.md"))[::EVERY][:PAGES]:
        yield path.read_text(encoding="utf-8")[:CHARS]


@pytest.mark.parametrize(("name", "floor"), by_night(DOCS[:1], DOCS))
def test_pages_of_documentation(name: str, floor: float) -> None:
    report_all(f"{name}, characters of words let through soon", list(pages(name)), IDS, floor)


@pytest.mark.parametrize(("mark", "form", "floor"), MARKS, ids=("titles", "sources", "ids"))
def test_answers_with_marks(mark: str, form: CitationForm, floor: float) -> None:
    """Reference answers, each sentence of which cites."""
    lines = json_lines(public_data("clapnq_dev", "answers.jsonl"))[:ANSWERS]
    texts = [SENTENCE_END.sub(f" {mark}", str(line["answers"][0])) for line in lines]
    report_all(f"clapnq, cited by {mark[:4]}..., let through soon", texts, form, floor)
