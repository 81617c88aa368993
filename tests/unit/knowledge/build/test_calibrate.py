"""A new index is asked background questions, in the languages of its documents."""

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest
from manifests import MANIFEST

from knowledge.build.calibrate import background, calibration_of
from knowledge.build.labels import carry_labels, labels_of, labels_older, with_labels
from knowledge.model.manifest import Manifest, dumps, loads
from knowledge.model.values import Evidence
from knowledge.search.signals import WEIGHTS, Calibration

GERMAN = (
    "Der Antrag ist vier Wochen vorher bei der Leitung einzureichen, und über ihn wird nach einer Woche entschieden."
)


class Looks:
    """Remembers what is asked; of German questions all signals are larger."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, text: str) -> Evidence:
        self.asked.append(text)
        value = 0.6 if text in background("German") else 0.4
        return cast("Evidence", SimpleNamespace(signals=dict.fromkeys(WEIGHTS, value)))


def test_an_index_is_asked_in_the_language_of_its_documents() -> None:
    look = Looks()
    record = calibration_of(look, {"language": "German"}, [GERMAN])
    assert look.asked == background("German") != background("English")
    assert (record["questions"], record["languages"]) == (len(look.asked), {})
    assert background("Klingon") == background("English")


def test_a_language_of_a_few_documents_has_a_bar_of_its_own() -> None:
    record = calibration_of(Looks(), {"language": "English"}, ["The leave is asked for in the portal.", GERMAN])
    found = Calibration.load(record)
    assert found is not None
    assert {name: one.means["best_cosine"] for name, one in found.others.items()} == {"German": pytest.approx(0.6)}
    assert found.means["best_cosine"] == pytest.approx(0.4)
    assert found.of_question({"German", "Dutch"}) is found.others["German"]
    assert found.of_question({"Dutch"}) is found


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
