"""What an HTML page says to a robot, and that no page stops the crawl."""

from __future__ import annotations

import pytest

from documents.crawl.links import read

URL = "https://docs.example.com/guide/"


def test_links_are_absolute_and_those_marked_nofollow_are_left_out() -> None:
    said = read(
        "<base href='/other/'><link rel=canonical href=/guide><meta name=Robots content='noindex'>"
        "<p><a href=a.html#part>A</a> <a rel='nofollow' href=b.html>B</a> <a href='mailto:x@example.com'>C</a>",
        URL,
    )
    assert said.links == ("https://docs.example.com/other/a.html",)
    assert said.canonical == "https://docs.example.com/guide"
    assert said.directives == {"noindex"}
    assert not said.moved


@pytest.mark.parametrize("broken", ['<![ foo bar="" ]]>', "<!doctype html><![n", "<a " * 300_000, ""])
def test_a_broken_page_is_read_as_far_as_it_goes(broken: str) -> None:
    """Python's own parser raises for the first two, and takes an hour for the third."""
    assert read(f"<a href=first.html>A</a>{broken}", URL).links[:1] == ("https://docs.example.com/guide/first.html",)
