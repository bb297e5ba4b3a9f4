#!/usr/bin/env python3
"""Screenshots of any page on a desktop and a phone, in light and dark, to look at; fails on a console error or a page that is
wider than its window.

usage: look.py PAGE FOLDER [BROWSER]
"""
import pathlib
import shutil
import sys

from devtools import Browser


def find_browser():
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def main():
    page, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    program = sys.argv[3] if len(sys.argv) > 3 else find_browser()
    if program is None:
        print("no Chromium here: nothing was looked at (tools/setup.sh --tests installs one)")
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    browser = Browser(program)
    is_good = True
    for name, width, height in (("desktop", 1360, 900), ("phone", 390, 844)):
        for scheme in ("light", "dark"):
            browser.look(width, height, scheme, is_phone=name == "phone")
            seconds = browser.open(page)
            browser.screenshot(folder / f"{name}_{scheme}.png")
            actual = browser.run("document.documentElement.scrollWidth")
            is_good = is_good and not browser.errors and actual <= width
            print(f"{name} {scheme}: loaded in {seconds:.2f} s, {actual} pixels wide, errors: {browser.errors or 'none'}")
    browser.close()
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
