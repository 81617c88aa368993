"""The settings that all profiles share, the only reader of the environment in this function, and the prompts."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Annotated, Literal

from pydantic import SecretStr, ValidationError, field_validator

from rag.config.fields import WAYPOINT, EnvironmentSettings, Seconds, UnitName, env, variable_names
from rag.errors import ConfigurationError

DEFAULT_PROFILE = "house"
SHARED_PROMPTS = "shared"
"""The folder of the prompts for profiles without such a prompt."""

LEAST_CONTRAST = 4.5
"""WCAG 2's minimum for text of usual size (level AA)."""
TINT = 0.12
"""Share of the accent in the background of chips and of the question; the rest is white (web/style.css)."""

_ORIGIN = re.compile(r"\*|https?://[a-z0-9.-]+(:\d{1,5})?")
_HERE = Path(__file__).resolve()


class Settings(EnvironmentSettings):
    """The settings that all profiles share; a profile's own are its ``ProfileSettings``."""

    profile: Annotated[str, env("RAG_PROFILE", pattern="^[a-z][a-z0-9_]{0,63}$")] = DEFAULT_PROFILE
    """Which system answers: one of those below."""
    index_uri: Annotated[str, env("INDEX_URI")] = ""
    """The index: a folder, a file:// address, or a database of Chroma's server or Cloud,
    chroma://HOST:PORT/TENANT/DATABASE or https://HOST/TENANT/DATABASE. Empty: .index/<profile>."""
    index_token: Annotated[SecretStr, env("INDEX_TOKEN")] = SecretStr("")
    """The key of Chroma's server, sent over https alone."""
    index_secret_name: Annotated[str, env("INDEX_SECRET_NAME")] = ""
    """A secret of AWS Secrets Manager that holds it, as text or as JSON with INDEX_TOKEN."""
    collection: Annotated[str, env("CHROMA_COLLECTION", min_length=3), WAYPOINT] = "waypoint_kb"
    """The Chroma collection's name."""
    llm_api_key: Annotated[SecretStr, env("LLM_API_KEY")] = SecretStr("")
    """Key of the LLM. With neither key nor base URL the extractive engine answers."""
    llm_auth: Annotated[Literal["key", "aws"], env("LLM_AUTH")] = "key"
    """How the LLM knows the service: by a key, or by a token of the AWS role for Amazon Bedrock, renewed every five
    minutes. Then the endpoint is the region's, and LLM_MODEL one of Bedrock's."""
    llm_secret_name: Annotated[str, env("LLM_SECRET_NAME")] = ""
    """Secrets Manager secret that holds the key, in place of LLM_API_KEY: the key itself, or JSON with a field
    "LLM_API_KEY"."""
    llm_base_url: Annotated[str, env("LLM_BASE_URL")] = ""
    """OpenAI-compatible endpoint of the LLM. Empty: the profile's own."""
    llm_fallback: Annotated[Literal["none", "extractive"], env("LLM_FALLBACK")] = "none"
    """Who answers when the LLM stays unreachable: nobody (503) or the extractive engine."""
    llm_fallback_models: Annotated[tuple[str, ...], env("LLM_FALLBACK_MODELS")] = ()
    """Models to ask, in order, when the configured one is not found or gives no completion (comma-separated). Empty: at
    Groq's address openai/gpt-oss-20b, elsewhere none."""
    embed_model: Annotated[str, env("EMBED_MODEL")] = ""
    """Embedding model behind an API, for an index made with it. Empty: the local MiniLM."""
    embed_base_url: Annotated[str, env("EMBED_BASE_URL")] = ""
    """Its OpenAI-compatible endpoint. Empty: LLM_BASE_URL, else OpenAI's."""
    embed_api_key: Annotated[SecretStr, env("EMBED_API_KEY")] = SecretStr("")
    """Its key. Empty: the LLM's."""
    embed_secret_name: Annotated[str, env("EMBED_SECRET_NAME")] = ""
    """Secrets Manager secret that holds it, in place of EMBED_API_KEY: the key itself, or JSON with a field
    "EMBED_API_KEY"."""
    embed_dimensions: Annotated[int, UnitName("dimensions"), env("EMBED_DIMENSIONS", ge=0, le=8192)] = 0
    """Length of its vectors; 0 is the model's own."""
    table_name: Annotated[str, env("TABLE_NAME")] = ""
    """DynamoDB table of answer cache, memory and feedback. Empty: STORE_PATH."""
    table_endpoint: Annotated[str, env("TABLE_ENDPOINT")] = ""
    """Another address of DynamoDB, for tests against a local one."""
    store_path: Annotated[str, env("STORE_PATH")] = ""
    """SQLite file of the same, for one machine; none: nothing is kept. Empty: ragctl serve keeps it beside the index,
    as INDEX.store.sqlite, and nothing else keeps any."""
    store_wait_s: Annotated[Seconds, env("STORE_WAIT_S", le=60)] = 0.1
    """Before its answer a question waits for its stores no longer than this in all; what is not there by then is
    skipped. After it, it waits a second for what is written."""
    feedback_per_hour: Annotated[int, UnitName("votes"), env("FEEDBACK_PER_HOUR", ge=0, le=10_000)] = 60
    """Votes that are taken from one session within an hour; 0 takes any number."""
    acronyms_file: Annotated[str, env("ACRONYMS_FILE")] = ""
    """Acronym table, JSON or CSV, in place of the index's own."""
    filter_rules_file: Annotated[str, env("FILTER_RULES_FILE")] = ""
    """Filter rules, JSON, in place of the index's own."""
    request_deadline_s: Annotated[Seconds, env("REQUEST_DEADLINE_S", le=900)] = 27.0
    """A request is answered, or fails, within this time (API Gateway gives up after 29 s). A streamed answer must have
    begun by then. Where it is not set and the LLM is on this machine or a private network: 120."""
    stream_idle_s: Annotated[Seconds, env("STREAM_IDLE_S", le=900)] = 20.0
    """Longest wait for more of an answer that is streamed; what came before it is the answer."""
    stream_deadline_s: Annotated[Seconds, env("STREAM_DEADLINE_S", le=900)] = 600.0
    """An answer that is streamed ends within this time, counted from the request, or where it is by then. On Lambda the
    function's timeout may come first."""
    embed_threads: Annotated[int, UnitName("threads"), env("EMBED_THREADS", ge=1, le=16)] = 1
    """Threads of the embedding model; set it to the vCPUs."""
    web: Annotated[Literal["on", "off"], env("WEB")] = "on"
    """Whether the page is served: GET /, /web, /docs and /openapi.json."""
    page_language: Annotated[Literal["en", "de"], env("PAGE_LANGUAGE")] = "en"
    """The language of the page's own words."""
    page_mark: Annotated[str, env("PAGE_MARK", max_length=2)] = ""
    """One or two letters for the page's mark. Empty: its drawing."""
    page_accent: Annotated[str, env("PAGE_ACCENT", pattern=r"^$|^#[0-9a-fA-F]{6}$")] = ""
    """The page's accent, as #1f5f8b; text in it must be readable on its own tint. Empty: the profile's."""
    allowed_origins: Annotated[tuple[str, ...], env("ALLOWED_ORIGINS")] = ()
    """Pages of others that may ask from a browser, on AWS: their origins (comma-separated), or * for any. Empty:
    none."""
    prompts_dir: Annotated[Path, env("PROMPTS_DIR")] = Path()
    """Folder of the prompt templates. Empty: the ones that come with the program."""

    @field_validator("llm_fallback_models", "allowed_origins", mode="before")
    @classmethod
    def _split_list(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("allowed_origins")
    @classmethod
    def _check_origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not all(_ORIGIN.fullmatch(origin) for origin in value):
            raise ValueError("must be * or origins: https://host or http://host:port, without a path")
        return value

    @field_validator("page_accent")
    @classmethod
    def _check_contrast(cls, value: str) -> str:
        if value and (ratio := measure_contrast(value)) < LEAST_CONTRAST:
            raise ValueError(
                f"has a contrast of {ratio:.1f} on its tint, {LEAST_CONTRAST} is the least: take a darker one"
            )
        return value

    @property
    def has_llm(self) -> bool:
        """Whether an LLM is configured: by a key, its secret, the role, or an explicit base URL."""
        key = self.llm_api_key.get_secret_value() or self.llm_secret_name or self.llm_auth == "aws"
        return bool(key or self.llm_base_url)

    @property
    def reads_secrets(self) -> bool:
        """Whether a key comes from Secrets Manager or is made from the role."""
        return bool(self.llm_secret_name or self.embed_secret_name or self.index_secret_name or self.llm_auth == "aws")

    @property
    def index_place(self) -> str:
        """``index_uri``, or the folder into which ``make run`` puts this profile's index."""
        return self.index_uri or f".index/{self.profile}"

    @property
    def is_index_replaceable(self) -> bool:
        """Whether an index may appear or change at its place. An index deployed with the function never does.

        Lambda mounts file systems below /mnt and nowhere else.
        """
        return self.index_place.removeprefix("file://").startswith(("/mnt/", "s3://", "chroma://", "https://"))

    def prompt_path(self, name: str) -> Path:
        """Return the file of the template ``name``: the profile's own, else the shared one.

        Templates are beside app.py when deployed, else in the repository. PROMPTS_DIR needs only those that differ.
        """
        deployed = _HERE.parents[2] / "prompts"
        ours = deployed if deployed.is_dir() else _HERE.parents[4] / "prompts"
        root = ours if self.prompts_dir == Path() else self.prompts_dir
        places = [place / folder / name for place in (root, ours) for folder in (self.profile, SHARED_PROMPTS)]
        return next((place for place in places if place.is_file()), places[0])


def load[M: EnvironmentSettings](model: type[M], environ: Mapping[str, str] | None = None) -> M:
    """Read ``model`` from ``environ`` (default: the process's); an empty variable counts as not set.

    Raises:
        ConfigurationError: a variable holds something that is not accepted; the message names it.
    """
    source = os.environ if environ is None else environ
    # By alias only: the model also takes its fields' own names, and a variable called "retries" is not ours.
    names = chain.from_iterable(variable_names(field) for field in model.model_fields.values())
    given = {name: value for name in names if (value := source.get(name, "").strip())}
    try:
        return model.model_validate(given)
    except ValidationError as exc:
        # Values are left out: one of them may be a secret.
        wrong = "; ".join(f"{error['loc'][0]}: {error['msg']}" for error in exc.errors(include_input=False))
        raise ConfigurationError(f"Wrong setting. {wrong}") from None


def measure_contrast(accent: str) -> float:
    """Return the contrast ratio of WCAG 2 (1..21) of text in ``accent`` ("#1f5f8b") on its own tint.

    The tint is the darkest background of such text on the light page.
    """
    colour = [int(accent[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    tint = [TINT * part + 1 - TINT for part in colour]
    return (_luminance(tint) + 0.05) / (_luminance(colour) + 0.05)


def _luminance(colour: list[float]) -> float:
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


class Prompts:
    """The prompt templates of one profile, plain text with {placeholders}, and a digest of those that were loaded."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._loaded: dict[str, str] = {}

    def load(self, name: str, *placeholders: str) -> str:
        """Return the template ``name``; see ``load_prompt``."""
        self._loaded[name] = load_prompt(self._settings.prompt_path(name), *placeholders)
        return self._loaded[name]

    def digest(self) -> str:
        """Return a hash (hex) of every loaded template: the version of the prompts."""
        text = "\0".join(f"{name}\0{body}" for name, body in sorted(self._loaded.items()))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def load_prompt(path: Path, *placeholders: str) -> str:
    """Return the template at ``path``, which must hold each of ``placeholders`` exactly once.

    Raises:
        ConfigurationError: the file cannot be read, or a placeholder is missing or repeated.
    """
    try:
        template = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigurationError(f"Prompt template {path.name!r} of {path.parent.name!r} cannot be read") from exc
    for name in placeholders:
        if template.count(f"{{{name}}}") != 1:
            raise ConfigurationError(
                f"Prompt template {path.name!r} of {path.parent.name!r} must hold {{{name}}} exactly once"
            )
    return template
