"""documents.converters: what is read of transcripts, OpenDocument, RTF and web archives."""

import codecs
import io
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZipFile

import pytest

from documents import Unconvertible, convert, decode_utf_8, detect


def read(suffix: str, data: bytes | str) -> str:
    """What is below the front matter."""
    found = convert(data.encode() if isinstance(data, str) else data, suffix, decode=decode_utf_8)
    return found.text.partition("---\n")[2].partition("---\n")[2].strip()


# Transcripts


def cues(*texts: str, header: str = "") -> str:
    """Subtitles of two seconds each."""
    return header + "".join(
        f"{at}\n00:00:{2 * at:02},000 --> 00:00:{2 * at + 2:02},000\n{text}\n\n" for at, text in enumerate(texts)
    )


@pytest.mark.parametrize(
    ("suffix", "data", "expected"),
    [
        (
            ".vtt",
            cues("<v Ola>So <i>it</i></v>", "<v.loud Ola>is&nbsp;late.\n[Music]", "<v Kay>No.", header="WEBVTT\n\n"),
            "**Ola** (0:00): So it is late.\n\n**Kay** (0:04): No.",
        ),
        (".vtt", cues("So", header="WEBVTT - Plan\n\nNOTE x\n\n") + "NOTE Not shown\n", "(0:00) So"),
        (".srt", cues("Ola: So:", "Ola: it", "is", "Kay: No"), "**Ola** (0:00): So: it is\n\n**Kay** (0:06): No"),
        (".srt", cues(">> REED: So", ">> Well: it", "is"), "**REED** (0:00): So\n\n(0:02) Well: it is"),
        (".srt", cues("Note: it", "is late.", "It", "is 42", "42"), "(0:00) Note: it is late. It is 42 42"),
        (".srt", cues("so the", "so the\noffer", "offer", "offer\nis", "is\nlate"), "(0:00) so the offer is late"),
        (".srt", cues("{\\an8}So.").replace("02,0", "02;0") + "1\n1:00:05,0 --> x:y\nOn", "(0:00) So.\n\n(1:00:05) On"),
    ],
)  # fmt: skip
def test_cues_are_joined_to_sentences_with_speaker_and_time(suffix: str, data: str, expected: str) -> None:
    assert read(suffix, data) == expected


def test_a_transcript_without_sentences_is_cut_and_a_text_is_none() -> None:
    words = read(".srt", cues(*(f"a{at} {'word ' * 50}" for at in range(8))))
    assert [part[:9] for part in words.split("\n\n")] == ["(0:00) a0", "(0:10) a5"]
    with pytest.raises(Unconvertible, match=r"give it the suffix \.txt"):
        convert(b"Menu --> File", ".srt", decode=decode_utf_8)


# OpenDocument

_SPACES = "".join(
    f' xmlns:{space[:2]}="urn:oasis:names:tc:opendocument:xmlns:{space}:1.0"'
    for space in ("office", "text", "table", "style", "drawing", "presentation", "svg-compatible", "xsl-fo-compatible")
)


def opened(kind: str, body: str, *styles: str) -> str:
    """A flat OpenDocument file; each of ``styles`` is a family, a name and attributes."""
    made = "".join(
        '<st:style st:family="{}" st:name="{}"><st:look {}/></st:style>'.format(*style.split(" ", 2))
        for style in styles
    )
    return f"<of:document{_SPACES}>{made}<of:body><of:{kind}>{body}</of:{kind}></of:body></of:document>"


def test_an_open_document_shows_what_its_reader_sees() -> None:
    body = """
    <te:tracked-changes><te:p>Deleted.</te:p></te:tracked-changes>
    <te:p te:style-name="Title">Clean<te:span/>ing</te:p><te:h te:outline-level="2">Hall</te:h>
    <te:p>It<te:s te:c="2"/>is<te:note><te:note-citation>1</te:note-citation><te:note-body><te:p>Not on Sunday.</te:p>
    </te:note-body></te:note> done<of:annotation><te:p>Why?</te:p></of:annotation>.<dr:frame><dr:text-box>
    <te:p>A box</te:p></dr:text-box></dr:frame><dr:frame><dr:image/><sv:desc>A mop</sv:desc><sv:desc>b.png</sv:desc>
    </dr:frame></te:p>
    <te:p>No<te:span te:style-name="T1">thing here</te:span><te:span te:style-name="T2"> white</te:span>.</te:p>
    <te:section te:display="none"><te:p>Hidden</te:p></te:section>
    <ta:table><ta:table-header-rows><ta:table-row><ta:table-cell><te:p>Day</te:p></ta:table-cell>
    <ta:table-cell><te:p>Who</te:p></ta:table-cell></ta:table-row></ta:table-header-rows><ta:table-row>
    <ta:table-cell ta:number-columns-spanned="2"><te:p>All</te:p></ta:table-cell><ta:covered-table-cell/>
    </ta:table-row></ta:table>"""
    styles = ("text T1 te:display='none'", "text T2 xs:color='#ffffff'")
    found = convert(opened("text", body, *styles).encode(), ".fodt", decode=decode_utf_8)
    assert found.text.split("---\n", 2)[2] == (
        "# Cleaning\n\n## Hall\n\nIt is done. A mop b.png\n\nNot on Sunday.\n\nA box\n\nNo.\n\n| Day | Who |\n"
        "| --- | --- |\n| All |  |\n"
    )
    assert found.caveats == ("left out as hidden: 4 words",)


def test_lists_and_headings_of_an_open_document_have_their_numbers() -> None:
    item = "<te:list-item><te:p>a</te:p>{}</te:list-item>"
    listing = f'<te:list te:style-name="L" te:continue-numbering="{{}}">{item}</te:list>'
    style = """<te:list-style st:name="L"><te:list-level-style-number te:level="1" st:num-format="1" st:num-suffix="."/>
    <te:list-level-style-number te:level="2" st:num-format="a" te:display-levels="2" st:num-suffix=")"/></te:list-style>
    <te:outline-style st:name="Outline"><te:outline-level-style te:level="1" st:num-format="I"/></te:outline-style>"""
    inner = f"<te:list>{item.format('')}{item.format('')}</te:list>"
    body = (
        f'<te:h te:outline-level="1">A</te:h>{listing.format("false", inner)}<te:p>b</te:p>{listing.format("true", "")}'
    )
    assert read(".fodt", opened("text", style + body)) == ("# I A\n\n1. a\n\n1.a) a\n\n1.b) a\n\nb\n\n2. a")


def test_sheets_of_an_open_document_are_read_as_shown() -> None:
    def cell(text: str, more: str = "") -> str:
        return f"<ta:table-cell {more}><te:p>{text}</te:p></ta:table-cell>"

    many = (
        '<ta:table-row ta:number-rows-repeated="99999"><ta:table-cell ta:number-columns-repeated="99"/></ta:table-row>'
    )
    body = f"""
    <ta:table ta:name="Fee"><ta:table-column ta:number-columns-repeated="2"/><ta:table-column ta:visibility="collapse"/>
    <ta:table-row>{cell("Zone", "ta:style-name='B'")}{cell("Fee")}{cell("x")}</ta:table-row>
    <ta:table-row>{cell("A", "ta:number-rows-spanned='2'")}{cell("1,50 €", "of:value-type='currency'")}</ta:table-row>
    <ta:table-row><ta:covered-table-cell/>{cell("2</te:p><dr:frame><te:p>Box</te:p></dr:frame><te:p>")}</ta:table-row>
    <ta:table-row ta:visibility="collapse">{cell("y")}</ta:table-row>{many}
    <ta:table-row>{cell("Box", "ta:style-name='W'")}<ta:table-cell ta:number-columns-repeated="9"/></ta:table-row>{many}
    </ta:table><ta:table ta:name="Old" ta:style-name="H"><ta:table-row>{cell("z")}</ta:table-row></ta:table>"""
    styles = ("table-cell B xs:font-weight='bold'", "table-cell W xs:color='#fefefe'", "table H ta:display='false'")
    found = convert(opened("spreadsheet", body, *styles).encode(), ".fods", decode=decode_utf_8)
    assert found.text == "---\n---\n## Fee\n\n| Zone | Fee |\n| --- | --- |\n| A | 1,50 € |\n| A | 2 |\n\nBox\n"
    assert found.caveats == ("has hidden sheets, which are left out: Old", "left out as hidden: 3 words")


def test_slides_of_an_open_document_are_sections_in_reading_order() -> None:
    def frame(text: str, more: str, left: int = 1, top: int = 5) -> str:
        return (
            f'<dr:frame sv:x="{left}cm" sv:y="{top}cm" {more}><dr:text-box><te:p>{text}</te:p></dr:text-box></dr:frame>'
        )

    body = (
        f'<dr:page dr:style-name="P">{frame("Secret", "")}</dr:page><dr:page>{frame("b", "", 3)}{frame("a", "", 1)}'
        f"{frame('A<te:line-break/>b', 'pr:class="title"')}{frame('7', 'pr:class="page-number"')}{frame('Off', '', 40)}"
        f"<pr:notes>{frame('Say it', 'pr:class="notes"')}{frame('7', '')}</pr:notes></dr:page>"
        f"<dr:page>{frame('c', '')}</dr:page><dr:page/>"
    )
    layout = '<st:page-layout-properties xs:page-width="28cm"/>'
    made = opened("presentation", body, 'drawing-page P pr:visibility="hidden"').replace(
        "<of:body>", f"{layout}<of:body>"
    )
    found = convert(made.encode(), ".fodp", decode=decode_utf_8)
    assert found.text.split("---\n")[2] == "## A b\n\na\n\nb\n\nNotes:\n\nSay it\n\n## Slide 3\n\nc\n"
    assert found.caveats == ("has hidden slides, which are left out: 1", "left out as hidden: 1 word")
    unsized = convert(made.replace(layout, "").encode(), ".fodp", decode=decode_utf_8)
    assert unsized.text.endswith("## A b\n\na\n\nb\n\nOff\n\nNotes:\n\nSay it\n\n## Slide 3\n\nc\n")


def test_an_open_document_in_a_zip_has_a_title_and_a_locked_or_damaged_one_is_refused() -> None:
    meta = '<m xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Keys</dc:title></m>'
    parts = {
        "META-INF/manifest.xml": "<!DOCTYPE m><m/>",
        "meta.xml": meta,
        "content.xml": opened("text", "<te:p>A</te:p>"),
    }
    assert convert(zipped(parts), ".odt", decode=decode_utf_8).text == '---\ntitle: "Keys"\n---\nA\n'
    for made, reason in (
        ({**parts, "META-INF/manifest.xml": "<encryption-data/>"}, "password"),
        ({"a": ""}, "no OpenDocument"),
    ):
        with pytest.raises(Unconvertible, match=reason):
            convert(zipped(made), ".odt", decode=decode_utf_8)


def zipped(parts: Mapping[str, str]) -> bytes:
    made = io.BytesIO()
    with ZipFile(made, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return made.getvalue()


# RTF


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (r"\b Key safe\b0\par It {\v is not }opens.\par", "# Key safe\n\nIt opens."),
        (r"{\stylesheet{\s2 heading 1;}}\outlinelevel0 A\par\pard\outlinelevel1 B\par\pard c", "# A\n\n## B\n\nc"),
        (r"{\fonttbl{\f1\fcharset204 Arial;}}\f1\'cf\f0\'e4\uc1\u8364?\u-10179?\u-8694?{\upr{x}{\*\ud y}}", "Пä€😊"),
        (r"{\listtext\'b7\tab}a\par{\listtext\'b7\tab}b\par{\listtext 3.2\tab}c\par", "- a\n- b\n\n3.2 c"),
        (
            r"\trowd\intbl Day\par Date\cell Who\cell\row\intbl Mon\cell Ola\cell\row\pard end",
            "| Day Date | Who |\n| --- | --- |\n| Mon | Ola |\n\nend",
        ),
        (
            r"a{\footnote A note}{\shp{\*\shpinst{\shptxt Box\par}}{\shprslt{\*\do{\dptxbxtext Box}}}} b{\header H}",
            "a b\n\nA note\n\nBox",
        ),
        (
            r"{\colortbl;\red254\green255\blue255;}\cf1 white {\cf0\fs2 tiny}\cf0 {\field{\*\fldinst X}{\fldrslt it}}",
            "it",
        ),
        (r"{\deleted old}{\pict\bin3 }{x}{\*\unknown y}{\*\pn{\pntxtb z}}new", "new"),
    ],
)
def test_rtf_shows_what_its_reader_sees(body: str, expected: str) -> None:
    assert read(".rtf", rf"{{\rtf1\ansi\ansicpg1252 {body}}}") == expected


def test_hidden_words_of_an_rtf_are_counted_and_its_title_is_read_once() -> None:
    made = convert(rb"{\rtf1{\info{\upr{\title ??}{\*\ud{\title Keys}}}}{\v a b} c}", ".rtf", decode=decode_utf_8)
    assert (made.text, made.caveats) == ('---\ntitle: "Keys"\n---\nc\n', ("left out as hidden: 2 words",))
    with pytest.raises(Unconvertible, match="is no RTF file"):
        convert(b"plain", ".rtf", decode=decode_utf_8)


# Web archives

_SAVED = """From: <Saved by Blink>
Snapshot-Content-Location: https://example.org/keys?a=1
MIME-Version: 1.0
Content-Type: multipart/related; type="text/html"; boundary="B"

--B
Content-Type: text/html; charset="iso-8859-1"
Content-Transfer-Encoding: quoted-printable
Content-Location: https://example.org/keys

<title>Schl=FCssel</title><link rel=3Dstylesheet href=3D"/a.css"><h1>Spare key</h1><p>EUR 12<b class=3Dx>Not</b>
--B
Content-Type: text/css
Content-Location: https://example.org/a.css

.x { display: none }
--B--
"""


def test_a_saved_page_is_read_at_its_address_with_its_style_sheets() -> None:
    made = convert(_SAVED.encode(), ".mhtml", decode=decode_utf_8)
    assert made.caveats == ("left out as hidden: 1 word",)
    assert made.text == ('---\ntitle: "Schlüssel"\nurl: "https://example.org/keys?a=1"\n---\n# Spare key\n\nEUR 12\n')
    with pytest.raises(Unconvertible, match="no web page"):
        convert(b"Subject: x\n\nText", ".mht", decode=decode_utf_8)


# Other names


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.doc", rb"{\rtf1 a}", ".rtf"),
        ("a.doc", b"Subject: Page\nMIME-Version: 1.0\nContent-Type: multipart/related; boundary=b\n", ".mhtml"),
        ("a.doc", b"Dear Ola,", ".txt"),
        ("a.XLS", codecs.BOM_UTF16_LE + "<html>".encode("utf-16-le"), ".html"),
        ("a.xls", b'<?xml version="1.0"?>\n<!-- a -->\n<html>', ".html"),
        ("a.xls", b'<?xml version="1.0"?><Workbook xmlns="urn:x">', ""),
        ("a.xls", b"Day\tFee\n1\t2\n", ".csv"),
        ("a.doc", bytes.fromhex("d0cf11e0a1b11ae1"), ""),
        ("a.doc", b"PK", ""),
        ("a.png", b"<html>", ""),
    ],
)
def test_the_content_tells_the_format_of_a_file_with_an_old_name(
    tmp_path: Path, name: str, data: bytes, kind: str
) -> None:
    (tmp_path / name).write_bytes(data)
    assert detect(tmp_path / name) == kind


def test_a_file_with_the_name_of_another_format_is_read_as_what_it_is() -> None:
    odt = zipped({"mimetype": "application/vnd.oasis.opendocument.text", "META-INF/manifest.xml": "<m/>"})
    assert [read(".docx", r"{\rtf1 a}"), read(".xlsx", "a;b\n1;2"), read(".csv", "<table><tr><td>a")] == [
        "a",
        "| a | b |\n| --- | --- |\n| 1 | 2 |",
        "a",
    ]
    with pytest.raises(Unconvertible, match="no OpenDocument file"):
        convert(odt, ".docx", decode=decode_utf_8)
