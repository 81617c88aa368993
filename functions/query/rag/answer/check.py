"""The check of claims: each claim of an answer against the passages that it cites, and all others of the context.

A claim is supported if a cited passage has its words (``knowledge.search.wording``). It is unsupported, "not found in
the sources", if one of its numbers or names is missing from the passages and the question, or if hardly a word is in
common with them (``knowledge.search.support``). Otherwise it is partial: in other words than the sources. A claim that
another passage supports is cited to that one. An unsupported claim is marked, removed or kept, as UNSUPPORTED says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from knowledge.model.values import ChunkSupport, Claim, ClaimSupport
from knowledge.search.language import languages_of
from knowledge.search.support import PARTIAL, SUPPORTED
from rag.answer import tree as t
from rag.answer.citation_forms import CitationForm
from rag.answer.citations import drop_unused_citations
from rag.answer.claims import AnswerClaim
from rag.answer.references import find_cites, tidy_removal
from rag.contract import Decider
from rag.errors import LlmFailed
from rag.ledger import Ledger
from rag.ports import Index, OpenIndex
from rag.text.sources import path_of
from rag.values.answer import CheckedClaim, Context, Passage, Support

type UnsupportedPolicy = Literal["mark", "remove", "keep"]

NOT_FOUND = "not found in the sources"
"""Note behind an unsupported claim."""
NOT_CITED = "no source cited"
"""Note behind a partial claim that cites nothing."""
NOT_CHECKED = "not checked"
"""Note behind a claim that exceeds the budget of the check."""
FOREIGN_ANSWER = "the answer is in another language than the documents: only its numbers were looked for"
NO_VECTORS = "the statements were not checked: the index has no token vectors"
CHECK_FAILED = "the statements were not checked"

CHECK_BUDGET = 2500
"""Word pieces of an answer that are checked at most, with ``CLAIM_OVERHEAD`` for each claim.

English has 4.5 characters a piece: 4 KB in 40 sentences need 1,300. A sentence before a list counts with each item.
"""
CLAIM_OVERHEAD = 10
"""Fixed cost of comparing a claim with ten passages, in word pieces."""
MIN_SHARED = 0.25
"""Least share of a claim's words in a passage; with less the claim is "not found in the sources".

On MTRAG's rated answers 1.1 % of the claims of faithful ones are below it, and 11 % of those of unfaithful ones."""
JUDGED_CHANCE = 0.325
"""Least chance of a claim that a judge calls supported. An answer of one to ten such claims is Medium: a judge that
calls everything supported makes no answer High."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimVerdict:
    """The verdict on ``answer_claim``; ``support`` is the index's comparison of the claim with each chunk.

    ``better_passage`` supports the claim in place of its own citations (``is_miscited``) or beside them. ``overruled``
    is the support before a judge's word, if that changed it.
    """

    answer_claim: AnswerClaim
    claim: CheckedClaim
    support: ClaimSupport
    better_passage: Passage | None = None
    is_miscited: bool = False
    overruled: Support | None = None

    @property
    def note(self) -> str:
        """The note behind an unsupported claim, or one without a source; ``""`` behind others."""
        if self.claim.support == "unsupported":
            return NOT_FOUND
        return "" if self.claim.chunks else NOT_CITED


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """A tree after the check.

    - ``claims``: the checked claims, with those that were removed
    - ``is_checked``: False if the check failed
    - ``notes``: lines of the trail on changes
    - ``pruned``: the tree without unused citations, before the ``verdicts`` were applied; ``removed`` counts them
    - ``unchecked``: claims that exceed the budget
    - ``is_foreign``: the claims are in another language than the documents, so that only numbers can be compared
    """

    tree: t.Tree
    claims: tuple[CheckedClaim, ...] = ()
    is_checked: bool = True
    notes: tuple[str, ...] = ()
    verdicts: tuple[ClaimVerdict, ...] = ()
    pruned: t.Tree = ()
    removed: int = 0
    unchecked: tuple[AnswerClaim, ...] = ()
    is_foreign: bool = False

    @property
    def supports(self) -> Mapping[int, ChunkSupport]:
        """For each cited chunk the best support that it gives to a claim."""
        cited = [one for verdict in self.verdicts for one in verdict.support.each if one.number in verdict.claim.chunks]
        best: dict[int, ChunkSupport] = {}
        for one in sorted(cited, key=lambda support: support.chance, reverse=True):
            best.setdefault(one.number, one)
        return best


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportCheck:
    """Checks claims against ``index``; ``form`` is the form of citations that it adds."""

    index: Index
    form: CitationForm
    unsupported: UnsupportedPolicy = "mark"

    def __call__(self, tree: t.Tree, claims: Sequence[AnswerClaim], context: Context) -> CheckedAnswer:
        """Return ``tree`` after the check of its ``claims`` against ``context``.

        Raises:
            IndexUnavailable: there is no usable index.
            SearchFailed: it has no such chunk any more.
        """
        if not claims:
            return CheckedAnswer(tree)
        passages = {passage.hit.chunk.number: passage for passage in context.passages}
        with self.index.lease() as index:
            if not index.late:
                return CheckedAnswer(tree, notes=(NO_VECTORS,))
            checkable = tuple(_within_budget(claims, index))
            numbers = {claim.number for claim in checkable}
            unchecked = tuple(claim for claim in claims if claim.number not in numbers)
            compared = [Claim(claim.plain, claim.candidate_chunks) for claim in checkable]
            question = context.evidence.asked.text if context.evidence else ""
            texts = (context.asker_text, " ".join(claim.text for claim in compared))
            is_foreign = all(_is_foreign(text, context, index) for text in texts)
            supports = index.support(compared, list(passages), question) if compared else ()
            pruned, removed = tree, 0
            if is_foreign:
                supports = tuple(map(compare_numbers_only, supports))
            elif self.unsupported != "keep":
                pruned, removed = drop_unused_citations(tree, checkable, supports, index, unchecked)
        verdicts = [
            judge_claim(self.form, claim, support, passages) for claim, support in zip(checkable, supports, strict=True)
        ]
        checked = CheckedAnswer((), pruned=pruned, removed=removed, unchecked=unchecked, is_foreign=is_foreign)
        return self._apply_verdicts(checked, verdicts)

    def apply_judgement(self, checked: CheckedAnswer, judgement: Mapping[int, Support]) -> CheckedAnswer:
        """Return ``checked`` after a judge's words on its claims, by their place from 0."""
        verdicts = [overrule(verdict, judgement.get(place)) for place, verdict in enumerate(checked.verdicts)]
        return self._apply_verdicts(checked, verdicts)

    def _apply_verdicts(self, checked: CheckedAnswer, verdicts: Sequence[ClaimVerdict]) -> CheckedAnswer:
        return replace(
            checked,
            tree=t.map_runs(checked.pruned, _TreeEditor(self, checked, verdicts).edit_run),
            claims=tuple(verdict.claim for verdict in verdicts),
            notes=tuple(self._notes(checked, verdicts)),
            verdicts=tuple(verdicts),
        )

    def _notes(self, checked: CheckedAnswer, verdicts: Sequence[ClaimVerdict]) -> Iterator[str]:
        for number, verdict in enumerate(verdicts, start=1):
            if verdict.better_passage:
                has_cited = verdict.support.cited is not None
                reason = "what it cited does not support it" if has_cited else "it cited nothing"
                yield f"statement {number} is now cited to {verdict.better_passage.citation}: {reason}"
            if verdict.overruled:
                word, before = verdict.claim.support, verdict.overruled
                yield f"statement {number} is {word} by the judge: the check said {before}"
            if self.unsupported == "remove" and verdict.note:
                yield f"statement {number} was removed: {verdict.note}"
        if checked.is_foreign:
            yield FOREIGN_ANSWER
        if checked.removed:
            few = "a citation" if checked.removed == 1 else f"{checked.removed} citations"
            yield f"removed {few} that supported no statement"
        yield from unchecked_note(len(checked.unchecked))


class _TreeEditor:
    def __init__(self, check: SupportCheck, checked: CheckedAnswer, verdicts: Sequence[ClaimVerdict]) -> None:
        self._check, self._unchecked = check, {claim.number for claim in checked.unchecked}
        self._verdicts = {verdict.answer_claim.number: verdict for verdict in verdicts}
        spans = (node for node in t.walk(checked.pruned) if isinstance(node, t.ClaimSpan))
        self._spans_left = Counter(span.number for span in spans)
        self._removed: set[int] = set()
        if check.unsupported == "remove":
            removed = [verdict.answer_claim for verdict in verdicts if verdict.note]
            rest = [verdict.answer_claim for verdict in verdicts if not verdict.note]
            leads = {claim.lead for claim in removed if claim.lead is not None}
            leads -= {claim.lead for claim in (*rest, *checked.unchecked)}  # the others would introduce nothing
            self._removed = {claim.number for claim in removed} | leads

    def edit_run(self, run: tuple[t.Inline, ...]) -> tuple[t.Inline, ...]:
        edited = t.merge_text(new for node in run if (new := self._edit(node)))
        return t.trim_run(edited) if self._removed else edited

    def _edit(self, node: t.Inline) -> t.Inline | None:
        if not isinstance(node, t.ClaimSpan):
            return node
        self._spans_left[node.number] -= 1
        is_last = not self._spans_left[node.number]
        if node.number in self._removed:
            return None
        if node.number in self._unchecked and is_last and self._check.unsupported != "keep":
            node = replace(node, note=NOT_CHECKED)
        verdict = self._verdicts.get(node.number)
        return self._apply(node, verdict, is_last=is_last) if verdict else node

    def _apply(self, span: t.ClaimSpan, verdict: ClaimVerdict, *, is_last: bool) -> t.ClaimSpan:
        def point_to_best(node: t.Inline) -> t.Inline:
            return replace(node, chunk=_best_chunk(node, verdict.support)) if isinstance(node, t.Cite) else node

        children = t.map_leaves(span.children, point_to_best)
        if passage := verdict.better_passage:
            cite = self._check.form.cite(passage.hit, passage.citation) if is_last else None
            children = _replace_cites(children, cite) if verdict.is_miscited else _append_cite(children, cite)
        support = "uncited" if verdict.note == NOT_CITED else verdict.claim.support
        note = verdict.note if is_last and self._check.unsupported == "mark" else ""
        return replace(span, children=children, support=support, note=note)


def _is_foreign(text: str, context: Context, index: OpenIndex) -> bool:
    """Return whether ``text`` is in another language than the documents and the passages of ``context``."""
    if not index.language_unlike(text):
        return False
    asked = languages_of(text)
    return all(asked.isdisjoint(languages_of(one.hit.chunk.text)) for one in context.passages)


def _append_cite(run: t.Run, cite: t.Cite | None) -> t.Run:
    return run if cite is None else (*run, *([t.Text(" ")] if run else []), cite)


def _replace_cites(run: t.Run, cite: t.Cite | None) -> t.Run:
    """Return a claim's run with ``cite``, if any, in place of its citations, in styled words and links too."""
    if not find_cites(run):
        return _append_cite(run, cite)
    rest: list[t.Inline] = []
    for node in run:
        if isinstance(node, t.Styled | t.Link):
            words = tuple(child for child in node.children if not isinstance(child, t.Cite))
            rest += [replace(node, children=words), *find_cites((node,))]
        else:
            rest.append(node)
    done: list[t.Inline] = []
    while rest:
        node = rest.pop(0)
        if not isinstance(node, t.Cite):
            done.append(node)
        elif cite is not None:
            done.append(cite)
            cite = None
        else:
            tidy_removal(done, rest)
    return t.merge_text(done)


def _within_budget(claims: Sequence[AnswerClaim], index: OpenIndex) -> Iterator[AnswerClaim]:
    """Yield ``claims`` in their order until ``CHECK_BUDGET`` is used up; a claim that alone exceeds it is skipped."""
    left = CHECK_BUDGET
    for claim in claims:
        cost = CLAIM_OVERHEAD + index.pieces(claim.plain)
        if cost <= left:
            left -= cost
            yield claim
        elif cost <= CHECK_BUDGET:
            return


def unchecked_note(count: int) -> tuple[str, ...]:
    """Return the line of the trail, and of the confidence, on ``count`` claims that exceed the budget."""
    return (f"{count} statement{'s' * (count != 1)} not checked: the answer is too long",) if count else ()


def compare_numbers_only(support: ClaimSupport) -> ClaimSupport:
    """Return the support of a claim in another language than the passages: only numbers can be missing."""
    missing = tuple(word for word in support.missing if any(map(str.isdigit, word)))
    return replace(support, missing=missing, shared=max(support.shared, MIN_SHARED))


def judge_claim(
    form: CitationForm, claim: AnswerClaim, support: ClaimSupport, passages: Mapping[int, Passage]
) -> ClaimVerdict:
    """Return the verdict on ``claim``; a passage that supports it better than those it cites is cited."""
    cites, cited_chance = claim.explicit_cites, support.cited or 0.0
    best = max(support.each, key=lambda one: one.chance)
    better_passage = passages[best.number] if cited_chance < SUPPORTED <= best.chance else None
    is_miscited = better_passage is not None and cited_chance < PARTIAL
    if better_passage:
        cites = [*([] if is_miscited else cites), form.cite(better_passage.hit, better_passage.citation)]
    chunks = tuple(dict.fromkeys(_best_chunk(cite, support) for cite in cites))
    is_verbatim = any(one.verbatim for one in support.each if one.number in chunks)
    is_unfounded = bool(support.missing) or support.shared < MIN_SHARED
    checked = CheckedClaim(
        text=claim.markdown,
        citations=tuple(cite.raw for cite in cites if cite.raw),
        support="supported" if is_verbatim else "unsupported" if is_unfounded else "partial",
        chance=round(support.chance, 3),
        chunks=chunks,
    )
    return ClaimVerdict(
        answer_claim=claim, claim=checked, support=support, better_passage=better_passage, is_miscited=is_miscited
    )


def overrule(verdict: ClaimVerdict, word: Support | None) -> ClaimVerdict:
    """Return ``verdict`` after a judge's ``word``, which can acquit of all but a missing number or name."""
    claim = verdict.claim
    if word == "unsupported":
        changed = replace(claim, support=word, chance=0.0)
    elif word == "supported" and not verdict.support.missing:
        changed = replace(claim, support=word, chance=max(claim.chance, JUDGED_CHANCE))
    else:
        return verdict
    return replace(verdict, claim=changed, overruled=None if claim.support == word else claim.support)


def _best_chunk(cite: t.Cite, support: ClaimSupport) -> int:
    """Return the chunk that a citation means, unless another of its candidates supports the claim better."""
    candidates = {one.number: one for one in support.each if one.number in cite.candidates}
    grades = {number: (one.verbatim, one.chance >= SUPPORTED) for number, one in candidates.items()}
    best = max(candidates, key=lambda number: (grades[number], candidates[number].chance), default=cite.chunk)
    return cite.chunk if grades.get(cite.chunk) == grades.get(best) else best


MIN_SECONDS = 1.0
"""No model answers in less time."""
NOT_JUDGED = "the judge gave no word: the check's stands"

_WORDS: Mapping[str, Support] = {one: one for one in ("supported", "partial", "unsupported")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge(Decider):
    """Asks a model whether passages support the claims that cite them, once an answer, after the comparison of words.

    It replies in a fixed form, one line for each claim. Other text in its reply is an error, so that a passage that
    speaks to it can at most win one of the three words, whose effect ``overrule`` limits. ``template`` holds
    ``{passages}`` and ``{statements}``. A ``selective`` judge is not asked about claims that stand in a cited passage
    word for word. No judge is asked about a claim without a citation, or with a missing number or name, where its word
    would change nothing.
    """

    selective: bool = False

    def select_claims(self, verdicts: Sequence[ClaimVerdict]) -> tuple[int, ...]:
        """Return the places, from 0, of the claims to ask about."""
        places = []
        for place, verdict in enumerate(verdicts):
            is_settled = self.selective and verdict.claim.support == "supported"
            if verdict.claim.chunks and not verdict.support.missing and not is_settled:
                places.append(place)
        return tuple(places)

    def __call__(
        self, places: Sequence[int], checked: CheckedAnswer, context: Context, ledger: Ledger
    ) -> Mapping[int, Support]:
        """Return the model's words on the claims of ``checked`` at ``places`` (at least one), by place.

        Raises:
            LlmError: the model cannot be reached in time, or its reply has another form.
        """
        cited = dict.fromkeys(number for place in places for number in checked.claims[place].chunks)
        passages = [passage for passage in context.passages if passage.hit.chunk.number in cited]
        numbers = {passage.hit.chunk.number: n for n, passage in enumerate(passages, start=1)}
        lines = []
        for n, place in enumerate(places, start=1):
            claim = checked.verdicts[place].answer_claim
            words = (claim.markdown if claim.kind == "row" else claim.plain).split()
            cites = ", ".join(str(numbers[chunk]) for chunk in checked.claims[place].chunks)
            lines.append(f"{n} (passage {cites}): {' '.join(words)}")  # on one line, so that none begins another
        texts, claims = [f"{path_of(one.hit.chunk)}\n{one.text.strip()}" for one in passages], "\n".join(lines)
        fence = self.fence(claims, *texts)
        prompt = "\n".join(f"Passage {n}:\n{fence.around(text)}" for n, text in enumerate(texts, start=1))
        reply = self.complete(ledger, fence, passages=prompt, statements=fence.around(claims))
        verdicts = parse_verdicts(reply, len(places))
        if verdicts is None:
            raise LlmFailed("the judge's completion is not of the form that was asked for")
        return dict(zip(places, verdicts, strict=True))


def parse_verdicts(text: str, count: int) -> tuple[Support, ...] | None:
    """Return the words on claims 1..``count``; None unless ``text`` is one line for each of them in their order."""
    lines = [line.rstrip().partition(": ") for line in text.strip().splitlines()]
    words = tuple(_WORDS[word] for _, _, word in lines if word in _WORDS)
    is_complete = len(words) == count and [number for number, _, _ in lines] == [str(n + 1) for n in range(count)]
    return words if is_complete else None
