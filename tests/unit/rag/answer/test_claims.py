"""rag.answer.claims: an answer cut into what it states, each statement with its own citations."""

import pytest
from fakes import make_hit
from hypothesis import given
from hypothesis import strategies as st

from rag.answer.citation_forms import CitationForm, IdForm, SourceForm
from rag.answer.claims import AnswerClaim, split_claims
from rag.answer.parse import parse_markdown
from rag.answer.references import ReferenceResolver
from rag.answer.render import render_markdown
from rag.answer.tree import Cite, ClaimSpan, Tree, walk

IDS = IdForm()
HITS = tuple(make_hit(number=number, url=f"https://example.org/{number}") for number in (1, 2, 3))


def resolved(answer: str, form: CitationForm = IDS) -> Tree:
    return ReferenceResolver(form, HITS)(parse_markdown(answer, form))


def made(answer: str, form: CitationForm = IDS) -> tuple[Tree, list[AnswerClaim]]:
    return split_claims(resolved(answer, form))


def stated(answer: str) -> list[tuple[str, list[int]]]:
    """Each statement with the chunks that it cites."""
    return [(claim.markdown, [cite.chunk for cite in claim.cites]) for claim in made(answer)[1]]


def shared(answer: str) -> list[list[int]]:
    return [[cite.chunk for cite in claim.cites or claim.shared_cites] for claim in made(answer)[1]]


@pytest.mark.parametrize(
    "answer",
    [
        "The import permit takes five working days [id_1]. It costs ninety dollars and is paid in cash [id_2].",
        "The import permit takes five working days. [id_1] It costs ninety dollars and is paid in cash. [id_2]",
        "[id_1] The import permit takes five working days.\n\nIt costs ninety dollars and is paid in cash. [id_2]",
    ],
)
def test_a_mark_belongs_to_the_statement_that_it_stands_in_or_behind(answer: str) -> None:
    assert stated(answer) == [
        ("The import permit takes five working days.", [1]),
        ("It costs ninety dollars and is paid in cash.", [2]),
    ]


def test_a_mark_at_a_full_stop_ends_its_sentence_however_short() -> None:
    assert stated("Order 5 kg [id_1]. less is bad [id_2].") == [("Order 5 kg.", [1]), ("less is bad.", [2])]
    assert stated("Order 5 kg of it. [id_1] [id_2] Enjoy!") == [("Order 5 kg of it.", [1, 2]), ("Enjoy!", [])]
    assert stated("Order 5 kg etc. [id_1] and be glad.") == [("Order 5 kg etc. and be glad.", [1])]


def test_code_and_links_are_cut_nowhere_and_a_block_of_code_is_a_statement() -> None:
    answer = "Set `a. B = 1` in [the file. Its name](https://x.org) is known to everybody in the office [id_1]."
    assert len(stated(answer)) == 1
    assert [(claim.kind, claim.plain) for claim in made("```\nrm x\nls\n```\n")[1]] == [("code", "rm x\nls")]


def test_what_introduces_a_list_is_part_of_its_items_and_a_question_states_nothing() -> None:
    items = "1. Open the renewal form [id_2].\n2. Pay ninety dollars."
    assert stated(f"To renew a permit [id_1]:\n\n{items}\n\nWould you like more?") == [
        ("To renew a permit: Open the renewal form.", [1, 2]),
        ("To renew a permit: Pay ninety dollars.", [1]),
    ]
    _, nested = made("1. **Kicking:**\n   - The pitcher rolls the ball.\n2. Out:\n   - A caught ball.")
    assert [claim.plain for claim in nested] == ["Kicking: The pitcher rolls the ball.", "Out: A caught ball."]


def test_each_cell_of_a_row_is_a_node_of_one_statement_with_the_header() -> None:
    tree, claims = made("## Fees\n\n| Permit | Fee |\n|---|---|\n| import | 90 [id_1] |\n| export | 40 |")
    assert [(claim.markdown, claim.plain, [cite.chunk for cite in claim.cites]) for claim in claims] == [
        ("Permit Fee import 90", "import 90", [1]),
        ("Permit Fee export 40", "export 40", []),
    ]
    assert [node.number for node in walk(tree) if isinstance(node, ClaimSpan)] == [0, 0, 1, 1]


OPENS = "The office opens at half past eight on weekdays and at ten on other days."


@pytest.mark.parametrize(
    "alone", ["# The import permit takes five days [id_1]", "Does the permit take five days? [id_1]", "**Weekdays**"]
)
def test_a_heading_a_line_in_bold_and_a_question_state_nothing_beside_other_words(alone: str) -> None:
    assert stated(f"{alone}\n\n{OPENS}") == [(OPENS, [])]


def test_a_question_alone_is_held_to_account_and_a_short_answer_with_its_question() -> None:
    assert stated("Does the permit take five days? [id_1]") == [("Does the permit take five days?", [1])]
    asked = "Does the import permit take five days?"
    (claim,) = split_claims(parse_markdown("Yes."), question=asked)[1]
    assert (claim.markdown, claim.plain) == ("Yes.", f"{asked} Yes.")


def test_what_cites_nothing_means_what_its_neighbours_cite() -> None:
    prose = "It takes five working days in most cases. It costs ninety dollars and is paid in cash. Pay at the port"
    assert shared(f"{prose} or at home [id_3].\n\nBring your passport.") == [[3], [3], []]
    rows = "| What | Days |\n|---|---|\n| Air | 2 |\n| Sea | 9 [id_3] |\n"
    assert shared(f"Bring these:\n\n- the signed invoice\n- the packing list [id_2]\n\n{rows}") == [[2], [2], [3], [3]]


@pytest.mark.parametrize("sources", ["[id_1] [id_2]", "Sources:\n- [id_1]\n- [id_2]", "**Sources:** [id_1], [id_2]"])
def test_sources_named_in_the_end_are_meant_by_all_before_and_state_nothing(sources: str) -> None:
    answer = f"It costs ninety dollars and is paid in cash.\n\n- Bring the invoice [id_3]\n\n{sources}"
    assert shared(answer) == [[1, 2], [3]]


def test_a_link_is_read_as_what_it_says_and_a_list_of_links_names_sources() -> None:
    page = "[the fee table](https://example.org/1)"
    (claim,) = made(f"See {page} of the office.", SourceForm(0.5))[1]
    assert (claim.plain, claim.cites[0].chunk) == ("See the fee table of the office.", 1)
    (claim,) = made(f"It costs ninety dollars and is paid in cash.\n\nSources:\n- {page}", SourceForm(0.5))[1]
    assert (claim.plain, claim.shared_cites[0].chunk) == ("It costs ninety dollars and is paid in cash.", 1)


BYE = "Bye bye to you and to your friends and"


@pytest.mark.parametrize(
    ("answer", "statements"),
    [
        (f"{BYE} all! {OPENS} {BYE} all!", [OPENS]),
        (f"{OPENS} {BYE} all! {OPENS}", None),
        (f"{OPENS} {BYE} all [id_1]!", None),
        (f"{OPENS} {BYE} 9!", None),
        (f"{OPENS} {BYE} Anna!", None),
        (f"{OPENS} {BYE} `all`!", None),
        (f"Bye bye. {OPENS}", None),
        (f"{BYE} all!", None),
        (f"{BYE} all:\n\n{OPENS}", [OPENS]),
        (f"{BYE} all:\n\n- {OPENS}", None),
    ],
)
def test_courtesies_in_front_and_behind_state_nothing(answer: str, statements: list[str] | None) -> None:
    tree = resolved(answer)
    found = split_claims(tree, is_courtesy=lambda sentence: sentence.startswith("Bye bye"))[1]
    assert [claim.markdown for claim in found] == (statements or [claim.markdown for claim in split_claims(tree)[1]])


PIECES = [
    "Pay. ", "Is it so", "[id_1]", " [id_2]", "\n\n", "\n", "- ", "Open it", "| a |\n|---|\n", "# ", "```\n", "?", "**",
    ":",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
def test_cutting_loses_no_word_and_no_citation(answer: str) -> None:
    tree = resolved(answer)
    marked, claims = split_claims(tree)
    assert render_markdown(marked).text == render_markdown(tree).text
    cited, before = ([node.chunk for node in walk(one) if isinstance(node, Cite)] for one in (marked, tree))
    assert cited == before
    numbers = {node.number for node in walk(marked) if isinstance(node, ClaimSpan)}
    assert {claim.number for claim in claims} <= numbers
