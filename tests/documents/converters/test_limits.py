"""Small workbooks that would unpack to much: each is refused with a sentence, before more of it is read."""

import io
from collections.abc import Callable, Iterator
from zipfile import ZipExtFile, ZipFile

import pytest
from faults.tally import tally
from openpyxl import Workbook
from openpyxl.worksheet._reader import WorkSheetParser

from documents import Unconvertible, convert
from documents.converters import from_xlsx
from documents.converters.office import rewrite_parts
from documents.converters.tables import Budget

XMLNS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
STRINGS = (
    b'<Override PartName="/xl/sharedStrings.xml" ContentType="application/'
    b'vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"/></Types>'
)
LONG = "<si><t>" + "a" * 32_000 + "</t></si>"


def workbook(rows: str, *, strings: str = "<si><t>a</t></si>", after: str = "") -> bytes:
    """A workbook of one sheet with ``rows`` as its XML, and ``strings`` as its shared strings."""
    sheet = f'<worksheet xmlns="{XMLNS}"><sheetData>{rows}</sheetData>{after}</worksheet>'.encode()
    saved = io.BytesIO()
    Workbook().save(saved)
    with ZipFile(saved, "a") as book:
        book.writestr("xl/sharedStrings.xml", f'<sst xmlns="{XMLNS}">{strings}</sst>')
    return rewrite_parts(
        saved.getvalue(), lambda name, part: sheet if "sheet1" in name else part.replace(b"</Types>", STRINGS)
    )


def shared(count: int) -> str:
    return f"<row>{'<c t="s"><v>0</v></c>' * count}</row>"


CASES: dict[str, tuple[Callable[[], bytes], str, int]] = {
    "long shared string in many cells": (
        lambda: workbook(shared(10) * 1_000, strings=LONG),
        "holds more than 32 MiB of text: split it",
        110,
    ),
    "one string of 33 MiB": (
        lambda: workbook(shared(1) * 100, strings=f"<si><t>{'a' * (33 << 20)}</t></si>"),
        "holds more than 32 MiB of text: split it",
        1,
    ),
    "rows that end in the last column": (
        lambda: workbook('<row><c r="XFD1"><v>1</v></c></row>' * 1_000),
        "holds more than 2,000,000 cells: split it",
        130,
    ),
    "empty rows that end in the last column": (
        lambda: workbook('<row><c r="XFD1"/></row>' * 3_000),
        "spans more than 20,000,000 cells, empty ones too: delete empty rows and columns",
        1_300,
    ),
    "merged over all rows": (
        lambda: workbook(
            "<row>" + '<c t="s"><v>0</v></c></row>' + "<row/>" * 20_000,
            after='<mergeCells count="1"><mergeCell ref="A1:IV20001"/></mergeCells>',
        ),
        "holds more than 2,000,000 cells: split it",
        8_000,
    ),
}


@pytest.fixture
def rows_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list with one number, which grows with each row that openpyxl reads."""
    count = [0]
    parse = WorkSheetParser.parse_row

    def counted(parser: WorkSheetParser, row: object) -> object:
        count[0] += 1
        return parse(parser, row)  # type: ignore[arg-type]

    monkeypatch.setattr(WorkSheetParser, "parse_row", counted)
    return count


def refusal(data: bytes) -> str:
    try:
        convert(data, ".xlsx")
    except Unconvertible as exc:
        return str(exc)
    return ""


def test_a_workbook_that_holds_too_much_is_refused_and_no_further_row_is_read(rows_read: list[int]) -> None:
    bad = []
    for name, (make, sentence, most_rows) in CASES.items():
        rows_read[0] = 0
        said = refusal(make())
        if said != sentence or not 0 < rows_read[0] <= most_rows:
            bad.append((name, said, rows_read[0]))
    tally("documents that cost too much", cases=len(CASES), failures=len(bad))
    assert not bad


@pytest.mark.parametrize(
    ("rows", "strings", "root"),
    [(f"<row>{'<c/>' * 1000}</row>" * 100, "", "worksheet"), (shared(1), "<si><t>a</t></si>" * 50_000, "other")],
    ids=["cells", "shared strings"],
)
def test_elements_are_counted_before_objects_are_made(
    monkeypatch: pytest.MonkeyPatch, rows: str, strings: str, root: str
) -> None:
    data = workbook(rows, strings=strings)
    monkeypatch.setattr(from_xlsx, "MAX_ELEMENTS", {"worksheet": 10_000, "": 10_000})
    loaded: list[object] = []
    monkeypatch.setattr(from_xlsx, "load_workbook", lambda *args, **_: loaded.append(args))
    read = {"bytes": 0}
    original = ZipExtFile.read

    def counted(part: ZipExtFile, n: int | None = -1) -> bytes:
        piece = original(part, n)
        read["bytes"] += len(piece)
        return piece

    monkeypatch.setattr(ZipExtFile, "read", counted)

    assert refusal(data) == f"holds more than 10,000 XML elements in {root} parts: split it"
    assert not loaded
    assert read["bytes"] < 250_000  # the part alone has 400,000; each part is looked at twice


def test_rows_are_counted_while_they_come_and_all_sheets_share_one_budget() -> None:
    taken = 0

    def rows() -> Iterator[list[str]]:
        nonlocal taken
        while True:
            taken += 1
            yield []

    budget = Budget(rows=1000)
    with pytest.raises(Unconvertible, match="has more than 3,000,000 rows, empty ones too"):
        list(budget.limit(rows()))
    assert taken == 1001
    budget = Budget(cells=5)
    assert list(budget.limit(iter([["a", "b", "c", ""]]))) == [["a", "b", "c"]]
    with pytest.raises(Unconvertible, match="holds more than 2,000,000 cells: split it"):
        list(budget.limit(iter([["a", "b", "c"]])))


def test_a_long_header_is_not_written_in_each_of_many_rows() -> None:
    names, row = ",".join(f"{n} " + "n" * 1000 for n in range(20)), "a" * 5000 + ",b" * 19
    made = convert(f"{names}\n{f'{row}\n' * 100}".encode(), ".csv")
    assert len(made.text) < 1.5 * 100 * 5000
