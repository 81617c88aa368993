"""documents.yaml: what is read of configurations that strangers wrote, and what it cannot be made to do."""

import pytest

from documents import yaml


def test_values_are_their_text_but_for_truth_and_nothing() -> None:
    text = (
        "version: 1.10\nfrom: 2024-03-01\nmode: 0101\nno: NO\npretty: false\nstrict: True\nempty:\nlist: [1, true, ~]\n"
    )

    assert yaml.load(text) == {
        "version": "1.10",
        "from": "2024-03-01",
        "mode": "0101",
        "no": "NO",
        "pretty": False,
        "strict": True,
        "empty": None,
        "list": ["1", True, None],
    }


def test_tags_make_nothing_and_the_first_of_equal_keys_counts() -> None:
    text = (
        "emoji: !!python/name:material.extensions.emoji.twemoji\n"
        "site_url: !ENV [SITE_URL, https://port.example]\n"
        "run: !!python/object/apply:os.system {args: [id]}\n"
        "site_name: Port\nsite_name: Harbour\n"
    )

    assert yaml.load(text) == {
        "emoji": "",
        "site_url": ["SITE_URL", "https://port.example"],
        "run": {"args": ["id"]},
        "site_name": "Port",
    }


def test_aliases_expand_to_nothing() -> None:
    lists = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 40))
    merged = "b0: &b0 {x: y}\n" + "".join(f"b{n}: &b{n} {{<<: [*b{n - 1}, *b{n - 1}]}}\n" for n in range(1, 40))

    read_lists, read_merged = yaml.load(lists), yaml.load(merged)

    assert isinstance(read_lists, dict)
    assert isinstance(read_merged, dict)
    assert len(read_lists["a39"]) == 9
    assert list(read_merged["b39"]) == ["<<"]


@pytest.mark.parametrize("text", ["a: [", "[" * 60 + "]" * 60, "a: \0", "? !!bool maybe\n: 1\n", "--- 1\n--- 2\n"])
def test_what_is_no_yaml_is_a_value_error_of_one_line(text: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is the library's
        yaml.load(text)

    assert "\n" not in str(caught.value)
