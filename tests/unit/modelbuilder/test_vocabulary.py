"""The vocabulary file: read with suspicion, packed the same way each time, found again token by token."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path

import pytest

from knowledge.bpe import Vocabulary
from modelbuilder.__main__ import main
from modelbuilder.vocabulary import pack, read_tokens
from modelbuilder.weights import WeightsError

TOKENS = (b"\x00", b"a", b"b", b"\n", b"ab", b"aba", b"a" * 128)


def write_source(path: Path, tokens: Sequence[bytes], *, first_rank: int = 0) -> str:
    """Write a file as Qwen publishes it, last rank first; return its sha256."""
    lines = [b"%s %d\n" % (b64encode(token), rank) for rank, token in enumerate(tokens, first_rank)]
    content = b"".join(reversed(lines))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return hashlib.sha256(content).hexdigest()


def test_the_tokens_come_by_rank_wherever_the_file_is(tmp_path: Path) -> None:
    sha256 = write_source(tmp_path / "dashscope" / "resources" / "qwen.tiktoken", TOKENS)
    assert read_tokens(tmp_path, sha256=sha256) == TOKENS


def test_every_token_is_found_in_what_is_packed_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "v.bpe"
    path.write_bytes(pack(TOKENS))
    vocabulary = Vocabulary(path)
    assert [vocabulary.rank(token) for token in TOKENS] == list(range(len(TOKENS)))
    assert [vocabulary.rank(other) for other in (b"", b"c", b"ba", b"a" * 127, b"a" * 129)] == [None] * 5


def test_packing_gives_the_same_bytes_each_time() -> None:
    # Header, 16 slots, 8 offsets, the tokens themselves
    assert len(pack(TOKENS)) == 16 + 4 * 16 + 4 * 8 + sum(map(len, TOKENS))
    assert pack(TOKENS) == pack(list(TOKENS))


def test_no_vocabulary_is_said(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match=r"expected one 'qwen\.tiktoken' below this folder, found 0"):
        read_tokens(tmp_path)


def test_an_altered_vocabulary_is_refused(tmp_path: Path) -> None:
    write_source(tmp_path / "qwen.tiktoken", TOKENS)
    with pytest.raises(WeightsError, match=r"qwen\.tiktoken: sha256 is \w{64}, expected b2b1b8df"):
        read_tokens(tmp_path)


@pytest.mark.parametrize("content", [b"YQ== 0\nYg== 2\n", b"YQ==\n", b"YQ== x\n", b"Y 0\n"])
def test_a_list_with_gaps_or_of_another_form_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "qwen.tiktoken").write_bytes(content)
    with pytest.raises(WeightsError, match="not a list of tokens with the ranks from 0 on"):
        read_tokens(tmp_path, sha256=hashlib.sha256(content).hexdigest())


def test_a_build_without_the_vocabulary_fails_with_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = Path(__file__).parents[3] / ".cache" / "weights"
    if not weights.exists():
        pytest.skip("the weights are not unpacked in .cache/weights; `make model` does it")
    # Given the weights of the embedding model alone, as a cache from before has them
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "minilm").symlink_to(next(weights.rglob("model.safetensors")).parent)
    status = main(["--weights", str(tmp_path / "weights" / "minilm"), "--out", str(tmp_path / "out")])
    assert status == 1
    assert capsys.readouterr().err.endswith("expected one 'qwen.tiktoken' below this folder, found 0\n")
    assert not (tmp_path / "out").exists()
