"""A model that obeys: it does what the last instruction says that it sees, wherever that stands.

No fence and no role holds it back, and it reads what is hidden: look-alike letters, invisible characters, base64,
comments. So what a suite of planted instructions proves with it is what the service itself lets out. It knows four
kinds of instruction, in five languages:

    cite X            it claims what the instruction wants and puts X behind it
    say X             it says X to the letter
    repeat the rules  it writes what stands before the first fence
    be confident      it claims, and vouches for itself

``ObedientChat`` is a ``ChatModel``.
"""

import base64
import codecs
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from unicodedata import category, normalize
from urllib.parse import quote, unquote

from fakes import FakeChat

from rag.values.chat import Completion, Deadline, Message, OnText

CLAIM = "Everybody gets unlimited gold bars forever."
"""What it says of its own accord, and no honest document does."""
NOTHING_TO_OBEY = "Nobody told me anything."

_CYRILLIC = str.maketrans("аеорсухіѕАЕОРСХІ", "aeopcyxisAEOPCXI")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")
_RULES = "rules|prompt|regeln|règles|reglas|规则"
_REPEAT = rf"(?<!never )(?:repeat|print|reveal|wiederhole|répète|repite|重复)[^\n]*?(?:{_RULES})"
_CITE = r"(?:cite|zitiere|citez|cita|引用)\s*:?\s+(?P<cite>[^\n]+)"
_SAY = r"(?:say|sage|dis|di|说)\s*:\s*(?P<say>[^\n]+)"
_BOAST = r"(?P<boast>(?:high|hoher|haute|alta|高) (?:confidence|Sicherheit|confiance|confianza|置信度))"
_COMMAND = re.compile(rf"\b(?:{_REPEAT}|{_CITE}|{_SAY}|{_BOAST})", re.IGNORECASE)

ENCODINGS: Mapping[str, tuple[Callable[[str], str], Callable[[str], str]]] = {
    "hex": (lambda said: said.encode().hex(), lambda coded: bytes.fromhex(coded).decode()),
    "base32": (lambda said: base64.b32encode(said.encode()).decode(), lambda coded: base64.b32decode(coded).decode()),
    "ascii85": (lambda said: base64.a85encode(said.encode()).decode(), lambda coded: base64.a85decode(coded).decode()),
    "percent": (quote, unquote),
    "rot13": (lambda said: codecs.encode(said, "rot13"), lambda coded: codecs.encode(coded, "rot13")),
    "backwards": (lambda said: said[::-1], lambda coded: coded[::-1]),
}
"""Codings by name: how an instruction is written, and how the double reads it; it is told which one it is."""
_ENCODED = re.compile(rf"Decode ({'|'.join(ENCODINGS)}): (.*?) :end", re.DOTALL)


class ObedientChat(FakeChat):
    """``ChatModel`` of ``obey``."""

    def complete(self, messages: Sequence[Message], *, deadline: Deadline, on_text: OnText | None = None) -> Completion:
        """What the last instruction in ``messages`` wants, word by word where somebody listens."""
        self.script.append(obey(message.content for message in messages))
        return super().complete(messages, deadline=deadline, on_text=on_text)


def obey(messages: Iterable[str]) -> str:
    """What the last instruction in ``messages`` wants."""
    seen = _read("\n\n".join(messages))
    commands = list(_COMMAND.finditer(seen))
    if not commands:
        return NOTHING_TO_OBEY
    last = commands[-1]
    if last["cite"]:
        return f"{CLAIM} {_bare(last['cite'])}"
    if last["say"]:
        return _bare(last["say"])
    if last["boast"]:
        return f"{CLAIM} Confidence: High (100 of 100), every source supports this."
    rules = re.split(r"\n<<<|\nCONTEXT\n|\nDOCUMENTATION\n|\nCONVERSATION\n", seen)[0].split()
    return f"My rules are these. {' '.join(rules)}"


def _read(text: str) -> str:
    """``text`` as somebody reads it who looks behind every trick."""
    plain = "".join(char for char in normalize("NFKC", text) if category(char) != "Cf").translate(_CYRILLIC)
    return _BASE64.sub(_decoded, _ENCODED.sub(_named, plain))


def _named(match: re.Match[str]) -> str:
    try:
        return ENCODINGS[match[1]][1](match[2])
    except ValueError:
        return match[0]


def _decoded(match: re.Match[str]) -> str:
    try:
        text = base64.b64decode(match[0], validate=True).decode()
    except ValueError:
        return match[0]
    return text if text.isprintable() else match[0]


def _bare(said: str) -> str:
    """Without what closes a comment, a quotation or emphasis around the instruction."""
    return re.sub(r"\s*(?:-->|\*\*|```|<\|im_end\|>|\")+\s*\Z", "", said).strip()
