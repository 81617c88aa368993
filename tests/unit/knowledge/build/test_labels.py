"""knowledge.build.labels: what labels gave an index is part of its manifest and of its version."""

from __future__ import annotations

from dataclasses import replace

import pytest

from knowledge.build.labels import carried, labelled, labels_of, labels_older
from knowledge.model.manifest import Manifest, dumps, loads
from knowledge.search.signals import WEIGHTS, Calibration

BARE = Manifest(
    version="0123456789ab",
    built_at="2026-01-01T00:00:00+00:00",
    data="data-0a",
    collection="kb",
    model="m",
    dimensions=4,
    max_chars=100,
    overlap=0,
    recipe=1,
    documents=1,
    chunks=1,
    next_number=2,
    fields={},
    sources=(),
    files={},
    calibration=Calibration(
        means=dict.fromkeys(WEIGHTS, 0.0), stds=dict.fromkeys(WEIGHTS, 1.0), bar=0.5, doubt=0.5
    ).record(400),
)
GIVEN = {"bar": 1.5, "questions": 60, "older": False}


def test_labels_make_another_version_and_taking_them_away_the_same_manifest_again() -> None:
    with_labels = labelled(BARE, GIVEN)

    assert labels_of(with_labels) == {**GIVEN, "content": BARE.version}
    assert with_labels.version != BARE.version
    assert len(with_labels.version) == len(BARE.version)
    assert loads(dumps(with_labels)) == with_labels
    assert labelled(with_labels, GIVEN) == with_labels
    assert labelled(with_labels, {**GIVEN, "bar": 1.6}).version not in {with_labels.version, BARE.version}
    assert labelled(with_labels, None) == BARE


def test_new_content_keeps_them_and_says_that_they_are_older() -> None:
    before, now = labelled(BARE, GIVEN), replace(BARE, version="ba9876543210")

    after = carried(now, before)

    assert labels_of(after) == {**GIVEN, "older": True, "content": now.version}
    assert (labels_older(before), labels_older(after)) == (False, True)
    assert after.version not in {now.version, before.version}
    assert labels_of(carried(replace(now, version="ffffffffffff"), after))["bar"] == 1.5  # type: ignore[index]


@pytest.mark.parametrize("before", [None, BARE])
def test_nothing_is_carried_that_was_not_given(before: Manifest | None) -> None:
    assert carried(BARE, before) == BARE


def test_an_index_without_a_bar_takes_no_labels_over() -> None:
    without_bar = replace(BARE, calibration=None)
    assert carried(without_bar, labelled(BARE, GIVEN)) == without_bar
