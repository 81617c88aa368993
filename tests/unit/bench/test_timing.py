"""The table of retrieval and whole answers."""

from bench.timing import EMBEDDING, RETRIEVAL, ratio_table


def test_times_are_divided_by_those_of_embedding_the_question() -> None:
    embedding = [1.0] * 98 + [2.0] * 2
    retrieval = [3.0] * 98 + [8.0] * 2
    assert ratio_table({EMBEDDING: embedding, RETRIEVAL: retrieval}).splitlines()[2:] == [
        f"| {EMBEDDING} | 1.0 | 2.0 | 1.0 | 2.0 | 1.0 |",
        f"| {RETRIEVAL} | 3.0 | 8.0 | 3.0 | 8.0 | 4.0 |",
    ]
