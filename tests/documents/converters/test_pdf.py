"""documents.converters.from_pdf: what a reader sees of a page, in the order of reading, and nothing else."""

import io
from collections.abc import Callable

import pytest
from PIL import Image
from reportlab.lib.colors import HexColor, black, blue, white
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from documents.converters.from_pdf import convert

YARD = "The yard opens at half past seven and closes at five in the afternoon. Who comes later rings the bell."
BOOK = "Each accident is written into the green book on the same day, and the book is kept for ten whole years."


def read(*pages: Callable[[Canvas], object]) -> tuple[str, tuple[str, ...]]:
    """The text below the front matter, and the caveats."""
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=(612, 792), invariant=1)
    for draw in pages:
        canvas.setFont("Helvetica", 11)
        draw(canvas)
        canvas.showPage()
    canvas.save()
    made = convert(out.getvalue())
    return made.text.partition("---\n")[2].partition("---\n")[2], made.caveats


def wrapped(text: str, *, width: int = 44) -> list[str]:
    lines = [""]
    for word in text.split():
        lines = [*lines, ""] if len(lines[-1]) + len(word) >= width else lines
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def draw_rows(canvas: Canvas, rows: list[list[str]], *, top: float = 700) -> None:
    for y, row in enumerate(rows):
        for x, cell in enumerate(row):
            canvas.drawString(60 + 150 * x, top - 15 * y, cell)


def test_backgrounds_of_the_page_and_of_blocks_are_no_tables() -> None:
    def draw(canvas: Canvas, text: str) -> None:
        blocks = [(x, y, 250, 150) for x in (50, 300) for y in (350, 500)]
        for colour, box in ((black, (-1, -1, 614, 794)), *((white, box) for box in ((0, -2000, 612, 9000), *blocks))):
            canvas.setFillColor(colour)
            canvas.rect(*box, stroke=0, fill=1)
        canvas.setFillColor(black)
        canvas.drawString(60, 600, text)

    assert read(lambda canvas: draw(canvas, YARD), lambda canvas: draw(canvas, BOOK)) == (f"{YARD}\n\n{BOOK}\n", ())


def test_cells_that_are_drawn_one_by_one_are_rows() -> None:
    rows = [["Service", "Small", "Large"], ["Inspection", "45.00", "80.00"], ["Sharpening", "18.00", "32.00"]]

    def draw(canvas: Canvas) -> None:
        draw_rows(canvas, rows)
        canvas.drawString(60, 640, "Prices are net.")

    table = "| Service | Small | Large |\n| --- | --- | --- |\n"
    table += "| Inspection | 45.00 | 80.00 |\n| Sharpening | 18.00 | 32.00 |\n"
    assert read(draw)[0] == f"{table}\nPrices are net.\n"


def test_a_second_line_is_of_its_cell_and_the_mark_of_a_list_is_no_cell() -> None:
    def draw(canvas: Canvas) -> None:
        draw_rows(canvas, [["Service", "Where"], ["Inspection", "here"], ["Storage", "in the"], ["", "dry hall"]])
        draw_rows(canvas, [["•", "First"], ["•", "Second"]], top=600)
        draw_rows(canvas, [["a)", "Third."], ["b)", "Fourth."], ["c)", "Fifth."]], top=540)

    table = "| Service | Where |\n| --- | --- |\n| Inspection | here |\n| Storage | in the dry hall |\n"
    assert read(draw)[0] == f"{table}\n- First\n\n- Second\n\na) Third.\n\nb) Fourth.\n\nc) Fifth.\n"


def test_columns_drawn_across_are_read_down_above_and_below_a_line_over_both() -> None:
    left, right = wrapped(4 * f"{YARD} "), wrapped(4 * f"{BOOK} ")

    def draw(canvas: Canvas) -> None:
        for number in range(8):
            height = 700 - 13 * number - (26 if number > 3 else 0)
            canvas.drawString(60, height, left[number])
            canvas.drawString(320, height, right[number])
        canvas.drawString(60, 635, "This is the one line that goes over both of the columns.")

    halves = [
        *left[:4],
        *right[:4],
        "This is the one line that goes over both of the columns.",
        *left[4:8],
        *right[4:8],
    ]
    assert read(draw)[0].split() == " ".join(halves).split()


def test_headers_and_footers_of_two_pages_are_left_out_and_what_the_text_repeats_is_not() -> None:
    def draw(canvas: Canvas, number: int, text: str) -> None:
        canvas.drawString(60, 30, f"Page {number} of 2")
        canvas.drawString(60, 760, "Alder Tools, edition 7")
        canvas.drawString(60, 690, "Opening times")
        for line, words in enumerate(wrapped(text)):
            canvas.drawString(60, 650 - 13 * line, words)

    text, _ = read(lambda canvas: draw(canvas, 1, YARD), lambda canvas: draw(canvas, 2, BOOK))
    assert text.split() == f"Opening times {YARD} Opening times {BOOK}".split()


def test_a_list_of_prices_with_dots_is_no_table_of_contents() -> None:
    dishes = [f"{dish} {'.' * 40} {price}" for dish, price in (("Soup", 5), ("Fish pie", 11), ("Crumble", 6))]

    def draw(canvas: Canvas) -> None:
        for line, words in enumerate(dishes):
            canvas.drawString(60, 600 - 13 * line, words)

    for pages in (1, 3):
        assert read(*pages * [draw])[0].split() == pages * " ".join(dishes).split()


def test_hidden_text_does_not_come_in_by_the_cell_of_a_table() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.grid([50, 200, 350, 500], [695, 680, 665][::-1])
        draw_rows(canvas, [["Service", "Price", "Days"]], top=683)
        draw_rows(canvas, [["Inspection", "80.00"]], top=668)
        canvas.setFillColor(white)
        canvas.drawString(360, 668, "40 50")

    table = "| Service | Price | Days |\n| --- | --- | --- |\n| Inspection | 80.00 |  |\n"
    assert read(draw) == (table, ("left out as hidden: 2 words",))


def test_words_in_place_of_those_that_are_drawn_are_not_read() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.addLiteral("/Span << /ActualText (It is free of charge.) >> BDC")
        canvas.drawString(60, 500, "It costs 40 EUR.")
        canvas.addLiteral("EMC")

    assert read(draw) == ("It costs 40 EUR.\n", ())


WORDS = "Some words"


def draw_words(canvas: Canvas) -> None:
    canvas.drawString(60, 500, WORDS)


def draw_box(canvas: Canvas) -> None:
    canvas.setFillColor(blue)
    canvas.rect(50, 490, 300, 30, stroke=0, fill=1)


def draw_boxes(canvas: Canvas) -> None:
    for place in range(1001):
        canvas.rect(10 + place % 50 * 10, 90 + place // 50 * 10, 5, 5, stroke=0, fill=1)


def clip(canvas: Canvas, left: float) -> None:
    path = canvas.beginPath()
    path.rect(left, 490, 200, 50)
    canvas.clipPath(path, stroke=0, fill=0)


def draw_mode(canvas: Canvas, mode: int = 3) -> None:
    text = canvas.beginText(60, 500)
    text.setTextRenderMode(mode)
    text.textOut(WORDS)
    canvas.drawText(text)


def draw_scan(canvas: Canvas, ink: int = 0) -> None:
    picture = Image.new("L", (60, 60), 255)
    for x in range(0, 60, 3):
        picture.putpixel((x, 30), ink)
    canvas.drawImage(ImageReader(picture), 0, 195, 612, 612)


@pytest.mark.parametrize(
    ("is_seen", "steps"),
    [
        (False, [lambda canvas: canvas.setFillColor(white), draw_words]),
        (False, [lambda canvas: canvas.setFillColor(HexColor("#FBFCFD")), draw_words]),
        (True, [lambda canvas: canvas.setFillColor(HexColor("#DDDDDD")), draw_words]),
        (False, [draw_box, draw_words]),
        (True, [draw_box, lambda canvas: canvas.setFillColor(white), draw_words]),
        (False, [draw_words, draw_box]),
        (False, [lambda canvas: canvas.setFillAlpha(0), draw_words]),
        (False, [lambda canvas: canvas.setFont("Helvetica", 0.1), draw_words]),
        (True, [lambda canvas: canvas.setFont("Helvetica", 2), draw_words]),
        (False, [lambda canvas: canvas.drawString(640, 500, WORDS)]),
        (False, [lambda canvas: canvas.drawString(60, -20, WORDS)]),
        (False, [draw_mode]),
        (False, [lambda canvas: draw_scan(canvas, 255), draw_mode]),
        (True, [draw_scan, draw_mode]),
        (False, [lambda canvas: clip(canvas, 400), draw_words]),
        (True, [lambda canvas: clip(canvas, 50), draw_words]),
        (False, [lambda canvas: canvas.setStrokeColor(white), lambda canvas: draw_mode(canvas, 1)]),
        (True, [lambda canvas: draw_mode(canvas, 1)]),
        (False, [draw_boxes, draw_words, draw_box]),
        (False, [lambda canvas: canvas.scale(0.001, 1), draw_words]),
    ],
)
def test_text_that_no_reader_sees_is_left_out_and_counted(
    is_seen: bool, steps: list[Callable[[Canvas], object]]
) -> None:
    text, caveats = read(lambda canvas: [canvas.drawString(60, 60, "This is seen."), *(step(canvas) for step in steps)])
    assert (WORDS in text, caveats) == (is_seen, () if is_seen else ("left out as hidden: 2 words",))
    assert "This is seen." in text
