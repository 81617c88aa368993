"""What is left of a model's text: no reasoning, no control tokens, no turn that it made up, no loop."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.adapters.llm.answer_text import AnswerText
from rag.errors import LlmFailed

FORMS = [
    ("<think>The user asks for X.\n</think>Yes.", "Yes."),
    ("<THINK>a</THINK> <think>b</think> Yes.", "Yes."),
    ("<thinking>a <think> b</thinking>Yes.", "Yes."),
    ("<reasoning>a</reasoning>\n<thought>b</thought>\n\nYes.", "Yes."),
    ("<seed:think>a<seed:cot_budget_reflect>b</seed:cot_budget_reflect></seed:think>Yes.", "Yes."),
    ("<|begin_of_thought|>a<|end_of_thought|>Yes.", "Yes."),
    ("<longcat_think>\na\n</longcat_think>\nYes.", "Yes."),
    ("[THINK]a[/THINK]Yes. [1]", "Yes. [1]"),
    ("\u25c1think\u25b7a\u25c1/think\u25b7Yes.", "Yes."),
    ("<|channel>thought\na<channel|>Yes.<turn|>", "Yes."),
    ("<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>Yes.<|END_RESPONSE|>", "Yes."),
    ("<|inner_prefix|>a<|inner_suffix|>Yes.<|assistant_end|>", "Yes."),
    ("Here is my thought process: a\n\nHere is my response: Yes.", "Yes."),
    ("Sure.\n<think>a</think>\nYes.", "Sure.\n\nYes."),
    (
        "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>Yes.<|return|>"
        "<|start|>user<|message|>More?",
        "Yes.",
    ),
    ("<|channel|>commentary<|message|>a<|end|>\n<|channel|> final <|message|>Yes.", "Yes."),
    ("analysisThe user asks.assistantfinalYes.", "Yes."),
    # The template has opened the block within the prompt.
    ("The user asks for X.\n</think>\n\nYes.", "Yes."),
    ("thought\nThe user asks.<channel|>Yes.", "Yes."),
    # Control tokens.
    ("<|im_start|>assistant\nYes.<|im_end|>\n<|im_start|>user\nMore?", "Yes."),
    ("<|start_header_id|>assistant<|end_header_id|>\n\nYes.<|eot_id|>", "Yes."),
    ("<start_of_turn>model\nYes.<end_of_turn>\n<start_of_turn>user", "Yes."),
    ("<\uff5cAssistant\uff5c>Yes.<\uff5cend\u2581of\u2581sentence\uff5c><\uff5cUser\uff5c>More?", "Yes."),
    ("<|im_end|>Yes.</s>[INST] More?", "Yes."),
    ("<bos>Yes: <|begin_of_box|>5 EUR<|end_of_box|> a<unk> day.<|endoftext|>Next", "Yes: 5 EUR a day."),
    # What an answer says of them, or says in markup, stays.
    ("Reasoning stands in <think>...</think>.", "Reasoning stands in <think>...</think>."),
    ("`<think>` begins it and `</think>` ends it.", "`<think>` begins it and `</think>` ends it."),
    ("So:\n```\n<think>\na\n</think>\n<|im_end|>\n```", "So:\n```\n<think>\na\n</think>\n<|im_end|>\n```"),
    ("It was <s>5</s> 6 EUR.", "It was <s>5</s> 6 EUR."),
    ("<thinker>a</thinker> Yes.", "<thinker>a</thinker> Yes."),
    ("Analysis of a < b and [THING]: Yes.", "Analysis of a < b and [THING]: Yes."),
    ("Here is my response: Yes.", "Here is my response: Yes."),
]
LOOPS = [
    ("I'm sorry. " * 50, "I'm sorry. I'm sorry."),
    (
        "It costs 15 EUR for a single day, per bike [1].\n" * 3 + "And so on",
        "It costs 15 EUR for a single day, per bike [1].",
    ),
    ("".join(f"{n}. In the Storage tab, you can add or delete storage.\n\n" for n in range(1, 9)),
     "1. In the Storage tab, you can add or delete storage."),
    ("- one\n" * 30, "- one\n- one\n- one\n- one\n- one\n- one"),
]  # fmt: skip
NO_LOOPS = [
    "".join(f"It is open from nine to five in week {week}. " for week in range(12)),
    "It costs 15 EUR for a single day, per bike.\n" * 2,
    "\n".join(f"| Day {day} | open from nine to five | closed on public holidays |" for day in range(30)),
    "".join(f'{{{{ path.Clean "{path}" }}}} -> foo/bar\n' for path in ("foo/bar", "/foo/bar", "/foo/bar/", "foo//bar")),
]


def whole(text: str) -> AnswerText:
    answer = AnswerText()
    answer.take(text)
    answer.end()
    return answer


@pytest.mark.parametrize(("text", "answer"), FORMS)
def test_the_answer_is_what_is_left(text: str, answer: str) -> None:
    assert whole(text).text == answer


@pytest.mark.parametrize(
    "text", ["<think>a", "<|channel|>analysis<|message|>a<|end|>", "analysisWe", "<|im_start|>user\nMore?"]
)
def test_reasoning_that_has_no_end_leaves_nothing(text: str) -> None:
    assert whole(text).text == ""


@pytest.mark.parametrize(("text", "answer"), LOOPS)
def test_a_loop_is_cut_before_its_second_time(text: str, answer: str) -> None:
    read = whole(text)
    assert (read.text, read.is_loop, read.has_ended) == (answer, True, True)


@pytest.mark.parametrize("text", NO_LOOPS)
def test_what_is_alike_is_no_loop(text: str) -> None:
    assert whole(text).text == text


PARTS = [
    "<think>", "</think>", "[THINK]", "[/THINK]", "<|channel|>", "analysis", "final", "<|message|>", "<|end|>",
    "<|start|>", "<|im_start|>", "<|im_end|>", "assistant", "user", "<|channel>", "<channel|>", "</s>", "<s>", "`",
    "one two three four five six ", "<", "|", "[", "Here is my ", "<unk>", "<!d", "\n", " ", "Yes.",
]  # fmt: skip


@given(st.sampled_from([text for text, _ in FORMS + LOOPS]) | st.lists(st.sampled_from(PARTS)).map("".join), st.data())
def test_a_stream_gives_the_same_wherever_it_is_cut(text: str, data: st.DataObject) -> None:
    places = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=len(text))))
    answer = AnswerText()
    for start, end in zip([0, *places], [*places, len(text)], strict=True):
        answer.take(text[start:end])
    answer.end()
    read = whole(text)
    assert (answer.text, answer.has_ended, answer.is_loop) == (read.text, read.has_ended, read.is_loop)
    assert (answer.drops > 0) == (read.drops > 0)


@pytest.mark.parametrize("piece", ["x", "-", "<", "<|x|>", "`<|x|>", "one two ", "<think>", "</think>", "analysis"])
def test_the_work_grows_with_the_text_alone(piece: str) -> None:
    answer = AnswerText()
    begun = time.process_time()
    for number in range(8_000):
        answer.take(piece if number % 2 else f"{piece}{number}")
    answer.end()
    assert time.process_time() - begun < 5.0


@pytest.mark.parametrize(
    "text",
    ["<html>\n<head><title>502 Bad Gateway</title>", " <!DOCTYPE html>\n<p>Busy", "<think>a</think><html lang=en>"],
)
@pytest.mark.parametrize("size", [1, 1000])
def test_a_page_is_no_answer(text: str, size: int) -> None:
    answer = AnswerText()
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    with pytest.raises(LlmFailed, match="an HTML page"):
        list(map(answer.take, pieces))
    assert answer.text == ""
