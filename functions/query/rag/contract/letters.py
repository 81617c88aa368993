"""The letters of a text as a reader takes them: without case, accents and what is not seen, look-alikes as one."""

from __future__ import annotations

import re
from unicodedata import decimal, name, normalize

# Unicode's confusables (UTS #39, revision 15): what looks like a Latin letter in Greek, Cyrillic, Armenian, Cherokee,
# Lisu and Coptic, in lower case. A library for it (confusable-homoglyphs) reads 900 kB of JSON for these 190.
_LIKE = {
    "a": "ɑαаᎪꓮ", "b": "ƅβбвьѣҍᏏᏴꓐꞵ", "c": "σсҫᏟⲥꓚ", "d": "ðԁᎠᏧꓒꓓ", "e": "εеҽҿᎬꓰꬲ", "f": "ϝքẝꓝꬵ", "g": "ƍɡԍցᏀᏳꓖ",
    "h": "ηнћңһӈӊհᎻᏂᏲⲏꓧꚕ", "i": "ıɩιіӏᎥᵻᵼꙇ", "j": "ϳјᎫꓙ", "k": "κкқҟᏦⲕꓗ", "l": "ǀᏞⲓⳑꓡꓲ", "m": "μϻмӎᎷⲙꓟꭑ",
    "n": "ոռⲛꓠ", "o": "ɵθοоѳөօᎤᎾᏫᴑⲟꓳꬽꬾ", "p": "ρрᏢⲣꓑ", "q": "ԛգզ", "r": "гғᎡᎱᏒᴦⲅꓣꭇꭈ", "s": "ƽѕտᏕᏚꓢ", "t": "τтҭᎢⲧꓔ",
    "u": "ʉυսᏌᵾꓴꞟ", "v": "νѵᏙꓦ", "w": "ɯѡѽԝաᎳᏔꓪꝡ", "x": "χхҳⲭꓫꭓ", "y": "ɣγуүұᎩᎽⲩꓬ", "z": "ζᏃꓜ",
}  # fmt: skip
_LATIN = {like: letter for letter, alike in _LIKE.items() for like in alike}
# Small capitals, letters with a stroke, in a black circle, of flags, and the tags that nobody sees.
_NAMED = re.compile(r"(?:.* )?(?:LATIN|REGIONAL|TAG)\b.* (?:LETTER|CAPITAL) ([A-Z])(?: WITH .*)?")
_ELSE = re.compile(r"[^\0-\x7f]+")
_LETTERS = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZi", b"abcdefghljklmnopqrstuvwxyzl")
_FIGURES = bytes.maketrans(b"0123456789@$!|", b"olzeasbtbgasll")
_OTHERS = bytes(code for code in range(128) if not chr(code).isalpha())


class _Ascii(dict[int, str]):
    """For ``str.translate``: what each character looks like in ASCII, worked out when it first comes."""

    def __missing__(self, code: int) -> str:
        found = self[code] = "".join(map(_ascii, normalize("NFKD", chr(code)).casefold()))
        return found


def _ascii(char: str) -> str:
    if char.isascii():
        return char
    named = _NAMED.fullmatch(name(char, ""))
    return named[1] if named else _LATIN.get(char) or str(decimal(char, ""))


_SEEN = _Ascii()


def letters(text: str, *, figures: bool = False) -> str:
    """The Latin letters of ``text``, a to z, and nothing else; what another script looks like is one.

    I and l, rn and m, vv and w are the same. ``figures`` are letters too where the text is read as ``4nsw3r``.
    """
    seen = _ELSE.sub(lambda run: run[0].translate(_SEEN), text).encode()
    seen = seen.translate(_FIGURES) if figures else seen
    return seen.translate(_LETTERS, _OTHERS).decode().replace("rn", "m").replace("vv", "w")
