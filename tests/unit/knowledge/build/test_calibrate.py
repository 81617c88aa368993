"""What a new index is asked to know its bar: English questions about nothing, or its own sentences elsewhere."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest

from knowledge.build.calibrate import background, calibration_of, is_foreign
from knowledge.model.values import Chunk, Evidence, Where
from knowledge.search.signals import LEXICAL_SHARE, WEIGHTS


def chunks(documents: int, *, each: int = 6) -> list[Chunk]:
    made = [(document, part) for document in range(documents) for part in range(each)]
    return [
        Chunk(
            number=number,
            doc_id=f"D{document}",
            title="",
            chunk_index=part,
            chunk_count=each,
            text=f"Das Kapitel {document} beginnt mit einem langen Satz. Absatz {part} sagt dann noch etwas mehr dazu.",
        )
        for number, (document, part) in enumerate(made, start=1)
    ]


def other_than(doc_id: str) -> Where:
    return {"doc_id": {"$ne": doc_id}}


class Looks:
    """Remembers what is asked; of the documents named in ``copied`` everything is in others too."""

    def __init__(self, *copied: str) -> None:
        self.asked: list[tuple[str, Where | None]] = []
        self._copied = copied

    def __call__(self, text: str, where: Where | None) -> Evidence:
        self.asked.append((text, where))
        share = 1.0 if where in [other_than(one) for one in self._copied] else 0.05
        return cast("Evidence", SimpleNamespace(signals={**dict.fromkeys(WEIGHTS, 0.4), LEXICAL_SHARE: share}))


def test_sentences_are_asked_of_the_documents_that_they_are_not_of() -> None:
    look, own = Looks("D3"), chunks(12)
    record = calibration_of(look, own)

    asked = {(text, json.dumps(where)) for text, where in look.asked}
    assert asked == {(one.text[one.text.index("Absatz") :], json.dumps(other_than(one.doc_id))) for one in own}
    assert record["questions"] == 12 * 6 - 6  # what another document has too says nothing
    assert cast("Any", record["signals"])[LEXICAL_SHARE]["mean"] == pytest.approx(0.05)


def test_a_small_index_is_asked_the_background_questions() -> None:
    look = Looks()
    assert calibration_of(look, chunks(9))["questions"] == len(background())
    assert look.asked == [(text, None) for text in background()]


def test_only_another_language_is_asked_otherwise() -> None:
    assert is_foreign({"language": "German"})
    assert not is_foreign({"language": "English"})
    assert not is_foreign({"language": ""})
    assert not is_foreign({})
