"""Office files and EPUB books: checked before a library unpacks them, and Office's equations as LaTeX.

These zip files of XML parts come from anywhere. Checked are their unpacked size, and that no part has a document type,
which OOXML forbids (ECMA-376 part 2) and entity attacks need.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from typing import Any
from xml.parsers import expat
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from omml2latex import convert_omml

from documents.converters.output import own_title
from documents.errors import Unconvertible

MAX_UNPACKED_BYTES = 200 * 1024 * 1024

_OLD_OFFICE = bytes.fromhex("d0cf11e0a1b11ae1")  # .doc, .xls, .ppt, and the envelope of an encrypted file
_ENCRYPTED = 0x1  # in a zip entry's flag bits
_PROPERTIES = "docProps/core.xml"
_TITLE_TAG = "http://purl.org/dc/elements/1.1/ title"
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")
_PROBE_BYTES = 64 * 1024
_MAX_SHADE = 16  # between letters and their ground, of 255


def check_office(data: bytes, *, suffix: str, max_xml_bytes: int) -> str:
    """Check an Office file, and return the title in its properties.

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
            xml = sum(entry.file_size for entry in archive.infolist() if _is_xml(archive, entry))
            if xml > max_xml_bytes:
                most = _mib(max_xml_bytes)
                raise Unconvertible(f"holds {_mib(xml)} MiB of text parts; at most {most} are read: split it")
            return _stated_title(archive)
    except BadZipFile as exc:
        raise Unconvertible(f"is damaged or no {suffix} file: {exc}") from exc


def check_archive(archive: ZipFile) -> None:
    """Check a zip file before it is unpacked.

    Raises:
        Unconvertible: an entry is encrypted, or the file is larger than ``MAX_UNPACKED_BYTES`` unpacked.
    """
    entries = archive.infolist()
    # zipfile reads no byte more than the size that a zip states.
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > MAX_UNPACKED_BYTES:
        raise Unconvertible(f"unpacks to {_mib(unpacked)} MiB; at most {_mib(MAX_UNPACKED_BYTES)} are read")
    if any(entry.flag_bits & _ENCRYPTED for entry in entries):
        raise Unconvertible("is protected with a password: save it without one")


def count_elements(data: bytes, most: Mapping[str, int]) -> None:
    """Count the XML elements before a library makes objects of them.

    ``most`` limits the sum over all parts whose root has that name; ``""`` limits the sum over all others.

    Raises:
        Unconvertible: there are more; reading stops there.
    """
    left = dict(most)
    with ZipFile(io.BytesIO(data)) as archive:
        for entry in archive.infolist():
            _count_part_elements(archive, entry, left, most)


def _count_part_elements(archive: ZipFile, entry: ZipInfo, left: dict[str, int], most: Mapping[str, int]) -> None:
    key = ""
    seen = 0

    def element(name: str, _attributes: object) -> None:
        nonlocal key, seen
        if not seen:
            root = name.rpartition(" ")[2]
            key = root if root in left else ""
        seen += 1
        if seen > left[key]:
            raise Unconvertible(f"holds more than {most[key]:,} XML elements in {key or 'other'} parts: split it")

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = element
    try:
        with archive.open(entry) as part:
            while piece := part.read(_PROBE_BYTES):
                parser.Parse(piece, False)
        parser.Parse(b"", True)
    except expat.ExpatError:
        pass  # a picture, or a part that the library will refuse
    left[key] -= seen


def from_strict(data: bytes) -> bytes:
    """Convert an Office file of ISO's "strict" kind to the kind that libraries read (ISO 29500-1 and -4)."""
    return rewrite_parts(data, lambda _, part: usual_names(part))


def usual_names(part: bytes) -> bytes:
    """Return a part with the names of the usual kind for those of the "strict" kind."""
    return _STRICT.sub(rb"http://schemas.openxmlformats.org/\1/2006/", part)


def rewrite_parts(data: bytes, change: Callable[[str, bytes], bytes]) -> bytes:
    """Return a zip file with each part's bytes replaced by ``change(name, bytes)``."""
    made = io.BytesIO()
    with ZipFile(io.BytesIO(data)) as archive, ZipFile(made, "w", ZIP_DEFLATED, compresslevel=1) as other:
        for entry in archive.infolist():
            other.writestr(entry.filename, change(entry.filename, archive.read(entry)))
    return made.getvalue()


def is_unseen_colour(ink: str, ground: str) -> bool:
    """Return whether letters have the colour behind them, both as six hexadecimal digits or unknown."""
    if len(ink) != 6 or len(ground) != 6:
        return False
    return all(
        abs(one - other) <= _MAX_SHADE for one, other in zip(bytes.fromhex(ink), bytes.fromhex(ground), strict=True)
    )


def _mib(size: int) -> int:
    return -(-size // (1024 * 1024))


class _RootFound(Exception):
    """Raised at the root element, to end parsing."""


def _is_xml(archive: ZipFile, entry: ZipInfo) -> bool:
    """Return whether ``entry`` can be read as XML up to its root element.

    Names are not trusted, because mammoth follows the relations between parts.
    """

    def root(_name: str, _attributes: object) -> None:
        raise _RootFound

    def refuse(*_: object) -> None:
        raise Unconvertible("has a document type definition in it, which no Office file has: it is not read")

    parser = expat.ParserCreate()
    parser.StartElementHandler = root
    parser.StartDoctypeDeclHandler = refuse
    try:
        with archive.open(entry) as part:
            while piece := part.read(_PROBE_BYTES):
                parser.Parse(piece, False)
        parser.Parse(b"", True)  # expat delays an incomplete part
    except _RootFound:
        return True
    except expat.ExpatError:
        return False  # a picture, or a part that mammoth's parser will refuse
    return False


def _stated_title(archive: ZipFile) -> str:
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


_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
EQUATION = f"{_M}oMath"


class Equations:
    """A writer of equations; ``unconverted`` counts those that are kept as plain characters."""

    def __init__(self) -> None:
        self.unconverted = 0

    def to_latex(self, equation: Any) -> str:
        """Return ``$LaTeX$`` in one line, else the equation's characters."""
        try:
            latex = convert_omml(equation)
        except Exception:  # noqa: BLE001 - files hold anything, and one equation must not cost a document
            latex = ""
        if not latex.strip("$ \n"):
            latex = "".join(text.text or "" for text in equation.iter(f"{_M}t"))
            self.unconverted += 1
        return " ".join(latex.split())

    @property
    def caveats(self) -> tuple[str, ...]:
        """A message about unconverted equations, if there are any."""
        if not self.unconverted:
            return ()
        return (f"has equations of which only the characters are read: {self.unconverted}",)
