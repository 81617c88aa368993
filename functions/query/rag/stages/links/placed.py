"""Where in a text stands what a parser says of a block of it, whose lines it has cut out of the text's."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence


class Unplaced(Exception):
    """It cannot be told where in the text something stands."""


def placed(
    content: str, lines: Sequence[str], starts: Sequence[int], row: int, cells: dict[int, int]
) -> Callable[[int], int]:
    """From an offset in a block's content to one in the text: a line of it is one of the text's without what is before.

    ``cells`` keeps how far a line has been read: a table has several contents in one.
    """
    spots: list[tuple[int, int, int, str]] = []
    offset = 0
    for number, line in enumerate(content.split("\n")):
        said, cell = line.strip(), ""
        whole = lines[row + number] if row + number < len(lines) else ""
        at = whole.find(said, cells.get(row + number, 0))
        if "\n" in content:
            at = len(whole.rstrip()) - len(said) if whole.rstrip().endswith(said) else -1
        elif at < 0 and "|" in said:
            cell = said
            at = whole.find(cell.replace("|", r"\|"), cells.get(row + number, 0))
        cells[row + number] = at + len(said) + cell.count("|")
        blank = len(line) - len(line.lstrip())
        spots.append((offset, blank, starts[row + number] + at if at >= 0 else -1, cell))
        offset += len(line) + 1

    offsets = [spot[0] for spot in spots]

    def place(at: int) -> int:
        offset, blank, start, cell = spots[bisect_right(offsets, at) - 1]
        if start < 0:
            raise Unplaced
        within = at - offset - blank
        return start + within + cell.count("|", 0, max(within, 0))

    return place
