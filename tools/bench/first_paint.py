"""When a browser draws the page's words: ``python -m bench.first_paint http://127.0.0.1:3000/ [times slower]``."""

from __future__ import annotations

import os
import shutil
import statistics
import sys

from playwright.sync_api import Browser, sync_playwright

VISITS = 7
SLOWER = 4.0
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
SETTLED_MS = 500


def first_paint(browser: Browser, address: str, slower: float) -> float:
    """Milliseconds from the visit's beginning to the first words, in a fresh profile on a CPU that is slowed down."""
    context = browser.new_context(viewport={"width": 1100, "height": 800})
    page = context.new_page()
    context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slower})
    page.goto(address)
    page.wait_for_timeout(SETTLED_MS)
    painted = float(page.evaluate(PAINTED))
    context.close()
    return painted


def main(address: str, slower: float = SLOWER) -> None:
    """Print the median and the least of some visits; the first, which starts the browser's parts, does not count."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        times = [first_paint(browser, address, slower) for _ in range(VISITS + 1)][1:]
        browser.close()
    print(
        f"{statistics.median(times):.0f} ms (least {min(times):.0f}), median of {VISITS}, CPU {slower:g} times slower"
    )


if __name__ == "__main__":
    main(sys.argv[1], *map(float, sys.argv[2:]))
