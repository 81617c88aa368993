"""What an ingest says of documents that the default embedder does not understand."""

from __future__ import annotations

import pytest

from knowledge.model.values import Document
from ragctl.report import sentence, unserved

GERMAN = "Der Urlaub wird im Portal beantragt und von der Leitung genehmigt. Wer krank ist, meldet sich."
ENGLISH = "The leave is asked for in the portal, and it will be granted by the management."


def documents(*texts: str) -> list[Document]:
    return [Document(doc_id=text, title="", text=text, digest=text, path=text) for text in texts]


def test_other_languages_are_named_with_their_share() -> None:
    told = unserved(documents(*[GERMAN] * 3, ENGLISH))
    assert told.startswith("most of these documents are in German (75%): ")
    assert told.endswith("set by EMBED_MODEL and EMBED_BASE_URL")
    assert "\n" not in told


def test_nothing_is_said_of_documents_that_the_embedder_knows() -> None:
    assert unserved(documents(ENGLISH, ENGLISH, GERMAN)) == ""
    assert unserved(documents("GC-409: 12.50", "")) == ""


@pytest.mark.parametrize(
    ("shares", "named"),
    [
        ({"German": 0.3, "Thai": 0.21, "English": 0.4}, "in German (30%), Thai (21%): "),
        ({"German": 0.5, "English": 0.5}, None),  # half are not most
        ({"Thai": 0.96, "Dutch": 0.04}, "in Thai (96%): "),
    ],
)
def test_several_languages(shares: dict[str, float], named: str | None) -> None:
    assert (named in sentence(shares)) if named else not sentence(shares)
