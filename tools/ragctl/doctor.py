"""ragctl doctor: check the program's requirements and print what to do about failures."""

from __future__ import annotations

import os
import platform
import re
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

import documents
from ragctl.console import DONE, FAILED, emit_json, print_rich
from ragctl.options import DEFAULT_PORT, IndexDir, Json, Profile, choose_store, read_settings

if TYPE_CHECKING:
    from rag.config.settings import Settings
    from rag.profiles.shared.settings import ProfileSettings

MIN_PYTHON = (3, 12)
LLM_TIMEOUT_S = 3.0
SEED_RULES_OFF = "off: the index's evidence decides"
IMPORTED = (
    "aws_lambda_powertools", "chromadb", "numpy", "onnxruntime", "openai", "pydantic", "tokenizers", "waitress",
)  # fmt: skip

_PACKAGE = "serverless-rag"
_REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements" / "tools.txt"
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==[^\s\\]+[^\\]*", re.MULTILINE)


class CheckFailed(Exception):
    """A failed check; the message says why and what to do."""


def run_checks(settings: Settings, *, port: int) -> Iterator[dict[str, Any]]:
    """Run all checks, in an order in which the first failure is likely to explain the later ones.

    Yields each result as JSON: ``name``, ``ok`` and ``detail``.
    """
    from knowledge.model.errors import KnowledgeError
    from rag.errors import RagError

    checks: dict[str, Callable[[], str]] = {
        "python": check_python,
        "packages": check_packages,
        "model": check_model,
        "text recognition": lambda: "installed" if documents.has_text_recognition() else "not installed (extra ocr)",
        "index": lambda: check_index(settings),
        "manifest": lambda: check_manifest(settings),
        "llm": lambda: check_llm(settings),
        "store": lambda: check_store(settings),
        "seed rules": lambda: check_seed_rules(settings),
        "port": lambda: check_port(port),
    }
    for name, check in checks.items():
        try:
            yield {"name": name, "ok": True, "detail": check()}
        except Exception as error:  # noqa: BLE001 - any error is the result of its check
            is_expected = isinstance(error, (CheckFailed, KnowledgeError, RagError))
            detail = str(error) if is_expected else f"{type(error).__name__}: {error}"
            yield {"name": name, "ok": False, "detail": " ".join(detail.split())}


def check_python(version: tuple[int, ...] = tuple(sys.version_info[:3])) -> str:
    """Check that Python is new enough."""
    text = ".".join(map(str, version))
    if version < MIN_PYTHON:
        raise CheckFailed(f"{text}: 3.12 or newer is needed. Run: rm -r .venv && make setup PYTHON=python3.13")
    return f"{text} on {platform.machine()}"


def check_packages(requirements: Path = _REQUIREMENTS) -> str:
    """Check that the pinned versions are installed and the large packages can be imported.

    The pins come from a clone's ``requirements``, or else from the installed package.
    """
    from packaging.requirements import Requirement

    is_clone = requirements.is_file()
    if is_clone:
        lines = [match[0].strip() for match in _PINNED.finditer(requirements.read_text(encoding="utf-8"))]
    else:
        lines = metadata.requires(_PACKAGE) or []
    pinned = [Requirement(line) for line in lines]
    wanted = [item for item in pinned if item.marker is None or item.marker.evaluate()]
    wrong = []
    for item in wanted:
        try:
            installed = metadata.version(item.name)
        except metadata.PackageNotFoundError:
            wrong.append(f"{item.name} is missing")
            continue
        if not item.specifier.contains(installed, prereleases=True):
            wrong.append(f"{item.name} is {installed} instead of {item.specifier}")
    for name in IMPORTED:
        try:
            import_module(name)
        except ImportError as exc:
            wrong.append(f"{name} cannot be imported ({exc})")
    if wrong:
        clone, package = "Run: rm -r .venv && make setup", f"Install {_PACKAGE} anew, in an environment of its own"
        raise CheckFailed(f"{'; '.join(wrong)}. {clone if is_clone else package}")
    return f"{len(wanted)} as pinned"


def check_model() -> str:
    """Check that the embedding model's files have the checksums that they were built with."""
    from knowledge.embedding import MiniLM

    embedder = MiniLM()
    embedder.verify()
    return f"{embedder.model}, {embedder.dimensions} dimensions, sha256 verified"


def check_index(settings: Settings) -> str:
    """Check that the index opens, with all its checksums."""
    from ragctl.embedders import open_for_questions

    with closing(open_for_questions(settings)) as index:
        return f"{settings.index_place}: {index.documents} documents, {index.chunks} chunks, version {index.version}"


def check_manifest(settings: Settings) -> str:
    """Check that manifest, collection and BM25 (which opening compares with the texts) have the same chunks."""
    from ragctl.embedders import open_for_questions

    with closing(open_for_questions(settings)) as index:
        if index.manifest is None:
            return "none: a Chroma folder that was made elsewhere"
        expected = {source.doc_id: source.chunks for source in index.manifest.sources if source.chunks}
        stored = Counter(chunk.doc_id for chunk in index.iter_chunks())
        words = f"BM25 of {index.lexical.vocabulary_size} terms"
    differing = sorted(
        doc_id for doc_id in expected.keys() | stored.keys() if expected.get(doc_id) != stored.get(doc_id)
    )
    if differing:
        raise CheckFailed(f"disagrees with the collection about {', '.join(differing[:3])}. Run: ragctl ingest PATH")
    return f"agrees with the collection about {len(stored)} documents and {sum(stored.values())} chunks; {words}"


def check_llm(settings: Settings) -> str:
    """Check a configured LLM: list its server's models and ask it for a word.

    The result shows neither the key nor the server's reply.
    """
    from rag.config.settings import load
    from rag.profiles import load_profile

    knobs = load(load_profile(settings.profile).settings)
    if not (settings.has_llm or knobs.is_llm_configured):
        return "not configured: the extractive engine answers"
    base_url = settings.llm_base_url or knobs.llm_base_url
    listed = _check_models(base_url, settings.llm_api_key.get_secret_value(), knobs.llm_model)
    return f"{base_url} answers; {listed}; {_ask_a_word(settings, knobs)}"


def _check_models(base_url: str, key: str, model: str) -> str:
    import httpx

    try:
        reply = httpx.get(
            f"{base_url.rstrip('/')}/models",
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=LLM_TIMEOUT_S,
        )
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as exc:
        raise CheckFailed(f"{base_url} cannot be reached ({type(exc).__name__}). Check LLM_BASE_URL") from exc
    if reply.status_code in (401, 403):
        raise CheckFailed(f"{base_url} refuses the key ({reply.status_code}). Check LLM_API_KEY")
    if reply.status_code >= 500:
        raise CheckFailed(f"{base_url} answers {reply.status_code}. Try again later, or set LLM_FALLBACK=extractive")
    if not reply.is_success:
        return f"it has no list of models ({reply.status_code})"
    try:
        models = {str(model["id"]) for model in reply.json()["data"]}
    except (ValueError, KeyError, TypeError):
        models = set()
    return f"{model} is {'listed' if model in models else 'not listed'}"


def _ask_a_word(settings: Settings, knobs: ProfileSettings) -> str:
    """Ask the model for a word with the parameters of a question, so that a refused parameter fails here."""
    from rag.errors import LlmError
    from rag.values.chat import Deadline, Message
    from rag.wiring.models import ChatModels, allow_local_time

    settings = allow_local_time(settings, knobs)
    chat = ChatModels(settings, knobs.model_copy(update={"max_tokens": 16, "retries": 0})).answer_model()
    if chat is None:
        return ""
    began = time.monotonic()
    deadline = Deadline.after(settings.request_deadline_s, time.monotonic)
    try:
        chat.complete((Message("user", "Answer with one word: yes."),), deadline=deadline)
    except LlmError as exc:
        if "no text" in str(exc):
            return f"{chat.model} spends its first words on reasoning"
        raise CheckFailed(f"{chat.model} gives no answer: {exc}. Check LLM_MODEL and LLM_BASE_URL") from exc
    return f"{chat.model} gave a word in {time.monotonic() - began:.1f} s{_describe_passage_budget(settings, knobs)}"


def _describe_passage_budget(settings: Settings, knobs: ProfileSettings) -> str:
    """Return the number of tokens that LLM_CONTEXT_TOKENS leaves for passages."""
    from rag.config.settings import Prompts
    from rag.wiring.models import build_window, load_prompt_template

    if not knobs.model_context_tokens:
        return ""
    window = build_window(knobs, load_prompt_template(knobs, Prompts(settings)))
    room = window.room(knobs.model_context_tokens)
    return f"; {room} of its {knobs.model_context_tokens} tokens are left for passages"


def check_store(settings: Settings) -> str:
    """Check that the store of turns and votes opens; other users must not be able to read it."""
    from rag.adapters.vendors import open_table

    settings, sentence = choose_store(settings)
    open_table(settings)
    return sentence


def check_seed_rules(settings: Settings) -> str:
    """Return how the profile differs from its seed, if SEED_RULES=on asks for the seed's rules."""
    from knowledge.model.errors import IndexUnavailable
    from knowledge.open.place import folder_of, read_manifest
    from rag.config.settings import load
    from rag.profiles import load_profile
    from rag.profiles.shared.pipeline import describe_seed_rules

    profile = load_profile(settings.profile)
    if not load(profile.settings).seed_rules:
        return SEED_RULES_OFF
    if profile.seed is None:
        raise CheckFailed(f"SEED_RULES is on, but the profile {settings.profile} follows no seed; leave it out")
    try:
        manifest = read_manifest(folder_of(settings.index_place))
    except IndexUnavailable:  # other checks report it
        manifest = None
    return describe_seed_rules(settings.profile, profile.seed, manifest)


def check_port(port: int) -> str:
    """Check that the port is free."""
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError as exc:
        advice = f"Choose another: PORT={port + 1} make run"
        raise CheckFailed(f"{port} is not free ({os.strerror(exc.errno or 0)}). {advice}") from exc
    return f"{port} is free"


def doctor(
    *,
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port that the service would use.")] = DEFAULT_PORT,
    profile: Profile = None,
    index: IndexDir = None,
    as_json: Json = False,
) -> int:
    """Check Python, packages, model, index, store, LLM and port; exit status 1 if a check fails."""
    settings = read_settings(index=index, profile=profile)
    results = list(run_checks(settings, port=port))
    ok = all(result["ok"] for result in results)
    if as_json:
        emit_json({"checks": results, "ok": ok})
    else:
        table = Table.grid(padding=(0, 2))
        for result in results:
            verdict = Text("ok", style="green") if result["ok"] else Text("FAIL", style="bold red")
            table.add_row(result["name"], verdict, Text(result["detail"]))
        print_rich(table)
    return DONE if ok else FAILED
