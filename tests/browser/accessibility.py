"""What axe says about a page as it is shown."""

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

PROFILES = ("waypoint", "gacounts", "clockify")
CONTRAST = "color-contrast"


def hold_to_axe(page: Page, state: str) -> None:
    """Assert that axe finds nothing in the first profile's look."""
    _hold(page, f"{state}, {PROFILES[0]}", PROFILES[0], {})


def hold_looks_to_axe(page: Page, state: str) -> None:
    """The same in every profile's look; the others differ in their colours alone."""
    hold_to_axe(page, state)
    for profile in PROFILES[1:]:
        _hold(page, f"{state}, {profile}", profile, {"runOnly": [CONTRAST]})


def hold_but_contrast_to_axe(page: Page, state: str) -> None:
    """The same but for contrast, which takes half a minute on a page of 4,000 elements."""
    _hold(page, state, PROFILES[0], {"rules": {CONTRAST: {"enabled": False}}})


def _hold(page: Page, state: str, profile: str, options: dict[str, Any]) -> None:
    page.evaluate(f"document.documentElement.dataset.profile = '{profile}'")
    found = Axe().run(page, options={"resultTypes": ["violations"], **options})
    assert found.violations_count == 0, f"{state}: {found.generate_report()}"
