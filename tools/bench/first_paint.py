"""Time to the page's first words: ``python -m bench.first_paint http://127.0.0.1:3000/ [SLOWDOWN]``."""

from __future__ import annotations

import os
import shutil
import statistics
import sys

from playwright.sync_api import Browser, sync_playwright

VISITS = 7
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def measure_first_paint(browser: Browser, address: str, slowdown: float) -> float:
    """Return the milliseconds to a visit's first words in a fresh profile, with a CPU ``slowdown`` times slower."""
    context = browser.new_context(viewport={"width": 1100, "height": 800})
    page = context.new_page()
    context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slowdown})
    page.goto(address)
    page.wait_for_timeout(500)
    milliseconds = float(page.evaluate(FIRST_PAINT))
    context.close()
    return milliseconds


def main(address: str, slowdown: float = 4.0) -> None:
    """Print median and minimum of ``VISITS`` visits after a first one, which starts the browser's processes."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        times = [measure_first_paint(browser, address, slowdown) for _ in range(VISITS + 1)][1:]
        browser.close()
    print(
        f"{statistics.median(times):.0f} ms (least {min(times):.0f}), median of {VISITS}, CPU {slowdown:g} times slower"
    )


if __name__ == "__main__":
    main(sys.argv[1], *map(float, sys.argv[2:]))
