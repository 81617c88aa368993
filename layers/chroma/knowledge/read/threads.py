"""Threads of mail: the messages that answer each other are one document, the newest first.

``Fields.message_ids`` are a message's own id, then those that it answers. Among the latter ``subject:`` stands for the
newest earlier message of its title: an answer without the headers that name one (RFC 5256, REFERENCES).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import PurePosixPath

from knowledge.model.values import NEWEST_MESSAGE, OTHER_PATHS
from knowledge.read.file_names import strip_format
from knowledge.read.loading import LoadedDocument

BY_SUBJECT = "subject:"


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
            extra = {OTHER_PATHS: "\n".join(others), NEWEST_MESSAGE: _message_heading(newest)}
            fields = replace(fields, doc_id=doc_id, extra={**fields.extra, **extra})
        kept = [mails[number] for number in unique]
        yield (
            unique,
            set(numbers) - set(unique),
            replace(
                newest,
                found=replace(newest.found, path=path),
                fields=fields,
                caveats=tuple(dict.fromkeys(chain.from_iterable(one.caveats for one in kept))),
                loss=next((one.loss for one in kept if one.loss), None),
            ),
        )


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
