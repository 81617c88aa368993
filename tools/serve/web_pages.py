"""The pages of ``web/``, each made into one document: style sheet, modules and icon are put into the HTML.

``python -m serve.web_pages FOLDER`` writes them for a build; ``ragctl serve`` makes them at the first visit. A visit is
one request then, where every file was one. Comments and meaningless blanks are left out. All modules become one, in the
order in which they need each other, so no two of them may share a name at their outer level. PyPI has no bundler, and
the page has no third-party code.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from functools import cache
from html import escape
from pathlib import Path
from urllib.parse import quote

WEB = Path(__file__).resolve().parents[2] / "web"
PAGES = ("index.html", "docs.html")
_ICON = re.compile(r'<link rel="icon" href="web/([a-z]+\.svg)" type="image/svg\+xml">')
_STYLE = re.compile(r'<link rel="stylesheet" href="web/([a-z]+\.css)">\n?')
_EARLY = re.compile(r'<script src="web/([a-z]+\.js)"></script>')
_SCRIPT = re.compile(r'<script type="module" src="web/([a-z]+\.js)"></script>')
_IMPORT = re.compile(r'^import (?:\{(?:(?! as )[^}])*\} from )?"\./([a-z]+\.js)";$', re.MULTILINE)
_WORDS = re.compile(r'^import WORDS from "\./words\.json" with \{ type: "json" \};$', re.MULTILINE)
_CSS_BLANKS = re.compile(r"\s*([{};,>])\s*|(?<=:) ")
_COMMENTS_AND_INDENT = re.compile(r"^\s*//.*\n|^\s*/\*(?:.|\n)*?\*/\n|^\s+|(?<=[;,{}]) // .*$", re.MULTILINE)
_TEXT = re.compile(r' data-say="(\w+)"([^>]*>)')
_LABEL = re.compile(r' data-(aria-label|placeholder)="(\w+)"')
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) \w)", re.MULTILINE)
_NAME = re.compile(r"^(?:(?:async )?function\*?|class|const|let) (\w+)", re.MULTILINE)


@cache
def bundle(name: str, language: str) -> str:
    """Return the page ``web/name`` with the words of ``language``, as a template for ``str.format``.

    Its scripts stand last: a browser draws the words before it reads the modules.

    Raises:
        ValueError: the page, or a module of it, is not written as this module reads it.
    """
    html = _read(name)
    icon, styles, early, script = _ICON.search(html), _STYLE.findall(html), _EARLY.search(html), _SCRIPT.search(html)
    if not (icon and styles and early and script):
        raise ValueError(f"{name} must link an icon, its style sheets, an early script and one module, one a line")
    css = re.sub(r"/\*(?:.|\n)*?\*/", "", "".join(map(_read, styles)))
    css = _CSS_BLANKS.sub(r"\1", css).replace(";}", "}").strip()
    early_code = _COMMENTS_AND_INDENT.sub("", _read(early[1])).strip()
    words: dict[str, str] = {word: texts[language] for word, texts in json.loads(_read("words.json")).items()}
    code = _COMMENTS_AND_INDENT.sub("", _modules(script[1]))
    code = _words_constant(code, words) + code
    if "</" in css or re.search(r"</script|<!--", early_code + code, re.IGNORECASE):
        raise ValueError(f"{name}: a style sheet or a module would end its element")
    drawing = quote(_read(icon[1]).replace('"', "'").strip(), safe=" =':/")
    head = f'<link rel="icon" href="data:image/svg+xml,{drawing}" type="image/svg+xml">\n<style>{css}</style>'
    scripts = f'<script>{early_code}</script>\n<script type="module">{code}</script>'
    html = _LABEL.sub(lambda found: f' {found[1]}="{escape(words[found[2]])}"', html)
    html = _TEXT.sub(lambda found: found[2] + escape(words[found[1]]), html)
    html = _STYLE.sub("", re.sub(r"^ +", "", html, flags=re.MULTILINE)).replace(script[0], "")
    for element, content in ((icon[0], head), (early[0], scripts)):
        html = html.replace(element, content.replace("{", "{{").replace("}", "}}"))
    return html


def _modules(entry: str) -> str:
    """Return the module ``entry`` and all that it imports, each once and after its own imports."""
    bodies: dict[str, str] = {}

    def add(file: str, importers: tuple[str, ...]) -> None:
        if file in bodies:
            return
        if file in importers:
            raise ValueError(f"modules need each other in a circle: {' > '.join((*importers, file))}")
        code = _WORDS.sub("", _read(file))
        for needed in _IMPORT.finditer(code):
            add(needed[1], (*importers, file))
        body = _EXPORT.sub("", _IMPORT.sub("", code))
        if re.search(r"^(?:import|export)\b|\bimport\(", body, re.MULTILINE):
            raise ValueError(f"{file}: an import or export is written in another way than this module reads")
        bodies[file] = body

    add(entry, ())
    whole = "".join(bodies.values())
    twice = [name for name, times in Counter(_NAME.findall(whole)).items() if times > 1]
    if twice:
        raise ValueError(f"two modules of {entry} give the same names at their outer level: {', '.join(twice)}")
    return whole


def _words_constant(code: str, words: dict[str, str]) -> str:
    """Return the constant ``WORDS`` with the words that ``code`` names; the others stand in the HTML alone."""
    if "WORDS" not in code:
        return ""
    named = set(re.findall(r'(?<!at\()"(\w+)"', code))  # at("id") names an element
    used = {word: text for word, text in words.items() if word in named}
    return f"const WORDS = {json.dumps(used, ensure_ascii=False, separators=(',', ':'))};\n"


def _read(file: str) -> str:
    return (WEB / file).read_text(encoding="utf-8")


def main(folder: Path) -> None:
    """Write each page in each language into ``folder``: ``index.en.html`` ..."""
    folder.mkdir(parents=True, exist_ok=True)
    languages = next(iter(json.loads(_read("words.json")).values()))
    for name in PAGES:
        for language in languages:
            page = folder / Path(name).with_suffix(f".{language}.html")
            page.write_text(bundle(name, language), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
