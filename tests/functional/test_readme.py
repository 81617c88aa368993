"""The README's replies are those of the service on its sample knowledge base."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from functional.golden import UPDATE_VARIABLE, differences, normalise
from functional.harness import OUT_OF_SCOPE, Api

README = Path(__file__).resolve().parents[2] / "README.md"
QUESTION = re.compile(r"""-d '(\{"query": .*?\})'""")
BLOCK = re.compile(r"(?<=```json\n).*?(?=```)", re.DOTALL)


def test_the_answer_is_shown_whole(api: Api) -> None:
    text = README.read_text(encoding="utf-8")
    asked, shown = QUESTION.search(text), BLOCK.search(text)
    assert asked is not None
    assert shown is not None
    said = api.ask(json.loads(asked[1])["query"]).json
    if os.environ.get(UPDATE_VARIABLE):
        body = json.dumps(said, indent=2, ensure_ascii=False) + "\n"
        README.write_text(text[: shown.start()] + body + text[shown.end() :], encoding="utf-8")
    else:
        assert list(differences(normalise(said), normalise(json.loads(shown[0])))) == []


def test_the_decline_is_shown_in_part(api: Api) -> None:
    _, shown = (json.loads(block) for block in BLOCK.findall(README.read_text(encoding="utf-8")))
    said = api.ask(OUT_OF_SCOPE).json
    metadata = {name: said["metadata"][name] for name in shown["metadata"]}
    assert {**{name: said[name] for name in shown}, "metadata": metadata} == shown
