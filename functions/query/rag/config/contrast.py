"""Whether text in a colour can be read: the contrast ratio of WCAG 2, from 1 to 21."""

from __future__ import annotations

LEAST_CONTRAST = 4.5
"""What WCAG 2 asks for text of usual size (level AA)."""
TINT = 0.12
"""Share of the accent in the background of chips and of the question, the rest is white (web/style.css)."""


def readable_contrast(accent: str) -> float:
    """The contrast of text in ``accent`` ("#1f5f8b") on its own tint, the darkest that the page puts it on in light."""
    colour = [int(accent[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    tint = [TINT * part + 1 - TINT for part in colour]
    return (_luminance(tint) + 0.05) / (_luminance(colour) + 0.05)


def _luminance(colour: list[float]) -> float:
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
