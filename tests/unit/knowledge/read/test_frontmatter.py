"""Front matter as people write it: what is read of it, what is said of the rest, and that the text stays."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.read.dates import document_date, newest_date, to_iso
from knowledge.read.fields import Fields, add_preamble, exclusion_reason, parse_fields
from knowledge.read.file_names import title_from_name
from knowledge.read.frontmatter import split_front_matter

BODY = "# Title\n\nText."
TODAY = date(2025, 6, 15)


@pytest.mark.parametrize(
    ("text", "meta", "problem"),
    [
        ("---\ntitle: One\n---\n", {"title": "One"}, ""),
        ("\ufeff---\r\ntitle: One\r\n---\r\n", {"title": "One"}, ""),
        ("\n\n---\ntitle: One\n...\n", {"title": "One"}, ""),
        ("---\ntitle:\tOne\t\ntags:\n\t- a\n---\n", {"title": "One", "tags": ["a"]}, ""),
        ("---\na: &a {x: 1, y: 2}\nb:\n  <<: *a\n  y: 3\n---\n", {"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 3}}, ""),
        ("---\na: !!python/object/apply:os.system [ls]\nb: !ENV [X, 1]\n---\n", {"a": ["ls"], "b": ["X", 1]}, ""),
        ("---\ntitle: One\ntitle: Two\n---\n", {"title": "One"}, "of which the first counts: title (line 3)"),
        (
            "---\ntitle: Foo: bar\ndate: 2016-02-06\ntags:\n  - a\nby: @me\nbad: [\n---\n",
            {"title": "Foo: bar", "date": "2016-02-06", "tags": ["a"], "by": "@me"},
            "not valid YAML (read of it: title, date, tags, by): mapping values are not allowed here (line 2)",
        ),
        ("---\ntitle: {{ name }}\nid: 7\n---\n", {"id": 7}, "(read of it: id)"),
        ("---\ntitle: [\n---\n", {}, "front matter is not valid YAML and was left out"),
        ("---\na: !!bool maybe\n---\n", {}, "front matter is not valid YAML and was left out"),
        (f"---\na: {'[' * 20_000}\n---\n", {}, "front matter is not valid YAML and was left out"),
        (f"---\na: &a [x]\nb: [{', '.join(['*a'] * 17)}]\n---\n", {"a": ["x"]}, "more than 16 aliases"),
        ('+++\ntitle = "One"\n[params]\nx = 1\n+++\n', {"title": "One", "params": {"x": 1}}, ""),
        ("+++\ntitle = One\n+++\n", {}, "front matter is not valid TOML and was left out: Invalid value (at line 2"),
        ('{\n  "title": "One",\n  "x": {"y": [1]}\n}\n\n', {"title": "One", "x": {"y": [1]}}, ""),
    ],
)
def test_front_matter_of_every_kind_is_read_and_its_faults_are_named(
    text: str, meta: dict[str, object], problem: str
) -> None:
    found, body, told = split_front_matter(text + BODY)
    assert (dict(found), body.strip()) == (meta, BODY)
    assert problem in told
    assert bool(problem) == bool(told)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{% raw %}\nText", ""),
        ("{#top}\nText", ""),
        ('{"a": 1} is an object', ""),
        ('{\n  "title": "One",\n}\n\nText', "no valid JSON front matter: read as text"),
        ("---\nA note: this: is prose\nof two lines.\n---\nText", "read as text"),
        ("---\n\nA paragraph.\n\n---\n\nText", "between '---' that is no front matter: read as text"),
        ("--- \nOne thing: that\n---\n", "between '---' that is no front matter: read as text"),
        ("---\n\nA ruler and a paragraph.\n", ""),
        ("---\nNote that this is no key: it is a sentence.\n", ""),
        ("Text\n---\na: b\n---\n", ""),
        ("---\ntitle: Never closed\npriority: 3\n\n# Heading\n\nText.", "no closing '---': read as text"),
        ('+++\ntitle = "never closed"\n\nText', "no closing '+++': read as text"),
    ],
)
def test_what_only_begins_like_front_matter_is_text(text: str, problem: str) -> None:
    found, body, told = split_front_matter(text)
    assert (found, body, bool(told)) == ({}, text, bool(problem))
    assert problem in told


@given(st.text(alphabet=st.sampled_from("-+.:{}[]&*!|>%@`\"'\n\t abc01=#,\\")), st.sampled_from(["---", "+++"]))
def test_no_block_raises_or_takes_the_text_with_it(block: str, fence: str) -> None:
    found, body, _ = split_front_matter(f"{fence}\n{block}\n{fence}\n{BODY}")
    assert body.endswith(BODY)
    parse_fields(found)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2016-02-06 19:32:10 -0800", "2016-02-06T19:32:10-08:00"),
        ("2016-02-06 9:32:10 +5:30", "2016-02-06T09:32:10+05:30"),
        ("2016-02-06T19:32:10.123Z", "2016-02-06T19:32:10.123000+00:00"),
        ("2016-2-6", "2016-02-06"),
        ("2016-02-06 19:32:10 America/New_York", "2016-02-06 19:32:10 America/New_York"),
        ("2024-04-31", "2024-04-31"),
    ],
)
def test_dates_with_zones_of_every_form_are_iso(written: str, read: str) -> None:
    assert to_iso(written) == read
    assert parse_fields(split_front_matter(f"---\ndate: {written}\n---\n{BODY}")[0]).extra == {"date": read}


def test_what_a_page_says_of_itself_has_fields_whatever_the_tool_calls_it() -> None:
    texts = {
        "Title": "Append",
        "Description": "Adds to a list.",
        "deck": "How to &amp; why",
        "summary": "Adds to a list.",
    }
    names = {"keywords": "one, two,,one", "tags": ["three", 4, {"no": "word"}]}
    aliases = {"aliases": ["/old/path/", "old.html", "old-page", "other name"]}
    nested = {"params": {"functions": {"aliases": ["append"]}}, "priority": 3}

    assert parse_fields(texts | names | aliases | nested) == Fields(
        title="Append",
        description="Adds to a list.\n\nHow to & why",
        keywords=("one", "two", "three", "4"),
        aliases=("other name", "append"),
        extra={"priority": 3},
    )


@pytest.mark.parametrize(
    ("meta", "why"),
    [
        ({"draft": True}, "is a draft"),
        ({"Draft": "yes"}, "is a draft"),
        ({"published": False}, "is a draft"),
        ({"draft": False, "published": "2024-01-01"}, ""),
        ({"expirydate": "2025-06-15"}, "expired on 2025-06-15"),
        ({"expiryDate": date(2025, 6, 16)}, ""),
        ({"unpublishdate": "2020-01-01T10:00:00Z"}, "expired on 2020-01-01"),
        ({"publishDate": "2025-06-16"}, "is to be published on 2025-06-16"),
        ({"publishDate": "soon", "expiryDate": "never"}, ""),
    ],
)
def test_pages_that_their_site_would_not_show_are_left_out(meta: dict[str, object], why: str) -> None:
    assert exclusion_reason(parse_fields(meta), TODAY) == why


def test_the_preamble_stands_below_the_heading_and_repeats_nothing() -> None:
    about = "Text, *here*.\n\nA sentence of its own."
    stated = Fields(title="Append", description=about, keywords=("one", "two"), aliases=("append", "push"))
    said = "A sentence of its own.\n\nKeywords: one, two\n\nAlso called: push"

    assert add_preamble(stated, "# Append\n\nText here.\n") == f"# Append\n\n{said}\n\nText here.\n"
    assert add_preamble(stated, "\nAppend\n===\nText here.\n") == f"Append\n===\n\n{said}\n\nText here.\n"
    assert add_preamble(stated, "## Use\n\nText here.") == f"{said}\n\n## Use\n\nText here."
    assert add_preamble(stated, "## Append\n\nText here.") == f"## Append\n\n{said}\n\nText here."
    assert add_preamble(stated, "Text here.\n\n# Append\n") == f"{said}\n\nText here.\n\n# Append\n"
    assert add_preamble(Fields(title="Append"), "\nText") == "\nText"


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("_posts/2016-02-06-my-post.md", "my post"),
        ("1.getting-started/02-how_to.md", "how to"),
        ("1.getting-started/index.md", "getting started"),
        ("_index.md", "index"),
        ("2024-strategy.md", "2024 strategy"),
        ("404.md", "404"),
        ("Tasks 0123456789abcdef0123456789abcdef_all.csv", "Tasks"),
        ("GMT20260508-090012_Recording.transcript.vtt", "2026-05-08 Recording"),
        ("Weekly Bristol-20260505_100325-Meeting.vtt", "Weekly Bristol 2026-05-05 Meeting"),
        ("Drawing 20261305_990325.vtt", "Drawing 20261305_990325"),
    ],
)
def test_a_file_s_name_as_a_title_is_without_what_only_sorts_it(path: str, title: str) -> None:
    assert title_from_name(path) == title


# Dates


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
        ("policy 01.05.2023.pdf", 20230501),
        ("v1.2.2023", 20230201),
        ("policy 31.02.2023.pdf", 20230000),
        ("iso-27001.md", 0),
        ("form-1944.md", 0),
    ],
)
def test_dates_in_front_matter_and_names(text: str, number: int) -> None:
    assert newest_date(text) == number


def test_front_matter_wins_over_the_file_name_and_that_over_the_page() -> None:
    def dated(last_updated: str = "", date: object = None, path: str = "2026_policy.md", url: str = "") -> int:
        return document_date(last_updated=last_updated, extra={"date": date} if date else {}, path=path, url=url)

    assert dated("2025-02-01", "2024-06-30", url="https://x.org/2027") == 20250201
    assert dated(date="2024-06-30") == 20240630
    assert dated(date=2024) == 20240000
    assert dated("unknown") == 20260000
    assert dated(path="policy.md", url="https://x.org/policy-2023") == 20230000
    assert dated(path="policies/2024/travel.md") == 0


@given(st.text(st.sampled_from("0129-_./: ²") | st.characters()))
def test_any_text_is_a_date_or_0(text: str) -> None:
    found = newest_date(text)
    assert found == 0 or 19700000 <= found <= 20991231
