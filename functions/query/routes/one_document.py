"""A page as one document: its style sheet, its modules and its icon are put into the HTML, each as it is written.

A visit is one request then, where every file was one. The policy names what may run by the hash of its bytes, so that
it is as strict as one that names files. Modules become functions that are called once, in the order in which they need
each other: names that two of them share stay apart. No bundler: PyPI has none, and the page has nobody else's code.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote

_HERE = Path(__file__).resolve()
_ROOTS = (_HERE.parents[1], _HERE.parents[3], _HERE.parents[3] / "docs")
"""Where the files lie: beside app.py when deployed, else in the repository."""
_ICON = re.compile(r'<link rel="icon" href="(web/[a-z]+\.svg)" type="image/svg\+xml">')
_STYLE = re.compile(r'<link rel="stylesheet" href="(web/[a-z]+\.css)">')
_SCRIPT = re.compile(r'<script type="module" src="(web/[a-z]+\.js)"></script>')
_IMPORT = re.compile(r'^import (?:\{([^}]*)\} from )?"\./([a-z]+\.js)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:function\*?|class|const) (\w+))", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Document:
    """A page. The hashes are those that a Content-Security-Policy takes ("sha256-...")."""

    template: str
    head: str
    script_hash: str
    style_hash: str

    def text(self, *, base: str, profile: str) -> str:
        """The page as it is sent; both values are escaped already."""
        return self.template.format(base=base, profile=profile, head=self.head)


@cache
def document(name: str) -> Document:
    """The page ``web/name``, made once.

    Raises:
        ValueError: it, or a module of it, is not written as this module reads it.
    """
    html = read(f"web/{name}")
    icon, style, script = (found.search(html) for found in (_ICON, _STYLE, _SCRIPT))
    if not (icon and style and script):
        raise ValueError(f"{name} must link one icon, one style sheet and one module, one a line")
    css, code = read(style[1]), "".join(_modules(script[1]))
    if "</" in css or re.search(r"</script|<!--", code, re.IGNORECASE):
        raise ValueError(f"{name}: a style sheet or a module would end its element")
    drawn = quote(read(icon[1]), safe="")
    head = (
        f'<link rel="icon" href="data:image/svg+xml,{drawn}" type="image/svg+xml">\n'
        f'<style>{css}</style>\n<script type="module">{code}</script>'
    )
    template = html.replace(icon[0], "{head}").replace(style[0], "").replace(script[0], "")
    return Document(template, head, _hash(code), _hash(css))


def read(name: str) -> str:
    """The text of a file of the repository, or of the function's folder."""
    return next(root / name for root in _ROOTS if (root / name).is_file()).read_text(encoding="utf-8")


def _modules(path: str) -> list[str]:
    """The module at ``path`` and what it needs, each after what it needs itself, each once."""
    made: dict[str, str] = {}
    _add(path.removeprefix("web/"), made, ())
    return list(made.values())


def _add(file: str, made: dict[str, str], under: tuple[str, ...]) -> None:
    if file in made:
        return
    if file in under:
        raise ValueError(f"modules need each other in a circle: {' > '.join((*under, file))}")
    code = read(f"web/{file}")
    for needed in _IMPORT.finditer(code):
        _add(needed[2], made, (*under, file))
    names = [found[2] for found in _EXPORT.finditer(code)]
    body = _EXPORT.sub(r"\1", _IMPORT.sub(_taken, code))
    if re.search(r"^(?:import|export)\b|\bimport\(", body, re.MULTILINE):
        raise ValueError(f"{file}: an import or export is written in another way than this module reads")
    made[file] = f"const {_name(file)} = (() => {{\n{body}\nreturn {{ {', '.join(names)} }};\n}})();\n"


def _taken(found: re.Match[str]) -> str:
    names = (found[1] or "").strip().replace(" as ", ": ")
    return f"const {{ {names} }} = {_name(found[2])};" if names else ""


def _name(file: str) -> str:
    return f"module_{file.removesuffix('.js')}"


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
