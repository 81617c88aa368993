"""Office files and EPUB books: checked before a library unpacks them, and Office's equations as LaTeX.

These zip files of XML parts come from anywhere. Checked are their unpacked size, and that no part has a document type,
which OOXML forbids (ECMA-376 part 2) and entity attacks need.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any
from xml.parsers import expat
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

from lxml import etree
from omml2latex import convert_omml

from documents.converters.output import own_title
from documents.errors import Unconvertible

MAX_UNPACKED_BYTES = 200 * 1024 * 1024
MAX_ELEMENTS = {"": 10_000_000}

_OLD_OFFICE = bytes.fromhex("d0cf11e0a1b11ae1")  # .doc, .xls, .ppt, and the envelope of an encrypted file
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")
_PROBE_BYTES = 64 * 1024
_ROMAN = {1000: "m", 900: "cm", 500: "d", 400: "cd", 100: "c", 90: "xc", 50: "l", 40: "xl", 10: "x", 9: "ix"}
_ROMAN |= {5: "v", 4: "iv", 1: "i"}
_MAX_ROMAN = 3999


def check_office(
    data: bytes, *, suffix: str, max_xml_bytes: int, max_elements: Mapping[str, int] = MAX_ELEMENTS
) -> str:
    """Check an Office file before a library makes objects of it, and return the title in its properties.

    ``max_elements`` limits the XML elements of all parts whose root has that name; ``""`` limits those of all others.

    Raises:
        Unconvertible: the file is encrypted, of the old kind, damaged, too large unpacked, or has a DTD.
    """
    if data.startswith(_OLD_OFFICE):
        old = suffix[:4]
        raise Unconvertible(
            f"is protected with a password or an old {old} file: save it as {suffix} without a password"
        )
    try:
        with ZipFile(io.BytesIO(data)) as archive:
            check_archive(archive)
            _check_parts(archive, max_xml_bytes, max_elements)
            properties = parse_part(archive, "docProps/core.xml")
    except BadZipFile as exc:
        raise Unconvertible(f"is damaged or no {suffix} file ({exc}): save it again") from exc
    title = None if properties is None else properties.findtext("{http://purl.org/dc/elements/1.1/}title")
    return own_title(title or "")


def check_archive(archive: ZipFile) -> None:
    """Refuse a zip file with an encrypted entry, or one that unpacks to more than ``MAX_UNPACKED_BYTES``."""
    entries = archive.infolist()
    # zipfile reads no byte more than the size that a zip states.
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > MAX_UNPACKED_BYTES:
        raise Unconvertible(f"unpacks to {-(-unpacked >> 20)} MiB; at most {MAX_UNPACKED_BYTES >> 20} are read")
    if any(entry.flag_bits & 1 for entry in entries):
        raise Unconvertible("is protected with a password: save it without one")


def _check_parts(archive: ZipFile, max_bytes: int, max_elements: Mapping[str, int]) -> None:
    """Read each part as XML, as far as it is some; reading stops at the first limit.

    Names are not trusted, because mammoth follows the relations between parts.
    """
    left = dict(max_elements)
    size, root = 0, ""

    def count(name: str, _attributes: object) -> None:
        nonlocal root
        root = root or name.rpartition(" ")[2]
        key = root if root in left else ""
        left[key] -= 1
        if left[key] < 0:
            raise Unconvertible(
                f"holds more than {max_elements[key]:,} XML elements in {key or 'other'} parts: split it"
            )

    def refuse(*_: object) -> None:
        raise Unconvertible("has a document type definition in it, which no Office file has: it is not read")

    for entry in archive.infolist():
        root = ""
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler, parser.StartDoctypeDeclHandler = count, refuse
        with archive.open(entry) as part, suppress(expat.ExpatError):  # a picture, or a part that a library refuses
            while piece := part.read(_PROBE_BYTES):
                parser.Parse(piece, False)
                size += len(piece)
                if size > max_bytes:
                    raise Unconvertible(f"holds more than {max_bytes >> 20} MiB of text parts: split it")
            parser.Parse(b"", True)  # expat delays an incomplete part


def parse_part(archive: ZipFile, name: str) -> etree._Element | None:
    """Return the root of a part, with the usual names; None if it is missing or damaged: others may be whole."""
    with suppress(KeyError, etree.XMLSyntaxError):
        part = usual_names(archive.read(name))
        return etree.fromstring(part, etree.XMLParser(resolve_entities=False, no_network=True))
    return None


def usual_names(part: bytes) -> bytes:
    """Return a part of ISO's "strict" kind with the names of the usual kind, which libraries read."""
    return _STRICT.sub(rb"http://schemas.openxmlformats.org/\1/2006/", part)


def rewrite_parts(data: bytes, change: Callable[[str, bytes], bytes]) -> bytes:
    """Return a zip file with each part's bytes replaced by ``change(name, bytes)``."""
    made = io.BytesIO()
    with ZipFile(io.BytesIO(data)) as archive, ZipFile(made, "w", ZIP_DEFLATED, compresslevel=1) as other:
        for entry in archive.infolist():
            other.writestr(entry.filename, change(entry.filename, archive.read(entry)))
    return made.getvalue()


def is_unseen_colour(ink: str, ground: str) -> bool:
    """Return whether letters have nearly the colour behind them, both as six hexadecimal digits or unknown."""
    if len(ink) != 6 or len(ground) != 6:
        return False
    return all(abs(one - other) <= 16 for one, other in zip(bytes.fromhex(ink), bytes.fromhex(ground), strict=True))


def write_latex(equation: Any) -> str:
    """Return ``$LaTeX$`` in one line, else the equation's characters."""
    with suppress(Exception):  # files hold anything, and one equation must not cost a document
        latex = " ".join(convert_omml(equation).split())
        if latex.strip("$ "):
            return latex
    return "".join(text.text or "" for text in equation.iter("{*}t"))


def in_form(number: int, form: str) -> str:
    """Return a number in one of Word's forms, such as ``lowerRoman``."""
    if form == "none":
        return ""
    text = str(number)
    if 0 < number <= _MAX_ROMAN and form.endswith("Letter"):
        text = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
    elif number <= _MAX_ROMAN and form.endswith("Roman"):
        text = ""
        for value, sign in _ROMAN.items():
            times, number = divmod(number, value)
            text += sign * times
    return text.upper() if form.startswith("upper") else text
