"""rag.stages.refine.chunk_date: what a chunk's front matter or file name says of its age."""

from __future__ import annotations

from datetime import date

import pytest
from fakes import make_chunk
from hypothesis import given
from hypothesis import strategies as st

from rag.stages.refine.chunk_date import chunk_date, name_date, text_date


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("2024_policy.md", 20240000),
        ("report-2025.pdf", 20250000),
        ("2024-03-17-x.md", 20240317),
        ("notes/20240317_minutes.txt", 20240317),
        ("guide_2024_05.md", 20240500),
        ("fy2024-25_budget.md", 20240000),
        ("2020-2024-strategy.md", 20240000),
        ("2024-02-30.md", 20240000),
        ("policies/2024/travel.md", None),
        ("iso-27001.md", None),
        ("form-1944.md", None),
        ("part-120245.md", None),
        ("", None),
    ],
)
def test_file_names(path: str, number: int | None) -> None:
    assert name_date(path) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("2026-01-12", 20260112),
        ("2026-01-12T10:00:00+00:00", 20260112),
        ("2026-01", 20260100),
        ("2026", 20260000),
        ("2024/03/17", 20240317),
        ("2024/3/7 10:00", 20240307),
        ("2024-3-7", 20240307),
        ("2024.12", 20241200),
        ("03/17/2024", 20240317),
        ("17/03/2024", 20240317),
        ("03/04/2024", 20240304),
        ("17.03.2024", 20240317),
        ("4.3.2024", 20240304),
        ("31/31/2024", 20240000),
        ("fiscal 2024/25", 20240000),
        ("17 March 2024", 20240317),
        ("March 17, 2024", 20240317),
        ("Sept. 2024", 20240900),
        ("15th March 2024", 20240315),
        ("the 1st of May, 2024", 20240501),
        ("Friday, 22ND AUGUST 2025", 20250822),
        ("this 3rd day of June 2023", 20230603),
        ("15-Mar-2024", 20240315),
        ("15/Mar/2024", 20240315),
        ("March the 15th, 2024", 20240315),
        ("Mar-15-2024", 20240315),
        ("Mar-2024", 20240300),
        ("31st February 2024", 20240000),
        ("03/2024", 20240300),
        ("11/2024", 20241100),
        ("3.2024", 20240300),
        ("updated 09-2023", 20230900),
        ("13/2024", 20240000),
        ("Q3/2024", 20240000),
        ("2023/2024", 20240000),
        ("edition 2 of March 2024", 20240300),
        ("version 2024", 20240000),
        ("soon", None),
        ("updated 2024 (v 14.2010)", 20240000),
    ],
)
def test_front_matter(text: str, number: int | None) -> None:
    assert text_date(text) == number


def test_front_matter_wins_over_the_file_name_and_that_over_the_page() -> None:
    chunk = make_chunk(last_updated="2025-02-01", path="2026_policy.md", url="https://x.org/2027")
    assert chunk_date(chunk) == 20250201
    assert chunk_date(make_chunk(extra={"date": "2024-06-30"}, path="2026_policy.md")) == 20240630
    assert chunk_date(make_chunk(last_updated="unknown", path="2026_policy.md")) == 20260000
    assert chunk_date(make_chunk(path="policy.md", url="https://x.org/policy-2023")) == 20230000
    assert chunk_date(make_chunk()) is None


@given(st.dates(min_value=date(1970, 1, 1), max_value=date(2099, 12, 31)))
def test_iso_dates_sort_as_dates(day: date) -> None:
    assert name_date(f"x-{day}.md") == int(str(day).replace("-", ""))


@given(st.text())
def test_any_text_is_a_date_or_none(text: str) -> None:
    for found in (name_date(text), text_date(text)):
        assert found is None or 19700000 <= found <= 20991231
