"""same_question: which questions may share an answer, on labelled pairs and on pairs made to be confused."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.embedding import DEFAULT_MODEL_DIR, MiniLM
from rag.stages.cache.same_question import may_share_answer

REPOSITORY = Path(__file__).parents[5]
LABELLED = REPOSITORY.parent / "shared" / "data" / "covid_faq" / "eval_question_similarity_en.csv"

DIFFERENT = """
What is the deadline for 2023 reports? | What is the deadline for 2024 reports?
How do I add a collaborator? | How do I remove a collaborator?
Can I edit a submitted report? | Can I not edit a submitted report?
Do I need a permit to import wine into Malaysia? | Do I need a permit to import wine into Indonesia?
do i need a permit to import wine into malaysia | do i need a permit to import wine into indonesia
Do I need a permit to import wine? | Do I need a permit to export wine?
How do I ship from Singapore to Rotterdam? | How do I ship from Rotterdam to Singapore?
Which shipments are covered with insurance? | Which shipments are covered without insurance?
When can I submit my report? | When must I submit my report?
When was the policy changed? | When will the policy be changed?
How much is the fee? | How many fees are there?
How long is the training? | How often is the training?
Who approves travel requests? | When are travel requests approved?
Does stress cause headaches? | Do headaches cause stress?
What is the maximum claim? | What is the minimum claim?
Can I pay before the due date? | Can I pay after the due date?
Is registration required for staff? | Is registration required for students?
How do I turn on notifications? | How do I turn off notifications?
What does the WHO recommend? | What does who recommend?
Can I enter the US? | Can I enter?
How many days of sick leave do I get? | How many days of annual leave do I get?
Can I export the report as PDF? | Can I export the report as CSV?
What is the rate for a 20 foot container? | What is the rate for a 40 foot container?
What is the rate for 1.5 tonnes? | What is the rate for 15 tonnes?
Is it possible to be refunded? | Is it impossible to be refunded?
What is the first step? | What is the second step?
What is the best carrier to Japan? | What is the carrier to Japan?
Are only managers allowed to approve? | Are managers allowed to approve?
Can all users see reports? | Can some users see reports?
Must I attend the training? | May I attend the training?
Is the office open today? | Is the office open tomorrow?
How do I get a refund? | How do I refund?
Can I pay more than 500 dollars? | Can I pay less than 500 dollars?
Can I book A or B? | Can I book A and B?
Who pays the seller? | Who does the seller pay?
Which ports are not served? | Which ports are served?
Why can't I log in? | Why can I log in?
Is a 5% discount given? | Is a $5 discount given?
What is IT security? | What is security?
Can I work for OIT? | Can I work with OIT?
What is an import permit? | Who issues an import permit?
Is the internal policy public? | Is the international policy public?
Where do I find the contract? | Where do I find the contractor?
Does the employer pay for training? | Does the employee pay for training?
Is -5 degrees ok? | Is 5 degrees ok?
Is A- enough? | Is A enough?
Is a- enough? | Is a enough?
Is a C permit enough? | Is a C+ permit enough?
Do I need vitamin A? | Do I need a vitamin?
Is hepatitis a rare? | Is hepatitis rare?
Is the fee paid by us? | Is the fee paid to us?
Is the form for her? | Is the form from her?
How long may I keep it? | How long must I keep it?
How many days can I take? | How many days must I take?
How much can I spend? | How much must I spend?
How must I store it? | How can I store it?
Should I report a gift? | Must I report a gift?
What can I bring? | What must I bring?
What can I bring? | What do I bring?
When can I submit my report? | When do I submit my report?
Could he vote? | Can he vote?
Do I have to sign for them? | Do they have to sign for me?
Can she approve it for him? | Can he approve it for her?
Who should I tell? | Who should tell me?
Who do I report to? | Who reports to me?
Who pays me? | Who do I pay?
Do they pay me? | Do I pay them?
Can I use it? | Can I be used?
How are volunteers paid? | How do volunteers pay?
How do you handle complaints? | How do I handle complaints?
Does her manager approve? | Does the manager approve her?
Can I edit my activity? | Can I edit her activity?
Can I see my salary? | Can I see their salary?
Can I use this form? | Can I use that form?
Is marketing open on Monday? | Is the market open on Monday?
Where is the parking? | Where is the park?
How do I book a train? | How do I book training?
How do I cancel my plan? | How do I cancel my plane?
What is the state budget? | What is the stats budget?
Is smoking allowed? | Is smoke allowed?
How do I handle customs? | How do I handle custom?
Is Mr. Williams in? | Is Mr. William in?
Can I mail the form? | Can I email the form?
Has the policy changed? | Does the policy change?
What time does the office open? | When does the office open?
What time does the office open? | What day does the office open?
Are few volunteers paid? | Are a few volunteers paid?
Are you able to ship to Japan? | Are you allowed to ship to Japan?
Do I report if I need to leave? | Must I report if I leave?
Do I not have to report? | Must I not report?
What does a red light mean? | What is a red light?
Does the deadline of the grant change? | Does the grant change the deadline?
Can I bring a bottle of wine? | Can I bring a wine bottle?
What happens if I have an accident? | What happens when I have an accident?
Are you open Mon-Fri? | Are you open Mon, Fri?
Does the plan cover Q1 - Q3? | Does the plan cover Q1, Q3?
Is a 6′ pipe allowed? | Is a 6″ pipe allowed?
Is 10² the limit? | Is 102 the limit?
Is 1½ the limit? | Is 11 2 the limit?
"""
SAME = """
What is the deadline? | What's the deadline?
What is the deadline of the travel grant? | What is the travel grant deadline?
How do I add collaborators? | How can I add a collaborator?
How do I add a collaborator? | Please tell me how to add a collaborator
Can't I edit a report? | Can I not edit a report?
Am I allowed to edit reports? | Can I edit a report?
Could you please tell me who approves travel requests? | Who approves travel requests?
Who's the dean? | Who is the dean?
What can I do to protect my files? | How can I protect my files?
Do I have to attend the training? | Must I attend the training?
how do i reset my password | How do I reset my password?
What is the cost of shipping? | What is the shipping price?
How can I purchase a licence? | How do I buy a licence?
Do you ship to the USA? | Do you ship to the US?
How do I send an e-mail? | How do I send an email?
How do I send e-mails? | How do I send an e mail?
Is a 6" pipe allowed? | Is a 6″ pipe allowed?
What does demurrage mean? | What is demurrage?
Is it possible to amend a bill of lading? | Can I amend a bill of lading?
How many days may I take? | How many days can I take?
Where can I renew my certificate? | Where do I renew my certificate?
Is 5 % allowed? | Is 5% allowed?
Are volunteers covered on field trips? | Is a volunteer covered on a field trip?
Must I wait two days? | Do I need to wait 2 days?
"""


def pairs(text: str) -> list[tuple[str, str]]:
    rows = (line.split("|") for line in text.strip().splitlines())
    return [(a.strip(), b.strip()) for a, b in rows]


@pytest.mark.parametrize(("a", "b"), pairs(DIFFERENT))
def test_what_may_not(a: str, b: str) -> None:
    assert not may_share_answer(a, b)
    assert not may_share_answer(b, a)


@pytest.mark.parametrize(("a", "b"), pairs(SAME))
def test_what_may(a: str, b: str) -> None:
    assert may_share_answer(a, b)
    assert may_share_answer(b, a)


@pytest.mark.parametrize(("a", "b"), pairs(SAME))
def test_spelling_makes_no_difference(a: str, b: str) -> None:
    for other in (b.rstrip("?"), f"  {b}!", b.replace("'", "\u2019"), b.replace(" ", "\n ")):
        assert may_share_answer(a, other)


@given(st.text())
def test_a_question_and_itself_may(text: str) -> None:
    assert may_share_answer(text, text)


@given(st.sampled_from(pairs(SAME)), st.integers(0, 10**6), st.integers(0, 10**6))
def test_another_number_never_may(pair: tuple[str, str], one: int, other: int) -> None:
    assert one == other or not may_share_answer(f"{pair[0]} {one}", f"{pair[1]} {other}")


@given(st.sampled_from(pairs(SAME)))
def test_a_negation_on_one_side_never_may(pair: tuple[str, str]) -> None:
    assert not may_share_answer(pair[0], f"{pair[1].rstrip('?')} not?")


def test_the_labelled_pairs_of_covid_faq() -> None:
    if not LABELLED.exists():
        pytest.skip("covid_faq is not there: labelled pairs of questions")
    if not (DEFAULT_MODEL_DIR / "model.onnx").exists():
        pytest.skip("the model is not built: make model")
    with LABELLED.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    embedder = MiniLM()
    near = []
    for row in rows:
        first, second = embedder.embed([row["question_1"], row["question_2"]])
        if float(first @ second) >= 0.90:
            near.append((row["similar"] == "1", may_share_answer(row["question_1"], row["question_2"])))
    # docs/benchmarks.md: so few is the price of none that is wrong.
    assert (len([1 for similar, _ in near if similar]), sum(hit for similar, hit in near if similar)) == (37, 5)
    wrong = [row for row in rows if row["similar"] == "0" and may_share_answer(row["question_1"], row["question_2"])]
    assert [row for row in wrong if row["question_1"] != row["question_2"]] == []
