"""How many chunks hold markup that no reader sees, before and after ``documents.markup``, and which words got lost.

    python -m research.leftovers FOLDER[:KIND]... [--losses N] [--show N]

Of each folder: pages, chunks, the share of chunks with leftovers outside of code (before, after), the share with
template tags in or outside of code (before, after), words lost per 1,000, milliseconds a page. ``--show`` prints
chunks with leftovers, ``--losses`` the words that the most pages or the longest losses have.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it import MarkdownIt

from documents.markup import Surroundings, as_read
from documents.markup.code import Hidden
from knowledge.cut.chunking import split

SUFFIXES = (".md", ".markdown", ".mdx")
_FRONT_MATTER = re.compile(r"\A\ufeff?(---|\+\+\+)[ \t]*\n(.*?\n)?\1[ \t]*(?:\n|\Z)", re.DOTALL)
_TEMPLATE = re.compile(
    r"\{\{[<%]|\{%|\{\{\s*#(?:include|rustdoc|playground)|^\s*\{[!*]>?\s|^\s*-+8<-+\s|\{\{", re.MULTILINE
)
_TEXT_MARKUP = {
    "{{": re.compile(r"\{\{"),
    "{%": re.compile(r"\{%"),
    "{! {*": re.compile(r"\{!|\{\* "),
    ":::": re.compile(r"^[ \t>]*:{3,}|^[ \t>]*::+[a-z][\w-]*|^[ \t]*::[ \t]*$", re.MULTILINE),
    "///": re.compile(r"^[ \t>]*/{3,}", re.MULTILINE),
    "!!!": re.compile(r"^[ \t>]*(?:!!!|\?\?\?\+?|===)[ \t]", re.MULTILINE),
    "{.x}": re.compile(r"\{:?[ \t]*[.#][\w-]+[^{}\n]*\}|\{:[^{}\n]*\}"),
    "<!--": re.compile(r"<!--"),
}
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t].*$", re.MULTILINE)
_WORD = re.compile(r"[^\W_]{2,}")
_UNSEEN = re.compile(
    r"<!--.*?-->|<(script|style|svg)\b.*?</\1>|\{\{.*?\}\}|\{%.*?%\}|\{[:.#][^{}\n]*\}|</?[A-Za-z][^<>]*>"
    r"|\]\([^()\s]*(?:\s+\"[^\"]*\")?\)|^\s*(?::::*|/{3,}|!!!|\?\?\?|#[a-z])[^\n]*$|^(?:import|export)\b[^\n]*$|\{[!*].*?[!*]\}"
    r"|^---\n.*?^---$|^\[[^\]]+\]:[^\n]*$",
    re.DOTALL | re.MULTILINE,
)
_PARSER = MarkdownIt("commonmark").enable("table")


@dataclass(slots=True)
class Figures:
    """What one folder gave."""

    pages: int = 0
    seconds: float = 0.0
    chunks: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    tagged: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    words: int = 0
    lost: list[tuple[int, str, list[str]]] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)


def leftovers(chunk: str) -> list[str]:
    """The kinds of markup that are left in ``chunk`` outside of code."""
    prose = re.sub("[\ufdd0-\ufdd1]", "", Hidden().hide(chunk))
    found = [name for name, pattern in _TEXT_MARKUP.items() if pattern.search(_HEADING.sub("", prose))]
    tokens = _PARSER.parse(chunk)
    inline = (child for token in tokens for child in token.children or ())
    return found + ["html"] * any(token.type in ("html_block", "html_inline") for token in (*tokens, *inline))


def visible(text: str) -> str:
    """``text`` in Markdown without tags, templates and addresses, as far as patterns can tell."""
    return _UNSEEN.sub(" ", text)


def lost_words(before: str, after: str) -> list[str]:
    """The words of ``before`` outside of tags that are missing from ``after``."""
    return list((Counter(_WORD.findall(visible(before))) - Counter(_WORD.findall(after))).elements())


def measure(folder: Path, kind: str) -> Figures:
    """Run over all pages of ``folder``."""
    figures = Figures()
    for file in sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES and path.is_file()):
        text = file.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n")
        front = _FRONT_MATTER.match(text)
        page = _page(front[2] or "") if front else {}
        raw = text[front.end() :] if front else text
        began = time.perf_counter()
        read = as_read(raw, surroundings=Surroundings(file=file, root=folder, kind=kind, page=page, site={}))
        figures.seconds += time.perf_counter() - began
        figures.pages += 1
        figures.words += len(_WORD.findall(raw))
        if lost := lost_words(raw, read):
            figures.lost.append((len(lost), str(file), lost))
        for when, body in (("before", raw), ("after", read)):
            _count(figures, when, body, str(file))
    return figures


def _count(figures: Figures, when: str, body: str, name: str) -> None:
    for piece in split(body):
        figures.chunks[when] += 1
        found = leftovers(piece.text)
        figures.left[when] += bool(found)
        figures.tagged[when] += bool(found or _TEMPLATE.search(piece.text))
        if when == "after" and found:
            figures.kinds.update(found)
            figures.shown.append(f"{name} {found}\n{piece.text}")


def _page(front: str) -> Mapping[str, object]:
    """The plain values of front matter, roughly."""
    return {
        key: value.strip(" '\"") for key, value in re.findall(r"^([\w-]+)\s*[:=][ \t]*(\S.*)$", front, re.MULTILINE)
    }


def _row(name: str, figures: Figures) -> Iterator[object]:
    def share(counts: Counter[str], when: str) -> str:
        return f"{100 * counts[when] / max(figures.chunks[when], 1):.1f}"

    yield from (name, figures.pages, figures.chunks["after"])
    yield from (share(counts, when) for counts in (figures.left, figures.tagged) for when in ("before", "after"))
    yield f"{1000 * sum(count for count, *_ in figures.lost) / max(figures.words, 1):.1f}"
    yield f"{1000 * figures.seconds / max(figures.pages, 1):.0f}"
    yield dict(figures.kinds.most_common())


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folders", nargs="+")
    arguments.add_argument("--losses", type=int, default=0)
    arguments.add_argument("--show", type=int, default=0)
    options = arguments.parse_args()
    print("set | pages | chunks | left % before | after | with code % before | after | lost words ‰ | ms a page | left")
    for name in options.folders:
        folder, _, kind = name.partition(":")
        figures = measure(Path(folder), kind)
        print(" | ".join(map(str, _row(f"{Path(folder).name}:{kind}", figures))), flush=True)
        step = max(len(figures.shown) // max(options.show, 1), 1)
        for shown in figures.shown[::step][: options.show]:
            print("=" * 40, shown, sep="\n")
        for count, file, words in sorted(figures.lost, reverse=True)[: options.losses]:
            print(count, file, " ".join(words)[:400])


if __name__ == "__main__":
    main()
