"""Threads of mail: the messages that answer each other are one document, the newest first.

``Fields.message_ids`` are a message's own id, then those that it answers. Among the latter ``subject:`` stands for the
newest earlier message of its title: an answer without the headers that name one (RFC 5256, REFERENCES).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain, count, pairwise
from pathlib import PurePosixPath

from knowledge.model.values import NEWEST_MESSAGE, OTHER_PATHS
from knowledge.read.fields import Fields
from knowledge.read.file_names import strip_format
from knowledge.read.loading import LoadedDocument

BY_SUBJECT = "subject:"
_LINE = re.compile(r"^.*\S.*$", re.MULTILINE)
NOTICE_WORDS = 25
"""Least words of an ending that messages repeat, if it is one line or of several writers."""


def find_threads(
    mails: Mapping[int, LoadedDocument],
) -> Iterator[tuple[Sequence[int], Collection[int], LoadedDocument]]:
    """Yield the numbers of each thread's messages, newest first, those of their copies, and its document without text.

    The document has the path of the newest message and the doc_id of the
    oldest one's path, so that a further answer changes it and makes no new one. In a mailbox, whose messages are named
    by their titles, a later thread of the same title is numbered.
    """
    taken: set[str] = set()
    for numbers in sorted(_group_answers(mails), key=lambda numbers: (_read_date(mails[numbers[-1]]), numbers[-1])):
        unique = list({mails[number].fields.message_ids[0]: number for number in reversed(numbers)}.values())[::-1]
        newest, members = mails[unique[0]], [mails[number] for number in numbers]
        path = newest.found.path
        if path in taken and PurePosixPath(path).name != newest.found.file.name:
            stem = PurePosixPath(path)
            path = next(one for n in count(2) if (one := f"{stem.with_suffix('')} {n}{stem.suffix}") not in taken)
        taken.add(path)
        fields = newest.fields
        others = sorted({one.found.path for one in members} - {newest.found.path})
        if others:
            doc_id = fields.doc_id or strip_format(members[-1].found.path)
            fields = replace(fields, doc_id=doc_id, extra={**fields.extra, OTHER_PATHS: "\n".join(others)})
        kept = [mails[number] for number in unique]
        yield (
            unique,
            set(numbers) - set(unique),
            replace(
                newest,
                found=replace(newest.found, path=path),
                fields=_name_newest(fields, kept),
                caveats=tuple(dict.fromkeys(chain.from_iterable(one.caveats for one in kept))),
                loss=next((one.loss for one in kept if one.loss), None),
            ),
        )


def _name_newest(fields: Fields, messages: Sequence[LoadedDocument]) -> Fields:
    """Return ``fields`` with the heading of the first of several ``messages``."""
    extra = {**fields.extra, NEWEST_MESSAGE: _message_heading(messages[0])}
    return replace(fields, extra=extra) if len(messages) > 1 else fields


def find_endings(mails: Mapping[int, LoadedDocument], read: Callable[[int], str]) -> dict[int, tuple[int, int]]:
    """Return the first and the end character of each message's signature and notices: what other messages repeat.

    A signature ends two messages of the writer word for word, and is the smaller part of one of them: else they are a
    circular. A notice has ``NOTICE_WORDS`` and ends three messages, not all of one writer.
    """
    cuts: dict[int, tuple[int, int]] = {}
    writers = {number: str(mail.fields.extra.get("author", "")) for number, mail in mails.items()}
    for _ in range(2):  # a signature above a notice
        counts: Counter[tuple[str, int]] = Counter()
        seen: set[str | int] = set()
        endings: dict[int, list[tuple[int, int, int]]] = {}
        smaller: set[int] = set()
        for number, mail in mails.items():
            text = read(number)
            end = text.find("\n## ", 1) if "\n## " in text[1:] else len(text)  # above its attachments
            own = text[: cuts.setdefault(number, (end, end))[0]]
            endings[number], few = _endings(own)
            smaller |= few
            copies: set[str | int] = {mail.fields.message_ids[0], hash(own.partition("\n")[2].strip())}
            if seen.isdisjoint(copies):
                counts.update((writer, one[1]) for one in endings[number] for writer in {writers[number], ""})
            seen |= copies
        for number, writer in writers.items():
            cuts[number] = _first_repeated(endings[number], writer, counts, smaller) or cuts[number][0], cuts[number][1]
    return {number: cut for number, cut in cuts.items() if cut[0] < cut[1]}


def _first_repeated(
    endings: Sequence[tuple[int, int, int]], writer: str, counts: Mapping[tuple[str, int], int], smaller: Container[int]
) -> int:
    """Return the start of the longest signature or notice among ``endings``, 0 if there is none."""
    least = 0  # count of the longest ending that is repeated: the end of a circular has the same
    for start, ending, words in reversed(endings):
        repeats = counts[writer, ending] if writer and counts[writer, ending] > 1 else 0
        is_notice = words >= NOTICE_WORDS and counts["", ending] > max(2, repeats)
        if is_notice or (repeats > least and ending in smaller):
            return start
        least = least or repeats
    return 0


def _endings(text: str) -> tuple[list[tuple[int, int, int]], set[int]]:
    """Return start, hash and words of each ending of whole paragraphs, and the hashes of those that leave more."""
    lines = [line for line in _LINE.finditer(text) if not line[0].startswith("## ")]
    endings: list[tuple[int, int, int]] = []
    ending, words, total = 0, 0, sum(len(line[0].split()) for line in lines)
    for before, line in reversed([*pairwise(lines)]):
        if line[0].startswith(">"):
            break
        ending, words = hash((ending, line[0].strip())), words + len(line[0].split())
        if (line is not lines[-1] or words >= NOTICE_WORDS) and line.start() - before.end() > 1:
            endings.append((line.start(), ending, words))
    return endings, {ending for _, ending, words in endings if 2 * words < total}


def join_messages(messages: Sequence[tuple[LoadedDocument, str]], cuts: Sequence[tuple[int, int]]) -> str:
    """Return the text of a thread without the characters ``cuts``; a heading that is there gets the time of day."""
    texts: list[str] = []
    headings: set[str] = set()
    for (mail, text), (start, end) in zip(messages, cuts, strict=True):
        texts.append("\n\n".join(filter(None, (text[:start].rstrip(), text[end:].strip()))))
        heading = f"## {_message_heading(mail)}"
        if heading in headings:
            time = str(mail.fields.extra.get("date", ""))[11:16]
            texts[-1] = re.sub(rf"(?m)^({re.escape(heading)})(?=$| > )", rf"\1 {time}", texts[-1])
        headings.add(heading)
    return "\n\n".join(texts)


def _group_answers(mails: Mapping[int, LoadedDocument]) -> list[list[int]]:
    """Return the numbers of the messages of each thread, newest first."""
    parents: dict[str, str] = {}

    def find_root(name: str) -> str:
        while (parent := parents.setdefault(name, name)) != name:
            parents[name] = parents[parent]
            name = parent
        return name

    newest_ids: dict[str, str] = {}
    ordered = sorted(mails, key=lambda number: (_read_date(mails[number]), mails[number].found.path))
    for number in ordered:
        fields = mails[number].fields
        own, *answered = fields.message_ids
        title = fields.title.casefold()
        for name in answered:
            parents[find_root(own)] = find_root(newest_ids.get(title, own) if name == BY_SUBJECT else name)
        newest_ids[title] = own
    threads: dict[str, list[int]] = defaultdict(list)
    for number in reversed(ordered):
        threads[find_root(mails[number].fields.message_ids[0])].append(number)
    return list(threads.values())


def _message_heading(mail: LoadedDocument) -> str:
    writer, date = (str(mail.fields.extra.get(name, "")) for name in ("author", "date"))
    return ", ".join(filter(None, (writer, date[:10])))


def _read_date(mail: LoadedDocument) -> datetime:
    """Return when a message was written; one without a date counts as the oldest."""
    try:
        found = datetime.fromisoformat(str(mail.fields.extra.get("date", "")))
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
