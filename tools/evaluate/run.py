"""Ask the service every question, and save each result as a line of JSON, so that an interrupted run continues."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import knowledge
import rag
from evaluate.question_files import Interrupted, chunk_names
from knowledge.model.values import Hit, SearchResult
from rag.config.settings import load
from rag.http.replies import query_reply
from rag.http.requests import read_question
from rag.http.schema import QueryRequest
from rag.ledger import used_before
from rag.profiles import load_profile
from rag.values.chat import Deadline, LlmUse
from rag.values.question import SearchQuery
from rag.wiring.application import Application
from rag.wiring.tables import Tables

FOLDER = Path(".index/evaluations")
DIGEST_CHARS = 16
FORMAT = 1
"""Raise it when ``RunResult`` changes: older results are then asked again."""
_IRRELEVANT_SETTINGS = {"index_uri", "store_path", "store_wait_s", "table_name", "table_endpoint", "prompts_dir"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The service's result for a question, without its labels: corrected ones ask nothing again.

    ``reply`` is the body of ``POST /api/query``; empty if ``failed`` holds an error's code. ``found`` are the names
    (in lower case) of each passage of the search, best first; ``cited`` the names of each cited passage. ``llm`` counts
    calls and tokens.
    """

    question: str
    reply: Mapping[str, Any] = field(default_factory=dict)
    found: Sequence[Sequence[str]] = ()
    cited: Sequence[Sequence[str]] = ()
    llm: Mapping[str, int] = field(default_factory=dict)
    failed: str = ""


def asker(service: Application, error_code: Callable[[Exception], str]) -> Callable[[str], RunResult]:
    """Return a function that asks ``service`` one question; it raises errors for which ``error_code`` is ``""``."""
    hits: tuple[Hit, ...] = ()

    def retrieve(query: SearchQuery) -> SearchResult:
        nonlocal hits
        hits = ()
        result = service.pipeline.retrieve(query)
        hits = result.hits
        return result

    pipeline = replace(service.pipeline, retrieve=retrieve)

    def ask(question: str) -> RunResult:
        nonlocal hits
        hits = ()
        deadline = Deadline.after(service.settings.request_deadline_s, time.monotonic)
        try:
            answer = pipeline.run(read_question(QueryRequest(query=question)), deadline=deadline)
        except Exception as error:
            code = error_code(error)
            if not code:
                raise
            found, llm = _hit_names(hits), _count_use(used_before(error))
            return RunResult(question=question, failed=code, found=found, llm=llm)
        cited = [hit for citation in answer.citations for hit in citation.hits]
        return RunResult(
            question=question,
            reply=query_reply(answer).model_dump(mode="json"),
            found=_hit_names(hits),
            cited=_hit_names(cited),
            llm=_count_use(answer.llm),
        )

    return ask


def _hit_names(hits: Sequence[Hit]) -> list[list[str]]:
    return [sorted(chunk_names(hit.chunk)) for hit in hits]


def _count_use(llm: LlmUse) -> dict[str, int]:
    return {"calls": llm.calls, "promptTokens": llm.prompt_tokens, "completionTokens": llm.completion_tokens}


def ask_all(
    questions: Sequence[str], ask: Callable[[str], RunResult], path: Path, *, on_progress: Callable[[int, int], None]
) -> list[RunResult]:
    """Return the results of ``questions``, in their order: from the file ``path``, else from ``ask``, which are saved.

    Failures are not saved: the next run asks those questions again.

    Raises:
        Interrupted: the run was interrupted; its results so far are saved.
    """
    results = {one.question: one for one in read_results(path)}
    new = [question for question in dict.fromkeys(questions) if question not in results]
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)  # it holds people's questions and texts of private documents
        with path.open("a+b") as file:
            if path.read_bytes()[-1:] not in {b"", b"\n"}:
                file.write(b"\n")  # ends a line that a killed run did not finish
            for done, question in enumerate(new, start=1):
                results[question] = one = ask(question)
                if not one.failed:
                    file.write(json.dumps(asdict(one), ensure_ascii=False).encode() + b"\n")
                    file.flush()
                on_progress(done, len(new))
    except KeyboardInterrupt as exc:
        done = sum(question in results for question in questions)
        sentence = f"Interrupted after {done} of {len(questions)} questions; the same command goes on from there"
        raise Interrupted(sentence) from exc
    return [results[question] for question in questions]


def read_results(path: Path) -> Iterator[RunResult]:
    """Yield the saved results of an earlier run; an unfinished line is left out."""
    if not path.is_file():
        return
    for line in path.read_bytes().split(b"\n"):
        try:
            yield RunResult(**json.loads(line))
        except (ValueError, TypeError):
            continue


def results_path(service: Application, folder: Path = FOLDER) -> Path:
    """Return the file of ``service``'s results; its name is a hash of all that answers depend on.

    Labels are not among it: after a correction of labels no question is asked again.
    """
    settings = service.settings
    prompts = dict.fromkeys(settings.prompt_path(name).parent for name in ("system.txt", "judge.txt"))
    packages = [Path(str(package.__file__)).parent for package in (knowledge, rag)]
    with service.index.lease() as index:
        manifest = index.manifest
        calibration = dict(manifest.calibration or {}) if manifest else None
        version = index.version
    scope = {
        "format": FORMAT,
        "index": {"version": version, "calibration": calibration},
        "profile": settings.profile,
        "settings": settings.model_dump(mode="json", exclude=_IRRELEVANT_SETTINGS),  # its secrets are masked
        "knobs": load(load_profile(settings.profile).settings).model_dump(mode="json"),
        "prompts": _digest_files([path for folder in prompts for path in sorted(folder.glob("*"))]),
        "tables": Tables(settings, service.index).digest(),
        "program": _digest_files([path for package in packages for path in sorted(package.rglob("*.py"))]),
    }
    digest = hashlib.sha256(json.dumps(scope, sort_keys=True).encode()).hexdigest()
    return folder / f"{settings.profile}-{digest[:DIGEST_CHARS]}.jsonl"


def _digest_files(paths: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        if path.is_file():
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
