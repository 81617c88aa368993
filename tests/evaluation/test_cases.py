"""Small folders of faults that real documents had: what a chunk of them holds, and what no chunk holds."""

import re
from pathlib import Path

import pytest
from evaluation.rates import public_data

from ragctl.ingest_request import IngestRequest
from ragctl.sources import cut_documents, read_sources

READ = {
    "docx-clause-numbers": ("3.2 Animals are not allowed, except assistance dogs", "(a) in cash at the office"),
    "html-hidden-panels": ("until 16:00 on the last day", "Collection is free on weekdays", "Insurance is 8 %"),
    "jekyll-captured-tabs": ("enter the code 7788", "Switch Bluetooth on in the tablet's settings"),
    "pdf-cells-one-by-one": (
        "Blade sharpening 18.00 32.00",
        "Delivery zone B 2 30.00 60.00",
        "send a photograph of the type plate",
    ),
    "pdf-page-frames": ("key safe",),
    "site-files": ("The code changes on the first Monday of a month",),
    "xlsx-formulas-without-values": ("North 10 20",),
    "xlsx-leading-zeros": ("Ines Arlt 04420 04109 07:30", "Mo Reed 00815 01067 08:00"),
    "xlsx-several-tables": ("Zone Up to km Charge", "B 25 30", "Group Machine Hire Day Hire Week Deposit"),
}
"""Words in a row of the text, marks of Markdown aside, by folder."""
NOT_READ = {
    "jekyll-captured-tabs": ("capture", "markdownify"),
    "pdf-cells-one-by-one": ("Alder Tools Ltd, price list 2026", "Page 2 of 2"),
    "site-files": ("User-agent", "This page does not exist", "Summary"),
    "xlsx-leading-zeros": ("07:30:00",),
    "xlsx-several-tables": ("Earth Mini digger 120 480 500 Sat",),
}
VISIBLE = {3, 6, 7, 17, 18, 19, 20, 22, 29, 33}
"""Files of hidden-text that show their place, or announce it: alternative texts, titles, headings, notes of slides."""


def read_folder(folder: Path, cache: Path) -> tuple[str, str]:
    """Return the words of all chunks of ``folder`` without marks of Markdown, and the warnings."""
    reading, _ = read_sources(IngestRequest(paths=(str(folder),)), cache=cache)
    texts = [f"{chunk.title}\n{chunk.text}" for chunk in cut_documents(reading.documents).chunks]
    words = " ".join(re.sub(r"[|*`#\\]|(?<=\s)-+(?=\s)", " ", "\n".join(texts)).split())
    return words, "\n".join(f"{warning.path}: {warning.error}" for warning in reading.warnings)


@pytest.mark.parametrize("name", READ)
def test_a_folder_is_read_as_people_see_it(name: str, tmp_path: Path) -> None:
    words, _ = read_folder(public_data("cases", name), tmp_path)
    assert [text for text in READ[name] if text not in words] == [], words
    assert [text for text in NOT_READ.get(name, ()) if text in words] == [], words


def test_a_page_with_a_background_is_stored_once(tmp_path: Path) -> None:
    words, _ = read_folder(public_data("cases", "pdf-page-frames"), tmp_path)
    assert words.count("first Monday") == 1, words


def test_formulas_without_saved_values_are_named(tmp_path: Path) -> None:
    _, warnings = read_folder(public_data("cases", "xlsx-formulas-without-values"), tmp_path)
    assert "no saved value" in warnings


def test_text_that_no_reader_sees_is_in_no_chunk(tmp_path: Path) -> None:
    words, warnings = read_folder(public_data("cases", "hidden-text"), tmp_path)
    assert {int(number) for number in re.findall(r"HIDDEN-(\d+)", words)} - VISIBLE == set()
    assert re.findall("[\U000e0000-\U000e01ef]", words) == []
    assert {file for file in ("z09", "z10", "z11", "z23", "z26", "z27", "z32") if file not in warnings} == set()
