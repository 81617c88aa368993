"""The chat models that the settings name, and the writer that uses them."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from rag.adapters.bedrock_token import endpoint
from rag.adapters.model_config import ChatConfig
from rag.adapters.secrets import llm_key
from rag.adapters.vendors import build_chat_model, find_chat_vendor
from rag.config.settings import Prompts, Settings
from rag.errors import ConfigurationError
from rag.find.pack import BYTES_PER_TOKEN, ContextWindow, size
from rag.ports import ChatModel, Writer
from rag.profiles.shared.settings import ProfileSettings
from rag.text.template import fill
from rag.write.chat_writer import ChatWriter, FallbackWriter
from rag.write.extractive import ExtractiveWriter

TOKEN_HOSTS = (".amazonaws.com", ".api.aws", "127.0.0.1")
"""Suffixes of the hosts that receive the role's token; the last one is for tests."""
GROQ_URL = "https://api.groq.com/openai/v1"
GROQ_FALLBACK = ("openai/gpt-oss-20b",)
LOCAL_DEADLINE_S = 120.0
"""A local model may take this long to begin: it reads a prompt of 2,000 tokens in 20 to 70 s on a CPU."""
QUESTION_CHARS = 1000
"""A question of usual length."""
LOCAL_NAMES = (".localhost", ".local", ".internal")
DECISION_SETTINGS = {"temperature": 0.0, "max_tokens": 500}
"""Rewriting, ranking and judging are decisions: repeatable and short, with room for a reasoning model's thoughts."""


class ChatModels:
    """The chat models of one service, all at the endpoint of the settings and the profile."""

    def __init__(self, settings: Settings, profile: ProfileSettings) -> None:
        self._settings = settings
        self._profile = profile
        self._models: list[ChatModel] = []
        self.vendor = find_chat_vendor(_base_url(settings, profile))

    def answer_model(self) -> ChatModel | None:
        """Build the model that writes answers; None if no LLM is configured."""
        configured = self._settings.has_llm or self._profile.is_llm_configured
        return self._build(self._profile, self._profile.llm_model) if configured else None

    def decision_model(self, model: str) -> ChatModel:
        """Build ``model`` for rewriting, ranking and judging; a role's token is valid for the profile's model alone."""
        model = self._profile.llm_model if self._settings.llm_auth == "aws" else model
        return self._build(self._profile.model_copy(update=DECISION_SETTINGS), model)

    def warm(self) -> None:
        """Create the clients; read no key and call no server.

        Raises:
            LlmUnavailable: the base URL cannot be used.
        """
        for chat in self._models:
            chat.warm()

    def renew(self) -> None:
        """Close the connections and forget the keys. No call may be under way."""
        for chat in self._models:
            chat.renew()

    def _build(self, profile: ProfileSettings, model: str) -> ChatModel:
        settings, base_url = self._settings, _base_url(self._settings, profile)
        is_patient = is_local(base_url) and "read_timeout_s" not in profile.model_fields_set
        default_fallback = GROQ_FALLBACK if base_url.rstrip("/") == GROQ_URL else ()
        config = ChatConfig(
            base_url=base_url,
            api_key=llm_key(settings),
            model=model,
            fallback_models=settings.llm_fallback_models or default_fallback,
            temperature=profile.temperature,
            max_tokens=profile.max_tokens,
            connect_timeout_s=profile.connect_timeout_s,
            is_strict=profile.seed_rules,
            read_timeout_s=max(profile.read_timeout_s, LOCAL_DEADLINE_S) if is_patient else profile.read_timeout_s,
            retries=profile.retries,
            base_s=profile.backoff_base_s,
            cap_s=profile.backoff_cap_s,
            jitter=profile.backoff_jitter,
        )
        self._models.append(build_chat_model(config))
        return self._models[-1]


def build_writer(
    settings: Settings, profile: ProfileSettings, prompts: Prompts, chat: ChatModel | None
) -> tuple[Writer, ContextWindow]:
    """Return the writer and the window that bounds its passages.

    ``chat`` writes with the profile's system prompt; the extractive engine writes without it, or as the fallback.

    Raises:
        ConfigurationError: the prompt template cannot be read, or lacks a placeholder.
    """
    if chat is None:
        return ExtractiveWriter(), ContextWindow()
    template = load_prompt_template(profile, prompts)
    words = profile.prompt_words
    words = {**words, "about": fill(prompts.load("about.txt"), words).strip()}
    window = build_window(profile, template)
    writer = ChatWriter(chat, template, profile.prompt_history_chars, words, window=window)
    if settings.llm_fallback == "extractive":
        return FallbackWriter(writer, ExtractiveWriter()), window
    return writer, window


def load_prompt_template(profile: ProfileSettings, prompts: Prompts) -> str:
    """Return the profile's system prompt."""
    placeholders = ("context", *(["history"] if profile.prompt_history_chars else []))
    return prompts.load("seed.txt" if profile.seed_rules else "system.txt", *placeholders)


def build_window(profile: ProfileSettings, template: str) -> ContextWindow:
    """Return the model's window and the share that the answer, the prompt and a usual question take of it."""
    prompt = (size(template) + profile.prompt_history_chars + QUESTION_CHARS) / BYTES_PER_TOKEN
    return ContextWindow(profile.model_context_tokens, profile.max_tokens + int(prompt))


def allow_local_time(settings: Settings, profile: ProfileSettings) -> Settings:
    """Return ``settings`` with more time for each request if the model is local and no deadline is set."""
    chosen = settings.llm_base_url or profile.is_llm_configured
    if chosen and "request_deadline_s" not in settings.model_fields_set and is_local(_base_url(settings, profile)):
        return settings.model_copy(update={"request_deadline_s": LOCAL_DEADLINE_S})
    return settings


def is_local(url: str) -> bool:
    """Return whether ``url`` is on this machine or a private network, judged by its host name or number alone."""
    host = ""
    try:
        host = urlsplit(url).hostname or ""
        return ip_address(host).is_private
    except ValueError:  # a name, or no URL at all
        return f".{host}".endswith(LOCAL_NAMES)


def _base_url(settings: Settings, profile: ProfileSettings) -> str:
    if settings.llm_auth == "key":
        return settings.llm_base_url or profile.llm_base_url
    host = urlsplit(settings.llm_base_url).hostname or ""
    if settings.llm_base_url and not host.endswith(TOKEN_HOSTS):
        raise ConfigurationError(f"LLM_AUTH=aws sends the role's token to AWS alone: {' or '.join(TOKEN_HOSTS[:2])}")
    return settings.llm_base_url or endpoint()
