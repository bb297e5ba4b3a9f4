#!/usr/bin/env python3
"""Screenshots of any page, to look at.   usage: look.py PAGE FOLDER [BROWSER]"""
import pathlib
import sys

from devtools import Browser


def main():
    page, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    browser = Browser(sys.argv[3] if len(sys.argv) > 3 else "chromium")
    for name, width, height in (("desktop", 1360, 900), ("phone", 390, 844)):
        for scheme in ("light", "dark"):
            browser.look(width, height, scheme, is_phone=name == "phone")
            seconds = browser.open(page)
            browser.screenshot(folder / f"{name}_{scheme}.png")
            print(f"{name} {scheme}: loaded in {seconds:.2f} s, errors: {browser.errors or 'none'}")
    browser.close()


if __name__ == "__main__":
    main()
