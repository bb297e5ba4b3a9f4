#!/usr/bin/env python3
"""The report page in a real browser: loads without errors and without a network, shows the passages of a chunk, sorts,
searches, compares; usable by keyboard, readable in light and dark, on a desktop and a phone.

usage: report_browser_test.py REPORT_PAGE_PROGRAM BROWSER SCREENSHOT_FOLDER
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import synthetic_run
from devtools import Browser

PROGRAM, CHROMIUM, SCREENSHOTS = None, None, None
LOOKS = [("desktop", 1360, 900), ("phone", 390, 844)]

# Every text's contrast with what stands behind it, where it is below 4.5 (3 for large text).
LOW_CONTRASTS = """(() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgba = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const light = ([r, g, b]) => { const f = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
  const behind = (element) => { for (; element; element = element.parentElement) {
    const colour = rgba(getComputedStyle(element).backgroundColor); if (colour[3] > 250) return colour; }
    return rgba('white'); };
  const low = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility() || element.closest('script')) continue;
    const style = getComputedStyle(element), size = parseFloat(style.fontSize);
    const [a, b] = [light(rgba(element.closest('svg') ? style.fill : style.color)), light(behind(element))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const least = size >= 24 || (size >= 18.6 && style.fontWeight >= 700) ? 3 : 4.5;
    if (contrast < least) low.push(`${contrast.toFixed(2)} "${walker.currentNode.data.trim().slice(0, 30)}" ` +
      `${element.tagName}.${element.getAttribute('class')}`);
  }
  return [...new Set(low)];
})()"""


class ReportPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="retro-report-")
        folder = pathlib.Path(cls.folder.name)
        first = synthetic_run.write_run(folder / "first")
        second = synthetic_run.write_run(folder / "second", scale=0.5, width=256)
        other_text = synthetic_run.write_run(folder / "other", bytes_a_chunk=65)
        cls.one, cls.two, cls.unlike = folder / "one.html", folder / "two.html", folder / "unlike.html"
        subprocess.run([PROGRAM, first, cls.one], check=True)
        subprocess.run([PROGRAM, first, second, cls.two], check=True)
        subprocess.run([PROGRAM, first, other_text, cls.unlike], check=True)
        cls.run_page = folder / "run.html"
        subprocess.run([PROGRAM, synthetic_run.write_common_run(folder / "third"), cls.run_page], check=True)
        cls.text_page = folder / "text.html"
        subprocess.run([PROGRAM, "--text", folder / "third/eval/examples.json", cls.text_page], check=True)
        cls.browser = Browser(CHROMIUM)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    def setUp(self):
        self.browser.errors.clear()
        self.browser.requests.clear()
        self.browser.look(1360, 900, "light")

    def tearDown(self):
        self.assertEqual(self.browser.errors, [])

    def text(self, selector):
        return self.browser.run(f"document.querySelector('{selector}').innerText")

    def texts(self, selector):
        return self.browser.run(f"[...document.querySelectorAll('{selector}')].map((e) => e.innerText)")

    def test_loads_without_errors_or_network(self):
        self.browser.open(self.one)
        self.assertEqual([url for url in self.browser.requests if not url.startswith(("file:", "data:"))], [])
        self.assertIn("It reads", self.text("#summary"))
        self.assertIn("Nearest-neighbour model", self.text("#tables"))
        self.assertEqual(self.browser.run("document.querySelectorAll('#training svg').length"), 2)

    def test_further_results_have_sections(self):
        self.browser.open(self.one)
        self.browser.click("#breakdown input[type=radio]", 1)
        breakdown = self.text("#breakdown")
        self.assertIn("33.25", breakdown)
        self.assertIn("By size of the database", breakdown)
        self.assertIn("8–15", self.browser.run("document.querySelector('#breakdown svg').textContent"))
        self.assertIn("RETRO + kNN-LM, exact distances", self.text("#knn"))
        self.assertIn("+0.1200 ± 0.0100", self.text("#knn"))
        self.assertIn("50.0 % within the first 1", self.text("#questions"))
        self.browser.click("#questions summary")
        self.assertIn("What is <it>?", self.text("#questions"))
        self.assertIn("This / That", self.text("#questions"))
        self.assertIn("no query conditioning", self.text("#ablations"))

    def test_a_click_on_a_chunk_shows_its_passages(self):
        self.browser.open(self.one)
        self.browser.click(".chunk .text", 2)
        passages = self.text(".neighbours")
        self.assertIn("Passages for chunk 4", passages)
        self.assertIn("1. Passage 0 of document-0/3", passages)
        self.assertIn("squared distance 1.500", passages)
        self.assertIn("its continuation", passages)
        self.assertIn("its document ends here", passages)
        self.assertIn("chunk not shown", self.text(".document"))  # chunk 3 is not in the file

    def test_tokens_are_coloured_by_loss_and_by_run(self):
        self.browser.open(self.one)
        tint = "getComputedStyle(document.querySelector('.chunk .g4, .chunk .g3')).backgroundColor"
        by_loss = self.browser.run(tint)
        self.browser.click(".colour", 1)
        self.assertNotEqual(self.browser.run(tint), by_loss)
        self.browser.click(".chunk .text span", 0)
        self.assertRegex(self.text(".token-line"), r"nats with retrieval off, .* on: .* (saved|lost)")

    def test_a_run_is_found_again_in_its_passage(self):
        self.browser.open(self.run_page)
        self.assertEqual(self.texts("mark.same"), [])
        self.browser.click(".chosen .text .shared")
        self.assertEqual(self.texts("mark.same"), [" river of kings"])
        self.browser.click(".chosen .text span:not(.shared)")
        self.assertEqual(self.texts("mark.same"), [])

    def test_a_scored_text_alone(self):
        self.browser.open(self.text_page)
        self.assertIn("14.3 % fewer bits", self.text(".headline"))
        self.assertFalse(self.browser.run("document.querySelector('.documents').checkVisibility()"))
        self.assertIn("1. P", self.text(".neighbours"))
        self.browser.click(".chosen .text .shared")
        self.assertEqual(self.texts("mark.same"), [" river of kings"])
        self.assertRegex(self.text(".token-line"), r"2.00 nats with retrieval off, 1.00 on: 1.00 saved")

    def test_sorting_a_table(self):
        self.browser.open(self.one)
        figures = "#figures tbody tr > :nth-child(9)"
        self.browser.click("#figures .sort", 8)
        self.assertEqual(self.texts(figures), ["100", "500", "900", "1,400"])
        self.browser.click("#figures .sort", 8)
        self.assertEqual(self.texts(figures), ["1,400", "900", "500", "100"])
        self.assertEqual(self.browser.run("document.querySelector('#figures [aria-sort]').ariaSort"), "descending")

    def test_search(self):
        self.browser.open(self.one)
        self.browser.run("document.querySelector('.search').focus()")
        self.browser.call("Input.insertText", text="passage 1 of document-3/4")
        self.assertIn("1 chunk in 1 document match", self.text(".status"))
        self.assertIn("Title of document-3", self.text(".document"))
        self.assertIn("Passages for chunk 5", self.text(".neighbours"))
        self.browser.call("Input.insertText", text="zzz")
        self.assertIn("No document", self.text(".document"))

    def test_keyboard(self):
        self.browser.open(self.one)
        self.browser.press("Tab", 9)
        self.assertEqual(self.browser.run("document.activeElement.className"), "skip")
        self.browser.press("Enter", 13, "\r")
        self.assertEqual(self.browser.run("document.activeElement.id"), "main")
        self.browser.run("document.querySelectorAll('.chunk-head')[1].focus()")
        self.browser.press("Enter", 13, "\r")
        self.assertIn("Passages for chunk 2", self.text(".neighbours"))
        self.browser.press("ArrowDown", 40)
        self.assertIn("Passages for chunk 4", self.text(".neighbours"))
        self.assertEqual(self.browser.run("document.activeElement.ariaExpanded"), "true")
        self.assertEqual(self.text(".announce"), "2 passages for chunk 4")

    def test_screen_reader_names(self):
        self.browser.open(self.one)
        nodes = self.browser.call("Accessibility.getFullAXTree")["nodes"]
        roles = {}
        for node in nodes:
            if not node.get("ignored"):
                roles.setdefault(node["role"]["value"], []).append(node.get("name", {}).get("value", ""))
        for role in ("button", "link", "searchbox", "combobox", "radio", "image", "table", "region", "complementary"):
            self.assertIn(role, roles)
            self.assertNotIn("", roles[role], f"a {role} without a name")
        self.assertEqual(len(roles["main"]), 1)

    def test_compares_two_runs(self):
        self.browser.open(self.two)
        result = self.text(".compare-result")
        self.assertIn("model.width", result)
        self.assertIn("256", result)
        self.assertIn("+0.1000", result)  # all text: on 1.80 and 1.90
        self.browser.click("#runs .sort", 4)
        self.assertEqual(self.texts("#runs .show-run"), ["second", "first"])
        self.browser.click(".show-run", 0)
        self.assertEqual(self.browser.run("[...document.querySelectorAll('.run')].map((run) => run.hidden)"), [True, False])
        self.assertEqual(self.browser.run("document.querySelectorAll('.run:not([hidden]) .chunk').length"), 4)

    def test_runs_on_other_text_are_not_compared_without_a_warning(self):
        self.browser.open(self.two)
        self.assertNotIn("not scored on the same chunks", self.text(".compare-result"))
        self.browser.open(self.unlike)  # as many chunks, other bytes
        self.assertIn("not scored on the same chunks", self.text(".compare-result"))

    def test_light_and_dark_on_desktop_and_phone(self):
        for page in (self.one, self.two, self.text_page):
            for name, width, height in LOOKS:
                for scheme in ("light", "dark"):
                    with self.subTest(page=page.stem, look=name, scheme=scheme):
                        self.browser.look(width, height, scheme, is_phone=name == "phone")
                        self.browser.open(page)
                        self.browser.screenshot(SCREENSHOTS / f"{page.stem}_{name}_{scheme}.png")
                        self.assertEqual(self.browser.run(LOW_CONTRASTS), [])
                        self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), width)


if __name__ == "__main__":
    PROGRAM, CHROMIUM, SCREENSHOTS = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    unittest.main(argv=sys.argv[:1], verbosity=2)
