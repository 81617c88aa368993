"""documents.converters: what is read of sheets, notebooks, slides, books and of texts in other markups."""

import base64
import datetime as dt
import io
import json
import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Any
from zipfile import ZipFile

import pytest
from made_files import docx, paragraph, pdf, text_lines
from openpyxl import Workbook
from openpyxl.drawing.image import Image
from openpyxl.styles import Font
from pptx import Presentation
from pptx.enum.dml import MSO_THEME_COLOR
from pptx.oxml import parse_xml
from pptx.util import Inches, Pt

from documents import Decode, NoText, Unconvertible, convert, decode_utf_8
from documents.converters.from_xlsx import shown_value
from documents.converters.office import rewrite_parts


def read(suffix: str, data: bytes | str, decode: Decode = decode_utf_8) -> tuple[str, tuple[str, ...]]:
    """What is below the front matter, and the caveats."""
    found = convert(data.encode() if isinstance(data, str) else data, suffix, decode=decode)
    return found.text.partition("---\n")[2].partition("---\n")[2], found.caveats


def text_of(suffix: str, data: bytes | str) -> str:
    return read(suffix, data)[0]


def saved(made: Any) -> bytes:
    """The bytes of a workbook or of a presentation."""
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()


# PDF


def test_a_pdf_that_is_cut_short_is_read_as_far_as_it_goes() -> None:
    whole = pdf(text_lines("The first page."), text_lines("The second page."))
    assert read(".pdf", whole[: whole.rindex(b" 0 obj")]) == (
        "The first page.\n",
        ("is cut short: what stood behind is not read",),
    )


# Word

_MATH = "http://schemas.openxmlformats.org/officeDocument/2006/math"
_COMPATIBLE = "http://schemas.openxmlformats.org/markup-compatibility/2006"
SQUARED = (
    f'<m:oMath xmlns:m="{_MATH}"><m:sSup><m:e><m:r><m:t>r</m:t></m:r></m:e>'
    "<m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:oMath>"
)


PIXEL = base64.b64decode("R0lGODlhAQABAAAAACH5BAEAAAAALAAAAAABAAEAAAICTAEAOw==")


def said(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def test_word_equations_are_latex_also_on_lines_of_their_own() -> None:
    own = f'<m:oMathPara xmlns:m="{_MATH}">{SQUARED}{SQUARED}</m:oMathPara>'
    assert read(".docx", docx(f"<w:p>{said('It is ')}{SQUARED}{said('.')}</w:p>", f"<w:p>{own}</w:p>")) == (
        "It is ${r}^{2}$.\n\n${r}^{2}$ ${r}^{2}$\n",
        (),
    )


def test_a_word_equation_that_cannot_be_latex_is_read_by_its_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("documents.converters.office.convert_omml", lambda: "")  # a TypeError
    assert text_of(".docx", docx(f"<w:p>{said('It is ')}{SQUARED}</w:p>")) == "It is r2\n"


def test_word_text_boxes_are_read_once_and_so_are_fields_and_readings_above_words() -> None:
    def box(words: str) -> str:
        return f"<w:txbxContent>{paragraph(words)}</w:txbxContent>"

    def twice(choice: str, fallback: str) -> str:
        return (
            f'<mc:AlternateContent xmlns:mc="{_COMPATIBLE}"><mc:Choice Requires="wps"><w:drawing>{choice}</w:drawing>'
            f"</mc:Choice>{fallback}</mc:AlternateContent>"
        )

    both = twice(box("Both"), f"<mc:Fallback><w:pict>{box('Both')}</w:pict></mc:Fallback>")
    new = twice(box("New"), "")
    alone = f"<w:drawing>{box('Alone')}</w:drawing>"

    field = f'<w:fldSimple w:instr="DATE">{said("1 May")}</w:fldSimple>'
    ruby = f"<w:r><w:ruby><w:rt>{said('kan')}</w:rt><w:rubyBase>{said('漢')}</w:rubyBase></w:ruby></w:r>"
    boxes = [f"<w:p><w:r>{inner}</w:r></w:p>" for inner in (both, new, alone)]

    file = docx(*boxes, f"<w:p>{field}{said(', ')}{ruby}</w:p>")

    assert text_of(".docx", file) == "Both\n\nNew\n\nAlone\n\n1 May, 漢 (kan)\n"


def test_word_notes_stand_below_their_paragraph() -> None:
    notes = "".join(f'<w:footnote w:id="{at}">{paragraph(f"Note {at}.")}</w:footnote>' for at in (1, 2))
    marks = "".join(f'<w:r><w:footnoteReference w:id="{at}"/></w:r>' for at in (1, 2))
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    parts = {"word/footnotes.xml": f'<w:footnotes xmlns:w="{space}">{notes}</w:footnotes>'}
    file = docx(f"<w:p>{said('By car')}{marks}</w:p>", paragraph("By train"), parts=parts)
    assert text_of(".docx", file) == "By car\n\nNote 1.\n\nNote 2.\n\nBy train\n"


def level(index: int, form: str, text: str, more: str = "") -> str:
    shown = f'<w:numFmt w:val="{form}"/>{more}<w:lvlText w:val="{text}"/>'
    return f'<w:lvl w:ilvl="{index}"><w:start w:val="1"/>{shown}</w:lvl>'


def numbered(text: str, number: int, index: int = 0, style: str = "") -> str:
    chosen = f'<w:pStyle w:val="{style}"/>' if style else ""
    place = f'<w:numPr><w:ilvl w:val="{index}"/><w:numId w:val="{number}"/></w:numPr>'
    return f"<w:p><w:pPr>{chosen}{place}</w:pPr>{said(text)}</w:p>"


CLAUSES = [
    level(0, "decimal", "%1."), level(1, "decimal", "%1.%2"), level(2, "lowerLetter", "(%3)"),
    level(3, "upperRoman", "Article %4"), level(4, "decimal", "%4.%5", "<w:isLgl/>"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("blocks", "shown"),
    [
        (
            [numbered("Terms", 1, 0, "Heading1"), numbered("Pay.", 1, 1), numbered("in cash", 1, 2),
             numbered("by card", 1, 2), numbered("Conduct", 1, 0, "Heading1"), numbered("No noise.", 1, 1),
             numbered("Dogs.", 1, 1), numbered("x", 1, 2)],
            "# 1. Terms\n\n1.1 Pay.\n\n(a) in cash\n\n(b) by card\n\n"
            "# 2. Conduct\n\n2.1 No noise.\n\n2.2 Dogs.\n\n(a) x",
        ),
        ([numbered("Pay", 1, 3), numbered("Fees", 1, 4), numbered("Rent", 1, 3)],
         "Article I Pay\n\n1.1 Fees\n\nArticle II Rent"),
        ([numbered("a", 1), numbered("b", 1), paragraph("So:"), numbered("c", 1), numbered("d", 2), numbered("e", 3)],
         "1. a\n2. b\n\nSo:\n\n3. c\n\n7. d\n\n- e"),
        ([paragraph("Fees", "Styled"), numbered("Plan", 0, 0, "Styled")], "Schedule 1 Fees\n\nPlan"),
    ],
    ids=["clauses", "articles in Roman and legal numbers", "a list that goes on, and one that starts anew", "a style"],
)  # fmt: skip
def test_word_numbers_stand_in_the_text_unless_markdown_shows_them(blocks: list[str], shown: str) -> None:
    word = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    lists = [*CLAUSES], [level(0, "bullet", "•")], [level(0, "decimal", "Schedule %1")]
    anew = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride>'
    numbers = [(1, 0, ""), (2, 0, anew), (3, 1, ""), (4, 2, "")]
    definitions = "".join(
        f'<w:abstractNum w:abstractNumId="{key}">{"".join(levels)}</w:abstractNum>' for key, levels in enumerate(lists)
    ) + "".join(f'<w:num w:numId="{n}"><w:abstractNumId w:val="{key}"/>{more}</w:num>' for n, key, more in numbers)
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="{name}"><w:name w:val="{name}"/>{more}</w:style>'
        for name, more in (
            ("Heading1", ""),
            ("Base", '<w:pPr><w:numPr><w:numId w:val="4"/></w:numPr></w:pPr>'),
            ("Styled", '<w:basedOn w:val="Base"/>'),
        )
    )
    parts = {
        "word/numbering.xml": f"<w:numbering {word}>{definitions}</w:numbering>",
        "word/styles.xml": f"<w:styles {word}>{styles}</w:styles>",
    }
    assert text_of(".docx", docx(*blocks, parts=parts)) == f"{shown}\n"


def test_word_text_that_no_reader_sees_is_left_out_and_counted() -> None:
    def run(properties: str, text: str) -> str:
        return f"<w:r><w:rPr>{properties}</w:rPr><w:t>{text}</w:t></w:r>"

    white, dark = '<w:color w:val="FFFFFF"/>', '<w:shd w:val="clear" w:fill="1F3864"/>'
    seen = run('<w:vanish w:val="0"/>', "Seen. ") + run(white + dark, "White on blue. ")
    hidden = run("<w:vanish/>", "vanished words ") + run(white, "white ") + run('<w:sz w:val="2"/>', "of one point")
    cell = f"<w:tbl><w:tr><w:tc><w:tcPr>{dark}</w:tcPr><w:p>{run(white, 'Head')}</w:p></w:tc></w:tr></w:tbl>"
    assert read(".docx", docx(f"<w:p>{seen}{hidden}</w:p>", cell)) == (
        "Seen. White on blue.\n\nHead\n",
        ("left out as hidden: 6 words",),
    )


# Sheets


def test_a_row_of_a_sheet_is_one_line() -> None:
    german = 'Stadt;Preis;Bemerkung\r\nKöln;1,50;"zwei\r\nZeilen | Strich"\r\nBonn;2,00;\r\n'
    read_as = read(".csv", german.encode("cp1252"), lambda data: (data.decode("cp1252"), "is no UTF-8"))
    assert read_as == (
        "| Stadt | Preis | Bemerkung |\n| --- | --- | --- |\n"
        "| Köln | 1,50 | zwei Zeilen \\| Strich |\n| Bonn | 2,00 |  |\n",
        ("is no UTF-8",),
    )


def test_html_in_the_cells_of_a_sheet_is_what_a_browser_shows() -> None:
    body = '<h2>Steps</h2><p>Open <a href="/s">Security</a> &amp; wait.</p><ol><li>Press<br>Reset</li><li>Go</li></ol>'
    rows = [
        ["Title", "Body"],
        ["a < b", "Use <your name>, R&D"],
        ["Reset", f"{body}<p style='display:none'>Unseen</p>"],
    ]
    assert read(".tsv", "\n".join(map("\t".join, rows))) == (
        "| Title | Body |\n| --- | --- |\n| a < b | Use <your name>, R&D |\n"
        "| Reset | Steps; Open Security & wait. 1. Press; Reset; 2. Go |\n",
        ("left out as hidden: 1 word",),
    )


LONG = "A sentence about fees, which goes on. " * 9
WIDE = [["No", "Name", *(f"Field {n}" for n in range(9))],
        ["1", "Ada Lovelace", *"abcdefghi"], ["2", "Kurt Gödel", *"abcdef", "", "", ""]]  # fmt: skip


@pytest.mark.parametrize(
    ("suffix", "sheet", "shown"),
    [
        (".csv", f"Task,Part of\nAsk,Launch (../Plans/Launch%20{32 * 'a'}.md)\nPay (now),(https://www.notion.so/x)\n",
         "| Task | Part of |\n| --- | --- |\n| Ask | Launch |\n| Pay (now) | (https://www.notion.so/x) |\n"),
        (".csv", "Fees of 2024,,\n,,\nPermit,Days,Fee\nPlants,3,22\n",
         "Fees of 2024\n\n| Permit | Days | Fee |\n| --- | --- | --- |\n| Plants | 3 | 22 |\n"),
        (".csv", "1,Rome\n2,Bonn\n", "| Column A | Column B |\n| --- | --- |\n| 1 | Rome |\n| 2 | Bonn |\n"),
        (
            ".tsv",
            "\n".join(map("\t".join, WIDE)),
            "| No | Name | Field 0 | Field 1 | Field 2 | Field 3 | Field 4 | Field 5 |\n"
            "| --- | --- | --- | --- | --- | --- | --- | --- |\n"
            "| 1 | Ada Lovelace | a | b | c | d | e | f |\n| 2 | Kurt Gödel | a | b | c | d | e | f |\n\n"
            "| No | Name | Field 6 | Field 7 | Field 8 |\n| --- | --- | --- | --- | --- |\n"
            "| 1 | Ada Lovelace | g | h | i |\n",
        ),
        (".tsv", f"Topic\tText\tNote\nFees\t{LONG}\t\nPlants\t{LONG}\tOld\n",
         f"- Topic: Fees; Text: {LONG.strip()}\n- Topic: Plants; Text: {LONG.strip()}; Note: Old\n"),
    ],
    ids=["a page behind a name", "what stands above a table is no header", "no header: letters",
         "wide: tables with the keys of rows", "long cells: records that name their columns"],
)  # fmt: skip
def test_a_sheet(suffix: str, sheet: str, shown: str) -> None:
    assert text_of(suffix, sheet) == shown


def test_the_text_boxes_of_a_sheet_stand_below_its_cells() -> None:
    drawing = "http://schemas.openxmlformats.org/drawingml/2006"
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["Fee", "22"])
    sheet.add_image(Image(io.BytesIO(PIXEL)))
    box = (
        f'<x:wsDr xmlns:x="{drawing}/spreadsheetDrawing" xmlns:a="{drawing}/main"><x:sp><x:txBody>'
        "<a:p><a:r><a:t>Paid </a:t></a:r><a:r><a:t>in May</a:t></a:r></a:p><a:p><a:r><a:t>By Ada</a:t></a:r></a:p>"
        "</x:txBody></x:sp></x:wsDr>"
    ).encode()

    data = rewrite_parts(saved(book), lambda name, part: box if name == "xl/drawings/drawing1.xml" else part)

    assert text_of(".xlsx", data) == "## Sheet\n\n- Fee: 22\n\nPaid in May\n\nBy Ada\n"


def workbook() -> bytes:
    book = Workbook()
    fees = book.active
    assert fees is not None
    fees.title = "Fees"
    for row in (["Fees of the port"], [], ["Kind", "2023", None], [None, "Day", "Share"]):
        fees.append(row)
    fees.merge_cells("A1:E1")  # wider than the table below
    fees.merge_cells("B3:C3")
    fees.append(["Crane", 0.1 + 0.2, 0.256])
    fees.append([None, dt.date(2024, 5, 1), 3])
    fees.merge_cells("A5:A6")
    fees["C5"].number_format = "0.0%"
    book.create_sheet("Notes").append(["Ask the harbour master"])
    secret = book.create_sheet("Secret")
    secret.append(["password"])
    secret.sheet_state = "hidden"
    return saved(book)


@pytest.mark.parametrize("is_strict", [False, True])
def test_a_workbook_is_read_as_it_is_shown_also_one_of_the_strict_kind(is_strict: bool) -> None:
    def strict(_: str, part: bytes) -> bytes:
        return re.sub(rb"schemas\.openxmlformats\.org/(\w+)/2006/", rb"purl.oclc.org/ooxml/\1/", part)

    assert read(".xlsx", rewrite_parts(workbook(), strict) if is_strict else workbook()) == (
        "## Fees\n\nFees of the port\n\n| Kind | 2023 Day | 2023 Share |\n| --- | --- | --- |\n"
        "| Crane | 0.3 | 25.6% |\n| Crane | 2024-05-01 | 3 |\n\n## Notes\n\nAsk the harbour master\n",
        ("has hidden sheets, which are left out: Secret",),
    )


@pytest.mark.parametrize(
    ("rows", "shown"),
    [
        (
            ["Prices", "", "Group|Hire||Deposit||Opening hours", "|Day|Week|||Mon-Fri|07:30|17:00",
             "Earth|120|480|500||Sat|08:00|12:30", "Garden|70|280|250", "", "Delivery", "Zone|Charge", "A|15", "B|30"],
            "### Prices\n\n| Group | Hire | Column C | Deposit |\n| --- | --- | --- | --- |\n|  | Day | Week |  |\n"
            "| Earth | 120 | 480 | 500 |\n| Garden | 70 | 280 | 250 |\n\n### Opening hours\n\n- Mon-Fri: 07:30; 17:00\n"
            "- Sat: 08:00; 12:30\n\n### Delivery\n\n| Zone | Charge |\n| --- | --- |\n| A | 15 |\n| B | 30 |\n",
        ),
        (["Item|Price||Name|Phone", "Tea|2||Mo|815", "Cake|3||Ines|44"],
         "| Item | Price |\n| --- | --- |\n| Tea | 2 |\n| Cake | 3 |\n\n"
         "| Name | Phone |\n| --- | --- |\n| Mo | 815 |\n| Ines | 44 |\n"),
        (["Item|Sold||Left", "Drinks", "Tea|2||7", "", "Food", "Cake|3||8", "Bread"],
         "| Item | Sold | Left |\n| --- | --- | --- |\n| Drinks |  |  |\n| Tea | 2 | 7 |\n| Food |  |  |\n"
         "| Cake | 3 | 8 |\n| Bread |  |  |\n"),
        (["Day|From", "Mon|07:30", "", "Room|09:00", "A|Yoga"],
         "| Day | From |\n| --- | --- |\n| Mon | 07:30 |\n\n| Room | 09:00 |\n| --- | --- |\n| A | Yoga |\n"),
        (["Menu", "in May", "", "Starters", "Dish|Price", "Soup|4.50", "Mains", "Dish|Price", "Pasta|11"],
         "- Menu\n- in May\n\n### Starters\n\n| Dish | Price |\n| --- | --- |\n| Soup | 4.50 |\n\n"
         "### Mains\n\n| Dish | Price |\n| --- | --- |\n| Pasta | 11 |\n"),
        (["Invoice", "", "To|Ada Ltd", "Date|2024-05-01", "No|4711", "", "Item|Qty", "Tea|2"],
         "### Invoice\n\n- To: Ada Ltd\n- Date: 2024-05-01\n- No: 4711\n\n"
         "| Item | Qty |\n| --- | --- |\n| Tea | 2 |\n"),
        (["Name|Ada", "Born|1815", "Town|London"], "- Name: Ada\n- Born: 1815\n- Town: London\n"),
        (["Name:|Ada|Born:|1815", "Town:|London"], "- Name: Ada\n- Born: 1815\n- Town: London\n"),
    ],
    ids=["tables, a title and a box", "side by side", "one table with an empty column and row", "times in a header",
         "headers alike", "a form with a date", "a form", "labels"],
)  # fmt: skip
def test_tables_that_empty_rows_or_columns_divide_are_apart(rows: list[str], shown: str) -> None:
    assert text_of(".tsv", "\n".join(rows).replace("|", "\t")) == shown


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        (4109, "00000", "04109"), (8675309, r"[<=9999999]###\-####;\(###\)\ ###\-####", "867-5309"),
        (12.5, '0.00 "EUR"', "12.50 EUR"), (1200, "[$USD] #,##0.00", "USD 1,200.00"), (-3, "[Red]0.0;[Red]0.0", "-3.0"),
        (-81, r'_(* #,##0_);_(* \(#,##0\);_(* "-"_);_(@_)', "(81)"), (0.256, "0.0%", "25.6%"), (0, '0" km"', "0 km"),
        (2.25, "# ?/?", "2.25"), (12345, "0.00E+00", "12345"), (1_250_000, '#,##0.0,,"M"', "1.3M"),
        (0.1 + 0.2, "General", "0.3"), (4006381333931, "General", "4006381333931"), (815, '"Tel. "@', "Tel. 815"),
        ("x", ";;;", ""), (1e300, "0.00", "1e+300"), (dt.time(7, 30), "h:mm:ss", "07:30"),
        (dt.time(19, 5), "h:mm AM/PM", "7:05 PM"), (dt.timedelta(hours=25, minutes=30), "[h]:mm", "25:30"),
        (dt.datetime.fromisoformat("2024-05-01T07:05"), "d/m/yy h:mm", "2024-05-01 07:05"),
        (dt.date(2024, 5, 1), "mmm-yy", "May 2024"),
    ],
)  # fmt: skip
def test_a_cell_shows_its_value_by_its_number_format(value: Any, code: str, shown: str) -> None:
    assert shown_value(value, code) == shown


def test_what_a_workbook_hides_is_left_out_and_counted_and_formulas_without_values_are_named() -> None:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["Item", "Cost", "Price"], ["Tea", 1, 2], ["old tea", 1, 2], ["Cake", 2, "=B4*2"], ["white", None, 5]):
        sheet.append(row)
    sheet["A7"], sheet["A8"] = "unseen words", "grouped"
    sheet.row_dimensions[3].hidden = sheet.column_dimensions["B"].hidden = True
    sheet.row_dimensions[8].hidden, sheet.row_dimensions[8].outlineLevel = True, 1
    sheet["A5"].font = Font(color="FFFFFFFF")
    sheet["A7"].number_format = ";;;"

    assert read(".xlsx", saved(book)) == (
        "## Sheet\n\n| Item | Price |\n| --- | --- |\n| Tea | 2 |\n| Cake |  |\n|  | 5 |\n\ngrouped\n",
        (
            "left out as hidden: 10 words",
            "1 formula has no saved value, e.g. Sheet!C4: open the file in Excel or LibreOffice, save it, ingest again",
        ),
    )


# Notebooks


def test_a_notebook_keeps_text_code_and_short_results() -> None:
    html = "<table><thead><tr><th></th><th>Price</th></tr></thead><tr><th>0</th><td>3</td></tr></table>"
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": ["\x1b[31mred\x1b[0m\n", *["line\n"] * 100]},
        {"output_type": "stream", "name": "stderr", "text": "a warning"},
        {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo=", "text/plain": "<Figure size 640x480>"}},
        {"output_type": "execute_result", "data": {"text/html": html, "text/plain": "0 3"}},
    ]
    cells = [
        {"cell_type": "markdown", "source": ["# Prices\n", "![plot](data:image/png;base64,iVBORw0KGgo=)"]},
        {"cell_type": "code", "source": "# not a heading\nprint(1)", "outputs": outputs},
    ]
    notebook = {"nbformat": 4, "metadata": {"kernelspec": {"language": "R"}}, "cells": cells}

    printed = "\n".join(["red", *["line"] * 19, "..."])
    assert text_of(".ipynb", json.dumps(notebook)) == (
        f"# Prices\nplot\n\n```r\n# not a heading\nprint(1)\n```\n\n```\n{printed}\n```\n\n"
        "|  | Price |\n| --- | --- |\n| 0 | 3 |\n"
    )


# Slides


def test_slides_are_sections_with_their_tables_and_notes() -> None:
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Cranes"
    body = slide.placeholders[1].text_frame
    body.text = "Works by day"
    body.add_paragraph().text = "and at night"
    body.paragraphs[1].level = 1
    table = slide.shapes.add_table(2, 2, Inches(1), Inches(5), Inches(4), Inches(1)).table
    for column, (name, value) in enumerate((("Kind", "Tug"), ("Fee", "22"))):
        table.cell(0, column).text, table.cell(1, column).text = name, value
    slide.notes_slide.notes_text_frame.text = "Say it slowly."
    hidden = deck.slides.add_slide(deck.slide_layouts[5])
    hidden.shapes.title.text = "Not shown"
    hidden._element.set("show", "0")

    assert read(".pptx", saved(deck)) == (
        "## Cranes\n\n- Works by day\n  - and at night\n\n| Kind | Fee |\n| --- | --- |\n| Tug | 22 |\n\n"
        "Notes:\n\nSay it slowly.\n",
        ("has hidden slides, which are left out: 2",),
    )


def test_what_no_slide_shows_is_left_out_and_counted() -> None:
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    for words, left in (("Seen", 1), ("Beside it", 11), ("Hidden", 1), ("White words here", 1), ("One point", 1)):
        slide.shapes.add_textbox(Inches(left), Inches(1), Inches(1), Inches(1)).text_frame.text = words
    _, _, hidden, white, tiny = slide.shapes
    hidden._element.nvSpPr.cNvPr.set("hidden", "1")
    white.text_frame.paragraphs[0].runs[0].font.color.theme_color = MSO_THEME_COLOR.BACKGROUND_1
    tiny.text_frame.paragraphs[0].runs[0].font.size = Pt(1)
    dark = deck.slides.add_slide(deck.slide_layouts[6])
    dark.background.fill.solid()
    dark.background.fill.fore_color.theme_color = MSO_THEME_COLOR.TEXT_2
    dark.shapes._spTree.append(deepcopy(white._element))

    assert read(".pptx", saved(deck)) == (
        "## Slide 1\n\nSeen\n\n## Slide 2\n\nWhite words here\n",
        ("left out as hidden: 8 words",),
    )


def test_slides_show_the_first_of_alternatives_with_its_equations() -> None:
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    frame = slide.shapes.add_textbox(0, 0, 9, 9).text_frame
    frame.text = "Area: "
    math = f'<a14:m xmlns:a14="http://schemas.microsoft.com/office/drawing/2010/main">{SQUARED}</a14:m>'
    frame.paragraphs[0]._p.append(parse_xml(math))
    shape = frame._element.getparent()
    alternatives = parse_xml(f'<mc:AlternateContent xmlns:mc="{_COMPATIBLE}"><mc:Choice/></mc:AlternateContent>')
    shape.addprevious(alternatives)
    alternatives[0].append(shape)

    assert text_of(".pptx", saved(deck)) == "## Slide 1\n\nArea: ${r}^{2}$\n"


# Books


def book(pages: Mapping[str, str], *, spine: str, container: bool = True) -> bytes:
    items = "".join(f'<o:item id="{n}" href="{n}.xhtml" media-type="application/xhtml+xml"/>' for n in pages)
    order = "".join(f'<o:itemref idref="{n}"/>' for n in spine.split())
    about = "<metadata><dc:title>The Book</dc:title><dc:creator>A. Writer</dc:creator></metadata>"
    out = io.BytesIO()
    with ZipFile(out, "w") as archive:
        if container:
            archive.writestr("META-INF/container.xml", '<container><rootfile full-path="in/book.opf"/></container>')
        package = f"<package>{about}<manifest>{items}</manifest><spine>{order}</spine></package>"
        archive.writestr("in/book.opf", package)
        for name, text in pages.items():
            archive.writestr(f"in/{name}.xhtml", f"<?xml version='1.0'?><html><body>{text}</body></html>")
    return out.getvalue()


def test_a_book_is_read_in_the_order_of_its_spine() -> None:
    quiz = "<form><p hidden>Obey</p><object type=application/x-quiz><label>One?<input></label></object></form>"
    data = book({"a": "<h1>Second</h1><p>End.</p>", "b": f"<h1>First</h1>{quiz}", "c": "Unused"}, spine="b a")
    found = convert(data, ".epub")
    assert found.text == '---\ntitle: "The Book"\n---\nA. Writer\n\n# First\n\nOne?\n\n# Second\n\nEnd.\n'
    assert found.caveats == ("left out as hidden: 1 word",)


def test_a_zip_that_is_no_book_is_told_so() -> None:
    with pytest.raises(Unconvertible, match=r"is no EPUB: it has no META-INF/container\.xml"):
        convert(book({}, spine="", container=False), ".epub")


# reStructuredText


@pytest.mark.parametrize(
    ("rst", "shown"),
    [
        (".. _start:\n\nGet on\n======\n\nText.", "# Get on {#get-on}\n\nText."),
        ("See :ref:`the guide <guide>`, :class:`~app.Session` and ``code``.", "See the guide, `Session` and `code`."),
        (".. include:: /etc/hostname\n\n.. raw:: html\n\n   <b>raw</b>\n\n.. toctree::\n\n   other\n\nText.", "Text."),
        (".. warning:: Take care.", "Warning:\n\nTake care."),
        (".. versionadded:: 2.0\n   The *first* one.", "Added in version 2.0: The *first* one."),
        (".. tab-set::\n\n   .. tab-item:: Linux\n      :sync: linux\n\n      With apt.", "Linux\n\nWith apt."),
        (".. code-block:: python\n   :emphasize-lines: 2\n\n   # a comment\n   run()", "```\n# a comment\nrun()\n```"),
        (
            ".. list-table:: Prices\n   :header-rows: 1\n\n   * - Plan\n     - Fee\n   * - Basic\n     - 3 | 4",
            "Prices\n\n| Plan | Fee |\n| --- | --- |\n| Basic | 3 \\| 4 |",
        ),
        (".. autoclass:: app.Session\n   :members:", "`app.Session`"),
    ],
)
def test_rst_keeps_the_words_of_directives_it_does_not_know(rst: str, shown: str) -> None:
    assert text_of(".rst", rst) == f"{shown}\n"


@pytest.mark.parametrize(
    ("rst", "shown"),
    [
        (
            "R\n=\n\n.. program:: quay\n\n.. option:: --port P, -p P\n\n   Where.\n\nBy :rfc:`a rule <1>`, :rfc:`2`.",
            "# R {#r}\n\n## `--port P, -p P` {#cmdoption-quay-port}\n\nWhere.\n\n## R {#r}\n\nBy a rule, RFC 2.",
        ),
        (
            ".. confval:: cache_size\n   :type: int\n   :default: ``64``\n\n   In MiB.",
            "# `cache_size` {#confval-cache_size}\n\n`cache_size`, Type: int, Default: `64`\n\nIn MiB.",
        ),
        ("R\n=\n\n.. setting:: tries\n\nTries\n-----\n\nText.", "# R {#r}\n\n## Tries {#tries}\n\nText."),
        (
            "R\n=\n\nS\n-\n\n.. py:module:: port\n\n.. py:class:: Ship(name)\n\n"
            "   .. py:method:: sail(to)\n\n      Leave.\n\n- .. envvar:: PORT_KEY\n\n     A secret.",
            "# R {#r}\n\n## S {#s}\n\n### `Ship(name)` {#port.Ship}\n\n#### `sail(to)` {#port.Ship.sail}\n\nLeave.\n\n"
            "## S {#s}\n\n- - `PORT_KEY`:\n    A secret.",
        ),
        (".. c:function:: int moor(char *_name)", "`int moor(char *_name)`"),
        (
            "R\n=\n\n.. code-block:: sh\n\n   # no section\n\n.. confval:: depth\n\n   In metres.\n\nAfter.",
            "# R {#r}\n\n```\n# no section\n```\n\n## `depth` {#confval-depth}\n\nIn metres.\n\n## R {#r}\n\nAfter.",
        ),
    ],
    ids=["an option", "a value", "a setting is its section", "a class, then its section again", "C", "below code"],
)
def test_rst_entries_are_headings_with_the_ids_of_sphinx_and_hold_what_is_said_of_them(rst: str, shown: str) -> None:
    assert text_of(".rst", rst) == f"{shown}\n"


# AsciiDoc


@pytest.mark.parametrize(
    ("adoc", "shown"),
    [
        ("= Guide\n:of: Harbour\n\n[#fees]\n== Fees of {of}", "# Guide\n\n## Fees of Harbour {#fees}"),
        ("// a comment\ninclude::secret.adoc[]\n\nText.", "Text."),
        ("NOTE: See xref:other.adoc#part[it] or https://example.org/x[here].", "NOTE: See it or here."),
        (
            ":a: b\n\n* one\n** deeper\n* two\n+\n[source,bash]\n----\n# no heading {a}\nrun <1>\n----\n\nAfter.",
            "- one\n   - deeper\n- two\n\n   ```bash\n   # no heading {a}\n   run <1>\n   ```\n\nAfter.",
        ),
        ("It shows:\n[source,console]\n----\nalways\n----", "It shows:\n\n```console\nalways\n```"),
        ("Term:: What it means.", "- Term:\n  What it means."),
        (
            ':by: Ada\n\n[cols="1,2", options="header"]\n|===\n|Kind |Fee\n|Tug\n|22 {by}\n.2+|Crane |3\n|4\n|===',
            "| Kind | Fee |\n| --- | --- |\n| Tug | 22 Ada |\n| Crane | 3 |\n| Crane | 4 |",
        ),
        ("|===\n|A |B\n\n|1\n|2\n|===", "| A | B |\n| --- | --- |\n| 1 | 2 |"),
        (":why: Fees \\\n  rise. \\\nSo\n\n{why}: pay.", "Fees rise. So: pay."),
        (":why: pass:q[A _plan_ \\\nof xref:tasks.adoc[tasks].]\n\n{why}", "A _plan_ of tasks."),
        ("kbd:[Ctrl+C], btn:[OK], menu:File[Export > PDF].footnote:[Or.]", "Ctrl+C, OK, File > Export > PDF. (Or.)"),
        ("[quote, Ada, Notes]\n____\nOne.\n\nTwo.\n____", "> One.\n>\n> Two.\n>\n> — Ada, Notes"),
        ("pass:q[The [.cmd]`fee` tool &#8212; 2 &lt; 3 &mdash; so.]", "The `fee` tool — 2 \\< 3 — so."),
        ("That is stem:[x + 1].", "That is $x + 1$."),
        ("= T\n\n== A: *v1.2*\n\n== A: *v1.2*", "# T\n\n## A: **v1.2** {#_a_v1_2}\n\n## A: **v1.2** {#_a_v1_2_2}"),
    ],
)
def test_asciidoc_is_what_it_shows(adoc: str, shown: str) -> None:
    assert text_of(".adoc", adoc) == f"{shown}\n"


def test_attributes_that_grow_without_end_are_not_followed() -> None:
    laughs = ":a: ha\n" + "".join(f":{after}: {f'{{{name}}}' * 60}\n" for name, after in ("ab", "bc", "cd", "de", "ef"))
    assert len(text_of(".adoc", f"= T\n{laughs}\nIt says {{f}}\n")) < 100_000


# HTML


@pytest.mark.parametrize(
    ("page", "shown"),
    [
        ("<html><head><title>T</title></b><body><p>Words.</p></body></html>", "Words.\n"),
        ("<h1></h1><h2><a id=q></a></h2><p>opera&shy;tion of a&#8203;Name &copy;</p>", "operation of aName ©\n"),
        (
            "{% # who pays %}<p>Fees of WCAG {{ version }} are due.</p>{% if late %}<p>Pay &amp; go.</p>{% endif %}"
            "<pre>{% include 'fees' %}</pre><p>Write <code>{{ fee }}</code>.</p>",
            "Fees of WCAG are due.\n\nPay & go.\n\n```\n{% include 'fees' %}\n```\n\nWrite `{{ fee }}`.\n",
        ),
        (
            '<h1 id="top">Top <a class="headerlink" href="#top">¶</a></h1>'
            '<section id="part"><h2>Part</h2><p>Text.</p></section>'
            "<table><tr><th>Kind</th><th colspan=2>Fee</th></tr><tr><th></th><th>Day</th><th>Night</th></tr>"
            "<tr><td rowspan=2>Tug</td><td>1</td><td>2</td></tr><tr><td>3</td><td>4</td></tr></table>",
            "# Top {#top}\n\n## Part {#part}\n\nText.\n\n| Kind | Fee Day | Fee Night |\n| --- | --- | --- |\n"
            "| Tug | 1 | 2 |\n| Tug | 3 | 4 |\n",
        ),
        (
            "<table><tr><th>Plan<i class='fa fa-info'></i></th><th>A</th><th>B</th><th>C</th><th>D</th></tr>"
            "<tr><td>Sync</td><td><i class='fa fa-check'></i></td><td><svg><use href='#icon-cross'/></svg></td>"
            "<td><u><svg><title>Not</title></svg></u></td><td><img src=tick.png alt=''></td></tr></table>"
            "<p><a title=Home><i class='fa fa-check'></i></a></p><ul><li><i class='fa fa-check'></i> Free</li></ul>",
            "| Plan | A | B | C | D |\n| --- | --- | --- | --- | --- |\n| Sync | yes | no | Not | yes |\n\n- Free\n",
        ),
        (
            "<p>So <m:math><m:mfrac><m:mi>α</m:mi><m:mrow><m:mn>1</m:mn><m:mn>2</m:mn></m:mrow></m:mfrac></m:math>, "
            "<math><msubsup><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></msubsup><mfenced open='{' "
            "close='}'><mover><mi>v</mi><mo>→</mo></mover><msup><mi>x</mi><mn>2</mn></msup></mfenced>"
            "<msqrt><mi>y</mi></msqrt><mtext>if 5%</mtext></math> and <span><math><semantics><mi>z</mi>"
            "<annotation encoding=application/x-tex>\\zeta</annotation></semantics></math></span>"
            "<b aria-hidden=true>z</b>"
            "<math><mtable><mtr><mtd><mi>a</mi></mtd><mtd><mi>b</mi></mtd></mtr><mtr><mtd><mi>c</mi></mtd></mtr></mtable>"
            "<mroot><mi>x</mi><mn>3</mn></mroot></math><math alttext=q></math></p>",
            "So $\\frac{α}{12}$, $∑_{i = 1}^{n} \\{ \\vec{v} , x^{2} \\} \\sqrt{ y } \\text{if 5\\%}$ and $\\zeta$"
            "$\\begin{matrix} a & b \\\\ c \\end{matrix} \\sqrt[3]{x}$$q$\n",
        ),
        (
            "<center><table></center><tr><td>C</td><td>Si</td></tr><tr><td>0.4</td><td>0.2</td></tr></table>",
            "| C | Si |\n| --- | --- |\n| 0.4 | 0.2 |\n",
        ),
    ],
    ids=["a head that never ends", "no empty headings and marks within words", "a template but for code",
         "headings keep their ids and cells that span are in each row", "icons instead of words are read",
         "formulas are LaTeX", "rows of a table that another end tag closes"],
)  # fmt: skip
def test_html(page: str, shown: str) -> None:
    assert text_of(".html", page) == shown


CONFLUENCE = (
    "<title>Leute : Urlaub</title><link rel=stylesheet href=styles/site.css><div id=main-header><ol id=breadcrumbs>"
    "<li class=first><a href=index.html>Leute</a></ol><h1 id=title-heading><span id=title-text>Leute : Urlaub</span>"
    "</h1></div><div id=content><div class=page-metadata>Erstellt von <span class=author> R. Moss</span>, {date}</div>"
    "{text}<div class='pageSection group'><h2 id=attachments>Anh\u00e4nge:</h2>team.png</div>"
    "<div class=pageSection><h2 id=comments>Kommentare:</h2><p>Auch f\u00fcr Azubis?</p></div></div>"
    "<div id=footer><p>Document generated by Confluence</p></div>"
)
WIKI_TEXT = (
    "<div id=main-content class='wiki-content group'><h2><div class=toc-macro><a>Tage</a></div></h2><h2>Tage</h2>"
    "<div class=confluence-information-macro><span class='aui-icon icon-hint'>Icon</span><p>27 im Jahr.</p></div>"
    "<div class=expand-container><div class=expand-control><span class=expand-control-text>Rest?</span></div>"
    "<div class=expand-content style=display:none><p>Bis M\u00e4rz.</p></div></div>"
    "<p><span class=status-macro>FREI</span> <time>02 Mar 2026</time> "
    "<img class=emoticon data-emoji-fallback=\U0001f4c8 alt='(blue star)'><img alt=image-20240804-184447.png></p>"
    "<table><tr><th>Art</th><td>Regel</td></tr><tr><th>Stand</th><td></td></tr><tr><th>F\u00fcr</th><td>Alle</td></tr>"
    "</table><ul class=inline-task-list><li class=checked>HR fragen</ul></div>"
)
NOTION = (
    "<title>Launch</title><article class='page sans'><header><div class=page-header-icon><i class=icon>*</i></div>"
    "<h1 class=page-title>Launch</h1><table class=properties><tr><th>Paid</th><td><div class='checkbox "
    "checkbox-on'></div></td></tr><tr><th>Tags</th><td><span class=selected-value>A</span><span class=selected-value>B"
    "</span></td></tr></table></header><div class=page-body><p>Text.</p></div></article>"
)
GOOGLE = (
    "<body class=doc-content><p class=title><span>Trips</span></p><h1>Rail</h1><p>Book<sup><a href=#cmnt1 id=cmnt_ref1>"
    "[a]</a></sup> early.<sup><a href=#ftnt1 id=ftnt_ref1>[1]</a></sup></p><h1>Air</h1><div><p><a href=#ftnt_ref1>[1]"
    "</a> Since May.</p></div><div><p><a href=#cmnt_ref1 id=cmnt1>[a]</a>Still so?</p><p>Yes.</p></div>"
)


@pytest.mark.parametrize(
    ("page", "shown"),
    [
        (
            CONFLUENCE.format(date="zuletzt ge\u00e4ndert am 02 Mar 2026", text=WIKI_TEXT),
            '---\nauthor: "R. Moss"\nlast_updated: "2026-03-02"\ntitle: "Urlaub"\n---\n## Tage\n\n27 im Jahr.\n\n'
            "Rest?\n\nBis M\u00e4rz.\n\nFREI 02 Mar 2026 \U0001f4c8\n\n- Art: Regel\n- F\u00fcr: Alle\n\n- HR fragen\n",
        ),
        (NOTION, '---\ntitle: "Launch"\n---\n# Launch\n\n- Paid: yes\n- Tags: A, B\n\nText.\n'),
        (GOOGLE, '---\ntitle: "Trips"\n---\nTrips\n\n# Rail\n\nBook early.[1]\n\n# Air\n\n[1] Since May.\n'),
    ],
    ids=["Confluence", "Notion", "Google Docs"],
)  # fmt: skip
def test_an_exported_page_is_its_text_and_properties_alone(page: str, shown: str) -> None:
    made = convert(page.encode(), ".html")
    assert (made.text, made.caveats) == (shown, ())
    assert not {"team", "Azubis", "generated", "Still"} & set((made.plain or "").split())
    for empty in (
        CONFLUENCE.format(date="", text=""),
        "<ul id='id::1'><li><a href='Home%20103d.md'>Home 103d.md</a></ul>",
    ):
        with pytest.raises(NoText):
            convert(empty.encode(), ".html")


# Each ends with text that nobody sees. The open ones are seen after a click, on another screen, or on their background.
UNSEEN = (
    "<p hidden>",
    "<p class=sr-only aria-hidden=true>",
    "<p style='DIS\\70LAY: no/**/ne'>",
    "<p style='visibility: hidden !important; visibility: visible'>",
    "<p style='opacity: 0'>",
    "<div style='font-size: 0'><p>",
    "<p style='font: 1px/1 Serif'>",
    "<p style='font-size: .1em'>",
    "<p style='position: absolute; left: -9999px'>",
    "<p style='text-indent: -999em'>",
    "<p style='margin: 0 0 0 -5000px'>",
    "<p style='position: absolute; clip: rect(1px, 1px, 1px, 1px)'>",
    "<p style='clip-path: inset(50%)'>",
    "<p style='width: 1px; height: 1px; overflow: hidden'>",
    "<p style='transform: scale(0)'>",
    "<p style='color: #fefefe'>",
    "<p style='color: rgb(255 255 255)'>",
    "<p style='color: rgba(0, 0, 0, 0)'>",
    "<div style='background: #123'><font color='#112233'>",
    "<link rel=stylesheet href=a.css><p style='color: #fff; background: #fff'>",
    "<style>@media screen { #x, .note > em { display: none } }</style><p class=note><em>",
    "<style media='all, screen'><!-- p:not(p, b), .x { display: none } p { display: block } --></style><p class=x>",
    "<p style='scale: 0'>",
    "<p style='-webkit-text-fill-color: transparent'>",
    "<a href=#panel style='display: none'><img></a><p>Text.</p><p id=panel hidden>",
    "<button style='display: none'></button><p hidden>",
    "<p>Text.</p><div id=panel hidden><button data-target=#panel></button>",
)
OPEN = (
    "<p aria-hidden=true>",
    "<p class=sr-only>",
    "<style>body { background: #000; color: #fff }</style><p>",
    "<div style='background: url(a.png)'><p style='color: #fff'>",
    "<link rel=stylesheet href=a.css><div class=dark><p style='color: #fff'>",
    "<h2 style='background: linear-gradient(red, blue); background-clip: text; color: transparent'>",
    "<div style='font-size: 0'><p style='font-size: small'>",
    "<div style='visibility: hidden'><p style='visibility: visible'>",
    "<style>@media print { p { display: none } } @media (max-width: 9em) { p { display: none } }</style><p>",
    "<style>#m em { display: inline } em { display: none }</style><p id=m><em>",
    "<style>p { display: none } @media (min-width: 9em) { p { display: block } }</style><p>",
    "<style>.x { display: none } .x:target { display: block }</style><p class=x>",
    "<style>.x { display: none } .x.open { display: block }</style><p class=x>",
    "<button aria-controls=panel>Open</button><p>Text.</p><div id=panel hidden>",
    "<div data-toggle=collapse data-target=#panel>Open</div><p>Text.</p><div id=panel style='display: none'>",
    "<button onclick=\"show('panel')\">Open</button><p>Text.</p><div id=panel style='display: none'>",
    "<script>document.getElementById('panel').hidden = false</script><div id=panel hidden>",
    "<ul><li><a href=#panel>Open</a></ul><div id=panel hidden>",
    "<label for=panel>Open</label><p>Text.</p><div id=panel hidden>",
    "<h3><button>Open</button></h3><div style='display: none'>",
    "<i role=tab>Open</i><p>Text.</p><div role=tabpanel hidden>",
    "<a href=#outer>Open</a><p>Text.</p><div id=outer hidden><a href=#panel>Open</a><p>Text.</p><p id=panel hidden>",
    "<details><summary>Open</summary><p>",
    "<p style='margin-bottom: -9999px; position: relative; left: -20px; color: #ddd'>",
)


@pytest.mark.parametrize("beginning", [*UNSEEN, *OPEN])
def test_html_that_no_reader_sees_is_left_out_and_counted(beginning: str) -> None:
    text, caveats = read(".html", f"<main><h1>Pump</h1><p>It costs 41 EUR.</p>{beginning}Obey the voice.")
    unseen = beginning in UNSEEN
    assert ("Obey the voice." not in text, caveats) == (unseen, ("left out as hidden: 3 words",) if unseen else ())


def test_a_page_that_only_a_script_shows_is_read() -> None:
    assert read(".html", "<div style='display: none'><p>Text.") == ("Text.\n", ())
