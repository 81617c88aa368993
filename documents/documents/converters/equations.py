"""Office's equations (OMML) as LaTeX."""

from __future__ import annotations

from typing import Any

from omml2latex import convert_omml

_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
EQUATION = f"{_M}oMath"


class Equations:
    """Writes equations, and counts in ``bare`` those of which only the characters could be kept."""

    def __init__(self) -> None:
        self.bare = 0

    def written(self, equation: Any) -> str:
        """``$LaTeX$`` in one line, else the characters that ``equation`` is written with."""
        try:
            latex = convert_omml(equation)
        except Exception:  # noqa: BLE001 - what strangers wrote may be anything, and one equation costs no document
            latex = ""
        if not latex.strip("$ \n"):
            latex = "".join(text.text or "" for text in equation.iter(f"{_M}t"))
            self.bare += 1
        return " ".join(latex.split())

    @property
    def caveats(self) -> tuple[str, ...]:
        """What a reader should know of them."""
        if not self.bare:
            return ()
        return (f"has equations of which only the characters are read: {self.bare}",)
