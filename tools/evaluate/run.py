"""Asks the service every question, and keeps each result as a line of JSON, so that an interrupted run goes on."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluate.errors import Interrupted
from evaluate.labelled import names

if TYPE_CHECKING:
    from knowledge.model.values import Hit, SearchResult
    from rag.ports.index import Retriever
    from rag.values.chat import LlmUse
    from rag.values.question import SearchQuery
    from rag.wiring.application import Application


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What the service made of a question, whatever is known of the right answer.

    ``reply`` is the body of ``POST /api/query``; empty where ``failed`` holds an error's code. ``found`` are the names
    (in lower case) of each passage of the search, best first; ``cited`` those of each cited one. ``llm`` is what was
    used of LLMs.
    """

    question: str
    reply: Mapping[str, Any] = field(default_factory=dict)
    found: Sequence[Sequence[str]] = ()
    cited: Sequence[Sequence[str]] = ()
    llm: Mapping[str, int] = field(default_factory=dict)
    failed: str = ""


class WatchedRetriever:
    """A retriever that remembers what it found last."""

    def __init__(self, retrieve: Retriever) -> None:
        self._retrieve = retrieve
        self.hits: tuple[Hit, ...] = ()

    def __call__(self, query: SearchQuery) -> SearchResult:
        """See ``rag.ports.index.Retriever``."""
        self.hits = ()
        found = self._retrieve(query)
        self.hits = found.hits
        return found


def asker(service: Application, code_of: Callable[[Exception], str]) -> Callable[[str], RunResult]:
    """Asks ``service`` one question. An error is told as ``failed``, by its code; one without a code is raised."""
    from rag.http.replies import query_reply
    from rag.http.requests import parse_query
    from rag.ledger import used_before
    from rag.values.chat import Deadline

    watched = WatchedRetriever(service.pipeline.retrieve)
    pipeline = replace(service.pipeline, retrieve=watched)

    def ask(question: str) -> RunResult:
        watched.hits = ()
        deadline = Deadline.after(service.settings.request_deadline_s, time.monotonic)
        try:
            answer = pipeline.run(parse_query(json.dumps({"query": question})), deadline=deadline)
        except Exception as error:
            code = code_of(error)
            if not code:
                raise
            return RunResult(question=question, failed=code, found=_named(watched.hits), llm=_use(used_before(error)))
        cited = [hit for citation in answer.citations for hit in citation.hits]
        return RunResult(
            question=question,
            reply=query_reply(answer).model_dump(mode="json"),
            found=_named(watched.hits),
            cited=_named(cited),
            llm=_use(answer.llm),
        )

    return ask


def ask_all(
    questions: Sequence[str], ask: Callable[[str], RunResult], kept: Path, *, on_progress: Callable[[int, int], None]
) -> list[RunResult]:
    """Each of ``questions`` answered, in their order: from the file ``kept``, else by ``ask`` and added to it.

    What failed is not kept: the next run asks it again.

    Raises:
        Interrupted: somebody interrupted it; what was answered is kept.
    """
    told = {one.question: one for one in read_kept(kept)}
    new = [question for question in dict.fromkeys(questions) if question not in told]
    try:
        kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        kept.touch(mode=0o600)  # people's questions, and what private documents say
        with kept.open("a+b") as file:
            if kept.read_bytes()[-1:] not in {b"", b"\n"}:
                file.write(b"\n")  # ends a line that a killed run did not finish
            for done, question in enumerate(new, start=1):
                told[question] = one = ask(question)
                if not one.failed:
                    file.write(json.dumps(asdict(one), ensure_ascii=False).encode() + b"\n")
                    file.flush()
                on_progress(done, len(new))
    except KeyboardInterrupt as exc:
        done = sum(question in told for question in questions)
        sentence = f"Interrupted after {done} of {len(questions)} questions; the same command goes on from there"
        raise Interrupted(sentence) from exc
    return [told[question] for question in questions]


def read_kept(kept: Path) -> Iterator[RunResult]:
    """What an earlier run kept; a line that it did not finish is left out."""
    if not kept.is_file():
        return
    for line in kept.read_bytes().split(b"\n"):
        try:
            yield RunResult(**json.loads(line))
        except (ValueError, TypeError):
            continue


def _named(hits: Sequence[Hit]) -> list[list[str]]:
    return [sorted(names(hit.chunk)) for hit in hits]


def _use(llm: LlmUse) -> dict[str, int]:
    return {"calls": llm.calls, "promptTokens": llm.prompt_tokens, "completionTokens": llm.completion_tokens}


FOLDER = Path(".index/evaluations")
DIGEST_CHARS = 16
FORMAT = 1
"""Of the lines in the file: ``RunResult``."""
_NO_MATTER = {
    "index_uri",
    "store_path",
    "store_wait_s",
    "table_name",
    "table_endpoint",
    "prompts_dir",
}


def place_of(service: Application, folder: Path = FOLDER) -> Path:
    """The file of ``service``'s results. Labels are not part of its name: after a correction nobody is asked again."""
    from rag.config.settings import load
    from rag.profiles import load_profile
    from rag.wiring.tables import Tables

    settings = service.settings
    prompts = dict.fromkeys(settings.prompt_path(name).parent for name in ("system.txt", "judge.txt"))
    with service.index.lease() as index:
        manifest = index.manifest
        held = {"version": index.version, "calibration": dict(manifest.calibration or {}) if manifest else None}
    scope = {
        "format": FORMAT,
        "index": held,
        "profile": settings.profile,
        "settings": settings.model_dump(mode="json", exclude=_NO_MATTER),  # its secrets are masked
        "knobs": load(load_profile(settings.profile).settings).model_dump(mode="json"),
        "prompts": _digest_of_files([path for folder in prompts for path in sorted(folder.glob("*"))]),
        "tables": Tables(settings, service.index).digest(),
        "program": _program(),
    }
    digest = hashlib.sha256(json.dumps(scope, sort_keys=True).encode()).hexdigest()
    return folder / f"{settings.profile}-{digest[:DIGEST_CHARS]}.jsonl"


def _program() -> str:
    """The code that answers: another version of it is asked anew."""
    import knowledge
    import rag

    roots = [Path(str(package.__file__)).parent for package in (knowledge, rag)]
    return _digest_of_files([path for root in roots for path in sorted(root.rglob("*.py"))])


def _digest_of_files(paths: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        if path.is_file():
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
