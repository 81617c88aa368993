"""What axe says about a page as it is shown."""

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

PROFILES = ("waypoint", "gacounts", "clockify")
CONTRAST = "color-contrast"


def assert_accessible(page: Page, state: str) -> None:
    """Assert that axe finds nothing in the look of the first profile."""
    _assert_no_violation(page, f"{state}, {PROFILES[0]}", PROFILES[0], {})


def assert_all_looks_accessible(page: Page, state: str) -> None:
    """The same in every profile's look; the others differ in their colours alone."""
    assert_accessible(page, state)
    for profile in PROFILES[1:]:
        _assert_no_violation(page, f"{state}, {profile}", profile, {"runOnly": [CONTRAST]})


def assert_accessible_but_contrast(page: Page, state: str) -> None:
    """The same but for contrast, which takes half a minute on a page of 4,000 elements."""
    _assert_no_violation(page, state, PROFILES[0], {"rules": {CONTRAST: {"enabled": False}}})


def _assert_no_violation(page: Page, state: str, profile: str, options: dict[str, Any]) -> None:
    page.evaluate(f"document.documentElement.dataset.profile = '{profile}'")
    found = Axe().run(page, options={"resultTypes": ["violations"], **options})
    assert found.violations_count == 0, f"{state}: {found.generate_report()}"
