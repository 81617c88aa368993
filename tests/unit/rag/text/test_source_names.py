"""rag.text.source_names: citations that a sentence needs as words."""

from __future__ import annotations

import pytest

from rag.text.source_names import CITED, NAME, NAMED, mark_names, name_sources

ID = CITED + NAMED


@pytest.mark.parametrize(
    ("mark", "names"),
    [
        ("[id_3]", True),
        ("(id_3)", True),
        ("id_3", True),
        ("[ID 3, ID 4]", True),
        ("(see id_3)", True),
        ("[3]", True),
        ("[Import permits > Fees]", True),
        ("[Export]", False),
        ("[Plan 2 export]", False),
        ("(Source: Handbook)", False),
        ("https://a.example/x", False),
    ],
)
def test_which_marks_name_a_source(mark: str, names: bool) -> None:
    assert mark_names(mark) == (ID if names else CITED)


@pytest.mark.parametrize(
    ("line", "named"),
    [
        (f"{ID} does not mention it.", f"{NAME}{CITED} does not mention it."),
        (f"Snippets {ID} and {ID} don't mention it.", f"{NAME}{CITED} don't mention it."),
        (f"The retrieved snippets {ID}, {ID}, and {ID} discuss it.", f"{NAME}{CITED} discuss it."),
        (f"Neither {ID} nor {ID} mentions it.", f"Neither {NAME}{CITED} mentions it."),
        (f"So. {ID} covers it, but {ID} does not.", f"So. {NAME}{CITED} covers it, but {NAME}{CITED} does not."),
        (f"It is not in {ID} or snippet {ID}.", f"It is not in {NAME}{CITED} or snippet {CITED}."),
        (f"None of the sources {ID} say.", f"None of the sources {CITED} say."),
        # Citations beside what they support.
        (f"Press Start {ID} and stop.", f"Press Start {CITED} and stop."),
        (f"The report {ID} does not show it.", f"The report {CITED} does not show it."),
        (f"The documents {ID} do not include a list.", f"The documents {CITED} do not include a list."),
        (f"It is so. {ID} Do it.", f"It is so. {CITED} Do it."),
        (f"{CITED} does not show it.", f"{CITED} does not show it."),
        (f"{ID}", CITED),
        ("", ""),
    ],
)
def test_what_becomes_words(line: str, named: str) -> None:
    assert name_sources(line) == named
