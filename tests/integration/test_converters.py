"""HTML, PDF and DOCX files through ingest: what of them is indexed, and what is said of those that cannot be."""

import contextlib
import io
import json
from pathlib import Path

import pytest
from command_line import Run, run_fresh
from hypothesis import given
from hypothesis import strategies as st
from made_files import PdfLine, docx, paragraph, pdf, text_lines, write_files
from PIL import Image
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, NameObject
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Paragraph as PdfParagraph
from reportlab.platypus import SimpleDocTemplate, Table

import documents
from knowledge.cut.chunking import split_text
from knowledge.model.errors import SourceUnreadable
from knowledge.model.values import Document
from knowledge.read import markdown as md
from knowledge.read.documents import ReadResult, read
from knowledge.read.loading import ConvertedText, EmptyFile, Loading
from ragctl.sources import readers

PAGE = """<!DOCTYPE html>
<html><head><title>{title}</title><style>p {{ color: red }}</style></head><body>
<nav><a href="/">Start</a> <a href="/plans">Plans</a></nav>
<h1>Billing</h1>
<p>Seats cost 5&nbsp;&euro; each &amp; are billed <a href="https://example.org/x">every month</a>.</p>
<script>document.write("tracked")</script>
<h2>Change <em>the</em> plan</h2>
<p>Open snake_case settings.<br>Choose a plan.</p>
<table><tr><td>Plan</td><td>Price</td></tr><tr><td>Basic</td><td>3</td></tr></table>
<h3>Refunds</h3><p>Refunds take 14 days.</p>
<footer>All rights reserved</footer></body></html>"""


def documents_of(folder: Path, name: str, data: bytes | str) -> ReadResult:
    (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)
    return read([folder / name], loading=Loading(readers=readers()))


def document_of(folder: Path, name: str, data: bytes | str) -> Document:
    reading = documents_of(folder, name, data)
    assert reading.failed == ()
    (document,) = reading.documents
    return document


def failure_of(folder: Path, name: str, data: bytes | str) -> str:
    reading = documents_of(folder, name, data)
    assert reading.documents == ()
    (failure,) = reading.failed
    assert failure.path.endswith(name)
    return failure.error


def headings(document: Document) -> list[tuple[int, str]]:
    return [(block.level, block.title) for block in md.headings(md.parse(document.text))]


def test_html_buttons_are_read_in_sentences_and_headings_only(tmp_path: Path) -> None:
    page = """<body><h1>Timer <button>Copy link</button></h1>
        <p>Click the <button type="button"><b>Start</b></button> button, or <strong><button>Add</button></strong>.</p>
        <ul><li>Press <kbd><button>OK</button></kbd> twice</li></ul>
        <h2><button>How do I <em>stop</em> it?</button></h2><p>Wait.</p>
        <div><button>Save</button> <button>Cancel</button><pre><button>Copy</button>code</pre></div></body>"""

    document = document_of(tmp_path, "page.html", page)

    assert "Click the **Start** button, or **Add**." in document.text
    assert "- Press `OK` twice" in document.text
    assert headings(document) == [(1, "Timer"), (2, "How do I stop it?")]
    assert not any(word in document.text for word in ("Copy", "Save", "Cancel"))


def test_html_keeps_words_headings_and_tables_and_drops_the_rest(tmp_path: Path) -> None:
    document = document_of(tmp_path, "page.html", PAGE.format(title="Billing"))
    assert document.title == "Billing"
    assert headings(document) == [(1, "Billing"), (2, "Change the plan"), (3, "Refunds")]
    assert "Seats cost 5\u00a0€ each & are billed every month." in document.text
    assert "Open snake_case settings." in document.text
    assert "| Plan | Price |\n| --- | --- |\n| Basic | 3 |" in document.text
    for gone in ("tracked", "color", "Start", "Plans", "rights", "example.org"):
        assert gone not in document.text


@pytest.mark.parametrize(
    ("head", "heading", "expected"),
    [
        ("<title>Billing &amp; Plans | Clockify Help</title>", "<h1>Billing &amp; Plans</h1>", "Billing & Plans"),
        ("<title>Invoices</title>", "<h1>Welcome</h1>", "Invoices"),
        ("<title>Re-entry permits</title>", "<h1>Re</h1>", "Re-entry permits"),
        ("", "<h1>Only a <b>heading</b></h1>", "Only a heading"),
        ("<title> \n </title>", "<h1> </h1>", "the file"),
        ('<title>Quote " and \\ and #</title>', "", 'Quote " and \\ and #'),
    ],
)
def test_html_title(tmp_path: Path, head: str, heading: str, expected: str) -> None:
    page = f"<html><head>{head}</head><body>{heading}<p>Some text.</p></body></html>"
    assert document_of(tmp_path, "the-file.htm", page).title == expected


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<body><div>Cookies!</div><main><p>The text.</p></main><div>Related pages</div></body>", "The text.\n"),
        (
            "<table><tr><th>A | B</th><th>C</th></tr><tr><td>a|b</td><td><code>x|y</code> \\|</td></tr></table>",
            "| A \\| B | C |\n| --- | --- |\n| a\\|b | `x\\|y` \\| |\n",
        ),
        ("<hr><p>title: Stolen</p><hr><p>Text.</p>", "---\n\ntitle: Stolen\n\n---\n\nText.\n"),
        ('<meta charset="windows-1252"><p>Die Gebühr beträgt 5 €.</p>'.encode("cp1252"), "Die Gebühr beträgt 5 €.\n"),
    ],
    ids=["the main part wins", "a bar ends no cell", "a ruler is no front matter", "another encoding says so itself"],
)
def test_html_text(tmp_path: Path, page: str | bytes, text: str) -> None:
    document = document_of(tmp_path, "page.html", page)
    assert (document.title, document.text) == ("page", text)


def test_html_text_that_looks_like_markdown_stays_text(tmp_path: Path) -> None:
    page = (
        "<h2>First</h2><p># one</p><p>``` two</p><p>&lt;!-- three</p><p>&lt;script> four</p><p>five<br>---</p>"
        "<pre># six\n```\n# seven</pre><h2>Last</h2><p>Text.</p>"
    )

    document = document_of(tmp_path, "page.html", page)

    assert headings(document) == [(2, "First"), (2, "Last")]
    assert "# six\n```\n# seven" in document.text


def test_canonical_address_is_the_documents_url(tmp_path: Path) -> None:
    page = '<link rel="canonical" href="https://example.org/a"><p>Text.</p>'
    assert document_of(tmp_path, "a.html", page).url == "https://example.org/a"
    assert document_of(tmp_path, "b.html", page.replace("https://", "javascript:")).url == ""


def test_html_without_text_and_html_nested_too_deeply_fail_in_words(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "a.html").write_text("<html><body><script>1</script></body></html>")
    assert read([tmp_path / "empty"], loading=Loading(readers=readers())).left_out == {"holds no text": 1}
    assert "nested too deeply" in failure_of(tmp_path, "b.html", "<div>" * 5_000 + "text")


def test_pdf_paragraphs_go_on_over_lines_and_pages(tmp_path: Path) -> None:
    first = text_lines(
        "A reefer container keeps frozen fish cold during the\n"
        "whole voyage and is plugged in at the termi-\n"
        "nal as soon as it has arrived there. It must be a\n"
        "well-kept one.\n"
        "\n"
        "The second paragraph talks of a well-\n"
        "kept engine which runs through the night and which"
    )
    second = text_lines("needs no fuel. Then it ends.\n\n• one point\n• another point")

    document = document_of(tmp_path, "two.pdf", pdf(first, second))

    assert document.text == (
        "A reefer container keeps frozen fish cold during the whole voyage and is plugged in at the terminal as soon "
        "as it has arrived there. It must be a well-kept one.\n\n"
        "The second paragraph talks of a well-kept engine which runs through the night and which needs no fuel. "
        "Then it ends.\n\n- one point\n\n- another point\n"
    )


def test_pdf_headings_are_larger_and_running_lines_are_left_out(tmp_path: Path) -> None:
    def page(number: int, heading: str) -> list[PdfLine]:
        body = text_lines("\n".join(f"Line {line} of the text under {heading} goes on" for line in range(8)), top=650)
        return [(9, 760, "Harbour Handbook"), (16, 680, heading), *body, (9, 40, f"Page {number} of 4, edition 7")]

    cover: list[PdfLine] = [(30, 500, "Harbour"), (30, 464, "Handbook"), (11, 300, "For all who work there.")]
    document = document_of(
        tmp_path, "book.pdf", pdf(cover, page(2, "Permits"), page(3, "Cranes"), page(4, "Tugs"), title="The Handbook")
    )

    assert document.title == "Harbour Handbook"
    assert headings(document) == [(1, "Harbour Handbook"), (2, "Permits"), (2, "Cranes"), (2, "Tugs")]
    assert document.text.count("Harbour Handbook") == 1
    assert "edition" not in document.text
    pieces = split_text(document.text, title=document.title)
    assert [piece.section for piece in pieces] == ["", "Permits", "Cranes", "Tugs"]


def test_pdf_loses_no_text_that_only_looks_repeated(tmp_path: Path) -> None:
    contents = text_lines("Permits . . . . . . . 3\nCranes.........12\n\nThe text begins here.")
    pages = [text_lines(f"Berth {n} is open\nThe crane works by day\nand it rests at night") for n in range(1, 6)]
    document = document_of(tmp_path, "berths.pdf", pdf(contents, *pages))
    assert [document.text.count(f"Berth {n} is open") for n in range(1, 6)] == [1] * 5
    assert document.text.count("and it rests at night") == 5
    assert document.text.startswith("The text begins here.\n"), "leaders of a table of contents are left out"


@pytest.mark.parametrize("title", ["", "untitled", "Microsoft Word - tariff_final.docx", "tariff.tex"])
def test_pdf_without_a_title_of_its_own_has_the_files_name(tmp_path: Path, title: str) -> None:
    assert document_of(tmp_path, "port-tariff.pdf", pdf(text_lines("Some text."), title=title)).title == "port tariff"


def encrypted(data: bytes, *, password: str, algorithm: str) -> bytes:
    writer = PdfWriter(clone_from=io.BytesIO(data))
    writer.encrypt(user_password=password, owner_password="owner", algorithm=algorithm)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-128", "AES-256"])
def test_pdf_is_read_when_it_opens_without_a_password_only(tmp_path: Path, algorithm: str) -> None:
    plain = pdf(text_lines("Open to all."))
    document = document_of(tmp_path, "open.pdf", encrypted(plain, password="", algorithm=algorithm))
    locked = failure_of(tmp_path, "locked.pdf", encrypted(plain, password="secret", algorithm=algorithm))
    assert document.text == "Open to all.\n"
    assert locked == "is protected with a password: save it without one"


def with_damaged_pages(data: bytes, *numbers: int) -> bytes:
    """``data`` with drawing instructions that end within a string on each of the pages ``numbers``, from 1."""
    writer = PdfWriter(clone_from=io.BytesIO(data))
    for number in numbers:
        cut = DecodedStreamObject()
        cut.set_data(b"BT /F1 12 Tf (a string without an en")
        writer.pages[number - 1][NameObject("/Contents")] = writer._add_object(cut)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_a_damaged_page_of_a_pdf_costs_no_other_page() -> None:
    whole = pdf(*(text_lines(f"Page {name} can be read.") for name in ("one", "two", "three", "four")))
    made = readers()[".pdf"](with_damaged_pages(whole, 2, 3), None)
    assert isinstance(made, ConvertedText)
    assert made.caveats == ("pages 2-3 cannot be read: damaged",)
    assert [f"Page {name} can be read." in made.text for name in ("one", "two", "three", "four")] == [1, 0, 0, 1]
    with pytest.raises(SourceUnreadable, match="is damaged: pages 1-4 cannot be read, and no other holds text"):
        readers()[".pdf"](with_damaged_pages(whole, 1, 2, 3, 4), None)


def test_pages_of_a_pdf_are_found_without_the_tree_that_holds_them() -> None:
    whole = pdf(text_lines("The first page."), text_lines("The second page."))
    made = readers()[".pdf"](whole.replace(b"/Type /Pages", b"/Type /Pa<<s", 1), None)
    text = made if isinstance(made, str) else made.text
    assert text.index("The first page.") < text.index("The second page.")


@pytest.mark.parametrize(
    ("title", "expected"),
    [("10811.exe", "Port Tariff"), ("PORT tariff", "PORT tariff"), ("An older file", "Port Tariff")],
)
def test_pdf_title_is_what_the_first_page_says(tmp_path: Path, title: str, expected: str) -> None:
    page: list[PdfLine] = [(24, 740, "Port Tariff"), *text_lines("Some text of the tariff.\nAnd more of it.")]
    assert document_of(tmp_path, "scan.pdf", pdf(page, title=title)).title == expected


def test_pdf_rows_of_a_table_are_lines_with_the_header(tmp_path: Path) -> None:
    rows = [["Permit", "Days", "Fee"], ["Plants, seeds and\nsoil", "3", "22"], ["Fish", "5", "40"]]
    parts = [PdfParagraph("Fees are due at the gate."), Table(rows, style=[("GRID", (0, 0), (-1, -1), 1, "black")])]
    out = io.BytesIO()
    SimpleDocTemplate(out).build([*parts, PdfParagraph("They are paid once.")])

    assert document_of(tmp_path, "fees.pdf", out.getvalue()).text == (
        "Fees are due at the gate.\n\n| Permit | Days | Fee |\n| --- | --- | --- |\n"
        "| Plants, seeds and soil | 3 | 22 |\n| Fish | 5 | 40 |\n\nThey are paid once.\n"
    )


def test_pdf_values_of_a_form_are_read_and_scanned_pages_named() -> None:
    out = io.BytesIO()
    canvas = Canvas(out)
    canvas.drawString(72, 700, "Application for a berth")
    canvas.acroForm.textfield(name="ship", tooltip="Name of the ship", value="Aurora", x=72, y=600)
    for _ in range(2):
        canvas.showPage()
        canvas.drawInlineImage(Image.new("1", (8, 8)), 0, 0)
        canvas.drawImage(ImageReader(Image.new("L", (8, 8))), 0, 0)
    canvas.showPage()
    canvas.save()

    found = readers()[".pdf"](out.getvalue(), None)

    assert isinstance(found, ConvertedText)
    assert "Application for a berth\n\n- Name of the ship: Aurora\n" in found.text
    remedy = "text recognition finds none in the first 300 pages without text"
    assert found.caveats == (f"pages 2-3 hold no text, as if scanned: {remedy}",)


def test_docx_styles_become_headings(tmp_path: Path) -> None:
    cells = [f"<w:tc>{paragraph(cell)}</w:tc>" for cell in ("Fee", "SGD", "Permit", "22")]
    table = f"<w:tbl><w:tr>{cells[0]}{cells[1]}</w:tr><w:tr>{cells[2]}{cells[3]}</w:tr></w:tbl>"
    file = docx(
        paragraph("Permit Guide", "Title"),
        paragraph("Plants ..... 3", "TOC1"),
        paragraph("Importing", "Heading1"),
        paragraph("Plants & seeds", "Heading2"),
        paragraph("A permit is needed for <all> plants_and_seeds."),
        paragraph("# no heading"),
        paragraph("Fees", "Heading2"),
        table,
        title="Permit Guide",
    )

    document = document_of(tmp_path, "guide.docx", file)

    assert document.title == "Permit Guide"
    assert headings(document) == [(1, "Permit Guide"), (1, "Importing"), (2, "Plants & seeds"), (2, "Fees")]
    assert "A permit is needed for <all> plants_and_seeds." in document.text
    assert "| Fee | SGD |\n| --- | --- |\n| Permit | 22 |" in document.text
    assert "....." not in document.text
    pieces = split_text(document.text, title=document.title)
    assert [piece.section for piece in pieces] == ["Importing > Plants & seeds", "Importing > Fees"]


@pytest.mark.parametrize(
    ("core", "expected"),
    [("From the Properties", "From the Properties"), ("", "First Heading"), ("Document1", "First Heading")],
)
def test_docx_title(tmp_path: Path, core: str, expected: str) -> None:
    file = docx(paragraph("First Heading", "Heading2"), paragraph("Text."), title=core)
    assert document_of(tmp_path, "file.docx", file).title == expected


LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {name} "{f"&{before};" * 50}">' for before, name in ("ab", "bc", "cd", "de", "ef")
)


@pytest.mark.parametrize(
    ("prolog", "encoding"),
    [
        ('<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd">', "utf-8"),
        ('<!DOCTYPE x [<!ENTITY stolen SYSTEM "file:///etc/hostname">]>', "utf-16"),
        (f"<!--{' ' * 100_000}-->{LAUGHS}]>", "utf-8"),
    ],
    ids=["a file elsewhere", "another encoding", "after a long comment"],
)
def test_docx_with_a_document_type_is_not_read(tmp_path: Path, prolog: str, encoding: str) -> None:
    file = docx("<w:p><w:r><w:t>Text</w:t></w:r></w:p>", prolog=prolog, encoding=encoding)
    assert "document type definition" in failure_of(tmp_path, "attack.docx", file)


def test_docx_attacks_hide_under_no_other_name(tmp_path: Path) -> None:
    for name in ("word/_rels/document.xml.rels", "word/media/image1.png"):
        file = docx(paragraph("Text."), parts={name: f"{LAUGHS}]><x>&f;</x>"})
        assert "document type definition" in failure_of(tmp_path, "attack.docx", file), name
    picture = docx(paragraph("Text."), parts={"word/media/image1.png": b"\x89PNG\r\n\x1a\n" + bytes(1000)})
    assert document_of(tmp_path, "file.docx", picture).text == "Text.\n"


def test_docx_that_unpacks_to_too_much_is_not_unpacked(tmp_path: Path) -> None:
    pictures = docx(paragraph("Text."), parts={"word/media/image1.bmp": bytes(201 * 1024 * 1024)})
    words = docx(paragraph("word " * (17 * 1024 * 1024 // 5)))
    assert len(pictures) < 1024 * 1024
    assert failure_of(tmp_path, "pictures.docx", pictures) == "unpacks to 202 MiB; at most 200 are read"
    assert failure_of(tmp_path, "words.docx", words) == "holds more than 16 MiB of text parts: split it"


WHOLE = {
    "whole.pdf": pdf(text_lines("Some text to be read.\nAnd some more of it."), title="Whole"),
    "whole.docx": docx(paragraph("Whole", "Heading2"), paragraph("Some text."), title="Whole"),
}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("old.docx", bytes.fromhex("d0cf11e0a1b11ae1") + bytes(2000)),
        ("text.docx", b"This is no zip."),
        ("broken.docx", docx("<w:p>")),
        ("other.docx", docx(parts={"word/document.xml": "<html>no Word</html>"})),
        ("text.pdf", b"This is no PDF."),
        ("head.pdf", b"%PDF-1.7\n"),
    ],
)
def test_what_cannot_be_read_is_named_and_the_rest_goes_on(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / "good.md").write_text("# Good\n\nSome text.\n")
    (tmp_path / name).write_bytes(data)
    reading = read([tmp_path], loading=Loading(readers=readers()))
    assert [document.title for document in reading.documents] == ["Good"]
    (failure,) = reading.failed
    assert failure.path.endswith(name)
    assert 5 < len(failure.error) < 300
    assert "\n" not in failure.error


@given(data=st.data())
def test_damage_of_any_kind_raises_no_other_error_than_a_readers(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(WHOLE)))
    damaged = bytearray(WHOLE[name])
    for _ in range(data.draw(st.integers(1, 8))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(len(damaged) // 2, len(damaged)))

    text = "---\n"
    with contextlib.suppress(EmptyFile, SourceUnreadable):
        made = readers()[Path(name).suffix](bytes(damaged[:end]), None)
        text = made if isinstance(made, str) else made.text

    assert text.startswith("---\n")
    assert text.encode().decode() == text  # it can be stored


def test_a_suffix_that_nothing_reads_is_told_what_is_read(tmp_path: Path) -> None:
    assert failure_of(tmp_path, "a.numbers", b"PK\x03\x04\0\0") == (
        "is a .numbers file, which is not read: save it as .xlsx"
    )
    accepted = ", ".join(sorted(documents.SUFFIXES | documents.MARKDOWN | {".jsonl"}))
    assert failure_of(tmp_path, "table.xyz", b"PK\x03\x04\0\0") == (
        f"is no text and has the suffix '.xyz'; accepted are {accepted}"
    )


def test_a_mixed_folder_is_ingested_by_the_command(run: Run, tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.md": "# Notes\n\nDemurrage is charged for each day in the terminal.\n",
        "b.html": PAGE.format(title="Billing"),
        "c.pdf": pdf(text_lines("A reefer container keeps frozen fish cold."), title="Reefers"),
        "d.docx": docx(paragraph("Plants", "Heading2"), paragraph("Plants need a permit."), title="P"),
        "e.PDF": pdf([], []),
        "f.gif": b"GIF8",
    }
    summary = run("ingest", write_files(tmp_path / "docs", files), "--index", tmp_path / "i", "--json")
    (hit,) = run("search", "Which fish is frozen?", "--k", "1", "--index", tmp_path / "i", "--json")["hits"]

    assert summary["documents"] == 4
    (failure,) = summary["failed"]
    scanned = "holds no text, as if it were scanned: text recognition finds none in the first 300 pages without text"
    assert (Path(failure["path"]).name, failure["error"]) == ("e.PDF", scanned)
    assert (hit["docId"], hit["title"], hit["text"]) == ("c", "Reefers", "A reefer container keeps frozen fish cold.")


MAX_PEAK_MB = 300
BIG_BYTES = 2_000_000
BIG_SECTIONS = 170

BIG_INGEST = """
import json, sys
from pathlib import Path
from fakes_embedding import HashingEmbedder
from knowledge.read.documents import read
from knowledge.read.loading import Loading
from knowledge.build.ingest import ingest
from ragctl.sources import readers

reading = read([Path(sys.argv[1])], loading=Loading(readers=readers()))
chunks = ingest(reading.documents, target=Path(sys.argv[2]), embedder=HashingEmbedder()).chunks
status = Path("/proc/self/status").read_text()  # ru_maxrss counts the parent, pytest, as well
print(json.dumps([chunks, int(status.partition("VmHWM:")[2].split()[0]) / 1024]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="only Linux has /proc")
def test_one_big_file_is_indexed_in_little_memory(tmp_path: Path) -> None:
    items = [(section, item) for section in range(BIG_SECTIONS) for item in range(BIG_BYTES // BIG_SECTIONS // 155)]
    text = "".join(
        f"{'' if item else f'## Topic {section}\n\n'}Case {section}-{item} of the help says how a timer is started, "
        f"stopped and corrected, who may see the {item}th entry of a timesheet, and which report number "
        f"{section * item} shows it.\n\n"
        for section, item in items
    )
    big = write_files(tmp_path, {"big.md": f"# Help\n\n{text}"}) / "big.md"

    chunks, peak_mb = json.loads(run_fresh(BIG_INGEST, big, tmp_path / "index"))

    assert big.stat().st_size > BIG_BYTES * 0.95
    assert chunks > BIG_SECTIONS * 7
    assert 50 < peak_mb < MAX_PEAK_MB
