"""A real Chromium, the real local server, and a scripted stand-in for states that are hard to get from it."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import permits
import pytest
from browser.stand_in import StandIn
from fakes_llm import LlmServer, drip
from local_server import Server, serving
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
PLACES = ("chromium", "chromium-browser", "google-chrome")


type Violations = list[str]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, which $CHROMIUM names or the machine has; ends with the module, for its event loop bars others."""
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, PLACES)), None)
    if path is None:
        pytest.skip("There is no Chromium: install it (Debian: apt-get install chromium), or name it in CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def violations() -> Violations:
    """What broke the content security policy, or failed on a page, in this test."""
    return []


@pytest.fixture
def context(browser: Browser, violations: Violations) -> Iterator[BrowserContext]:
    """A fresh profile, 1100 x 800, whose pages report errors; the test fails if there are any."""
    context = browser.new_context(viewport={"width": 1100, "height": 800})
    context.set_default_timeout(30_000)
    context.on("weberror", lambda error: violations.append(str(error.error)))
    context.on(
        "console",
        lambda message: violations.append(message.text) if "Content Security Policy" in message.text else None,
    )
    yield context
    context.close()
    assert violations == []


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """A page of it."""
    return context.new_page()


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of one document."""
    return permits.indexed(tmp_path_factory)


@pytest.fixture(scope="module")
def server(browser: Browser, index: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """``ragctl serve`` without a model, with a store."""
    with serving(index, STORE_PATH=str(tmp_path_factory.mktemp("store") / "store.sqlite")) as server:
        yield server


@pytest.fixture
def dripping(browser: Browser, index: Path) -> Iterator[Callable[..., tuple[Server, LlmServer]]]:
    """Starts ``ragctl serve`` with a model that drips the given pieces."""
    open_ones = []

    def start(*pieces: object) -> tuple[Server, LlmServer]:
        llm = LlmServer([drip(*pieces)])  # type: ignore[arg-type]
        llm.__enter__()
        serves = serving(index, LLM_BASE_URL=llm.url, LLM_MAX_RETRIES="0")
        open_ones.append((serves, llm))
        return serves.__enter__(), llm

    yield start
    for serves, llm in open_ones:
        llm.__exit__(None, None, None)
        serves.__exit__(None, None, None)


@pytest.fixture
def stand_in(browser: Browser) -> Iterator[StandIn]:
    """The page's real files with scripted replies."""
    with StandIn() as server:
        yield server
