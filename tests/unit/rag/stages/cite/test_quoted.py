"""rag.stages.cite.quoted: quotes are polished by themselves and cite nothing, in every profile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from fakes import make_hit

from rag.stages.cite.by_id import cite_ids
from rag.stages.cite.by_title import TitleCiter
from rag.stages.cite.by_url import UrlCiter
from rag.stages.cite.marks import Cited
from rag.stages.cite.quoted import cite_completion, polish_completion
from rag.stages.pack.by_id import IdPacker
from rag.stages.pack.by_title import TitledPacker
from rag.stages.pack.by_url import UrlPacker
from rag.stages.polish.html_to_markdown import polish_html
from rag.values.answer import Completion, Context, Hit, Polished, Quote

type Pack = Callable[[tuple[Hit, ...]], Context]
type Cite = Callable[[str, tuple[Hit, ...]], Cited]

PROFILES: list[tuple[Pack, Cite]] = [
    (TitledPacker(8000, TitleCiter(0.5, 3)), TitleCiter(0.5, 3)),
    (UrlPacker(6000), UrlCiter(0.5)),
    (IdPacker(6000), cite_ids),
]
INSTALL = "pip install name[extra]==1.2.0"
KEYS = "Press [Enter], see [Extras] and [id_2] or (Source: https://b.example) and https://b.example/x."
HITS = (
    make_hit(INSTALL, number=1, title="Extra", doc_id="a", url="https://a.example"),
    make_hit(KEYS, number=2, title="Extras", doc_id="b", url="https://b.example"),
    make_hit("More of it.", number=3, title="Extra", doc_id="a", url="https://a.example"),
)


def quoting(context: Context, *quoted: tuple[int, str]) -> Completion:
    text = "The documents found do not mention [Ohio].\n\n"
    quotes = []
    for passage, words in quoted:
        start, end = len(text), len(text) + len(words)
        text += f"{words} {context.used[passage].citation}"
        quotes.append(Quote(start, end, len(text), passage))
        text += "\n\n"
    return Completion(text=text.rstrip(), model="extractive", quotes=tuple(quotes))


@pytest.mark.parametrize(("pack", "cite"), PROFILES)
@pytest.mark.parametrize("words", [INSTALL, KEYS, f"`{INSTALL}`", "[id_3] [Extras > None] 【id_9】"])
def test_a_quote_comes_out_as_it_went_in_and_cites_nothing(pack: Pack, cite: Cite, words: str) -> None:
    context = pack(HITS)
    made, trail = polish_completion(polish_html, quoting(context, (0, words)), context)
    cited = cite_completion(cite, made, context)
    assert cited.text == quoting(context, (0, words)).text
    assert [citation.hit for citation in cited.citations] == [HITS[0]]
    (citation,) = cited.citations
    assert cited.text[citation.position :].startswith(citation.raw)
    assert (cited.valid, cited.removed, trail) == (1, 0, ())


@pytest.mark.parametrize(("pack", "cite"), PROFILES[:2])
def test_two_quotes_of_one_source_are_one_citation_with_both_chunks(pack: Pack, cite: Cite) -> None:
    context = pack(HITS)
    cited = cite_completion(cite, quoting(context, (0, INSTALL), (2, "More of it.")), context)
    assert [citation.hits for citation in cited.citations] == [(HITS[0], HITS[2])]
    assert cited.valid == 2


def test_by_id_each_chunk_is_a_citation() -> None:
    context = IdPacker(6000)(HITS)
    cited = cite_completion(cite_ids, quoting(context, (0, INSTALL), (2, "More."), (0, "pip")), context)
    assert [citation.chunk_id for citation in cited.citations] == ["id_1", "id_3"]


def test_html_in_a_quote_is_polished_and_the_quotes_move_along() -> None:
    context = IdPacker(6000)(HITS)
    made = quoting(context, (0, "a <b>bold</b> word<br>and [id_2]"), (1, "<script>x</script>rest"))
    polished, trail = polish_completion(polish_html, made, context)
    words = [polished.text[quote.start : quote.end] for quote in polished.quotes]
    assert words == ["a **bold** word  \nand [id_2]", "rest"]
    assert [polished.text[quote.end : quote.cited] for quote in polished.quotes] == [" [id_1]", " [id_2]"]
    assert trail == ("converted HTML in the answer to Markdown",)


def test_what_a_model_wrote_is_read_as_a_whole() -> None:
    context = IdPacker(6000)(HITS)
    made = Completion(text="It <i>is</i> so. [id_1] [id_9]", model="m")
    polished, _ = polish_completion(polish_html, made, context)
    cited = cite_completion(cite_ids, polished, context)
    assert (cited.text, cited.valid, cited.removed) == ("It *is* so. [id_1]", 1, 1)
    assert polish_completion(lambda text, _: Polished(text), made, context)[0] == replace(made)
