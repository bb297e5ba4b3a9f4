#!/usr/bin/env python3
"""Opening a report page of 5 MB in a headless Chromium, beside a plain page with the same documents written out. One JSON line.

    tools/setup.sh --tests && cmake --build --preset cpu --target report_page
    python3 benchmarks/report_page_benchmark.py build/cpu/tests/report/report_page [BROWSER]

Ours holds the documents as data and draws the one that is read; the plain page has every token of every chunk and passage as an
element. Seconds from the address to the first frame after everything is loaded, the median of five; of ours also a search
through every document. The run's results are synthetic (tests/report/browser/synthetic_run.py).
"""
import html
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "report" / "browser"))
import synthetic_run  # noqa: E402
from devtools import Browser  # noqa: E402

REPEATS = 5
NEXT_FRAME = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))"


def plain_page(run):
    def spans(pieces):
        return "".join(f'<span title="{piece["run"]}">{html.escape(piece["text"])}</span>' for piece in pieces)

    examples = json.loads((run / "eval/examples.json").read_text())["examples"]
    chunks = ["<h3>" + html.escape(example["title"]) + "</h3><p>" + spans(example["pieces"]) + "</p>" +
              "".join("<blockquote>" + spans(found["chunk"] + found["continuation"]) + "</blockquote>"
                      for found in example["neighbours"]) for example in examples]
    return "<!doctype html><meta charset=utf-8>" + "".join(chunks)


def seconds_to_open(browser, page):
    times = []
    for _ in range(REPEATS):
        start = time.monotonic()
        browser.open(page)
        browser.run(NEXT_FRAME)
        times.append(time.monotonic() - start)
    return round(statistics.median(times), 3)


def main():
    program, chromium = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "chromium"
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        run = synthetic_run.write_run(folder / "run", num_documents=210, chunks_each=10)
        ours, plain = folder / "ours.html", folder / "plain.html"
        subprocess.run([program, run, ours], check=True)
        plain.write_text(plain_page(run))
        browser = Browser(chromium)
        browser.look(1360, 900, "light")
        figures = {"page_mb": round(ours.stat().st_size / 1e6, 2), "open_seconds": seconds_to_open(browser, ours),
                   "search_seconds": round(browser.run("""(async () => { const box = document.querySelector('.search');
                       box.value = 'document-137/4'; const start = performance.now(); box.dispatchEvent(new Event('input'));
                       await new Promise((done) => requestAnimationFrame(done));
                       return (performance.now() - start) / 1000; })()"""), 3),
                   "plain_mb": round(plain.stat().st_size / 1e6, 2), "plain_open_seconds": seconds_to_open(browser, plain)}
        browser.close()
    print(json.dumps({"benchmark": "report_page", **figures}))


if __name__ == "__main__":
    main()
