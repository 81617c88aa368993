"""TokenCounter: Qwen's counts to the token, others never below what was measured, and nothing loaded before."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from knowledge.errors import ModelMissing
from knowledge.token_count import DEFAULT_VOCABULARY, FAMILIES, TokenCounter, family_of

REPOSITORY = Path(__file__).parents[3]
ROWS: list[dict[str, Any]] = json.loads((REPOSITORY / "tests/golden/qwen_tokens.json").read_text("utf-8"))["rows"]
PROSE: str = ROWS[0]["text"]

AT_A_JOINT = 4
"""Tokens more that a whole may have than its parts: one piece of it is split otherwise than before."""


@pytest.fixture(scope="module")
def qwen() -> TokenCounter:
    return TokenCounter(lambda: "qwen2.5:32b")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row["kind"]))
def test_qwens_counts_are_exact(qwen: TokenCounter, row: dict[str, Any]) -> None:
    assert qwen.count(row["text"]) == max(row["tokens"], row["tokensAsIs"])


@given(text=st.text(max_size=200))
@example("\u0f76")  # two tokens for each of its three bytes: it has no composed form
def test_a_token_is_at_least_a_byte(qwen: TokenCounter, text: str) -> None:
    most = max(len(form.encode()) for form in (text, normalize("NFC", text)))
    assert (len(text) > 0) <= qwen.count(text) <= most


@given(left=st.text(max_size=60), right=st.text(max_size=60))
def test_a_whole_has_no_more_tokens_than_its_parts_but_for_the_joint(qwen: TokenCounter, left: str, right: str) -> None:
    assert qwen.count(left + right) <= qwen.count(left) + qwen.count(right) + AT_A_JOINT


def test_a_lone_surrogate_counts(qwen: TokenCounter) -> None:
    assert 1 <= qwen.count("\ud800") <= 3


def test_special_tokens_in_a_text_are_its_characters(qwen: TokenCounter) -> None:
    assert qwen.count("<|im_start|>") > 1


@pytest.mark.parametrize(
    ("model", "ascii_factor"),
    [
        ("qwen2.5:32b", 1),
        ("Qwen/Qwen2.5-7B-Instruct", 1),
        ("qwen3:8b", 1),
        ("QwQ-32B", 1),
        ("qwen3.5:27b", 1.75),
        ("openai/gpt-oss-20b", 1.1),
        ("gpt-4o-mini", 1.1),
        ("o3-mini", 1.1),
        ("llama-3.1-8b-instant", 1.1),
        ("meta-llama/Llama-4-Scout", 1.1),
        ("llama2:13b", 1.75),
        ("mixtral-8x7b-32768", 1.75),
        ("gemma2-9b-it", 1.75),
        ("", 1.75),
    ],
)
def test_a_models_name_tells_its_family(model: str, ascii_factor: float) -> None:
    assert family_of(model).ascii == ascii_factor


def test_the_model_in_use_is_asked_each_time() -> None:
    models = ["qwen2.5:32b"]
    counter = TokenCounter(lambda: models[0])
    exact = counter.count(PROSE)
    models[0] = "openai/gpt-oss-20b"
    assert exact < counter.count(PROSE) <= exact * 1.25


@pytest.mark.parametrize("family", FAMILIES[1:], ids=lambda family: str(family.names.pattern))
def test_other_models_are_counted_by_their_factors_up_to_a_token_a_byte(family: Any) -> None:
    counter = TokenCounter(lambda: "gpt-4o" if family is FAMILIES[1] else "another")
    # Given 6 ASCII pieces of one token each and 7 tokens of two Thai pieces
    assert counter.count("The timer runs while you sleep") == -(-6 * family.ascii // 1)
    thai = "\u0e15\u0e31\u0e27\u0e08\u0e31\u0e1a"
    exact = TokenCounter(lambda: "qwen2").count(thai)
    assert counter.count(thai) == min(len(thai.encode()) + 1, -(-exact * family.other // 1))
    assert counter.count("\u0e15" * 50) <= 151
    assert counter.count("") == 0


def test_models_that_take_three_digits_together_are_counted_so() -> None:
    # Given 123 456 7, 12, 3 and two spaces: 7 tokens where Qwen has 12
    numbers = "1234567 12 3"
    assert TokenCounter(lambda: "qwen2").count(numbers) == 12
    assert TokenCounter(lambda: "gpt-4o").count(numbers) == 8  # 7 x 1.1, rounded up
    assert TokenCounter(lambda: "mixtral").count(numbers) == 13  # a token for each byte, and one


def test_many_threads_count_the_same() -> None:
    counter = TokenCounter(lambda: "qwen2.5:32b")
    texts = [row["text"] for row in ROWS] * 4
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(counter.count, texts)) == [max(row["tokens"], row["tokensAsIs"]) for row in ROWS] * 4


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("knowledge.token_count.REMEMBERED_PIECES", 10)
    counter = TokenCounter(lambda: "qwen2.5:32b")
    assert counter.count(PROSE) == ROWS[0]["tokens"]
    assert len(counter._tokens_of) <= 10


def test_an_absent_vocabulary_is_noticed_when_it_is_needed(tmp_path: Path) -> None:
    counter = TokenCounter(lambda: "qwen2.5:32b", path=tmp_path / "qwen.bpe")
    for use in (counter.warm, lambda: counter.count("x")):
        with pytest.raises(ModelMissing, match=r"qwen\.bpe: No such file or directory\. Run: make model"):
            use()


LAZINESS = """
import re, sys
opened, compiled = [], []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
original = re.compile
re.compile = lambda pattern, *flags: compiled.append(pattern) or original(pattern, *flags)
from knowledge.token_count import TokenCounter
counter = TokenCounter(lambda: "qwen2.5:32b")
seen = lambda: (any(name.endswith("qwen.bpe") for name in opened), any("'ve" in str(text) for text in compiled))
print(seen())
counter.warm()
print(seen())
opened.clear(), compiled.clear()
counter.count("Nothing is loaded twice.")
print(seen(), {"numpy", "onnxruntime", "tokenizers", "tiktoken", "regex"} & set(sys.modules))
"""


def test_the_import_loads_nothing_and_warming_loads_it_once() -> None:
    assert DEFAULT_VOCABULARY.exists()
    probe = subprocess.run([sys.executable, "-c", LAZINESS], capture_output=True, text=True, check=True)
    assert probe.stdout.splitlines() == ["(False, False)", "(True, True)", "(False, False) set()"]
