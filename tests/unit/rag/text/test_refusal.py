"""rag.text.refusal: answers that say they are none, held to wordings as models of several families write them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rag.profiles import clockify, gacounts, waypoint
from rag.stages.write.markdown_blocks import split_blocks
from rag.stages.write.sentences import block_sentences
from rag.text.refusal import has_words, is_refusal

REPOSITORY = Path(__file__).parents[4]
WORDINGS = [json.loads(line) for line in (REPOSITORY / "tests/golden/refusals.jsonl").read_text("utf-8").splitlines()]
REFUSALS = [wording["answer"] for wording in WORDINGS if wording["refusal"]]
ANSWERS = [wording["answer"] for wording in WORDINGS if not wording["refusal"]]


def test_there_are_enough_wordings() -> None:
    assert len(REFUSALS) >= 250
    assert len(ANSWERS) >= 150


@pytest.mark.parametrize("answer", REFUSALS)
def test_refusals(answer: str) -> None:
    assert is_refusal(answer)


@pytest.mark.parametrize("answer", ANSWERS)
def test_answers(answer: str) -> None:
    assert not is_refusal(answer)


@pytest.mark.parametrize("profile", [waypoint, gacounts, clockify])
def test_every_profiles_own_sentence_is_a_refusal(profile: object) -> None:
    assert is_refusal(profile.DECLINE)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("answer", "refusal"),
    [
        # A refusal stays one with citations, a reason, what the sources are about, and courtesy beside it.
        ("I don't know based on the MD. [id_2]", True),
        ("The documentation does not mention GPS [id_2].", True),
        ("The documentation does not mention GPS, so I cannot answer.", True),
        ("I don't know. The snippets only cover timers and reports.", True),
        ("I don't know. The documentation covers:\n- timers\n- reports", True),
        ("I don't know. Please contact support.", True),
        # Whatever else stands beside it makes it an answer; so does a cited statement about the sources.
        ("The documentation does not mention GPS, but you can log in from a phone.", False),
        ("I don't know. The snippets only cover timers [id_2].", False),
        ("I don't know. The documentation covers:\n- timers [id_2]", False),
        ("I don't know. Press Start.", False),
        ("Press Start. I don't know how to stop it.", False),
        ("I don't know: is it the timer?", False),
        # What sources named by their marks are about is no answer; what one of them says is.
        ("[id_3] and [id_4] discuss timers, but neither mentions Tesla.", True),
        ("[id_3] says that it costs 8 euros, but neither mentions Tesla.", False),
        ("[id_3] covers up to 5 projects, but does not mention Tesla.", False),
        # A footer without sources is part of neither.
        ("I don't know.\n\nSources: none", True),
        ("Press Start.\n\nSources: none", False),
        ("I don't know.\n\nSources: the handbook of 2024", False),
        # A qualified paper is a source unless the statement is cited: then it is of the product.
        ("The PDF file has no details of rates.", True),
        ("The PDF file has no details of rates [id_3].", False),
        ("The text has no details of rates [id_3].", True),
        # Courtesy alone refuses nothing.
        ("Please contact support.", False),
        ("The documentation covers timers and reports.", False),
        ("", False),
        ("[id_2]", False),
    ],
)
def test_what_may_stand_beside_a_refusal(answer: str, refusal: bool) -> None:
    assert is_refusal(answer) is refusal


@pytest.mark.parametrize("profile", ["waypoint", "gacounts", "clockify"])
def test_no_sentence_of_the_samples_is_a_refusal(profile: str) -> None:
    documents = [path.read_text(encoding="utf-8") for path in (REPOSITORY / "samples" / profile).rglob("*.md")]
    sentences = [sentence for text in documents for _, sentence in block_sentences(split_blocks(text))]
    assert len(sentences) >= 100
    assert [sentence for sentence in sentences if is_refusal(sentence)] == []


@pytest.mark.parametrize("name", ["squad_v11_dev", "covid_faq", "clapnq_dev"])
def test_hardly_a_sentence_of_real_texts_is_a_refusal(name: str) -> None:
    path = REPOSITORY.parent / "shared" / "data" / name / "corpus.jsonl"
    if not path.exists():
        pytest.skip("the data sets are not part of the repository")
    texts = [json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines()[:500]]
    sentences = [sentence for text in texts for _, sentence in block_sentences(split_blocks(text))]
    assert sum(map(is_refusal, sentences)) <= len(sentences) / 1000


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("Yes.", True),
        ("42", True),
        ("是", True),
        ("See [the guide](https://a.example/x).", True),
        ("", False),
        (" \n ", False),
        ("[id_2]", False),
        ("- [id_2], [id_3].\n", False),
        ("[Import permits > Fees]", False),
        ("(Source: https://a.example)", False),
        ("**.**", False),
    ],
)
def test_words_beside_citations(answer: str, words: bool) -> None:
    assert has_words(answer) is words


@pytest.mark.parametrize("opening", ["-", " ", "* ", "| --- ", "\t", "`", ". ", "Answer: ", "Sources: ", "[]"])
def test_a_long_run_of_marks_is_read_once(opening: str) -> None:
    # Quadratic or cubic backtracking over this would take minutes.
    assert not is_refusal(opening * 50_000 + "x")
    assert is_refusal(opening * 50_000 + "I don't know.")


@pytest.mark.parametrize("opening", ["[id_3] ", "[id_3] and ", "in [id_3], ", "no ", "there is no ", "cannot find "])
def test_a_long_run_of_words_is_read_once(opening: str) -> None:
    assert not is_refusal(opening * 50_000 + "Press Start.")
