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
from hypothesis import example, given
from hypothesis import strategies as st

from knowledge.model.errors import IndexDamaged
from knowledge.search.language import (
    detect_language,
    language_shares,
    languages_of,
    load_stop_words,
    other_languages,
)
from knowledge.search.lexical import (
    HOLDERS_NAME,
    K1,
    B,
    Lexical,
    TermCounts,
    update_lexical,
    write_lexical,
    write_term_counts,
)
from knowledge.search.terms import Terms
from knowledge.search.words import WORDS_NAME, Words, load_words

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


def test_german_compounds_are_found_by_their_parts_and_find_them_and_english_words_stay_whole(tmp_path: Path) -> None:
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
    english, record = built(
        tmp_path / "english", [*TEXTS, "The error that expired is in the terminal, and is charged."]
    )
    assert record["language"] == "English"
    assert english.terms("terminalcharges") == ["terminalcharg"]


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
    assert lexical.max_score(question) == pytest.approx(expected)
    assert lexical.scores("terminal").max() < lexical.max_score("terminal")
    assert lexical.max_score("the of") == 0


@given(texts=st.lists(WORDS, min_size=1, max_size=8), question=WORDS)
@example(texts=["!", ""], question="anything at all")
@example(texts=TEXTS, question="zebra")
@example(texts=TEXTS, question="")
def test_scores_are_the_librarys(texts: list[str], question: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lexical, _ = built(Path(folder), texts)
        library = bm25s.BM25.load(folder)
        ids = library.get_tokens_ids(lexical.terms(question))
        expected = library.get_scores_from_ids(ids) if ids else np.zeros(len(texts))
        assert lexical.scores(question) == pytest.approx(expected)


def test_the_record_says_how_it_was_made_and_no_file_is_pickled(tmp_path: Path) -> None:
    lexical, record = built(tmp_path, TEXTS)

    assert (record["rows"], record["terms"]) == (3, lexical.vocabulary_size) == (3, 16)
    assert (record["method"], record["k1"], record["b"], record["stemmer"]) == ("lucene", 1.5, 0.75, "english")
    assert json.loads(json.dumps(record)) == record
    assert lexical.numbers.tolist() == [1, 2, 3]
    assert Lexical(tmp_path, {**record, "stop_words": ["permit"]}).scores("permit").tolist() == [0, 0, 0]
    assert {path.suffix for path in tmp_path.iterdir()} == {".npy", ".json", ".txt"}
    for path in tmp_path.glob("*.npy"):
        np.load(path, allow_pickle=False)


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


# An index that was changed


BEFORE = {
    1: "The harbour fee is due. The fee of GC-409 is 3 euros.",
    2: "Cats and dogs don't pay a fee, cats never.",
    3: "...",
    5: "The ships of Class 3 wait outside the harbour.",
}
AFTER = {
    1: BEFORE[1],
    3: BEFORE[3],
    5: "The ships of class 4 leave the Harbour by night.",
    6: "The fees of GC-500 are due by night and by the day.",
}
ASKED = ["harbour fee", "cats", "class 4", "night fees gc-500", "", "class 3 ships ships"]


def test_scores_vocabulary_and_words_are_those_of_all_texts_anew(tmp_path: Path) -> None:
    before = write_lexical(tmp_path / "before", list(BEFORE), BEFORE.values())
    anew = write_lexical(tmp_path / "anew", list(AFTER), AFTER.values())

    now = update_lexical(
        tmp_path / "now", tmp_path / "before", before,
        numbers=list(AFTER), fresh={5: AFTER[5], 6: AFTER[6]}, gone=[BEFORE[2], BEFORE[5]],
    )  # fmt: skip

    assert now == anew
    updated, made = Lexical(tmp_path / "now", now), Lexical(tmp_path / "anew", anew)
    assert updated.numbers.tolist() == [1, 3, 5, 6]
    for text in ASKED:
        assert updated.scores(text).tolist() == made.scores(text).tolist()
    assert not updated.has("cats")
    assert np.count_nonzero(updated.scores("night")) == 2
    assert load_words(tmp_path / "now") == load_words(tmp_path / "anew")
    assert "gc409" in load_words(tmp_path / "now")
    assert "cats" not in load_words(tmp_path / "now")


# Counts in place of the table


COUNTED = [
    "Import permits take five working days.",
    "The harbour office issues permits, and permits only.",
    "Tariffs of the harbour: class 3, class 8, C++ and C#.",
    "Fees are paid at the customs desk of the harbour.",
    "A permit for a vessel costs 40 euro; a vessel's permit lasts a year.",
    "!",
    "Straße, naïve and ｆｕｌｌ width, once more.",
] + [f"Number{n} of the customs rules, {'and more ' * n}tariffs" for n in range(20)]
QUESTIONS = [
    "harbour permits", "vessel vessel permit", "class 8", "tariff number7", "nothing known", "the", "", "straße C#",
]  # fmt: skip


@pytest.fixture
def table_and_counts(tmp_path: Path) -> tuple[Lexical, TermCounts]:
    table = write_lexical(tmp_path / "table", list(range(1, len(COUNTED) + 1)), COUNTED)
    counts = write_term_counts(tmp_path / "counts", COUNTED, iter(COUNTED))
    return Lexical(tmp_path / "table", table), TermCounts(tmp_path / "counts", counts)


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_scores_are_those_of_the_table(table_and_counts: tuple[Lexical, TermCounts], question: str) -> None:
    table, counts = table_and_counts
    assert counts.scores(question, COUNTED) == pytest.approx(table.scores(question), abs=1e-5)
    assert counts.max_score(question) == pytest.approx(table.max_score(question), abs=1e-5)
    assert counts.best_score(question) >= table.best_score(question)
    assert (counts.best_score(question) > 0) == (table.best_score(question) > 0)


def test_both_know_the_same_words_and_the_moments_are_near(table_and_counts: tuple[Lexical, TermCounts]) -> None:
    table, counts = table_and_counts
    assert (counts.vocabulary_size, counts.language) == (table.vocabulary_size, table.language)
    for word in ("permits", "permit", "vessel", "nothing", "zebra", "the"):
        assert (counts.has(word), counts.terms(word)) == (table.has(word), table.terms(word))
        for term in table.terms(word):
            assert counts.idf(term) == pytest.approx(table.idf(term), abs=1e-5)
    for question in ("harbour permits", "tariff number7", "customs rules"):
        scores = table.scores(question)
        assert counts.moments(question) == pytest.approx((scores.mean(), scores.std()), rel=0.5)
    assert counts.moments("nothing known") == (0, 0)


def test_damage_is_told(tmp_path: Path) -> None:
    record = write_term_counts(tmp_path / "counts", COUNTED, COUNTED)
    with pytest.raises(IndexDamaged, match="not whole"):
        TermCounts(tmp_path / "counts", {key: value for key, value in record.items() if key != "length"})
    np.save(tmp_path / "counts" / HOLDERS_NAME, np.zeros(3, dtype=np.uint32))
    with pytest.raises(IndexDamaged, match=HOLDERS_NAME):
        TermCounts(tmp_path / "counts", record)


# The index's own words


WORD_TEXTS = [
    "Demurrage is charged for each day in the terminal. Surcharge GC-409 applies from 999 kg.",
    "The price of the standard plan is what you pay. Policies of Covid-19 differ.",
    "Pierce the seal. The prince of the terminal didn't say.",
]
WHOLE = frozenset(("plane", "fail"))
"""What the embedding model has whole."""


def words(folder: Path, texts: Sequence[str] = WORD_TEXTS) -> Words:
    return Words(folder, built(folder, texts)[0], WHOLE.__contains__)


def named(of: Words, text: str) -> list[str]:
    return [text[start:end] for start, end in of.find_unknown(text)]


@pytest.mark.parametrize(
    ("question", "unknown"),
    [
        ("What does a policy cost?", ["does", "cost"]),  # "policy" by its stem
        ("What is GC-409?", []),
        ("What is GC-999?", ["GC-999"]),  # although "gc" and "999" are there
        ("gc409, COVID19 and Covid 19", []),
        ("demurage in the pirce", []),  # spelt nearly so
        ("the plane of teh", ["plane"]),  # a word, if another one than "plan"
        ("didn't, couldn't, I'm", []),
        ("", []),
    ],
)
def test_what_the_index_does_not_have(question: str, unknown: list[str], tmp_path: Path) -> None:
    assert named(words(tmp_path), question) == unknown


@pytest.mark.parametrize(
    ("question", "respelt"),
    [
        ("whats the pirce of the standart plan", "whats the price of the standard plan"),
        ("Demurage per dday", "demurrage per day"),
        ("the plane and a tyre", "the plane and a tyre"),
        ("GC-419", "GC-419"),  # no code is another one misspelt
        ("prnce of the terminal", "prince of the terminal"),  # of several the one whose chunk has the other words
        ("prnce of the standard plan", "price of the standard plan"),
        ("", ""),
    ],
)
def test_misspelt_words_are_spelt_as_the_index_does(question: str, respelt: str, tmp_path: Path) -> None:
    assert words(tmp_path).correct_spelling(question) == respelt


def test_another_language_is_told_by_the_share_of_known_words(tmp_path: Path) -> None:
    of = words(tmp_path)
    assert not of.is_foreign("What is the price of demurrage")
    assert of.is_foreign("Was kostet der Container am Tag?")
    assert not of.is_foreign("GC-999 GC-998 GC-997")  # codes are of no language
    assert not of.is_foreign("Kosten Tag")  # too little to tell
    assert of.is_foreign("Comment ajouter un container")  # no word of English grammar, and two that the index lacks
    assert not of.is_foreign("Where is my frobnicator")


def test_a_right_word_of_another_language_is_not_taken_for_another_one(tmp_path: Path) -> None:
    of = words(
        tmp_path, ["Das ist noch ein neuer Wagen, und die Kaution ist nicht verfallen.", "Der Wagen ist im Hof."]
    )
    asked = "Wie hoch ist die Kaution, und wie teuer ist der Wagen?"
    assert of.correct_spelling(asked) == asked
    assert of.correct_spelling("Ist die Kauton verfallen?") == "Ist die kaution verfallen?"


CHINESE = ["员工请假需要在系统中提前三天申请，由主管批准。", "费用报销应在一个月内提交发票。"]


def test_a_script_without_blanks_is_known_by_its_pieces(tmp_path: Path) -> None:
    of = words(tmp_path, CHINESE)
    assert not of.is_foreign("请假需要主管批准")
    assert of.is_foreign("What is the price of demurrage in the terminal?")
    assert words(tmp_path / "english").is_foreign("请假需要主管批准")
    assert named(of, "请假需要什么手续？") == []  # pieces are no words to name
    assert of.correct_spelling("请假需要什么手续？") == "请假需要什么手续？"
    assert "员工" not in (tmp_path / WORDS_NAME).read_text(encoding="utf-8")


def test_without_the_file_nothing_is_unknown(tmp_path: Path) -> None:
    lexical, _ = built(tmp_path, WORD_TEXTS)
    (tmp_path / WORDS_NAME).write_bytes(b"\xff")
    with pytest.raises(IndexDamaged, match="words"):
        Words(tmp_path, lexical, WHOLE.__contains__)
    (tmp_path / WORDS_NAME).unlink()
    silent = Words(tmp_path, lexical, WHOLE.__contains__)
    assert silent.find_unknown("GC-999 llama") == ()
    assert silent.correct_spelling("pirce") == "pirce"


# Languages


GERMAN = "Der Urlaub wird im Portal beantragt und von der Leitung genehmigt. Wer krank ist, meldet sich."


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Les congés sont demandés dans le portail et accordés par la direction de votre service.", "French"),
        ("พนักงานต้องขอลาในระบบล่วงหน้าสามวัน", "Thai"),
        ("GC-409: 12.50", ""),
        ("", ""),
    ],
)
def test_the_language_of_a_text(text: str, language: str) -> None:
    assert detect_language([text]) == language


@pytest.mark.parametrize(
    ("question", "languages"),
    [
        ("Bis wann muss ich das machen?", {"German"}),
        ("Ile dni przed urlopem muszę złożyć wniosek?", {"Polish"}),
        ("When is the permit due?", {"English"}),
        ("permit fee 2024 GC-409 a", {"English"}),
        ("permit fee 2024 GC-409", set()),
        ("", set()),
    ],
)
def test_the_language_of_a_question_is_that_of_its_function_words(question: str, languages: set[str]) -> None:
    assert languages_of(question) == languages


def test_a_few_whole_texts_in_another_language_are_noticed() -> None:
    english = ["The leave is asked for in the portal, and it will be granted.", "Der Titel: a name in an English text."]
    assert other_languages([*english * 50, GERMAN], "English") == {"German"}
    assert other_languages(english, "English") == frozenset()


def test_stop_words_are_those_of_the_language() -> None:
    assert {"der", "und", "wann"} <= set(load_stop_words("German"))
    assert {"the", "i"} <= set(load_stop_words(""))
    assert load_stop_words("Thai") == []


def test_the_shares_are_those_of_the_texts() -> None:
    shares = language_shares([GERMAN] * 300 + ["The leave is asked for in the portal, and it will be granted."] * 100)
    assert shares["German"] == pytest.approx(0.75, abs=0.01)
    assert shares["English"] == pytest.approx(0.25, abs=0.01)
