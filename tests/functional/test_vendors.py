"""Another vendor: of chat models, of embedders, of stores. Each is one file and one row of rag.adapters.vendors."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
from functional.harness import IN_SCOPE, SAID, Start

from rag.adapters import vendors

CHAT = f"""
from rag.values.answer import Completion


class ParrotChat:
    last_error = None

    def __init__(self, config):
        self.place, self.model, self.state = config.base_url, config.model, ["built"]

    def warm(self):
        self.state.append("warm")

    def renew(self):
        self.state.append("renewed")

    def complete(self, messages, *, deadline, on_text=None):
        return Completion(text={SAID!r}, model=self.model, finish_reason="stop")


build = ParrotChat
"""
STORE = """
from pathlib import Path
from tempfile import mkdtemp

from rag.adapters.sqlite import SqliteTable


class AtticTable(SqliteTable):
    def __init__(self, settings):
        super().__init__(Path(mkdtemp()) / "attic.sqlite")
        self.place, self.state = settings.store_path, ["built"]

    def warm(self):
        self.state.append("warm")

    def renew(self):
        super().renew()
        self.state.append("renewed")


build = AtticTable
"""


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, str], None]:
    """Adds a file, and its row to a table."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def add(table: str, name: str, source: str) -> None:
        (tmp_path / f"{name}_adapter.py").write_text(source, encoding="utf-8")
        monkeypatch.setitem(getattr(vendors, table), name, lambda given: import_module(f"{name}_adapter").build(given))

    return add


def test_another_vendor_of_chat_models_is_a_file_and_a_row(add: Callable[[str, str, str], None], start: Start) -> None:
    add("CHAT_MODELS", "parrot", CHAT)
    api = start(LLM_BASE_URL="parrot://cage", LLM_MODEL="grey")
    assert api.ask(IN_SCOPE).json["answer"] == SAID
    assert api.health().json["llm"] == {"engine": "parrot", "model": "grey", "lastError": None}
    chat = api.app.service.chat
    api.app.service.warm()
    api.app.service.renew()
    assert (chat.place, chat.state) == ("parrot://cage", ["built", "warm", "renewed"])


def test_another_vendor_of_stores_is_a_file_and_a_row(add: Callable[[str, str, str], None], start: Start) -> None:
    add("STORES", "attic", STORE)
    api = start(STORE_PATH="attic://box")
    first = api.ask(IN_SCOPE, sessionId="s" * 22).json
    assert (first["refused"], first["metadata"]["skipped"]) == (False, [])
    service = api.app.service
    (turn,) = service.stores.memory.recall("s" * 22, limit=5)
    assert turn.question == IN_SCOPE
    service.warm()
    service.renew()
    assert (service.stores.table.place, service.stores.table.state.count("renewed")) == ("attic://box", 1)


@pytest.mark.parametrize(
    ("address", "vendor"),
    [("https://api.openai.com/v1", "openai"), ("127.0.0.1:11434", "openai"), ("parrot://", "parrot")],
)
def test_an_address_names_its_vendor_by_its_scheme(monkeypatch: pytest.MonkeyPatch, address: str, vendor: str) -> None:
    monkeypatch.setitem(vendors.CHAT_MODELS, "parrot", vendors.CHAT_MODELS["openai"])
    assert vendors.find_chat_vendor(address) == vendor
