"""A run of a few documents for tests of the program, whose path is the first argument."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CONFIG = """\
directory: {here}/run
threads: 2
corpus:
  deduplicate_database: false
  sources:
    - {{name: trained, path: {here}/trained.jsonl, in_database: false}}
    - {{name: stored, path: {here}/stored.jsonl, kind: database}}
tokenizer: {{vocabulary: 290}}
embed: {{model: "hashed:16"}}
database: {{chunk_length: 16}}
model:
  {{chunk_length: 16, width: 16, layers: 2, heads: 2, head_width: 8, cca_layers: [1],
   encoder: {{layers: 1, width: 16, heads: 2, head_width: 8, cross_attention_layers: [0]}}}}
train: {{steps: 1000000, sequence_length: 64, warmup_steps: 1, neighbours: [1], validation_every: 0, checkpoint_every: 0}}
eval: {{shifts: [0, 4]}}
"""
DATABASE_ALONE = """\
directory: {here}/database_alone
corpus:
  sources:
    - {{name: stored, path: {here}/stored.jsonl, kind: database}}
tokenizer: {{vocabulary: 290}}
embed: {{model: "hashed:16"}}
"""
WORDS = ["river", "stone", "house", "light", "winter", "garden", "letter"]


def write_documents(path, first):
    with path.open("w", encoding="utf-8") as file:
        for document in range(first, first + 30):
            text = "".join(
                WORDS[(document * 31 + word * word) % 7] + (".\n" if word % 9 == 8 else " ") for word in range(120)
            )
            file.write(json.dumps({"id": str(document), "text": text}) + "\n")


class SmallRunTest(unittest.TestCase):
    program = ""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.here = Path(scratch.name)
        self.run_directory = self.here / "run"
        write_documents(self.here / "trained.jsonl", 0)
        write_documents(self.here / "stored.jsonl", 100)
        self.config = self.here / "run.yaml"
        self.config.write_text(CONFIG.format(here=self.here))
        self.database_alone = self.here / "database_alone.yaml"
        self.database_alone.write_text(DATABASE_ALONE.format(here=self.here))

    def retro(self, *arguments, **options):
        command = [self.program, *map(str, arguments)]
        return subprocess.run(command, capture_output="stdout" not in options, text=True, check=False, **options)


def main():
    SmallRunTest.program = sys.argv.pop(1)
    unittest.main()
