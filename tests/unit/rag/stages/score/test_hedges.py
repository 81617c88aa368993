"""rag.stages.score.hedges: what takes back an answer, and what gives leave."""

from __future__ import annotations

import pytest

from rag.stages.score.hedges import count_hedges


@pytest.mark.parametrize(
    ("answer", "hedges"),
    [
        ("It might be so, or perhaps not.", 2),
        ("I am not sure.", 1),
        ("I’m not entirely certain, but it could be.", 2),
        ("Not sure.", 1),
        ("It seems that it is probably so.", 2),
        ("As far as I know, it\u2019s not clear.", 2),
        ("I think so.", 1),
        ("This may not be accurate.", 1),
        ("It may be due to a proxy.", 1),
        ("The entry may have been deleted.", 1),
        # Leave, dates and places.
        ("You may instead estimate each task.", 0),
        ("You may have 5 keys and may have to wait.", 0),
        ("A period may be at most 366 days long.", 0),
        ("Keys may not be shared.", 0),
        ("Export it on 3 May. In May 2024 it changed, May 2.", 0),
        ("It appears in the list.", 0),
        ("If you are not sure, ask an admin.", 0),
        ("Press Start.", 0),
    ],
)
def test_hedges(answer: str, hedges: int) -> None:
    assert count_hedges(answer) == hedges
