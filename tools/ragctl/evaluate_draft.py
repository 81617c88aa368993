"""Drafts questions from the documents of an index, for a person to correct."""

from __future__ import annotations

from pathlib import Path

from ragctl.console import emit_json, note, progress, show
from ragctl.failures import CommandFailed


def make_questions(count: int, out: Path, *, seed: int, profile: str | None, index: str | None, as_json: bool) -> None:
    """Write ``count`` drafts, or as many as the documents give, to the new file ``out``; the options are the command's.

    Raises:
        CommandFailed: the file is there, cannot be written, or the documents give no question.
    """
    from evaluate.drafting import drafted, drafter, spread_evenly
    from ragctl.evaluate_questions import quiet_service

    if out.exists():
        raise CommandFailed(f"{out} is there already: name another file", code="file_exists")
    service = quiet_service(profile=profile, index=index)
    with service.index.lease() as opened:
        spread = spread_evenly(opened.iter_chunks(), seed=seed)
    with progress("Drafting") as on_progress:
        drafts = drafted(spread, count, drafter(service, note), on_progress)
    if not drafts:
        raise CommandFailed("The documents hold no sentence to ask about", code="nothing_to_ask")
    try:
        with out.open("x", encoding="utf-8") as file:
            alone = len({chunk.doc_id for chunk in spread}) == 1
            file.writelines(draft.line(by_section=alone) + "\n" for draft in drafts)
    except FileExistsError as exc:
        raise CommandFailed(f"{out} is there already: name another file", code="file_exists") from exc
    told = {"questions": len(drafts), "documents": len({draft.doc_id for draft in drafts}), "out": str(out)}
    if as_json:
        emit_json(told)
        return
    show(f"{told['questions']} drafts on {told['documents']} documents: {out}")
    note(
        'Put them into your users\' words, take out what is wrong, and "draft" with it; '
        'then add questions that the documents do not answer, with "answerable": false.'
    )
