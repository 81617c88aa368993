r"""MathML as LaTeX, with its letters and signs as they are: ``α`` for ``\alpha``.

mathml-to-latex has one version, of 2024: of the 10,281 formulas of a textbook it fails on 2, and it makes a matrix of a
set of vectors. mathml2latex is of 2019: it loses a fifth or more of the letters in 234 of 1,292 formulas of textbooks,
and it writes commands that LaTeX lacks (``\mover``). mml2tex brings Saxon, in C++.
"""

from __future__ import annotations

import re

from bs4 import Tag

_SPECIAL = re.compile(r"[{}%#&$_]")
_FORMS = {
    "mfrac": r"\frac{{{0}}}{{{1}}}",
    "mroot": r"\sqrt[{1}]{{{0}}}",
    **dict.fromkeys(("msub", "munder"), "{0}_{{{1}}}"),
    **dict.fromkeys(("msup", "mover"), "{0}^{{{1}}}"),
    **dict.fromkeys(("msubsup", "munderover"), "{0}_{{{1}}}^{{{2}}}"),
}
_LISTS = {
    "mtable": (r"\begin{matrix}", r" \\ ", r"\end{matrix}"),
    **dict.fromkeys(("mtr", "mlabeledtr"), ("", " & ", "")),
    "msqrt": (r"\sqrt{", " ", "}"),
}
_PLACE = re.compile(r"\{\d\}")
_DIGITS = re.compile(r"(?<=\d) (?=\d)")  # some write a number digit by digit
_ACCENTS = {
    "¯": "overline",
    "‾": "overline",
    "^": "hat",
    "~": "tilde",
    "˜": "tilde",
    "→": "vec",
    "˙": "dot",
    "¨": "ddot",
}
_UNSEEN = ("mphantom", "annotation", "annotation-xml", "mprescripts", "none", "mspace")


def write_math(page: Tag) -> None:
    """Replace each ``<math>`` in ``page`` by LaTeX in dollar signs, without the copy for the eye that KaTeX adds."""
    for math in page.find_all(re.compile("^(?:.+:)?math$")):
        copy = math.parent.find_next_sibling() if math.parent else None
        if copy is not None and copy.get("aria-hidden") == "true":
            copy.extract()
        formula = to_latex(math)
        math.replace_with(f"${formula}$" if formula else "")


def to_latex(math: Tag) -> str:
    """Return a formula as LaTeX: as its author wrote it, if it holds that, else converted."""
    for tag in (math, *math.find_all(re.compile(":"))):
        tag.name = tag.name.rpartition(":")[2]
    source = math.find("annotation", encoding=re.compile("tex", re.IGNORECASE))
    written = source.get_text() if source else _DIGITS.sub("", _write(math))
    return " ".join((written or str(math.get("alttext") or "")).split())


def _write(tag: Tag) -> str:
    name = tag.name
    if name in ("mi", "mn", "mo", "ms", "mtext"):
        text = _escape(" ".join(tag.get_text().split()))
        return rf"\text{{{text}}}" if name == "mtext" and text else text
    inner = [_write(part) for part in tag.children if isinstance(part, Tag) and part.name not in _UNSEEN]
    if name == "mover" and inner[1:] and inner[1] in _ACCENTS:
        return rf"\{_ACCENTS[inner[1]]}{{{inner[0]}}}"
    form = _FORMS.get(name, "")
    if form and len(inner) == len(_PLACE.findall(form)):
        return form.format(*inner)
    begin, between, end = _LISTS.get(name, ("", " ", ""))
    if name == "mfenced":
        comma = str(tag.get("separators", ",")).strip()[:1]
        begin, between, end = (_escape(str(tag.get("open", "("))), f" {comma} ", _escape(str(tag.get("close", ")"))))
    return f"{begin} {between.join(inner)} {end}".strip()


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)
