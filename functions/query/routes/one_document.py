"""A page as one document: its style sheet, its modules and its icon are put into the HTML.

Each is as it is written, but for comments and blanks that mean nothing. A visit is one request then, where every
file was one. The policy names what may run by the hash of its bytes, so that it is as strict as one that names files.
Modules become one, in the order in which they need each other: what two of them name at their outer level differs.
No bundler: PyPI has none, and the page has nobody else's code.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from urllib.parse import quote

_HERE = Path(__file__).resolve()
_ROOTS = (_HERE.parents[1], _HERE.parents[3], _HERE.parents[3] / "docs")
"""Where the files lie: beside app.py when deployed, else in the repository."""
_ICON = re.compile(r'<link rel="icon" href="(web/[a-z]+\.svg)" type="image/svg\+xml">')
_STYLE = re.compile(r'<link rel="stylesheet" href="(web/[a-z]+\.css)">\n?')
_EARLY = re.compile(r'<script src="(web/[a-z]+\.js)"></script>')
_SCRIPT = re.compile(r'<script type="module" src="(web/[a-z]+\.js)"></script>')
_IMPORT = re.compile(r'^import (?:\{(?:(?! as )[^}])*\} from )?"\./([a-z]+\.js)";$', re.MULTILINE)
_WORDS = re.compile(r'^import WORDS from "\./words\.json" with \{ type: "json" \};$', re.MULTILINE)
_BESIDE = re.compile(r"\s*([{};,>])\s*|(?<=:) ")
_LEFT_OUT = re.compile(r"^\s*//.*\n|^\s*/\*(?:.|\n)*?\*/\n|^\s+|(?<=[;,{}]) // .*$", re.MULTILINE)
_TEXT = re.compile(r' data-say="(\w+)"([^>]*>)')
_LABEL = re.compile(r' data-(aria-label|placeholder)="(\w+)"')
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) \w)", re.MULTILINE)
_NAME = re.compile(r"^(?:(?:async )?function\*?|class|const|let) (\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Document:
    """A page. The hashes are those that a Content-Security-Policy takes ("sha256-...")."""

    template: str
    head: str
    scripts: str
    script_hashes: tuple[str, ...]
    style_hash: str

    def text(self, *, base: str, profile: str, language: str = "en", asks: str = "yes", mark: str = "") -> str:
        """The page as it is sent, all values escaped already; ``mark`` is its owner's.

        ``asks`` is "" where ``?q=`` must not ask before its reader does.
        """
        said = {"base": base, "profile": profile, "language": language, "asks": asks, "mark": mark}
        return self.template.format(**said, head=self.head, scripts=self.scripts)


@cache
def document(name: str, language: str = "en", accent: str = "") -> Document:
    """The page ``web/name`` with the words of ``language`` and its owner's ``accent``, made once.

    Its scripts stand last: what it says is drawn before its modules are read, and after the short early one.

    Raises:
        ValueError: it, or a module of it, is not written as this module reads it.
    """
    html = read(f"web/{name}")
    icon, styles, early, script = _ICON.search(html), _STYLE.findall(html), _EARLY.search(html), _SCRIPT.search(html)
    if not (icon and styles and early and script):
        raise ValueError(f"{name} must link an icon, its style sheets, an early script and one module, one a line")
    css = re.sub(r"/\*(?:.|\n)*?\*/", "", "".join(map(read, styles)))
    css = _BESIDE.sub(r"\1", css).replace(";}", "}").strip() + (f":root{{--house:{accent}}}" if accent else "")
    first = _LEFT_OUT.sub("", read(early[1])).strip()
    code = _LEFT_OUT.sub("", "".join(_modules(script[1])))
    code = _used(code, language) + code
    if "</" in css or re.search(r"</script|<!--", first + code, re.IGNORECASE):
        raise ValueError(f"{name}: a style sheet or a module would end its element")
    drawn = quote(read(icon[1]).replace('"', "'").strip(), safe=" =':/")
    head = f'<link rel="icon" href="data:image/svg+xml,{drawn}" type="image/svg+xml">\n<style>{css}</style>'
    scripts = f'<script>{first}</script>\n<script type="module">{code}</script>'
    said = re.sub(r"^ +", "", _said(html, language), flags=re.MULTILINE)
    template = _STYLE.sub("", said.replace(icon[0], "{head}")).replace(early[0], "{scripts}").replace(script[0], "")
    return Document(template, head, scripts, (_hash(first), _hash(code)), _hash(css))


def read(name: str) -> str:
    """The text of a file of the repository, or of the function's folder."""
    return next(root / name for root in _ROOTS if (root / name).is_file()).read_text(encoding="utf-8")


def _modules(path: str) -> list[str]:
    """The module at ``path`` and what it needs, each after what it needs itself, each once."""
    made: dict[str, str] = {}
    _add(path.removeprefix("web/"), made, ())
    twice = [name for name, times in Counter(_NAME.findall("".join(made.values()))).items() if times > 1]
    if twice:
        raise ValueError(f"two modules of {path} give the same names at their outer level: {', '.join(twice)}")
    return list(made.values())


def _add(file: str, made: dict[str, str], under: tuple[str, ...]) -> None:
    if file in made:
        return
    if file in under:
        raise ValueError(f"modules need each other in a circle: {' > '.join((*under, file))}")
    code = _WORDS.sub("", read(f"web/{file}"))
    for needed in _IMPORT.finditer(code):
        _add(needed[1], made, (*under, file))
    body = _EXPORT.sub("", _IMPORT.sub("", code))
    if re.search(r"^(?:import|export)\b|\bimport\(", body, re.MULTILINE):
        raise ValueError(f"{file}: an import or export is written in another way than this module reads")
    made[file] = body


def _words(language: str) -> dict[str, str]:
    """The words of one language alone: nobody reads the page in two."""
    return {name: said[language] for name, said in json.loads(read("web/words.json")).items()}


def _used(code: str, language: str) -> str:
    """The words that ``code`` names, not as an element, as its constant ``WORDS``; the others are in the HTML alone."""
    named = set(re.findall(r'(?<!at\()"(\w+)"', code))
    used = {name: text for name, text in _words(language).items() if name in named}
    value = json.dumps(used, ensure_ascii=False, separators=(",", ":"))
    return f"const WORDS = {value};\n" if "WORDS" in code else ""


def _said(html: str, language: str) -> str:
    """``html`` with its words: they are there before anything runs."""
    words = {name: escape(text) for name, text in _words(language).items()}
    html = _LABEL.sub(lambda found: f' {found[1]}="{words[found[2]]}"', html)
    return _TEXT.sub(lambda found: found[2] + words[found[1]], html)


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
