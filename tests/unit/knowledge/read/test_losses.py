"""The guard: a document whose words are not those of its file is named with both numbers and what is left out."""

import pytest

from knowledge.read.losses import WordLoss, find_loss

TEXT = " ".join(f"Word{number:03}" for number in range(100))
TABLE = "\n".join(f"| Machine {row} | {' '.join(f'cell{row}x{n}' for n in range(20))} |" for row in range(10))


def test_what_is_left_out_is_named_by_its_longest_run() -> None:
    indexed = TEXT.replace(" ".join(f"Word{number:03}" for number in range(30, 55)), "")
    excerpt = "Word030 Word031 Word032 Word033 Word034 Word035 Word036 Word037 Word038 Word039"
    assert find_loss(TEXT, indexed) == WordLoss(100, 75, excerpt)
    assert WordLoss(2072, 91, "Web Vault").describe() == "has 2,072 words, of which 91 are indexed; left out: Web Vault"


def test_what_stands_several_times_is_named() -> None:
    loss = find_loss(TEXT, "\n".join([TEXT] * 4))
    assert loss is not None
    assert (loss.source, loss.indexed, loss.excerpt[:15]) == (100, 400, "word000 word001")
    assert loss.describe().startswith("has 100 words, of which 400 are indexed; stands several times: word000 ")


@pytest.mark.parametrize(
    ("plain", "indexed", "caveats"),
    [
        (TEXT, TEXT.lower()[:-150], ()),  # 81 of 100 words
        (TEXT[:-410], "", ()),  # 49 words
        (TEXT, TEXT[:-400], ("left out as hidden: 40 words",)),
        (TEXT.replace("Word050", "Wo-\nrd050"), TEXT.replace(" ", "](https://web.test/a-long-way/to/it) "), ()),
        (TABLE, "\n".join(f"| Machine {n} | Make and model {n} | {TABLE.splitlines()[n]}" for n in range(10)), ()),
        (TEXT, TEXT + TABLE, ()),  # an included file
    ],
)
def test_furniture_short_files_hidden_text_addresses_and_key_columns_are_no_loss(
    plain: str, indexed: str, caveats: tuple[str, ...]
) -> None:
    assert find_loss(plain, indexed, caveats) is None
