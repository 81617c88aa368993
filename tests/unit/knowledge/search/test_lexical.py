"""The BM25 side: its terms, its scores against the formula and against the library, and files that are not whole."""

import json
import math
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import bm25s
import numpy as np
import pytest
from bm25s.stopwords import STOPWORDS_EN
from hypothesis import given
from hypothesis import strategies as st

from knowledge.model.errors import IndexDamaged
from knowledge.search.lexical import K1, B, Lexical, write_lexical
from knowledge.search.terms import Terms

TEXTS = [
    "Demurrage is charged for each day in the terminal.",
    "The terminal opens daily. Terminal charges are listed in table 7.",
    "Error ERR-4711: the permit has expired.",
]
WORDS = st.text(st.sampled_from("abcé 1-_"), max_size=30)


def built(folder: Path, texts: Sequence[str]) -> tuple[Lexical, Mapping[str, object]]:
    record = write_lexical(folder, range(1, len(texts) + 1), texts)
    return Lexical(folder, record), record


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Charging the charges, charged!", ["charg", "charg", "charg"]),
        ("ERR-4711 in Form 7", ["err", "4711", "form", "7"]),
        ("a b c 7", ["b", "c", "7"]),  # "a" is a stop word
        ("Plan D, 'E' and vitamin B-6", ["plan", "d", "e", "vitamin", "b", "6"]),
        ("C++ or C#; F#, C, G++.", ["c++", "c#", "f#", "c", "g++"]),
        ("Denver's dogs don’t; I'd, O'Brien", ["denver", "dog", "don", "brien"]),
        ("In the U.S. at 5 p.m., e.g.", ["5"]),
        ("β-blocker _ क", ["β", "blocker"]),
        ("ＦＵＬＬ ｗｉｄｔｈ cafe\u0301", ["full", "width", "café"]),
        ("Überprüfung ตรวจ ที่", ["überprüfung", "ตรว", "รวจ", "ที่"]),  # Thai by three letters, marks included
        ("第3章、NFL的球员", ["第", "3", "章", "nfl", "的球", "球员"]),  # Chinese by two
        ("カード 카드를", ["カー", "ード", "카드", "드를"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("\ud800 <>&\x00", []),
    ],
)
def test_terms(text: str, terms: list[str]) -> None:
    assert Terms(STOPWORDS_EN)(text) == terms


@pytest.mark.parametrize(
    ("texts", "latin"),
    [(TEXTS, True), (["员工请假", "VPN 申请"], False), (["Почта", "Vị trí này"], True), (["12"], True)],
)
def test_the_record_says_whether_the_script_is_latin(tmp_path: Path, texts: list[str], latin: bool) -> None:
    lexical, record = built(tmp_path, texts)

    assert lexical.latin == record["latin"] == latin


def test_german_compounds_are_found_by_their_parts_and_find_them(tmp_path: Path) -> None:
    texts = [
        "Die Kündigungsfrist des Vertrages beträgt drei Monate und sie beginnt am Ende des Monats.",
        "Nach der Kündigung gibt es eine Frist, die in der Tabelle am Ende der Seite steht.",
        "Der Urlaub wird im Portal beantragt und von der Leitung genehmigt.",
    ]
    lexical, record = built(tmp_path, texts)

    assert record["language"] == "German"
    assert lexical.terms("Kündigungsfrist") == ["kundigungsfrist", "kundig", "frist"]
    assert lexical.terms("Urlaubsportal Uebergabefrist") == ["urlaubsportal", "urlaub", "portal", "ubergabefrist"]
    assert (lexical.scores("Kündigungsfrist") > 0).tolist() == [True, True, False]
    assert (lexical.scores("Frist") > 0).tolist() == [True, True, False]
    assert lexical.has("Urlaubsportal")


def test_english_words_stay_whole(tmp_path: Path) -> None:
    lexical, record = built(tmp_path, [*TEXTS, "The error that expired is in the terminal, and the day is charged."])

    assert record["language"] == "English"
    assert lexical.terms("terminalcharges") == ["terminalcharg"]


def test_terms_are_the_same_in_every_thread() -> None:
    terms = Terms(STOPWORDS_EN)
    texts = [f"charging {n} generalizations of {'national' * (n % 7)}ities" for n in range(400)]
    expected = [terms(text) for text in texts]

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(terms, texts * 10)) == expected * 10


def test_scores_follow_the_formula(tmp_path: Path) -> None:
    lexical, _ = built(tmp_path, TEXTS)
    terms = [lexical.terms(text) for text in TEXTS]
    mean_length = sum(map(len, terms)) / len(terms)

    def weight(term: str, document: list[str]) -> float:
        holders = sum(term in other for other in terms)
        idf = math.log(1 + (len(terms) - holders + 0.5) / (holders + 0.5))
        frequency = document.count(term)
        return idf * frequency / (frequency + K1 * (1 - B + B * len(document) / mean_length))

    expected = [weight("termin", document) + weight("charg", document) for document in terms]

    assert lexical.scores("What does the terminal charge?") == pytest.approx(expected, rel=1e-5)
    assert expected[1] > expected[0] > expected[2] == 0


def test_no_chunk_can_score_more_than_the_questions_words_are_worth(tmp_path: Path) -> None:
    lexical, _ = built(tmp_path, [*TEXTS, "terminal " * 500])
    question = "terminal unicorn"
    expected = math.log(1 + (4 - 3 + 0.5) / 3.5) + math.log(1 + 4.5 / 0.5)  # three texts hold one, none the other

    assert lexical.attainable(question) == pytest.approx(expected)
    assert lexical.scores("terminal").max() < lexical.attainable("terminal")
    assert lexical.attainable("the of") == 0


@pytest.mark.parametrize(("question", "best"), [("Plan D", 1), ("c++", 3), ("C# SDK", 4)])
def test_single_letters_tell_texts_apart(tmp_path: Path, question: str, best: int) -> None:
    texts = ["Plan B", "Plan D", "Plan E", "C++ SDK", "C# SDK", "F# SDK", "Vitamin C", "Vitamin D", "It's Denver's"]
    lexical, _ = built(tmp_path, texts)

    scores = lexical.scores(question)

    assert scores.argmax() == best
    assert (scores == scores[best]).sum() == 1
    assert scores[-1] == 0


def test_the_pronoun_i_decides_nothing(tmp_path: Path) -> None:
    texts = ["Invoices are under Billing.", "Can I park here? If I lose my badge, I ask at the gate.", "Fees", "Trips"]
    lexical, _ = built(tmp_path, texts)
    scores = lexical.scores("Where do I find invoices?")
    assert scores.argmax() == 0
    assert scores[1] == 0


@pytest.mark.parametrize("question", ["", "zebra"])
def test_a_question_without_a_known_term_scores_nothing(tmp_path: Path, question: str) -> None:
    lexical, _ = built(tmp_path, TEXTS)

    assert lexical.scores(question).tolist() == [0, 0, 0]


@given(texts=st.lists(WORDS, min_size=1, max_size=8), question=WORDS)
def test_scores_are_the_librarys(texts: list[str], question: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lexical, _ = built(Path(folder), texts)
        library = bm25s.BM25.load(folder)
        ids = library.get_tokens_ids(lexical.terms(question))

        expected = library.get_scores_from_ids(ids) if ids else np.zeros(len(texts))
        assert lexical.scores(question) == pytest.approx(expected)


def test_texts_without_a_word_make_an_index_that_finds_nothing(tmp_path: Path) -> None:
    lexical, _ = built(tmp_path, ["!", ""])

    assert lexical.scores("anything at all").tolist() == [0, 0]


def test_the_record_says_how_it_was_made(tmp_path: Path) -> None:
    lexical, record = built(tmp_path, TEXTS)

    assert (record["rows"], record["terms"]) == (3, lexical.vocabulary_size) == (3, 16)
    assert (record["method"], record["k1"], record["b"], record["stemmer"]) == ("lucene", 1.5, 0.75, "english")
    assert json.loads(json.dumps(record)) == record
    assert lexical.numbers.tolist() == [1, 2, 3]


def test_stop_words_are_those_of_the_index_not_of_the_program(tmp_path: Path) -> None:
    _, record = built(tmp_path, TEXTS)

    assert Lexical(tmp_path, {**record, "stop_words": ["permit"]}).scores("permit").tolist() == [0, 0, 0]


def test_nothing_is_pickled(tmp_path: Path) -> None:
    built(tmp_path, TEXTS)

    for path in tmp_path.iterdir():
        if path.suffix == ".npy":
            np.load(path, allow_pickle=False)
        elif path.suffix == ".json":
            json.loads(path.read_text(encoding="utf-8"))
    assert {path.suffix for path in tmp_path.iterdir()} == {".npy", ".json", ".txt"}


@pytest.mark.parametrize("harm", ["missing", "empty", "another's"])
@pytest.mark.parametrize("name", ["numbers.npy", "vocab.index.json", "data.csc.index.npy"])
def test_files_that_do_not_fit_each_other_are_refused(tmp_path: Path, name: str, harm: str) -> None:
    _, record = built(tmp_path / "this", TEXTS)
    built(tmp_path / "other", [*TEXTS, "Quite another text."])
    path = tmp_path / "this" / name
    if harm == "missing":
        path.unlink()
    else:
        path.write_bytes(b"" if harm == "empty" else (tmp_path / "other" / name).read_bytes())

    with pytest.raises(IndexDamaged):
        Lexical(tmp_path / "this", record)


@pytest.mark.parametrize("change", [{"rows": 4}, {"terms": "16"}, {"stop_words": None}])
def test_a_record_that_does_not_fit_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    _, record = built(tmp_path, TEXTS)

    with pytest.raises(IndexDamaged):
        Lexical(tmp_path, {**record, **change})
