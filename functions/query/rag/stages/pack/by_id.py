"""Packing by chunk id within a token budget."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rag.answer.forms import CLOSE, OPEN, heading
from rag.stages.pack.look_alikes import disarmed, rounded
from rag.stages.pack.tokens import budget_bytes, cut_to, size
from rag.values.answer import Context, Hit, Passage

# A line may end within it, in a quotation too.
_MARK = re.compile(rf"{OPEN}\s*id_[\s>]*\d[^\[\]\u3010\u3011\uff3b\uff3d]{{0,200}}{CLOSE}", re.IGNORECASE)
_BLANK = re.compile(r"[\s>]+")
_ID = re.compile(r"id_\d+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class IdPacker:
    """``[id_N] {title}\\n{text}\\n\\n`` per chunk, best first, within ``max_tokens`` estimated tokens.

    The title is the chunk's section heading. Of a chunk that exceeds what is left as much text is taken as fits, cut
    with an ellipsis at the end of a sentence or a line, and it ends the packing. The first chunk is always in, its text
    cut anywhere and its title to half of the room if they must be; only the mark of its id is never cut, so that a
    smaller budget than that is exceeded. What looks like an id in a title or a text is shown in round brackets.
    """

    max_tokens: int

    def __call__(self, hits: tuple[Hit, ...]) -> Context:
        """The context and its passages; ``hits`` is not empty."""
        blocks: list[str] = []
        used: list[Passage] = []
        room = budget_bytes(self.max_tokens)
        ids = {hit.chunk.id for hit in hits}

        def is_mark(mark: re.Match[str], in_code: bool) -> bool:
            return not (in_code and ids.isdisjoint(_ID.findall(_BLANK.sub("", mark[0].lower()))))

        def shown(text: str) -> str:
            return disarmed(text, _MARK, is_mark, rounded)

        for hit in hits:
            first = not used
            mark, title, text = (
                f"[{hit.chunk.id}]",
                rounded(heading(hit.chunk)),
                disarmed(hit.chunk.text, _MARK, is_mark, rounded),
            )
            cost = size(_block(mark, title, text))
            full = cost > room
            if full:
                if first:
                    title = cut_to(title, (room - size(_block(mark, "", ""))) // 2, anywhere=True)
                text = cut_to(text, room - size(_block(mark, title, "")), anywhere=first)
                cost = room
            if text or first:
                blocks.append(_block(mark, title, text))
                used.append(Passage(hit=hit, citation=mark, text=text))
            room -= cost
            if full or room <= 0:
                break
        return Context("".join(blocks), tuple(used))


def _block(mark: str, title: str, text: str) -> str:
    return f"{mark} {title}".rstrip() + f"\n{text}\n\n"
