"""rag.stages.gate.exact_words: which questions hang on exact words, and which texts hold them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.stages.gate.exact_words import MAX_PARTS, ExactWords, exact_words, holds


def wanted(question: str) -> ExactWords:
    found = exact_words(question)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("question", "phrases", "words", "codes"),
    [
        ("SSO", {"SSO"}, set(), set()),
        ("Is SSO available?", {"SSO"}, set(), set()),
        ("What's SSO?", {"SSO"}, set(), set()),
        ('"Copy last week"', {"Copy last week"}, set(), set()),
        ("“Copy last week”", {"Copy last week"}, set(), set()),
        ("Ctrl+Alt+T", {"Ctrl+Alt+T"}, set(), set()),
        ("Retry-After", {"Retry-After"}, set(), set()),
        ("CHR-1042", {"CHR-1042"}, set(), {"CHR-1042"}),
        ("CHR 1042", {"CHR 1042"}, set(), {"CHR 1042"}),
        ("ＣＨＲ－１０４２", {"CHR-1042"}, set(), {"CHR-1042"}),
        ("What does error ERR-4711 mean?", {"ERR-4711"}, {"error"}, {"ERR-4711"}),
        ("WHAT DOES ERR-4711 MEAN", {"err-4711"}, set(), {"err-4711"}),
        ("form CL-17", {"CL-17"}, {"form"}, {"CL-17"}),
        ("SOC 2 Type II", {"SOC 2", "II"}, {"type"}, {"SOC 2"}),
        ("member.role_changed", {"member.role_changed"}, set(), set()),
        ("billing@chronolog.example", {"billing@chronolog.example"}, set(), set()),
        ("API keys", {"API"}, {"key"}, set()),
        ("api keys", set(), {"api", "key"}, set()),
        ("Does it work with Okta?", set(), {"okta"}, set()),
        ("integrate with jira", set(), {"integr", "jira"}, set()),  # "with" only links keywords
        ("export to the calendar", set(), {"export", "calendar"}, set()),
        ("holidays 2027", {"2027"}, {"holiday"}, set()),  # a year is paraphrased: "next year"
    ],
)
def test_what_must_be_held(question: str, phrases: set[str], words: set[str], codes: set[str]) -> None:
    found = wanted(question)
    assert (set(found.phrases), found.words, found.codes) == (phrases, words, codes)


@pytest.mark.parametrize(
    "question",
    [
        "How do I start a timer?",
        "What time is it in Sydney?",
        "who can approve my timesheet",
        "can I export to excel",
        "Our script gets E-429 from the API, how long should it wait?",  # long: words shared are weak evidence
        "HOW DO I START A TIMER?",
        "vacation days carry over next year",
        "",
        "?!",
        '""',
        "what is it",
        "help",
        "hello",
        "yes please",
        f'"{"many words " * 12}more"',
    ],
)
def test_questions_that_hang_on_their_meaning(question: str) -> None:
    assert exact_words(question) is None


@pytest.mark.parametrize(
    ("question", "plain", "single"),
    [
        ("kiosk", True, True),
        ("Okta", True, True),
        ("reverse charge", True, False),
        ("Retry-After", True, True),
        ("SSO", False, True),
        ("CHR-1042", False, True),
        ("SAML login", False, False),
    ],
)
def test_plain_keywords_are_told_from_codes_and_names(question: str, plain: bool, single: bool) -> None:
    assert (wanted(question).plain, wanted(question).single) == (plain, single)


@pytest.mark.parametrize(
    ("question", "alone"),
    [
        ("CHR-9999", True),
        ("CHR 9999", True),
        ("What does CHR-9999 mean?", True),
        ("error CHR-9999", True),
        ("fixing errors: E-999", True),
        ("unknown status code E-9999", True),
        ("Forms CL-98, CL-99", True),
        ("SOC 9 Type II", True),
        ("page A4 2027", True),
        ("Does it support IPv6?", True),
        ("API E-999", True),
        ("weekly report W45", False),
        ("Q3 report export", False),
        ("hourly rate EUR 50", False),
        ("export CSV 3 reports", False),
        ("iPhone15 mobile app timer", False),
        ("invoice PDF A4", False),
        ("VAT Q4", False),
        ('"Copy last week" W45', False),
        ("SSO", False),
        ("holidays 2027", False),
    ],
)
def test_whether_codes_are_all_that_is_asked_about(question: str, alone: bool) -> None:
    assert wanted(question).codes_alone is alone


def test_without_incidental_codes_the_rest_must_be_held_as_plain_words() -> None:
    left = wanted("invoice PDF A4").without({"A4"})
    assert left == ExactWords(phrases=("PDF",), words=frozenset({"invoic"}), codes=frozenset(), plain=True)
    assert left.held_by("Invoices are PDF files.")


@pytest.mark.parametrize(
    ("question", "text", "held"),
    [
        ("CHR 1042", "It is refused with `CHR-1042`.", True),
        ("CHR-1042", "See CHR 1042", True),
        ("chr-1042", "See CHR-1042", True),
        ("CHR-1042", "See CHR-10421", False),
        ("CHR-1042", "CHR-4003 and 1042 others", False),
        ("Ctrl+Alt+Z", "`Ctrl+Alt+T` starts it, Z undoes it", False),
        ("Retry-Before", "the header Retry-After; try to retry. Before noon", False),
        ("Ctrl+Alt+T", "press Ctrl + Alt + T", True),
        ("member.role_changed", "`member.role_changed`", True),
        ("SSO", "With **SSO only**, passwords stop", True),
        ("SSO", "Missouri: SSOs", False),
        ('"Copy last week"', "**Copy last week** repeats", True),
        ('"Copy last week"', "copy the last week", False),
        ("API keys", "An API key is made by an admin", True),
        ("SAML login", "SAML for the logins of all", True),
        ("SAML login", "SAML for all", False),
        ("log-in", "the login page", True),
        ("Plan D", "Plans A, B and D", True),
        ("Plan D", "Plans A, B and E", False),
        ("C++", "The C++ SDK", True),
        ("C++ SDK", "The C# SDK", False),
        ("C# SDK", "the SDK for C#", True),
    ],
)
def test_whether_a_text_holds_all_of_it(question: str, text: str, held: bool) -> None:
    assert wanted(question).held_by(text) is held


def test_what_no_text_holds_is_missing() -> None:
    assert wanted("CHR-1042 CHR-9999").missing_from(["CHR-1042 here", "CHR 1043 there"]) == ("CHR-9999",)


@given(st.text(st.sampled_from("aB1 -+_'é中"), max_size=40))
def test_any_question_holds_itself(question: str) -> None:
    found = exact_words(question)
    assert found is None or found.held_by(question)


def test_ten_thousand_characters_are_no_trap() -> None:
    for text in ("a." * 5_000, "A1-" * 3_000, '"' * 10_000, '"a ' * 3_000, "CHR " * 2_500, "a" * 10_000 + "!"):
        found = exact_words(text)
        assert found is None or not found.held_by("nothing of it")
    assert not holds("a " * 20_000, " ".join("a" * MAX_PARTS) + " b")
