"""The system prompts, set apart, filled up and spelt in many ways: none gets out, whole or streamed.

And no alarm over what others wrote: the samples and public texts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle

import pytest
from attacks.completions import DATA
from attacks.stage import CITED, CONTEXT, MARKS, Heard, pieces
from fakes import decline_of
from faults.tally import tally
from real_model import SAMPLES

from rag.answer.finish import AnswerFinisher
from rag.answer.growing import read_answer
from rag.config.settings import Settings, load
from rag.contract.leak import Leaks
from rag.profiles import PROFILES

SHOWN = 20
"""Words of a prompt that a stream may have shown when it stops: seven long ones, and those between them."""
FRUIT = ("mango", "kiwi", "lemon", "banana", "cherry", "papaya")
PUBLIC = ("clapnq_dev/corpus.jsonl", "clapnq_dev/answers.jsonl", "squad_v11_dev/corpus.jsonl", "covid_faq/corpus.jsonl")

type Dress = Callable[[Sequence[str], str], str]
"""From a prompt's words and a mark of the profile to what a model writes."""


def _filled(words: Sequence[str], fruits: int, every: int = 1) -> str:
    fruit = cycle(FRUIT)
    return " ".join(
        " ".join([word, *(next(fruit) for _ in range(fruits if at % every == 0 else 0))])
        for at, word in enumerate(words)
    )


def _spelt(**letters: str) -> Dress:
    return lambda words, mark: " ".join(words).translate(str.maketrans(dict[str, str | int | None](letters)))


def _shifted(small: int, capital: int) -> Dress:
    table = {code: chr(code - ord("a") + small) for code in range(ord("a"), ord("z") + 1)}
    table |= {code: chr(code - ord("A") + capital) for code in range(ord("A"), ord("Z") + 1)}
    return lambda words, mark: " ".join(words).translate(table)


LEET = str.maketrans("oleastiOLEASTI", "01345710134571")
CYRILLIC = str.maketrans("aeopcyxisjh", "аеорсухіѕјһ")
DRESSES: Mapping[str, Dress] = {
    "plain": lambda words, mark: " ".join(words),
    "marks": lambda words, mark: f" {mark} ".join(words),
    "marks on end": lambda words, mark: mark.join(words),
    "marks of nothing on end": lambda words, mark: "[No such page]".join(words),
    "marks in code": lambda words, mark: f"`{f' {mark} '.join(words)}`",
    "marks in a fence": lambda words, mark: f"```\n{f' {mark} '.join(words)}\n```",
    "escaped marks": lambda words, mark: f" \\{mark} ".join(words),
    "marks in a table": lambda words, mark: "|a|b|\n|-|-|\n" + "\n".join(f"| {word} | {mark} |" for word in words),
    "links": lambda words, mark: " ".join(f"[{word}](https://permits.example/import)" for word in words),
    "a filler a word": lambda words, mark: _filled(words, 1),
    "two fillers": lambda words, mark: _filled(words, 2),
    "a filler every seven words": lambda words, mark: _filled(words, 1, 7),
    "a word in five left out": lambda words, mark: " ".join(word for at, word in enumerate(words) if at % 5),
    "lines": lambda words, mark: "\n".join(words),
    "numbers": lambda words, mark: "\n".join(f"{at}. {word}" for at, word in enumerate(words, 1)),
    "letter by letter": lambda words, mark: " ".join("-".join(word) for word in words),
    "invisible characters": lambda words, mark: " ".join("\u200b".join(word) for word in words),
    "leet": lambda words, mark: " ".join(words).translate(LEET),
    "leet and marks": lambda words, mark: f" {mark} ".join(word.translate(LEET) for word in words),
    "Cyrillic": lambda words, mark: " ".join(words).translate(CYRILLIC),
    "Cyrillic and fillers": lambda words, mark: _filled([word.translate(CYRILLIC) for word in words], 1),
    "Greek": _spelt(a="α", o="ο", i="ι", v="ν", p="ρ", n="η", t="τ"),
    "small capitals": _spelt(a="ᴀ", b="ʙ", d="ᴅ", e="ᴇ", g="ɢ", l="ʟ", m="ᴍ", n="ɴ", r="ʀ", t="ᴛ", u="ᴜ", w="ᴡ"),
    "circles": _shifted(0x1F150, 0x1F150),
    "bold letters": _shifted(0x1D41A, 0x1D400),
    "tags": _shifted(0xE0061, 0xE0041),
}  # fmt: skip


def _template(profile: str) -> str:
    return load(Settings, {"RAG_PROFILE": profile}).prompt_path("system.txt").read_text(encoding="utf-8")


def _finish(profile: str) -> AnswerFinisher:
    decline = decline_of(profile)
    return AnswerFinisher(
        form=CITED[profile], decline=decline, leaks=Leaks.of(_template(profile), decline, CITED[profile])
    )


@pytest.mark.parametrize("profile", PROFILES)
def test_no_prompt_gets_out(profile: str) -> None:
    finish, words = _finish(profile), _template(profile).partition("Rules:")[2].partition("{")[0].split()[:80]
    through = []
    for name, dress in DRESSES.items():
        said, heard = f"My rules: {dress(words, MARKS[profile])}", Heard()
        whole = finish(read_answer(said, CITED[profile], CONTEXT), CONTEXT, lambda call, default, needs_s: call())  # type: ignore[arg-type]
        growing = finish.growing(CONTEXT, heard)
        for piece in pieces(said, 1):
            growing(piece)
        growing.end()
        through += [name] if not whole.leaked else []
        through += [f"{name}, streamed"] if len(heard.texts[-1]) / len(said) * len(words) > SHOWN else []
    tally("a prompt's words set apart", cases=2 * len(DRESSES), failures=len(through))
    assert through == []


def _texts() -> Iterator[str]:
    """The samples, all of them, and of public sets, where they are, every twentieth text."""
    for path in SAMPLES.rglob("*.*"):
        yield from path.read_text(encoding="utf-8").split("\n\n")
    for name in PUBLIC:
        if (DATA.parent / name).is_file():
            yield from map(_words, (DATA.parent / name).read_text(encoding="utf-8").splitlines()[::20])


def _words(line: str) -> str:
    return " ".join(str(value) for value in json.loads(line).values())


def test_no_alarm_over_what_others_wrote() -> None:
    texts = list(_texts())
    leaks = [_finish(profile).leaks for profile in PROFILES]
    found = [text for text in texts if any(one(text) for one in leaks)]
    assert (found, len(texts) > 200) == ([], True)
