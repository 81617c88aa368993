"""Claims of an answer: its sentences, list items, table rows and code blocks, each with its citations.

Sentences are split as at ingest. Each claim is a node of the tree, so that the page can highlight it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from typing import Literal
from unicodedata import normalize

import numpy as np

from rag.answer import tree as t
from rag.answer.references import find_cites
from rag.answer.render import render_inline
from rag.ask.remarks import KINDS, Remarks
from rag.values.answer import Context

type CiteByOverlap = Callable[[str], t.Cite | None]
"""Returns the citation for a claim's text, or None."""
type ClaimKind = Literal["sentence", "item", "row", "code"]

_BEFORE_STOP = re.compile(r"\s+(?=[.,;:!?])")
_NAME_OR_NUMBER = re.compile(r"([\d`])|[^.!?:\s]\s+[^\w\s]*([^\W\d_])[^\W\d_]")
"""A digit, code, or the first letter of a word within a sentence, which is a name if it is a capital."""
_EXCLAMATION = re.compile(r"[!\uff01]")
_MAX_COURTESIES = 3
"""Sentences at each end of an answer that may be courtesies."""
_LEAD_CHARS = 300
"""A longer list item introduces no nested list."""

MAX_CONTEXT_COSINE, MIN_REMARK_COSINE = 0.25, 0.4
"""Highest cosine of a courtesy with the question and each passage, and lowest one with the nearest labelled remark.

Of 61 courtesies beside 216 contexts of MTRAG and 36 of the house sample these limits find 87 and 86 %. Of the 1,086
claims of MTRAG's rated answers they take two, "Sure!" and "Yes, of course!", from faithful answers.
"""


@dataclass(frozen=True, slots=True)
class AnswerClaim:
    """A claim before its check; its nodes in the tree have the same ``number``.

    - ``markdown``: the claim without citations, after the sentence that introduces it or the header of its table
    - ``plain``: the same as plain text, for a row without the header
    - ``cites``: its citations, and the ones of the sentence that introduces it
    - ``group``: the number of its paragraph, list or table
    - ``lead``: the number of the claim that introduces it
    - ``is_assertion``: False for a question, a name of a source or the like
    - ``shared_cites``: citations that a claim without any may mean: from the next claim of its group with citations,
      else from the next paragraph that consists of marks, else from the last claim before it
    """

    number: int
    kind: ClaimKind
    markdown: str
    plain: str
    cites: tuple[t.Cite, ...]
    group: int
    lead: int | None = None
    is_assertion: bool = True
    shared_cites: tuple[t.Cite, ...] = ()

    @property
    def explicit_cites(self) -> list[t.Cite]:
        """The writer's own citations of the claim, or those that it may mean if it has none."""
        return [cite for cite in self.cites or self.shared_cites if cite.is_explicit]

    @property
    def candidate_chunks(self) -> tuple[int, ...]:
        """The chunks that these citations may mean."""
        return tuple(dict.fromkeys(number for cite in self.explicit_cites for number in cite.candidates))


def split_claims(
    tree: t.Tree,
    *,
    question: str = "",
    cite_by_overlap: CiteByOverlap | None = None,
    is_name: Callable[[str], bool] = str.isspace,
    is_courtesy: Callable[[str], bool] = str.isspace,
) -> tuple[t.Tree, list[AnswerClaim]]:
    """Return ``tree`` with each claim as a node, and the claims to check.

    Left out, unless there is nothing else: headings and lines all in bold, questions, sentences that introduce others
    with a colon, names of sources (``is_name``), and courtesies at both ends (``is_courtesy``) without a citation,
    number, name or code. A short first sentence ("Yes.") is checked together with the ``question``. In an answer
    without citations ``cite_by_overlap`` adds them.
    """
    if t.cited_chunks(tree):
        cite_by_overlap = None
    splitter = _ClaimSplitter(cite_by_overlap, is_name, is_courtesy)
    blocks = tuple(map(splitter.block, tree))
    if not splitter.claims:
        splitter.headings = True
        blocks = tuple(map(splitter.block, tree))
    claims = splitter.drop_courtesies(splitter.select_assertions())
    if claims and question and _is_short(claims[0]):
        claims[0] = replace(claims[0], plain=f"{question.rstrip('?')}? {claims[0].plain}")
    return blocks, claims


@dataclass(slots=True)
class _ClaimSplitter:
    """Walks the blocks. ``intro`` is the claim that may introduce the next list or code block.

    ``apart`` are the citations of paragraphs of nothing but marks, by the number of the next claim.
    """

    cite_by_overlap: CiteByOverlap | None
    is_name: Callable[[str], bool]
    is_courtesy: Callable[[str], bool]
    headings: bool = False
    claims: list[AnswerClaim] = field(default_factory=list)
    apart: defaultdict[int, tuple[t.Cite, ...]] = field(default_factory=lambda: defaultdict(tuple))
    intro: AnswerClaim | None = None
    group: int = 0

    def block(self, block: t.Block) -> t.Block:
        self.group += 1
        match block:
            case t.Paragraph():
                return replace(block, children=self._paragraph(block.children))
            case t.Heading():
                self.intro = None
                return replace(block, children=self._paragraph(block.children)) if self.headings else block
            case t.CodeBlock():
                number, text = len(self.claims), block.text
                markdown, cites = render_inline((t.Code(text),)), find_cites(block.children)
                self.claims.append(
                    AnswerClaim(number, "code", markdown, text, cites, self.group, is_assertion=not self.is_name(text))
                )
                return replace(block, children=(t.ClaimSpan(block.children, number),))
            case t.ListBlock():
                return self._list(block)
            case t.BlockQuote():
                return replace(block, children=tuple(map(self.block, block.children)))
            case t.TableBlock():
                self.intro = None
                head, *rows = block.children
                header = " ".join(t.inline_text(cell.children) for cell in head.children)
                return replace(block, children=(head, *(self._row(row, header, n) for n, row in enumerate(rows, 1))))
            case _:
                return block

    def select_assertions(self) -> list[AnswerClaim]:
        """Return the claims that assert something, or all if none does, with the citations that they may mean."""
        leads = {claim.lead for claim in self.claims}
        others = [claim for claim in self.claims if claim.number not in leads]
        for claim in others:
            if not claim.is_assertion:
                self.apart[claim.number] += claim.cites
        assertions = [claim for claim in others if claim.is_assertion] or self.claims
        return _share_cites(assertions, dict(sorted(self.apart.items())))

    def drop_courtesies(self, claims: list[AnswerClaim]) -> list[AnswerClaim]:
        """Return ``claims`` without courtesies at both ends, unless there is nothing else."""
        rest = list(claims)
        for _ in range(_MAX_COURTESIES):
            if rest and self._is_courtesy(rest[0]):
                # "No." may answer the question, "Great question!" does not
                answers_briefly = _is_short(rest[0]) and not _EXCLAMATION.search(rest[0].plain)
                rest = rest if answers_briefly else rest[1:]
            rest = rest[:-1] if rest and self._is_courtesy(rest[-1]) else rest
        return rest or claims

    def _is_courtesy(self, claim: AnswerClaim) -> bool:
        if claim.cites or claim.kind not in {"sentence", "item"}:
            return False
        has_name_or_number = any(one[1] or one[2].isupper() for one in _NAME_OR_NUMBER.finditer(claim.markdown))
        return not has_name_or_number and self.is_courtesy(claim.markdown)

    def _paragraph(self, run: Sequence[t.Inline]) -> tuple[t.Inline, ...]:
        if not any(map(str.isalnum, t.inline_text(run))):
            self.apart[len(self.claims)] += find_cites(run)
            return tuple(run)
        nodes: list[t.Inline] = []
        lead = self.intro if self.intro and self.intro.plain.endswith(":") else None
        for sentence in split_sentences(run):
            words, last = t.trim_run(sentence), sentence[-1]
            between = last if isinstance(last, t.LineBreak) else t.Text("" if words == sentence else " ")
            nodes += [self._claim("sentence", words, lead), between]
            lead = None
        self.intro = self.claims[-1]
        return t.merge_text(nodes)

    def _claim(
        self, kind: ClaimKind, run: Sequence[t.Inline], lead: AnswerClaim | None, header: str = ""
    ) -> t.ClaimSpan:
        plain = _normalise_spaces(t.inline_text([node for node in run if not _is_source_link(node)]))
        if self.cite_by_overlap:
            cite = self.cite_by_overlap(t.inline_text([node for node in run if not isinstance(node, t.Link)]))
            run = (*run, cite) if cite else run
        claim = AnswerClaim(
            number=len(self.claims),
            kind=kind,
            markdown=f"{header} {_normalise_spaces(render_inline(run))}".strip(),
            plain=plain,
            cites=find_cites(run),
            group=self.group,
            is_assertion=bool(plain) and _is_assertion(run, plain) and not self.is_name(plain),
        )
        if (
            lead
            and lead.plain.endswith(":")
            and not (kind == "sentence" and lead.number == 0 and self._is_courtesy(lead))
        ):
            claim = replace(
                claim,
                markdown=f"{lead.markdown} {claim.markdown}",
                plain=f"{lead.plain} {claim.plain}",
                cites=(*lead.cites, *claim.cites),
                lead=lead.number,
            )
        self.claims.append(claim)
        return t.ClaimSpan(tuple(run), claim.number)

    def _list(self, block: t.ListBlock) -> t.ListBlock:
        intro, group = self.intro, self.group
        items: list[t.ListItem] = []
        for item in block.children:
            self.intro, children = intro, list[t.Block]()
            for child in item.children:
                self.group = group
                if isinstance(child, t.Paragraph) and not children:
                    children.append(replace(child, children=self._item(child.children, intro)))
                else:
                    children.append(self.block(child))
            items.append(replace(item, children=tuple(children)))
        self.intro = None
        return replace(block, children=tuple(items))

    def _item(self, run: tuple[t.Inline, ...], intro: AnswerClaim | None) -> tuple[t.Inline, ...]:
        """Return an item's own words as one claim, or as sentences if they are long."""
        from knowledge.cut.quotable import MAX_CHARS  # late: it brings markdown-it

        words = t.inline_text(run)
        if not any(map(str.isalnum, words)):
            return self._paragraph(run)
        parts = [run] if len(words) <= MAX_CHARS else list(split_sentences(run))
        spans = tuple(self._claim("item", part, intro) for part in parts)
        self.intro = self.claims[-1] if len(words) <= _LEAD_CHARS else None
        return spans

    def _row(self, row: t.TableRow, header: str, number: int) -> t.TableRow:
        run: list[t.Inline] = []
        is_numbered = t.inline_text(row.children[0].children).strip(" .") == str(number)  # the first cell only counts
        for cell in row.children[is_numbered:]:
            run += [*([t.Text(" ")] if run else []), *cell.children]
        if not any(map(str.isalnum, t.inline_text(run))):
            return row
        span = self._claim("row", run, None, header)
        *cells, last = row.children
        cells.append(replace(last, children=(*last.children, *span.children[len(run) :])))
        marked = (replace(cell, children=(t.ClaimSpan(cell.children, span.number),)) for cell in cells)
        return replace(row, children=tuple(marked))


def _is_assertion(run: Sequence[t.Inline], plain: str) -> bool:
    """Return whether a run is more than a question, a line all in bold, or names of sources ("Sources: ...")."""
    regular = [node for node in run if not (isinstance(node, t.Styled) and node.style == "strong")]
    if plain.endswith(("?", ":")) or not any(t.inline_text((node,)).strip(" :") for node in regular):
        return False
    own = t.inline_text([node for node in run if not isinstance(node, t.Link)])
    return not find_cites(run) or any(map(str.isalnum, own.rpartition(":")[2]))


def _is_short(claim: AnswerClaim) -> bool:
    from knowledge.cut.quotable import is_short  # late: it brings markdown-it

    return is_short(claim.plain)


def _normalise_spaces(text: str) -> str:
    return _BEFORE_STOP.sub("", " ".join(text.split()))


def _share_cites(claims: Sequence[AnswerClaim], apart: Mapping[int, tuple[t.Cite, ...]]) -> list[AnswerClaim]:
    """Return ``claims`` with ``shared_cites``; ``apart`` are the citations outside of claims, by their place."""
    result = list(claims)
    places = range(len(result) - 1)
    for place in reversed(places):
        result[place] = _share_with(result[place], result[place + 1])
    for place, claim in enumerate(result):
        if not claim.cites and not claim.shared_cites:
            behind = (cites for number, cites in apart.items() if number > claim.number and cites)
            result[place] = replace(claim, shared_cites=next(behind, ()))
    for place in places:
        result[place + 1] = _share_with(result[place + 1], result[place])
    return result


def _share_with(claim: AnswerClaim, other: AnswerClaim) -> AnswerClaim:
    if claim.cites or claim.shared_cites or claim.kind != other.kind or claim.group != other.group:
        return claim
    return replace(claim, shared_cites=other.cites or other.shared_cites)


def build_name_test(names: Iterable[str]) -> Callable[[str], bool]:
    """Return a test of whether a text consists of ``names`` of sources, in whatever markup.

    Such texts are escaped labels, labels in code, and addresses with links.
    """
    keys = sorted({key for key in map(_name_key, names) if key}, key=len, reverse=True)

    def is_name(text: str) -> bool:
        whole = rest = _name_key(text)
        for key in keys:
            rest = rest.replace(key, "")
        return whole != rest == ""

    return is_name


def _name_key(text: str) -> str:
    """Return the letters and digits of ``text``, without case."""
    return "".join(filter(str.isalnum, normalize("NFKC", text).casefold()))


def _is_source_link(node: t.Inline) -> bool:
    """Return whether a link only names a source: its text is its own address, or a number ("[1](...)")."""
    words = t.inline_text((node,))
    return isinstance(node, t.Link) and not node.is_bare and (node.href in words or not any(map(str.isalpha, words)))


def build_courtesy_test(context: Context, remarks: Remarks | None) -> Callable[[str], bool]:
    """Return a test of whether a sentence is a courtesy, such as a greeting or an offer of help.

    A courtesy is near a labelled remark and far from the question and each passage. A sentence that agrees or disagrees
    is one only if it exclaims: "Sure!", but not "That is not allowed."
    """
    if remarks is None or context.evidence is None:
        return str.isspace
    known = [context.evidence.asked.vector, *(passage.hit.vector for passage in context.passages)]
    vectors = np.stack([vector for vector in known if vector is not None])

    @cache
    def is_courtesy(sentence: str) -> bool:
        vector = remarks.embed(sentence)
        kind = remarks.utterances.kind(vector, MIN_REMARK_COSINE)
        is_reply = kind in {"assent", "dissent"} and not _EXCLAMATION.search(sentence)
        return kind != KINDS[0] and not is_reply and float((vectors @ vector).max()) < MAX_CONTEXT_COSINE

    return is_courtesy


_STOP = re.compile(r"\s*[.!?\u2026\u3002\uff01\uff1f]+(?=\s)")
_STOPPED = re.compile(r"[.!?\u2026\u3002\uff01\uff1f]\s*\Z")


def split_sentences(run: Sequence[t.Inline]) -> Iterator[t.Run]:
    """Yield the sentences of ``run``, each with the citations behind it; code and links are not split."""
    from knowledge.cut import quotable  # late: it brings markdown-it
    from knowledge.cut.boundaries import SourceText

    text = "".join(map(_text_to_split, run))
    starts = {start for start, _ in quotable.sentences(SourceText(text), (0, len(text)))} | set(_starts_at_cites(run))
    rest = list(run)
    done = 0
    first = len(text) - len(text.lstrip())
    for start in sorted(start for start in starts if first < start < len(text)):
        head, rest = _split_at(rest, start - done)
        while rest and isinstance(rest[0], t.Cite):
            head.append(rest.pop(0))
        done = start
        if head:
            yield t.merge_text(head)
    if rest:
        yield t.merge_text(rest)


def _starts_at_cites(run: Sequence[t.Inline]) -> Iterator[int]:
    """Yield where sentences begin behind a citation that a full stop follows or precedes."""
    at, stopped = 0, False
    for node, following in pairwise(run):
        text = _text_to_split(node)
        at += len(text)
        stopped = bool(_STOPPED.search(text)) if text.strip() else stopped
        if isinstance(node, t.Cite) and isinstance(following, t.Text):
            words = following.text.lstrip()
            if stop := _STOP.match(following.text):
                yield at + stop.end() + 1
            elif stopped and words and not words[0].islower():
                yield at + len(following.text) - len(words)


def _text_to_split(node: t.Inline) -> str:
    """Return the text of ``node``, with a letter for each character in which no sentence may end."""
    if isinstance(node, t.Styled):
        return "".join(map(_text_to_split, node.children))
    text = t.inline_text((node,))
    return "x" * len(text) if isinstance(node, t.Code | t.Link) else text


def _split_at(run: Sequence[t.Inline], at: int) -> tuple[list[t.Inline], list[t.Inline]]:
    """Return ``run`` up to its character ``at``, and the rest; code and links are not split."""
    head: list[t.Inline] = []
    rest = list(run)
    while rest and at > 0:
        node = rest.pop(0)
        length = len(_text_to_split(node))
        if length > at and isinstance(node, t.Text):
            head.append(t.Text(node.text[:at]))
            rest.insert(0, t.Text(node.text[at:]))
        elif length > at and isinstance(node, t.Styled):
            inner, others = _split_at(node.children, at)
            head.append(t.Styled(node.style, tuple(inner)))
            rest.insert(0, t.Styled(node.style, tuple(others)))
        else:
            head.append(node)
        at -= length
    return head, rest
