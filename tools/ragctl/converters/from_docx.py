"""DOCX to Markdown: mammoth makes HTML of the styles' meaning, and that becomes Markdown.

A DOCX file is a zip of XML parts from anywhere, so before mammoth sees it the parts are looked at: how large they are
unpacked, and that none has a document type, which OOXML forbids (ECMA-376 part 2) and entity attacks need.
"""

from __future__ import annotations

import io
from xml.parsers import expat
from zipfile import BadZipFile, ZipFile, ZipInfo

import mammoth

from ragctl.converters.from_html import markdown, parse
from ragctl.converters.output import Unconvertible, compose, own_title

MAX_UNPACKED_BYTES = 200 * 1024 * 1024
MAX_XML_BYTES = 16 * 1024 * 1024
"""mammoth takes some 40 bytes of memory for each byte of XML; 16 MiB are more than a thousand pages."""

_OLD_OFFICE = bytes.fromhex("d0cf11e0a1b11ae1")  # .doc, and the envelope of an encrypted .docx
_ENCRYPTED = 0x1  # in a zip entry's flag bits
_PROPERTIES = "docProps/core.xml"
_TITLE_TAG = "http://purl.org/dc/elements/1.1/ title"
_PROBE_BYTES = 64 * 1024

_STYLES = """
p[style-name='Title'] => h1:fresh
p[style-name='Subtitle'] => p:fresh
p[style-name^='toc '] => !
p[style-name^='TOC '] => !
"""
_NOTE_MARKS = "a[id^=footnote-ref], a[id^=endnote-ref], a[href^='#footnote-ref'], a[href^='#endnote-ref']"


def convert(data: bytes) -> str:
    """The document as Markdown; its title is that of its properties, else its first heading's.

    Raises:
        Unconvertible: it is encrypted, an old .doc, damaged, too large unpacked, has a DTD, or holds no text.
    """
    if data.startswith(_OLD_OFFICE):
        raise Unconvertible("is protected with a password or an old .doc file: save it as .docx without a password")
    try:
        with ZipFile(io.BytesIO(data)) as archive:
            _check(archive)
            title = _title(archive)
    except BadZipFile as exc:
        raise Unconvertible(f"is damaged or no .docx file: {exc}") from exc
    html = mammoth.convert_to_html(
        io.BytesIO(data),
        style_map=_STYLES,
        include_embedded_style_map=False,  # it is the file's own
        convert_image=mammoth.images.img_element(lambda _: {}),  # the alternative text, the picture unread
        external_file_access=False,
    )
    fragment = parse(html.value)
    for mark in fragment.select(_NOTE_MARKS):
        mark.extract()  # [1] would be read as a citation
    return compose(markdown(fragment), title=title)


def _check(archive: ZipFile) -> None:
    entries = archive.infolist()
    # What a zip says of an entry's size holds: zipfile reads no byte more.
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > MAX_UNPACKED_BYTES:
        raise Unconvertible(f"unpacks to {_mib(unpacked)} MiB; at most {_mib(MAX_UNPACKED_BYTES)} are read")
    if any(entry.flag_bits & _ENCRYPTED for entry in entries):
        raise Unconvertible("is protected with a password: save it without one")
    xml = sum(entry.file_size for entry in entries if _is_xml(archive, entry))
    if xml > MAX_XML_BYTES:
        raise Unconvertible(f"holds {_mib(xml)} MiB of text parts; at most {_mib(MAX_XML_BYTES)} are read: split it")


def _mib(size: int) -> int:
    return -(-size // (1024 * 1024))


class _Seen(Exception):
    """The root element has begun."""


def _is_xml(archive: ZipFile, entry: ZipInfo) -> bool:
    """Whether ``entry``, whatever its name, is read as XML up to its root element. No name is trusted, for mammoth
    follows the relations between parts."""

    def root(_name: str, _attributes: object) -> None:
        raise _Seen

    def refuse(*_: object) -> None:
        raise Unconvertible("has a document type definition in it, which no Word document has: it is not read")

    parser = expat.ParserCreate()
    parser.StartElementHandler = root
    parser.StartDoctypeDeclHandler = refuse
    try:
        with archive.open(entry) as part:
            while piece := part.read(_PROBE_BYTES):
                parser.Parse(piece, False)
        parser.Parse(b"", True)  # expat puts off what it has only a part of
    except _Seen:
        return True
    except expat.ExpatError:
        return False  # a picture, or what mammoth's own parser will refuse
    return False


def _title(archive: ZipFile) -> str:
    if _PROPERTIES not in archive.namelist():
        return ""
    path: list[str] = []
    words: list[str] = []
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = lambda name, _: path.append(name)
    parser.EndElementHandler = lambda _: path.pop()
    parser.CharacterDataHandler = lambda text: words.append(text) if path[-1] == _TITLE_TAG else None
    try:
        parser.Parse(archive.read(_PROPERTIES), True)
    except expat.ExpatError:
        return ""  # the text may be whole
    return own_title("".join(words))
