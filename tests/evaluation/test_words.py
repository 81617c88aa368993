"""Words on public question sets: what misspelt ones cost, what is called unmentioned, and whose language is another."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import real_model
from evaluation.rates import public_data, report, report_score
from faults.drawing import by_night

from evaluate.judge import Qrels, score_run
from evaluate.question_files import read_qrels, read_queries
from knowledge.embedding import MiniLM
from knowledge.model.values import SearchResult, View
from knowledge.open.index import EmbeddedIndex, open_index
from knowledge.search.words import find_words
from rag.find.gate import EvidenceGate
from rag.values.answer import Proceed
from rag.values.question import Question
from rag.write.not_mentioned import not_mentioned

pytestmark = [pytest.mark.slow, pytest.mark.sampled]

PUBLIC = ("squad_v11_dev", "clapnq_dev", "covid_faq")
SETS = by_night(PUBLIC[:1], PUBLIC)
QUESTIONS = by_night(100, 300)
TYPOS_COST = 0.04
"""nDCG@10 that a letter swapped, dropped or doubled in the rarest word may cost."""
KEPT = {"squad_v11_dev": 0.9, "clapnq_dev": 0.88, "covid_faq": 0.93}
"""Of the questions with such a letter, so many are not refused."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Questions over their own index: as they are, and with a letter amiss."""

    name: str
    index: EmbeddedIndex
    clean: list[tuple[str, str]]
    spoilt: list[tuple[str, str]]
    qrels: Qrels


@pytest.fixture(scope="module", params=SETS)
def asked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, embedder: MiniLM
) -> Iterator[Asked]:
    data = public_data(request.param)
    index = open_index(real_model.public_index(data, tmp_path_factory), embedder=embedder)
    there = {chunk.doc_id for chunk in index.iter_chunks()}
    qrels = {number: found for number, found in read_qrels(data / "qrels.tsv").items() if found.keys() <= there}
    questions = [(number, text) for number, text in read_queries(data / "queries.jsonl") if number in qrels]
    chance = random.Random(0)
    some = chance.sample(questions, min(QUESTIONS, len(questions)))
    spoilt = [(number, _spoilt(index, text, chance)) for number, text in some]
    yield Asked(request.param, index, some, spoilt, qrels)
    index.close()


def test_a_letter_amiss_costs_little(asked: Asked) -> None:
    clean, spoilt = _found(asked, asked.clean), _found(asked, asked.spoilt)
    cost = _ndcg(asked, clean) - _ndcg(asked, spoilt)
    report_score(f"nDCG@10 kept with a letter amiss, {asked.name}", 1 - cost, 1 - TYPOS_COST)
    kept = sum(_passes(found) for found in spoilt.values())
    report(f"questions with a letter amiss that are not refused, {asked.name}", kept, len(spoilt), KEPT[asked.name])
    left = sum(not found.trail for found in clean.values())
    report(f"questions that are spelt as they were, {asked.name}", left, len(clean), 0.93)


def test_nothing_that_is_there_is_called_unmentioned(asked: Asked) -> None:
    found = _found(asked, asked.clean).values()
    said = sum(_passes(one) and _says_so(one) for one in found)
    name = f"answerable questions without a word that is called unmentioned, {asked.name}"
    report(name, len(found) - said, len(found), 0.95)


def test_english_questions_are_in_the_documents_language(asked: Asked) -> None:
    far = (public_data("out_of_scope") / "queries.txt").read_text(encoding="utf-8").splitlines()
    texts = [text for name in PUBLIC for _, text in read_queries(public_data(name) / "queries.jsonl")]
    texts = texts[:: by_night(180, 60)] + far[:: by_night(9, 3)]
    evidence = [asked.index.search([View(text)], k=1).evidence for text in texts]
    same = sum(one is not None and not one.foreign for one in evidence)
    report(f"questions in the language of {asked.name}", same, len(texts), 0.99)


def _spoilt(index: EmbeddedIndex, text: str, chance: random.Random) -> str:
    """``text`` with a letter swapped with the next, dropped or doubled in the rarest word that the index has."""
    lexical = index.lexical
    assert lexical is not None
    words = [
        (place, word) for place, word in find_words(text) if len(word) > 3 and word.isalpha() and lexical.has(word)
    ]
    if not words:
        return text
    (start, end), word = max(words, key=lambda found: sum(map(lexical.idf, lexical.terms(found[1]))))
    at = chance.randrange(len(word) - 1)
    ways = (word[at + 1] + word[at] + word[at + 2 :], word[at + 1 :], word[at] + word[at:])
    return text[:start] + word[:at] + chance.choice(ways) + text[end:]


def _found(asked: Asked, questions: list[tuple[str, str]]) -> dict[str, SearchResult]:
    return {number: asked.index.search([View(text)], k=20) for number, text in questions}


def _ndcg(asked: Asked, found: dict[str, SearchResult]) -> float:
    run = {number: list(dict.fromkeys(hit.chunk.doc_id for hit in one.hits))[:10] for number, one in found.items()}
    return score_run(run, {number: asked.qrels[number] for number in run})["ndcg@10"]


def _says_so(found: SearchResult) -> bool:
    return found.evidence is not None and not_mentioned(found.evidence, found.hits) != ()


def _passes(found: SearchResult) -> bool:
    return isinstance(EvidenceGate()(found, Question(text="")), Proceed)
