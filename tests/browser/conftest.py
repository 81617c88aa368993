"""A real Chromium, the real local server, and a scripted stand-in for states that are hard to get from it."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import permits
import pytest
from browser.stand_in import StandIn
from local_server import Server, serving
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
PLACES = ("chromium", "chromium-browser", "google-chrome")

type Violations = list[str]


@pytest.fixture(scope="session")
def chromium() -> str:
    """The program, which $CHROMIUM names or the machine has."""
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, PLACES)), None)
    return path or pytest.skip("There is no Chromium: install it (Debian: apt-get install chromium), or set CHROMIUM")


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """A running one; ends with the module, for its event loop bars others."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
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

    def note(message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text:
            violations.append(message.text)

    context.on("console", note)
    yield context
    context.close()
    assert violations == []


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """A page of it."""
    return context.new_page()


@pytest.fixture(scope="session")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of one document."""
    return permits.indexed(tmp_path_factory)


@pytest.fixture(scope="session")
def server(chromium: str, index: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """``ragctl serve`` without a model, with a store."""
    with serving(index, STORE_PATH=str(tmp_path_factory.mktemp("store") / "store.sqlite")) as server:
        yield server


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    """The page's real files with scripted replies."""
    with StandIn() as server:
        yield server
