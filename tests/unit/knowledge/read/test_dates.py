"""knowledge.read.dates: what front matter or a file's name says of a document's age."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.read.dates import newest_date, stated_date


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("2026-01-12", 20260112),
        ("2016-02-06 19:32:10 -0800", 20160206),
        ("2026-01", 20260100),
        ("2024/3/7 10:00", 20240307),
        ("fiscal 2024/25", 20240000),
        ("20240317_minutes.txt", 20240317),
        ("guide_2024_05.md", 20240500),
        ("2020-2024-strategy.md", 20240000),
        ("2024-02-30.md", 20240000),
        ("iso-27001.md", 0),
        ("form-1944.md", 0),
    ],
)
def test_dates_in_front_matter_and_names(text: str, number: int) -> None:
    assert newest_date(text) == number


def test_front_matter_wins_over_the_file_name_and_that_over_the_page() -> None:
    def dated(last_updated: str = "", date: object = None, path: str = "2026_policy.md", url: str = "") -> int:
        return stated_date(last_updated=last_updated, extra={"date": date} if date else {}, path=path, url=url)

    assert dated("2025-02-01", "2024-06-30", url="https://x.org/2027") == 20250201
    assert dated(date="2024-06-30") == 20240630
    assert dated(date=2024) == 20240000
    assert dated("unknown") == 20260000
    assert dated(path="policy.md", url="https://x.org/policy-2023") == 20230000
    assert dated(path="policies/2024/travel.md") == 0


@given(st.dates(min_value=date(1970, 1, 1), max_value=date(2099, 12, 31)))
def test_iso_dates_sort_as_dates(day: date) -> None:
    assert newest_date(f"x-{day}.md") == int(str(day).replace("-", ""))


@given(st.text())
def test_any_text_is_a_date_or_0(text: str) -> None:
    found = newest_date(text)
    assert found == 0 or 19700000 <= found <= 20991231
