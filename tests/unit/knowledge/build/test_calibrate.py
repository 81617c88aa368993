"""What a new index is asked to know its bar: English questions about nothing, or its own sentences elsewhere."""

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from manifests import MANIFEST

from knowledge.build.calibrate import background, calibration_of, is_foreign
from knowledge.build.labels import carry_labels, labels_of, labels_older, with_labels
from knowledge.model.manifest import Manifest, dumps, loads
from knowledge.model.values import Chunk, Evidence, Where
from knowledge.search.signals import LEXICAL_SHARE, WEIGHTS, Calibration


def chunks(documents: int, *, each: int = 6) -> list[Chunk]:
    said = "Das Kapitel {0} beginnt mit einem langen Satz. Absatz {1} sagt dann noch etwas mehr dazu."
    chunk = Chunk(number=1, doc_id="", title="", chunk_index=0, chunk_count=1, text="")
    made = [(document, part) for document in range(documents) for part in range(each)]
    return [replace(chunk, doc_id=f"D{document}", text=said.format(document, part)) for document, part in made]


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
    assert [is_foreign({"language": name}) for name in ("German", "English", "")] == [True, False, False]
    assert not is_foreign({})


# Labels


CALIBRATION = Calibration(means=dict.fromkeys(WEIGHTS, 0.0), stds=dict.fromkeys(WEIGHTS, 1.0), bar=0.5, doubt=0.5)
BARE = replace(MANIFEST, calibration=CALIBRATION.record(400))
GIVEN = {"bar": 1.5, "questions": 60, "older": False}


def test_labels_make_another_version_and_taking_them_away_the_same_manifest_again() -> None:
    given = with_labels(BARE, GIVEN)
    assert labels_of(given) == {**GIVEN, "content": BARE.version}
    assert given.version != BARE.version
    assert len(given.version) == len(BARE.version)
    assert loads(dumps(given)) == given
    assert with_labels(given, GIVEN) == given
    assert with_labels(given, {**GIVEN, "bar": 1.6}).version not in {given.version, BARE.version}
    assert with_labels(given, None) == BARE


def test_new_content_keeps_them_and_says_that_they_are_older() -> None:
    before, now = with_labels(BARE, GIVEN), replace(BARE, version="ba9876543210")
    after = carry_labels(now, before)
    assert labels_of(after) == {**GIVEN, "older": True, "content": now.version}
    assert (labels_older(before), labels_older(after)) == (False, True)
    assert after.version not in {now.version, before.version}
    assert labels_of(carry_labels(replace(now, version="ffffffffffff"), after))["bar"] == 1.5  # type: ignore[index]


@pytest.mark.parametrize("before", [None, BARE])
def test_nothing_is_carried_that_was_not_given_or_to_an_index_without_a_bar(before: Manifest | None) -> None:
    assert carry_labels(BARE, before) == BARE
    without_bar = replace(BARE, calibration=None)
    assert carry_labels(without_bar, with_labels(BARE, GIVEN)) == without_bar
